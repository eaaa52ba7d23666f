"""The numbers behind a figure: the arguments of plotting calls are recovered, panel by panel, with their names."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

from repdyn.plotting import plotted
from repdyn.plotting.figures import BLUE, RED, band, new, style

X, Y = np.array([1.0, 2.0, 4.0]), np.array([0.5, np.nan, 1e-12])


def table(figure):
    return pd.read_csv(io.StringIO(plotted.table(figure)))


def drawn(draw, *, columns=1, **options):
    """The table of a figure that a function fills."""
    with style():
        figure, axes = new(1, columns, **options)
        draw(*axes[0])
        return table(figure)


def numbers(rows, *columns):
    """The columns as lists, `None` where empty."""
    return [[None if value != value else value for value in rows[name].tolist()] for name in columns]


def test_line_has_its_points_gaps_and_label():
    rows = drawn(lambda panel: panel.plot(X, Y))
    assert numbers(rows, "x", "y") == [[1, 2, 4], [0.5, None, 1e-12]]
    assert set(rows["kind"]) == {"line"}


def test_every_line_of_a_bundle_is_a_part():
    rows = drawn(lambda panel: panel.plot(X, np.array([X, 2 * X]).T, color=BLUE))
    assert rows["part"].tolist() == [1, 1, 1, 2, 2, 2]
    assert numbers(rows, "y") == [[1, 2, 4, 2, 4, 8]]
    assert set(rows["series"]) == {BLUE.lower()}


def test_marks_are_points_and_steps_are_steps():
    def draw(panel):
        panel.plot(X, X, "o", label="marks")
        panel.step(X, X, label="steps")
        panel.scatter(X, Y, label="dots")

    assert drawn(draw).groupby("series")["kind"].first().to_dict() == {
        "marks": "points",
        "steps": "steps",
        "dots": "points",
    }


def test_band_has_both_sides_and_gaps_divide_it():
    def draw(panel):
        band(panel, X, X - 1, X + 1, color=RED, label="95 %")
        panel.fill_between([1, 2, 3, 4, 5], 0, [1, 1, 9, 1, 1], where=[True, True, False, True, True], label="parts")
        panel.fill_betweenx(X, X, 2 * X, label="across")

    rows = drawn(draw)
    whole, parts, across = (rows[rows["series"] == name] for name in ("95 %", "parts", "across"))
    assert numbers(whole, "x", "y_low", "y_high") == [[1, 2, 4], [0, 1, 3], [2, 3, 5]]
    assert numbers(parts, "x", "part") == [[1, 2, 4, 5], [1, 1, 2, 2]]
    assert numbers(across, "y", "x_low", "x_high") == [[1, 2, 4], [1, 2, 4], [2, 4, 8]]


def test_error_bars_are_rows_of_their_points():
    def draw(panel):
        panel.errorbar(X, 2 * X, ([0.1, 0.2, 0.3], [1, 2, 3]), capsize=2, label="mean")
        panel.errorbar(X, X, xerr=0.5, fmt="o", capsize=2, label="across")

    rows = drawn(draw)
    mean, across = (rows[rows["series"] == name] for name in ("mean", "across"))
    assert len(rows) == 6
    assert numbers(mean, "x", "y") == [[1, 2, 4], [2, 4, 8]]
    assert np.allclose(mean[["y_low", "y_high"]].T, [[1.9, 3.8, 7.7], [3, 6, 11]])
    assert numbers(across, "x_low", "x_high", "y_low") == [[0.5, 1.5, 3.5], [1.5, 2.5, 4.5], [None] * 3]


def test_missing_point_with_error_bar_keeps_its_row():
    rows = drawn(lambda panel: panel.errorbar(X, Y, 0.25, label="mean"))
    assert numbers(rows, "y", "y_low") == [[0.5, None, 1e-12], [0.25, None, -0.25]]


def test_bars_have_edges_and_ends():
    def draw(upright, flat, counts):
        upright.bar([0, 1], [3, -2], 0.5, bottom=1, label="up")
        upright.set_xticks([0, 1], ["BN", "none"])
        flat.barh([0, 1], [3, 2], 1)
        counts.hist([[0.1, 0.2, 0.9], [0.8]], [0, 0.5, 1], stacked=True, label=["one", "two"], color=[BLUE, RED])

    rows = drawn(draw, columns=3)
    up, across, counts = (rows[rows["panel"] == number] for number in (1, 2, 3))
    assert numbers(up, "x", "y", "x_low", "y_low", "y_high") == [[0, 1], [4, -1], [-0.25, 0.75], [1, -1], [4, 1]]
    assert set(up["x_axis"]) == {"(0: BN, 1: none)"}
    assert numbers(across, "x", "y") == [[3, 2], [0, 1]]
    assert numbers(counts, "y", "y_low", "x_high") == [[2, 1, 2, 2], [0, 0, 2, 1], [0.5, 1, 0.5, 1]]
    assert counts["series"].tolist() == ["one", "one", "two", "two"]


def test_levels_and_spans_have_one_axis():
    def draw(panel):
        panel.axhline(2, label="bound")
        panel.axvline(3)
        panel.axvspan(1, 4)
        panel.plot([0, 1], [0, 1], transform=panel.transAxes)

    rows = drawn(draw)
    assert rows["kind"].tolist() == ["level", "level", "span"]
    assert numbers(rows, "x", "y", "x_low", "y_low") == [[None, 3, None], [2, None, None], [None, None, 1], [None] * 3]


def test_cells_of_images_and_meshes_have_their_edges():
    def draw(mesh, up, down):
        mesh.pcolormesh([0, 1, 3], [0, 10, 100], [[1, 2], [3, np.nan]])
        up.imshow([[1, 2], [3, 4]], origin="lower")
        down.imshow([[1, 2], [3, 4]])

    rows = drawn(draw, columns=3)
    mesh, up, down = (rows[rows["panel"] == number] for number in (1, 2, 3))
    assert numbers(mesh, "value", "x", "x_high", "y_low", "y_high") == [
        [1, 2, 3, None],
        [0.5, 2, 0.5, 2],
        [1, 3, 1, 3],
        [0, 0, 10, 10],
        [10, 10, 100, 100],
    ]
    assert (
        numbers(up, "value", "x", "y") == numbers(down, "value", "x", "y") == [[1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 1, 1]]
    )


def test_contours_have_their_level():
    x = np.linspace(-2, 2, 41)
    rows = drawn(lambda panel: panel.contour(x, x, x[:, None] ** 2 + x**2, levels=[1.0, 2.25]))
    assert set(rows["kind"]) == {"contour"}
    assert np.allclose(rows["x"] ** 2 + rows["y"] ** 2, rows["value"], atol=0.02)
    assert set(rows["value"]) == {1.0, 2.25}


def test_hidden_artists_are_omitted_and_insets_are_panels():
    def draw(left, right):
        left.plot(X, X, visible=False)
        right.set_visible(False)
        right.plot(X, X)
        left.inset_axes((0.5, 0.5, 0.4, 0.4)).plot(X, 2 * X)

    rows = drawn(draw, columns=2)
    assert numbers(rows, "panel", "y") == [[2, 2, 2], [2, 4, 8]]


def panel_with(*lines, levels=()):
    with style():
        panel = new()[1][0, 0]
        for x, y in lines:
            panel.plot(x, y)
        for level in levels:
            panel.axhline(level)
    return panel


GAP = np.nan


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([([1, 2, 3], [GAP, GAP, GAP])], True),
        ([([1, 2, 3], [GAP, 5, GAP])], False),
        ([([GAP, 2, 3], [5, GAP, GAP])], True),  # no point has both
        ([([GAP, 2, 3], [5, 6, GAP])], False),
        ([([1, 2, 3], [GAP] * 3), ([1, 2, 3], [4, 5, 6])], False),
        ([([1, 2, 3], [GAP] * 3), ([0, 9], [0, 9])], True),  # the line of equality is not data
        ([([0, 9], [0, 9])], False),  # alone it is what is shown
        ([([], [])], False),
        ([], False),
    ],
)
def test_panel_is_missing_if_no_point_is_complete(lines, missing):
    assert plotted.is_missing(panel_with(*lines)) is missing
    assert plotted.is_missing(panel_with(*lines, levels=[1.0])) is missing, "a level is beside the data"


def test_axis_without_finite_values_is_missing():
    panel = panel_with(([1, 2, 3], [GAP] * 3))
    assert (plotted.is_missing(panel, "x"), plotted.is_missing(panel, "y")) == (False, True)


KINDS = {
    "line": lambda panel: (panel.plot(X, X), panel.vlines(X, 0, 1)),
    "area": lambda panel: panel.add_collection(PolyCollection([[(0, 0), (1, 0), (1, 1)]])),
    "points": lambda panel: panel.scatter(X, X),
    "steps": lambda panel: panel.stairs([1, 3], [0, 2, 5]),
    "band": lambda panel: panel.fill_between(X, 0, X),
    "bar": lambda panel: panel.bar([0, 1], [3, 2]),
    "span": lambda panel: panel.axhspan(1, 4),
    "level": lambda panel: panel.axhline(2),
    "cell": lambda panel: panel.pcolormesh([0, 1], [0, 1], [[1.0]]),
    "contour": lambda panel: panel.contour([[0.0, 1.0], [1.0, 2.0]], levels=[1.2]),
    "text": lambda panel: panel.text(1, 2, "word"),
    "arrow": lambda panel: panel.annotate("", (1, 2), (0, 0), arrowprops={"arrowstyle": "->"}),
}


@pytest.mark.parametrize(("kind", "draw"), KINDS.items(), ids=KINDS)
def test_each_kind_has_its_name(kind, draw):
    assert set(drawn(draw)["kind"]) == {kind}
