"""Words of figures where no two draws, layers, batches and kinds are alike: which of them count, and how."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from repdyn.bn_decomposed.figures import gaussian_layers as layers
from repdyn.bn_decomposed.figures import random_networks as networks
from repdyn.bn_decomposed.figures.simplified_model import _extremes, _places, _ranges, _room, _sum_of_clusters
from repdyn.bn_decomposed.figures.training import _first, _least_rank, _over_depth, _test_accuracies

# random networks


def test_one_long_point_is_left_where_the_median_ratio_is_half_or_less():
    """Two regimes: a median of 0.5 at a mean above, none at a median of 0.51 with a mean below."""
    ratio = np.full((2, 3, 2, 3), 0.9)
    ratio[1, 0, 1], ratio[0, 2, 0], ratio[0, 1, 1] = [0.9, 0.1, 0.5], [0.51, 0.8, 0.0], [0.2, 0.1, 0.3]
    last = xr.Dataset(
        {"second_to_first": (("recenter", "rescale", "relu", "seed"), ratio)},
        {"recenter": [0, 1], "rescale": ["none", "std", "rms"], "relu": [0, 1]},
    )
    assert networks._with_long_point(last) == "only RS by std, eq. (2) with ReLU, RC with ReLU"


def test_gaps_fall_or_rise_by_the_median_growth_at_every_width():
    """From the first to the last of three layers, at two widths; medians of growth, of three draws."""
    gap = np.full((2, 2, 3, 3), 9.0)
    gap[..., 0] = 1.0
    gap[0, :, :, -1] = [[0.9, 0.2, 5.0], [0.5, 0.7, 0.8]]
    gap[1, :, :, -1] = [[1.1, 3.0, 0.1], [1.5, 1.2, 2.0]]
    gaps = xr.DataArray(gap, dims=("rescale", "width", "seed", "layer"), coords={"rescale": ["rms", "std"]})
    assert networks._change_of_gap(gaps) == "falls by the RMS, rises by the std"
    assert [networks._last_gap(gaps, kind) for kind in ("rms", "std")] == ["0.7 to 0.9", "1.1 to 1.5"]
    gaps[0, 0, 1, -1], gaps[1, 1, :, -1] = 1.01, [0.9, 0.8, 7.0]
    words = "rises at some width by the RMS, falls at some width by the std"
    assert networks._change_of_gap(gaps) == words


def angles():
    """Mean angles of three normalizations in three batches, two draws each, 1 degree either way."""
    mean = np.array([[64.0, 59.0, 63.0], [55.0, 65.0, 60.0], [80.1, 77.0, 74.0]])
    return xr.Dataset(
        {"mean_angle": (("normalization", "batch", "seed"), mean[..., None] + [-1.0, 1.0])},
        {"normalization": ["std", "rms", "full"], "batch": [20, 5, 9]},
    )


def test_angles_near_those_of_the_paper_are_within_five_degrees_in_every_batch():
    assert networks._mean_angles(angles()) == "74 to 80 (RC + RS), 55 to 65 (RS by RMS), 59 to 64 (RS by std)"
    assert networks._at_paper(angles()) == "only RS by RMS, RS by std"
    assert networks._batch_of_the_paper(angles()) == 9
    pairs = xr.Dataset({"before": ("pair", [41.0, 30.5]), "after": ("pair", [38.0, 60.5])})
    assert networks._window(pairs) == (30, 70)


# Gaussian layers


def deep(**last):
    """Batches of 9, 5 and 20 points, three draws, images and Gaussian points; the last layer of images as given."""
    shape = ("source", "batch", "seed", "layer")
    values = {"odd_angle": 50.0, "intra_angle": 0.1, "second_to_first": 0.4}
    data = xr.Dataset(
        {name: (shape, np.full((2, 3, 3, 2), value)) for name, value in values.items()},
        {"source": ["Gaussian", "images"], "batch": [9, 5, 20]},
    )
    for name, draws in last.items():
        data[name][1, :, :, -1] = draws
    return data


@pytest.mark.parametrize(
    ("angles", "words"),
    [
        ([[80.0, 10.0, 95.0], [0.0, 0.0, 0.0], [100.0, 99.0, 170.0]], "nearly a right angle"),
        ([[79.9, 10.0, 95.0], [90.0, 90.0, 90.0], [90.0, 99.0, 80.0]], "other than a right angle"),
        ([[90.0, 91.0, 89.0], [90.0, 90.0, 90.0], [100.1, 99.0, 170.0]], "other than a right angle"),
    ],
)
def test_a_right_angle_is_nearly_met_by_the_median_of_every_large_batch_of_images(angles, words):
    assert layers._right_angle(deep(odd_angle=angles)) == words


def test_points_stay_apart_by_the_median_of_every_large_batch_of_images():
    apart = [[60.0, 1.0, 0.0], [0.0, 0.0, 0.0], [27.0, 0.5, 26.0]]
    assert layers._apart(deep(intra_angle=apart)) == "do not become one point"
    assert layers._widths_of_cluster(deep(intra_angle=apart)) == "9 to 520"
    apart[0][1] = 0.9
    assert layers._apart(deep(intra_angle=apart)) == "become one point at some size"


def test_three_large_batches_are_shown_after_the_largest_small_one():
    for sizes, shown in (
        ([3, 5, 6, 7, 9, 20, 50], [6, 9, 20, 50]),
        ([7, 20], [7, 20]),
        ([3, 5], [5]),
        ([5, 7, 8, 9, 10], [5, 8, 9, 10]),
    ):
        assert layers._shown_batches(np.array(sizes)).tolist() == shown
    assert layers._listed(np.array([5, 7, 20])) == "5, 7, 20"


def test_shares_of_the_middle_nine_in_ten_neurons_of_all_draws():
    """Of 20 + 1 neurons in two draws the outermost in either direction do not count."""
    middle = np.linspace(0.3, 0.7, 19)
    without = np.stack([[0.0, *middle, 1.0], [0.0, *middle, 1.0]])
    recentered = np.stack([[0.29, *middle, 0.71], [0.29, *middle, 0.71]])
    activity = xr.Dataset(
        {"active": (("recentering", "seed", "neuron"), np.stack([recentered, without]))},
        {"recentering": ["with", "without"]},
    )
    ends = {"without": np.quantile(without, (0.05, 0.95)), "with": np.quantile(recentered, (0.05, 0.95))}
    words = ", ".join(f"{low:.0%} to {high:.0%} {name} recentering" for name, (low, high) in ends.items())
    assert layers._middle_shares(activity) == words
    assert words.startswith("30% to 70% without recentering, ")
    assert layers._evenness(activity) == "recentering evens out how many inputs neurons are active for"
    wide = activity.copy(deep=True)
    wide["active"][0, :, 1:-1] = 0.5 + 1.1 * (wide["active"][0, :, 1:-1] - 0.5)
    assert layers._evenness(wide) == "recentering does not even out how many inputs neurons are active for"


def test_layers_widen_narrow_clusters_and_narrow_the_widest_by_means_over_draws():
    """Sizes 0.1 and 1 are narrow, 2 may do either, 30 is the widest; two batches, three draws."""
    factor = np.ones((2, 4, 3))
    factor[:, :2] = [[[0.5, 0.9, 1.7], [2.0, 0.9, 0.8]], [[1.3, 1.2, 1.1], [1.0, 1.0, 1.0]]]
    factor[:, 2], factor[:, 3] = [[0.5] * 3, [3.0] * 3], [[1.1, 1.2, 0.6], [0.1, 0.2, 2.5]]
    clusters = xr.Dataset({"factor": (("batch", "spread", "draw"), factor)}, {"spread": [0.1, 1.0, 2.0, 30.0]})
    assert layers._widths(clusters) == "widens clusters of its sizes, narrows the widest"
    assert layers._differences(clusters["factor"]) == pytest.approx(2.4 / (2.8 / 3))
    for place, value, words in (
        ((1, 1, 0), 0.9, "does not widen clusters of its sizes, narrows the widest"),
        ((0, 3, 0), 1.3, "widens clusters of its sizes, does not narrow the widest"),
    ):
        other = clusters.copy(deep=True)
        other["factor"][place] = value
        assert layers._widths(other) == words


# the simplified model


def test_the_sum_of_clusters_is_compared_with_that_of_the_batch_in_every_layer():
    """Five points: three over two; then 2 + 1 + 0 and 3 x 1 in layers whose rows stand in no order."""
    tree = xr.Dataset(
        {"clusters": ("node", [3, 5, 4, 3, 2, 3, 3]), "value": (("node", "point"), np.zeros((7, 5)))},
        {"layer": ("node", [2, 0, 1, 1, 1, 2, 2])},
    )
    assert _sum_of_clusters(tree) == "is the same in every layer"
    for node, clusters in ((1, 4), (4, 3), (6, 2)):
        other = tree.copy(deep=True)
        other["clusters"][node] = clusters
        assert _sum_of_clusters(other) == "changes from layer to layer"


def test_rows_stand_side_by_side_below_the_middle_of_their_children():
    tree = xr.Dataset(coords={"layer": ("node", [0, 1, 1, 2, 2, 2, 2])})
    wanted = [(2, 0), (1, -1), (3, -1), (0.5, -2), (1.5, -2), (2.5, -2), (3.5, -2)]
    np.testing.assert_array_equal(_places(tree), wanted)


def test_limits_have_room_to_the_bound_of_their_own_size_and_kind():
    """Sizes 8, 4, 16 in no order; a limit at its bound up to rounding keeps it."""
    limits = xr.Dataset(
        {
            "printed_ratio": ("bound_points", [0.9, 0.5, 0.3]),
            "sharp_ratio": ("bound_points", [0.8, 0.4, 0.2]),
            "printed_angle": ("bound_points", [10.0, 50.0, 70.0]),
            "sharp_angle": ("bound_points", [20.0, 60.0, 80.0]),
            "extremes": ("case", [0.1, 0.7, 0.3, 0.9]),
        },
        {
            "bound_points": [4, 8, 16],
            "points": ("case", [8, 4, 16, 4]),
            "kind": ("case", ["gaussian", "symmetric", "gaussian", "outlier"]),
        },
    )
    ratio, angle = np.array([0.4 + 1e-12, 0.8, 0.25, 0.7]), np.array([60.0 - 1e-12, 15.0, 85.0, 20.0])
    rooms = _room(limits, ratio, angle, "sharp")
    assert [(room >= 0).tolist() for room in rooms] == [[True, True, False, True], [True, False, True, True]]
    np.testing.assert_allclose(rooms[0], [0, 0, -0.05, 0.1], atol=1e-9)
    rooms = _room(limits, ratio, angle, "printed")
    np.testing.assert_allclose(rooms, [[0.1, 0.1, 0.05, 0.2], [10, 5, 15, 10]], atol=1e-6)
    points, extremes = _extremes(limits)
    assert (points.tolist(), extremes.values.tolist()) == ([8, 16], [0.1, 0.3])


def test_ranges_are_quantiles_of_each_size_from_the_least_to_the_greatest():
    panel = Figure().subplots()
    values = {16: [0.0, 1.0, 2.0, 3.0, 10.0], 4: [5.0, 5.5, 7.0], 8: [9.0]}
    points = np.concatenate([[n] * len(own) for n, own in values.items()])
    _ranges(panel, points, np.concatenate(list(values.values())), (0.25, 0.5, 1), "batches")
    (bars,) = panel.containers
    np.testing.assert_array_equal(bars.lines[0].get_xydata(), [(4, 5.5), (8, 9.0), (16, 2.0)])
    ends = [segment[:, 1].tolist() for segment in bars.lines[2][0].get_segments()]
    assert ends == [[5.25, 7.0], [9.0, 9.0], [1.0, 10.0]]
    assert panel.get_xlim() == pytest.approx((0.88 * 4, 1.12 * 16))
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["4", "8", "16"]


# training


def trainings():
    """Three kinds at two depths, three draws, two epochs: medians of rank and of accuracy at the last epoch."""

    def runs(ranks, accuracies):
        last = np.array(accuracies)
        return xr.Dataset(
            {
                "effective_rank": (("depth", "seed"), np.array(ranks)),
                "accuracy": (("depth", "seed", "epoch"), np.stack([1 - last, last], axis=-1)),
            },
            {"depth": [2, 16]},
        )

    return {
        "he": runs([[40.0, 2.0, 9.0], [1.0, 3.0, 2.5]], [[0.95, 0.9, 0.1], [0.89, 0.99, 0.2]]),
        "bn": runs([[50.0, 60.0, 10.0], [8.0, 7.6, 1.0]], [[1.0, 0.99, 0.98], [0.93, 0.5, 0.97]]),
        "default": runs([[30.0, 20.0, 1.0], [np.nan] * 3], [[0.3, 0.4, 0.99], [0.99, 0.98, 0.97]]),
    }


def test_the_least_rank_of_a_high_accuracy_is_a_median_over_draws():
    words = "training accuracy of 90% and more from an effective rank of "
    data = trainings()
    assert _least_rank(data) == f"{words}7.6 (batch normalization, 16 layers)"
    data["bn"]["accuracy"][1, 0, 1] = 0.1
    assert _least_rank(data) == f"{words}9.0 (none, He, 2 layers)"
    for part in data.values():
        part["accuracy"][..., -1] = 0.89
    assert _least_rank(data) == "no network that has not diverged reaches a training accuracy of 90%"


def test_ends_of_the_lines_are_medians_at_the_least_and_the_greatest_depth():
    assert _over_depth(trainings()) == (
        "batch normalization: rank 50.0 to 7.6, accuracy 0.99 to 0.93; "
        "none, PyTorch's default: rank 20.0 to ?, accuracy 0.40 to 0.98; "
        "none, He: rank 9.0 to 2.5, accuracy 0.90 to 0.89"
    )


def test_initializations_are_compared_by_medians_over_draws():
    """Steps 30, 20 and 25, test accuracies 0.5, 0.4 and 0.6 in the median; by the mean another one would be first."""
    neurons = xr.Dataset(
        {
            "steps": (("scheme", "seed"), [[30.0, 1.0, 40.0], [20.0, 90.0, 10.0], [25.0, 24.0, 26.0]]),
            "test_accuracy": (("scheme", "seed"), [[0.9, 0.5, 0.5], [0.4, 0.9, 0.3], [0.6, 0.61, 0.1]]),
        },
        {"scheme": ["margin 0.5", "he", "margin 1"]},
    )
    assert _first(neurons) == "He fits in the fewest steps, margin 1 tests best"
    assert _test_accuracies(neurons) == "0.50 (margin 0.5), 0.40 (He), 0.60 (margin 1)"
