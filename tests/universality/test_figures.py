"""Figures of two points draw what their datasets hold; Figure 1 finds its moments in made-up curves."""

import warnings

import numpy as np
import pytest
import xarray as xr
from tests.drawn import given, makers, read, synthetic_dataset

from repdyn.base.figures import BLUE, RED, style
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.universality.figures.default_network import fig5_final_distances
from repdyn.universality.figures.dynamics import WORDS, fig1_two_points, fig3_initial_weights, fig12_training_loss
from repdyn.universality.tables.data_sets import _digit_row
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

PREDICTIONS = "universality/data/final_predictions.nc"


@pytest.mark.parametrize(("before", "frame"), [(0.49, 3), (0.51, 2)])
def test_half_way_up_in_figure_1_the_outputs_are_half_as_far_apart_as_at_the_end(before, frame):
    """The curves hold squared distances: half of the way is a quarter of the last one."""
    dy = np.array([0.0, 0.1, before, 0.52, 0.9, 1.0]) * np.sqrt(0.5)
    epochs = 10 * np.arange(6)
    curves = np.stack([0.1 + dy**2, dy**2, -0.1 * dy])
    data = xr.Dataset(
        {
            "shown_curves": (("source", "curve", "epoch"), np.stack([curves, 0 * curves])),
            "shown": 0,
            "units": 100,
            "halfway": 10,
        },
        {"source": ["network", "theory"], "curve": ["h", "y", "w"], "epoch": epochs},
    )
    panels = fig1_two_points(data).axes
    assert [panel.get_title() for panel in panels[:3]] == [
        "start, epoch 0",
        f"half way up, epoch {epochs[frame]}",
        "end, epoch 50",
    ]
    outputs = panels[1].get_lines()[2].get_xdata()
    np.testing.assert_allclose(np.diff(outputs), dy[frame])


def made_up(*names):
    files = [f"universality/data/{name}.nc" for name in names]
    return [synthetic_dataset(read("universality")[file], file) for file in files]


@pytest.fixture(scope="module")
def runs():
    """Datasets of the recorded shapes; the second trial of every network is the shown one."""
    architectures, fits = made_up("architectures", "architecture_fits")
    return architectures, fits.assign(shown=fits["shown"] * 0 + 1)


def lines_of(panel, label):
    return [line for line in panel.get_lines() if line.get_label() == label]


def check_losses(panel, run, fits):
    """Network and (9) on a logarithmic axis, and the plateau's level: outputs together, at the mean target."""
    assert panel.get_yscale() == "log"
    (network,), (theory,), (level,) = (lines_of(panel, words) for words in NAMES_OF_LOSSES)
    np.testing.assert_allclose(network.get_xydata(), np.stack([run["epoch"], run["loss"]], 1))
    wanted = fits["theory_loss"].values
    np.testing.assert_allclose(theory.get_ydata()[wanted > 0], wanted[wanted > 0])
    assert np.isnan(theory.get_ydata()[wanted <= 0]).all()
    np.testing.assert_allclose(level.get_ydata(), float(run["dy2"]) / 8)


NAMES_OF_LOSSES = ("network", "theory, eq. (9)", "plateau, $dy^2/8$")


def test_figure_3_has_each_gain_in_its_column_and_losses_on_a_logarithmic_axis(runs):
    architectures, fits = runs
    axes = fig3_initial_weights(architectures, fits).axes
    names = [name for name in FIGURE_3 if name in fits["network"].values]
    for column, name in enumerate(names):
        run, own = architectures.sel(network=name).isel(seed=1), fits.sel(network=name)
        top, bottom = axes[column], axes[len(names) + column]
        assert top.get_title().startswith(f"gain {float(run['gain']):g}\n")
        check_losses(bottom, run, own)
        np.testing.assert_allclose(lines_of(top, "$w$, network")[0].get_ydata(), run["w"])
        for panel in (top, bottom):
            half = [line for line in panel.get_lines() if line.get_linestyle() == ":"]
            np.testing.assert_allclose(half[0].get_xdata(), float(own["half"].isel(seed=1)))


def test_figure_12_sorts_networks_by_the_fall_that_is_explained(runs):
    architectures, fits = runs
    figure = fig12_training_loss(architectures, fits)
    median = {name: float((1 - fits["pair_r2"].sel(network=name)).median()) for name in FIGURE_2}
    names = sorted(FIGURE_2, key=median.get)
    for panel, name in zip(figure.axes[: len(names)], names, strict=True):
        assert panel.get_title() == WORDS.get(name, name)
        check_losses(panel, architectures.sel(network=name).isel(seed=1), fits.sel(network=name))
    summary = figure.axes[-1]
    assert summary.get_xscale() == "log"
    assert [label.get_text() for label in summary.get_yticklabels()] == [WORDS.get(name, name) for name in names]
    dots = [line for line in summary.get_lines() if line.get_marker() == "o"]
    bars = [line for line in summary.get_lines() if line.get_marker() == "|"]
    for place, name in enumerate(names):
        for kind, (variable, color) in enumerate((("loss_r2", BLUE), ("pair_r2", RED))):
            line, share = dots[2 * place + kind], 1 - fits[variable].sel(network=name).values
            np.testing.assert_allclose(line.get_xdata(), share)
            assert line.get_color() == color
            np.testing.assert_allclose(bars[2 * place + kind].get_xdata(), np.median(share))
    words = [text.get_text() for text in summary.get_legend().get_texts()]
    assert words == ["whole loss", "fall from the plateau"]


def test_figure_12_says_where_no_trial_converged(runs):
    architectures, fits = runs
    gaps = fits.assign(shown=fits["shown"].where(fits["network"] != "tanh", -1))
    gaps["pair_r2"] = fits["pair_r2"].where(fits["network"] != "tanh")
    panel = fig12_training_loss(architectures, gaps).axes[len(FIGURE_2) - 1]
    assert panel.get_title() == "tanh", "networks without a fit come last"
    assert [text.get_text() for text in panel.texts] == ["none converged"]


def test_titles_and_captions_of_blobs_and_digits_follow_the_data():
    """With the outcome reversed they say the reverse."""
    shapes = read("universality")
    for name, dataset, variable in (
        ("fig8_blob_structure", "blob_structure", "typical_collapse"),
        ("fig17_blob_structure_adam", "blob_structure", "typical_between"),
        ("fig9_structure", "representational_structure", "correlation_of_mean"),
        ("fig18_structure_adam", "representational_structure", "correlation_of_mean"),
    ):
        made = makers("universality", "figures")[name]
        data = given("universality", made, shapes)[dataset]
        reversed_data = data.assign({variable: -data[variable]})
        draw = load_function("universality", made.path)
        with style(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            texts = [draw(one).repdyn for one in (data, reversed_data)]
        assert texts[0]["caption"] != texts[1]["caption"]
        if variable != "typical_between":
            assert texts[0]["title"] != texts[1]["title"]


def test_the_caption_of_figure_8_gives_every_run_its_own_numbers():
    made = makers("universality", "figures")["fig8_blob_structure"]
    data = given("universality", made, read("universality"))["blob_structure"].copy(deep=True)
    for run, collapse, between in (("high", 0.91, 31.0), ("low", 0.012, 7.0), ("very_low", 0.0034, 0.21)):
        data["typical_collapse"].loc[{"run": run}] = collapse
        data["typical_between"].loc[{"run": run}] = between
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        caption = load_function("universality", made.path)(data).repdyn["caption"]
    assert "large 0.91, 31; small 0.012, 7; very small 0.0034, 0.21." in caption


def test_figure_5_colors_every_point_by_its_output_distance_and_leaves_bad_fits_out():
    data = synthetic_dataset(read("universality")[PREDICTIONS], PREDICTIONS)
    good = np.arange(data["good"].size).reshape(data["good"].shape) % 5 > 0
    data["good"][:] = good
    figure = fig5_final_distances(data)
    for panel, name in zip(figure.axes, data["network"].values, strict=False):
        row = data.sel(network=name)
        keep = row["good"].values.astype(bool)
        (points,) = panel.collections
        dy = (row["dy"] + 0 * row["theory"]).transpose(*row["theory"].dims)
        np.testing.assert_allclose(points.get_array(), dy.values[keep])
        np.testing.assert_allclose(
            points.get_offsets(), np.stack([row["theory"].values[keep], row["measured"].values[keep]], axis=1)
        )


def test_table_2_counts_networks_above_95_percent_at_the_end_of_training():
    """A network that was above and fell again has not learned."""
    accuracy = [[0.5, 0.99, 0.97], [0.5, 0.99, 0.94], [0.1, 0.2, 0.96], [0.1, 0.2, 0.3]]
    loss = [[9.0, 1.0, 0.1], [9.0, 1.0, 0.2], [9.0, 1.0, 0.4], [9.0, 1.0, 0.8]]
    settings = {"nonlinearity": "relu", "gain": 1.0, "rate": 0.1, "hidden": 4, "units": 200, "optimizer": "sgd"}
    data = xr.Dataset(
        {"accuracy": (("trial", "look"), accuracy), "loss": (("trial", "look"), loss)}, {"epoch": ("look", [0, 5, 9])}
    ).assign_coords(settings)
    row = _digit_row(data, "digits")
    assert (row["learned"], row["median loss"], row["epochs"]) == ("2 of 4", pytest.approx(0.3), 9)
