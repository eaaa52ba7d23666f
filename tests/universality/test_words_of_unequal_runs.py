"""Words of figures where no two networks, trials, times and bins are alike: which of them count, and how."""

import numpy as np
import pytest
import xarray as xr

from repdyn.universality.figures.blobs import _collapse, _trend
from repdyn.universality.figures.default_network import (
    _against_altered,
    _ends,
    _follows,
    _more_told,
    _second_half,
    _within_ours,
)
from repdyn.universality.figures.digits import (
    _change,
    _class_means,
    _explained_kinds,
    _falls,
    _over_mean,
    _published_trend,
    _worth_of_weighing,
)
from repdyn.universality.figures.dynamics import (
    _at_bound,
    _best_first,
    _dropped,
    _explained,
    _explained_gains,
    _fits_of_w,
    _half_way,
    _largest_share,
    _moved,
    _r2,
)
from repdyn.universality.figures.printed import _changes, _sentence, size_of_default
from repdyn.universality.figures.theory import _fitting, _plateaus, _reached
from repdyn.universality.figures.xor import _merged, _merging
from repdyn.universality.theory.published import FIT_LOSSES

# figures of two points


def fits():
    """Three networks of four trials, the shown ones third, none and first; one unfitted trial each."""
    r2 = np.full((3, 4, 3), 0.1)
    r2[0, 2], r2[2, 0] = [0.8, 0.79, 0.9], [0.81, 0.95, 0.85]
    return xr.Dataset(
        {
            "r2": (("network", "seed", "curve"), r2),
            "shown": ("network", [2, -1, 0]),
            "converged": (("network", "seed"), [[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]),
            "at_bound": (("network", "seed"), [[1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0]]),
            "half": (("network", "seed"), [[1.0, 2.0, 37.2, 4.0], [5.0, 6.0, 7.0, 8.0], [94.6, 9.0, 9.0, 9.0]]),
            "pair_r2": (("network", "seed"), [[np.nan, 0.1, 0.9, 0.98], [np.nan] * 4, [0.7, 0.65, 0.99, np.nan]]),
        },
        {"network": ["relu", "elu", "low"], "curve": ["h", "y", "w"]},
    )


def test_shown_trials_count_each_curve_of_each_network():
    rows = ["low", "elu", "relu"]
    assert _explained(fits(), rows) == "$h$ in all 2, of $y$ in 1 of 2 and of $w$ in all 2"
    runs = xr.Dataset({"gain": ("network", [1.25, 0.5, 2.0])}, {"network": ["relu", "elu", "low"]})
    assert _explained_gains(runs, fits(), rows) == "only gain 2"
    assert _half_way(fits(), rows) == "95, none, 37"


def test_trials_that_did_not_converge_are_counted_by_network_in_the_order_of_rows():
    assert _dropped(fits(), ["elu", "low", "relu"]) == "4 of ELU, 2 of ReLU"
    assert _dropped(fits(), ["low"]) == "none"
    assert _at_bound(fits(), ["low", "relu", "elu"]) == "0%, 25%, 75%"


def test_medians_of_what_is_left_order_the_networks():
    """0.02, 0.1 and 0.9 are left, of the other one 0.01, 0.3 and 0.35, by whose mean it would come first."""
    named = fits().assign_coords(network=["elu", "relu", "default"])
    assert _best_first(named) == ["elu", "default", "relu"]
    assert _largest_share(fits(), ["low", "elu", "relu"]) == "10.0% to 30.0%"
    assert _largest_share(fits(), ["elu"]) == "an unknown share"


def test_explained_variances_below_minus_one_are_not_written_out():
    shown = xr.Dataset({"r2": ("curve", [-1.0, -0.99, 0.876])})
    assert _r2(shown) == "$R^2$ $h$ < $-$1,\n$y$ -0.99, $w$ 0.88"


def test_points_move_from_the_first_to_the_last_epoch():
    for h, words in (
        ([0.2, 0.9, 0.1, 0.3], "move apart in the hidden layer, $h$ from 0.2 to 0.3"),
        ([0.2, 0.1, 0.9, 0.15], "come together in the hidden layer, $h$ from 0.2 to 0.15"),
    ):
        assert _moved(xr.DataArray(h, dims="epoch")) == words


def test_medians_of_w_are_told_by_rate():
    def group(w):
        return xr.DataArray(
            [[9.0, 9.0, 9.0], w, [7.0, 7.0, 7.0]], dims=("curve", "seed"), coords={"curve": list("hwy")}
        )

    groups = {"Adam 0.1": group([0.1, 0.4, -9]), "descent": group([0.9, 0.2, 0.7]), "Adam 0.01": group([0.5, 0.3, 8])}
    assert _fits_of_w(groups) == "0.1 (Adam 0.1), 0.7 (descent), 0.5 (Adam 0.01)"


# figures of the default network


def test_the_theory_is_held_against_the_best_of_the_altered_dynamics_in_the_shown_trial():
    fits = xr.Dataset(
        {"alternative_loss": (("seed", "alternative"), [[0.1, 9.0, 8.0, 7.0], [5.0, np.nan, 3.25, 4.0]])},
        {"alternative": ["theory", "a", "b", "c"]},
    )
    altered, theory = (
        "an altered dynamics fits better than the theory",
        "the theory fits better than the altered dynamics",
    )
    assert _against_altered(fits, 0) == (theory, "0.1 (theory), at best 7 (c) of the altered ones")
    assert _against_altered(fits, 1) == (altered, "5 (theory), at best 3.25 (b) of the altered ones")


def test_published_losses_lie_between_the_least_and_the_largest_trial_of_their_own_dynamics():
    names = list(FIT_LOSSES)
    ours = np.outer([FIT_LOSSES[name] for name in names], [1.5, 0.5, 1.2, 1.4])
    ours[0] *= [0.6, 0.6, 0.7, 0.7]  # above one and below one
    ours[1], ours[2] = 1.01 * FIT_LOSSES[names[1]], 0.99 * FIT_LOSSES[names[2]]
    fits = xr.Dataset(
        {"alternative_loss": (("alternative", "seed"), np.vstack([ours[::-1], [[1, 2, 3, 4]]]))},
        {"alternative": [*names[::-1], "another"]},
    )
    assert _within_ours(fits) == f"{len(names) - 3} of {len(names)}"
    fits["alternative_loss"][-2] = np.array([0.9, 1.1, 1.0, 0.8]) * FIT_LOSSES[names[0]]
    assert _within_ours(fits) == f"{len(names) - 2} of {len(names)}"


def test_halves_of_the_layers_are_compared_by_means_of_medians_of_means():
    """Layers 1 and 2 with medians 0.4 and 0.8, 3 to 5 with 0.9, 0.5 and 0.46; the layer halfway is the third."""
    curves = np.array([0.3, 0.0, -0.3])
    draws = np.array([[0.4, 0.1, 0.9], [0.8, 0.85, 0.1], [0.9, 0.1, 0.95], [0.5, 0.55, 0.0], [0.46, 0.0, 0.5]])
    r2 = xr.DataArray(draws[..., None] + curves, dims=("layer", "seed", "curve"))
    fits = xr.Dataset({"r2": r2, "halfway": 2})
    assert _second_half(fits) == "more in"
    fits["r2"][4] -= 0.1
    assert _second_half(fits) == "no more in"


def test_the_trial_and_the_layer_shown_follow_the_theory():
    r2 = np.full((2, 3, 3), 0.9)
    r2[1, 2] = [0.8, 0.95, 0.85]
    r2[0], r2[1, :2] = 0.1, 0.1
    fits = xr.Dataset(
        {"r2": (("layer", "seed", "curve"), r2), "shown": 2, "halfway": 4}, {"layer": [1, 4], "curve": list("hyw")}
    )
    assert _follows(fits) == "explains 80% of each of $h, y, w$ of a trained network"
    for curve in range(3):
        other = fits.copy(deep=True)
        other["r2"][1, 2, curve] = 0.79
        assert _follows(other) == "explains less than 80% of $h$, $y$ or $w$ of a trained network"


def test_networks_in_which_the_equation_tells_as_much_are_counted():
    correlations = {"correlation": ("network", [0.5, 0.2, 0.9]), "correlation_dy": ("network", [0.5, 0.3, 0.1])}
    assert _more_told(xr.Dataset(correlations)) == "2 of 3"
    assert _ends(xr.DataArray([0.3, 0.2, 5.0])) == "0.2 to 5"


# figures of data sets


def test_merged_pairs_are_counted_by_the_median_of_networks_that_have_learned():
    """Medians below a quarter: both of the first run, one of the second at a mean below; of the third none learned."""
    merged = np.zeros((3, 4, 2))
    merged[0] = [[0.2, 0.9], [0.9, 0.24], [0.1, 0.1], [9.0, 9.0]]
    merged[1] = [[0.25, 0.1], [0.26, 0.1], [0.0, 0.9], [0.0, 0.0]]
    nets = xr.Dataset(
        {
            "merged": (("run", "trial", "pair"), merged),
            "learned": (("run", "trial"), [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]),
        },
        {"run": ["low", "high", "two"]},
    )
    runs = {"high": "20 layers, large", "low": "20 layers, small", "two": "2 layers, small"}
    told = "one (20 layers, large), both (20 layers, small), none learned (2 layers, small)"
    assert _merged(nets, runs) == told
    assert _merging(nets, runs) == "only 20 layers and small weights merged both pairs of equal target"


def test_collapse_is_compared_where_weights_get_smaller_from_run_to_run():
    blobs = xr.Dataset(
        {"typical_collapse": ("run", [0.5, 0.3, 0.9, 0.25]), "typical_between": ("run", [2.0, 3.0, np.nan, 5.0])},
        {"run": ["high", "low", "adam_high", "adam_low"], "gain": ("run", [2.0, 0.5, 2.0, 0.4])},
    )
    more, not_more = ("contexts collapse more at smaller weights", "contexts do not collapse more at smaller weights")
    runs = ["high", "low", "adam_high", "adam_low"]
    assert _trend(blobs, runs) == more  # from low to Adam's high ones it grows with the gain
    assert _trend(blobs, ["adam_high", "adam_low", "high", "low"]) == more
    blobs["typical_collapse"][1] = 0.6
    assert _trend(blobs, runs) == not_more
    assert _trend(blobs, runs[2:]) == more
    words = "large 0.5, 2; Adam, small 0.25, 5; Adam, large none learned."
    assert _collapse(blobs, ["high", "adam_low", "adam_high"]).endswith(f"and of the distance: {words}")


def test_kinds_of_pairs_are_counted_by_curve():
    medians = xr.DataArray(
        [[0.8, 0.79, 0.1], [0.9, 0.85, 0.2], [0.2, 0.95, 0.3]],
        dims=("kind", "curve"),
        coords={"curve": list("hyw"), "kind": ["same", "similar", "dissimilar"]},
    )
    assert _explained_kinds(medians) == "$h$ in 2 of 3, $y$ in 2 of 3, $w$ in 0 of 3"
    assert _explained_kinds(
        medians[1:, :2].pad(curve=(0, 1), constant_values=0.9).assign_coords(curve=list("hyw"))
    ) == ("$h$ in 1 of 2, $y$ in all 2, $w$ in all 2")


def test_weighing_is_compared_with_each_pair_alone_under_gradient_descent():
    levels = np.full((2, 3, 2), 0.5)
    levels[0] = [[0.7, 0.7], [0.8, 0.6], [0.9, 0.2]]
    data = xr.Dataset(
        {"correlation_of_mean": (("run", "prediction", "part"), levels)},
        {
            "run": ["sgd", "adam"],
            "prediction": ["pair alone", "weighed (50)", "labels alone"],
            "part": ["all entries", "between classes"],
        },
    )
    assert _worth_of_weighing(data) == "rises over all entries, does not rise between classes"


def test_ratios_fall_where_the_interval_of_their_change_is_below_zero():
    """Changes of three networks from the first to the last bin; Student's interval of three is 4.303 s / sqrt(3)."""
    steady, open_ = np.array([-1.0, -1.1, -0.9]), np.array([-1.0, -1.6, -0.4])  # 0.248 and 1.49 either way
    mean, half = _change(np.array([[0.5, 0.6, 0.7], [9.0, 9.0, -9.0], np.array([0.5, 0.6, 0.7]) + steady]))
    assert (mean, half) == pytest.approx((-1.0, 4.3027 * 0.1 / np.sqrt(3)), rel=1e-4)
    logs = np.zeros((3, 2, 3, 3))  # look, map, bin, network
    logs[:, 0, -1], logs[:, 1, -1] = [steady, open_, -steady], [steady, steady, open_]
    data = xr.Dataset(
        {"ratio": (("look", "map", "bin", "network"), 10**logs)}, {"map": ["encoder", "decoder"], "look": [0, 1, 2]}
    )
    assert [_falls(data, kind) for kind in ("encoder", "decoder")] == ["1 of 3", "2 of 3"]


def test_the_paper_is_quoted_at_the_times_nearest_to_its_own():
    epochs = np.array([0.0, 0.2, 1.4, 8.0, 27.0, 90.0])
    told = ["paper: no trend", "not in the paper", "paper at 1: falls", *["not in the paper"] * 3]
    told[4] = "paper at 30: falls"
    assert [_published_trend(epochs, look) for look in range(6)] == told
    assert _published_trend(np.array([0.0, 3.0]), 1) == "paper at 30: falls"


def test_matrices_are_over_their_mean_between_classes_and_averaged_by_pair_of_classes():
    labels = np.array([1, 0, 1])
    matrix = np.array([[0.0, 2.0, 7.0], [4.0, 1.0, 6.0], [5.0, 8.0, 3.0]])
    np.testing.assert_allclose(_over_mean(matrix, labels), matrix / 5)
    np.testing.assert_allclose(_class_means(matrix, labels), [[1.0, 5.0], [5.0, 3.75]])


# figures of the theory


def test_plateaus_are_compared_from_the_largest_start_down_at_equal_starts():
    maps = xr.Dataset(
        {"plateau_half": (("start", "scale"), [[9.0, 8.0, 7.0], [5.0, 1.0, 3.0]])},
        {"start": ["other", "equal"], "scale": [0.01, 1.0, 0.1]},
    )
    assert _plateaus(maps) == "the smaller the start, the longer the plateau"
    maps["plateau_half"][1, 0] = 2.0  # the smallest start rests shorter than the middle one, longer than the largest
    assert _plateaus(maps) == "a smaller start does not always rest longer"


def test_distribution_functions_fit_within_a_hundredth_at_the_first_gain():
    level = np.array([0.1, 0.5, 0.9])
    apart = np.array([[0.0, -0.0099, 0.0], [0.0101, 0.0, 0.0], [0.0, 0.0, -0.0101]])
    printed = np.stack([level + apart, np.ones((3, 3))])
    shares = xr.Dataset(
        {"printed": (("gain", "rho", "level"), printed), "corrected": (("gain", "rho", "level"), printed[:, ::-1])},
        {"rho": [0.5, 1.0, 2.0], "level": level},
    )
    words = [r"only $\tau_y/\tau_h$ = 0.5", r"only $\tau_y/\tau_h$ = 2"]
    assert [_fitting(shares, kind) for kind in ("printed", "corrected")] == words


def test_limits_are_reached_within_a_tenth_at_the_largest_start():
    maps = xr.Dataset(
        {
            "regime_h": (("rho", "size"), [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]),
            "regime_printed": (("rho", "size"), [[1.0, 2.22], [1.0, 2.71], [9.0, 4.39]]),
        },
        {"rho": [0.5, 1.0, 2.0]},
    )
    assert _reached(maps) == r"only $\tau_y/\tau_h$ = 1, $\tau_y/\tau_h$ = 2"


# what is printed


def test_settings_are_told_together_where_networks_share_them():
    printed = {"rate": 0.1, "units": 500, "method": "adam"}
    assert (
        _changes({"rate": 0.25, "units": 500, "method": "descent"}, printed)
        == "rate 0.25 for 0.1, method descent for adam"
    )
    start = "Used here for what Table 3 prints: "
    changes = {"a": "units 5 for 9", "b": "", "c": "rate 2 for 3", "d": "units 5 for 9"}
    assert _sentence(3, changes) == f"{start}units 5 for 9 (a, d); rate 2 for 3 (c)."
    assert _sentence(3, {"a": "x", "d": "x"}) == f"{start}x (all)."
    assert _sentence(3, {"a": "x"}) == f"{start}x (a)."
    assert _sentence(3, {"a": "", "b": ""}) == f"{start}the same."


def test_widths_of_default_networks_are_told_once_each_beside_the_printed_one():
    printed = int(size_of_default(1).split()[3])
    start = f"Table 1 prints {printed} units per layer"
    assert size_of_default(printed, printed) == f"{start}, as here."
    assert size_of_default(7, printed, 7, 20) == f"{start}; here 7 and {printed} and 20."
