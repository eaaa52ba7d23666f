"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import numpy as np
import pytest
import xarray as xr
from tests.noted import data_of, note_of

from repdyn.universality.claims.default_network import _from

STUDY = "universality"
WEIGHINGS = ("equation (49)", "by variance")


def noted(id, data=None, **how):
    data = data or data_of(STUDY, id, **how)
    return note_of(STUDY, id, data), *data.values()


def named(id, name):
    """The note and one dataset, of several."""
    data = data_of(STUDY, id)
    return note_of(STUDY, id, data), data[name]


# two points


def test_converged_trials_are_counted_by_network():
    note, fits = named("uni-b1-converge", "architecture_fits")
    counts = [f"{name} {int(fits['converged'].sel(network=name).sum())}" for name in fits["network"].values]
    assert note == f"Converged of {fits.sizes['seed']}: {', '.join(counts)}."


def test_the_printed_data_set_is_told_by_its_converged_trials_and_loss():
    note, printed = named("uni-e6-data", "printed_data_fits")
    counts = [f"{name} {int(printed['converged'].sel(network=name).sum())}" for name in printed["network"].values]
    assert f"of {printed.sizes['seed']} each: {', '.join(counts)}." in note
    assert f"squared loss of {np.nanmedian(printed['fit_loss'].sel(network='default')):.2g}," in note


def test_fits_with_adam_are_means_over_seeds_by_rate():
    note, fits = named("uni-fig15-adam", "adam_fits")
    for rate in fits["rate"].values:
        means = [f"{float(fits['r2'].sel(rate=rate, curve=curve).mean()):.2f}" for curve in "hyw"]
        assert f"{rate}: {', '.join(means)}" in note


def test_fits_without_rates_are_told_from_the_smallest_gain_to_the_largest():
    note, fits = named("uni-fig3-init", "architecture_fits")
    shares = [
        float(fits["at_bound"].sel(network=name).mean())
        for name in ("low", "default", "intermediate", "high", "very_high")
    ]
    assert note == "share of fits without rates, by gain: " + ", ".join(f"{share:.2f}" for share in shares)


def test_residuals_of_the_loss_are_medians_over_seeds():
    note, fits = named("uni-fig12-loss", "architecture_fits")
    for name in fits["network"].values:
        assert f"{name} {np.nanmedian(fits['loss_residual'].sel(network=name)):.2g}" in note


def test_the_ratio_of_gains_is_that_of_the_wide_networks():
    note, wide = named("uni-eq14-gain", "default_network_fits")
    ratio = float(wide["layer_gain"].mean()) / float(wide["layer_gain_theory"])
    assert f"At {int(wide['units'])} units the ratio is {ratio:.3f}." in note


def test_dynamics_altered_as_in_51_are_counted_where_they_fit_worse_at_the_larger_width():
    note, wide = named("uni-fig11-alt", "default_network_fits")
    loss = wide["alternative_loss"]
    for name in wide["alternative"].values:
        if name != "theory":
            worse = int((loss.sel(alternative=name) > loss.sel(alternative="theory")).sum())
            assert f"{name} {worse} of {loss.sizes['seed']}" in note
    medians = ", ".join(f"{name} {np.median(loss.sel(alternative=name)):.3g}" for name in wide["alternative"].values)
    assert f"{int(wide['units'])} units: {medians}" in note


def test_rates_of_earlier_layers_come_with_the_mean_of_their_fits():
    note, fits = named("uni-s52-early", "default_ensemble_fits")
    first = fits["r2"].isel(layer=slice(None, fits.sizes["layer"] // 2)).values
    assert note.endswith(f"mean $R^2$ {first.mean():.2f}.")


def test_accuracy_of_both_halves_of_the_layers_at_the_larger_width():
    note, wide = named("uni-fig10-depth", "default_network_fits")
    half = wide.sizes["layer"] // 2
    r2 = wide["r2"].transpose("layer", "seed", "curve").values.mean(axis=2)
    first, second = r2[:half].mean(), r2[half:].min(axis=0).mean()  # of the second half the worst layer
    assert f"At {int(wide['units'])} units: " in note
    assert f"second half {second:.3g}" in note
    assert f"first half {first:.3g}" in note


@pytest.mark.parametrize(
    ("accurate", "words"),
    [
        ([], "In the last layer the mean $R^2$ is not 0.8 or more."),
        ([0, 1], "In the last layer the mean $R^2$ is not 0.8 or more."),
        ([0, 2, 3], "From layer 2 on the mean $R^2$ is 0.8 or more."),
        ([0, 1, 2, 3], "From layer 0 on the mean $R^2$ is 0.8 or more."),
    ],
    ids=str,
)
def test_layers_are_accurate_from_the_first_of_the_last_that_are(accurate, words):
    fits = xr.Dataset({"r2": (("layer", "seed", "curve"), np.full((4, 2, 3), 0.5))}, {"layer": range(4)})
    fits["r2"][{"layer": accurate}] = 0.9
    assert _from(fits) == words


def test_deviations_of_lines_that_hold_are_the_largest():
    for id, equation in (("uni-eq17-grad", "(17) middle"), ("uni-eq38-40-identical", "(37), (38)")):
        note, audit = named(id, "formula_audit")
        assert note.endswith(f"{float(audit['printed'].sel(equation=equation).max()):.1e}")


def test_final_distances_are_told_by_their_correlation_and_both_exponents():
    note, ends = named("uni-fig5-final", "final_predictions")
    assert f"Target distances from {float(ends['dy'].min()):g} on, {int(ends['units'][0])} units" in note
    for name in ends["network"].values:
        row = ends.sel(network=name)
        powers = [float(power) for power in row["exponent"].values]
        assert (
            f"{name}: $r$ {float(row['correlation']):.2f} ($dy$ alone {float(row['correlation_dy']):.2f}), "
            f"exponents $dx$ {powers[0]:.2f}, $dy$ {powers[1]:.2f}, dropped {int(row['dropped'])}"
        ) in note


# digits


def medians(pairs, kind):
    told = []
    for weighting in WEIGHINGS:
        r2 = pairs["r2"].sel(kind=kind, weighting=weighting)
        told.append(f"{weighting} " + ", ".join(f"{np.median(r2.sel(curve=curve)):.2f}" for curve in "hyw"))
    return "; ".join(told)


def test_pairs_of_digits_have_their_medians():
    note, pairs = named("uni-fig4-mnist", "digit_pairs")
    loss = pairs["fit_loss"].sel(kind="dissimilar", weighting="equation (49)").values
    assert f"over {loss.size} pairs: {medians(pairs, 'dissimilar')}. " in note
    assert f"(49) {loss.min():.0f} to {loss.max():.0f}, dominated" in note
    assert note.endswith(f"Images of one digit: {medians(pairs, 'same')}.")
    note, pairs = named("uni-fig4-similar", "digit_pairs")
    assert note == f"Medians for 3 and 8, $h, y, w$: {medians(pairs, 'similar')}."


@pytest.mark.parametrize("id", ["uni-fig9-labels", "uni-fig9-pearson"])
def test_correlations_are_told_of_descent_in_total_and_between_classes(id):
    note, structure = named(id, "representational_structure")
    for name in ("weighed (50)", "class mean", "pair alone"):
        pair = [
            float(structure["correlation_of_mean"].sel(run="sgd", prediction=name, part=part))
            for part in ("all entries", "between classes")
        ]
        assert f"{name} {pair[0]:.3f}/{pair[1]:.3f}" in note
    before = structure["correlation_of_mean_untrained"]
    for name, words in (("weighed (50)", "against (50)"), ("pair alone", "against the pair alone")):
        pair = [float(before.sel(prediction=name, part=part)) for part in ("all entries", "between classes")]
        assert f"{words} {pair[0]:.3f}/{pair[1]:.3f}" in note


def test_the_best_length_scale_is_that_of_the_largest_correlation_under_descent():
    note, structure = named("uni-fig9-weighing", "representational_structure")
    by_scale = structure["correlation_by_scale"].sel(run="sgd", part="all entries").values
    best = float(structure["scale"].values[by_scale == by_scale.max()][0])
    assert note.endswith(f"at a length of {best:g} times the mean prediction: {by_scale.max():.3f}.")
    mean = structure["correlation_of_mean"].sel(run="sgd", part="between classes")
    gain = float(mean.sel(prediction="weighed (50)") - mean.sel(prediction="pair alone"))
    assert f"the difference is {gain:+.3f}." in note


def test_violations_and_accuracy_are_told_as_stored():
    note, structure = named("uni-b4-triangle", "representational_structure")
    shares = structure["triangle_violations"]
    words = ", ".join(
        f"{name} {100 * float(shares.sel(prediction=name)):.2g} %" for name in structure["prediction"].values
    )
    assert note.startswith(f"Violated: {words}. Images: ")
    data = data_of(STUDY, "uni-fig18")
    accuracy = data["representational_structure"]["accuracy"]
    accuracy[:] = np.linspace(0.1, 0.9, accuracy.size).reshape(accuracy.shape) ** 2
    note, structure = noted("uni-fig18", data)
    assert f"Training accuracy {float(structure['accuracy'].sel(run='adam').mean()):.3f}." in note


def test_taylor_ratios_change_from_the_nearest_to_the_farthest_bin():
    note, ratios = named("uni-fig14-taylor", "taylor_ratios")
    logs = np.log10(ratios["ratio"].transpose("look", "map", "network", "bin"))
    for look, passes in enumerate(ratios["look"].values):
        change = {
            kind: float((logs.sel(map=kind)[look, :, -1] - logs.sel(map=kind)[look, :, 0]).mean())
            for kind in ("encoder", "decoder")
        }
        assert f"pass {passes} (" in note
        assert f"{change['encoder']:+.2f} encoder, {change['decoder']:+.2f} decoder" in note


# XOR and blobs


def learned_alone(id, some):
    """All runs have learned but the first trials of some."""
    data = data_of(STUDY, id)
    nets = next(iter(data.values()))
    nets["learned"][:] = 1
    for run, few in some.items():
        nets["learned"].loc[{"run": run, "trial": nets["trial"][:few]}] = 0
    return note_of(STUDY, id, data), nets


def test_growth_of_distances_is_a_median_over_networks_that_have_learned():
    note, nets = learned_alone("uni-fig6-xor", {"low": 2, "relu_low": 1})
    low, relu = nets.sel(run="low").isel(trial=slice(2, None)), nets.sel(run="relu_low").isel(trial=slice(1, None))
    equal, apart = (np.median(low[name].values) for name in ("growth_equal", "growth_apart"))
    trials = nets.sizes["trial"]
    assert f"{trials - 2} of {trials} networks have learned." in note
    assert f"equal targets grow {equal:.1f} times (median), those at unequal targets {apart:.0f} times." in note
    both = int((relu["merged"].transpose("trial", "pair").values < 0.25).all(axis=1).sum())
    assert f"{both} of {trials} merge both pairs." in note


def test_nothing_merges_at_large_weights_and_what_happens_in_between():
    note, nets = learned_alone("uni-fig6-high", {"high": 1, "intermediate": 3})
    high, between = (
        nets.sel(run="high").isel(trial=slice(1, None)),
        nets.sel(run="intermediate").isel(trial=slice(3, None)),
    )
    merged = [np.median(between["merged"].isel(pair=pair)) for pair in (0, 1)]
    assert f"they grow {np.median(high['growth_apart']):.2f} times." in note
    assert f"the ratios are {merged[0]:.2f} and {merged[1]:.2f} (medians): " in note
    assert f"distances grow {np.median(between['growth_apart']):.1f} times." in note


def test_sizes_of_distances_are_means_by_run():
    note, nets = learned_alone("uni-fig6-theory", {"low": 1})
    for run, first in (("low", 1), ("intermediate", 0), ("high", 0)):
        assert f"{float(nets['scale'].sel(run=run)[first:].mean()):.2f} ({run})" in note
    assert rf"$\rho$ = {float(nets['rho']):.3g}." in note


def test_two_layers_are_told_by_their_epochs_and_largest_loss():
    note, nets = named("uni-fig6-two-layers", "xor_structure")
    run = nets.sel(run="two_layers")
    assert note.startswith(f"After {int(run['epochs'])} epochs, loss at most {float(run['loss'].max()):.1g};")


@pytest.mark.parametrize(
    ("id", "told"),
    [
        ("uni-fig13", [("very_low", "collapse", "$C$ is {} at very small")]),
        ("uni-fig17", [("adam_low", "between", "squared distance {} of")]),
        ("uni-fig8-blobs", [("low", "between", "squared distance {} of"), ("leaky_low", "between", "tanh, it is {}:")]),
        ("uni-fig8-universal", [("leaky_low", "between", "distance is {} of"), ("low", "between", "with tanh {}.")]),
        (
            "uni-c3-cause",
            [
                ("low", "between", "along the target {},"),
                ("bright", "between", "with bright images {},"),
                ("very_low", "between", "{} at very small weights"),
            ],
        ),
    ],
)
def test_blobs_are_told_run_by_run(id, told):
    data = data_of(STUDY, id)
    blobs = data["blob_structure"]
    for name in ("typical_collapse", "typical_between"):
        blobs[name][:] = 0.011 + 0.1 * np.arange(blobs.sizes["run"]) + (name == "typical_between") / 20
    note, *_ = noted(id, data)
    for run, name, words in told:
        assert words.format(f"{float(blobs[f'typical_{name}'].sel(run=run)):.2g}") in note


def test_bright_images_are_as_far_apart_as_their_brightness_makes_them():
    note, blobs = named("uni-c3-cause", "blob_structure")
    along = float(blobs["input_along"]) * float(blobs["brightness"].sel(run="bright"))
    assert f"up to {along:.2f} apart, contexts {float(blobs['input_between']):.2f};" in note
