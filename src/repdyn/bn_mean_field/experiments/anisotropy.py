"""Figure 1 of Ma and Ying: training with and without BN on anisotropic data (settings: see `starts_and_targets`)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    MODELS,
    axis_angle,
    linear,
    linear_along,
    near_axes,
    paired_start,
)
from repdyn.bn_mean_field.settings import Anisotropy
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population

TARGETS = {"y = x1": linear(0), "y = x2": linear(1), "y = (x1 + x2) / sqrt(2)": linear_along(45.0)}


def anisotropy(settings: Anisotropy) -> xr.Dataset:
    """Figure 1: directions, output weights and speeds with and without BN, targets along the axes and between them."""
    a, b = paired_start(settings.directions)
    record, step, look = settings.record, settings.step, settings.record.index(settings.look)
    shape = (len(MODELS), len(TARGETS), len(record))
    outer, weights, loss = np.empty((*shape, len(a))), np.empty((*shape, *b.shape)), np.empty(shape)
    speed = np.empty((*shape[:2], len(a)))
    for (row, kind), (column, target) in product(enumerate(MODELS.values()), enumerate(TARGETS.values())):
        model = Population(target, ANISOTROPIC, kind)
        run = gradient_descent(a, b, model, step, record=record)
        outer[row, column], weights[row, column], loss[row, column] = run.a, run.b, run.loss
        speed[row, column] = tangential_speed(run.b[look], model.velocity(run.a[look], run.b[look])[1])
    dims = ("model", "target", "iteration")
    return dataset(
        {
            "a": variable((*dims, "neuron"), outer, "output weight"),
            "angle": variable(
                (*dims, "neuron"), np.arctan2(weights[..., 1], weights[..., 0]), "direction of b", "radian"
            ),
            "axis_angle": variable((*dims, "neuron"), axis_angle(weights), "angle between b and the x1 axis", "degree"),
            "length": variable((*dims, "neuron"), np.linalg.norm(weights, axis=-1), "length of b"),
            "speed": variable(("model", "target", "neuron"), speed, "tangential speed |(I - u u^T) b'| at `look`"),
            "largest_speed": variable(("model", "target"), speed.max(axis=-1), "largest of these speeds"),
            "near": variable((*dims, "axis"), near_axes(axis_angle(weights)), "share of neurons within 15 degrees"),
            "loss": variable(dims, loss, "population loss"),
        },
        {
            "model": variable("model", np.array(list(MODELS)), "model"),
            "target": variable("target", np.array(list(TARGETS)), "target"),
            "iteration": variable("iteration", np.array(record), "iteration"),
            "neuron": index("neuron", len(a), "neuron"),
            "axis": variable("axis", np.array([1, 2]), "axis of x"),
            "look": variable((), settings.look, "iteration of the speeds"),
            "step": variable((), step, "mean-field step"),
        },
        title="Training with and without BN on anisotropic data",
    )
