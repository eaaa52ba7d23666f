"""How claims on trained networks are decided: intervals over networks, bootstrap quantiles, the worst of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.sampled import interval_within, mean_within, spent
from repdyn.base.verdicts import Test, all_of

FALSE_ALARM = 1e-3
FEWEST_NETWORKS = 3
MNIST = "mnist"


def undecided(statistic: str, expected: str, reason: str, value: float | None = None) -> Test:
    """A test that has too few networks to decide: how many it has is its value."""
    return Test("undecided", expected, 1.0, reason, value=value, statistic=statistic)


def mean_of(
    samples: ArrayLike, low: float, high: float, share: int, *, expected: str, reason: str, unit: str = ""
) -> Test:
    """`mean_within` over the finite samples, with a false alarm divided by `share`; undecided below three samples."""
    samples = np.asarray(samples, float)
    kept = samples[np.isfinite(samples)]
    if kept.size < FEWEST_NETWORKS:
        return undecided("networks", expected, reason, kept.size)
    rate = FALSE_ALARM / share
    return mean_within(kept, low, high, expected=expected, reason=reason, unit=unit, false_alarm=rate)


def log_mean_within(ratios: ArrayLike, low: float, high: float, *, expected: str, reason: str) -> Test:
    """Student's interval of the geometric mean of positive ratios, inside [low, high], outside, or across.

    Undecided below two networks, of which no interval exists.
    """
    ratios = np.asarray(ratios, float)
    if ratios.size < 2:
        return undecided("networks", expected, reason, ratios.size)
    with np.errstate(divide="ignore"):
        ends = np.log([low, high])
    test = mean_within(np.log(ratios), *ends, expected=expected, reason=reason, false_alarm=FALSE_ALARM)
    bottom, top = np.exp(cast("tuple[float, float]", test.interval))
    center = float(np.exp(np.log(ratios).mean()))
    interval = (float(bottom), float(top))
    return replace(test, statistic="geometric mean", interval=interval, value=center, region=(low, high))


def of_learned(
    decide: Callable[..., Test], samples: np.ndarray, run: str, low: float, high: float, *, expected: str, reason: str
) -> Test:
    """`decide` on samples of a run's networks that have learned; undecided where these are fewer than two."""
    if len(samples) < 2:
        return undecided(f"networks of {run} that have learned", expected, reason, len(samples))
    return decide(samples, low, high, expected=expected, reason=reason)


def quantiles_within(
    draws: ArrayLike, low: float, high: float, estimate: float, *, n: int, expected: str, reason: str
) -> Test:
    """The bootstrap's percentile interval over `n` redrawn units inside [low, high], outside, or across."""
    rate = spent(FALSE_ALARM)
    ends = np.quantile(np.asarray(draws, float), [rate / 2, 1 - rate / 2])
    return interval_within(
        (float(ends[0]), float(ends[1])),
        low,
        high,
        estimate=estimate,
        expected=expected,
        reason=reason,
        n=n,
        false_alarm=rate,
    )


def worst_of(tests: Mapping[str, Test]) -> Test:
    """Passes if every test passes: for a statement on all members of a list that the configuration sets."""
    whole = all_of(tests)
    return replace(whole, parts={}, members=whole.parts)


def on_mnist(test: Test, source: str) -> Test:
    """The test of a statement on MNIST: undecided on other images, whatever they show."""
    if source == MNIST:
        return test
    reason = f"the statement is on MNIST; these images are {source}"
    return replace(test, outcome="undecided", margin=1.0, reason=reason)
