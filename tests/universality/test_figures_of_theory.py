"""Figures of the theory and of the default network draw the variables, layers, trials and rates of their labels."""

import numpy as np
import pytest
from tests.universality.test_figures import lines_of, made_up

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED
from repdyn.universality.figures.default_network import fig10_depth, fig11_alternatives, n5_closed_form, n6_fit_losses
from repdyn.universality.figures.dynamics import COLORS, NAMES
from repdyn.universality.figures.theory import n1_phase_plane, n2_final_distribution, n3_rich_to_lazy
from repdyn.universality.theory.published import FIT_LOSSES


def check(line, x, y, color):
    np.testing.assert_allclose(line.get_xdata(), np.asarray(x, float))
    np.testing.assert_allclose(line.get_ydata(), np.asarray(y, float))
    assert line.get_color() == color


def edges(band):
    """The lower and the upper edge of a band, point by point."""
    x, y = band.get_paths()[0].vertices.T
    return [[edge(y[x == at]) for at in np.unique(x)] for edge in (np.min, np.max)]


def test_phase_plane_and_plateau():
    (maps,) = made_up("theory_maps")
    plane, plateau = n1_phase_plane(maps).axes
    assert (plateau.get_xscale(), plateau.get_yscale()) == ("log", "linear")
    error = maps["plateau_error"].sel(start="equal").transpose("scale", "time").values[:, 1:]
    for scale, row, color in zip(maps["scale"].values, error, [*CYCLE, "0.5"], strict=False):
        check(*lines_of(plateau, f"{scale:g}"), maps["time"][1:], row, color)
    (node,), (saddle,) = lines_of(plane, "stable node"), lines_of(plane, "saddle")
    check(node, [float(maps["node_h"])], [0], GREEN)
    check(saddle, [0], [0], RED)
    blue = [line for line in plane.get_lines() if line.get_color() == BLUE]
    paths = maps["plane_paths"].values
    for path, drawn, first in zip(paths, blue[::2], blue[1::2], strict=True):
        np.testing.assert_allclose(drawn.get_data(), path)
        np.testing.assert_allclose(np.ravel(first.get_data()), path[:, 0])
    assert plane.get_xlim() == (0, float(maps["plane_h"][-1]))
    assert plane.get_ylim() == (float(maps["plane_w"][0]), float(maps["plane_w"][-1]))


@pytest.mark.parametrize(("name", "color"), [("node_slope", GREEN), ("saddle_slope", RED)])
def test_eigenvectors_have_the_slopes_of_their_point(name, color):
    (maps,) = made_up("theory_maps")
    segments = [
        line
        for line in n1_phase_plane(maps).axes[0].get_lines()
        if line.get_color() == color and len(line.get_xdata()) == 2
    ]
    slopes = [np.diff(line.get_ydata())[0] / np.diff(line.get_xdata())[0] for line in segments]
    np.testing.assert_allclose(slopes, maps[name])
    assert [line.get_linestyle() for line in segments] == ["-", "--"]
    through = float(maps["node_h"]) if name == "node_slope" else 0.0
    for line, slope in zip(segments, slopes, strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, slope * (x - through), atol=1e-12)


def test_arrows_of_the_phase_plane_follow_the_flow():
    """dh over h goes right, dw over w goes up."""
    (maps,) = made_up("theory_maps")
    flow = {"plane_dh": 1.0, "plane_dw": 0.0}
    maps = maps.assign({name: maps[name] * 0 + value for name, value in flow.items()})
    streams = n1_phase_plane(maps).axes[0].collections[0].get_segments()
    rise = [np.ptp(np.asarray(segment)[:, 1]) for segment in streams]
    assert max(rise) < 1e-9


def test_distributions_of_the_final_distance():
    (data,) = made_up("final_distribution")
    for panel, rho in zip(n2_final_distribution(data).axes, data["rho"].values, strict=True):
        assert panel.get_title() == rf"$\tau_y/\tau_h$ = {rho:g}"
        cell = data.sel(rho=rho, gain=data["gain"][0])
        for words, name, color in (
            ("drawn", "level", BLUE),
            ("corrected (47)", "corrected", BLACK),
            ("printed (47)", "printed", RED),
        ):
            check(*lines_of(panel, words), cell["quantile"], cell[name], color)


def test_final_distances_from_rich_to_lazy():
    (maps,) = made_up("theory_maps")
    negative = maps["size"].copy(data=np.arange(maps.sizes["size"]) % 4 == 1)
    maps["regime_printed"] = maps["regime_printed"].where(~negative, -1.0)
    (panel,) = n3_rich_to_lazy(maps).axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    dotted = [line for line in panel.get_lines() if line.get_linestyle() == ":"]
    for rho, color, printed in zip(maps["rho"].values, (BLUE, ORANGE, GREEN), dotted, strict=True):
        row = maps.sel(rho=rho)
        low, limit = row["regime_low"].values, row["regime_printed"].values
        check(*lines_of(panel, rf"$\tau_y/\tau_h$ = {rho:g}"), maps["size"], row["regime_h"].values / low, color)
        check(printed, maps["size"], np.where(limit > 0, limit / low, np.nan), color)


@pytest.fixture(scope="module")
def fits():
    """Fits of a default network and of an ensemble; the second trial of the first is the shown one."""
    run, fits, ensemble = made_up("default_network", "default_network_fits", "default_ensemble_fits")
    return run, fits.assign_coords(shown=1), ensemble


def test_medians_and_quartiles_over_layers(fits):
    _, *both = fits
    panels = fig10_depth(*both).axes
    drawn = [(0, "fit_loss", 0), (1, "r2", 0), (2, "eta_h", 0), (2, "eta_y", 1)]
    for number, (data, color) in enumerate(zip(both, (BLUE, ORANGE), strict=True)):
        label = f"{int(data['units'])} units, {int(data['converged'][{'layer': 0}].sum())} trials"
        for panel, name, place in drawn:
            values = data[name].mean("curve") if name == "r2" else data[name]
            sample = values.transpose("seed", "layer").values
            check(lines_of(panels[panel], label)[place], data["layer"], np.nanmedian(sample, axis=0), color)
            band = panels[panel].collections[number * (2 if panel == 2 else 1) + place]
            np.testing.assert_allclose(edges(band), np.nanpercentile(sample, (25, 75), axis=0))
    assert [panel.get_yscale() for panel in panels] == ["log", "linear", "log"]
    for panel in panels:
        (half,) = (line for line in panel.get_lines() if line.get_linestyle() == ":")
        np.testing.assert_allclose(half.get_xdata(), int(both[0]["halfway"]))


def test_every_alternative_beside_the_shown_trial(fits):
    run, own, _ = fits
    panels = fig11_alternatives(run, own).axes
    network = run.sel(layer=int(run["halfway"])).isel(seed=1)
    for panel, name in zip(panels, own["alternative"].values, strict=False):
        loss = float(own["alternative_loss"].sel(alternative=name).isel(seed=1))
        assert panel.get_title() == f"{name}: loss {loss:.3g}"
        dashed = [line for line in panel.get_lines() if line.get_linestyle() == "--"]
        for (curve, color), theory in zip(COLORS.items(), dashed, strict=True):
            check(*lines_of(panel, NAMES[curve]), run["epoch"], network[curve], color)
            fitted = own["alternative_theory"].sel(alternative=name, curve=curve)
            check(theory, run["epoch"], fitted, BLACK)


def test_closed_form_and_ratio(fits):
    _, own, _ = fits
    left, right = n5_closed_form(own).axes
    curves = own["shown_curves"]
    dashed = [line for line in left.get_lines() if line.get_linestyle() == "--"]
    for (curve, color), theory in zip(COLORS.items(), dashed, strict=True):
        check(*lines_of(left, NAMES[curve]), own["epoch"], curves.sel(curve=curve, source="network"), color)
        check(theory, own["epoch"], curves.sel(curve=curve, source="theory"), BLACK)
    for source, color in (("network", BLUE), ("theory", BLACK)):
        check(*lines_of(right, source), curves.sel(curve="h", source=source), own["ratio"].sel(source=source), color)


def test_published_fit_losses_stand_at_their_dynamics(fits):
    _, *both = fits
    for panel, data in zip(n6_fit_losses(*both).axes, both, strict=True):
        names = data["alternative"].values.tolist()
        assert [tick.get_text().replace("\n", " ") for tick in panel.get_xticklabels()] == names
        trials = [line for line in panel.get_lines() if line.get_color() == BLUE]
        for place, (name, dots) in enumerate(zip(names, trials, strict=True)):
            loss = data["alternative_loss"].sel(alternative=name).values
            np.testing.assert_allclose(dots.get_ydata(), loss[np.isfinite(loss)])
            np.testing.assert_allclose(np.mean(dots.get_xdata()), place, atol=1e-9)
        published = {
            round(line.get_xdata()[0]): line.get_ydata()[0] for line in panel.get_lines() if line.get_color() == RED
        }
        assert published == {names.index(name): loss for name, loss in FIT_LOSSES.items() if name in names}


def test_each_panel_of_fit_losses_counts_its_own_trials(fits):
    """Of trials that converged, 5 of the default network and 9 of the ensemble."""
    _, *both = fits
    both = [
        data.assign(converged=data["converged"].copy(data=np.broadcast_to(np.arange(size) < count, (layers, size))))
        for data, count in zip(both, (5, 9), strict=True)
        for layers, size in [data["converged"].transpose("layer", "seed").shape]
    ]
    titles = [panel.get_title() for panel in n6_fit_losses(*both).axes]
    assert titles == [f"{int(data['units'])} units, {count} trials" for data, count in zip(both, (5, 9), strict=True)]
