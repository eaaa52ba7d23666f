"""Legibility: each problem is created deliberately and found, and a clean figure has none."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from repdyn.plotting import legibility
from repdyn.plotting.figures import label_panels, new, style

X = np.linspace(0, 1, 50)


@pytest.fixture
def figure():
    """Two panels with lines, points, bars, bands, tick labels on two scales, a legend where nothing is."""
    with style():
        figure, axes = new(1, 2)
        left, right = axes[0]
        left.plot(X, X**2, label="square")
        left.fill_between(X, X**2 - 0.05, X**2 + 0.05, alpha=0.2)
        left.legend(loc="upper left")
        left.set_xlabel("time")
        right.scatter(X + 0.01, X / 2, label="points")
        right.bar([0.2, 0.4], [0.05, 0.07], width=0.1)
        right.set_yscale("symlog")
        right.set_ylim(0, 2)
        right.legend(loc="upper right")
        right.text(0.1, 1.5, "a note")
        left.set_title("one")
        right.set_title("other")
        label_panels(axes)
    return figure


def faults(figure):
    with style():
        return legibility.problems(figure)


def test_clean_figure_has_no_problems(figure):
    assert faults(figure) == []


def legend_over(draw):
    def spoil(left):
        draw(left)
        left.set_xlim(0, 1)
        left.set_ylim(0, 1)

    return spoil


TWO_WORDS = ((0.3, "a long word"), (0.32, "another"))
FAULTS = {
    "line": legend_over(lambda left: left.plot([0, 0.5], [0.92, 0.92])),
    "line between two points": legend_over(lambda left: left.axhline(0.92)),
    "marks": legend_over(lambda left: left.plot([0.2], [0.92], "o")),
    "points": legend_over(lambda left: left.scatter([0.2], [0.92])),
    "error bars": legend_over(lambda left: left.vlines(0.2, 0.5, 1)),
    "one of many lines": legend_over(lambda left: left.vlines([0.9, 0.2, 0.95], 0.5, 1)),
    "band": legend_over(lambda left: left.fill_between([0, 0.5], 0.8, 1)),
    "bar": legend_over(lambda left: left.bar([0.1], [1], 0.1)),
    "picture": legend_over(lambda left: left.imshow(np.eye(2), extent=(0, 1, 0, 1), aspect="auto")),
    "field": legend_over(lambda left: left.pcolormesh([0, 1], [0, 1], [[1.0]])),
    "second legend": lambda left: left.add_artist(left.legend(labels=["square"])),
    "text over a line": lambda left: left.text(0.45, 0.2, "a long note here"),
    "text over points": lambda left: (left.scatter([0.3], [0.8]), left.text(0.28, 0.78, "word")),
    "two texts": lambda left: (left.text(0.3, 0.7, "first"), left.text(0.32, 0.71, "second")),
    "turned text over another": lambda left: (left.text(0.3, 0.6, "first", rotation=45), left.text(0.3, 0.62, "on")),
    "turned texts over each other": lambda left: [left.text(x, 0.6, word, rotation=50) for x, word in TWO_WORDS],
    "ticks": lambda left: left.set_xticks(np.linspace(0, 0.1, 9)),
    "small letters": lambda left: left.set_xlabel("tiny", fontsize=7.4),
    "beyond the edge": lambda left: left.text(-0.9, 0.5, "lost"),
}


@pytest.mark.parametrize("spoil", FAULTS.values(), ids=FAULTS)
def test_each_kind_of_problem_is_found(figure, spoil):
    with style():
        spoil(figure.axes[0])
        if figure.axes[0].get_legend():
            figure.axes[0].get_legend().set_loc("upper left")
    assert faults(figure) != []


HARMLESS = {
    "line elsewhere": lambda left: left.plot([0.9, 1], [0.92, 0.92]),
    "line that is not shown": lambda left: left.plot([0, 0.5], [0.92, 0.92], visible=False),
    "line beyond the view": lambda left: (left.plot([-1, -0.5], [0.92, 0.92]), left.set_xlim(0, 1)),
    "text over an area": lambda left: (left.bar([0.9], [0.6], 0.1), left.text(0.87, 0.1, "7")),
    "turned text near another": lambda left: (left.text(0.3, 0.6, "first", rotation=45), left.text(0.37, 0.6, "on")),
    "turned texts side by side": lambda left: [left.text(x, 0.6, "a long word", rotation=50) for x in (0.2, 0.26)],
    "blanks on the curve": lambda left: left.text(0.45, 0.22, "          "),
    "text in a frame of lines": lambda left: (
        left.add_collection(LineCollection([[(0.4, 0.5), (0.7, 0.5), (0.7, 0.8), (0.4, 0.8), (0.4, 0.5)]])),
        left.text(0.5, 0.65, "in"),
    ),
    "empty text": lambda left: (left.text(0.3, 0.6, ""), left.text(0.3, 0.6, " ")),
    "text that is not shown": lambda left: left.text(0.5, 0.25, "on the curve", visible=False),
    "small letters nobody sees": lambda left: left.set_xlabel("tiny", fontsize=4, visible=False),
    "axis that is off": lambda left: (left.set_axis_off(), left.set_xlabel("tiny", fontsize=4)),
    "ticks out of view": lambda left: (left.set_xticks([0, 1, 5, 5.01]), left.set_xlim(0, 1)),
    "ticks out of a logarithmic view": lambda left: (
        left.set_yscale("log"),
        left.set_yticks([1e-8, 1.1e-8, 1]),
        left.set_ylim(1e-7, 1e7),
    ),
    "minor ticks out of view": lambda left: (
        left.set_xticks([5, 5.001], ["out of", "view"], minor=True),
        left.set_xlim(0, 1),
    ),
    "axis that is not shown": lambda left: (left.yaxis.set_visible(False), left.set_ylabel("tiny", fontsize=4)),
    "line that is clear": lambda left: left.plot([0, 0.5], [0.9, 0.9], alpha=0.0),
    "line without style or marks": lambda left: left.plot([0.05, 0.1, 0.15], [0.9, 0.9, 0.9], linestyle="none"),
    "line of one point": lambda left: left.plot([0.1], [0.9]),
    "legend that is not shown": lambda left: (left.get_legend().set_visible(False), left.plot([0, 0.5], [0.9, 0.9])),
    "line with gaps": lambda left: left.plot([0.9, np.nan, 1], [0.9, 0.9, 0.9]),
    "empty line": lambda left: left.plot([], []),
}


@pytest.mark.parametrize("add", HARMLESS.values(), ids=HARMLESS)
def test_text_that_covers_nothing_is_accepted(figure, add):
    with style():
        add(figure.axes[0])
    assert faults(figure) == []


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_text_cut_off_at_each_edge_is_found(figure, x, y):
    with style():
        figure.text(x, y, "at the edge", ha="center", va="center", in_layout=False)
    assert faults(figure) != []
