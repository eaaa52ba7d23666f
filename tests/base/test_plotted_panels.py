"""Whole tables of figures with several panels, insets, legends and color bars, each written out by hand."""

import io

import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D

from repdyn.base import plotted
from repdyn.base.figures import BLUE, GREEN, ORANGE, PURPLE, RED, new, style


def told(figure, *columns):
    """The rows of a figure's table, the columns that are filled anywhere, as lines of text."""
    rows = pd.read_csv(io.StringIO(plotted.table(figure)), dtype=str, keep_default_na=False)
    return [" | ".join(row) for row in rows[list(columns)].itertuples(index=False, name=None)]


def test_panels_are_counted_and_named_by_their_titles_axes_and_ticks():
    """Two rows of three share their axes; one is hidden, one has two insets, one a color bar."""
    with style():
        figure, axes = new(2, 3, sharex="col", sharey="row")
        for place, panel in enumerate(axes.ravel()):
            panel.plot([place], [place], "o")
        (a, b, c), (d, e, f) = axes
        for words, where in (("left", "left"), ("mid \n dle", "center"), ("right", "right")):
            a.set_title(words, loc=where)
        a.set_ylabel("above")
        d.set_xlabel("first")
        f.set_xlabel("third")
        e.set_visible(False)
        b.set_title("of b")
        for place, title in ((0.1, ""), (0.6, "inner")):
            inset = b.inset_axes((place, 0.5, 0.3, 0.3))
            inset.plot([10 * place], [7], "o")
            inset.set_title(title)
        c.set_xticks([2.5, 0.5], ["two and\na half", "half"])
        figure.colorbar(f.scatter([8], [9], c=[3]), ax=f, label="color")
        figure.colorbar(d.scatter([4], [6], c=[7]), ax=d, label="flat color", orientation="horizontal")
        figure.supxlabel("of all")
        figure.supylabel("for all")
    assert told(figure, "panel", "x_axis", "y_axis", "series", "x", "y") == [
        f"1 left mid dle right | first | above | {BLUE.lower()} | 0 | 0",
        f"2 of b | of all | above | {BLUE.lower()} | 1 | 1",
        f"3 | of all | for all | {BLUE.lower()} | 1 | 7",
        f"4 inner | of all | for all | {BLUE.lower()} | 6 | 7",
        f"5 | third (2.5: two and a half, 0.5: half) | above | {BLUE.lower()} | 2 | 2",
        f"6 | first | for all | {BLUE.lower()} | 3 | 3",
        "6 | first | for all | flat color | 4 | 6",
        f"7 | third (2.5: two and a half, 0.5: half) | for all | {BLUE.lower()} | 5 | 5",
        "7 | third (2.5: two and a half, 0.5: half) | for all | color | 8 | 9",
    ]


def test_names_are_looked_for_in_labels_then_in_the_panels_legend_the_figures_and_those_of_others():
    with style():
        figure, axes = new(1, 3)
        first, second, third = axes[0]
        for color in (RED, GREEN, BLUE, ORANGE, PURPLE):
            first.plot([1, 2], [3, 4], color=color)
        first.lines[0].set_label("labeled")
        first.legend([Line2D([], [], color=color) for color in (RED, GREEN)], ["own red", "own green"])
        figure.legend(
            [Line2D([], [], color=color, linestyle="--", marker="o") for color in (GREEN, RED, BLUE)],
            ["all green", "all red", "all blue"],
        )
        third.legend(
            [
                Line2D([], [], color=color, marker=mark)
                for color, mark in ((BLUE, "None"), (ORANGE, "s"), (ORANGE, "None"))
            ],
            ["other blue", "other marks", "other orange"],
        )
        second.plot([5, 6], [7, 8], color=ORANGE, marker="s")
        second.scatter([1, 2], [3, 4], color=[ORANGE, GREEN])
        second.bar([1], [2], color=RED)
        second.vlines([3], 0, 1, color=ORANGE)
    assert list(dict.fromkeys(told(figure, "panel", "kind", "series"))) == [
        "1 | line | labeled",
        "1 | line | own green",
        "1 | line | all blue",
        "1 | line | other orange",
        f"1 | line | {PURPLE.lower()}",
        "2 | bar | all red",
        "2 | line | other marks",
        "2 | points | ",
        f"2 | line | {ORANGE.lower()}",
    ]


def test_bars_of_errors_lines_and_areas_keep_each_of_their_numbers():
    with style():
        figure, axes = new()
        panel = axes[0, 0]
        panel.errorbar(
            [1, 2, 4], [5, 3, 6], yerr=[[0.5, 0.25, 1], [1, 2, 3]], xerr=[[0.25, 0.5, 1], [2, 1, 3]], label="both"
        )
        panel.errorbar([7, 8], [1, 2], yerr=[0.5, 0.25], fmt="none", capsize=2, label="bars")
        lines = LineCollection([[(0, 1), (2, 3)], [(4, 5), (6, 7), (8, 9)]], array=[0.5, 0.25], label="lines")
        areas = PolyCollection([[(0, 0), (1, 0), (1, 1)], [(2, 2), (3, 2), (3, 4)]], array=[9, 7], label="areas")
        for collection in (lines, areas):
            panel.add_collection(collection)
        panel.bar([0, 1, 2], [-3, 2, 5], width=[1, -0.5, 0.25], bottom=[1, 0, -2], label="bar")
        panel.axvspan(4, 1, label="span")
        panel.imshow([[[0.1, 0.2, 0.3]] * 4] * 2, label="picture")
    assert told(figure, "kind", "series", "part", "x", "y", "x_low", "x_high", "y_low", "y_high", "value") == [
        "line | both | 1 | 1 | 5 | 0.75 | 3 | 4.5 | 6 | ",
        "line | both | 1 | 2 | 3 | 1.5 | 3 | 2.75 | 5 | ",
        "line | both | 1 | 4 | 6 | 3 | 7 | 5 | 9 | ",
        "bar | bars | 1 |  |  |  |  | 0.5 | 1.5 | ",
        "bar | bars | 1 |  |  |  |  | 1.75 | 2.25 | ",
        "bar | bar | 1 | 0 | -2 | -0.5 | 0.5 | -2 | 1 | ",
        "bar | bar | 1 | 1 | 2 | 0.75 | 1.25 | 0 | 2 | ",
        "bar | bar | 1 | 2 | 3 | 1.875 | 2.125 | -2 | 3 | ",
        "line | lines | 1 | 0 | 1 |  |  |  |  | 0.5",
        "line | lines | 1 | 2 | 3 |  |  |  |  | 0.5",
        "line | lines | 2 | 4 | 5 |  |  |  |  | 0.25",
        "line | lines | 2 | 6 | 7 |  |  |  |  | 0.25",
        "line | lines | 2 | 8 | 9 |  |  |  |  | 0.25",
        "area | areas | 1 | 0 | 0 |  |  |  |  | 9",
        "area | areas | 1 | 1 | 0 |  |  |  |  | 9",
        "area | areas | 1 | 1 | 1 |  |  |  |  | 9",
        "area | areas | 1 | 0 | 0 |  |  |  |  | 9",
        "area | areas | 2 | 2 | 2 |  |  |  |  | 7",
        "area | areas | 2 | 3 | 2 |  |  |  |  | 7",
        "area | areas | 2 | 3 | 4 |  |  |  |  | 7",
        "area | areas | 2 | 2 | 2 |  |  |  |  | 7",
        "span | span | 1 |  |  | 1 | 4 |  |  | ",
        "cell | 2 x 4 x 3 values, not written: read the figure's datasets | 1 |  |  |  |  |  |  | ",
    ]


def test_images_of_unequal_sides_stand_at_their_rows_and_columns():
    """Two rows of three cells over 6 by 4: the first row is at the top, or at the bottom where that is its origin."""
    with style():
        figure, axes = new(1, 2)
        for panel, origin in zip(axes[0], ("upper", "lower"), strict=True):
            panel.imshow([[1, 2, 3], [4, 5, 6]], origin=origin, extent=(10, 16, -1, 3))
    columns = ("panel", "value", "x", "y", "x_low", "x_high", "y_low", "y_high")
    across = ("11 | {} | 10 | 12", "13 | {} | 12 | 14", "15 | {} | 14 | 16")
    sides = {"up": ("2", "1 | 3"), "down": ("0", "-1 | 1")}
    wanted = [
        f"{panel} | {value} | {across[(value - 1) % 3].format(sides[side][0])} | {sides[side][1]}"
        for panel, order in ((1, ("up", "down")), (2, ("down", "up")))
        for value in range(1, 7)
        for side in (order[(value - 1) // 3],)
    ]
    assert told(figure, *columns) == wanted


def test_contours_of_several_curves_and_levels_stay_apart():
    """The level sets of |x| are two lines for each level."""
    with style():
        figure, axes = new()
        x = [-3.0, 0.0, 3.0]
        axes[0, 0].contour(x, [0.0, 1.0], [[3.0, 0.0, 3.0]] * 2, levels=[0.75, 1.5, 2.25])
    rows = pd.read_csv(io.StringIO(plotted.table(figure)))
    assert rows.groupby(["part"])["value"].first().tolist() == [0.75, 0.75, 1.5, 1.5, 2.25, 2.25]
    assert sorted({(abs(x), value) for x, value in zip(rows["x"], rows["value"], strict=True)}) == [
        (0.75, 0.75), (1.5, 1.5), (2.25, 2.25),
    ]  # fmt: skip
    assert {(part, y) for part, y in zip(rows["part"], rows["y"], strict=True)} >= {
        (part, y) for part in range(1, 7) for y in (0.0, 1.0)
    }


def test_words_and_lines_beside_the_data_along_one_axis():
    with style():
        figure, axes = new()
        panel = axes[0, 0]
        panel.plot([1, 1, 2], [0.1, 0.2, 0.9], transform=panel.get_xaxis_transform(), label="across")
        panel.plot([0.1, 0.2, 0.9], [5, 4, 5], transform=panel.get_yaxis_transform(), label="along")
        panel.scatter([3, 4], [0, 1], transform=panel.get_xaxis_transform(), label="rug")
        panel.text(1, 0.5, "no place", transform=panel.get_xaxis_transform())
        panel.annotate("no data", (0.5, 0.5), xycoords="axes fraction")
        panel.annotate("from words", (3, 4), (1, 2), arrowprops={"arrowstyle": "->"})
        panel.annotate("from beside", (5, 6), (9, 9), textcoords="offset points", arrowprops={"arrowstyle": "->"})
        panel.text(7, 8, "here")
    assert told(figure, "kind", "series", "part", "x", "y") == [
        "level | across | 1 | 1 | ",
        "level | across | 1 | 2 | ",
        "level | along | 1 |  | 4",
        "level | along | 1 |  | 5",
        "points | rug | 1 | 3 | ",
        "points | rug | 1 | 4 | ",
        "arrow |  | 1 | 1 | 2",
        "arrow |  | 1 | 3 | 4",
        "text | from words | 1 | 3 | 4",
        "text | from beside | 1 | 5 | 6",
        "text | here | 1 | 7 | 8",
    ]


@pytest.mark.parametrize(
    ("ticks", "named"),
    [
        ({2: "2", 0.5: "0.5", 4: ""}, "depth"),
        ({2: "2", 0.5: "half", 4: ""}, "depth (2: 2, 0.5: half, 4: )"),
        ({2: "two", 0.5: "0.5", 4: "4"}, "depth (2: two, 0.5: 0.5, 4: 4)"),
        ({2: "2", 0.5: "0.5", 4: "four"}, "depth (2: 2, 0.5: 0.5, 4: four)"),
    ],
)
def test_ticks_are_named_where_one_of_them_is_no_number_of_its_place(ticks, named):
    with style():
        figure, axes = new()
        axes[0, 0].plot([1, 2], [3, 4])
        axes[0, 0].set_xlabel("depth")
        axes[0, 0].set_xticks(list(ticks), list(ticks.values()))
    assert set(told(figure, "x_axis")) == {named}


GAP = float("nan")
DRAWN = {
    "the last of three lines has numbers": (
        lambda p: [p.plot([1, 2, 3], y) for y in ([GAP] * 3, [GAP] * 3, [GAP, 5, 6])], (), False
    ),
    "none of three lines has": (lambda p: [p.plot([1, 2, 3], [GAP] * 3) for _ in range(3)], (), True),
    "points and a line of equality": (lambda p: (p.plot([0, 1], [0, 1]), p.scatter([1, 2], [GAP] * 2)), (), True),
    "points of which one is whole": (lambda p: (p.plot([0, 1], [0, 1]), p.scatter([1, 2], [GAP, 2])), (), False),
    "nothing before gaps": (lambda p: (p.scatter([], []), p.plot([1, 2, 3], [GAP] * 3)), (), True),
    "cells without a value": (lambda p: p.pcolormesh([0, 1, 2], [0, 1, 2], [[GAP] * 2] * 2), (), True),
    "cells with a last value": (lambda p: p.pcolormesh([0, 1, 2], [0, 1, 2], [[GAP, GAP], [GAP, 1]]), (), False),
    "places of cells": (lambda p: p.pcolormesh([0, 1, 2], [0, 1, 2], [[GAP] * 2] * 2), ("x", "y_low"), False),
    "bars without ends": (lambda p: p.errorbar([1, 2, 3], [4, 5, 6], [GAP] * 3), ("y", "y_high"), True),
    "one bar with ends": (lambda p: p.errorbar([1, 2, 3], [4, 5, 6], [GAP, 1, GAP]), ("y", "y_high"), False),
    "a level beside gaps": (lambda p: (p.axhline(1), p.plot([1, 2, 3], [GAP] * 3)), (), True),
    "a level along the axis": (lambda p: (p.axhline(1), p.plot([1, 2, 3], [GAP] * 3)), ("y",), False),
    "a level across it": (lambda p: (p.axvline(1), p.plot([1, 2, 3], [GAP] * 3)), ("y",), True),
    "levels, spans and words alone": (lambda p: (p.axhline(GAP), p.axvspan(GAP, 1), p.text(1, 2, "word")), (), False),
    "columns that nothing has": (lambda p: p.plot([1, 2, 3], [GAP] * 3), ("value",), False),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "columns", "missing"), DRAWN.values(), ids=DRAWN)
def test_a_panel_is_missing_where_nothing_has_a_number_in_all_its_columns(draw, columns, missing):
    with style():
        panel = new()[1][0, 0]
        draw(panel)
    assert plotted.is_missing(panel, *columns) is missing
