"""Figure 3 computed: the first steps of gradient descent over the length of the neurons, y = x_1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import Trajectory, gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    MODELS,
    PAIRED_FIRST,
    linear,
    paired_and_signed_starts,
)
from repdyn.bn_mean_field.settings import FirstStep
from repdyn.bn_mean_field.theory.bounds import critical_radius, first_step_norm
from repdyn.bn_mean_field.theory.velocity import Population

LARGE_TURN = 10.0  # degrees
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
SHOWN = 3  # iterations whose neurons are stored one by one


def first_step(settings: FirstStep, stream: Stream) -> xr.Dataset:
    """Norms and turns of every neuron in the first iterations, with and without BN, and long runs' losses."""
    draws = [stream.generator(seed) for seed in range(settings.seeds)]
    a, b = paired_and_signed_starts(settings.directions, draws)
    runs = _runs(a, b, settings.radii, settings.steps, range(settings.iterations + 1))
    norms = np.stack([np.linalg.norm(run.b, axis=-1) for run in runs], axis=3)
    turns = np.stack([_turns(run.b) for run in runs], axis=3)
    losses = np.stack([run.loss for run in runs], axis=3)
    kept_turns, kept_losses = _at_kept_lengths(a, b, settings)
    gradient = np.linalg.norm(Population(linear(0), ANISOTROPIC).velocity(a, b)[1], axis=-1)
    dims = ("start", "radius", "model", "step")
    batch_norm = ("start", "radius", "step")
    computed = dataset(
        {
            "gradient": variable(("start", "neuron"), gradient, "norm of b' at unit length"),
            "norm": variable(("iteration", *dims, "neuron"), norms[: SHOWN + 1], "length of b after the iteration"),
            "turn": variable(("shown", *dims, "neuron"), turns[:SHOWN], "turn of b in the iteration", "degree"),
            **_statistics(turns, ("later", *dims)),
            "loss_growth": _growth(losses, dims, "loss after an iteration over the loss before"),
            "turn_quantile_kept": variable(
                ("quantile", "later", *batch_norm),
                np.quantile(kept_turns, QUANTILES, axis=-1),
                "the quantiles with BN where every iteration ends at the initial length",
                "degree",
            ),
            "loss_growth_kept": _growth(kept_losses, batch_norm, "the losses' ratio with BN at kept lengths"),
            "smallest_growth": variable(
                "model",
                np.nanmin(np.diff(norms, axis=0), axis=(0, 1, 2, 4, 5)),
                "smallest change of a norm in one iteration",
            ),
            **_laws(gradient, settings),
            **_stability(settings, a[:1], b[:1]),
        },
        {
            "iteration": index("iteration", SHOWN + 1, "iterations done"),
            "shown": variable("shown", np.arange(1, SHOWN + 1), "iteration"),
            "later": variable("later", np.arange(1, settings.iterations + 1), "iteration"),
            "quantile": variable("quantile", np.array(QUANTILES), "quantile over neurons"),
            "start": index("start", len(a), PAIRED_FIRST),
            "radius": variable("radius", np.array(settings.radii), "initial length of b"),
            "model": variable("model", np.array(list(MODELS)), "model"),
            "step": variable("step", np.array(settings.steps), "mean-field step"),
            "neuron": index("neuron", gradient.shape[1], "neuron"),
            "long_radius": variable("long_radius", np.array(settings.stability_radii), "initial length of b"),
            "long_step": variable("long_step", np.array(settings.stability_steps), "mean-field step"),
            "long_iterations": variable((), settings.stability_iterations, "iterations of the long runs"),
        },
        title="First steps of gradient descent over the length of the neurons",
    )
    gone = np.isnan(norms[: SHOWN + 1]).any(axis=(0, -1))
    steps = ", ".join(f"{step:g}" for step in settings.steps)
    return left_out(computed, gone, f"first_step.steps: {steps}")


def _laws(gradient: Array, settings: FirstStep) -> dict[str, xr.Variable]:
    """The length after one step by the law, and the length below which it falls."""
    radius, h = np.array(settings.radii)[:, None, None], np.array(settings.steps)[:, None]
    law = first_step_norm(radius, gradient[:, None, None], h)
    critical = critical_radius(gradient[:, None], h)
    words = "length after one step by sqrt(r^2 + (h g / r)^2)"
    return {
        "norm_law": variable(("start", "radius", "step", "neuron"), law, words),
        "critical": variable(("start", "step", "neuron"), critical, "length r* = sqrt(h g) below which the law falls"),
    }


def _runs(
    a: Array, b: Array, radii: Sequence[float], steps: Sequence[float], record: Sequence[int]
) -> list[Trajectory]:
    """Descent with and without BN from all starts at all lengths: a batch (start, radius, step) for each model."""
    shape = (len(a), len(radii), len(steps), a.shape[1])
    b = np.array(radii)[:, None, None, None] * np.broadcast_to(b[:, None, None], (*shape, 2))
    a = np.broadcast_to(a[:, None, None], shape)
    models = [Population(linear(0), ANISOTROPIC, kind) for kind in MODELS.values()]
    return [gradient_descent(a, b, model, steps, record=record) for model in models]


def _at_kept_lengths(a: Array, b: Array, settings: FirstStep) -> tuple[Array, Array]:
    """Turns and losses of descent with BN in which every b is brought back to its initial length after an iteration.

    Returns:
        Turns (iteration, start, radius, step, neuron), degree, and losses (iteration + 1, start, radius, step).
    """
    model, h = Population(linear(0), ANISOTROPIC), np.array(settings.steps)
    length = np.array(settings.radii)[:, None, None, None]
    shape = (len(a), len(settings.radii), len(h), a.shape[1])
    b, a = length * b[:, None, None], np.broadcast_to(a[:, None, None], shape)
    b = np.broadcast_to(b, (*shape, 2))
    turns, losses = [], []
    for _ in range(settings.iterations):
        da, db, loss = model.velocity(a, b)
        before, a, b = b, a + h[:, None] * da, b + h[:, None, None] * db
        b = length * b / np.linalg.norm(b, axis=-1, keepdims=True)
        turns.append(_turns(np.stack([before, b]))[0])
        losses.append(loss)
    return np.stack(turns), np.stack([*losses, model.velocity(a, b)[2]])


def _growth(losses: Array, dims: tuple[str, ...], words: str) -> xr.Variable:
    growth = variable(("later", *dims), losses[1:] / losses[:-1], words)
    growth.attrs["missing"] = "the run diverged"
    return growth


def _turns(b: Array) -> Array:
    before, after = b[:-1], b[1:]
    across = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    return np.degrees(np.abs(np.arctan2(across, np.sum(before * after, axis=-1))))


def _statistics(turns: Array, dims: tuple[str, ...]) -> dict[str, xr.Variable]:
    """Quantiles over the neurons, and the share that turns far."""
    large = np.where(np.isnan(turns[..., 0]), np.nan, np.mean(turns > LARGE_TURN, axis=-1))
    quantiles, words = np.quantile(turns, QUANTILES, axis=-1), "quantile over neurons of the turn in one iteration"
    variables = {
        "turn_quantile": variable(("quantile", *dims), quantiles, words, "degree"),
        "large_turns": variable(dims, large, "fraction of neurons turning over 10 degrees"),
    }
    for array in variables.values():
        array.attrs["missing"] = "the run diverged"
    return variables


def _stability(settings: FirstStep, a: Array, b: Array) -> dict[str, xr.Variable]:
    """Loss after the long runs; a diverged run has the iteration of its end instead."""
    dims = ("model", "long_radius", "long_step")
    runs = _runs(a, b, settings.stability_radii, settings.stability_steps, [settings.stability_iterations])
    loss, diverged = np.stack([run.loss[-1, 0] for run in runs]), np.stack([run.diverged[0] for run in runs])
    variables = {
        "long_loss": variable(dims, loss, "population loss at the end of the long run"),
        "long_diverged": variable(dims, diverged, "iteration at which the long run diverged"),
    }
    variables["long_loss"].attrs["missing"] = "the run diverged"
    variables["long_diverged"].attrs["missing"] = "the run did not diverge"
    return variables
