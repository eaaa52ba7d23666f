"""Numbers written into figures, ends of guides and legends beside the data: XOR, blobs, depth, alternatives."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.universality.test_figures import made_up

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from repdyn.universality.figures.blobs import fig8_blob_structure, fig17_blob_structure_adam
from repdyn.universality.figures.default_network import fig5_final_distances, fig10_depth, fig11_alternatives
from repdyn.universality.figures.theory import n1_phase_plane
from repdyn.universality.figures.xor import fig6_xor

ORDER = [0, 3, 1, 2]  # (0, 0), (1, 1), then (1, 0), (0, 1)


def learned(name):
    (data,) = made_up(name)
    return data.assign(learned=data["learned"] * 0 + 1).copy(deep=True)


def test_cells_of_the_xor_matrices_tell_their_distance_in_two_digits():
    data = learned("xor_structure")
    numbers = np.array([0.004, 0.042, 0.94, 0.96, 1.24, 9.4, 9.6, 12.4])
    words = [".00", ".04", ".94", "1.0", "1.2", "9.4", "10", "12"]
    values = np.zeros((4, 4))
    for k, (i, j) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (1, 0), (2, 0)]):
        values[i, j] = numbers[k]
    data["distance"].loc[{"run": "low"}] = values[np.ix_(np.argsort(ORDER), np.argsort(ORDER))]
    data["theory"].loc[{"run": "low"}] = 0.0
    panel = next(panel for panel in fig6_xor(data).axes if panel.get_ylabel() == "network")
    told = {text.get_position(): (text.get_text(), text.get_color()) for text in panel.texts}
    assert len(told) == 12, "the diagonal has no number"
    for word, (i, j) in zip(words, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (1, 0), (2, 0)], strict=True):
        assert told[j + 0.5, i + 0.5] == (word, "w" if values[i, j] < 0.55 * 12.4 else "k")
    for axis in (panel.xaxis, panel.yaxis):
        assert axis.get_ticklocs().tolist() == [0.5, 1.5, 2.5, 3.5]
    lines = [line for line in panel.get_lines() if line.get_color() == "w"]
    assert sorted([set(line.get_xdata()) == {2} for line in lines]) == [False, True]


def test_pairs_that_merge_are_told_by_the_median_of_what_has_learned():
    data = learned("xor_structure")
    trials = data.sizes["trial"]
    data["merged"][:] = 0.9
    few, many = np.arange(trials) < trials // 2 - 1, np.arange(trials) < trials // 2 + 1
    data["merged"].loc[{"run": "low"}] = np.stack([np.where(many, 0.1, 0.9), np.where(few, 0.1, 0.9)], axis=1)
    assert "one (20 layers, small)" in fig6_xor(data).repdyn["caption"]
    data["merged"].loc[{"run": "low", "pair": data["merged"]["pair"][0] if "pair" in data.coords else 0}] = np.nan
    assert "none learned (20 layers, small)" in fig6_xor(data).repdyn["caption"]


def test_the_task_of_xor_has_its_points_and_targets():
    task = fig6_xor(learned("xor_structure")).axes[0]
    for points, target, color, places in zip(
        task.collections, (0, 1), (BLUE, ORANGE), ([[0, 0], [1, 1]], [[1, 0], [0, 1]]), strict=True
    ):
        assert points.get_label() == f"target {target}"
        assert to_hex(points.get_facecolor()[0]) == color.lower()
        assert sorted(points.get_offsets().tolist()) == sorted(places)


@pytest.mark.parametrize("figure", [fig8_blob_structure, fig17_blob_structure_adam])
def test_the_legend_of_blobs_names_lines_and_marks_in_the_colors_they_have(figure):
    drawn = figure(learned("blob_structure"))
    (legend,) = drawn.legends
    entries = {
        text.get_text(): line.get_color() for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    }
    assert entries == {
        "along the relevant feature": BLUE,
        "along the irrelevant one": ORANGE,
        "context 1": GREEN,
        "context 2": RED,
    }


def test_marks_of_context_1_stand_left_and_those_of_context_2_right_of_their_run():
    data = learned("blob_structure")
    panels = fig8_blob_structure(data).axes
    collapse, between = panels[3], panels[7]
    for place in range(3):
        first, second, bar = collapse.get_lines()[3 * place : 3 * place + 3]
        assert set(np.round(first.get_xdata(), 9)) == {round(place - 0.18, 9)}
        assert set(np.round(second.get_xdata(), 9)) == {round(place + 0.18, 9)}
        assert (bar.get_color(), between.get_lines()[2 * place].get_color()) == (BLACK, PURPLE)
    for panel, words in ((collapse, "$C$"), (between, "contexts, over variance")):
        assert panel.get_ylabel() == words
        (level,) = [line for line in panel.get_lines() if line.get_color() == "0.6"]
        assert set(level.get_ydata()) == {1}
        assert [tick.get_text().replace("\n", " ") for tick in panel.get_xticklabels()] == [
            "large",
            "small",
            "very small",
        ]


def test_captions_of_blobs_count_networks_and_points():
    data = learned("blob_structure")
    data["learned"].loc[{"run": "low", "trial": data["trial"][:2]}] = 0
    caption = fig8_blob_structure(data).repdyn["caption"]
    trials = data.sizes["trial"]
    assert f"{trials} (large), {trials - 2} (small), {trials} (very small) of {trials}:" in caption
    assert f"{data.sizes['point']} of {int(data['point_count'])} points." in caption
    assert f"({int(data['units'])} units, four hidden layers)" in caption


def test_rates_of_figure_10_are_named_at_the_fifteenth_layer_or_the_last():
    wide, narrow = made_up("default_network_fits", "default_ensemble_fits")
    wide = wide.assign_coords(shown=1)
    for layers in (wide.sizes["layer"], 9):
        own = wide.isel(layer=slice(layers))
        panel = fig10_depth(own, narrow.isel(layer=slice(layers))).axes[2]
        place = min(15, layers - 1)
        told = {text.get_text(): text.xy for text in panel.texts}
        for words, name in (("$1/\\tau_h$", "eta_h"), ("$1/\\tau_y$", "eta_y")):
            assert told[words] == (place, pytest.approx(np.median(own[name].isel(layer=place))))


def test_the_legend_of_figure_11_names_three_curves_and_the_fit_once():
    run, fits = made_up("default_network", "default_network_fits")
    figure = fig11_alternatives(run, fits.assign_coords(shown=1))
    (legend,) = figure.legends
    entries = [
        (text.get_text(), line.get_color()) for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    ]
    assert entries == [("$h = \\|dh\\|^2$", BLUE), ("$y = \\|dy\\|^2$", RED), ("$w$", GREEN), ("fit", BLACK)]


def test_the_best_altered_dynamics_are_those_of_least_loss_in_the_shown_trial():
    run, fits = made_up("default_network", "default_network_fits")
    fits = fits.assign_coords(shown=1).copy(deep=True)
    loss = fits["alternative_loss"]
    names = [name for name in fits["alternative"].values if name != "theory"]
    loss.loc[{"alternative": "theory"}] = 3.0
    for place, name in enumerate(names):
        loss.loc[{"alternative": name}] = 9.0 - place
        loss.loc[{"alternative": name, "seed": loss["seed"][0]}] = 1.0 + place
    best = 10.0 - len(names)
    words = f"3 (theory), at best {best:.3g} ({names[-1]}) of the altered ones"
    assert words in fig11_alternatives(run, fits).repdyn["caption"]
    loss.loc[{"alternative": names[-1]}] = np.nan
    assert f"at best {best + 1:.3g} ({names[-2]})" in fig11_alternatives(run, fits).repdyn["caption"]
    loss.loc[{"alternative": names}] = np.nan
    assert "3 (theory), at best ? of the altered ones" in fig11_alternatives(run, fits).repdyn["caption"]


def test_widths_of_figure_5_are_listed_from_the_smallest():
    (ends,) = made_up("final_predictions")
    units = np.where(np.arange(ends.sizes["network"]) % 2 == 0, 500, 100)
    caption = fig5_final_distances(ends.assign_coords(units=("network", units))).repdyn["caption"]
    assert caption.startswith("Each dot is a trial of 100, 500 units at one of")


@pytest.mark.parametrize(("name", "share", "times"), [("node_slope", 0.5, 1.0), ("saddle_slope", 0.9, 1.6)])
@pytest.mark.parametrize("steep", [0.01, 50.0])
def test_eigenvectors_reach_so_far_and_stay_in_the_plane(name, share, times, steep):
    (maps,) = made_up("theory_maps")
    maps = maps.copy(deep=True)
    maps[name][:] = [steep, -steep]
    h, w = maps["plane_h"].values, maps["plane_w"].values
    reach = times * 0.28 * (h[-1] - h[0])
    panel = n1_phase_plane(maps).axes[0]
    color = GREEN if name == "node_slope" else RED
    ends = [line.get_data() for line in panel.get_lines() if line.get_color() == color and len(line.get_xdata()) == 2]
    for x, y in ends:
        far = np.ptp(x) / (2 if name == "node_slope" else 1)
        assert far == pytest.approx(min(reach, share * w[-1] / steep))
        assert np.abs(y).max() <= max(w[-1], reach * steep) + 1e-12
