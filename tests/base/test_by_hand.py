"""Numbers, boxes and words of the shared code worked out by hand, where sizes and sides differ."""

import base64
import os
from urllib.parse import unquote

import numpy as np
import pytest
import xarray as xr
from matplotlib.transforms import Bbox

from repdyn.base import checkpoints, legibility, progress, web
from repdyn.base.arguments import finite, orthogonal, positive, shaped
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import left_out, require, variable
from repdyn.base.errors import DataError, NotEnoughDataError
from repdyn.base.figures import (
    COLORS,
    NOTHING,
    color_bar,
    color_map,
    describe,
    new,
    save,
    say_what_is_missing,
    style,
)
from repdyn.base.files import HOST, atomic
from repdyn.base.formula_audit import audit_variables, relative_error
from repdyn.base.images import download_mnist
from repdyn.base.markup import mathml
from repdyn.base.sampled import interval_within, mean_within
from repdyn.base.verdicts import LARGEST_MARGIN, at_most, equal

SAYS = {"expected": "inside", "reason": "why", "n": 5, "false_alarm": 0.01}


@pytest.mark.parametrize(
    ("interval", "low", "high", "margin"),
    [
        ((1.0, 3.0), 0.5, 9.0, 1.5),  # the middle lies 1.5 above the border, half of the interval is 1
        ((1.0, 5.0), -9.0, 8.0, 2.5),
        ((1.0, 3.0), 7.0, 9.0, 1 / 5),
        ((1.0, 5.0), -9.0, -1.0, 2 / 4),
    ],
)
def test_the_margin_of_an_interval_is_in_halves_of_its_width(interval, low, high, margin):
    assert interval_within(interval, low, high, **SAYS).margin == pytest.approx(margin)


def test_what_is_not_equal_has_the_least_margin_and_not_none():
    assert equal(3, 4, expected="4").margin == 1 / LARGEST_MARGIN > 0


@pytest.mark.parametrize("turn", [0, 30, 90, 140])
def test_corners_of_a_text_are_those_of_its_letters_turned_about_their_middle(turn):
    _, axes = new()
    with style():
        text = axes[0, 0].text(0.4, 0.5, "a long word", rotation=0)
        level = text.get_window_extent()
        text.set_rotation(turn)
        box = Bbox.from_bounds(50, 80, 60, 20)
        corners = legibility._corners(text, box)
    width, height = level.width - 1, level.height - 2  # a pixel less along the letters, two across
    along = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])
    across = np.array([-along[1], along[0]])
    steps = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    expected = [np.array([80, 90]) + a * width / 2 * along + b * height / 2 * across for a, b in steps]
    np.testing.assert_allclose(corners, expected)


def test_one_point_of_several_under_a_text_is_enough():
    box = Bbox.from_extents(10, 20, 30, 40)
    assert legibility._inside(np.array([[100.0, 30], [20, 30], [20, 90]]), box, 1.0)
    assert not legibility._inside(np.array([[100.0, 30], [20, 90]]), box, 1.0), "one along each axis is none inside"


def test_an_axis_with_numbers_keeps_its_scale_in_a_panel_without_points():
    figure, axes = new(1, 2)
    for panel in axes[0]:
        panel.plot([1, 10, 100], [np.nan] * 3)
        panel.set(xscale="log", yscale="log")
    axes[0, 1].plot([1, 10, 20], [2, 3, 4])
    say_what_is_missing(figure)
    assert [(panel.get_xscale(), panel.get_yscale()) for panel in axes[0]] == [("log", "linear"), ("log", "log")]
    assert [[text.get_text() for text in panel.texts] for panel in axes[0]] == [[NOTHING], []]


def test_an_axis_shared_with_a_panel_that_has_points_keeps_its_scale():
    figure, axes = new(2, 1, sharey=True)
    axes[0, 0].plot([1, 10], [np.nan, np.nan])
    axes[1, 0].plot([1, 10], [2, 3])
    axes[0, 0].set_yscale("log")
    say_what_is_missing(figure)
    assert [panel.get_yscale() for panel in axes.flat] == ["log", "log"]


def test_texts_and_counts_beside_gaps_stay_as_they_are():
    variables = {
        "loss": variable("trial", np.array([1.0, np.inf]), "loss"),
        "name": variable("trial", np.array(["a", "b"]), "name"),
        "steps": variable("trial", np.array([3, 4]), "steps"),
    }
    data = left_out(xr.Dataset(variables), [False, True], "x.rate: 1")
    assert data["name"].values.tolist() == ["a", "b"]
    assert data["steps"].values.tolist() == [3, 4]
    assert [name for name in data if "missing" in data[name].attrs] == ["loss"]


def test_a_file_in_the_making_is_named_after_its_target_the_machine_and_the_process(tmp_path):
    with atomic(tmp_path / "data.nc") as temporary:
        temporary.write_text("whole")
        assert temporary.name == f".data.nc.{HOST}.{os.getpid()}.part.nc"
    assert [path.name for path in tmp_path.iterdir()] == ["data.nc"]


def test_the_file_that_no_mirror_gives_comes_before_what_each_mirror_said(tmp_path):
    with pytest.raises(DataError, match=r"^wanted\.gz could not be downloaded \(data\.mnist_mirrors is empty\)\."):
        download_mnist([], tmp_path, files={"wanted.gz": "0" * 64})


@pytest.mark.parametrize(("display", "kind"), [(False, "inline"), (True, "block")])
def test_formulas_of_their_own_line_are_blocks(display, kind):
    assert f'display="{kind}"' in mathml("x + 1", display=display)


def refusals():
    """What is refused, and the whole of what is said of it; no two numbers in it are the same."""
    turned = np.array([[2.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    audit = np.zeros((4, 5, 2))
    three = xr.Dataset({"loss": ("trial", np.zeros(3))}, {"trial": [0, 1, 2]})
    return {
        "orthogonal": (
            lambda: orthogonal(turned, 3, "Q"),
            "Q: got max|Q Q^T - 1| = 3.00e+00; expected an orthogonal matrix (below 1e-08): "
            "project with U V^T from np.linalg.svd first",
        ),
        "shape": (lambda: shaped(np.zeros((2, 5)), "x", (None, 3)), "x: got shape (2, 5); expected a non-empty array "
                  "of shape (any, 3)"),
        "least": (lambda: positive([3.0, -2.0, 5.0], "x"), "x: got -2; expected finite numbers above 0"),
        "lost": (lambda: finite([np.nan, 1.0, np.inf, 2.0, 3.0], "x"), "x: got 2 values that are NaN or infinite; "
                 "expected finite numbers only"),
        "interval": (
            lambda: interval_within((3.0, 1.0), 0, 9, **SAYS),
            "a claim was given the interval [3.0, 1.0]; a check needs a finite one, low end first",
        ),
        "values": (
            lambda: at_most([1.0, np.nan, np.inf], 2, expected="x", reason="y"),
            "a claim was given 3 values, 2 not finite; a check needs finite numbers",
        ),
        "forms": (
            lambda: audit_variables(audit, ("draw", "equation")),
            "errors: got shape (4, 5, 2); expected dimensions draw, equation and one of 3 forms",
        ),
        "wanted": (
            lambda: relative_error(np.zeros(4), np.ones((2, 3))),
            "value: got shape (4,); expected shape (2, 3), that of wanted",
        ),
        "size": (lambda: require(three, "runs", trial=7), "runs: 7 along trial, has 3"),
        "label": (lambda: require(three, "runs", trial=[2, 8, 9]), "runs: trial = 8, 9"),
        "variant": (lambda: require({"wide": three}, "runs", trial=4), "runs wide: 4 along trial, has 3"),
        "samples": (
            lambda: mean_within([1.0], 0, 2, expected="x", reason="y"),
            "an interval of a mean needs 2 samples or more, got 1",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", refusals())
def test_a_refusal_tells_what_was_got_and_what_is_expected_in_this_order(case):
    refused, words = refusals()[case]
    with pytest.raises((ValueError, NotEnoughDataError)) as caught:
        refused()
    assert str(caught.value) == words


def test_a_table_of_other_entries_or_shape_is_told_by_counts():
    measured = equal(np.arange(6).reshape(2, 3), np.array([[0, 1, 9], [3, 9, 5]]), expected="x").measured
    assert measured == "2 of 6 entries differ"
    assert equal(np.arange(4), np.arange(3), expected="x").measured == "shape (4,), expected (3,)"


def test_trials_that_are_kept_together_share_their_time_and_a_read_one_counts_as_used(tmp_path, monkeypatch):
    clock = {"seconds": 10.0}
    monkeypatch.setattr(checkpoints.time, "process_time", lambda: clock["seconds"])
    kept = Checkpoint(tmp_path, "job")
    clock["seconds"] = 16.0
    kept.put_all({name: {"x": np.arange(place)} for place, name in enumerate(("a", "b", "c"), start=1)})
    clock["seconds"] = 21.0
    kept.put("d", {"x": np.zeros(1)})
    assert (kept.tally.read, kept.tally.computed) == (0, 4)
    for names, seconds in ((["b"], 2.0), (["d"], 5.0), (["a", "d", "c"], 9.0)):
        again = Checkpoint(tmp_path, "job")
        sizes = [again.get(name)["x"].size for name in names]
        assert sizes == [{"a": 1, "b": 2, "c": 3, "d": 1}[name] for name in names]
        assert (again.tally.read, again.tally.computed) == (len(names), 0)
        assert again.tally.seconds == pytest.approx(seconds)
    files = list(tmp_path.rglob("*.npz"))
    for file in files:
        os.utime(file, (1000.0, 1000.0))
    Checkpoint(tmp_path, "job").get("c")
    assert sorted(file.stat().st_mtime > 1000 for file in files) == [False, False, False, True]


def test_without_a_wish_lines_of_progress_come_ten_seconds_apart(monkeypatch, capsys):
    clock = {"seconds": 5.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock["seconds"])
    shown = progress.Progress("training", 1000)
    for second in range(1, 26):
        clock["seconds"] = 5.0 + second
        shown.step(second)
    assert [line.split()[2] for line in capsys.readouterr().err.splitlines()] == ["10/1000", "20/1000"]


def test_a_color_bar_is_drawn_by_shapes_without_gaps(tmp_path):
    figure, axes = new()
    shown = axes[0, 0].pcolormesh(np.arange(6.0).reshape(2, 3), cmap=color_map("viridis"))
    bar = color_bar(figure, shown, ax=axes[0, 0], label="height")
    assert shown.get_cmap().N == COLORS < 50
    figure.canvas.draw()
    np.testing.assert_array_equal(bar.solids.get_edgecolor(), bar.solids.get_facecolor())
    assert bar.ax.get_ylabel() == "height"
    save(describe(figure, title="a", caption="b", alt="c"), tmp_path / "bar")
    assert "<image" not in (tmp_path / "bar.svg").read_text(encoding="utf-8")


def test_pictures_are_addresses_that_hold_them(tmp_path):
    (tmp_path / "a.svg").write_text('<svg a="1%">\n   <text>x # <b/>\\ é</text>  \n</svg>\n', encoding="utf-8")
    (tmp_path / "b.png").write_bytes(bytes(range(256)))
    kind, content = web.data_address(tmp_path / "a.svg").split(",", 1)
    assert kind == "data:image/svg+xml"
    assert unquote(content) == '<svg a="1%"> <text>x # <b/>\\ é</text> </svg> '
    assert not set("#<>\\\n") & set(content)
    kind, content = web.data_address(tmp_path / "b.png").split(",", 1)
    assert kind == "data:image/png;base64"
    assert base64.b64decode(content) == bytes(range(256))
