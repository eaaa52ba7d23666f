r"""Angles between the points of a layer, all pairs, in blocks of the Gram matrix; the odd point.

Small layers go through the formula of `bn_decomposed.theory.geometry`, which keeps all digits. Large ones go through
the cosines of their Gram matrix, which keep half of the digits of small angles: below 2e-8 these are rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STABLE = 2**25  # pairs * coordinates, up to which the formula that keeps all digits takes a fraction of a second
ROWS = 512  # of the Gram matrix at a time


class Angles(NamedTuple):
    """Angles of a layer in radians.

    Attributes:
        quantiles: `QUANTILES` over all pairs, shape (5,).
        odd: median angle between the point of largest norm and the others.
        intra: median angle among the others; NaN for two points.
    """

    quantiles: Array
    odd: float
    intra: float


def angles(F: Array, norms: Array) -> Angles:
    """Angles between all pairs of points.

    Args:
        F: points, shape (points, d), none of them zero.
        norms: their lengths, shape (points,).

    Raises:
        ValueError: a point is zero and has no direction.

    Example:
        >>> import numpy as np
        >>> found = angles(np.eye(3), np.ones(3))
        >>> np.degrees(found.quantiles).round(6).tolist(), round(float(np.degrees(found.odd)), 6)
        ([90.0, 90.0, 90.0, 90.0, 90.0], 90.0)
    """
    if not norms.all():
        raise ValueError(f"{int(np.sum(norms == 0))} points are all zero and have no direction")
    n, odd = len(F), int(np.argmax(norms))
    if n * n * F.shape[1] <= STABLE:
        every, with_odd = pair_angles(F.T), (np.stack(np.triu_indices(n, 1)) == odd).any(axis=0)
        rest = every[~with_odd]
        return Angles(
            np.quantile(every, QUANTILES),
            float(np.median(every[with_odd])),
            float(np.median(rest)) if n > 2 else np.nan,
        )
    return _from_cosines(F, norms, odd)


def _from_cosines(F: Array, norms: Array, odd: int) -> Angles:
    """The same from cosines: order statistics first, arcus cosine of these few afterwards."""
    others = np.delete(np.arange(len(F)), odd)
    every = np.empty(len(F) * (len(F) - 1) // 2)
    rest, to_odd = every[: -len(others)], every[-len(others) :]
    _fill_cosines(rest, F, norms, odd)
    to_odd[:] = (F @ F[odd])[others] / (norms[others] * norms[odd])
    middles = [float(_angle_quantiles(part, (0.5,))[0]) for part in (to_odd, rest)]
    return Angles(_angle_quantiles(every, QUANTILES), *middles)


def _fill_cosines(cosines: Array, F: Array, norms: Array, odd: int) -> None:
    """Cosines of all pairs without the odd point, one block of rows of the Gram matrix at a time."""
    filled = 0
    for first in range(0, len(F), ROWS):
        products = F[first : first + ROWS] @ F[first:].T
        products /= norms[first:]
        products /= norms[first : first + ROWS, None]
        for row, values in enumerate(products, first):
            if row == odd:
                continue
            later = values[row + 1 - first :]
            if row < odd:
                later = np.delete(later, odd - row - 1)
            cosines[filled : filled + len(later)] = later
            filled += len(later)


def _angle_quantiles(cosines: Array, quantiles: tuple[float, ...]) -> Array:
    """Quantiles of arccos(c), interpolated between order statistics as numpy does; reorders `cosines`."""
    places = (1 - np.array(quantiles)) * (len(cosines) - 1)  # cosines fall where angles rise
    below, above = np.floor(places).astype(int), np.ceil(places).astype(int)
    cosines.partition(np.unique([below, above]))
    low, high = (np.arccos(np.clip(cosines[at], -1.0, 1.0)) for at in (below, above))
    return low + (places - below) * (high - low)
