"""What the figures of a measured network draw is what the datasets hold, under the names the captions give."""

import numpy as np
import pytest
import xarray as xr
from tests.drawn import read, synthetic_dataset

from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.training import draw_training

SHAPES = read("diagnostics")


def dataset(name):
    file = f"diagnostics/data/{name}.nc"
    return synthetic_dataset(SHAPES[file], file)


def line(panel, label):
    """The values of the only line of a label."""
    (only,) = (drawn for drawn in panel.get_lines() if drawn.get_label() == label)
    return np.asarray(only.get_ydata(), float)


def with_changes(data, factors):
    """Measures that grow from 1 by a factor of their layer's own, in equal ratios from moment to moment."""
    steps = np.linspace(0, 1, data.sizes["step"])
    grown = xr.DataArray(np.array(factors)[:, None] ** steps, dims=("layer", "step"))
    names = ("effective_rank", "stable_cost_of_identity", "nc1")
    return data.assign({name: grown.broadcast_like(data[name]).transpose(*data[name].dims) for name in names})


def test_the_layers_that_change_most_are_in_color_and_in_the_title():
    data = dataset("convolutional_network")
    layers = data["layer"].values.tolist()
    factors = np.full(len(layers), 1.1)
    factors[[1, 4, 7]] = 5.0, 1 / 30, 3.0  # a fall counts as much as a rise
    changed = with_changes(data, factors)
    figure = draw_training(changed)
    assert figure.repdyn["title"] == f"Training changes {layers[4]}, {layers[1]} and {layers[7]} most"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [layers[4], layers[1], layers[7], f"{len(layers) - 3} others", "rank of the targets"]
    for panel in figure.axes[:3]:
        assert panel.get_yscale() == "log"
        np.testing.assert_allclose(line(panel, layers[4])[-1], 1 / 30)
        colors = {drawn.get_color() for drawn in panel.get_lines() if drawn.get_label() in names[:3]}
        assert len(colors) == 3


def test_every_measure_is_drawn_in_its_panel_as_the_mean_over_seeds():
    data = dataset("convolutional_network")
    figure = draw_training(data)
    (most, *_) = (text.get_text() for text in figure.legends[0].get_texts())
    for panel, name in zip(figure.axes, ("effective_rank", "stable_cost_of_identity", "nc1"), strict=False):
        np.testing.assert_allclose(line(panel, most), data[name].sel(layer=most).mean("seed"))
        assert len(panel.get_lines()) == data.sizes["layer"]
    np.testing.assert_allclose(line(figure.axes[3], "loss"), data["loss"].mean("seed"))


def test_pairs_go_from_the_best_to_the_worst_explained():
    fitted = dataset("two_points")
    names = fitted["pair"].values
    order = np.argsort(-fitted["explained"].isel(seed=0).mean("curve").values)
    rows = [panel.get_ylabel() for panel in draw_pairs(dataset("convolutional_network"), fitted).axes[:9:3]]
    assert rows[0] == f"points {names[order[0]]}"
    assert rows[-1] == f"points {names[order[-1]]}"
    assert len(set(rows)) == 3


def test_pairs_show_points_curves_and_all_that_is_explained():
    fitted = dataset("two_points")
    figure = draw_pairs(dataset("convolutional_network"), fitted)
    best = figure.axes[0].get_ylabel().removeprefix("points ")
    cell = fitted.isel(seed=0).sel(pair=best)
    for panel, curve in zip(figure.axes, ("h", "y", "w"), strict=False):
        np.testing.assert_allclose(line(panel, "network"), cell[f"{curve}_measured"])
        np.testing.assert_allclose(line(panel, "effective theory"), cell[f"{curve}_theory"])
        assert f"{float(cell['explained'].sel(curve=curve)):.2f}" in panel.get_title("left")
        points = next(drawn for drawn in panel.get_lines() if drawn.get_label() == "network")
        assert not points.get_clip_on()  # the last one lies at the edge
    lines = figure.axes[-1].get_lines()
    for place, curve in enumerate(("h", "y", "w")):
        explained = fitted["explained"].sel(curve=curve).values.ravel()
        np.testing.assert_allclose(lines[2 * place].get_ydata(), explained)
        assert np.abs(lines[2 * place].get_xdata() - place).max() < 0.5
        assert lines[2 * place + 1].get_ydata()[0] == pytest.approx(np.median(explained))
        assert f"{np.median(explained):.2f} ({curve})" in figure.repdyn["title"]
    assert [tick.get_text() for tick in figure.axes[-1].get_xticklabels()] == ["h", "y", "w"]
    assert figure.axes[-1].get_yscale() == "linear"


def test_loss_and_accuracy_are_means_over_seeds_between_their_extremes():
    data = dataset("convolutional_network")
    panel = draw_training(data).axes[3]
    for place, (name, dash) in enumerate((("loss", "-"), ("accuracy", "--"))):
        values = data[name].transpose("step", "seed").values
        (own,) = (drawn for drawn in panel.get_lines() if drawn.get_label() == name)
        np.testing.assert_allclose(own.get_ydata(), values.mean(axis=1))
        np.testing.assert_array_equal(own.get_xdata(), data["step"])
        assert own.get_linestyle() == dash
        x, y = panel.collections[place].get_paths()[0].vertices.T
        for step, row in zip(data["step"].values, values, strict=True):
            assert (y[x == step].min(), y[x == step].max()) == pytest.approx((row.min(), row.max()))
    assert panel.get_title("left").endswith("loss and accuracy")
    assert panel.get_yscale() == "log"


def test_layers_change_by_their_measures_at_the_ends_and_by_means_over_seeds():
    """What happens in between and in one seed alone does not count; a measure that is zero counts as unchanged."""
    steps = np.array([0, 1, 2])
    ends = {"a": (1, 50, 2), "b": (4, 4, 1), "c": (1, 1, 1.5), "d": (0, 3, 9), "e": (3, 9, 3.3)}
    seeds = np.array([0.5, 1.5])  # factors around a mean of one
    values = np.array(list(ends.values()), float)[:, :, None] * seeds
    names = ("effective_rank", "stable_cost_of_identity")
    data = xr.Dataset(
        dict.fromkeys(names, (("layer", "step", "seed"), values)),
        {"layer": list(ends), "step": steps, "seed": [0, 1]},
    ).assign_attrs(time="step", title="Made up")
    assert draw_training(data).repdyn["title"] == "Training changes b, a and c most"
    data["effective_rank"][0, -1, 0] = 100  # of one seed: 51.5 in the mean, 29 times as much as the other measure
    figure = draw_training(data)
    assert figure.repdyn["title"] == "Training changes a, b and c most"
    lines = figure.axes[0].get_lines()
    assert [drawn.get_label() for drawn in lines][:4] == ["a", "b", "c", "2 others"]
    assert {drawn.get_color() for drawn in lines[3:]} == {"0.7"}
