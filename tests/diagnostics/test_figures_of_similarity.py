"""Similarity of layers is dark where layers differ; beside it the band of chance. Axes, ticks and shades they share."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from repdyn.base.figures import BLUE, ORANGE, SKY, new
from repdyn.diagnostics.figures import shared
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.similarity import draw_similarity

LAYERS, OTHERS = ["a", "b", "c"], ["a", "c"]


def compared(name, *, runs):
    values = np.array([[0.9, 0.2], [0.3, 0.4], [0.1, 0.8]])
    data = {name: (("layer", "other_layer"), values, {"long_name": f"words of {name}"})}
    if runs:
        data[f"{name}_of_runs"] = (("runs", "layer"), np.array([[0.5, 0.9, 0.1], [0.3, 0.4, 0.5], [0.4, 0.2, 0.9]]))
    return xr.Dataset(data, {"layer": LAYERS, "other_layer": OTHERS}, {"title": "Two networks"})


@pytest.mark.parametrize(
    ("name", "most"), [("cka", 1), ("cka_debiased", 1), ("cka_minibatch", 1), ("procrustes", 0), ("angular", 0)]
)
def test_alike_layers_are_bright_whether_they_have_the_largest_or_the_least_number(name, most):
    figure = draw_similarity(compared(name, runs=False), name)
    panel, bar = figure.axes
    (image,) = panel.images
    light = [sum(image.cmap(float(share))[:3]) for share in (1 - most, most)]
    assert light[1] > 2 * light[0]
    assert bar.get_ylabel() == f"words of {name}"
    assert panel.get_title() == "every layer with every other"
    assert figure.repdyn["title"] == f"Similarity of layers: words of {name}"
    assert figure.repdyn["caption"] == f"Two networks: words of {name} of every two layers on the same points."


def test_the_band_of_chance_goes_from_the_least_to_the_largest_pair_of_runs():
    data = compared("cka", runs=True)
    figure = draw_similarity(data, "cka")
    heat, chance, _ = figure.axes
    assert [panel.get_title("left")[:3] for panel in (heat, chance)] == ["(a)", "(b)"]
    x, y = chance.collections[0].get_paths()[0].vertices.T
    np.testing.assert_allclose([y[x == place].min() for place in range(3)], [0.3, 0.2, 0.1])
    np.testing.assert_allclose([y[x == place].max() for place in range(3)], [0.5, 0.9, 0.9])
    assert to_hex(chance.collections[0].get_facecolor()[0]) == SKY.lower()
    lines = {line.get_label(): line for line in chance.get_lines()}
    np.testing.assert_allclose(lines["their mean"].get_ydata(), [0.4, 0.5, 0.5])
    assert lines["the two networks"].get_xdata().tolist() == [0, 2]
    np.testing.assert_allclose(lines["the two networks"].get_ydata(), [0.9, 0.8])
    assert (lines["their mean"].get_color(), lines["the two networks"].get_color()) == (ORANGE, BLUE)
    assert [tick.get_text() for tick in chance.get_xticklabels()] == LAYERS
    assert chance.get_ylabel() == "words of cka"
    words = [text.get_text() for text in chance.get_legend().get_texts()]
    assert words == ["two runs of one network", "their mean", "the two networks"]


@pytest.mark.parametrize(("ranks", "band"), [((3, 4), (3, 4)), ((3, 3), (3, 3.5)), ((2.8, 3), (2.8, 3.3))])
def test_the_band_of_the_tasks_rank_is_half_a_dimension_high_at_least(ranks, band):
    panel = new()[1][0, 0]
    shared.shade_task_rank(panel, xr.Dataset({"centered_task_rank": ranks[0], "task_rank": ranks[1]}))
    (shade,) = panel.patches
    assert (shade.get_y(), shade.get_y() + shade.get_height()) == pytest.approx(band)
    assert to_hex(shade.get_facecolor()) == SKY.lower()


@pytest.mark.parametrize(
    ("times", "scale"),
    [([0, 10, 299], "linear"), ([0, 10, 300], "linear"), ([0, 10, 301], "symlog"), ([0, 1000], "linear")],
)
def test_the_axis_of_training_has_decades_from_the_first_moment_and_room_for_the_start(times, scale):
    panel = new()[1][0, 0]
    shared.time_axis(panel, xr.DataArray(np.array(times, float), dims="step"), "step")
    assert (panel.get_xscale(), panel.get_xlabel()) == (scale, "step")
    first = min(time for time in times if time)
    assert panel.get_xlim() == pytest.approx((-0.05 * first, 1.02 * times[-1]))
    if scale == "symlog":
        assert panel.get_xticks().tolist() == [0, 10, 100]


def test_the_axis_of_training_holds_moments_before_0():
    panel = new()[1][0, 0]
    shared.time_axis(panel, xr.DataArray(np.array([-2.0, 4.0, 8.0]), dims="epoch"), "epoch")
    assert panel.get_xlim() == pytest.approx((-2 - 0.2, 8.16))


def of_pairs(explained):
    """A fit of as many pairs as rows of R^2 of h, y, w, each with curves of its own."""
    pairs = [f"0-{k + 1}" for k in range(len(explained))]
    steps, moments = np.array([0.0, 1.0, 2.0]), np.linspace(0, 2, 5)
    data = {"explained": (("pair", "curve"), np.array(explained, float))}
    for place, curve in enumerate("hyw"):
        data[f"{curve}_measured"] = (("pair", "step"), 10 * place + np.arange(len(pairs) * 3.0).reshape(-1, 3))
        data[f"{curve}_theory"] = (("pair", "moment"), 5 * place + np.arange(len(pairs) * 5.0).reshape(-1, 5))
    coords = {"pair": pairs, "curve": ["h", "y", "w"], "step": steps, "moment": moments}
    return xr.Dataset(data, coords, {"layer": "b"}), xr.Dataset(attrs={"time": "step", "title": "Made up"})


def test_pairs_without_a_fit_come_last_and_medians_leave_them_out():
    fit, recorded = of_pairs([[0.1, 0.2, 0.3], [np.nan] * 3, [0.9, 0.8, 0.7], [0.5, 0.5, -0.5]])
    figure = draw_pairs(recorded, fit, most=4)
    rows = [panel.get_ylabel() for panel in figure.axes if panel.get_ylabel()]
    assert rows == ["points 0-3", "points 0-1", "points 0-4", "points 0-2"]
    assert figure.repdyn["title"].endswith("median $R^2$ 0.50 (h), 0.50 (y), 0.30 (w)")
    all_pairs = figure.axes[-1]
    assert [tick.get_text() for tick in all_pairs.get_xticklabels()] == ["h", "y", "w"]
    levels = {
        line.get_ydata()[0]: line.get_linestyle() for line in all_pairs.get_lines() if line.get_linewidth() == 0.7
    }
    assert levels == {0: ":", 1: "-"}
    for place, curve in enumerate("hyw"):
        dots, bar = all_pairs.get_lines()[2 * place : 2 * place + 2]
        np.testing.assert_allclose(dots.get_ydata(), fit["explained"].sel(curve=curve))
        assert np.abs(dots.get_xdata() - place).max() < 0.5
        np.testing.assert_allclose(bar.get_xdata(), [place - 0.35, place + 0.35])
    assert "in layer b," in figure.repdyn["caption"]
    first = figure.axes[0]
    np.testing.assert_allclose(first.get_lines()[0].get_ydata(), fit["h_measured"].sel(pair="0-3"))
    np.testing.assert_allclose(first.get_lines()[1].get_ydata(), fit["h_theory"].sel(pair="0-3"))
    assert first.get_lines()[1].get_linestyle() == "--"
