"""What the figures draw is what the datasets hold, under the names the captions give."""

import numpy as np
from tests.bn_mean_field.test_claims import rates
from tests.bn_mean_field.test_experiments import ANISOTROPY, CONCENTRATION, FEATURES, MAGNITUDES, SCAN, STREAM

from repdyn.base.checkpoints import Checkpoint
from repdyn.bn_mean_field.experiments.anisotropy import anisotropy
from repdyn.bn_mean_field.experiments.concentration import concentration
from repdyn.bn_mean_field.experiments.feature_learning import feature_learning
from repdyn.bn_mean_field.experiments.magnitudes import magnitudes
from repdyn.bn_mean_field.experiments.target_scan import target_scan
from repdyn.bn_mean_field.figures.learning_speed import learning_over_steps, speeds_over_targets
from repdyn.bn_mean_field.figures.neuron_directions import fig1_anisotropy, fig2_magnitudes
from repdyn.bn_mean_field.figures.switched_off import parts_switched_off


def drawn(panel, label=None):
    """The lines of a panel as arrays (x, y), those of one label."""
    lines = [line for line in panel.get_lines() if label is None or line.get_label() == label]
    return [np.stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)]) for line in lines]


def test_figure_1_shows_each_model_in_its_row():
    data = anisotropy(ANISOTROPY)
    figure = fig1_anisotropy(data)
    for row, model in enumerate(("BN", "vanilla")):
        cell = data.sel(model=model, target="y = x1")
        angle = np.degrees(cell["angle"].sel(iteration=10).values)
        order = np.argsort(np.radians(angle))
        (points,) = drawn(figure.axes[6 * row])
        np.testing.assert_allclose(points, [angle[order], cell["speed"].values[order]])
        assert model in figure.axes[6 * row].get_ylabel()


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
    panels = speeds_over_targets(data).axes
    (line,) = drawn(panels[0], "nearer to either axis")
    np.testing.assert_allclose(line, [data["angle"], (10 ** data["contrast"]).median("seed")])
    (points,) = drawn(panels[1], "target at 90 degrees")
    np.testing.assert_allclose(points[1], data["speed"].sel(angle=90.0).values.ravel())


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
