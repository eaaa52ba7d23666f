"""How claims on trained networks are decided: intervals over networks, of ratios, and of published numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from repdyn.base.verdicts import Outcome, Test, interval_within, mean_within

FALSE_ALARM = 1e-3
WIDEST = 0.25  # half-width of a prediction interval of a correlation beyond which it tells nothing


def log_mean_within(ratios: ArrayLike, low: float, high: float, *, expected: str, reason: str) -> Test:
    """Student's interval of the geometric mean of positive ratios, inside [low, high], outside, or across."""
    with np.errstate(divide="ignore"):
        ends = np.log([low, high])
    made = mean_within(np.log(np.asarray(ratios, float)), *ends, expected=expected, reason=reason)
    bottom, top = np.exp(made.interval)
    centre = float(np.exp(np.log(np.asarray(ratios, float)).mean()))
    shown = f"geometric mean {centre:.3g}, {100 * (1 - FALSE_ALARM):g} % interval [{bottom:.3g}, {top:.3g}]"
    return replace(made, measured=shown, interval=(float(bottom), float(top)))


def prediction_of(samples: ArrayLike, published: float, *, reason: str) -> Test:
    """Whether a published number lies in the prediction interval of one more network of ours.

    An interval wider than a quarter to either side would hold nearly any correlation and stays undecided.
    """
    samples = np.asarray(samples, float)
    n, centre, spread = samples.size, float(samples.mean()), float(samples.std(ddof=1))
    usual, half = (stats.t.ppf(1 - alarm / 2, n - 1) * spread * np.sqrt(1 + 1 / n) for alarm in (0.05, FALSE_ALARM))
    gap = abs(published - centre)
    decided: Outcome = "passes" if gap <= half else "fails"
    return Test(
        "undecided" if half > WIDEST else decided,
        f"{centre:.3f} +- {spread:.3f}; prediction intervals [{centre - usual:.3f}, {centre + usual:.3f}] (95 %)"
        f" and [{centre - half:.3f}, {centre + half:.3f}] (99.9 %)",
        f"{published} in the prediction interval",
        1.0 if half > WIDEST else float(half / max(gap, 1e-12)),
        reason,
        n,
        (centre - half, centre + half),
        FALSE_ALARM,
    )


def quantiles_within(draws: ArrayLike, low: float, high: float, estimate: float, *, expected: str, reason: str) -> Test:
    """The bootstrap's percentile interval inside [low, high], outside, or across."""
    ends = np.quantile(np.asarray(draws, float), [FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
    return interval_within(
        (float(ends[0]), float(ends[1])),
        low,
        high,
        estimate=estimate,
        expected=expected,
        reason=reason,
        n=45,
        false_alarm=FALSE_ALARM,
    )


def undecided(measured: str, expected: str, reason: str) -> Test:
    """A test that has too few networks to decide."""
    return Test("undecided", measured, expected, 1.0, reason)
