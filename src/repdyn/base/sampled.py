"""Sampled quantities, decided by intervals: inside the allowed region passes, outside fails, across stays undecided.

Repeated analyses with growing samples would sooner or later decide anything. So the first analysis uses the false-alarm
rate fixed beforehand, the k-th one 2^(1 - k) times that rate, and the numbers of samples are also fixed beforehand:
they double. By the union bound the probability of any wrong decision, whenever one stops, is at most twice that of one
analysis (`at_look`, `spent`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainccinv, betaincinv, stdtrit

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import Outcome, Test, margin_of, worst_of

_LOOK: ContextVar[int] = ContextVar("look", default=1)


@contextmanager
def at_look(number: int) -> Iterator[None]:
    """Makes tests in the block use the false-alarm rate of this analysis, counted from 1, with samples doubled each
    time.

    Raises:
        ValueError: a number below 1.
    """
    if number < 1:
        raise ValueError(f"got analysis number {number}, expected 1 or more")
    token = _LOOK.set(number)
    try:
        yield
    finally:
        _LOOK.reset(token)


def spent(false_alarm: float) -> float:
    """The false-alarm rate of the current analysis: the whole rate at the first, then half of the one before.

    Example:
        >>> with at_look(3):
        ...     spent(0.001)
        0.00025
    """
    return false_alarm * 0.5 ** (_LOOK.get() - 1)


def mean_within(
    samples: ArrayLike,
    low: float,
    high: float,
    *,
    expected: str,
    reason: str,
    unit: str = "",
    false_alarm: float = 1e-3,
) -> Test:
    """Decides by the t-interval of the mean of independent samples: inside [low, high], outside, or across.

    Args:
        samples: independent values, shape (n,), n >= 2.
        low: lower end of the region that the statement allows; -inf for none.
        high: upper end; inf for none.
        expected: the region in words.
        reason: why the region has this size.
        unit: unit of the samples; empty for 1.
        false_alarm: 1 - confidence of the interval at the first analysis; later ones use less (`spent`).

    Raises:
        NotEnoughDataError: fewer than two samples.
        NotFiniteError: a sample is not finite.

    Example:
        >>> test = mean_within([0.9, 1.1, 1.0, 1.05], 0.3, 1.7, expected="near one", reason="where nothing is gained")
        >>> test.outcome, test.value, round(test.interval[0], 4)
        ('passes', 1.0125, 0.4607)
    """
    samples = np.asarray(samples, float)
    if samples.size < 2:
        trials = (2, samples.size) if samples.size else None
        raise NotEnoughDataError(f"an interval of a mean needs 2 samples or more, got {samples.size}", trials)
    worst_of(samples)
    center, n, false_alarm = float(samples.mean()), samples.size, spent(false_alarm)
    half = float(stdtrit(n - 1, 1 - false_alarm / 2) * samples.std(ddof=1) / math.sqrt(n))
    return interval_within(
        (center - half, center + half),
        low,
        high,
        estimate=center,
        expected=expected,
        reason=reason,
        unit=unit,
        n=n,
        false_alarm=false_alarm,
        statistic="mean",
    )


def share_within(
    hits: ArrayLike, low: float, high: float, *, expected: str, reason: str, false_alarm: float = 1e-3
) -> Test:
    """Decides by the Clopper-Pearson interval of a share of independent trials: inside [low, high], outside, across.

    Args as in `mean_within`, but `hits`: whether each trial is a hit, shape (n,), n >= 1.

    Raises:
        NotEnoughDataError: no trial.

    Example:
        >>> share_within([True] * 8, 0.5, math.inf, expected="most", reason="more than half", false_alarm=0.01).outcome
        'passes'
    """
    hits = np.asarray(hits, bool)
    if not hits.size:
        raise NotEnoughDataError("a share needs at least one trial, got none")
    false_alarm = spent(false_alarm)
    return interval_within(
        share_interval(int(hits.sum()), hits.size, false_alarm),
        low,
        high,
        estimate=float(hits.mean()),
        expected=expected,
        reason=reason,
        n=hits.size,
        false_alarm=false_alarm,
        statistic="share",
    )


def share_interval(hits: int, trials: int, false_alarm: float) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share: quantiles of beta distributions.

    Example:
        >>> share_interval(0, 1, 0.05)
        (0.0, 0.975)
    """
    low = float(betaincinv(hits, trials - hits + 1, false_alarm / 2)) if hits else 0.0
    high = float(betainccinv(hits + 1, trials - hits, false_alarm / 2)) if hits < trials else 1.0
    return low, high


def interval_within(
    interval: tuple[float, float],
    low: float,
    high: float,
    *,
    expected: str,
    reason: str,
    n: int,
    false_alarm: float,
    unit: str = "",
    estimate: float | None = None,
    statistic: str = "",
) -> Test:
    """Passes if the interval is in [low, high], fails if it is outside, is undecided across a boundary.

    `false_alarm` is the interval's rate, from `spent`; `statistic` names the quantity. `estimate` is the point value
    shown next to the interval; without it only the interval is shown, since the middle of a skewed interval is not an
    estimate.
    """
    bottom, top = interval
    if not -np.inf < bottom <= top < np.inf:
        raise ValueError(f"a claim was given the interval [{bottom}, {top}]; a check needs a finite one, low end first")
    if not 0 < false_alarm < 1:
        raise ValueError(f"a claim was given the false-alarm rate {false_alarm}; an interval has one between 0 and 1")
    center = (bottom + top) / 2
    if low <= bottom and top <= high:
        outcome: Outcome = "passes"
        margin = margin_of(min(center - low, high - center), (top - bottom) / 2)
    elif top < low or bottom > high:
        outcome, margin = "fails", margin_of((top - bottom) / 2, max(low - center, center - high))
    else:
        outcome, margin = "undecided", 1.0
    return Test(
        outcome, expected, margin, reason, n, (bottom, top), false_alarm, estimate, (low, high), statistic, unit.strip()
    )
