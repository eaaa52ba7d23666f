"""Specification curves: one column per reading, sorted, none outside of the drawing."""

import math
import re

import pytest
from tests.pipeline.test_report import PART

from repdyn.pipeline.report import views
from repdyn.pipeline.report.readings import CURVE, TOP, WIDTH, curves

WINDOWS, STATISTICS = ("last 5 %", "last 10 %"), ("mean", "median", "worst")


def reading(window, statistic, value, outcome="passes", half=0.25, **further):
    ends = {"interval_low": f"{value - half}", "interval_high": f"{value + half}"} if half else {}
    shown = {"value": f"{value}", "measured": f"{value}", "outcome": outcome} | ends
    return PART | shown | {"part": "", "reading": f"window: {window}; statistic: {statistic}"} | further


def grid(values, **further):
    pairs = [(window, statistic) for window in WINDOWS for statistic in STATISTICS]
    return [reading(*pair, value, **further) for pair, value in zip(pairs, values, strict=True)]


def numbers_of(svg, name, tag="circle"):
    return [float(number) for number in re.findall(rf'<{tag} class="\w+"[^>]* {name}="([-\d.]+)"', svg)]


def test_readings_are_sorted_and_counted():
    rows = grid([2.5, 1.0, 3.0, 2.0, 2.2, 2.4])
    rows[1]["outcome"] = "fails"
    (curve,) = curves([PART | {"part": ""}, *rows])
    assert curve.counts == "6 readings: 5 pass, 1 fail"
    assert [float(shown) for _, shown, _ in curve.rows] == sorted([2.5, 1.0, 3.0, 2.0, 2.2, 2.4])
    assert curve.rows[0][::2] == ("window: last 5 %; statistic: median", "fails")


def test_a_curve_says_which_options_alone_decide():
    """Of the choice that settles the most readings; an open reading settles nothing."""
    outcomes = ["passes", "fails", "undecided", "passes", "passes", "fails"]  # mean, median, worst twice
    rows = [row | {"outcome": outcome} for row, outcome in zip(grid([1.0] * 6), outcomes, strict=True)]
    assert curves(rows)[0].turns_on == "Every reading with “statistic: mean” passes."
    rows[4]["outcome"] = "fails"
    (curve,) = curves(rows)
    assert (
        curve.turns_on == "Every reading with “statistic: mean” passes; every reading with “statistic: median” fails."
    )
    rows[2]["outcome"] = "fails"
    told = "Every reading with “statistic: mean” passes; every reading with “statistic: median or worst” fails."
    assert curves(rows)[0].turns_on == told
    rows[3]["outcome"] = "fails"  # the second window settles more than medians and worst ones together
    rows[1]["outcome"] = rows[2]["outcome"] = "passes"
    told = "Every reading with “window: last 5 %” passes; every reading with “window: last 10 %” fails."
    assert curves(rows)[0].turns_on == told


@pytest.mark.parametrize("outcomes", [["passes"] * 6, ["passes", "fails", "undecided", "fails", "passes", "passes"]])
def test_nothing_is_said_where_readings_agree_or_no_option_decides(outcomes):
    rows = [row | {"outcome": outcome} for row, outcome in zip(grid([1.0] * 6), outcomes, strict=True)]
    assert curves(rows)[0].turns_on == ""


def test_a_claim_that_depends_on_the_reading_says_on_which_choice():
    outcomes = ["passes", "fails", "undecided"] * 2
    rows = [row | {"outcome": outcome} for row, outcome in zip(grid([1.0] * 6), outcomes, strict=True)]
    said = "Every reading with “statistic: mean” passes; every reading with “statistic: median” fails."
    depends, begin = (
        {"verdict": "depends on the reading"},
        "Some admissible readings of the sentence pass, others fail.",
    )
    two = [*rows, *(row | {"part": "end"} for row in rows)]
    assert views.short(depends, [], [], curves(rows)) == views.short(depends, [], [], curves(two)) == f"{begin} {said}"
    two[0]["outcome"], two[3]["outcome"] = "undecided", "fails"
    parts = curves([row | {"part": row["part"] or "start"} for row in two])
    wanted = f"{begin} Of “start”: Every reading with “statistic: median” fails. Of “end”: {said}"
    assert views.short(depends, [], [], parts) == wanted


def test_options_stand_in_the_drawing_in_letters():
    (curve,) = curves([reading("$y = x_1$", name, 1.0) for name in "ab"])
    assert ">window: y = x_1<" in curve.drawing


def test_a_part_without_readings_has_no_curve():
    assert curves([PART]) == []


def test_parts_and_forms_have_curves_of_their_own():
    rows = [
        *grid([1.0] * 6),
        *(row | {"part": "b"} for row in grid([2.0] * 6)),
        *(row | {"form": "printed"} for row in grid([3.0] * 6)),
    ]
    assert [(curve.form, curve.part) for curve in curves(rows)] == [
        ("corrected", ""),
        ("corrected", "b"),
        ("printed", ""),
    ]


def test_each_choice_has_a_line_and_each_reading_marks_its_own():
    drawing = str(curves(grid([2.5, 1.0, 3.0, 2.0, 2.2, 2.4]))[0].drawing)
    labels = re.findall(r'<text class="option"[^>]*>([^<]*)</text>', drawing)
    assert labels == [*(f"window: {name}" for name in WINDOWS), *(f"statistic: {name}" for name in STATISTICS)]
    assert drawing.count('class="open"') == 6 * 5 - 6 * 2  # every reading marks one window and one statistic
    assert drawing.count('class="passes" cx') == 6 + 6 * 2


@pytest.mark.parametrize(
    "values",
    [
        [2.5, 1.0, 3.0, 2.0, 2.2, 2.4],
        [-3.0, 1e4, 0.0, 1.0, 2.0, 3.0],
        [1e-6, 1.0, 1e3, 2.0, 5.0, 9.0],
        [2.5] * 6,
    ],
)
@pytest.mark.parametrize("region", [("2", "3"), ("-inf", "3"), ("0", "inf"), ("", "")])
def test_nothing_leaves_the_drawing(values, region):
    rows = grid(values, region_low=region[0], region_high=region[1], half=0.0)
    drawing = str(curves(rows)[0].drawing)
    height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', drawing)[1])
    centers = numbers_of(drawing, "cx"), numbers_of(drawing, "cy")
    assert all(0 <= x <= WIDTH for x in centers[0])
    assert all(0 <= y <= height for y in centers[1])
    assert "nan" not in drawing
    assert "inf" not in drawing


def test_a_higher_value_stands_higher_and_an_interval_spans_its_dot():
    drawing = str(curves(grid([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))[0].drawing)
    dots = [float(y) for y in re.findall(r'<circle class="passes" cx="[\d.]+" cy="([\d.]+)" r="3.6"', drawing)]
    assert dots == sorted(dots, reverse=True)
    assert all(TOP <= y <= TOP + CURVE for y in dots)
    low, high = (
        [float(y) for y in re.findall(rf'<line class="passes"[^>]* {name}="([\d.]+)"', drawing)]
        for name in ("y1", "y2")
    )
    assert all(top < dot < bottom for top, dot, bottom in zip(high, dots, low, strict=True))


def test_a_reading_without_a_number_stands_at_the_foot():
    rows = grid([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    rows[3] |= {"value": "", "interval_low": "", "interval_high": "", "measured": "2 of 9 entries differ"}
    drawing = str(curves(rows)[0].drawing)
    assert f'cy="{TOP + CURVE:.1f}" r="3.6"' in drawing
    assert not math.isnan(sum(numbers_of(drawing, "cy")))


@pytest.mark.parametrize("ends", [("1", "3"), ("", "")], ids=["interval", "none"])
def test_a_reading_of_zero_is_drawn_and_sorted_at_zero(ends):
    zero = reading("last 5 %", "mean", 0, half=0) | dict(zip(("interval_low", "interval_high"), ends, strict=True))
    rows = [reading("last 5 %", "median", -2.0, half=0), zero, reading("last 5 %", "worst", 1.0, half=0)]
    (curve,) = curves(rows)
    assert [shown for _, shown, _ in curve.rows] == ["−2.0", "0", "1.0"]
    low, middle, high = map(float, re.findall(r'<circle class="\w+" cx="[\d.]+" cy="([\d.]+)" r="3.6"', curve.drawing))
    assert (low - middle) / (low - high) == pytest.approx(2 / 3, abs=0.01)
