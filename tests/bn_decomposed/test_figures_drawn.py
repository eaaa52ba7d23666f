"""What Figures 2, 3 and 6 draw is what their datasets hold: which quantiles, which neurons, on which axes."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base import figures as base_figures
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.images import load_images
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import odd_point as experiments
from repdyn.bn_decomposed.figures.gaussian_layers import fig3_odd_point, fig6_activity
from repdyn.bn_decomposed.figures.training import LOOKS, fig2_training
from repdyn.bn_decomposed.settings.study import Activity, OddPoint

STREAM = Stream(11, ("bn_decomposed", "drawn"))


@pytest.fixture(scope="module")
def odd_points():
    settings = OddPoint(batches=[5, 8, 12], input_dim=10, width=64, seeds=3, record=[1, 5, 30], limit_record=[1, 30])
    return experiments.odd_point(settings, load_images("digits"), STREAM, Checkpoint(None, ""))


@pytest.fixture(scope="module")
def activities():
    return experiments.activity(Activity(batch=32, width=64, depth=10, seeds=2), load_images("digits"), STREAM)


def draw(function, *data):
    with base_figures.style():
        return function(*data)


def segments(container):
    """Lower and upper ends of a container's error bars."""
    (bars,) = container.lines[2]
    return np.array([segment[:, 1] for segment in bars.get_segments()]).T


def levels(panel):
    """Height, color and dash of every horizontal line over the whole panel."""
    return {(line.get_ydata()[0], line.get_color()) for line in panel.get_lines() if list(line.get_xdata()) == [0, 1]}


def test_figure_3_shows_the_pairs_of_the_odd_point_in_orange_red(odd_points):
    panel = draw(fig3_odd_point, odd_points).axes[1]
    containers = {(c.lines[0].get_color(), c.lines[0].get_alpha()): c for c in panel.containers}
    batch, odd = odd_points["pair_batch"].values, odd_points["with_odd"].values
    for color, which in ((base_figures.RED, 1), (base_figures.BLUE, 0)):
        for alpha, name in ((0.35, "before"), (1.0, "after")):
            drawn = containers[color, alpha]
            pairs = [odd_points[name].values[(batch == n) & (odd == which)] for n in (5, 8, 12)]
            np.testing.assert_allclose(drawn.lines[0].get_ydata(), [np.median(angles) for angles in pairs])
            np.testing.assert_allclose(segments(drawn), np.transpose([np.percentile(a, (5, 95)) for a in pairs]))
    words = {text.get_text() for text in panel.get_legend().get_texts()}
    assert {c.get_label() for c in panel.containers if not c.get_label().startswith("_")} == words
    assert containers[base_figures.RED, 1.0].get_label() == "with the odd point"
    assert "5-95 % ranges" in draw(fig3_odd_point, odd_points).repdyn["caption"]


def test_figure_3_shows_what_the_paper_says_and_the_fixed_point(odd_points):
    panel = draw(fig3_odd_point, odd_points).axes[1]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["5", "8", "12"]
    assert {level for level, _ in levels(panel)} == {90, 0}
    assert [(text.get_text(), text.xy[1]) for text in panel.texts] == [("paper: 90°", 90), ("paper: one point, 0°", 0)]
    (line,) = (line for line in panel.get_lines() if line.get_color() == base_figures.BLACK)
    resting = odd_points["resting_intra_angle"].sel(batch=[8, 12])
    np.testing.assert_allclose(line.get_data(), [resting["batch"], resting])
    (shaded,) = panel.patches
    assert shaded.get_x() + shaded.get_width() == 6.5  # seven points are the fewest with an odd point


def test_figure_3_shows_medians_and_ranges_of_the_draws_over_depth(odd_points):
    for panel, name in zip(draw(fig3_odd_point, odd_points).axes[2:], ("second_to_first", "intra_angle"), strict=True):
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        shown = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
        for n, shade in zip((5, 8, 12), panel.collections, strict=True):
            draws = odd_points[name].sel(batch=n, source="images")
            np.testing.assert_allclose(shown[f"$n$ = {n}"], draws.median("seed"))
            ends = shade.get_paths()[0].get_extents()
            assert (ends.y0, ends.y1) == pytest.approx((float(draws.min()), float(draws.max())))


def test_figure_6_shows_shares_of_inputs_and_of_neurons(activities):
    figure = draw(fig6_activity, activities)
    for panel, name in zip(figure.axes, ("without", "with"), strict=False):
        response = activities["response"].sel(recentering=name).values
        wanted = np.histogram(response, 25, (0, 1))[0] / 32
        np.testing.assert_allclose([bar.get_height() for bar in panel.containers[0]], wanted)
        assert panel.get_title(loc="left").endswith(f"{name} recentering")
        assert f"below 0.1 for {np.mean(response <= 0.1):.0%}" in panel.texts[0].get_text()
        assert panel.get_yscale() == "linear"
        assert panel.get_ylim() == figure.axes[0].get_ylim()


def test_figure_6_counts_all_neurons_on_an_axis_of_shares(activities):
    panel = draw(fig6_activity, activities).axes[2]
    assert panel.get_yscale() == "log"
    assert panel.get_ylim() == (1e-3, 1)  # no share is above 1
    assert [text.get_text() for text in panel.get_yticklabels()] == ["0.001", "0.01", "0.1", "1"]
    stairs = [patch.get_data() for patch in panel.patches]
    for place, name in enumerate(("without", "with")):
        active = activities["active"].sel(recentering=name).values.ravel()
        np.testing.assert_allclose(stairs[2 * place].edges, np.linspace(0, 1, 51), atol=1e-12)
        np.testing.assert_allclose(stairs[2 * place].values, np.histogram(active, stairs[0].edges)[0] / active.size)
        np.testing.assert_allclose(stairs[2 * place + 1].values, activities["expected"].sel(recentering=name))
        assert panel.patches[2 * place + 1].get_label() == f"{name} recentering"


@pytest.fixture(scope="module")
def trainings():
    """Made-up networks: four draws at three depths, one of which diverged."""
    random = np.random.default_rng(3)
    made = {}
    for place, mode in enumerate(LOOKS):
        accuracy = 0.2 + 0.2 * place + 0.1 * random.random((3, 4, 3))
        if mode == "default":
            accuracy[2, 1] = np.nan
        rank = 10.0 ** (1 + place) * (1 + random.random((3, 4)))
        made[mode] = xr.Dataset(
            {"accuracy": (("depth", "seed", "epoch"), accuracy), "effective_rank": (("depth", "seed"), rank)},
            {"depth": [2, 4, 16], "epoch": [1, 5, 9], "width": 64, "point_count": 100, "batch": 10},
        )
    return made


def test_figure_2_shows_medians_and_whole_ranges_of_the_draws(trainings):
    figure = draw(fig2_training, trainings)
    for panel, name in zip(figure.axes, ("accuracy", "effective_rank"), strict=False):
        assert panel.get_xscale() == "log"
        assert [text.get_text() for text in panel.get_xticklabels()] == ["2", "4", "16"]
        for container, (mode, (color, _, dash, words, _)) in zip(panel.containers, LOOKS.items(), strict=True):
            draws = trainings[mode][name].isel(epoch=-1, missing_dims="ignore")
            line = container.lines[0]
            assert (line.get_color(), line.get_linestyle()) == (color, dash)
            np.testing.assert_allclose(line.get_ydata(), np.nanmedian(draws.values, axis=1))
            np.testing.assert_allclose(segments(container), [draws.min("seed"), draws.max("seed")])
            assert name != "accuracy" or container.get_label() == words
    assert [panel.get_yscale() for panel in figure.axes] == ["function", "log", "function"]
    assert "bars: range of 4 draws" in figure.repdyn["caption"]
    assert "9 epochs" in figure.repdyn["caption"]


def test_figure_2_shows_accuracy_over_rank_of_the_same_networks(trainings):
    panel = draw(fig2_training, trainings).axes[2]
    assert panel.get_xscale() == "linear"
    for cloud, (mode, (color, *_)) in zip(panel.collections, LOOKS.items(), strict=True):
        rank, final = trainings[mode]["effective_rank"], trainings[mode]["accuracy"].sel(epoch=9)
        wanted = np.stack([rank.values.ravel(), final.values.ravel()], axis=1)
        drawn = cloud.get_offsets()
        np.testing.assert_array_equal(drawn.mask.any(axis=1), np.isnan(wanted).any(axis=1))
        np.testing.assert_allclose(drawn.data[~drawn.mask.any(axis=1)], wanted[np.isfinite(wanted).all(axis=1)])
        line, ring = (line for line in panel.get_lines() if line.get_color() == color)
        medians = [rank.median("seed"), final.median("seed")]
        np.testing.assert_allclose(line.get_data(), medians)
        np.testing.assert_allclose(ring.get_data(), [[median.sel(depth=16)] for median in medians])
        assert ring.get_markersize() > 1.5 * line.get_markersize()
        assert ring.get_markerfacecolor() == "none"


def test_figure_2_spreads_accuracies_next_to_one(trainings):
    """Of 100 images one wrong has another height than none and than two; chance lies above the lower end."""
    figure = draw(fig2_training, trainings)
    for panel in (figure.axes[0], figure.axes[2]):
        heights = panel.transAxes.inverted().transform(
            panel.transData.transform([(1, y) for y in (0.1, 0.98, 0.99, 1)])
        )[:, 1]
        assert 0 < heights[0] < 0.1
        assert (np.diff(heights) > 0.06).all()
        assert heights[-1] < 1
        assert [tick.get_text() for tick in panel.get_yticklabels()] == ["0.1", "0.5", "0.9", "0.99", "1"]
