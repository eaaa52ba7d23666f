"""How claims on trained networks are decided: intervals over networks, bootstrap quantiles, exchanged controls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.verdicts import Test, interval_within, mean_within

FALSE_ALARM = 1e-3


def log_mean_within(ratios: ArrayLike, low: float, high: float, *, expected: str, reason: str) -> Test:
    """Student's interval of the geometric mean of positive ratios, inside [low, high], outside, or across."""
    with np.errstate(divide="ignore"):
        ends = np.log([low, high])
    made = mean_within(np.log(np.asarray(ratios, float)), *ends, expected=expected, reason=reason)
    bottom, top = np.exp(made.interval)
    centre = float(np.exp(np.log(np.asarray(ratios, float)).mean()))
    shown = f"geometric mean {centre:.3g}, {100 * (1 - FALSE_ALARM):g} % interval [{bottom:.3g}, {top:.3g}]"
    return replace(made, measured=shown, interval=(float(bottom), float(top)))


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


def exchanged(dim: str, one: str, other: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Control: what belongs to two labels of a dimension exchanged."""

    def control(data: xr.Dataset) -> xr.Dataset:
        labels = data[dim].values
        order = [{one: other, other: one}.get(label, label) for label in labels.tolist()]
        return data.sel({dim: order}).assign_coords({dim: labels})

    return control
