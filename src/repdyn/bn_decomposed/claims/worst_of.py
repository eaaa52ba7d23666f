"""Tests of several sampled quantities at once: the worst of them decides, at a false-alarm rate that all share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.sampled import interval_within, mean_within, share_interval, share_within, spent
from repdyn.base.verdicts import Test, weakest

FALSE_ALARM = 1e-3


def worst_mean(
    samples: xr.DataArray, over: str, low: float, high: float, *, expected: str, reason: str, unit: str = ""
) -> Test:
    """Means over one dimension in [low, high], for every cell of the other dimensions.

    Args:
        samples: independent values along `over`, at least two.
        over: dimension of the draws.
        low: lower end of the region.
        high: upper end.
        expected: the region in words.
        reason: why the region has this size.
        unit: unit with a leading space.
    """
    cells = samples.transpose(..., over).values.reshape(-1, samples.sizes[over])
    rate = FALSE_ALARM / len(cells)
    words: dict[str, Any] = {"expected": expected, "reason": reason, "unit": unit, "false_alarm": rate}
    return _worst([mean_within(cell, low, high, **words) for cell in cells])


def worst_share(hits: Sequence[ArrayLike], low: float, high: float, *, expected: str, reason: str) -> Test:
    """Shares of hits in [low, high], for every sequence of independent trials."""
    words: dict[str, Any] = {"expected": expected, "reason": reason, "false_alarm": FALSE_ALARM / len(hits)}
    return _worst([share_within(trials, low, high, **words) for trials in hits])


def worst_mean_over_bound(samples: np.ndarray, bound: np.ndarray, *, expected: str, reason: str) -> Test:
    """Mean at most its bound in every row, by the row of the largest mean over bound.

    Args:
        samples: positive values, shape (rows, draws).
        bound: shape (rows,).
        expected: the statement in words.
        reason: why the region is what it is.
    """
    ratio = samples / np.asarray(bound)[:, None]
    row = int(np.argmax(ratio.mean(axis=1)))
    return mean_within(ratio[row], -np.inf, 1, expected=expected, reason=reason, false_alarm=FALSE_ALARM / len(ratio))


def worst_survival(cases: Sequence[tuple[np.ndarray, float, float]], *, expected: str, reason: str) -> Test:
    """P(y > d) at most a limit in every case, by the one whose interval comes closest to its limit.

    Args:
        cases: draws of y, d and the limit of each case.
        expected: the statement in words.
        reason: why the region is what it is.
    """
    rate = spent(FALSE_ALARM) / len(cases)
    intervals = [np.divide(share_interval(int((y > d).sum()), y.size, rate), limit) for y, d, limit in cases]
    low, high = max(intervals, key=lambda interval: interval[1])
    return interval_within(
        (float(low), float(high)),
        -np.inf,
        1,
        expected=f"{expected}, the closest of {len(cases)} cases",
        reason=reason,
        n=min(y.size for y, _, _ in cases),
        false_alarm=spent(FALSE_ALARM),
    )


def _worst(tests: list[Test]) -> Test:
    worst = weakest(tests)
    return replace(worst, false_alarm=spent(FALSE_ALARM))
