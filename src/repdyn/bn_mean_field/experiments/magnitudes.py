"""Figure 2 of Ma and Ying: small and tenfold larger neurons in one BN model."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    PAIRED_FIRST,
    axis_angle,
    linear,
    near_axes,
    paired_and_signed_starts,
)
from repdyn.bn_mean_field.settings import Magnitudes
from repdyn.bn_mean_field.theory.velocity import Population


def magnitudes(settings: Magnitudes, stream: Stream) -> xr.Dataset:
    """Figure 2: one BN model with small and large neurons at the same directions, y = x_1."""
    draws = [stream.generator(seed) for seed in range(settings.seeds)]
    a, b = paired_and_signed_starts(settings.directions, draws)
    radii = np.repeat(settings.radii, 2 * settings.directions)
    a, b = np.concatenate([a, a], axis=1), radii[:, None] * np.concatenate([b, b], axis=1)
    record = np.arange(0, settings.iterations + 1, settings.stride)
    run = gradient_descent(a, b, Population(linear(0), ANISOTROPIC), settings.step, record=record)
    shape = (len(record), len(a), 2, 2 * settings.directions)
    angle = np.arctan2(run.b[..., 1], run.b[..., 0])
    turned = np.abs(angle - angle[:1])
    turned = np.degrees(np.minimum(turned, 2 * np.pi - turned)).reshape(shape)
    dims = ("iteration", "start", "radius", "neuron")
    return dataset(
        {
            "a": variable(dims, run.a.reshape(shape), "output weight"),
            "angle": variable(dims, angle.reshape(shape), "direction of b", "radian"),
            "axis_angle": variable(dims, axis_angle(run.b).reshape(shape), "angle between b and the x1 axis", "degree"),
            "turned": variable(dims, turned, "angle between b and its start", "degree"),
            "near": variable(
                dims[:-1], near_axes(axis_angle(run.b).reshape(shape))[..., 0], "share within 15 degrees of the x1 axis"
            ),
            "mean_turn": variable(dims[:-1], turned.mean(axis=-1), "mean angle between b and its start", "degree"),
            "loss": variable(("iteration", "start"), run.loss, "population loss"),
        },
        {
            "iteration": variable("iteration", record, "iteration"),
            "start": index("start", len(a), PAIRED_FIRST),
            "radius": variable("radius", np.array(settings.radii), "initial length of b"),
            "neuron": index("neuron", shape[-1], "neuron of one size"),
            "step": variable((), settings.step, "mean-field step"),
        },
        title="A BN model with two sizes of neurons",
    )
