"""Specification curves: the result under every reading of a sentence, one column per reading, sorted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from repdyn.base.markup import words
from repdyn.pipeline.report.evidence import LOGARITHMIC, measured, number
from repdyn.pipeline.report.titles import title

Row = Mapping[str, str]
WIDTH, LEFT, TOP, CURVE, LINE = 720.0, 262.0, 6.0, 130.0, 15.0  # pixels of the drawing
WIDEST_COLUMN = 26.0


@dataclass(frozen=True)
class Curve:
    """The readings of one part of a check.

    Attributes:
        form: "printed" or "corrected".
        part: the part's name; empty where the check has one part only.
        counts: number of readings with each outcome, in words.
        turns_on: options with which all readings pass or all fail, a sentence with `$...$`; empty if the files are
            missing.
        drawing: the specification curve in pixels.
        rows: choices, measured value and outcome of each reading.
    """

    form: str
    part: str
    counts: str
    turns_on: str
    drawing: Mapping[str, Any]
    rows: Sequence[tuple[Markup, Markup, str]]


def curves(rows: Iterable[Row]) -> list[Curve]:
    """The curves of a claim from its rows of evidence, in their order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["reading"]:
            groups.setdefault((row["form"], row["part"]), []).append(row)
    return [_curve(form, part, group) for (form, part), group in groups.items()]


def _curve(form: str, part: str, rows: Sequence[Row]) -> Curve:
    ordered = sorted(rows, key=_order)
    outcomes = [row["outcome"] for row in rows]
    verbs = {"passes": "pass", "fails": "fail", "undecided": "stay undecided", "depends": "depend on more"}
    counted = [f"{outcomes.count(name)} {verb}" for name, verb in verbs.items() if name in outcomes]
    listed = [(words(row["reading"]), Markup(" ").join(filter(None, measured(row))), row["outcome"]) for row in ordered]
    counts = f"{len(rows)} readings: {', '.join(counted)}"
    return Curve(form, part, counts, _turns_on(rows), _drawing(ordered, _options(rows)), listed)


def _turns_on(rows: Sequence[Row]) -> str:
    """The options of a single choice that decide a reading: of the choice that decides the most readings."""
    if len({row["outcome"] for row in rows}) == 1:
        return ""
    seen: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for name, option in _choices(row).items():
            seen.setdefault(name, {}).setdefault(option, []).append(row["outcome"])
    settled = {
        name: {option: outcomes for option, outcomes in options.items() if set(outcomes) in ({"passes"}, {"fails"})}
        for name, options in seen.items()
    }
    name, most = max(settled.items(), key=lambda item: sum(map(len, item[1].values())))
    phrases = []
    for verb in ("passes", "fails"):
        if options := [option for option, outcomes in most.items() if outcomes[0] == verb]:
            phrases.append(f"every reading with “{name}: {' or '.join(options)}” {verb}")
    sentence = "; ".join(phrases)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _order(row: Row) -> float:
    value = _center(row)
    return -math.inf if value is None else value


def _center(row: Row) -> float | None:
    """The measured number, else the middle of its interval."""
    if (value := number(row["value"])) is not None:
        return value
    low, high = number(row["interval_low"]), number(row["interval_high"])
    return None if low is None or high is None else (low + high) / 2


def _choices(row: Row) -> dict[str, str]:
    return dict(choice.split(": ", 1) for choice in row["reading"].split("; "))


def _options(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Every option of every choice, in the order of the grid."""
    names = list(_choices(rows[0]))
    return sorted(
        dict.fromkeys(pair for row in rows for pair in _choices(row).items()), key=lambda pair: names.index(pair[0])
    )


def _drawing(rows: Sequence[Row], options: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A column per reading, numbers on the vertical axis with their heights, below a line of marks for each option."""
    step = min(WIDEST_COLUMN, (WIDTH - LEFT) / len(rows))
    scale, bottom = _Scale(rows), TOP + CURVE + 10
    places = [LEFT + (number + 0.5) * step for number in range(len(rows))]
    return {
        "size": (LEFT + step * len(rows) + 6, bottom + LINE * len(options) + 4),
        "label": _label(rows),
        "columns": [_column(row, x, step, scale) for row, x in zip(rows, places, strict=True)],
        "ticks": [(value, scale(value) + 4) for value in scale.ticks],
        "options": [_option(choice, rows, places, bottom + (k + 0.5) * LINE) for k, choice in enumerate(options)],
    }


def _option(choice: tuple[str, str], rows: Sequence[Row], places: Sequence[float], y: float) -> dict[str, Any]:
    """An option in words, and a mark under each reading with it: class, place and radius."""
    name, option = choice
    marks = [
        (row["outcome"], x, 3.2) if _choices(row)[name] == option else ("open", x, 1.2)
        for row, x in zip(rows, places, strict=True)
    ]
    return {"words": f"{name}: {_short(option, 34 - len(name))}", "y": y, "marks": marks}


def _short(option: str, most: int) -> str:
    letters, most = title(option), max(most, 24)
    return letters if len(letters) <= most else letters[: most - 1] + "…"


def _label(rows: Sequence[Row]) -> str:
    return f"{len(rows)} readings, sorted by measured value; required region shaded; " + ", ".join(
        f"{row['reading']}: {row['measured']} {row['outcome']}" for row in (rows[0], rows[-1])
    )


def _column(row: Row, x: float, step: float, scale: _Scale) -> dict[str, Any]:
    """One reading: its value as a dot, its region as a rectangle, its interval as a line."""
    names = ("region_low", "region_high", "interval_low", "interval_high")
    low, high, start, end = (number(row[name]) for name in names)
    center, region, interval = _center(row), None, None
    if low is not None and high is not None:
        region = x - step / 2, scale(high), step, max(scale(low) - scale(high), 1)
    if start is not None and end is not None:
        interval = scale(start), scale(end)
    y = TOP + CURVE if center is None else scale(center)
    return {"outcome": row["outcome"], "x": x, "y": y, "region": region, "interval": interval}


class _Scale:
    """Vertical position of a number; logarithmic if all are positive and far apart."""

    def __init__(self, rows: Sequence[Row]) -> None:
        names = ("value", "interval_low", "interval_high", "region_low", "region_high")
        known = [number(row[name]) for row in rows for name in names]
        shown = [value for value in known if value is not None and math.isfinite(value)] or [0.0, 1.0]
        self.logarithmic = min(shown) > 0 and max(shown) > LOGARITHMIC * min(shown)
        self.ticks = sorted({min(shown), max(shown)})
        low, high = self._place(min(shown)), self._place(max(shown))
        pad = 0.08 * ((high - low) or 1.0)
        self.low, self.high = low - pad, high + pad

    def _place(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value

    def __call__(self, value: float) -> float:
        if math.isinf(value) or (self.logarithmic and value <= 0):
            return TOP if value > 0 else TOP + CURVE
        share = (self._place(value) - self.low) / (self.high - self.low)
        return TOP + CURVE * (1 - min(1.0, max(0.0, share)))
