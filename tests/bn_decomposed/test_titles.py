"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import xarray as xr
from tests.titled import drawn, made_up, panel_titles, title_of

from repdyn.base.wording import number


def test_figure_1_names_the_regimes_that_left_one_long_point():
    data = made_up("bn_decomposed", "fig1_ablation")
    ratio = data["ablation"]["second_to_first"]
    ratio[:] = 0.9
    start, end = "Figure 1 as data: ", " left one point over twice as long as the others"
    assert title_of("bn_decomposed", "fig1_ablation", data) == f"{start}none of 10{end}"
    ratio.loc[{"recenter": 1, "rescale": "none", "relu": 1}] = 0.1
    assert title_of("bn_decomposed", "fig1_ablation", data) == f"{start}only RC with ReLU{end}"
    ratio[:] = np.nan
    assert title_of("bn_decomposed", "fig1_ablation", data) == f"{start}?{end}"


def test_the_tree_keeps_the_sum_of_clusters_or_not():
    data = made_up("bn_decomposed", "fig4_tree")
    tree = data["tree_example"]
    first = tree["layer"].values
    counts = np.full(first.size, 2)
    for layer in np.unique(first):
        counts[np.flatnonzero(first == layer)[0]] = tree.sizes["point"]
    tree["clusters"][:] = counts
    start = "Figures 4, 7 and 8, computed: the sum of (clusters - 2) "
    assert title_of("bn_decomposed", "fig4_tree", data) == f"{start}is the same in every layer"
    tree["clusters"][-1] = 3
    assert title_of("bn_decomposed", "fig4_tree", data) == f"{start}changes from layer to layer"


def test_figure_3_says_at_which_angle_and_how_far_apart_points_end():
    data = made_up("bn_decomposed", "fig3_odd_point")
    odd = data["odd_point"]
    for angle, width, words in (
        (88.0, 2.0, "nearly a right angle to the others, which do not become one point"),
        (61.0, 0.5, "other than a right angle to the others, which become one point at some size"),
    ):
        odd["odd_angle"][:], odd["intra_angle"][:] = angle, width
        assert title_of("bn_decomposed", "fig3_odd_point", data) == f"Figure 3: one odd point ends at {words}"


def test_panels_of_figure_3_give_the_angles_measured():
    data = made_up("bn_decomposed", "fig3_odd_point")
    odd = data["odd_point"]
    for angle, width, at_end in ((88.0, 540.0, 0.1), (61.0, 200.0, 1.0)):
        odd["odd_angle"][:] = angle
        odd["intra_angle"][:] = width / odd["batch"]
        odd["after"][:] = angle
        odd["second_to_first"][:] = 0.5
        odd["second_to_first"].loc[{"layer": odd["layer"][-1]}] = at_end
        figure = drawn("bn_decomposed", "fig3_odd_point", data)
        grows = "its norm outgrows the others" if at_end < 0.5 else "its norm does not outgrow all others"
        assert panel_titles(figure)[1:4] == [
            f"(b) the odd point at {angle:.0f} degrees",
            f"(c) {grows}",
            f"(d) the others end at {width:.0f}$/n$ degrees",
        ]


def test_figure_5_says_which_normalizations_give_the_angles_of_the_paper():
    data = made_up("bn_decomposed", "fig5_layer_angles")
    angles = data["layer_angles"]["mean_angle"]
    cases = (
        ((75, 59, 3), "only RC + RS, RS by RMS gave"),
        ((40, 41, 42), "none of 3 gave"),
        ((72, 62, 58), "all 3 gave"),
    )
    for levels, words in cases:
        for kind, level in zip(("full", "rms", "std"), levels, strict=True):
            angles.loc[{"normalization": kind}] = level
        figure = drawn("bn_decomposed", "fig5_layer_angles", data)
        assert words in figure.repdyn["title"]
        full, rms, std = levels
        assert f"{full} (RC + RS), {rms} (RS by RMS), {std} (RS by std)" in figure.repdyn["caption"]
    angles.loc[{"batch": angles["batch"][-1], "normalization": "std"}] = 3
    assert "only RC + RS, RS by RMS gave" in title_of("bn_decomposed", "fig5_layer_angles", data)
    angles[:] = np.nan
    assert ": ? gave" in title_of("bn_decomposed", "fig5_layer_angles", data)


def test_figure_6_says_whether_recentering_evens_out_shares():
    data = made_up("bn_decomposed", "fig6_activity")
    active = data["activity"]["active"]
    spread = np.linspace(0, 1, active.sizes["neuron"])
    cases = (
        (0.9, 0.1, "recentering evens out"),
        (0.1, 0.9, "recentering does not even out"),
        (np.nan, np.nan, "not known"),
    )
    for without, by, words in cases:
        for kind, width in (("without", without), ("with", by)):
            active.loc[{"recentering": kind}] = xr.DataArray(width * spread, dims="neuron")
        assert words in title_of("bn_decomposed", "fig6_activity", data)


def test_the_gap_of_rescaling_alone_falls_or_rises():
    data = made_up("bn_decomposed", "orthogonality_gap")
    gap = data["orthogonality_gap"]["gap"]
    cases = (
        (0.1, 0.9, "falls by the RMS, rises by the std"),
        (0.9, 0.1, "rises at some width by the RMS, falls at some width by the std"),
        (np.nan, np.nan, "is not known by the RMS, is not known by the std"),
    )
    for rms, std, words in cases:
        gap[:] = 0.5
        for kind, level in (("rms", rms), ("std", std)):
            gap.loc[{"rescale": kind, "layer": gap["layer"][-1]}] = level
        figure = drawn("bn_decomposed", "orthogonality_gap", data)
        assert figure.repdyn["title"].endswith(words)
        assert figure.repdyn["alt"].endswith(f"{words}.")
        assert f"{number(rms)} (a), {number(std)} (b)" in figure.repdyn["caption"]


def test_theorem_11_counts_limits_within_bounds():
    data = made_up("bn_decomposed", "thm11_limits")
    limits = data["tree_limits"]
    for name in ("ratio_first", "ratio_last"):
        limits[name][:] = 0
    for name in ("angle_first", "angle_last"):
        limits[name][:] = 90
    for name, bound in (("ratio", 0.5), ("angle", 80)):
        for kind in ("printed", "sharp"):
            limits[f"{kind}_{name}"][:] = bound
    limits["extremes"][:] = 0.4
    cases = limits.sizes["case"]
    figure = drawn("bn_decomposed", "thm11_limits", data)
    assert f"all {cases} limits keep its bounds as printed" in figure.repdyn["title"]
    assert "a median of 0.4" in figure.repdyn["caption"]
    limits["ratio_first"][0] = limits["ratio_last"][0] = 0.6
    figure = drawn("bn_decomposed", "thm11_limits", data)
    assert f"{cases - 1} of {cases} limits keep its bounds" in figure.repdyn["title"]
    assert panel_titles(figure)[:2] == [
        f"(a) norm: {cases - 1} of {cases} within the best bound",
        f"(b) angle: all {cases} within the best bound",
    ]


def test_theorem_11_compares_the_decay_with_the_predicted_one():
    data = made_up("bn_decomposed", "thm11_limits")
    angles = data["interior_angles"]
    angles["kept"][:] = 0.9
    for factor in (1, 2):
        angles["angle"][:] = 10.0 * 0.9 ** (factor * angles["layer"])
        assert f"decay over predicted: {factor:.2f}" in panel_titles(drawn("bn_decomposed", "thm11_limits", data))[2]


def test_figure_2_names_the_least_rank_of_a_high_accuracy():
    data = made_up("bn_decomposed", "fig2_training")
    for part in data["training"].values():
        part["accuracy"][:] = 0.5
        part["effective_rank"][:] = 3.0
    assert "no network" in title_of("bn_decomposed", "fig2_training", data)
    he = data["training"]["he"]
    he["accuracy"][:, :, -1] = 0.95
    he["effective_rank"][:] = np.arange(7.0, 7 - he.sizes["depth"], -1)[:, None]
    title, depth = title_of("bn_decomposed", "fig2_training", data), int(he["depth"][-1])
    assert f"from an effective rank of {8 - he.sizes['depth']:.1f} (none, He, {depth} layers)" in title


def test_theorem_3_counts_the_batches_that_keep_its_bound():
    data = made_up("bn_decomposed", "thm3_full_rank")
    rows = data["rows_to_full_rank"]
    rows["bound"][:] = 4.0
    for broken in (0, 2):
        rows["y"][:] = 3
        rows["y"][:broken] = 5
        count = f"all {rows.sizes['batch']}" if not broken else f"{rows.sizes['batch'] - 2} of {rows.sizes['batch']}"
        title = title_of("bn_decomposed", "thm3_full_rank", data)
        assert title == f"Theorem 3: the mean number of rows keeps its bound for {count} batches"


def test_theorem_14_says_what_a_layer_does_to_clusters():
    data = made_up("bn_decomposed", "thm14_contraction")
    contraction = data["contraction"]
    narrow = contraction["spread"] <= 1
    assert narrow.any()
    for small, large, words in (
        (1.2, 0.8, "widens clusters of its sizes, narrows the widest"),
        (0.9, 1.1, "does not widen clusters of its sizes, does not narrow the widest"),
        (np.nan, np.nan, "may widen clusters of its sizes, may narrow the widest"),
    ):
        factor = xr.where(narrow, small, large).broadcast_like(contraction["factor"])
        contraction["factor"] = factor.transpose(*contraction["factor"].dims)
        assert title_of("bn_decomposed", "thm14_contraction", data) == f"Theorem 14: a layer {words}"


def test_point_neurons_that_fit_first_and_those_that_test_best_are_named():
    data = made_up("bn_decomposed", "disc_point_neurons")
    neurons = data["point_neurons"]
    schemes = [str(name) for name in neurons["scheme"].values]  # margins, the last one He's
    for fast, best in ((0, 1), (1, 0)):
        neurons["steps"][:], neurons["test_accuracy"][:] = 90, 0.5
        neurons["steps"].loc[{"scheme": schemes[fast]}] = 20
        neurons["test_accuracy"].loc[{"scheme": schemes[best]}] = 0.9
        words = f"{schemes[fast]} fits in the fewest steps, {schemes[best]} tests best"
        assert title_of("bn_decomposed", "disc_point_neurons", data) == f"One neuron per point: {words}"
    neurons["steps"][:] = np.nan
    assert ": ? fits in the fewest" in title_of("bn_decomposed", "disc_point_neurons", data)
