"""Figure 3 computed: the first steps of gradient descent over the length of the neurons, y = x_1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
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
    gradient = np.linalg.norm(Population(linear(0), ANISOTROPIC).velocity(a, b)[1], axis=-1)
    dims = ("start", "radius", "model", "step")
    return dataset(
        {
            "gradient": variable(("start", "neuron"), gradient, "norm of b' at unit length"),
            "norm": variable(("iteration", *dims, "neuron"), norms[: SHOWN + 1], "length of b after the iteration"),
            "turn": variable(("shown", *dims, "neuron"), turns[:SHOWN], "turn of b in the iteration", "degree"),
            **_statistics(turns, ("later", *dims)),
            "smallest_growth": variable(
                "model",
                np.nanmin(np.diff(norms, axis=0), axis=(0, 1, 2, 4, 5)),
                "smallest change of a norm in one iteration",
            ),
            "norm_law": variable(
                ("start", "radius", "step", "neuron"),
                first_step_norm(
                    np.array(settings.radii)[:, None, None], gradient[:, None, None], np.array(settings.steps)[:, None]
                ),
                "length after one step by sqrt(r^2 + (h g / r)^2)",
            ),
            "critical": variable(
                ("start", "step", "neuron"),
                critical_radius(gradient[:, None], np.array(settings.steps)[:, None]),
                "length r* = sqrt(h g) below which the law falls",
            ),
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


def _runs(
    a: Array, b: Array, radii: Sequence[float], steps: Sequence[float], record: Sequence[int]
) -> list[Trajectory]:
    """Descent with and without BN from all starts at all lengths: a batch (start, radius, step) for each model."""
    shape = (len(a), len(radii), len(steps), a.shape[1])
    b = np.array(radii)[:, None, None, None] * np.broadcast_to(b[:, None, None], (*shape, 2))
    a = np.broadcast_to(a[:, None, None], shape)
    models = [Population(linear(0), ANISOTROPIC, kind) for kind in MODELS.values()]
    return [gradient_descent(a, b, model, steps, record=record) for model in models]


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
