r"""Angles between the points of a layer, all pairs, in blocks of the Gram matrix; the odd point; what theory expects.

Small layers go through the formula of `bn_decomposed.theory.geometry`, which loses no digits. Large ones go through
the cosines of their Gram matrix, which have half of the digits of small angles: below 2e-8 these are rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.odd_cluster import odd_fixed_point, simplex_angle

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STABLE = 2**25  # pairs * coordinates, up to which the formula that loses no digits takes a fraction of a second
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
    directions = F / norms[:, None]
    others = np.delete(directions, odd, axis=0)
    cosines = np.concatenate([others @ directions[odd], _cosines(others)])
    middles = [float(_angle_quantiles(part, (0.5,))[0]) for part in np.split(cosines, [len(others)])]
    return Angles(_angle_quantiles(cosines, QUANTILES), *middles)


def _cosines(directions: Array) -> Array:
    """Cosines of all pairs, one block of rows of the Gram matrix at a time."""
    points = len(directions)
    cosines, filled = np.empty(points * (points - 1) // 2), 0
    for first in range(0, points, ROWS):
        products = directions[first : first + ROWS] @ directions[first:].T
        for row, values in enumerate(products):
            later = values[row + 1 :]
            cosines[filled : filled + len(later)] = later
            filled += len(later)
    return cosines


def _angle_quantiles(cosines: Array, quantiles: tuple[float, ...]) -> Array:
    """Quantiles of arccos(c), interpolated between order statistics as numpy does; the cosines are put in their order.

    NaN where there are no cosines.
    """
    if not len(cosines):
        return np.full(len(quantiles), np.nan)
    places = (1 - np.array(quantiles)) * (len(cosines) - 1)  # cosines fall where angles rise
    ends = np.stack([np.floor(places), np.ceil(places)]).astype(int)
    cosines.partition(np.unique(ends))
    low, high = np.arccos(np.clip(cosines[ends], -1.0, 1.0))
    return low + (places - ends[0]) * (high - low)


@lru_cache(maxsize=64)
def expected_angle(points: int) -> float:
    """Angle between any two of n points at the symmetric fixed point of recentering and ReLU, radians.

    Ours: `simplex_angle` of bn_decomposed.
    """
    return float(simplex_angle(points))


@lru_cache(maxsize=64)
def expected_norm_ratio(points: int) -> float:
    """Largest over second largest norm at the fixed point with one odd point; NaN where there is none.

    Ours: `odd_fixed_point` of bn_decomposed.
    """
    odd = odd_fixed_point(points) if points >= 3 else None
    return float((points - 1) / odd.norm_ratio) if odd else float("nan")
