"""Figure 1 of Ma and Ying: training with and without BN on anisotropic data (settings: see `starts_and_targets`)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.bn_mean_field.methods.particle_flows import Trajectory, gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    MODELS,
    axis_angle,
    linear,
    near_axes,
    paired_start,
)
from repdyn.bn_mean_field.settings import Anisotropy
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population


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
            "largest_speed": variable(("model", "target"), speed.max(axis=-1), "largest of these speeds"),
            "near": variable((*dims, "axis"), near_axes(axis_angle(weights)), "share of neurons within 15 degrees"),
            "loss": variable(dims, gathered("loss"), "population loss"),
        },
        {
            "model": variable("model", np.array(list(MODELS)), "model"),
            "target": variable("target", np.array(["y = x1", "y = x2"]), "target"),
            "iteration": variable("iteration", np.array(settings.record), "iteration"),
            "neuron": index("neuron", len(a), "neuron"),
            "axis": variable("axis", np.array([1, 2]), "axis of x"),
            "look": variable((), settings.look, "iteration of the speeds"),
            "step": variable((), settings.step, "mean-field step"),
        },
        title="Training with and without BN on anisotropic data",
    )


def _speeds(run: Trajectory, model: str, axis: int, look: int) -> Array:
    k = int(np.flatnonzero(run.times == look)[0])
    velocity = Population(linear(axis), ANISOTROPIC, MODELS[model]).velocity(run.a[k], run.b[k])
    return tangential_speed(run.b[k], velocity[1])
