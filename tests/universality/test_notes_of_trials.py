"""Notes of claims on networks of which some did not converge, learn or get rates: which are counted, by which numbers.

Worlds are those of the borders, with numbers of their own for every network that must not count.
"""

import numpy as np
import pytest
from scipy import stats
from tests.universality import test_borders_data_sets as data_sets
from tests.universality import test_borders_default_network as default
from tests.universality import test_borders_two_points as two_points
from tests.universality.test_claims import large_starts

from repdyn.universality.claims import plateaus, random_features
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

CLAIMS = default.CLAIMS
N = two_points.N
LOST = np.arange(N) < 3  # trials that do not count


def interval(logs):
    """Student's interval of a geometric mean at a false alarm of 0.001, in words."""
    half = stats.t.ppf(0.9995, logs.size - 1) * logs.std(ddof=1) / np.sqrt(logs.size)
    low, middle, high = np.exp(logs.mean() + half * np.array([-1, 0, 1]))
    return f"geometric mean {middle:.3g}, 99.9 % interval [{low:.3g}, {high:.3g}]"


# two points


def test_waits_are_means_of_the_networks_that_converged():
    changes = {name: np.where(LOST, 9.0, wait) for name, wait in zip(FIGURE_3, (2.5, 1.5, 0.7, 0.4, 0.2), strict=True)}
    fits, runs = two_points.waits(**changes)
    fits["converged"][:4, LOST] = 0
    fits["converged"][4] = 0
    fits["loss_r2"][:] = 0.1
    fits["loss_r2"][0], fits["loss_r2"][1] = 0.97, 0.93
    fits["loss_r2"][1, 5] = 0.91
    note = CLAIMS["uni-fig3-loss"](fits, runs).note
    assert note == (
        "Mean wait over fall, by gain: 2.5, 1.5, 0.7, 0.4, none. The fitted (9) explains 0.91 of the loss and more "
        "there."
    )


def test_plateaus_of_networks_that_did_not_converge_do_not_count():
    fits, runs = two_points.paths()
    slow = two_points.paths(dict.fromkeys(two_points.LARGE, (0.1, 200.0)))[1]
    fits, runs = (data.assign_coords(seed=np.arange(N)) for data in (fits, runs))
    runs = runs.where((runs["seed"] >= 3) | (runs["dy2"] == 0), slow.assign_coords(seed=np.arange(N)))
    outcomes = []
    for kept in (1, 0):
        fits["converged"][3:, LOST] = kept
        outcomes.append(plateaus._disappears(fits, runs).outcome)
    assert outcomes[0] != "passes"
    assert outcomes[1] == "passes"


def test_final_distances_and_those_of_the_theory_are_of_the_networks_that_converged():
    """The theory by (10) written out, with the geometric mean of the ratios of the default network's rates."""
    fits, runs = (data.copy(deep=True) for data in two_points.left_over(0.1))
    fits["converged"][0, [0, 4]] = 0
    fits["eta_h"][1] = np.where(LOST, np.nan, 1e-3 * np.exp(np.arange(N) - 7))  # the mean of the exponents is 0
    runs["y"][0, :, 0], runs["dx2"][0] = 0.3, 4.0
    kept = [1, 2, 3, *range(5, N)]
    h = runs["h"].values[0, kept]
    np.testing.assert_array_equal(random_features.final_distances(fits, runs, FIGURE_3[0]), h[:, -1])
    high, low2 = h[:, 0] - 1e-3 * 4.0 * 0.3 / h[:, 0], 1e-3 * 4.0 * 0.5
    theory = random_features.from_the_starts(fits, runs, FIGURE_3[0])
    np.testing.assert_allclose(theory, high / 2 + np.sqrt(high**2 / 4 + low2), rtol=1e-9)


def test_spreads_of_final_distances_are_told_gain_by_gain():
    fits, runs = two_points.spreads(two_points.SLOPE)
    runs["h"][1, 0, -1], fits["converged"][1, 0] = 5.0, 0
    fits["converged"][4, 1:] = 0  # one network has no spread
    told = []
    for row, gain in enumerate(runs["gain"].values[:4]):
        ends = runs["h"].values[row, fits["converged"].values[row] == 1, -1]
        told.append(f"{np.std(np.log(ends), ddof=1):.2g} at {gain:g}")
    note = CLAIMS["uni-a6-networks"](fits, runs).note
    assert note == f"Standard deviation of the log of the squared final distance: {', '.join(told)}."


def test_who_is_judged_and_who_is_dropped_is_told():
    """Nine of twelve are too few; a network without a drop is not listed among those that have some."""
    fits, runs, ensemble = two_points.architectures(
        converged={"default": np.arange(N) < 11, "swish": np.arange(N) < 9, "very_high": np.zeros(N)}
    )
    judged = ", ".join(name for name in FIGURE_2 if name != "swish")
    words = f"decided on: {judged}; not converged and dropped, of {N} each: 1 of default, 3 of swish; "
    note = CLAIMS["uni-fig2-fit"](fits, runs, ensemble).note
    assert words + "too few to decide: swish" in note
    (losses,) = two_points.training_loss()
    losses["converged"] = fits["converged"]
    losses["loss_residual"][0] = np.arange(N) ** 2.0
    note = CLAIMS["uni-fig12-loss"](losses).note
    assert words + "too few to decide: swish" in note
    assert f"over epochs: {two_points.ROWS[0]} {np.median(np.arange(N) ** 2.0):.2g}, " in note


def test_matched_curves_are_told_by_widths_and_means():
    fits, runs, ensemble = two_points.architectures()
    runs["units"][:] = np.arange(70, 70 + runs.sizes["network"])
    of_w = np.linspace(0.3, 0.9, len(two_points.ROWS))
    fits["r2"][..., 2] = of_w[:, None] + np.where(np.arange(N) == 0, 0.12, 0.0)
    ensemble["alternative_r2"][1] = [0.5, 0.6, 0.7]
    ensemble["alternative_r2"][1, 0] = [0.5, 0.6, 1.3]
    note = CLAIMS["uni-fig2-fit"](fits, runs, ensemble).note
    assert note.startswith(f"70 to {69 + runs.sizes['network']} units; mean $R^2$ of $w$: ")
    told = ", ".join(f"{name} {mean + 0.01:.2f}" for name, mean in zip(two_points.ROWS, of_w, strict=True))
    assert f"of $w$: {told}; of $h, y, w$ of the default network under (51): " in note
    assert "theory 0.90, 0.90, 0.90; square 0.50, 0.60, 0.75; " in note


# default network


def test_altered_dynamics_are_compared_where_both_were_fitted():
    wide, narrow = (data.copy(deep=True) for data in default.losses(factor_two_in_h=default.near(-1.0)))
    loss = wide["alternative_loss"]
    loss[0, 0] = np.nan
    loss[1:, 1] = 2 * loss[0, 1]
    loss[2, 2] = np.nan
    note = CLAIMS["uni-fig11-alt"](wide, narrow).note
    names = loss["alternative"].values
    ratio = np.nan_to_num(loss.values[1:] / loss.values[0])
    finite = np.isfinite(loss.values[1:] / loss.values[0])
    told = [
        f"{name} {(row > 1).sum()} of {known.sum()}" for name, row, known in zip(names[1:], ratio, finite, strict=True)
    ]
    assert f"worse than the theory at 500 units: {', '.join(told)}; median fit loss, 500 units: " in note
    assert "in place of the square: -1, 99.975 % interval [-1, -1], fails; worse" in note  # one of four parts
    medians = [
        ", ".join(f"{n} {np.nanmedian(row):.3g}" for n, row in zip(names, fits["alternative_loss"].values, strict=True))
        for fits in (wide, narrow)
    ]
    assert note.endswith(f"median fit loss, 500 units: {medians[0]}; 100 units: {medians[1]}")


def test_the_best_layer_is_told_of_widths_that_were_fitted_in_every_layer():
    wide, narrow = (data.copy(deep=True) for data in default.depth())
    layers = np.arange(20)
    narrow["fit_loss"][:] = (7.0 + (layers - 13) ** 2)[:, None] * np.where(np.arange(N) < 3, 50.0, 1.0)
    wide["fit_loss"][:] = narrow["fit_loss"].values / 2
    end = "accuracy does not rise: median fit loss, "
    words = "{} units: {:.3g} in the first layer, least {:.3g} in layer 13, {:.3g} in the last"
    of_narrow = words.format(100, 7 + 13**2, 7, 7 + 36)
    both = f"{words.format(500, (7 + 13**2) / 2, 3.5, (7 + 36) / 2)}; {of_narrow}"
    assert CLAIMS["uni-fig10-depth"](wide, narrow).note.endswith(end + both)
    wide["fit_loss"][5] = np.nan
    assert CLAIMS["uni-fig10-depth"](wide, narrow).note.endswith(end + of_narrow)


def test_powers_over_widths_are_of_as_many_networks_as_both_have():
    """Of twelve narrow networks one has no rates in a layer, and the two that the wide ones lack have others."""
    powers = {"encoder_depth": 0.4, "encoder_width": 1.7, "decoder_depth": -0.6, "decoder_width": 2.2}
    wide, narrow = default.powers(**powers)
    for rate in default.RATES:
        narrow[rate][15, 0] = np.nan
    fewer = wide.isel(seed=slice(0, N - 2))
    note = CLAIMS["uni-s52-parameters"](fewer, narrow).note
    told = "encoder with depth 0.40, encoder with width 1.70, decoder with depth -0.60, decoder with width 2.20"
    assert note.startswith(f"Mean powers: {told}. ")


def test_inputs_at_a_right_angle_are_told_by_their_geometric_mean():
    wide, narrow, xor = default.gains()
    factor = np.where(np.arange(N) < 6, 0.1, 1.6)
    xor["h"][0, :, 0, 1, 2] = default.START * 2 * factor  # dx^2 is 2
    note = CLAIMS["uni-eq14-gain"](wide, narrow, xor).note
    assert "Inputs at a right angle are 0.4 times as far apart as others at the same distance." in note


def test_a_start_that_waits_at_the_saddle_is_told_from_the_smallest_scale_to_the_largest():
    data = large_starts([4 * np.log(s) + 1 for s in (10, 100, 1000)], np.log(9))
    times = data["learning_time"].sel(direction="across it").values[0]
    note = CLAIMS["uni-a5-decay"](data).note
    assert f"the time grows from {times[0]:.3g} to {times[-1]:.3g} epochs over these scales." in note


# digits


def test_growth_of_one_digit_is_told_over_that_of_two():
    growth = np.exp(0.1 * np.arange(N) - 1)
    (data,) = data_sets.pairs(growth=growth)
    data["growth"][1] = data["growth"][0] ** 0.5
    note = CLAIMS["uni-fig4-same"](data).note
    logs = (0.1 * np.arange(N) - 1) / 2
    assert note == f"The growth over that of a zero and a one: {interval(logs)}."


def test_the_table_of_labels_is_told_by_its_values_and_the_spread_within_a_pair():
    (data,) = data_sets.structure()
    note = CLAIMS["uni-fig9-table"](data.assign(pair_spread=0.1234, table_values=44)).note
    assert note.startswith("44 different values: 45 pairs of classes and 0. ")
    assert note.endswith("spreads by 0.12 within a pair of classes.")


def test_a_constant_prediction_has_no_correlation_to_tell():
    (data,) = data_sets.structure()
    data["correlation_of_mean"].loc[{"prediction": "labels alone", "part": "between classes"}] = np.nan
    note = CLAIMS["uni-fig9-labels"](data).note
    assert "weighed (50) 0.703/0.512, pair alone 0.503/0.312, labels alone 0.503/none;" in note


def test_ratios_after_one_epoch_are_told_by_the_nearest_look_and_the_growth_until_then():
    (data,) = data_sets.taylor(epochs=(0.0, 0.9, 30.0, 190.0))
    data["distance"][0], data["distance"][3] = 2.0, 90.0
    data["distance"][1] = 2.0 * np.linspace(1, 4, N)[:, None]
    note = CLAIMS["uni-fig14-first-epoch"](data).note
    assert note.startswith("Nearest look: 0.9 of the paper's epochs, images: mnist. ")
    assert "have grown 2.50 times by then." in note


def test_ratios_away_from_30_epochs_say_where_they_were_stored():
    (data,) = data_sets.taylor(epochs=(0.0, 1.0, 23.0, 190.0))
    parts = CLAIMS["uni-fig14-taylor"](data).printed.parts
    assert {test.measured for test in parts.values()} == {"stored at 23 epochs"}
    assert {test.reason for test in parts.values()} == {"not at 30 epochs"}
    assert {test.outcome for test in parts.values()} == {"undecided"}


# XOR and blobs


def spread(data, name, **sizes):
    """The variable with a value for every run and trial of its own; of trials that have not learned 1000."""
    runs, trials = data.sizes["run"], data.sizes["trial"]
    values = np.linspace(0.1, 0.9, runs)[:, None] * (1 + 0.5 * (np.arange(trials) == trials - 1))
    data["learned"][:, 0] = 0
    values[:, 0] = 1000.0
    data[name][:] = values if data[name].ndim == 2 else values[..., None] * np.array([1.0, 1.3])
    return data[name].isel(trial=slice(1, None))


def test_the_least_loss_as_printed_is_that_of_the_printed_settings():
    data = data_sets.xor(data_sets.UNLEARNED)
    data["loss"][data_sets.RUNS.index("low_as_printed")] = 0.25 - 0.0123 * (np.arange(N) == 4)
    assert CLAIMS["uni-fig6-settings"](data).note == "Least loss as printed: 0.2377 of the plateau's 0.25."


def test_networks_that_merge_both_pairs_are_closer_than_a_quarter_in_both():
    data = data_sets.xor()
    merged = data["merged"][data_sets.RUNS.index("relu_low")]
    merged[:] = 0.249
    merged[:3, 0], merged[2:4, 1] = 0.251, 0.4
    assert (
        f"With ReLU, as in the authors' notebook, {N - 4} of {N} merge both pairs." in CLAIMS["uni-fig6-xor"](data).note
    )


@pytest.mark.parametrize("id", ["uni-fig6-theory", "uni-fig16"])
def test_starting_distances_are_told_of_the_networks_that_have_learned(id):
    data, more = data_sets.xor(), [data_sets.scan()] * (id == "uni-fig16")
    starts = spread(data, "match_at_start")
    prefix = "adam_" * (id == "uni-fig16")
    means = [float(starts.sel(run=f"{prefix}{scale}").mean()) for scale in ("low", "intermediate", "high")]
    told = ", ".join(f"{mean:.2f}" for mean in means)
    assert f"Starting distances correlate with (10) at {told}; at large" in CLAIMS[id](data, *more).note


def test_what_adam_does_is_told_of_the_networks_that_have_learned():
    data, scan = data_sets.xor(), data_sets.scan()
    scales, matches, merged = (spread(data, name) for name in ("scale", "match", "merged"))
    found = spread(scan, "match")
    note = CLAIMS["uni-fig16"](data, scan).note
    assert f"at small weights are {float(scales.sel(run='adam_low').mean()):.1f} times those of (10)" in note
    between, two = (
        ", ".join(f"{np.median(merged.sel(run=run).isel(pair=pair)):.2f}" for pair in (0, 1))
        for run in ("adam_intermediate", "adam_two_layers")
    )
    match = float(matches.sel(run="adam_intermediate").mean())
    assert f"the match is {match:.2f} and equal targets are at {between} of unequal ones" in note
    assert f"merge no pair (ratios {two}). " in note
    told = ", ".join(f"{float(found.sel(run=run).mean()):.2f} ({run})" for run in scan["run"].values)
    assert f"Match over the scan: {told}. " in note


def test_contexts_are_told_over_the_largest_distance_along_a_feature():
    note = CLAIMS["uni-c3-contexts"](*data_sets.blobs(input_between=0.81)).note
    assert note.startswith("3.2 times the largest distance at variance 1")


def test_blobs_that_have_learned_are_counted():
    (data,) = data_sets.blobs()
    data["learned"].loc[{"run": "low"}] = np.arange(N) < 7
    data["learned"].loc[{"run": "leaky_low"}] = np.arange(N) < 2
    assert CLAIMS["uni-fig8-blobs"](data).note.startswith(f"7 of {N} networks have learned. ")


def test_only_networks_that_have_learned_on_both_kinds_of_images_compare_them():
    """Elsewhere contexts lie nearer with bright images than without."""
    (data,) = data_sets.blobs()
    for run, value in (("low", 1e-6), ("bright", 1e6)):
        data["between"].loc[{"run": run}] = np.where(np.arange(N) < 4, value, data["between"].sel(run=run))
    data["learned"].loc[{"run": "low"}] = np.arange(N) >= 2
    data["learned"].loc[{"run": "bright"}] = ~np.isin(np.arange(N), [2, 3])
    test = CLAIMS["uni-c3-cause"](data).printed.readings["because: nearer without it"]
    assert (test.outcome, test.n) == ("passes", N - 4)
