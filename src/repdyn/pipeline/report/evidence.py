"""Evidence of a claim as rows: measured value of each part of a check, with a plot of interval and region."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TypedDict

from markupsafe import Markup

from repdyn.base.markup import numbers, words
from repdyn.base.verdicts import LARGEST_MARGIN

Row = Mapping[str, str]
LONGEST_CELL = 120  # characters; longer texts are below the table
WIDTH, EDGE = 200.0, 10.0  # pixels of the drawing
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
        drawing: interval and region in pixels; empty if there is nothing to plot.
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
    drawing: Mapping[str, Any]
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


def drawing(row: Row) -> dict[str, Any]:
    """Places in pixels for a line with the required region shaded, the interval as a bar, the measured number as a dot.

    Spans are a left end and a width. Empty if the row of evidence has no region, or a number that is not finite.
    """
    value, low, high = (number(row[name]) for name in ("value", "interval_low", "interval_high"))
    bottom, top = _allowed(row)
    points = [number for number in (value, low, high) if number is not None]
    bounds = [bound for bound in (bottom, top) if bound is not None and math.isfinite(bound)]
    if bottom is None or top is None or not bounds or not points or not all(map(math.isfinite, points)):
        return {}
    place = _axis(points, bounds)
    center = value if value is not None else (points[0] + points[-1]) / 2
    return {
        "outcome": row["outcome"],
        "label": f"measured: {row['measured']}; required: {_required(row).striptags()}; {row['outcome']}",
        "region": _span(place(bottom), place(top)),
        "bounds": [x for x in map(place, bounds) if 0 < x < WIDTH],
        "interval": None if low is None or high is None else _span(place(low), place(high)),
        "value": min(WIDTH - 5, max(5.0, place(center))),
    }


def _span(left: float, right: float) -> tuple[float, float]:
    return left, max(right - left, 1.5)


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
