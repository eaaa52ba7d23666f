"""Figure N4: correlations of each prediction, their intervals, length scales and training; the matrices' numbers."""

import numpy as np
import pytest
from scipy import stats
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLACK, BLUE, ORANGE, PURPLE, RED, SKY
from repdyn.universality.figures.digits import fig9_structure, fig18_structure_adam, n4_correlations

FILE = "universality/data/representational_structure.nc"
LOOKS = {"weighed (50)": BLUE, "class mean": SKY, "pair alone": ORANGE, "labels alone": RED}
PAPER = {"all entries": 0.703, "between classes": 0.512}


@pytest.fixture(scope="module")
def drawn():
    data = synthetic_dataset(read("universality")[FILE], FILE).isel(resample=slice(400)).copy(deep=True)
    data["correlation"].loc[{"prediction": "labels alone", "part": "between classes"}] = np.nan
    return data, n4_correlations(data)


@pytest.mark.parametrize("number", [0, 1])
def test_every_prediction_has_its_row_with_networks_mean_and_interval(number, drawn):
    data, figure = drawn
    part, panel = list(PAPER)[number], figure.axes[number]
    assert panel.get_title("left") == f"({'ab'[number]}) {part}"
    names = [tick.get_text() for tick in panel.get_yticklabels()]
    assert names == list(LOOKS)[::-1]
    for place, name in enumerate(names):
        if (name, part) == ("labels alone", "between classes"):
            assert ("constant", place) in {(text.get_text(), text.xy[1]) for text in panel.texts}
            continue
        cell = data.sel(run="sgd", prediction=name, part=part)
        interval, mean, networks = [line for line in panel.get_lines() if line.get_color() == LOOKS[name]]
        np.testing.assert_allclose(interval.get_xdata(), np.percentile(cell["resampled"], (2.5, 97.5)))
        np.testing.assert_allclose(interval.get_ydata(), place)
        np.testing.assert_allclose(np.ravel(mean.get_data()), [float(cell["correlation_of_mean"]), place])
        np.testing.assert_allclose(networks.get_xdata(), cell["correlation"])
        assert (np.abs(networks.get_ydata() - place) < 0.5).all()
    (level,) = [line for line in panel.get_lines() if line.get_color() == BLACK]
    np.testing.assert_allclose(level.get_xdata(), PAPER[part])
    assert f"paper {PAPER[part]}" in {text.get_text() for text in panel.texts}


def test_correlations_over_length_scales_stand_beside_those_of_the_pair_alone(drawn):
    data, figure = drawn
    panel = figure.axes[2]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    for place, (part, color, dash) in enumerate((("all entries", BLUE, "-"), ("between classes", PURPLE, "--"))):
        curve, level = panel.get_lines()[2 * place : 2 * place + 2]
        np.testing.assert_allclose(curve.get_xdata(), data["scale"])
        np.testing.assert_allclose(curve.get_ydata(), data["correlation_by_scale"].sel(run="sgd", part=part))
        alone = float(data["correlation_of_mean"].sel(run="sgd", part=part, prediction="pair alone"))
        np.testing.assert_allclose(level.get_ydata(), alone)
        assert {curve.get_color(), level.get_color()} == {color}
        assert (curve.get_linestyle(), curve.get_label()) == (dash, part)


def test_correlations_during_training_are_means_with_the_interval_over_networks(drawn):
    data, figure = drawn
    panel, cells = figure.axes[3], [(name, part) for name in ("weighed (50)", "pair alone") for part in PAPER]
    for place, (name, part) in enumerate(cells):
        (line,) = [line for line in panel.get_lines() if line.get_label() == f"{name}, {part}"]
        draws = data["correlation_by_look"].sel(prediction=name, part=part).transpose("look", "trial").values
        np.testing.assert_allclose(line.get_xdata(), data["look"])
        np.testing.assert_allclose(line.get_ydata(), draws.mean(axis=1))
        assert (line.get_color(), line.is_dashed()) == (LOOKS[name], part == "between classes")
        x, y = panel.collections[place].get_paths()[0].vertices.T
        n = draws.shape[1]
        wanted = stats.t.interval(0.95, n - 1, draws.mean(axis=1), stats.sem(draws, axis=1))
        shown = [[edge(y[x == at]) for at in np.unique(x)] for edge in (np.min, np.max)]
        np.testing.assert_allclose(shown, wanted)
    assert f"Small dots: {data.sizes['trial']} networks" in figure.repdyn["caption"]


@pytest.mark.parametrize(("figure", "run"), [(fig9_structure, "sgd"), (fig18_structure_adam, "adam")])
def test_the_matrix_tells_the_correlations_of_its_run_with_the_interval_between_classes(figure, run, drawn):
    about = figure(drawn[0]).repdyn
    cell = drawn[0].sel(run=run, prediction="weighed (50)")
    total, between = (float(cell["correlation_of_mean"].sel(part=part)) for part in PAPER)
    low, high = np.percentile(cell["resampled"].sel(part="between classes"), (2.5, 97.5))
    order = "worse" if between < total else "no worse"
    assert about["title"].endswith(f"fits distances {order} between digits than over all pairs")
    assert f"over all entries {total:.3f}, between classes {between:.3f}" in about["caption"]
    assert f"{low:.2f} to {high:.2f})" in about["caption"]
    assert f"mean over {drawn[0].sizes['trial']} networks" in about["caption"]


def test_means_of_pairs_of_digits_have_their_colors_and_the_line_of_equality(drawn):
    panel = fig9_structure(drawn[0]).axes[1]
    equality = panel.get_lines()[0]
    np.testing.assert_allclose(*equality.get_data())
    shown = {line.get_label(): line for line in panel.get_lines()}
    assert (shown["two digits"].get_color(), shown["two digits"].get_marker()) == (BLUE, "o")
    assert (shown["one digit"].get_color(), shown["one digit"].get_marker()) == (ORANGE, "s")
    (span,) = panel.patches
    x = shown["two digits"].get_xdata()
    assert (span.get_x(), span.get_x() + span.get_width()) == pytest.approx((x.min(), x.max()))
    assert panel.get_xlim() == panel.get_ylim()
    assert panel.get_xlabel() == "weighed (50)"
