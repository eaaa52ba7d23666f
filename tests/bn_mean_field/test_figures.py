"""What the figures draw is what the datasets hold, under the names the captions give."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.bn_mean_field.test_claims import rates
from tests.bn_mean_field.test_experiments import ANISOTROPY, CONCENTRATION, FEATURES, MAGNITUDES, SCAN, STREAM
from tests.drawn import read, synthetic_dataset

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.figures import BLUE, PURPLE, RED
from repdyn.bn_mean_field.experiments.anisotropy import anisotropy
from repdyn.bn_mean_field.experiments.concentration import concentration
from repdyn.bn_mean_field.experiments.feature_learning import feature_learning
from repdyn.bn_mean_field.experiments.magnitudes import magnitudes
from repdyn.bn_mean_field.experiments.target_scan import target_scan
from repdyn.bn_mean_field.figures.first_steps import fig3_first_step
from repdyn.bn_mean_field.figures.learning_speed import learning_over_steps, speeds_over_targets
from repdyn.bn_mean_field.figures.neuron_directions import fig1_anisotropy, fig2_magnitudes
from repdyn.bn_mean_field.figures.particle_limit import global_minimum
from repdyn.bn_mean_field.figures.switched_off import parts_switched_off
from repdyn.bn_mean_field.tables import speed_ratios

SHAPES = read("bn_mean_field")


def drawn(panel, label=None):
    """The lines of a panel as arrays (x, y), those of one label."""
    lines = [line for line in panel.get_lines() if label is None or line.get_label() == label]
    return [np.stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)]) for line in lines]


def recorded(name):
    """A dataset of the recorded shape with numbers of its own."""
    file = f"bn_mean_field/data/{name}.nc"
    return synthetic_dataset(SHAPES[file], file)


def edges(band):
    """The lower and the upper edge of a band, point by point."""
    x, y = band.get_paths()[0].vertices.T
    places = np.unique(x)
    return np.array([[y[x == at].min() for at in places], [y[x == at].max() for at in places]])


def titled(figure, words):
    """The panel whose title ends with these words."""
    (panel,) = (panel for panel in figure.axes if panel.get_title("left").endswith(words))
    return panel


def test_figure_1_shows_each_model_in_its_panel():
    data = anisotropy(ANISOTROPY)
    figure = fig1_anisotropy(data)
    largest = {}
    for model in ("BN", "vanilla"):
        cell = data.sel(model=model, target="y = x1")
        angle = np.degrees(cell["angle"].sel(iteration=10).values)
        order = np.argsort(np.radians(angle))
        panel = titled(figure, f"{model}, iteration 10")
        np.testing.assert_allclose(drawn(panel)[0], [angle[order], cell["speed"].values[order]])
        assert panel.get_yscale() == "linear"
        largest[model] = float(cell["speed"].max())
    (level,) = titled(figure, "BN, iteration 10").get_lines()[1:]
    np.testing.assert_allclose(level.get_ydata(), largest["vanilla"])
    assert f"1/{largest['BN'] / largest['vanilla']:.1f}" in level.get_label()


def test_figure_1_has_a_row_of_directions_for_each_model():
    data = anisotropy(ANISOTROPY)
    rows = [panel for panel in fig1_anisotropy(data).axes if panel.get_title().startswith("iteration")]
    assert [rows[0].get_ylabel(), rows[5].get_ylabel()] == ["BN", "vanilla"]
    last = data.sel(model="vanilla", target="y = x1").isel(iteration=-1)
    positive, negative = rows[-1].collections
    for points, sign, side in ((positive, 1, 1.0), (negative, -1, 1.12)):
        angle = last["angle"].values[np.sign(last["a"].values) == sign]
        np.testing.assert_allclose(points.get_offsets(), side * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert [to_hex(points.get_facecolor()[0]) for points in (positive, negative)] == [BLUE.lower(), RED.lower()]


def test_figure_2_draws_small_neurons_inside_large_ones():
    data = magnitudes(MAGNITUDES, STREAM)
    panel = fig2_magnitudes(data).axes[5]  # the last iteration: at the start both have the same directions
    large, small = panel.collections
    assert [to_hex(lines.get_color()[0]) for lines in (large, small)] == [PURPLE.lower(), BLUE.lower()]
    for lines, radius, inner, outer in ((large, 10.0, 0.78, 1.0), (small, 1.0, 0.0, 0.72)):
        angle = data["angle"].isel(start=0, iteration=-1).sel(radius=radius).values
        toward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        ends = np.array(lines.get_segments())
        np.testing.assert_allclose(ends[:, 0], inner * toward, atol=1e-15)
        np.testing.assert_allclose(ends[:, 1], outer * toward)


def test_figure_3_draws_the_law_and_its_range_of_neurons():
    data = recorded("first_step")
    panel = fig3_first_step(data).axes[0]
    start, step = data.isel(start=0, step=-1), float(data["step"][-1])
    for model, shade in zip(("BN", "vanilla"), panel.collections, strict=True):
        norm = start["norm"].sel(model=model, iteration=1).transpose("radius", "neuron").values
        np.testing.assert_allclose(drawn(panel, model)[0], [data["radius"], np.median(norm, axis=1)])
        np.testing.assert_allclose(edges(shade), np.quantile(norm, (0.05, 0.95), axis=1))
    ((r, length),) = drawn(panel, "law of BN")
    g = float(start["gradient"].median())
    np.testing.assert_allclose(length, np.sqrt(r**2 + (step * g / r) ** 2))
    (shaded,) = panel.patches
    assert shaded.get_x() + shaded.get_width() == pytest.approx(np.sqrt(step * g))
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


def test_figure_3_keeps_the_median_and_the_largest_turn_apart():
    data = recorded("first_step")
    figure = fig3_first_step(data)
    for words, quantile in (("median", 0.5), ("largest", 1.0)):
        panel = titled(figure, f"turns, {words} neuron")
        turns = data["turn_quantile"].isel(start=0, step=-1).sel(model="BN", quantile=quantile)
        for radius in (0.001, 0.01, 0.1, 1.0):
            np.testing.assert_allclose(drawn(panel, f"$r$ = {radius:g}")[0], [data["later"], turns.sel(radius=radius)])
        assert panel.get_yscale() == "log"
        assert panel.patches[0].get_x() == 2
    limits = [titled(figure, f"turns, {words} neuron").get_ylim() for words in ("median", "largest")]
    assert limits[0] == limits[1]


def test_losses_stand_in_the_row_of_their_start():
    data = recorded("minimization")
    panels = global_minimum(data).axes
    assert (panels[0].get_xscale(), panels[0].get_yscale(), panels[1].get_xscale()) == ("log", "log", "log")
    names = [tick.get_text() for tick in panels[1].get_yticklabels()]
    assert names == [str(name).replace("+-", "\N{PLUS-MINUS SIGN}") for name in data["start"].values]
    colors = {1: BLUE, 0: RED}
    for line in panels[1].get_lines():
        for loss, row in zip(line.get_xdata(), line.get_ydata(), strict=True):
            start = data.isel(start=int(row), frame=-1)
            assert loss == pytest.approx(float(start["relative_loss"]))
            assert line.get_color() == colors[int(start["separates"])]
    separating = [line for line in panels[0].get_lines() if line.get_color() == BLUE]
    assert len(separating) == int(data["separates"].sum())
    first = data.isel(start=int(np.flatnonzero(data["separates"])[0]))
    np.testing.assert_allclose(separating[0].get_ydata(), first["relative_loss"][1:])
    np.testing.assert_allclose(separating[0].get_xdata(), first["time"][1:])


def test_the_caption_of_losses_names_the_shortest_flow():
    data = recorded("minimization")
    time = np.linspace(0, 40, data.sizes["frame"]) * np.ones((data.sizes["start"], 1))
    time[3] /= 4
    caption = global_minimum(data.assign(time=(("start", "frame"), time))).repdyn["caption"]
    assert "At the end, time 10 or more" in caption


def test_figure_2_counts_small_and_large_neurons_apart():
    data = magnitudes(MAGNITUDES, STREAM)
    panel = fig2_magnitudes(data).axes[-1]
    for radius in (1.0, 10.0):
        (line,) = drawn(panel, f"length {radius:g}")
        mean = data["near"].sel(radius=radius).isel(start=slice(1, None)).mean("start")
        np.testing.assert_allclose(line, [data["iteration"], mean])


def test_learning_is_drawn_for_the_network_it_is_named_after():
    data = rates()
    panel = learning_over_steps(data).axes[0]
    for name in data["network"].values:
        (line,) = drawn(panel, name)
        np.testing.assert_allclose(line[1], data["needed"].sel(network=name).isel(start=slice(1, None)).median("start"))


def test_contrast_is_drawn_over_the_angle_of_the_target():
    data = target_scan(SCAN, STREAM)
    panel, *speeds = speeds_over_targets(data).axes
    for place, (label, name) in enumerate((("within 15 degrees", "outer_contrast"), ("nearer to either", "contrast"))):
        ratios = 10 ** data[name].transpose("angle", "seed").values
        np.testing.assert_allclose(drawn(panel, label)[0], [data["angle"], np.median(ratios, axis=1)])
        np.testing.assert_allclose(edges(panel.collections[place]), [ratios.min(axis=1), ratios.max(axis=1)])
    assert panel.get_yscale() == "log"
    for panel, target in zip(speeds, (0.0, 90.0), strict=True):
        cell = data.sel(angle=target)
        angle, speed = (cell[name].values.ravel() for name in ("axis_angle", "speed"))
        np.testing.assert_allclose(drawn(panel, "a neuron")[0], [angle, speed])
        assert panel.get_title("left").endswith(f"{target:g} degrees")
        assert speed.max() < panel.get_ylim()[1]
        means, bounds, _ = panel.patches[0].get_data()
        np.testing.assert_allclose(bounds, [0, 15, 30, 45, 60, 75, 90])
        np.testing.assert_allclose(means[1], speed[(angle >= 15) & (angle < 30)].mean())


def test_what_is_switched_off_is_drawn_under_its_name():
    learned, gathered = (
        feature_learning(FEATURES, STREAM, Checkpoint(None, "")),
        concentration(CONCENTRATION, STREAM, Checkpoint(None, "")),
    )
    panels = parts_switched_off(learned, gathered).axes
    for name in ("BN", "BN, equal speeds", "vanilla"):
        (points,) = drawn(panels[0], name)
        needed = learned["needed"].isel(task=0, threshold=0).sel(network=name).transpose("start", "step").values
        wanted = np.stack([learned["tried"].values, needed])[:, np.isfinite(needed)]
        np.testing.assert_allclose(points, wanted)
    (line,) = drawn(panels[1], "BN, equal speeds, target at 90 degrees")
    near = gathered["axis_angle"].sel(angle=90.0, network="BN, equal speeds") < 15
    np.testing.assert_allclose(line, [gathered["iteration"], near.mean(("start", "neuron"))])


def test_the_table_of_ratios_keeps_the_paired_start_apart_from_the_drawn_ones():
    """The first start has both signs at each direction, the others are draws, over which the range goes."""
    data = recorded("speed_ratio")
    data["ratio"][{"start": 0}] += 1000
    frame = speed_ratios(data).frame
    assert len(frame) == data.sizes["problem"] * data.sizes["step"]
    for row in frame.to_dict("records"):
        cell = data.sel(problem=row["problem"], step=row["step"], iteration=int(data["look"]))
        ratio, loss = cell["ratio"].values, cell["loss"].transpose("model", "start").values[:, 0]
        told = row["ratio"], row["ratio, lowest draw"], row["ratio, highest draw"]
        assert told == (ratio[0], ratio[1:].min(), ratio[1:].max())
        assert dict(zip(cell["model"].values.tolist(), loss, strict=True)) == {
            "BN": row["loss BN"],
            "vanilla": row["loss vanilla"],
        }
