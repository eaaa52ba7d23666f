"""Finite-batch BN against the population: bias and noise of the velocity over the batch size."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, linear, signed_start
from repdyn.bn_mean_field.settings import FiniteBatch
from repdyn.bn_mean_field.theory.velocity import Population, batch_velocities

NUMBERS = 2_000_000  # of one block's activations: 16 MB per temporary


def finite_batch(settings: FiniteBatch, stream: Stream) -> xr.Dataset:
    """Mean and scatter of the b-velocity of BN over batches of Gaussian data, y = x_1, groups as samples."""
    a, b = signed_start(settings.width // 2, stream.generator("start"))
    exact = Population(linear(0), ANISOTROPIC).velocity(a, b)[1]
    shape = (len(settings.batches), settings.groups)
    mean, noise = np.empty((*shape, *exact.shape)), np.empty(shape)
    progress = Progress("finite_batch", int(np.prod(shape)))
    for i, size in enumerate(settings.batches):
        for group in range(settings.groups):
            rng = stream.generator(size, group)
            mean[i, group], noise[i, group] = _batches(a, b, exact, size, settings.repeats, rng)
            progress.step(i * settings.groups + group + 1)
    scale = np.linalg.norm(exact)
    return dataset(
        {
            "bias": variable(("batch", "group"), _bias(mean - exact) / scale, "bias along its direction, over |b'|"),
            "noise": variable(("batch", "group"), noise / scale, "root mean square error of one batch over |b'|"),
        },
        {
            "batch": variable("batch", np.array(settings.batches), "batch size"),
            "group": index("group", settings.groups, "independent group of batches"),
            "width": variable((), len(a), "neurons"),
            "repeats": variable((), settings.repeats, "batches per group"),
        },
        title="Velocity of finite-batch BN against the population's",
    )


def _batches(
    a: Array, b: Array, exact: Array, size: int, repeats: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Mean b-velocity over the batches, and its root mean square error, in blocks of bounded memory."""
    x = rng.standard_normal((repeats, size, 2)) * np.sqrt(np.diag(ANISOTROPIC))
    block = max(1, NUMBERS // (size * len(a)))
    parts = [batch_velocities(a, b, x[i : i + block], x[i : i + block, :, 0]) for i in range(0, repeats, block)]
    velocities = np.concatenate(parts)
    return velocities.mean(axis=0), float(np.sqrt(np.mean(np.sum((velocities - exact) ** 2, axis=(1, 2)))))


def _bias(error: Array) -> Array:
    """Mean error of each group along the direction of the smallest batch's: linear, so noise adds no bias."""
    direction = error[0].mean(axis=0) / np.linalg.norm(error[0].mean(axis=0))
    return np.sum(error * direction, axis=(2, 3))
