"""Speeds of neurons with and without BN along training: at equal iteration and at matched loss."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    MODELS,
    PAIRED_FIRST,
    linear,
    paired_and_signed_starts,
)
from repdyn.bn_mean_field.settings import Anisotropy
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population

PROBLEMS = {  # target axis and covariance of the comparison of speeds
    "y = x1": (0, ANISOTROPIC),
    "y = x2": (1, ANISOTROPIC),
    "y = x1, Sigma = I": (0, np.eye(2)),
}


def speed_ratio(settings: Anisotropy, stream: Stream) -> xr.Dataset:
    """Largest and median speeds along training with and without BN: at equal iteration and at matched loss."""
    steps, iterations = np.array(settings.steps), np.arange(0, settings.early + 1, settings.stride)
    draws = [stream.generator(seed) for seed in range(settings.seeds)]
    a, b = (
        np.repeat(part[:, None], len(steps), axis=1) for part in paired_and_signed_starts(settings.directions, draws)
    )
    shape = (len(PROBLEMS), len(a), len(MODELS), len(steps), len(iterations))
    largest, median, loss = (np.empty(shape) for _ in range(3))
    progress = Progress("speed_ratio", len(PROBLEMS) * len(MODELS))
    for (p, (axis, cov)), (k, kind) in product(enumerate(PROBLEMS.values()), enumerate(MODELS.values())):
        model = Population(linear(axis), cov, kind)
        run = gradient_descent(a, b, model, steps, record=iterations)
        loss[p, :, k] = np.moveaxis(run.loss, 0, -1)
        for t in range(len(iterations)):
            speed = tangential_speed(run.b[t], model.velocity(run.a[t], run.b[t])[1])
            largest[p, :, k, :, t], median[p, :, k, :, t] = speed.max(axis=-1), np.median(speed, axis=-1)
        progress.step(p * len(MODELS) + k + 1)
    return _ratio_dataset(settings, iterations, largest, median, loss)


def _ratio_dataset(
    settings: Anisotropy, iterations: NDArray[np.intp], largest: Array, median: Array, loss: Array
) -> xr.Dataset:
    matched = np.empty(largest[:, :, 0].shape)
    partner = np.empty_like(matched)
    for cell in np.ndindex(matched.shape[:3]):
        bn, vanilla = (*cell[:2], 0, cell[2]), (*cell[:2], 1, cell[2])
        partner[cell] = _iteration_of_loss(loss[bn], loss[vanilla], iterations)
        matched[cell] = largest[bn] / np.interp(partner[cell], iterations, largest[vanilla])
    dims = ("problem", "start", "step", "iteration")
    variables = {
        "largest": variable((*dims[:2], "model", *dims[2:]), largest, "largest tangential speed"),
        "median": variable((*dims[:2], "model", *dims[2:]), median, "median tangential speed"),
        "loss": variable((*dims[:2], "model", *dims[2:]), loss, "population loss"),
        "ratio": variable(dims, largest[:, :, 0] / largest[:, :, 1], "largest speed, BN over vanilla"),
        "matched_ratio": variable(dims, matched, "the same with vanilla at the iteration of equal loss"),
        "matched_iteration": variable(dims, partner, "iteration of vanilla with the BN model's loss"),
    }
    return dataset(
        variables,
        {
            "problem": variable("problem", np.array(list(PROBLEMS)), "target and covariance"),
            "start": index("start", largest.shape[1], PAIRED_FIRST),
            "model": variable("model", np.array(list(MODELS)), "model"),
            "step": variable("step", np.array(settings.steps), "mean-field step"),
            "iteration": variable("iteration", iterations, "iteration of the BN model"),
            "look": variable((), settings.look, "iteration of the paper's figure"),
            "paper_step": variable((), settings.step, "mean-field step of our Figure 1"),
        },
        title="Speeds of neurons with and without BN, at equal iteration and at matched loss",
    )


def _iteration_of_loss(wanted: Array, losses: Array, iterations: NDArray[np.intp]) -> Array:
    """Where a falling loss curve has the wanted values, linear in the logarithm between records."""
    floor = np.finfo(float).tiny
    falling = np.minimum.accumulate(np.log(np.maximum(losses, floor)))
    return np.interp(-np.log(np.maximum(wanted, floor)), -falling, iterations)
