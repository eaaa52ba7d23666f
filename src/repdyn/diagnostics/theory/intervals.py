"""Intervals of shares, of statistics of points and of changes along the moments of a recording, 99 % two-sided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array

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
        >>> [rest.tolist() for rest in folds([np.array([0, 1]), np.array([2, 3])])]
        [[1, 3], [0, 2]]
    """
    number = min(FOLDS, *map(len, groups)) if len(groups) > 1 else min(FOLDS, len(groups[0]))
    return [
        np.sort(np.concatenate([np.delete(group, np.s_[fold::number]) for group in groups])) for fold in range(number)
    ]


def jackknife(statistic: Callable[[np.ndarray], float], rest: Sequence[np.ndarray], points: int) -> Interval:
    """A statistic of points with the interval of the jackknife that leaves out one fold at a time.

    Definition as in Tukey (1958), "Bias and confidence in not quite large samples", with Student's quantile.

    Args:
        statistic: of indices of points.
        rest: of `folds`.
        points: how many points there are.
    """
    return of_parts(statistic(np.arange(points)), [statistic(part) for part in rest])


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


def since(flags: NDArray[np.bool_]) -> tuple[int, float]:
    """From which moment on something holds to the end, and how likely chance holds it for as long.

    Ours: the probability, over all orders of the same flags, that as many at the end are set. It is 1 where all or none
    are, and speaks against moments that scatter around a threshold.

    Args:
        flags: whether it holds at each moment, shape (moments,).

    Returns:
        Index of that moment, the number of moments where it does not hold at the last one; the probability.

    Example:
        >>> since(np.array([False, False, False, True, True]))
        (3, 0.1)
    """
    n, held = len(flags), int(flags.sum())
    run = int(np.argmin(flags[::-1])) if held < n else n
    return n - run, math.comb(n - run, held - run) / math.comb(n, held)


def change(values: Array, tests: int = 1) -> Interval:
    """First value over the last, with an interval from how successive moments scatter.

    Ours: Student's interval of a difference of two normal values, of logarithms; their deviation is the median step
    between moments over what it is of one, which neither a jump nor a slow change makes large, and counts half as many
    degrees of freedom as there are steps. Where all moments scatter alike, the interval holds 1 in 99 % of cases or
    more.

    Args:
        values: above zero, shape (moments,), three or more.
        tests: how many changes are looked at, of which one may be singled out (Bonferroni).

    Returns:
        All NaN with a value that is zero, negative or not finite.

    Example:
        >>> [round(number, 9) for number in change(np.array([8.0, 8.0, 8.0, 2.0, 2.0, 2.0]))]
        [4.0, 4.0, 4.0]
    """
    if not (np.isfinite(values).all() and (values > 0).all()):
        return Interval(np.nan, np.nan, np.nan)
    logs = np.log(values)
    steps = np.abs(np.diff(logs))
    quantile = scipy.special.stdtrit(len(steps) / 2, 1 - (1 - CONFIDENCE) / (2 * tests))
    half = quantile * np.median(steps) / scipy.special.ndtri(0.75)
    ratio = logs[0] - logs[-1]
    with np.errstate(over="ignore"):
        return Interval(*(float(np.exp(number)) for number in (ratio, ratio - half, ratio + half)))


def between(values: Array) -> tuple[int, int]:
    """Between which moments nine tenths of a change happen, on a logarithmic scale.

    Ours: the last moment before which at most a tenth of it is done, the first from which on at least nine tenths are.

    Args:
        values: above zero, shape (moments,); the first and the last differ.

    Example:
        >>> between(np.array([100.0, 100.0, 99.0, 10.0, 1.0, 1.0]))
        (2, 4)
    """
    logs = np.log(values)
    done = (logs[0] - logs) / (logs[0] - logs[-1])
    return max(int(np.argmax(done > 0.1)) - 1, 0), since(done >= 0.9)[0]


def smallest_share_by_chance(labels: np.ndarray) -> float:
    """Share of variance within classes below which one normal unit that knows no class falls in one case of 200.

    Ours: the quantile of a Beta distribution, which more units only raise; all classes with as many points as the
    smallest one, which only lowers it.

    Args:
        labels: class of each point, shape (points,).
    """
    sizes = np.unique(labels, return_counts=True)[1]
    K, n = len(sizes), len(sizes) * int(sizes.min())
    return float(scipy.special.betaincinv((n - K) / 2, (K - 1) / 2, (1 - CONFIDENCE) / 2)) if n > K else 0.0
