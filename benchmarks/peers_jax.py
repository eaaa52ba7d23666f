"""JAX's own way to train: jit, one lax.scan over all steps, vmap over networks; one thread, float64 allowed."""

from __future__ import annotations

import os

os.environ.setdefault("NPROC", "1")  # what XLA takes as its number of threads
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from repdyn.base.training import BETAS, EPSILON

jax.config.update("jax_enable_x64", True)
Values = Any
Pick = Callable[..., tuple[jax.Array, ...]]


def as_given(data: tuple[jax.Array, ...], _: jax.Array) -> tuple[jax.Array, ...]:
    """The whole batch in every step."""
    return data


def chosen(data: tuple[jax.Array, ...], points: jax.Array) -> tuple[jax.Array, ...]:
    """Some points of data that all networks share; `points` may have a leading axis of networks."""
    return tuple(part[points] for part in data)


def adam(values: Values, slopes: Values, moments: Values, rates: Values) -> tuple[Values, Values]:
    """Adam as its authors and torch have it."""
    mean, square, done = moments
    done = done + 1
    mean = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, mean, slopes)
    square = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, square, slopes)
    first, second = (1 - beta**done for beta in BETAS)

    def moved(w: jax.Array, m: jax.Array, v: jax.Array, rate: float) -> jax.Array:
        scale, root = (rate / first).astype(w.dtype), jnp.sqrt(second).astype(w.dtype)
        return w - scale * m / (jnp.sqrt(v) / root + EPSILON)

    return jax.tree.map(moved, values, mean, square, rates), (mean, square, done)


def training(
    loss: Callable[..., jax.Array],
    values: Values,
    data: tuple[np.ndarray, ...],
    optimizer: str,
    rate: float | Values,
    *,
    several: bool = False,
    pick: Pick = as_given,
    done: int = 0,
) -> Callable[[np.ndarray], np.ndarray]:
    """Steps of a training that goes on from call to call, with the losses before each.

    `loss` takes parameters and what `pick` takes from the data for a step; with `several` all have an axis of networks.
    The steps take an array with an entry per step, what `pick` is given. `rate` is one number, or one per parameter;
    `done` counts Adam's steps before.
    """
    slope = jax.value_and_grad(loss)
    slope = jax.vmap(slope) if several else slope
    rates = jax.tree.map(lambda _: rate, values) if isinstance(rate, float) else rate

    def advance(state: Values, data: tuple[jax.Array, ...], steps: jax.Array) -> tuple[Values, jax.Array]:
        def step(state: Values, at: jax.Array) -> tuple[Values, jax.Array]:
            values, moments = state
            losses, slopes = slope(values, *pick(data, at))
            if optimizer == "sgd":
                return (jax.tree.map(lambda w, g, r: w - r * g, values, slopes, rates), moments), losses
            return adam(values, slopes, moments, rates), losses

        return lax.scan(step, state, steps)

    compiled = jax.jit(advance, donate_argnums=0)
    values = jax.tree.map(lambda part: jnp.array(part, copy=True), values)
    zeros = jax.tree.map(jnp.zeros_like, values)
    moments = () if optimizer == "sgd" else (zeros, jax.tree.map(jnp.zeros_like, values), jnp.array(float(done)))
    held = {"state": (values, moments), "data": tuple(jnp.asarray(part) for part in data)}

    def losses(steps: np.ndarray) -> np.ndarray:
        held["state"], history = compiled(held["state"], held["data"], jnp.asarray(steps))
        return np.asarray(history)

    losses.values = lambda: held["state"][0]
    return losses
