"""Figures of random networks: drawn from small datasets without a warning, complete, with words beside them."""

import re
import warnings

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from repdyn.base import figures as base_figures
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.figures import BLUE, RED
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import random_networks as experiments
from repdyn.bn_decomposed.figures.random_networks import (
    GRAY,
    REGIMES,
    fig1_ablation,
    fig5_layer_angles,
    orthogonality_gap,
)
from repdyn.bn_decomposed.settings.study import Ablation, FixedPoint, LayerAngles, OrthogonalityGap

NOTHING_KEPT = Checkpoint(None, "")

FIGURES = ("fig1_ablation", "orthogonality_gap", "fig5_layer_angles")
WIDTHS, BATCHES = (8, 12, 16, 24, 32), (4, 5, 6, 7, 9)


@pytest.fixture(scope="module")
def data():
    images = xr.Dataset({"image": (("point", "row", "column"), np.random.default_rng(4).random((12, 4, 4)))})
    stream = Stream(1)
    return {
        "ablation": experiments.ablation(
            Ablation(batch=6, width=16, depth=4, seeds=3, record=(0, 4)), images, stream.child("ablation"), NOTHING_KEPT
        ),
        "orthogonality_gap": experiments.orthogonality_gap(
            OrthogonalityGap(batch=4, input_dim=6, widths=WIDTHS, depth=6, seeds=3), stream.child("gap")
        ),
        "layer_angles": experiments.layer_angles(
            LayerAngles(batches=BATCHES, width=16, depth=3, seeds=2), images, stream.child("angles"), NOTHING_KEPT
        ),
        "fixed_point": experiments.fixed_point(FixedPoint(batches=(3, 4, 9))),
    }


@pytest.fixture(scope="module")
def drawn(data):
    """All figures, drawn with warnings as errors."""
    with warnings.catch_warnings(), base_figures.style():
        warnings.simplefilter("error")
        figures = {
            "fig1_ablation": fig1_ablation(data["ablation"]),
            "orthogonality_gap": orthogonality_gap(data["orthogonality_gap"]),
            "fig5_layer_angles": fig5_layer_angles(data["layer_angles"], data["fixed_point"]),
        }
        for figure in figures.values():
            figure.canvas.draw()
    return figures


def lines(panel, minimum=2):
    """Curves of a panel that follow data, without those that span it at one height."""
    return [line for line in panel.get_lines() if len(set(np.ravel(line.get_ydata()))) >= minimum]


# Words


@pytest.mark.parametrize("name", FIGURES)
def test_title_caption_and_text_say_what_is_shown(drawn, name):
    about = drawn[name].repdyn
    assert set(about) == {"title", "caption", "alt"}
    assert not about["title"].endswith(".")
    for text in (about["caption"], about["alt"]):
        assert len(text) > 60
        assert text.endswith(".")
        assert "  " not in text
    assert re.search(r"\d+ draws", about["caption"]), "the caption says n"


def test_captions_take_their_numbers_from_the_data(drawn, data):
    assert "batch of 6 images after 4 layers of width 16" in drawn["fig1_ablation"].repdyn["caption"]
    assert "pooled over 3 draws" in drawn["fig1_ablation"].repdyn["caption"]
    assert "Gram matrix of 4 Gaussian points" in drawn["orthogonality_gap"].repdyn["caption"]
    assert "layer 3 (width 16, ReLU)" in drawn["fig5_layer_angles"].repdyn["caption"]
    other = fig1_ablation(data["ablation"].isel(seed=slice(2))).repdyn["caption"]
    assert "pooled over 2 draws" in other


@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_names_and_units(drawn, name):
    figure = drawn[name]
    words = [axis.get_label().get_text() for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    words += [figure.get_supxlabel()]
    assert any(words)
    assert all(re.search(r"degree|layer|gap|linear|ReLU|points", text) for text in words if text)
    assert all("degree" in text for text in words if "angle" in text)


# What is drawn


def test_histograms_hold_every_pair_of_every_draw_once(drawn, data):
    figure = drawn["fig1_ablation"]
    assert len(figure.axes) == 2 * len(REGIMES)
    for panel in figure.axes:
        others, odd = (sum(bar.get_height() for bar in bars) for bars in panel.containers)
        assert (others, odd) == (3 * 10, 3 * 5)  # 3 draws of 6 points: 10 pairs without the longest, 5 with it


def test_regimes_are_all_combinations_but_one_of_two_equal_ones(data):
    """With recentering both rescalings are the same, so five columns show all six."""
    combinations = {
        (int(recenter), str(rescale))
        for recenter in data["ablation"]["recenter"]
        for rescale in data["ablation"]["rescale"].values
    }
    assert combinations - {regime[:2] for regime in REGIMES} == {(1, "rms")}


def test_numbers_in_the_panels_are_the_medians(drawn, data):
    last = data["ablation"].isel(layer=-1)
    for panel, (relu, (recenter, rescale, _)) in zip(
        drawn["fig1_ablation"].axes, ((relu, regime) for relu in (0, 1) for regime in REGIMES), strict=True
    ):
        cell = last.sel(recenter=recenter, rescale=rescale, relu=relu)
        rank, ratio = float(cell["effective_rank"].median()), float(cell["second_to_first"].median())
        assert panel.texts[0].get_text() == f"eff. rank {rank:.1f}\n2nd/1st norm {ratio:.2f}"


def test_every_width_has_its_line_and_band(drawn, data):
    gap = data["orthogonality_gap"]["gap"]
    for panel, rescale in zip(drawn["orthogonality_gap"].axes, ("rms", "std"), strict=True):
        curves = {line.get_label(): line for line in lines(panel)}
        assert set(curves) == {f"width {width}" for width in WIDTHS}
        assert len(panel.collections) == len(WIDTHS)
        assert len({(line.get_color(), line.get_linestyle()) for line in curves.values()}) == len(WIDTHS)
        for width in WIDTHS:
            median = gap.sel(rescale=rescale, width=width).median("seed")
            np.testing.assert_array_equal(curves[f"width {width}"].get_ydata(), median)


def of_batch(angles, kind, name, n):
    pairs = np.flatnonzero(angles["pair_batch"] == n)
    return angles[name].sel(normalization=kind).isel(pair=pairs).values.ravel()


def test_pairs_of_the_batch_nearest_to_the_paper_are_drawn_once(drawn, data):
    angles = data["layer_angles"]
    means = angles["mean_angle"].sel(normalization="full").mean("seed")
    n = int(angles["batch"][np.argmin(np.abs(means.values - 75))])
    limits = set()
    for panel, kind, color in zip(drawn["fig5_layer_angles"].axes, ("rms", "full"), (RED, BLUE), strict=False):
        (cloud,) = panel.collections
        expected = np.stack([of_batch(angles, kind, name, n) for name in ("before", "after")], axis=1)
        np.testing.assert_array_equal(np.sort(cloud.get_offsets(), axis=0), np.sort(expected, axis=0))
        assert to_hex(cloud.get_facecolor()) == color.lower()
        assert panel.get_title(loc="left").endswith(f"$n$ = {n}")
        limits |= {panel.get_xlim(), panel.get_ylim()}
    ((low, high),) = limits  # one scale, so that 60 and 75 can be compared
    assert low <= expected.min() <= expected.max() <= high


def test_bars_are_5_to_95_percent_of_all_pairs_under_their_names(drawn, data):
    panel, angles = drawn["fig5_layer_angles"].axes[2], data["layer_angles"]
    names = dict(zip(panel.get_yticks(), (text.get_text() for text in panel.get_yticklabels()), strict=True))
    bars = {names[line.get_ydata()[0]]: line.get_xdata() for line in panel.get_lines() if line.get_linewidth() == 3}
    dots = {names[line.get_ydata()[0]]: line.get_xdata() for line in panel.get_lines() if line.get_marker() == "o"}
    assert len(bars) == 3 * len(BATCHES)
    for kind, words in (("std", "RS by std"), ("rms", "RS by RMS"), ("full", "RC + RS")):
        for n in BATCHES:
            pairs = of_batch(angles, kind, "after", n)
            np.testing.assert_allclose(bars[f"{words}, $n$ = {n}"], np.percentile(pairs, (5, 95)))
            np.testing.assert_allclose(dots[f"{words}, $n$ = {n}"], np.median(pairs))
    assert "medians and 5-95 % ranges" in drawn["fig5_layer_angles"].repdyn["caption"]


def test_the_angles_of_the_paper_are_drawn_where_they_are(drawn):
    def said(panel, along):
        return {text.get_text(): text.xy[along] for text in panel.texts if text.get_text().startswith("paper")}, {
            line.get_xydata()[0, along] for line in panel.get_lines() if line.get_color() == GRAY
        }

    panels = drawn["fig5_layer_angles"].axes
    assert said(panels[0], 1) == ({"paper: 60°": 60}, {60})
    assert said(panels[1], 1) == ({"paper: 75°": 75}, {75})
    assert said(panels[2], 0) == ({"paper: 60°": 60, "paper: 75°": 75}, {60, 75})
    assert said(panels[3], 1) == ({"paper:\n60°": 60, "paper:\n75°": 75}, {60, 75})
    assert [panel.get_xscale() for panel in panels] == ["linear"] * 3 + ["log"]
    assert {panel.get_yscale() for panel in panels} == {"linear"}


def test_measured_angles_stand_on_the_curves_of_their_regime(drawn, data):
    panel = drawn["fig5_layer_angles"].axes[3]
    curves = {line.get_label(): line.get_ydata() for line in lines(panel)}
    np.testing.assert_array_equal(curves["RC + RS"], data["fixed_point"]["simplex_angle"])
    np.testing.assert_array_equal(curves["RS by RMS"], data["fixed_point"]["rms_angle"])
    mean = data["layer_angles"]["mean_angle"].mean("seed")
    for container, kind in zip(panel.containers, ("full", "rms"), strict=True):
        np.testing.assert_array_equal(container.lines[0].get_ydata(), mean.sel(normalization=kind))


def test_figures_are_saved_small(drawn, tmp_path):
    with base_figures.style():
        for name, figure in drawn.items():
            base_figures.save(figure, tmp_path / name)
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 400_000  # forty such figures in a report of 20 MB
