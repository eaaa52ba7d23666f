r"""The ReLU field in two dimensions in O(m log m): one sort and four prefix sums instead of m^2 kernels.

In the whitened plane a weight is an angle psi and a Sigma-norm, and the population field of charges c_j at
psi_j is E(psi) = sum_j c_j kappa(psi - psi_j), kappa(D) = (sin|D| + (pi - |D|) cos D)/(2 pi). Because
relu(z) = (z + |z|)/2, kappa splits into (pi/2) cos D, which needs two sums over all charges, and
g(D) = sin|D| + (pi/2 - |D|) cos D, which has period pi. Folded to [0, pi), the charges on either side of a
target enter through the sums of c cos, c sin, c psi cos, c psi sin only, so the field is exact.

Data: Gaussian, or any law that is rotation invariant after whitening (`theory.kernels`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def circular_kernel(difference: Float[ArrayLike, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    r"""kappa(D) = (sin|D| + (pi - |D|) cos D)/(2 pi) and kappa'(D) = -(pi - |D|) sin(D)/(2 pi).

    Ours: the kernel of `relu_kernel` over the angle, in two dimensions.

    Args:
        difference: angles D, any shape, radians; wrapped to (-pi, pi].

    Returns:
        kappa and kappa', same shape.
    """
    D = finite(difference, "difference")
    D = D - 2 * np.pi * np.round(D / (2 * np.pi))
    rest = np.pi - np.abs(D)
    return (np.sin(np.abs(D)) + rest * np.cos(D)) / (2 * np.pi), -rest * np.sin(D) / (2 * np.pi)


def circular_kernel_sums(
    angle_targets: Float[ArrayLike, "m"], angle_sources: Float[ArrayLike, "n"], weights: Float[ArrayLike, "n"]
) -> tuple[Float[Array, "m"], Float[Array, "m"]]:
    r"""E(psi) = sum_j w_j kappa(psi - psi_j) and E'(psi) at all targets in O((m + n) log n).

    Ours: a fast way to the field of (21) in two dimensions.

    Args:
        angle_targets: psi, radians.
        angle_sources: psi_j, radians.
        weights: w_j.

    Returns:
        E and E'.
    """
    targets, sources = (finite(angle_targets, "angle_targets"), finite(angle_sources, "angle_sources"))
    charge = finite(weights, "weights")
    if targets.ndim != 1 or sources.ndim != 1 or charge.shape != sources.shape or sources.size == 0:
        raise ValueError(
            f"shapes are {targets.shape}, {sources.shape}, {charge.shape}; expected (m,), (n,), (n,), n >= 1"
        )
    order = np.argsort(np.mod(sources, np.pi))
    folded = np.mod(sources, np.pi)[order]
    left = np.zeros((4, len(order) + 1))
    np.cumsum(_terms(folded, np.cos(folded), np.sin(folded), charge[order]), axis=-1, out=left[:, 1:])
    phi = np.mod(targets, np.pi)
    below = left[:, np.searchsorted(folded, phi, side="right")]
    dipole = charge @ np.cos(sources), charge @ np.sin(sources)
    flip = np.where(np.mod(targets, 2 * np.pi) >= np.pi, -1.0, 1.0)
    return _assemble(phi, np.cos(phi), np.sin(phi), below, left[:, -1:], dipole, flip)


def planar_field(
    points: Float[Array, "*batch n 2"], weights: Float[Array, "*batch n"]
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
    r"""E and E' of charges w_j at the directions of `points`, at those same points; batched, O(n log n).

    The inner loop of every two-dimensional run: no check, no search, no trigonometric call but arctan2.

    Ours: a fast way to the field of (21) in two dimensions.

    Args:
        points: whitened weights Sigma^{1/2} b, nonzero; only directions matter.
        weights: charges.

    Returns:
        E and E'.
    """
    unit = points / np.sqrt(points[..., 0] ** 2 + points[..., 1] ** 2)[..., None]
    flip = np.where((unit[..., 1] < 0) | ((unit[..., 1] == 0) & (unit[..., 0] < 0)), -1.0, 1.0)
    cosine, sine = flip * unit[..., 0], flip * unit[..., 1]
    phi = np.arctan2(sine, cosine)
    order = np.argsort(phi, axis=-1)
    terms = np.stack(_terms(phi, cosine, sine, weights))
    left = np.cumsum(np.take_along_axis(terms, order[None], axis=-1), axis=-1)
    below = np.empty_like(left)
    np.put_along_axis(below, order[None], left, axis=-1)
    charge = flip * weights
    dipole = np.sum(charge * cosine, axis=-1)[..., None], np.sum(charge * sine, axis=-1)[..., None]
    return _assemble(phi, cosine, sine, below, left[..., -1:], dipole, flip)


def _terms(phi: Array, cosine: Array, sine: Array, charge: Array) -> tuple[Array, Array, Array, Array]:
    c, s = charge * cosine, charge * sine
    return c, s, phi * c, phi * s


def _assemble(
    phi: Array, cosine: Array, sine: Array, below: Array, total: Array, dipole: tuple[Array, Array], flip: Array
) -> tuple[Array, Array]:
    """Field from the sums over folded charges at or below phi and from all charges' dipole.

    With P = left - right and Q likewise, the pi-periodic part is the sum of sin D + (pi/2 - D) cos D over
    D = phi - phi_j > 0 on the left and D = phi_j - phi > 0 on the right.
    """
    c, s, phi_c, phi_s = 2 * below - total
    near_c, near_s = np.pi / 2 * total[0] - phi * c + phi_c, np.pi / 2 * total[1] - phi * s + phi_s
    even = sine * c - cosine * s + cosine * near_c + sine * near_s
    even_slope = cosine * near_s - sine * near_c
    along, across = dipole[0] * cosine + dipole[1] * sine, dipole[1] * cosine - dipole[0] * sine
    quarter = np.pi / 2 * flip
    return (even + quarter * along) / (2 * np.pi), (even_slope + quarter * across) / (2 * np.pi)
