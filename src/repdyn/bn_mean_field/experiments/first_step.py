"""Figure 3 computed: the first steps of gradient descent over the length of the neurons, y = x_1."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    MODELS,
    linear,
    paired_start,
    signed_start,
)
from repdyn.bn_mean_field.settings import FirstStep
from repdyn.bn_mean_field.theory.bounds import critical_radius, first_step_norm
from repdyn.bn_mean_field.theory.velocity import Population

LARGE_TURN = 10.0  # degrees
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
SHOWN = 3  # iterations whose neurons are stored one by one


def first_step(settings: FirstStep, stream: Stream) -> xr.Dataset:
    """Norms and turns of every neuron in the first iterations, with and without BN, and long runs' losses."""
    starts = [paired_start(settings.directions)]
    starts += [signed_start(settings.directions, stream.generator(seed)) for seed in range(settings.seeds)]
    norms, turns = _walk(settings, starts)
    lowest = [np.nanmin(np.diff(norms[:, :, :, model], axis=0)) for model in range(len(MODELS))]
    dims = ("start", "radius", "model", "step")
    gradient = np.stack([_unit_gradient(a, b) for a, b in starts])
    data = dataset(
        {
            "gradient": variable(("start", "neuron"), gradient, "norm of b' at unit length"),
            "norm": variable(("iteration", *dims, "neuron"), norms[: SHOWN + 1], "length of b after the iteration"),
            "turn": variable(("shown", *dims, "neuron"), turns[:SHOWN], "turn of b in the iteration", "degree"),
            "turn_quantile": variable(
                ("quantile", "later", *dims),
                np.quantile(turns, QUANTILES, axis=-1),
                "quantile over neurons of the turn in one iteration",
                "degree",
            ),
            "large_turns": variable(
                ("later", *dims),
                np.where(np.isnan(turns[..., 0]), np.nan, np.mean(turns > LARGE_TURN, axis=-1)),
                "fraction of neurons turning over 10 degrees",
            ),
            "smallest_growth": variable("model", np.array(lowest), "smallest change of a norm in one iteration"),
            "norm_law": variable(
                ("start", "radius", "step", "neuron"),
                first_step_norm(*_grid(settings, gradient)),
                "length after one step by sqrt(r^2 + (h g / r)^2)",
            ),
            "critical": variable(
                ("start", "step", "neuron"),
                critical_radius(gradient[:, None], np.array(settings.steps)[:, None]),
                "length r* = sqrt(h g) below which the law falls",
            ),
            **_stability(settings, starts[0]),
        },
        {
            "iteration": variable("iteration", np.arange(SHOWN + 1), "iterations done"),
            "shown": variable("shown", np.arange(1, SHOWN + 1), "iteration"),
            "later": variable("later", np.arange(1, settings.iterations + 1), "iteration"),
            "quantile": variable("quantile", np.array(QUANTILES), "quantile over neurons"),
            "start": variable("start", np.arange(len(starts)), "0: both signs at each direction, others: i.i.d. signs"),
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
    for name in ("turn_quantile", "large_turns"):
        data[name].attrs["missing"] = "the run diverged"
    return data


def _grid(settings: FirstStep, gradient: Array) -> tuple[Array, Array, Array]:
    """Radius, gradient and step along (start, radius, step, neuron), broadcast against each other."""
    radius = np.array(settings.radii)[None, :, None, None]
    return radius, gradient[:, None, None], np.array(settings.steps)[None, None, :, None]


def _walk(settings: FirstStep, starts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Norms (iteration, start, radius, model, step, neuron) and turns, degrees, one iteration fewer."""
    shape = (len(starts), len(settings.radii), len(settings.steps))
    radii = np.array(settings.radii)[None, :, None, None, None]
    a = np.broadcast_to(np.stack([a for a, _ in starts])[:, None, None], (*shape, len(starts[0][0])))
    b = radii * np.broadcast_to(np.stack([b for _, b in starts])[:, None, None], (*a.shape, 2))
    norms, turns = [], []
    for kind in MODELS.values():
        model, steps = Population(linear(0), ANISOTROPIC, kind), np.array(settings.steps)
        run = gradient_descent(a, b, model, steps, record=range(settings.iterations + 1))
        norms.append(np.linalg.norm(run.b, axis=-1))
        turns.append(_turns(run.b))
    return np.stack(norms, axis=3), np.stack(turns, axis=3)


def _turns(b: Array) -> Array:
    before, after = b[:-1], b[1:]
    across = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    return np.degrees(np.abs(np.arctan2(across, np.sum(before * after, axis=-1))))


def _unit_gradient(a: Array, b: Array) -> Array:
    return np.linalg.norm(Population(linear(0), ANISOTROPIC).velocity(a, b)[1], axis=-1)


def _stability(settings: FirstStep, start: tuple[Array, Array]) -> dict[str, xr.Variable]:
    """Loss after the long runs; a diverged run has the iteration of its end instead."""
    dims = ("model", "long_radius", "long_step")
    shape = (len(MODELS), len(settings.stability_radii), len(settings.stability_steps))
    loss, diverged = np.empty(shape), np.empty(shape)
    for (i, kind), (j, radius), (k, step) in product(
        enumerate(MODELS.values()), enumerate(settings.stability_radii), enumerate(settings.stability_steps)
    ):
        model = Population(linear(0), ANISOTROPIC, kind)
        run = gradient_descent(start[0], radius * start[1], model, step, record=[settings.stability_iterations])
        loss[i, j, k], diverged[i, j, k] = run.loss[-1], run.diverged
    variables = {
        "long_loss": variable(dims, loss, "population loss at the end of the long run"),
        "long_diverged": variable(dims, diverged, "iteration at which the long run diverged"),
    }
    variables["long_loss"].attrs["missing"] = "the run diverged"
    variables["long_diverged"].attrs["missing"] = "the run did not diverge"
    return variables
