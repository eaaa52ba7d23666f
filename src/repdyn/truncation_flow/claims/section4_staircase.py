"""Claims on the staircase of rates, Section 4.3."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, replace_labels, replace_variables, wrong_formula
from repdyn.base.verdicts import Verdict
from repdyn.truncation_flow.claims.requirements import reaches
from repdyn.truncation_flow.claims.tolerances import COUNTED, LOCATED, Tolerance, zero

END = 8.0  # flow time by which every staircase has taken its last step
SLOPES = Tolerance(1e-6, "local error 1e-11 over distances and lengths of stages down to 1e-3")


@claim(
    "tf-stair-times",
    where="Section 4.3, eq. (4.49)",
    line=791,
    assumes=("constant rotation, one component; the label beyond the next point, so that the logarithm exists"),
    words=r"This implies that $s_{n+1} = s_n + \frac{N_\ell}{n} \log \frac{y - x_n}{y - x_{n+1}} .$",
    kind="identity",
    states="The time from one truncated point to the next is a logarithm of distances from the label.",
    formula=r"s_{n+1} = s_n + \frac{N}{n} \log \frac{y - x_n}{y - x_{n+1}}",
    control={
        "all cases": wrong_formula(
            "the rate $(n + 1) / N$ in place of $n / N$", replace_variables(meeting="meeting_at_next_rate")
        ),
        "as printed": wrong_formula(
            "the rate $(n + 1) / N$ in place of $n / N$", replace_variables(printed_time="printed_time_at_next_rate")
        ),
    },
    labels={
        "all cases": "time of each truncation, against the event-driven integrator",
        "as printed": "time of each truncation by (4.49), against the event-driven integrator",
    },
)
def meeting_times(staircase: xr.Dataset) -> Verdict:
    """Against the event-driven integrator, all finite times of all cases; (4.49) literally where y > x_N."""
    reaches(staircase, "staircase", END)
    seen = np.isfinite(staircase["meeting_by_events"].values) | np.isfinite(staircase["meeting"].values)
    gap = (staircase["meeting"] - staircase["meeting_by_events"]).values[seen]
    literal = staircase["printed_time"].values[1:] - staircase["meeting_by_events"].sel(case="beyond").values[:3]
    return Verdict.from_tests(
        {
            "all cases": zero(gap, "times of the event-driven flow", LOCATED),
            "as printed": zero(literal, "times of the event-driven flow", LOCATED),
        }
    )


def _slope_errors(staircase: xr.Dataset, case: str) -> np.ndarray:
    """Slope of -log|y - b| under the event-driven integrator minus n/N, stage by stage."""
    errors = (staircase["stage_slope"] - staircase["stage_rate"]).sel(case=case).values
    return errors[np.isfinite(errors)]


@claim(
    "tf-stair-rate",
    where="Section 4.3, eqs. (4.45)-(4.50)",
    line=795,
    assumes="constant rotation, one component, label beyond the truncated points",
    words="As $n$ increases, the exponential rate in (4.47) increases",
    kind="identity",
    states="After the $n$-th point the bias moves to the label at the rate $n/N$, which ends at 1.",
    formula=r"(y - b)(s) = e^{-\frac{n}{N}(s - s_n)} (y - b)(s_n)",
    control={
        "stages": wrong_formula(
            "the share of points that are not truncated", replace_variables(stage_rate="stage_rate_untruncated")
        ),
        "last": false_world("a label between the points", exchange("case", "beyond", "between")),
    },
    labels={
        "stages": "rates of the bias between two truncations, minus $n/N$",
        "last": "rate of the bias after the last truncation, minus 1",
    },
)
def rates_step(staircase: xr.Dataset) -> Verdict:
    """Log-slopes of the event-driven flow where the label lies beyond all points."""
    reaches(staircase, "staircase", END)
    return Verdict.from_tests(
        {
            "stages": zero(_slope_errors(staircase, "beyond"), "rates $n / N$", SLOPES),
            "last": zero(staircase["rate"].sel(case="beyond")[-1] - 1.0, "rate 1 at the end"),
        }
    )


@claim(
    "tf-stair-between",
    where="Section 4.3, after eq. (4.49)",
    line=795,
    kind_of_slip="missing hypothesis",
    assumes="constant rotation, one component, the n-th point truncated",
    words=r"the $n+1$ -st training point will be reached in finite time, for every $n \geq 1$",
    kind="identity",
    states="Once the $n$-th point is truncated, the next is reached in finite time, for every $n$.",
    correction="This needs a label beyond all points. If it lies above $m$ points, these are truncated, the rate "
    "stays at $m/N$, and the cost does not vanish.",
    formula=r"s_{n+1} < \infty \text{ for every } n",
    corrected_formula=r"s_{n+1} < \infty \Leftrightarrow y > x_{n+1}",
    control={
        "points": false_world("a label beyond all points", replace_labels("case", {"at a point": "beyond"})),
        "rate": false_world("a label beyond all points", exchange("case", "between", "beyond")),
        "slope": wrong_formula(
            "the share of points that are not truncated", replace_variables(stage_rate="stage_rate_untruncated")
        ),
    },
    message="Points beyond the label are never truncated",
    cause="If the label lies above $m$ points only, these are truncated, the rate stays at $m/N$, and the next "
    "point is never reached.",
    consequence='"For every n" needs a label beyond all points; without it the cost does not vanish.',
    labels={
        "points": "number of further points that the bias reaches, minus 1",
        "rate": "decay rate of the bias at the end, minus one half",
        "slope": "rates of the bias between two truncations, minus $n/N$",
    },
)
def label_between_points(staircase: xr.Dataset) -> Verdict:
    """Label 1.5 among the points 0, 1, 2, 3, and label 2 at a point."""
    reaches(staircase, "staircase", END)
    between = staircase.sel(case=["between", "at a point"])
    met = cast("xr.DataArray", np.isfinite(between["meeting_by_events"])).sum("station")
    every = zero(met - 3, "three further points met in finite time", COUNTED)
    corrected = {
        "points": zero(met - 1, "one further point met", COUNTED),
        "rate": zero(between["rate"].isel(time=-1) - 0.5, "final rate $m / N = 1/2$"),
        "slope": zero(_slope_errors(staircase, "between"), "log-slopes $n / N$", SLOPES),
    }
    return Verdict.from_tests(every, corrected)


@claim(
    "tf-stair-down",
    where="Section 4.3, beside eq. (4.50)",
    kind="limit",
    origin="ours",
    states="At a constant rotation, in one component: if the label lies below all points and the bias above "
    "some, these are released and the bias stops at the lowest in finite time, where only Filippov's solution exists.",
    formula=r"b(s) \to x_1 \text{ if } y < x_1 < b(0)",
    control=false_world("a bias that starts below all points", exchange("case", "below", "frozen")),
)
def label_below_points(staircase: xr.Dataset) -> Verdict:
    """Bias 3.5 at the start, label -1, points 0 to 3: where the event-driven flow ends."""
    reaches(staircase, "staircase", END)
    final = staircase["b_by_events"].sel(case="below").isel(time=-1)
    return Verdict.from_tests(zero(final, "the bias stops at the lowest point, 0", LOCATED))


@claim(
    "tf-stair-frozen",
    where="Section 4.3, eq. (4.44)",
    line=771,
    assumes="constant rotation, one component, all points above the bias",
    words="the r.h.s. is zero, and we obtain a fixed point solution",
    kind="identity",
    states="If no point is truncated, the bias rests.",
    formula=r"\partial_s (y - b) = 0",
    control=false_world("a bias that starts at a point", exchange("case", "frozen", "beyond")),
)
def nothing_truncated(staircase: xr.Dataset) -> Verdict:
    """A bias below all points, by the event-driven integrator."""
    part = staircase["b_by_events"].sel(case="frozen")
    return Verdict.from_tests(zero(part - part[0], "the bias constant"))
