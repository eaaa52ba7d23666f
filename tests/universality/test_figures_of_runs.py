"""Figures of runs draw the shown trial, the pair, the weighting and the context that their titles give."""

import numpy as np
import pytest
from tests.universality.test_figures import lines_of, made_up

from repdyn.base.figures import BLACK, BLUE, GREEN, RED
from repdyn.universality.figures.blobs import fig7_blobs
from repdyn.universality.figures.digits import CURVES, KINDS, fig4_digit_pairs
from repdyn.universality.figures.dynamics import (
    COLORS,
    NAMES,
    WORDS,
    fig2_architectures,
    fig3_initial_weights,
    fig12_training_loss,
    fig15_adam,
)
from repdyn.universality.theory.published import FIGURE_2


def check(line, x, y, color):
    np.testing.assert_allclose(line.get_xdata(), np.asarray(x, float))
    np.testing.assert_allclose(line.get_ydata(), np.asarray(y, float))
    assert line.get_color() == color


def check_curves(panel, run, theory):
    for curve, color in COLORS.items():
        check(*lines_of(panel, f"{NAMES[curve]}, network"), run["epoch"], run[curve], color)
        check(*lines_of(panel, f"{NAMES[curve]}, theory"), run["epoch"], theory.sel(curve=curve), BLACK)


def explained(fits):
    """R^2 of h, y, w as a title has it."""
    h, y, w = (f"{value:.2f}" if value > -1 else "< $-$1" for value in fits["r2"].sel(curve=list("hyw")).values)
    return f"$R^2$ $h$ {h},\n$y$ {y}, $w$ {w}"


def test_figure_2_has_the_shown_trial_of_every_network():
    runs, fits = made_up("architectures", "architecture_fits")
    shown = fits["shown"].copy(data=np.arange(fits.sizes["network"]) % 2)
    fits = fits.assign(shown=shown)
    names = [name for name in FIGURE_2 if name in fits["network"].values]
    for panel, name in zip(fig2_architectures(runs, fits).axes, names, strict=False):
        own, seed = fits.sel(network=name), int(shown.sel(network=name))
        assert panel.get_title() == f"{WORDS.get(name, name)}\n{explained(own.isel(seed=seed))}"
        check_curves(panel, runs.sel(network=name).isel(seed=seed), own["theory"])


def test_figure_2_says_where_no_trial_converged_and_tells_the_fit_of_the_first():
    runs, fits = made_up("architectures", "architecture_fits")
    shown = fits["shown"].copy(data=np.where(np.arange(fits.sizes["network"]) == 2, -1, 1))
    fits = fits.assign(shown=shown)
    name = str(fits["network"].values[2])
    figure = fig2_architectures(runs, fits)
    names = [name for name in FIGURE_2 if name in fits["network"].values]
    panel = figure.axes[names.index(name)]
    assert [text.get_text() for text in panel.texts] == ["none converged"]
    assert not panel.get_lines()
    assert panel.get_title() == f"{WORDS.get(name, name)}\n{explained(fits.sel(network=name).isel(seed=0))}"


def test_epochs_stand_under_the_lowest_panel_of_each_column():
    runs, fits = made_up("architectures", "architecture_fits")
    figure = fig2_architectures(runs, fits.assign(shown=fits["shown"] * 0 + 1))
    used = sum(name in fits["network"].values for name in FIGURE_2)
    for place, panel in enumerate(figure.axes[:used]):
        lowest = place + 4 >= used
        assert panel.get_xlabel() == ("epoch" if lowest else "")
        assert panel.xaxis.get_tick_params().get("labelbottom", True) is lowest
    assert not any(panel.axison for panel in figure.axes[used:12])


def test_losses_of_figures_3_and_12_have_one_axis_from_a_hundred_thousandth_to_one():
    runs, fits = made_up("architectures", "architecture_fits")
    fits = fits.assign(shown=fits["shown"] * 0 + 1)
    gains = fig3_initial_weights(runs, fits)
    for panel in [*gains.axes[5:10], *fig12_training_loss(runs, fits).axes[: len(FIGURE_2)]]:
        assert panel.get_ylim() == (1e-5, 1)
    assert (gains.axes[0].get_ylabel(), gains.axes[5].get_ylabel()) == ("$h, y, w$", "training loss")
    bars = [line for line in fig12_training_loss(runs, fits).axes[-1].get_lines() if line.get_marker() == "|"]
    assert {line.get_color() for line in bars} == {BLACK}


def test_figure_15_has_adam_beside_descent():
    runs, fits, descent = made_up("adam_runs", "adam_fits", "architecture_fits")
    fits = fits.assign(shown=fits["shown"] * 0 + 1)
    *panels, last = fig15_adam(runs, fits, descent).axes
    rates = fits["rate"].values
    for panel, rate in zip(panels, rates, strict=True):
        own = fits.sel(rate=rate)
        assert panel.get_title() == f"Adam, rate {float(rate):g}\n{explained(own.isel(seed=1))}"
        check_curves(panel, runs.sel(rate=rate).isel(seed=1), own["theory"])
    groups = {
        f"Adam {float(rate):g}": (fits["r2"].sel(rate=rate), color)
        for rate, color in zip(rates, (BLUE, RED, GREEN), strict=False)
    }
    groups |= {"descent": (descent["r2"].sel(network="default"), BLACK)}
    for word, (values, color) in groups.items():
        (line,) = lines_of(last, word)
        values = np.clip(values.transpose("curve", "seed").sel(curve=list("hyw")).values, -0.5, 1)
        np.testing.assert_allclose(np.reshape(line.get_ydata(), values.shape), values)
        nearest = np.round(np.reshape(line.get_xdata(), values.shape))
        np.testing.assert_array_equal(nearest, np.arange(3)[:, None] + 0 * values)
        assert line.get_color() == color
    assert [tick.get_text() for tick in last.get_xticklabels()] == ["$h$", "$y$", "$w$"]


@pytest.fixture(scope="module")
def pairs():
    (data,) = made_up("digit_pairs")
    return data, fig4_digit_pairs(data).axes


@pytest.mark.parametrize("column", [0, 1, 2])
def test_figure_4_has_each_pair_with_both_fits(pairs, column):
    data, axes = pairs
    kind, words = list(KINDS.items())[column]
    own = data.sel(kind=kind)
    r2 = own["r2"].isel(trial=0, pair=0).sel(weighting="equation (49)", curve=list("hyw")).values
    known = [f"{value:.2f}" if value > -10 else "<-10" for value in r2]
    numbers = ", ".join(f"${name}$ {value}" for name, value in zip("hyw", known, strict=True))
    assert axes[column].get_title() == f"{words}\n$R^2$ {numbers}"
    for curve, (color, label) in CURVES.items():
        panel = axes[column + (0 if curve == "h" else 3)]
        check(*lines_of(panel, f"{label}, network"), data["epoch"], own["measured"].sel(curve=curve), color)
        for weighting, ending in (("equation (49)", "theory (49)"), ("by variance", "by variance")):
            theory = own["theory"].sel(curve=curve, weighting=weighting)
            check(*lines_of(panel, f"{label}, {ending}"), data["epoch"], theory, color)


def test_figure_7_has_blobs_at_their_place_and_targets_of_each_context():
    (data,) = made_up("blob_structure")
    mosaic, *contexts = fig7_blobs(data).axes[:3]
    gallery = data["gallery"].values
    size = gallery.shape[2]
    cells = mosaic.collections[0]
    picture = np.ma.filled(cells.get_array(), np.nan)
    for x, y in ((0, 0), (1, 0), (0, 2), (gallery.shape[0] - 1, gallery.shape[1] - 1)):
        corner = y * (size + 1), x * (size + 1)
        tile = picture[corner[0] : corner[0] + size, corner[1] : corner[1] + size]
        np.testing.assert_allclose(tile, gallery[x, y].T)
    assert not mosaic.yaxis_inverted()
    np.testing.assert_array_equal(cells.get_coordinates()[-1, -1], picture.shape[::-1])
    for context, panel in enumerate(contexts):
        mine = data["feature"].values[data["context"].values == context]
        (points,) = panel.collections
        np.testing.assert_allclose(points.get_offsets(), mine)
        np.testing.assert_allclose(points.get_array(), mine[:, context])
        assert panel.get_title() == f"context {context + 1}: target is {'xy'[context]}"
