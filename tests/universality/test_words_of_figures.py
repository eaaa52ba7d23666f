"""Numbers in captions of universality, worked out again from made-up datasets."""

import re

import numpy as np
from tests.titled import drawn, made_up

STUDY = "universality"


def caption_of(name, data):
    return drawn(STUDY, name, data).repdyn["caption"]


def test_blobs_count_points_pixels_and_places_and_tell_both_distances():
    data = made_up(STUDY, "fig7_blobs")
    blobs = data["blob_structure"]
    blobs["input_between"], blobs["input_along"] = blobs["input_between"] * 0 + 1.75, blobs["input_along"] * 0 + 0.25
    told = caption_of("fig7_blobs", data)
    points, pixels = int(blobs["point_count"]), blobs["gallery"].sizes[blobs["gallery"].dims[-1]]
    places = round((points / 2) ** 0.5)
    assert told.startswith(f"{points} data points: images of blobs of {pixels} x {pixels} pixels at {places} x ")
    assert "context lie 1.75 apart, two that differ in one feature at most 0.25." in told


def test_pictures_of_blobs_count_those_that_learned_and_give_each_runs_own_means():
    data = made_up(STUDY, "fig8_blob_structure")
    blobs = data["blob_structure"]
    words = {"high": 0.75, "low": 0.5, "very_low": 0.25}
    blobs["learned"][:] = 0
    for place, (run, level) in enumerate(words.items()):
        blobs["typical_collapse"].loc[{"run": run}] = level
        blobs["typical_between"].loc[{"run": run}] = 10 * level
        blobs["learned"].loc[{"run": run, "trial": blobs["trial"][: place + 1]}] = 1
    told = caption_of("fig8_blob_structure", data)
    for level in words.values():
        assert f" {level:.2g}, {10 * level:.2g}" in told
    order = [told.index(f" {level:.2g}, {10 * level:.2g}") for level in words.values()]
    assert order == sorted(order)
    counts = told.split("that have learned, ")[1].split(": $C$")[0]
    learners = [min(place, blobs.sizes["trial"]) for place in (1, 2, 3)]
    assert [int(count) for count in re.findall(r"(\d+) \(", counts)] == learners
    assert counts.endswith(f" of {blobs.sizes['trial']}")
    assert f"{blobs.sizes['point']} of {int(blobs['point_count'])} points." in told
    assert f"one network each ({int(blobs['units'])} units, four" in told


def test_final_distances_count_cells_trials_and_the_dropped_and_name_the_ends_of_the_grid():
    data = made_up(STUDY, "fig5_final_distances")
    finals = data["final_predictions"]
    finals["dropped"][:] = np.arange(1, finals.sizes["network"] + 1)
    figure = drawn(STUDY, "fig5_final_distances", data)
    told, n = figure.repdyn["caption"], finals.sizes["network"]
    assert f"at one of {finals.sizes['dx']} x {finals.sizes['dy']} pairs of distances" in told
    assert f"({finals.sizes['seed']} trials each); {n * (n + 1) // 2} trials did not converge" in told
    dx, dy = finals["dx"].values, finals["dy"].values
    assert told.endswith(f"$dx$ from {min(dx):g} to {max(dx):g}, $dy$ from {min(dy):g} to {max(dy):g}.")
    for panel, name in zip(figure.axes, finals["network"].values, strict=False):
        row = finals.sel(network=name)
        words = panel.get_title("left") or panel.get_title()
        assert f"r {float(row['correlation']):.2f}\n(dy alone {float(row['correlation_dy']):.2f})" in words
        assert f"), {int(row['trials'])} trials" in words


def test_the_closed_form_names_its_trial_and_its_largest_residual():
    data = made_up(STUDY, "n5_closed_form")
    fits = data["default_network_fits"]
    fits["residual"][:] = 1e-9
    fits["residual"][dict.fromkeys(fits["residual"].dims, -1)] = -3e-4
    told = caption_of("n5_closed_form", data)
    assert told.startswith(f"Trial {int(fits['shown'])} of the default network ({int(fits['units'])} units).")
    assert told.endswith("network and theory keep it to 3e-04.")


def test_rates_of_node_and_saddle_are_told_apart():
    data = made_up(STUDY, "n1_phase_plane")
    (maps,) = data.values()
    maps["node_rate"][:], maps["saddle_rate"][:] = [-0.25, -0.5], [0.125, -0.75]
    told = caption_of("n1_phase_plane", data)
    assert "eigenvectors (green, rates -0.25, -0.5 per epoch)" in told
    assert "(orange-red, rates 0.12, -0.75 per epoch)" in told


def test_spreads_of_the_final_distance_are_those_at_equal_rates_gain_by_gain():
    data = made_up(STUDY, "n2_final_distribution")
    (laws,) = data.values()
    laws["deviation"][:] = 99.0
    gains = laws["gain"].values
    laws["deviation"].loc[{"rho": 1.0}] = 0.25 + np.arange(gains.size)
    told = caption_of("n2_final_distribution", data)
    spread = ", ".join(f"{0.25 + place:.2g}" for place in range(gains.size))
    assert f"for $G$ = {', '.join(f'{gain:g}' for gain in gains)}: {spread}. To fit" in told
    assert told.startswith(f"{int(laws['draws'])} draws of the initial ratios at $G$ = {gains[0]:g}, ")


def test_taylor_ratios_tell_bins_pairs_networks_and_looks():
    data = made_up(STUDY, "fig14_taylor")
    (ratios,) = data.values()
    told = caption_of("fig14_taylor", data)
    assert f"expansion in {ratios.sizes['bin']} bins of equal count" in told
    assert f"{int(ratios['pairs'])} random pairs of images ({ratios['source'].item()}) per network" in told
    assert f"interval over {ratios.sizes['network']} networks; {ratios['nonlinearity'].item()}." in told
    assert f"are after {', '.join(str(look) for look in ratios['look'].values)} passes over our images" in told
