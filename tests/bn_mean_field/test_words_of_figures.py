"""Numbers in captions and texts of tables of the mean-field study, worked out again from made-up datasets."""

import re

import numpy as np
from tests.titled import dataset_of, drawn, made_up

from repdyn.base.wording import number
from repdyn.bn_mean_field.tables import first_steps, stability


def caption_of(name, data):
    return drawn("bn_mean_field", name, data).repdyn["caption"]


def ends(values):
    return float(np.min(values)), float(np.max(values))


def told_range(words):
    return [float(part.replace(r"\times 10", "e").strip("^{}$")) for part in words.split(" to ")]


def test_the_ratio_at_equal_loss_is_that_of_the_papers_step_iteration_and_target():
    data = made_up("bn_mean_field", "matched_loss")
    ratios = data["speed_ratio"]
    cell = {"problem": "y = x1", "step": float(ratios["paper_step"]), "iteration": int(ratios["look"]), "start": 0}
    ratios["matched_ratio"].loc[cell] = 0.375
    ratios["ratio"].loc[cell] = 12.5
    caption = caption_of("matched_loss", data)
    look = int(ratios["look"])
    assert f"at {look} and the step of Figure 1 a ratio of {number(12.5)} (the paper: 10)." in caption
    assert caption.endswith(f"where it has the BN model's loss, there {number(0.375)}.")


def test_dissipation_is_told_in_both_norms_as_a_range_over_all_frames():
    data = made_up("bn_mean_field", "equicontinuity_bounds")
    flow = data["equicontinuity"]
    frames = flow.sizes["frame"]
    flow["rate"][:] = np.linspace(1, 2, frames)
    flow["rate_metric"][:] = flow["rate"] * np.linspace(3, 4, frames)
    flow["rate_euclidean"][:] = flow["rate"] * np.linspace(8, 5, frames)
    caption = caption_of("equicontinuity_bounds", data)
    told = re.search(r"1 in the paper: (.*) in the norm of the metric, (.*) in the Euclidean norm of", caption)
    assert [told_range(words) for words in told.groups()] == [[3, 4], [5, 8]]
    assert caption.startswith(f"One BN flow of {int(flow['width'])} particles.")


def test_the_least_loss_with_frozen_directions_is_that_of_the_task_shown():
    data = made_up("bn_mean_field", "parts_switched_off")
    frozen = data["feature_learning"]["frozen"]
    frozen[:] = 9.0
    frozen.loc[{"task": frozen["task"][0]}] = np.linspace(0.25, 0.5, frozen.sizes["start"])
    caption = caption_of("parts_switched_off", data)
    told = re.search(r"with b frozen the least loss over all \$a\$ is (.*) of it\. \(b\)", caption)[1]
    assert told_range(told) == [0.25, 0.5]


def test_directions_over_time_count_neurons_and_pooled_starts():
    data = made_up("bn_mean_field", "directions_over_time")
    caption = caption_of("directions_over_time", data)
    assert f"(a), (b) {data['anisotropy'].sizes['neuron']} neurons with and without BN" in caption
    assert caption.endswith(f"lengths, {data['magnitudes'].sizes['start'] - 1} starts pooled.")


def test_batches_tell_groups_repeats_eps_and_networks():
    data = made_up("bn_mean_field", "batches_and_eps")
    data["finite_batch"] = data["finite_batch"].assign_coords(repeats=137)
    data["batch_norm_eps"] = data["batch_norm_eps"].assign_coords(eps=2.5e-4)
    caption = caption_of("batches_and_eps", data)
    assert f"{data['finite_batch'].sizes['group']} groups of 137 batches, 95 % intervals" in caption
    assert rf"$\epsilon$ = 0.00025, {data['batch_norm_eps'].sizes['draw']} networks, and a line" in caption


def test_iterations_of_figures_1_and_2_are_spread_evenly_to_the_last():
    data = made_up("bn_mean_field", "fig1_anisotropy")
    times = data["anisotropy"]["iteration"].values
    figure = drawn("bn_mean_field", "fig1_anisotropy", data)
    shown = [int(panel.get_title().split()[1]) for panel in figure.axes if panel.get_title().startswith("iteration")]
    wanted = [min(times, key=lambda time: abs(time - share * times[-1])) for share in (0, 0.25, 0.5, 0.75, 1)]
    assert shown == wanted * 2
    assert f"unit circle at {len(wanted)} iterations" in figure.repdyn["alt"]
    data = made_up("bn_mean_field", "fig2_magnitudes")
    times = data["magnitudes"]["iteration"].values
    figure = drawn("bn_mean_field", "fig2_magnitudes", data)
    shown = [int(re.search(r"\d+", panel.get_title())[0]) for panel in figure.axes[:6]]
    assert shown == [times[round(share * (len(times) - 1))] for share in np.linspace(0, 1, 6)]


def test_shares_of_figure_2_are_the_mean_and_range_of_the_drawn_starts_and_the_start_shown_above():
    data = made_up("bn_mean_field", "fig2_magnitudes")
    near = data["magnitudes"]["near"]
    figure = drawn("bn_mean_field", "fig2_magnitudes", data)
    panel = figure.axes[-1]
    for place, radius in enumerate(near["radius"].values):
        values = near.sel(radius=radius).transpose("start", "iteration").values
        x, y = panel.collections[place].get_paths()[0].vertices.T
        for time, sample in zip(near["iteration"].values, values[1:].T, strict=True):
            assert ends(y[x == time]) == ends(sample)
        (shown,) = [line for line in panel.get_lines() if line.get_label() == f"length {radius:g}, shown above"]
        np.testing.assert_allclose(shown.get_ydata(), values[0])
    assert f"over {near.sizes['start'] - 1} starts with random signs" in figure.repdyn["caption"]


def test_tables_of_first_steps_and_long_runs_count_neurons_and_iterations():
    data = dataset_of("bn_mean_field", "first_step")
    assert f"diag(5, 1), {data.sizes['neuron']} neurons, both signs" in first_steps(data).caption
    assert f" {int(data['long_iterations'])} iterations; losses below" in stability(data).caption
