"""Evidence of a claim as rows: measured value of each part of a check, with a plot of interval and region."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypedDict

from markupsafe import Markup

from repdyn.base.markup import numbers, words
from repdyn.base.verdicts import LARGEST_MARGIN

Row = Mapping[str, str]
LONGEST_CELL = 120  # characters; longer texts are below the table
WIDTH, HEIGHT, EDGE = 200.0, 24.0, 10.0  # pixels of the drawing
LOGARITHMIC = 50.0  # ratio of the largest to the smallest positive number from which the axis is logarithmic
BARE = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")  # only a number, which does not say what is required


class ControlResult(TypedDict):
    """A negative control and its outcome."""

    says: Markup
    kind: str
    outcome: str
    margin: Markup


@dataclass(frozen=True)
class Part:
    """One part of a check of one form of a statement.

    Attributes:
        name: the part's name; empty where the check has one part only.
        label: what it measured, in a phrase; empty if the name is clear.
        asked: the requirement, in words.
        measured: the number with its unit, or words.
        qualifier: which number it is, e.g. "largest deviation" or "99.9 %: 0.9 to 1.1".
        required: the allowed region, as text; empty if it is not numeric.
        drawing: interval and region as SVG; empty if there is nothing to plot.
        outcome: passes, fails, undecided or depends.
        margin: the margin, as text.
        reason: reason for the size of tolerance or region.
        control: the negative control and its outcome; None without one.
        crosses: whether the interval crosses a boundary of the region.
    """

    name: str
    label: Markup
    asked: Markup
    measured: Markup
    qualifier: Markup
    required: Markup
    drawing: Markup
    outcome: str
    margin: Markup
    reason: Markup
    control: ControlResult | None
    crosses: bool


def parts(rows: Iterable[Row], form: str) -> list[Part]:
    """The parts of a form, "printed" or "corrected", of one claim's rows of evidence.

    A control of several rows is shown with the last of them.
    """
    of_form = [part(row) for row in rows if row["form"] == form and not row["reading"]]
    return [
        replace(current, control=None) if after and current.control == after.control else current
        for current, after in zip_longest(of_form, of_form[1:])
    ]


def part(row: Row) -> Part:
    """A row of evidence in a reader's terms."""
    shown, qualifier = measured(row)
    return Part(
        name=row["part"],
        label=words(row["label"]),
        asked=words(f"equal to {row['expected']}" if BARE.fullmatch(row["expected"]) else row["expected"]),
        measured=shown,
        qualifier=qualifier,
        required=_required(row),
        drawing=drawing(row),
        outcome=row["outcome"],
        margin=margin(row["margin"]),
        reason=words(row["tolerance_reason"]),
        control=_control(row),
        crosses=_crosses(row),
    )


def _crosses(row: Row) -> bool:
    low, high = number(row["interval_low"]), number(row["interval_high"])
    bounds = [bound for bound in _allowed(row) if bound is not None]
    return low is not None and high is not None and any(low <= bound <= high for bound in bounds)


def margin(text: str) -> Markup:
    """A margin as text: three digits, "exact" without any deviation, 0 without any agreement."""
    if not text:
        return Markup()
    value = float(text)
    if value >= LARGEST_MARGIN or value <= 1 / LARGEST_MARGIN:
        return Markup("exact" if value > 1 else "0")
    return numbers(f"{value:.0f}" if 1000 > value >= 100 else f"{value:.3g}")


def _control(row: Row) -> ControlResult | None:
    if not row["control"]:
        return None
    return {
        "says": words(row["control"]),
        "kind": row["control_kind"],
        "outcome": row["control_outcome"],
        "margin": margin(row["control_margin"]),
    }


def measured(row: Row) -> tuple[Markup, Markup]:
    """The number with its unit, and which number it is: statistic, or level and ends of the interval."""
    value, low, high = (number(row[name]) for name in ("value", "interval_low", "interval_high"))
    if value is None and low is None:
        return words(row["measured"]), Markup()
    unit, total = row["unit"] and f" {row['unit']}", row["out_of"] and f" of {row['out_of']}"
    if low is None or high is None:
        return numbers(f"{value:.4g}{total}{unit}"), words(row["statistic"])
    ends, level = f"{low:.4g} to {high:.4g}", f"{100 * (1 - float(row['false_alarm'])):g} % interval"
    if value is None:
        return numbers(ends + unit), numbers(level)
    return numbers(f"{value:.4g}{unit}"), words(row["statistic"]) + numbers(f" {level} {ends}")


def _required(row: Row) -> Markup:
    low, high = _allowed(row)
    if low is None or high is None:
        return Markup()
    if math.isinf(low):
        return Markup() if math.isinf(high) else numbers(f"at most {high:.3g}")
    return numbers(f"at least {low:.3g}" if math.isinf(high) else f"{low:.3g} to {high:.3g}")


def number(text: str) -> float | None:
    """A cell of evidence as a number; None where it is empty."""
    return float(text) if text else None


def _allowed(row: Row) -> tuple[float | None, float | None]:
    return number(row["region_low"]), number(row["region_high"])


# Drawing


def drawing(row: Row) -> Markup:
    """A line with the required region shaded, the interval as a bar and the measured number as a dot."""
    value, low, high = (number(row[name]) for name in ("value", "interval_low", "interval_high"))
    bottom, top = _allowed(row)
    points = [number for number in (value, low, high) if number is not None]
    if bottom is None or top is None or not points or not all(map(math.isfinite, points)):
        return Markup()
    bounds = [bound for bound in (bottom, top) if math.isfinite(bound)]
    if not bounds:
        return Markup()
    place = _axis(points, bounds)
    return Markup(
        '<svg class="drawing {outcome}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{label}">'
        '<line class="axis" x1="0" y1="12" x2="{width:.0f}" y2="12"/>{region}{interval}{value}</svg>'
    ).format(
        outcome=row["outcome"],
        width=WIDTH,
        height=HEIGHT,
        label=_label(row),
        region=_region((bottom, top), place),
        interval=_interval(low, high, place),
        value=_dot(value if value is not None else (points[0] + points[-1]) / 2, place),
    )


class _Axis:
    """Horizontal position of a number in the plot; numbers out of range are at its edge."""

    def __init__(self, low: float, high: float, logarithmic: bool) -> None:
        self.logarithmic = logarithmic
        self.low, self.high = (math.log(low), math.log(high)) if logarithmic else (low, high)

    def __call__(self, number: float) -> float:
        if math.isinf(number) or (self.logarithmic and number <= 0):
            return WIDTH if number > 0 else 0.0
        scaled = math.log(number) if self.logarithmic else number
        share = (scaled - self.low) / (self.high - self.low)
        return min(WIDTH, max(0.0, EDGE + share * (WIDTH - 2 * EDGE)))


def _axis(points: list[float], bounds: list[float]) -> _Axis:
    shown = [*points, *bounds]
    positive = [number for number in shown if number > 0]
    if min(shown) >= 0 and positive and max(positive) > LOGARITHMIC * min(positive):
        return _Axis(min(positive) / 3, max(positive) * 3, logarithmic=True)
    low, high = min(shown), max(shown)
    spread = (high - low) or abs(high) or 1.0
    return _Axis(low - 0.15 * spread, high + 0.15 * spread, logarithmic=False)


def _region(region: tuple[float, float], place: _Axis) -> Markup:
    left, right = (place(bound) for bound in region)
    ticks = Markup("").join(
        Markup('<line class="bound" x1="{0:.1f}" y1="2" x2="{0:.1f}" y2="22"/>').format(place(bound))
        for bound in region
        if math.isfinite(bound) and 0 < place(bound) < WIDTH
    )
    shade = Markup('<rect class="region" x="{:.1f}" y="4" width="{:.1f}" height="16"/>')
    return shade.format(left, max(right - left, 1.5)) + ticks


def _interval(low: float | None, high: float | None, place: _Axis) -> Markup:
    if low is None or high is None:
        return Markup()
    left, right = place(low), place(high)
    bar = Markup('<rect class="interval" x="{:.1f}" y="9" width="{:.1f}" height="6" rx="2"/>')
    return bar.format(left, max(right - left, 1.5))


def _dot(value: float, place: _Axis) -> Markup:
    return Markup('<circle class="value" cx="{:.1f}" cy="12" r="4.5"/>').format(min(WIDTH - 5, max(5.0, place(value))))


def _label(row: Row) -> str:
    required = _required(row).striptags()
    return f"measured: {row['measured']}; required: {required}; {row['outcome']}"
