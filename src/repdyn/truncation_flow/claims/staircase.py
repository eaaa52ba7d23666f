"""Claims on the staircase of rates, Section 4.3."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of
from repdyn.truncation_flow.claims.tolerances import COUNTED, LOCATED, Tolerance, zero


def _wrong_weight(staircase: xr.Dataset) -> xr.Dataset:
    return staircase.assign(printed_time=staircase["printed_time"] * 1.01, meeting=staircase["meeting"] * 1.01)


@claim(
    "tf-stair-times",
    where="eq. (4.49)",
    kind="identity",
    states="s_{n+1} = s_n + (N/n) log((y - x_n)/(y - x_{n+1})).",
    data="staircase",
    control=wrong_formula("times one per cent later", _wrong_weight),
)
def meeting_times(staircase: xr.Dataset) -> Verdict:
    """Against the event-driven integrator, all finite times of all cases; (4.49) literally where y > x_N."""
    finite = np.isfinite(staircase["meeting_by_events"].values) | np.isfinite(staircase["meeting"].values)
    gap = (staircase["meeting"] - staircase["meeting_by_events"]).values[finite]
    literal = staircase["printed_time"].values[1:] - staircase["meeting_by_events"].sel(case="beyond").values[:3]
    return Verdict.from_tests(zero(np.concatenate((gap, literal)), "times of the event-driven flow", LOCATED))


def _slope_error(staircase: xr.Dataset, case: str) -> np.ndarray:
    """Slope of -log|y - b| of the event-driven flow minus the rate, away from meetings."""
    part = staircase.sel(case=case)
    distance = np.log(np.abs(part["label"] - part["b_by_events"]))
    same = part["rate"].values[1:] == part["rate"].values[:-1]
    slope = -np.diff(distance) / np.diff(part["time"])
    return (slope - part["rate"].values[:-1])[same]


def _constant_rate(staircase: xr.Dataset) -> xr.Dataset:
    return staircase.assign(rate=0.5 + 0.0 * staircase["rate"])


@claim(
    "tf-stair-rate",
    where="eqs. (4.45)-(4.50)",
    kind="identity",
    states="The bias moves to y at the rate n/N after the n-th point is truncated, at 1 in the end.",
    data="staircase",
    control=wrong_formula("a constant rate 1/2", _constant_rate),
)
def rates_step(staircase: xr.Dataset) -> Verdict:
    """Log-slopes of the event-driven flow where y > x_N; needs b(0) >= x_1 and y > x_N."""
    last = float(staircase["rate"].sel(case="beyond")[-1]) - 1.0
    errors = np.append(_slope_error(staircase, "beyond"), last)
    return Verdict.from_tests(
        zero(
            errors,
            "rates n/N, 1 at the end",
            Tolerance(1e-8, "local error 1e-11 over the distance of output times, 0.04"),
        )
    )


def _pulled_on(staircase: xr.Dataset) -> xr.Dataset:
    meetings = staircase["meeting_by_events"].copy()
    meetings.loc[{"case": "between"}] = [1.0, 2.0, 3.0, np.inf]
    return staircase.assign(meeting_by_events=meetings)


def _stopped_elsewhere(staircase: xr.Dataset) -> xr.Dataset:
    final = staircase["b_by_events"].copy()
    final.loc[{"case": "below"}] = -0.2
    return staircase.assign(b_by_events=final)


@claim(
    "tf-stair-between",
    where="after eq. (4.49)",
    kind="identity",
    states="Once the n-th point is truncated, the next is reached in finite time, so every point will be truncated.",
    correction="Needs y > x_N. If x_m < y <= x_{m+1}, m points are truncated, the rate stays m/N, the cost does not"
    " vanish.",
    formula=r"s_{n+1} < \infty \text{ for every } n",
    corrected_formula=r"s_{n+1} < \infty \Leftrightarrow y > x_{n+1}",
    data="staircase",
    control=wrong_formula("a flow that reaches all points", _pulled_on),
)
def label_between_points(staircase: xr.Dataset) -> Verdict:
    """Y = 1.5 among 0, 1, 2, 3, and y = 2 at a point."""
    between = staircase.sel(case=["between", "at a point"])
    met = np.isfinite(between["meeting_by_events"]).sum("station")
    every = zero(met - 3, "three further points met in finite time", COUNTED)
    final = between["rate"].isel(time=-1)
    slope = float(np.abs(_slope_error(staircase, "between")).max())
    corrected = all_of(
        points=zero(met - 1, "one further point met", COUNTED),
        rate=zero(final - 0.5, "final rate m/N = 1/2"),
        slope=zero(slope, "log-slope m/N", Tolerance(1e-6, "local error 1e-11 over distances down to 1e-2")),
    )
    return Verdict.from_tests(every, corrected)


@claim(
    "tf-stair-down",
    where="eq. (4.50), not stated",
    kind="limit",
    states="The bias converges to y.",
    correction="If y < x_1 < b(0), points are released and b stops at x_1 in finite time, where only Filippov's"
    " solution exists.",
    formula=r"b(s) \to y",
    corrected_formula=r"b(s) \to x_1 \text{ if } y < x_1 < b(0)",
    data="staircase",
    control=wrong_formula("a flow that stops at -0.2", _stopped_elsewhere),
)
def label_below_points(staircase: xr.Dataset) -> Verdict:
    """b(0) = 3.5, y = -1: where the event-driven flow ends."""
    final = staircase["b_by_events"].sel(case="below").isel(time=-1)
    label = staircase["label"].sel(case="below")
    return Verdict.from_tests(
        zero(
            final - label,
            "b tends to y = -1",
            Tolerance(0.7, "decay from 4.5 at the slowest rate, 1/4, leaves 0.61 after 8"),
        ),
        zero(final, "b stops at x_1 = 0", LOCATED),
    )


def _drifting(staircase: xr.Dataset) -> xr.Dataset:
    return staircase.assign(b_by_events=staircase["b_by_events"] + 1e-3 * staircase["time"])


@claim(
    "tf-stair-frozen",
    where="eq. (4.44)",
    kind="identity",
    states="If no point is truncated, the bias rests.",
    data="staircase",
    control=wrong_formula("a drift of 0.001 per unit of time", _drifting),
)
def nothing_truncated(staircase: xr.Dataset) -> Verdict:
    """b(0) = -0.5 below all points, by the event-driven integrator."""
    part = staircase["b_by_events"].sel(case="frozen")
    return Verdict.from_tests(zero(part - part[0], "b constant"))
