"""Checks of figures: each fault is made on purpose and found, and a figure without faults has none."""

import logging
import warnings

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox, IdentityTransform

from repdyn.base import legibility
from repdyn.base.figures import label_panels, new, style

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


def test_a_clean_figure_has_no_problems(figure):
    assert faults(figure) == []


def test_dots_of_many_opacities_are_seen_unless_all_are_clear(figure):
    left = figure.axes[0]
    figure.legend(*left.get_legend_handles_labels(), loc="center")
    for alphas, seen in (((0.0, 0.5), True), ((0.0, 0.0), False)):
        dots = left.scatter([0.2, 0.4], [0.5, 0.5], alpha=alphas)
        assert (not legibility._is_clear(dots)) == seen
        assert isinstance(faults(figure), list)
        dots.remove()


def legend_over(draw):
    def spoil(left):
        draw(left)
        left.set_xlim(0, 1)
        left.set_ylim(0, 1)

    return spoil


FAULTS = {
    "line": (legend_over(lambda left: left.plot([0, 0.5], [0.92, 0.92], label="high")), "covers a line (high)"),
    "line between two points": (legend_over(lambda left: left.axhline(0.92)), "covers a line"),
    "marks": (legend_over(lambda left: left.plot([0.2], [0.92], "o")), "the legend covers a line"),
    "points": (legend_over(lambda left: left.scatter([0.2], [0.92])), "the legend covers points"),
    "error bars": (legend_over(lambda left: left.vlines(0.2, 0.5, 1)), "the legend covers lines"),
    "one of many lines": (legend_over(lambda left: left.vlines([0.9, 0.2, 0.95], 0.5, 1)), "the legend covers lines"),
    "band": (legend_over(lambda left: left.fill_between([0, 0.5], 0.8, 1, label="range")), "covers an area (range)"),
    "bar": (legend_over(lambda left: left.bar([0.1], [1], 0.1)), "the legend covers an area"),
    "picture": (legend_over(lambda left: left.imshow(np.eye(2), extent=(0, 1, 0, 1), aspect="auto")), "covers an area"),
    "field": (legend_over(lambda left: left.pcolormesh([0, 1], [0, 1], [[1.0]])), "covers an area"),
    "second legend": (lambda left: left.add_artist(left.legend(labels=["square"])), "cover each other"),
    "text over a line": (lambda left: left.text(0.45, 0.2, "a long note here"), "'a long note here' covers a line"),
    "text over points": (
        lambda left: (left.scatter([0.3], [0.8]), left.text(0.28, 0.78, "word")),
        "'word' covers points",
    ),
    "two texts": (lambda left: (left.text(0.3, 0.7, "first"), left.text(0.32, 0.71, "second")), "cover each other"),
    "turned text over another": (
        lambda left: (left.text(0.3, 0.6, "first", rotation=45), left.text(0.3, 0.62, "on")),
        "cover each other",
    ),
    "turned texts over each other": (
        lambda left: [left.text(x, 0.6, word, rotation=50) for x, word in ((0.3, "a long word"), (0.32, "another"))],
        "cover each other",
    ),
    "text upright and on its side": (
        lambda left: (left.text(0.3, 0.6, "first", rotation=90), left.text(0.28, 0.63, "second")),
        "cover each other",
    ),
    "ticks": (lambda left: left.set_xticks(np.linspace(0, 0.1, 9)), "cover each other"),
    "small letters": (lambda left: left.set_xlabel("tiny", fontsize=7.4), "'tiny' has letters of 7.4 pt, under 7.5 pt"),
    "beyond the edge": (lambda left: left.text(-0.9, 0.5, "lost"), "'lost' is cut off by the figure's edge"),
}


@pytest.mark.parametrize(("spoil", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(figure, spoil, message):
    with style():
        spoil(figure.axes[0])
        if figure.axes[0].get_legend():
            figure.axes[0].get_legend().set_loc("upper left")
    problems = faults(figure)
    assert any(message in problem for problem in problems), problems


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


def test_labels_of_an_inverted_axis_are_seen(figure):
    panel = figure.axes[0]
    panel.set_xticks([0.5, 0.501], ["a long label", "another one"])
    assert any("'a long label'" in problem for problem in faults(figure))
    panel.set_xlim(1, 0)
    assert any("'a long label'" in problem for problem in faults(figure))


@pytest.mark.parametrize("add", HARMLESS.values(), ids=HARMLESS)
def test_what_covers_nothing_is_no_fault(figure, add):
    with style():
        add(figure.axes[0])
    assert faults(figure) == []


@pytest.mark.parametrize(("places", "covered"), [(6, False), (12, True)])
def test_an_area_counts_by_its_share_of_the_whole_box(places, covered):
    """Of a box with 12 x 12 places, half of it in the panel: 6 places are 4 % of it and no fault, 12 are 8 %."""
    area = Rectangle((-0.5, -0.5), 1, places, transform=IdentityTransform())
    panel, box = Bbox([[-1, -1], [5.5, 20]]), Bbox([[0, 0], [11, 11]])
    assert legibility._area_covers(area, panel, box) == covered


COVERED = "panel '(a) one': 'a note here' covers a line"


def note_box(figure):
    """The box in pixels of a note that it writes into the first panel."""
    panel = figure.axes[0]
    text = panel.text(0.3, 0.6, "a note here")
    panel.set_xlim(0, 1)
    panel.set_ylim(0, 1)
    figure.draw_without_rendering()
    return text.get_window_extent()


@pytest.mark.parametrize(("inwards", "covered"), [(0.5, False), (2.5, True)], ids=["touched", "covered"])
def test_lines_may_touch_a_text_by_less_than_a_pixel_on_each_side(figure, inwards, covered):
    panel = figure.axes[0]
    with style():
        box = note_box(figure)
        outer, inner = box.padded(20), box.padded(-inwards)
        for x in (inner.x0, inner.x1):
            panel.plot(*panel.transData.inverted().transform([(x, outer.y0), (x, outer.y1)]).T)
        for y in (inner.y0, inner.y1):
            panel.plot(*panel.transData.inverted().transform([(outer.x0, y), (outer.x1, y)]).T)
    assert faults(figure) == ([COVERED] if covered else [])


@pytest.mark.parametrize(("over", "covered"), [(0.5, False), (3.0, True)], ids=["touched", "covered"])
def test_texts_side_by_side_may_touch_by_less_than_a_pixel(figure, over, covered):
    panel = figure.axes[0]
    with style():
        box = note_box(figure)
        x, y = panel.transData.inverted().transform((box.x1 - over, box.y0))
        panel.text(x, y, "another", va="bottom")
        figure.draw_without_rendering()
        lower, upper = (text.get_window_extent() for text in panel.texts[-2:])
        assert lower.x1 - upper.x0 == pytest.approx(over, abs=0.6)  # boxes begin at whole pixels
    assert bool(faults(figure)) is covered


@pytest.mark.parametrize(("away", "covered"), [(0.3, True), (0.9, False)], ids=["within", "beyond"])
@pytest.mark.parametrize(("kind", "name"), [("plot", "a line"), ("scatter", "points")], ids=["line", "points"])
def test_marks_reach_half_their_size(figure, away, covered, kind, name):
    panel, size = figure.axes[0], 20
    with style():
        box = note_box(figure)
        place = panel.transData.inverted().transform((box.x0 - away * size, (box.y0 + box.y1) / 2))
        panel.plot(*place, "o", markersize=size) if kind == "plot" else panel.scatter(*place, s=size**2)
    assert faults(figure) == ([COVERED.replace("a line", name)] if covered else [])


@pytest.mark.parametrize("side", [(-1, 0), (1, 0), (0, -1), (0, 1)], ids=["left", "right", "below", "above"])
@pytest.mark.parametrize(("away", "covered"), [(0.3, True), (0.9, False)], ids=["within", "beyond"])
def test_marks_beside_each_side_of_a_text_reach_half_their_size(figure, side, away, covered):
    panel, size = figure.axes[0], 20
    with style():
        box = note_box(figure)
        middle = np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2
        offset = np.array(side) * (np.array([box.width, box.height]) / 2 + away * size)
        panel.scatter(*panel.transData.inverted().transform(middle + offset), s=size**2)
    assert faults(figure) == ([COVERED.replace("a line", "points")] if covered else [])


def crowded():
    """Three panels, one without a title, with several faults in each beside as many things that cover nothing."""
    figure, axes = new(1, 3)
    first, second, third = axes[0]
    for panel in axes[0]:
        panel.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    first.plot([0, 0.3], [0.1, 0.1], label="low")
    first.plot([0, 1], [0.5, 0.5])
    first.plot([0.2, 0.8], [0.3, 0.7], label="rises")
    first.text(0.05, 0.8, "free")
    first.text(0.4, 0.47, "a note")
    second.set_title("in the middle")
    second.scatter([0.9, 0.2, 0.4], [0.3, 0.35, 0.9], label="dots")
    second.vlines([0.9, 0.1, 0.6], 0.2, 0.4)
    second.text(0.7, 0.8, "b")
    second.text(0.05, 0.3, "words that are far longer\nthan forty letters of a text")
    third.set_title("(c) the last", loc="left")
    third.bar([0.9, 0.3, 0.1], [0.2, 0.97, 0.1], 0.1)
    third.fill_between([0.6, 0.7], 0, 0.2, label="corner")
    third.plot([0.9, 1], [0.95, 0.95], label="end")
    third.plot([0, 0.5], [0.6, 0.4], label="half")
    third.add_artist(third.legend(handles=third.lines, loc="center left"))
    third.legend(handles=third.lines, loc="upper left")
    third.set_xlabel("small", fontsize=6)
    third.set_ylabel("smaller", fontsize=5.25)
    figure.text(0.999, 0.5, "beyond", in_layout=False)
    figure.text(0.5, -0.02, "below", in_layout=False)
    return figure


def test_every_fault_of_every_panel_is_told_once_and_in_order():
    with style():
        figure = crowded()
    assert faults(figure) == [
        "'below' is cut off by the figure's edge",
        "'beyond' is cut off by the figure's edge",
        "'small' has letters of 6 pt, under 7.5 pt",
        "'smaller' has letters of 5.25 pt, under 7.5 pt",
        "panel '(c) the last': the legend covers a line (half)",
        "panel '(c) the last': the legend covers an area",
        "panel 'in the middle': 'words that are far longer than forty ...' covers lines",
        "panel 'in the middle': 'words that are far longer than forty ...' covers points (dots)",
        "panel 1: 'a note' covers a line",
        "panel 1: 'a note' covers a line (rises)",
    ]


def test_a_legend_of_the_figure_covers_data_too():
    with style():
        figure, axes = new()
        axes[0, 0].vlines([0.1, 0.9, 0.5], 0, 1, label="bars")
        figure.legend(loc="center")
    assert faults(figure) == ["panel 1: the legend covers lines (bars)"]


@pytest.mark.parametrize(("length", "shown"), [(40, "w" * 40), (41, "w" * 37 + "...")])
def test_long_texts_are_cut_where_they_are_told(figure, length, shown):
    with style():
        figure.axes[0].set_xlabel("w" * length, fontsize=3)
    assert f"{shown!r} has letters of 3 pt, under 7.5 pt" in faults(figure)


def test_every_part_of_an_area_counts():
    """Three bars of a collection, of which the last lies under the legend."""
    with style():
        figure, axes = new()
        panel = axes[0, 0]
        bars = [[(x, 0), (x + 0.1, 0), (x + 0.1, top), (x, top)] for x, top in ((0.5, 0.3), (0.8, 0.1), (0.02, 1.0))]
        panel.add_collection(PolyCollection(bars, label="bars"))
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.legend(loc="upper left")
    assert faults(figure) == ["panel 1: the legend covers an area (bars)"]


def test_a_panel_that_is_not_shown_has_no_faults(figure):
    panel = figure.axes[0]
    panel.text(0.4, 0.2, "a long note here", fontsize=5)
    assert len(faults(figure)) == 2
    panel.set_visible(False)
    assert faults(figure) == []


def test_a_figure_that_was_just_drawn_need_not_be_drawn_again(figure, monkeypatch):
    figure.canvas.draw()
    monkeypatch.setattr(type(figure), "draw_without_rendering", lambda self: pytest.fail("drawn again"))
    assert legibility.problems(figure, is_drawn=True) == []


def test_characters_without_a_shape_are_told_and_other_warnings_pass_on(figure):
    figure.axes[0].set_title("一")
    figure.axes[1].set_title(r"$一$")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with legibility.missing_glyphs() as missing:
            figure.canvas.draw()
            warnings.warn("something else", stacklevel=1)
    assert len(missing) == 2
    assert all("4e00" in message.lower() for message in missing)
    assert [str(warning.message) for warning in caught] == ["something else"]
    assert not [
        handler for handler in logging.getLogger("matplotlib.mathtext").handlers if type(handler) is logging.Handler
    ]


@pytest.mark.parametrize(
    ("x", "y"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)], ids=["left", "right", "low", "top"]
)
def test_each_edge_of_the_figure_cuts(figure, x, y):
    with style():
        figure.text(x, y, "at the edge", ha="center", va="center", in_layout=False)
    assert any("'at the edge' is cut off by the figure's edge" in problem for problem in faults(figure))
