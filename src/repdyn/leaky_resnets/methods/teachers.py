"""Teachers and their data: compositions of random networks through a narrow middle (Figures 1 and 2, Appendix B).

Stated: f* = g_2 o g_1 with random fully connected nets through k* = 3 dimensions, or g_3 o g_2 o g_1 with random
ResNets through 6 and 3; training and test points demeaned and normalized together. Not stated, chosen here: normal
inputs; every g has one hidden layer of `hidden` neurons (weights of variance 2/fan-in, biases of standard deviation
1/2), or a linear map to 20 dimensions, three residual blocks and a linear map; inner dimensions have unit variance;
inputs and outputs are demeaned and normalized per feature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from repdyn.base.arrays import Array

RESNET_WIDTH, BLOCKS = 20, 3


@dataclass(frozen=True)
class Task:
    """Training and test points of one teacher; X of shape (d, N), Y of shape (d, N)."""

    X: Array
    Y: Array
    X_test: Array
    Y_test: Array


def bottleneck_task(
    dimension: int, inner: tuple[int, ...], points: int, rng: np.random.Generator, *, teacher: str, hidden: int = 10
) -> Task:
    """Points of a random teacher through the inner dimensions, as many for the test as for training.

    Args:
        dimension: of inputs and outputs.
        inner: dimensions between the teacher's parts, (3,) in Figure 1, (6, 3) in Figure 2.
        points: training points.
        rng: generator.
        teacher: "fully connected" or "residual".
        hidden: neurons of a fully connected part.
    """
    X = normalized(rng.standard_normal((dimension, 2 * points)))
    Z, sizes = X, (dimension, *inner, dimension)
    for size, following in pairwise(sizes):
        part = _residual(size, following, rng) if teacher == "residual" else _connected(size, hidden, following, rng)
        Z = normalized(part(Z))
    X, Z = (part.astype(np.float32).astype(float) for part in (X, Z))  # as training sees them
    return Task(X[:, :points], Z[:, :points], X[:, points:], Z[:, points:])


def normalized(Z: Array) -> Array:
    """Every feature (row) with mean 0 and variance 1 over all points."""
    centered = Z - Z.mean(axis=1, keepdims=True)
    return centered / centered.std(axis=1, keepdims=True)


def _connected(size: int, hidden: int, following: int, rng: np.random.Generator) -> Callable[[Array], Array]:
    first = rng.standard_normal((hidden, size)) * np.sqrt(2 / size)
    second = rng.standard_normal((following, hidden)) * np.sqrt(2 / hidden)
    offset = 0.5 * rng.standard_normal((hidden, 1))
    return lambda Z: second @ np.maximum(first @ Z + offset, 0)


def _residual(size: int, following: int, rng: np.random.Generator) -> Callable[[Array], Array]:
    w = RESNET_WIDTH
    into, out = rng.standard_normal((w, size)) / np.sqrt(size), rng.standard_normal((following, w)) / np.sqrt(w)
    blocks = rng.standard_normal((BLOCKS, 2, w, w)) * np.sqrt(2 / w)

    def run(Z: Array) -> Array:
        Z = into @ Z
        for U, V in blocks:
            Z = Z + V @ np.maximum(U @ Z, 0) / np.sqrt(BLOCKS)
        return out @ Z

    return run
