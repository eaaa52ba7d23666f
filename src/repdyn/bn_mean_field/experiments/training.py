"""Gradient descent of section 4: Figures 1, 2 and 3 and the comparison at matched loss that Figure 1 lacks.

The paper states d = 2, Sigma = diag(5, 1) and the iterations shown; it leaves out m, step, target, activation,
loss, start and time scaling. Here: Gaussian inputs, exact population gradients, ReLU, squared loss, y = x_1 and
equispaced unit directions, each with a = +1 and a = -1; models that are compared share step and start.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.problems import (
    ANISOTROPIC,
    axis_angle,
    index,
    linear,
    paired_start,
    signed_start,
)
from repdyn.bn_mean_field.methods.simulation import Trajectory, gradient_descent
from repdyn.bn_mean_field.settings import Anisotropy, Magnitudes
from repdyn.bn_mean_field.theory.checks import Array
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population

MODELS = {"BN": "batch", "vanilla": "none"}
PROBLEMS = {  # target axis and covariance of the comparison of speeds
    "y = x1": (0, ANISOTROPIC),
    "y = x2": (1, ANISOTROPIC),
    "y = x1, Sigma = I": (0, np.eye(2)),
}


def anisotropy(settings: Anisotropy) -> xr.Dataset:
    """Figure 1: directions, output weights and speeds with and without BN, targets x1 and x2."""
    a, b = paired_start(settings.directions)
    frames = {
        (model, axis): gradient_descent(
            a, b, Population(linear(axis), ANISOTROPIC, kind), settings.step, record=settings.record
        )
        for (model, kind), axis in product(MODELS.items(), (0, 1))
    }
    dims = ("model", "target", "iteration")

    def gathered(part: str) -> Array:
        return np.stack([[getattr(frames[model, axis], part) for axis in (0, 1)] for model in MODELS])

    speed = np.stack([[_speeds(frames[m, t], m, t, settings.look) for t in (0, 1)] for m in MODELS])
    weights = gathered("b")
    return dataset(
        {
            "a": variable((*dims, "neuron"), gathered("a"), "output weight"),
            "angle": variable(
                (*dims, "neuron"), np.arctan2(weights[..., 1], weights[..., 0]), "direction of b", "radian"
            ),
            "axis_angle": variable((*dims, "neuron"), axis_angle(weights), "angle between b and the x1 axis", "degree"),
            "length": variable((*dims, "neuron"), np.linalg.norm(weights, axis=-1), "length of b"),
            "speed": variable(("model", "target", "neuron"), speed, "tangential speed |(I - u u^T) b'| at `look`"),
            "loss": variable(dims, gathered("loss"), "population loss"),
        },
        {
            "model": variable("model", np.array(list(MODELS)), "model"),
            "target": variable("target", np.array(["y = x1", "y = x2"]), "target"),
            "iteration": variable("iteration", np.array(settings.record), "iteration"),
            "neuron": index("neuron", len(a), "neuron"),
            "look": variable((), settings.look, "iteration of the speeds"),
            "step": variable((), settings.step, "mean-field step"),
        },
        title="Training with and without BN on anisotropic data",
    )


def _speeds(run: Trajectory, model: str, axis: int, look: int) -> Array:
    k = int(np.flatnonzero(run.times == look)[0])
    velocity = Population(linear(axis), ANISOTROPIC, MODELS[model]).velocity(run.a[k], run.b[k])
    return tangential_speed(run.b[k], velocity[1])


def speed_ratio(settings: Anisotropy, stream: Stream) -> xr.Dataset:
    """Largest and median speeds along training with and without BN: at equal iteration and at matched loss."""
    steps, iterations = np.array(settings.steps), np.arange(0, settings.early + 1, settings.stride)
    starts = [paired_start(settings.directions)]
    starts += [signed_start(settings.directions, stream.generator(seed)) for seed in range(settings.seeds)]
    shape = (len(PROBLEMS), len(starts), len(MODELS), len(steps), len(iterations))
    largest, median, loss = (np.empty(shape) for _ in range(3))
    a, b = (np.stack([np.stack([start[k]] * len(steps)) for start in starts]) for k in (0, 1))
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


def _ratio_dataset(settings: Anisotropy, iterations: Array, largest: Array, median: Array, loss: Array) -> xr.Dataset:
    matched = np.empty(largest[:, :, 0].shape)
    partner = np.empty_like(matched)
    for cell in np.ndindex(matched.shape[:3]):
        bn, vanilla = (*cell[:2], 0, cell[2]), (*cell[:2], 1, cell[2])
        partner[cell] = _iteration_of_loss(loss[bn], loss[vanilla], iterations)
        matched[cell] = largest[bn] / np.interp(partner[cell], iterations, largest[vanilla])
    dims = ("problem", "start", "step", "iteration")
    made = {
        "largest": variable((*dims[:2], "model", *dims[2:]), largest, "largest tangential speed"),
        "median": variable((*dims[:2], "model", *dims[2:]), median, "median tangential speed"),
        "loss": variable((*dims[:2], "model", *dims[2:]), loss, "population loss"),
        "ratio": variable(dims, largest[:, :, 0] / largest[:, :, 1], "largest speed, BN over vanilla"),
        "matched_ratio": variable(dims, matched, "the same with vanilla at the iteration of equal loss"),
        "matched_iteration": variable(dims, partner, "iteration of vanilla with the BN model's loss"),
    }
    return dataset(
        made,
        {
            "problem": variable("problem", np.array(list(PROBLEMS)), "target and covariance"),
            "start": variable(
                "start", np.arange(largest.shape[1]), "0: both signs at each direction, others: i.i.d. signs"
            ),
            "model": variable("model", np.array(list(MODELS)), "model"),
            "step": variable("step", np.array(settings.steps), "mean-field step"),
            "iteration": variable("iteration", iterations, "iteration of the BN model"),
            "look": variable((), settings.look, "iteration of the paper's figure"),
            "paper_step": variable((), settings.step, "mean-field step of our Figure 1"),
        },
        title="Speeds of neurons with and without BN, at equal iteration and at matched loss",
    )


def _iteration_of_loss(wanted: Array, losses: Array, iterations: Array) -> Array:
    """Where a falling loss curve has the wanted values, linear in the logarithm between records."""
    floor = np.finfo(float).tiny
    falling = np.minimum.accumulate(np.log(np.maximum(losses, floor)))
    return np.interp(-np.log(np.maximum(wanted, floor)), -falling, iterations)


def magnitudes(settings: Magnitudes, stream: Stream) -> xr.Dataset:
    """Figure 2: one BN model with small and large neurons at the same directions, y = x_1."""
    starts = [paired_start(settings.directions)]
    starts += [signed_start(settings.directions, stream.generator(seed)) for seed in range(settings.seeds)]
    radii = np.repeat(settings.radii, 2 * settings.directions)
    a = np.stack([np.concatenate([a, a]) for a, _ in starts])
    b = np.stack([radii[:, None] * np.concatenate([b, b]) for _, b in starts])
    record = np.arange(0, settings.iterations + 1, settings.stride)
    run = gradient_descent(a, b, Population(linear(0), ANISOTROPIC), settings.step, record=record)
    shape = (len(record), len(starts), 2, 2 * settings.directions)
    angle = np.arctan2(run.b[..., 1], run.b[..., 0])
    turned = np.abs(angle - angle[:1])
    dims = ("iteration", "start", "radius", "neuron")
    return dataset(
        {
            "a": variable(dims, run.a.reshape(shape), "output weight"),
            "angle": variable(dims, angle.reshape(shape), "direction of b", "radian"),
            "axis_angle": variable(dims, axis_angle(run.b).reshape(shape), "angle between b and the x1 axis", "degree"),
            "turned": variable(
                dims,
                np.degrees(np.minimum(turned, 2 * np.pi - turned)).reshape(shape),
                "angle between b and its start",
                "degree",
            ),
            "loss": variable(("iteration", "start"), run.loss, "population loss"),
        },
        {
            "iteration": variable("iteration", record, "iteration"),
            "start": variable("start", np.arange(len(starts)), "0: both signs at each direction, others: i.i.d. signs"),
            "radius": variable("radius", np.array(settings.radii), "initial length of b"),
            "neuron": index("neuron", shape[-1], "neuron of one size"),
            "step": variable((), settings.step, "mean-field step"),
        },
        title="A BN model with two sizes of neurons",
    )
