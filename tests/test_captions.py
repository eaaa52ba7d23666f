"""Numbers of captions and titles worked out again from made-up datasets; guides, marks and wedges beside the curves."""

import re
from functools import cache

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.titled import drawn, made_up, named

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from repdyn.base.wording import number
from repdyn.universality.theory.published import FIGURE_2


@cache
def as_made(study, name):
    data = made_up(study, name)
    return drawn(study, name, data), data


def figure_of(study, name, data=None):
    return (drawn(study, name, data), data) if data else as_made(study, name)


def caption_of(study, name, data=None):
    figure, data = figure_of(study, name, data)
    return figure.repdyn["caption"], data


# bn_mean_field


def test_captions_of_mean_field_runs_count_their_starts_and_name_their_steps():
    caption, data = caption_of("bn_mean_field", "matched_loss")
    ratios = data["speed_ratio"]
    assert f"$y = x_1$ and {ratios.sizes['step']} steps $h$ (solid)" in caption
    assert f"dotted: the paper's iteration {int(ratios['look'])}. " in caption
    assert f"range over {ratios.sizes['start'] - 1} starts with random signs" in caption
    caption, data = caption_of("bn_mean_field", "learning_over_steps")
    rates = data["learning_rates"]
    assert (
        f"loss at most {float(rates['learned']):g} of that of $f = 0$ after {int(rates['iterations'])} iterations."
        in caption
    )
    assert f"medians over {rates.sizes['start'] - 1} starts of random signs" in caption
    caption, data = caption_of("bn_mean_field", "speeds_over_targets")
    scan = data["target_scan"]
    words = f"iteration {int(scan['look'])}, step {float(scan['step']):g}, target $w^T x$, {scan.sizes['seed']} starts"
    assert words in caption
    caption, data = caption_of("bn_mean_field", "parts_switched_off")
    task, gathered = data["feature_learning"], data["concentration"]
    assert (
        f"until the loss is {float(task['threshold'][0]):g} of that of $f = 0$, {task['task'].values[0]}, " in caption
    )
    assert f"each of {task.sizes['start']} starts" in caption
    assert f"mean over {gathered.sizes['start']} starts;" in caption
    caption, data = caption_of("bn_mean_field", "mean_field_limit")
    distances = data["propagation_distances"]
    sizes = [int(distances[name]) for name in ("reference", "random_reference")]
    assert f"a reference of {sizes[0]} (low discrepancy; {sizes[1]} for i.i.d." in caption
    assert f"at {distances.sizes['time']} mean-field times" in caption
    caption, data = caption_of("bn_mean_field", "fig3_first_step")
    steps = data["first_step"]
    assert f"{steps.sizes['neuron']} neurons, mean-field step $h$ = {float(steps['step'].max()):g};" in caption


def test_the_range_of_losses_left_is_told_of_starts_that_separate_and_of_the_others():
    figure, data = figure_of("bn_mean_field", "global_minimum")
    starts = data["minimization"]
    last = starts["relative_loss"].isel(frame=-1).values
    left = [last[starts["separates"].values == flag] for flag in (1, 0)]
    words = [f"{own.min():.1g} to {own.max():.1g}" for own in left]
    assert f"or more: {words[0]} from separating starts, {words[1]} from others." in figure.repdyn["caption"]


def test_steps_that_learn_go_from_each_starts_smallest_to_its_largest():
    figure, data = figure_of("bn_mean_field", "learning_over_steps")
    rates = data["learning_rates"].isel(start=slice(1, None))
    panel = figure.axes[1]
    names = [tick.get_text() for tick in panel.get_yticklabels()]
    assert names == ["BN", "vanilla", "vanilla, same function", "BN, many lengths", "vanilla, many lengths"]
    assert panel.get_xscale() == "log"
    assert panel.get_xlim() == figure.axes[0].get_xlim()
    for place, (name, color) in enumerate(zip(names, (BLUE, RED, ORANGE, SKY, PURPLE), strict=True)):
        line, smallest, largest = panel.get_lines()[3 * place : 3 * place + 3]
        ends = [rates[f"{end}_step"].sel(network=name).values for end in ("smallest", "largest")]
        np.testing.assert_allclose(line.get_xdata(), np.median(ends, axis=1))
        np.testing.assert_allclose([smallest.get_xdata(), largest.get_xdata()], ends)
        assert {line.get_color(), smallest.get_color(), largest.get_color()} == {color}
        assert {*line.get_ydata(), *smallest.get_ydata()} == {-place}


def test_wedges_of_figure_1_count_the_neurons_in_fifteen_degrees():
    """The area, so the root of the share, grows with the number; 0.3 of the neurons reach 0.85."""
    figure, data = figure_of("bn_mean_field", "fig1_anisotropy")
    cell = data["anisotropy"].sel(model="BN", target="y = x1")
    panel = next(panel for panel in figure.axes if panel.get_ylabel() == "BN")
    shown = int(re.search(r"\d+", panel.get_title())[0])
    angle = np.degrees(cell["angle"].sel(iteration=shown).values)
    edges = np.arange(-180, 181, 15)
    for wedge, low in zip(panel.patches, edges, strict=False):
        share = np.mean((angle >= low) & (angle < low + 15))
        corners = wedge.get_xy()
        assert np.hypot(*corners.T).max() == pytest.approx(0.85 * min(np.sqrt(share / 0.3), 1), abs=1e-9)
    assert len(panel.patches) == 24
    look = int(data["anisotropy"]["look"])
    largest = [
        float(data["anisotropy"]["largest_speed"].sel(model=model, target="y = x1")) for model in ("BN", "vanilla")
    ]
    assert f"at iteration {look}; the scales differ by {largest[0] / largest[1]:.1f}, " in figure.repdyn["caption"]


def test_first_steps_are_tangent_and_end_at_the_length_after_the_step():
    figure, data = figure_of("bn_mean_field", "fig3_first_step")
    panel = figure.axes[1]
    start = data["first_step"].isel(start=0, step=-1).sel(model="BN", iteration=1)
    radii = [radius for radius in start["radius"].values if 0.05 <= radius <= 1][:3]
    circles = [line for line in panel.get_lines() if line.get_label().startswith("$r$")]
    assert [line.get_label() for line in circles] == [f"$r$ = {radius:g}" for radius in radii]
    for line, radius, color in zip(circles, radii, (GREEN, PURPLE, BLUE), strict=False):
        np.testing.assert_allclose(np.hypot(*line.get_data()), radius)
        assert line.get_color() == color
    arrows = [(np.array(text.xy), np.array(text.xyann)) for text in panel.texts]
    first = [pair for pair in arrows if np.hypot(*pair[1]) == pytest.approx(radii[0])]
    grown = start["norm"].sel(radius=radii[0]).values
    for tip, foot in first:
        assert (tip - foot) @ foot == pytest.approx(0, abs=1e-9), "at a right angle to the neuron"
        place = np.degrees(np.arctan2(foot[1], foot[0])) % 360 / 360 * (start.sizes["neuron"] // 2) - 0.5
        assert np.hypot(*tip) == pytest.approx(max(grown[round(place)], radii[0]))


def test_figure_2_counts_directions_each_with_both_signs():
    caption, data = caption_of("bn_mean_field", "fig2_magnitudes")
    assert f"{data['magnitudes'].sizes['neuron'] // 2} equispaced unit directions, each with $a = \\pm 1$" in caption


# bn_decomposed


def test_captions_of_random_networks_name_batch_depth_width_and_draws():
    caption, data = caption_of("bn_decomposed", "fig5_layer_angles")
    angles = data["layer_angles"]
    depth, width = int(angles["depth"]), int(angles["width"])
    assert f"points, {angles.sizes['seed']} draws, before and after layer {depth} (width {width}, ReLU)" in caption
    caption, data = caption_of("bn_decomposed", "fig3_odd_point")
    odd = data["odd_point"]
    large = odd["batch"].values[odd["batch"].values >= 7]
    small = odd["batch"].values[odd["batch"].values < 7]
    shown = [*small[-1:], *large[-3:]]
    largest, last = int(odd["batch"].max()), int(odd["layer"].max())
    words = f"(a) Random projection of one batch of {largest} after layer {last},"
    assert f"width {int(odd['width'])}. {words}" in caption
    assert f"median and range of {odd.sizes['seed']} draws" in caption
    every, some = (", ".join(map(str, sizes)) for sizes in (odd["batch"].values, shown))
    assert f"Of the batches of {every} points (c) and (d) show those of {some}." in caption
    caption, data = caption_of("bn_decomposed", "fig2_training")
    he = data["training"]["he"]
    words = f"width {int(he['width'])} on {int(he['point_count'])} images, {int(he['epoch'].max())} epochs"
    assert words in caption
    assert f"batches of {int(he['batch'])};" in caption
    assert f"range of {he.sizes['seed']} draws of weights" in caption
    for mode, name in (("bn", "batch normalization"), ("default", "none, PyTorch's default"), ("he", "none, He")):
        own = data["training"][mode]
        rank = [np.median(own["effective_rank"].transpose("depth", "seed").values[end]) for end in (0, -1)]
        final = [np.median(own["accuracy"].isel(epoch=-1).transpose("depth", "seed").values[end]) for end in (0, -1)]
        assert f"{name}: rank {rank[0]:.1f} to {rank[1]:.1f}, accuracy {final[0]:.2f} to {final[1]:.2f}" in caption


def test_figure_6_writes_how_many_inputs_a_neuron_hardly_responds_to():
    data = made_up("bn_decomposed", "fig6_activity")
    activity = data["activity"]
    count = activity.sizes["point"]
    for name, zero, weak in (("without", 10, 30), ("with", 40, 70)):
        activity["response"].loc[{"recentering": name}] = np.where(
            np.arange(count) < zero, 0.0, np.where(np.arange(count) < weak, 0.1, 0.5)
        )
    figure, _ = figure_of("bn_decomposed", "fig6_activity", data)
    for panel, zero, weak in zip(figure.axes, (10, 40), (30, 70), strict=False):
        assert panel.texts[0].get_text() == f"zero for {zero / count:.0%} of inputs,\nbelow 0.1 for {weak / count:.0%}"
        (shade,) = [patch for patch in panel.patches if patch.get_alpha() == 0.12]
        assert (shade.get_x(), shade.get_width()) == (0, 0.1)
    caption = figure.repdyn["caption"]
    bins = activity["bin"].values
    assert (
        f"Batches of {count} images after {int(activity['depth'])} layers of width {activity.sizes['neuron']} with"
        in caption
    )
    assert f"neurons of {activity.sizes['seed']} draws" in caption
    assert f"in bins of {bins[1] - bins[0]:g};" in caption


def test_captions_of_theorem_11_count_batches_by_size():
    caption, data = caption_of("bn_decomposed", "thm11_limits")
    points = data["tree_limits"]["points"].values
    counts = ", ".join(f"{(points == n).sum()} at $n$ = {n}" for n in np.unique(points))
    assert f"batches of $n$ points ({counts};" in caption
    assert f"one Gaussian batch of {data['interior_angles'].sizes['first']};" in caption


# universality


def test_captions_of_two_points_name_trial_units_and_layer():
    caption, data = caption_of("universality", "fig1_two_points")
    fits = data["default_network_fits"]
    assert (
        f"{int(fits['units'])} units per layer (trial {int(fits['shown'])}), hidden layer {int(fits['halfway'])}, at"
        in caption
    )
    caption, data = caption_of("universality", "fig11_alternatives")
    fits = data["default_network_fits"]
    assert f"({int(fits['units'])} units, hidden layer {int(fits['halfway'])})" in caption
    caption, data = caption_of("universality", "n5_closed_form")
    fits = data["default_network_fits"]
    assert f"keep it to {np.abs(fits['residual'].values).max():.0e}." in caption
    caption, data = caption_of("universality", "fig10_depth")
    widths = [int(data[f"default_{kind}_fits"]["units"]) for kind in ("network", "ensemble")]
    assert caption.endswith(f"Table 1 prints 500 units per layer; here {widths[0]} and {widths[1]}.")
    figure, data = figure_of("universality", "fig15_adam")
    fits, runs = data["adam_fits"], data["adam_runs"]
    assert f"Right: $R^2$ of all {fits.sizes['seed']} trials" in figure.repdyn["caption"]
    assert figure.repdyn["caption"].endswith(f"the run here is {int(runs['epoch'].max()) + 1} epochs.")
    for rate in fits["rate"].values:
        assert (
            f"{number(np.median(fits['r2'].sel(rate=rate, curve='w')))} (Adam {float(rate):g})"
            in figure.repdyn["caption"]
        )
    descent = np.median(data["architecture_fits"]["r2"].sel(network="default", curve="w"))
    assert f"{number(descent)} (descent)." in figure.repdyn["caption"]


def test_figure_2_counts_the_trials_that_did_not_converge_and_figure_3_those_without_rates():
    data = made_up("universality", "fig2_architectures")
    fits = data["architecture_fits"]
    fits["converged"][:] = 1
    fits["converged"].loc[{"network": "tanh", "seed": fits["seed"][:3]}] = 0
    caption, _ = caption_of("universality", "fig2_architectures", data)
    assert f"({fits.sizes['seed']} trials each, 3 of tanh did not converge)" in caption
    caption, data = caption_of("universality", "fig3_initial_weights")
    fits = data["architecture_fits"]
    names = [name for name in ("low", "default", "intermediate", "high", "very_high") if name in fits["network"].values]
    shares = ", ".join(f"{float(fits['at_bound'].sel(network=name).mean()):.0%}" for name in names)
    assert f"by gain: {shares}." in caption
    half = [fits.sel(network=name) for name in names]
    times = ", ".join(
        "none" if int(own["shown"]) < 0 else f"{float(own['half'][int(own['shown'])]):.0f}" for own in half
    )
    assert f"half of $dy^2$: {times}." in caption


def test_figure_12_tells_the_least_and_the_largest_median_share_that_is_not_explained():
    figure, data = figure_of("universality", "fig12_training_loss")
    fits = data["architecture_fits"]
    medians = sorted(1 - np.median(fits["pair_r2"].sel(network=name)) for name in FIGURE_2)
    assert f"leaves {medians[0]:.1%} to {medians[-1]:.1%} of the fall" in figure.repdyn["title"]


def test_figure_5_counts_trials_and_names_the_range_of_distances():
    caption, data = caption_of("universality", "fig5_final_distances")
    ends = data["final_predictions"]
    assert (
        f"one of {ends.sizes['dx']} x {ends.sizes['dy']} pairs of distances ({ends.sizes['seed']} trials each)"
        in caption
    )
    assert f"$dy$ from {float(ends['dy'].min()):g} to {float(ends['dy'].max()):g}." in caption
    caption, data = caption_of("universality", "n2_final_distribution")
    laws = data["final_distribution"]
    assert caption.startswith(f"{int(laws['draws'])} draws of the initial ratios at $G$ = {float(laws['gain'][0]):g}, ")


def test_medians_of_pairs_of_digits_are_over_networks_and_pairs():
    caption, data = caption_of("universality", "fig4_digit_pairs")
    pairs = data["digit_pairs"]
    for kind, words in (("dissimilar", "digits 0 and 1"), ("similar", "digits 3 and 8"), ("same", "two images of 0")):
        r2 = pairs["r2"].sel(kind=kind, weighting="equation (49)")
        told = [np.median(r2.sel(curve=curve)) for curve in "hyw"]
        assert f"{words} " + ", ".join(f"{value:.2f}" if value > -10 else "<-10" for value in told) in caption
    assert f"over {pairs.sizes['trial']} networks and {pairs.sizes['pair']} pairs:" in caption


def test_each_moment_of_two_points_tells_its_numbers_and_its_epoch():
    """Two digits, nearly nothing as 0; half way is where the output's length is half of its last."""
    data = made_up("universality", "fig1_two_points")
    fits = data["default_network_fits"]
    frames = fits.sizes["epoch"]
    y = np.full(frames, 0.99)
    y[[0, -1]], y[frames // 2 :] = (1e-9, 4.0), 4.0
    y[frames // 2 - 1] = 1.01
    curves = {"h": np.linspace(0.123, 2, frames), "y": y, "w": np.linspace(-0.5, 5e-7, frames)}
    for name, values in curves.items():
        fits["shown_curves"].loc[{"source": "network", "curve": name}] = values
    fits["shown"][...] = 3
    figure = drawn("universality", "fig1_two_points", data)
    middle = frames // 2 - 1
    for panel, frame, word in zip(figure.axes, (0, middle, frames - 1), ("start", "half way up", "end"), strict=True):
        told = {name: "0" if abs(values[frame]) < 1e-6 else f"{values[frame]:.2g}" for name, values in curves.items()}
        assert panel.texts[-1].get_text() == "\n".join(f"${name}$ = {number}" for name, number in told.items())
        assert panel.get_title().endswith(f"{word}, epoch {int(fits['epoch'][frame])}")
    assert [panel.texts[-1].get_text().count(" = 0\n") for panel in figure.axes] == [1, 0, 0]
    assert figure.axes[-1].texts[-1].get_text().endswith("$w$ = 0")
    assert "(trial 3)" in figure.repdyn["caption"]
    fits["shown"][...] = -1
    with pytest.raises(NotEnoughDataError, match=f"a converged trial of .* network of {int(fits['units'])} units"):
        drawn("universality", "fig1_two_points", data)


# truncation_flow


def test_captions_of_truncation_tell_the_times_of_cluster_1():
    caption, data = caption_of("truncation_flow", "truncation_in_the_plane")
    clusters = data["truncation_in_the_plane"].sel(dimension=2)
    moments = clusters["moment"].values
    assert f"$s$ = {moments[1]:.2g} and {moments[3]:.2g} are a quarter and all" in caption
    assert f"Two clusters of {clusters.sizes['point']} points" in caption
    caption, data = caption_of("truncation_flow", "proposition")
    flows = data["proposition"]
    for name, words in (("eta_2", "the bounds $\\eta_2$, "), ("rotation", "the rotation ends at ")):
        values = flows[name].isel(time=-1) if "time" in flows[name].dims else flows[name]
        told = " and ".join(f"{float(value):.2g}" for value in values)
        assert words + told in caption
    assert f"$\\gamma$ = {float(flows['gamma']):g} (blue)" in caption
    caption, data = caption_of("truncation_flow", "gradient_audit")
    audit, dims = data["gradient_audit"], data["gradient_audit"]["dimension"].values
    assert f"over {audit.sizes['draw']} random draws for each $Q$ from {dims.min()} to {dims.max()}," in caption
    assert f"over {data['propagators'].sizes['seed']} starts" in caption


# across_papers


def test_an_odd_point_is_one_above_the_solid_line_that_the_caption_names():
    figure, data = figure_of("across_papers", "odd_points")
    batch = data["odd_batch"]
    assert "there above the solid line, at 2;" in figure.repdyn["caption"]
    for panel, kind in zip(figure.axes, batch["network"].values, strict=True):
        levels = [line for line in panel.lines if line.get_transform() != panel.transData]
        assert [set(line.get_ydata()) for line in levels if line.get_linestyle() == "-"] == [{2}]
        learned = int((batch["learned"].sel(network=kind) == 1).sum())
        assert panel.get_xlabel() == f"layer; {learned} learned"
        assert panel.get_yscale() == "log"


# words and colors


SAID = [  # figure, color in its caption, label of what is drawn in it
    ("bn_mean_field", "speeds_over_targets", "the $x_1$ axis (blue)", "within 15 degrees", BLUE),
    ("bn_mean_field", "speeds_over_targets", "nearer to either axis (orange)", "nearer to either", ORANGE),
    ("bn_mean_field", "global_minimum", "Blue: starts that separate", "separates", BLUE),
    ("bn_mean_field", "global_minimum", "orange-red: starts that do not", "does not separate", RED),
    ("bn_decomposed", "thm11_limits", "Orange-red, dashed: bounds as printed", "bound as printed", RED),
    ("bn_decomposed", "thm11_limits", "blue: the best possible", "best possible bound", BLUE),
    ("truncation_flow", "printed_and_corrected", "Blue: corrected weight flow", "corrected", BLUE),
    ("truncation_flow", "printed_and_corrected", "orange-red: as printed", "printed", RED),
    ("truncation_flow", "gradient_audit", "Orange-red: as printed", "wrong as printed", RED),
    ("truncation_flow", "gradient_audit", "corrected form (blue)", "right: as corrected, or as printed", BLUE),
    ("truncation_flow", "proposition", "(blue), and data that break (4.16)", "$Q$ = 2, hypotheses met", BLUE),
    ("truncation_flow", "proposition", "data that break (4.16) (orange-red)", "$Q$ = 3, (4.16) broken", RED),
    ("universality", "n1_phase_plane", "stable node with its eigenvectors (green", "stable node", GREEN),
    ("universality", "n1_phase_plane", "with its directions (orange-red", "saddle", RED),
    ("universality", "n6_fit_losses", "orange-red: the single number", "published", RED),
    ("universality", "fig9_structure", "two digits (blue dots)", "two digits", BLUE),
    ("universality", "fig9_structure", "of one (orange squares)", "one digit", ORANGE),
    ("universality", "fig12_training_loss", "blue, filled: whole loss", "whole loss", BLUE),
    ("universality", "fig12_training_loss", "orange-red, open: loss less", "fall from the plateau", RED),
]


@pytest.mark.parametrize(("study", "name", "words", "label", "color"), SAID)
def test_a_color_named_in_a_caption_is_that_of_what_it_names(study, name, words, label, color):
    figure, _ = figure_of(study, name)
    assert words in " ".join(figure.repdyn["caption"].split())
    lines = [line for panel in figure.axes for line in named(panel, label)]
    assert lines
    assert {to_hex(line.get_color()) for line in lines} == {color.lower()}


def test_legends_of_two_points_name_the_curves_in_their_own_colors():
    for name in ("fig2_architectures", "fig3_initial_weights", "fig15_adam"):
        data = made_up("universality", name)
        for part in data.values():
            if "shown" in part:
                part["shown"][:] = 0
        figure, _ = figure_of("universality", name, data)
        (legend,) = figure.legends
        entries = [
            (text.get_text(), line.get_color())
            for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
        ]
        assert entries == [("$h = \\|dh\\|^2$", BLUE), ("$y = \\|dy\\|^2$", RED), ("$w$", GREEN), ("theory", BLACK)]


@pytest.mark.parametrize("name", ["fig1b_spectra", "fig2a_test_error"])
def test_lengths_of_training_of_leaky_networks_are_beside_the_papers_two(name):
    caption, _ = caption_of("leaky_resnets", name)
    assert "steps of Adam" in caption
    assert "5000 epochs of Adam, then usually 1000 of SGD" in caption
