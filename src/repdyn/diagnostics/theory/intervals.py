"""Intervals of shares and of statistics of points, 99 % two-sided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

CONFIDENCE = 0.99
FOLDS = 10  # groups of points of which one at a time is left out


class Interval(NamedTuple):
    """A number with the bounds of its interval; NaN bounds where there are too few points."""

    value: float
    low: float
    high: float


def share(successes: int, n: int) -> Interval:
    """A share of n independent points with its score interval.

    Definition as in Wilson (1927), "Probable inference, the law of succession, and statistical inference".

    Example:
        >>> [round(bound, 3) for bound in share(5, 10)]
        [0.5, 0.184, 0.816]
    """
    z = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
    p, spread = successes / n, 1 + z**2 / n
    middle = (p + z**2 / (2 * n)) / spread
    half = z / spread * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(p, float(middle - half), float(middle + half))


def folds(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Points that stay when each fold is left out; every fold holds the same share of every group.

    Ours: at most `FOLDS` folds, fewer where a group has fewer points.

    Example:
        >>> [kept.tolist() for kept in folds([np.array([0, 1]), np.array([2, 3])])]
        [[1, 3], [0, 2]]
    """
    number = min(FOLDS, *map(len, groups)) if len(groups) > 1 else min(FOLDS, len(groups[0]))
    return [
        np.sort(np.concatenate([np.delete(group, np.s_[fold::number]) for group in groups])) for fold in range(number)
    ]


def jackknife(statistic: Callable[[np.ndarray], float], kept: Sequence[np.ndarray], points: int) -> Interval:
    """A statistic of points with the interval of the jackknife that leaves out one fold at a time.

    Definition as in Tukey (1958), "Bias and confidence in not quite large samples", with Student's quantile.

    Args:
        statistic: of indices of points.
        kept: of `folds`.
        points: how many points there are.
    """
    return of_parts(statistic(np.arange(points)), [statistic(part) for part in kept])


def of_parts(value: float, without: Sequence[float]) -> Interval:
    """The interval of `jackknife` from the statistic of all points and its values without each fold.

    Definition as in Tukey (1958), "Bias and confidence in not quite large samples", with Student's quantile.
    """
    number, parts = len(without), np.asarray(without)
    if number < 2:
        return Interval(value, float("nan"), float("nan"))
    error = np.sqrt((number - 1) / number * np.sum((parts - parts.mean()) ** 2))
    half = float(scipy.special.stdtrit(number - 1, (1 + CONFIDENCE) / 2) * error)
    return Interval(value, value - half, value + half)
