"""What the eps of library batch norms does to the model: radial part of the gradient and first step over the length."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.formula_audit import (
    NO_EPS,
    Draw,
    autograd_flow,
    batch_norm,
    radial_fraction,
    random_draw,
)
from repdyn.bn_mean_field.settings import BatchNormEps
from repdyn.bn_mean_field.theory.bounds import first_step_norm
from repdyn.bn_mean_field.theory.velocity import empirical_velocity

STEP = 0.1  # mean-field step of the first step


def batch_norm_eps(settings: BatchNormEps, stream: Stream) -> xr.Dataset:
    """Median radial fraction of autograd's b-gradient, and median length after one step, with and without eps."""
    shape = (settings.draws, len(settings.radii))
    radial, next_to_norm, length = np.empty((2, *shape)), np.empty(shape), np.empty((2, *shape))
    for number in range(settings.draws):
        sizes = (settings.samples, settings.dimension, settings.width)
        draw = random_draw(*sizes, (1.0,), stream.generator(number))
        for place, radius in enumerate(settings.radii):
            for row, eps in enumerate((NO_EPS, settings.eps)):
                radial[row, number, place], length[row, number, place] = _measured(draw, radius, eps)
            next_to_norm[number, place] = _eps_next_to_norm(draw, radius, settings.eps)
    dims = ("with_eps", "draw", "radius")
    return dataset(
        {
            "radial": variable(dims, radial, "median radial fraction of the b-gradient"),
            "radial_next_to_norm": variable(
                dims[1:], next_to_norm, "the same if eps were added to the deviation, not to the variance"
            ),
            "length": variable(dims, length, "median length after one step over the law for eps = 0"),
        },
        {
            "with_eps": variable("with_eps", np.array([0, 1]), "0: eps = 0, 1: eps of the settings"),
            "draw": index("draw", settings.draws, "draw of data and network"),
            "radius": variable("radius", np.array(settings.radii), "length of the inner weights"),
            "eps": variable((), settings.eps, "eps added to the variance"),
            "samples": variable((), settings.samples, "inputs per data set"),
        },
        title="The eps of library batch norms over the length of the weights",
    )


def _measured(draw: Draw, radius: float, eps: float) -> tuple[float, float]:
    b, m = radius * draw.b, len(draw.a)
    db = m * autograd_flow(draw.x, draw.y, draw.a, b, partial(batch_norm, eps=eps))[1]
    unit = np.linalg.norm(empirical_velocity(draw.a, draw.b, draw.x, draw.y)[1], axis=1)
    grown = np.linalg.norm(b + STEP * db, axis=1) / first_step_norm(radius, unit, STEP)
    return float(np.median(radial_fraction(b, db))), float(np.median(grown))


def _eps_next_to_norm(draw: Draw, radius: float, eps: float) -> float:
    """Radial fraction of autograd's gradient through z / (deviation + sqrt(eps))."""

    def normalize(z: torch.Tensor) -> torch.Tensor:
        return z / (z.pow(2).mean(dim=0).sqrt() + eps**0.5)

    b = radius * draw.b
    db = autograd_flow(draw.x, draw.y, draw.a, b, normalize)[1]
    return float(np.median(radial_fraction(b, db)))
