"""Targets and starts that the experiments share: the plane with Sigma = diag(5, 1), teachers, particle clouds.

Section 4 of Ma and Ying states d = 2, Sigma = diag(5, 1) and the iterations shown; it leaves out width, step, target,
activation, loss, start and time scaling. Here: Gaussian inputs, exact population gradients, ReLU, squared loss,
y = x_1 and equispaced unit directions, each with a = +1 and a = -1; models that are compared share step and start.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Teacher

ANISOTROPIC = np.diag([5.0, 1.0])  # the paper's Sigma, section 4
NEAR = 15.0  # degrees: neurons that lie near an axis
MODELS = {"BN": "batch", "vanilla": "none"}
PAIRED_FIRST = "0: both signs at each direction, others: i.i.d. signs"  # what `paired_and_signed_starts` numbers


def linear(axis: int, slope: float = 1.0) -> Teacher:
    """The target y = slope * x_axis as relu(x) - relu(-x), axis 0 or 1."""
    w = np.eye(2)[axis]
    return Teacher(slope * np.array([1.0, -1.0]), np.stack([w, -w]))


def linear_along(degrees: float) -> Teacher:
    """The target y = w^T x, w the unit vector at an angle to the x1 axis."""
    w = directions(np.radians(degrees))
    return Teacher(np.array([1.0, -1.0]), np.stack([w, -w]))


def ring(count: int, norm: float = 2.0) -> Teacher:
    """Up to three teacher neurons of alternating sign, 110 degrees apart, all of Sigma-norm `norm`."""
    angles = np.radians(40.0 + 110.0 * np.arange(count))
    return Teacher(np.array([1.0, -1.0, 1.0])[:count], norm * normalize(directions(angles), ANISOTROPIC))


def directions(angles: Array) -> Array:
    """Unit vectors, shape (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def circle(count: int) -> Array:
    """Equispaced unit vectors, half a spacing off the axes, shape (count, 2)."""
    return directions(2 * np.pi * (np.arange(count) + 0.5) / count)


def paired_start(count: int) -> tuple[Array, Array]:
    """Each of `count` directions with a = +1 and with a = -1: the model starts at f = 0 and needs no seed."""
    return np.repeat([1.0, -1.0], count), np.concatenate([circle(count)] * 2)


def signed_start(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """2 * count equispaced directions with independent random signs of a."""
    return rng.choice([-1.0, 1.0], size=2 * count), circle(2 * count)


def paired_and_signed_starts(count: int, draws: Iterable[np.random.Generator]) -> tuple[Array, Array]:
    """The paired start, then a signed one from each generator, shapes (starts, 2 count) and (starts, 2 count, 2)."""
    starts = [paired_start(count), *(signed_start(count, rng) for rng in draws)]
    return np.stack([a for a, _ in starts]), np.stack([b for _, b in starts])


def low_discrepancy_start(count: int) -> tuple[Array, Array]:
    """Hammersley's points: a uniform on [-1, 1] by bit reversal, direction equispaced on the circle."""
    digits = np.arange(count)[:, None] >> np.arange(count.bit_length()) & 1
    a = digits @ 0.5 ** np.arange(1, count.bit_length() + 1)
    return 2 * a - 1 + 1 / count, circle(count)


def random_start(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The same law, independently drawn."""
    return rng.uniform(-1, 1, size=count), directions(rng.uniform(0, 2 * np.pi, size=count))


def near_axes(angle: Array) -> Array:
    """Shares of neurons within 15 degrees of the x1 and of the x2 axis, shape (..., 2), from `axis_angle` (..., m)."""
    return np.stack([np.mean(angle < NEAR, axis=-1), np.mean(angle > 90 - NEAR, axis=-1)], axis=-1)


def axis_angle(b: Array) -> Array:
    """Angle between b and the x1 axis, of large variance, in degrees, 0 to 90."""
    return np.degrees(np.arctan2(np.abs(b[..., 1]), np.abs(b[..., 0])))
