"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import warnings

import numpy as np
import pytest
import xarray as xr
from tests.drawn import given, makers, read

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import style
from repdyn.base.wording import counted, number, outcome, span, which
from repdyn.bn_mean_field.figures.manifold import _unevenness
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

SHAPES = {
    study: read(study)
    for study in ("universality", "bn_decomposed", "leaky_resnets", "truncation_flow", "bn_mean_field", "across_papers")
}


def made_up(study, name):
    data = given(study, makers(study, "figures")[name], SHAPES[study])
    return {
        key: {variant: one.copy(deep=True) for variant, one in part.items()}
        if isinstance(part, dict)
        else part.copy(deep=True)
        for key, part in data.items()
    }


def drawn(study, name, data):
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_function(study, makers(study, "figures")[name].path)(**data)


def panel_titles(figure):
    return [panel.get_title("left") for panel in figure.axes]


def title_of(study, name, data):
    return drawn(study, name, data).repdyn["title"]


# words


def test_numbers_are_read_without_exponents_and_unknown_ones_as_such():
    assert [number(x) for x in (209.0, 0.5, -3e7, np.nan, np.inf)] == ["209", "0.5", "-3e+07", "?", "?"]
    assert number(0.9, ".0%") == "90%"


@pytest.mark.parametrize("form", [".0e", ".1g", ".2g", ".3g", "g"])
def test_no_number_below_a_hundred_thousand_has_a_positive_exponent(form):
    for value in (1.0, 9.99, 99.6, 100.0, 104.2, 330.0, 12345.6, 99999.4):
        for signed in (value, -value):
            text = number(signed, form)
            assert "e" not in text
            assert float(text) == pytest.approx(signed, rel=0.5)
    assert [number(x) for x in (100.0, 104.2, 330.0, 99_999.0, 100_000.0)] == ["100", "104", "330", "99999", "1e+05"]


@pytest.mark.parametrize(
    ("values", "text"), [([0.3, 0.1, np.nan], "0.1 to 0.3"), ([2.0, 2.001], "2"), ([np.nan], "?"), ([], "?")]
)
def test_a_span_is_of_the_finite_values(values, text):
    assert span(values) == text


def test_an_outcome_holds_where_no_finite_margin_is_negative():
    words = "holds", "fails", "unknown"
    assert outcome([0.0, 1.0, np.nan], *words) == "holds"
    assert outcome([1.0, -1e-9], *words) == "fails"
    assert outcome([np.nan], *words) == outcome([], *words) == "unknown"
    assert [counted(x) for x in ([1, 1], [1, -1], [np.nan])] == ["all 2", "1 of 2", "none known"]


def test_those_that_hold_are_named_where_others_do_not():
    assert which({"a": 1, "b": [1, np.nan]}) == "all 2"
    assert which({"a": 1, "b": [1, -1], "c": 0}) == "only a, c"
    assert which({"a": -1, "b": np.nan}) == "none of 1"
    assert which({"a": np.nan, "b": []}) == which({}) == "?"


# universality


@pytest.mark.parametrize(("name", "prefix"), [("fig6_xor", ""), ("fig16_xor_adam", "adam_")])
def test_titles_of_xor_count_the_merged_pairs_of_every_run(name, prefix):
    data = made_up("universality", name)
    nets = data["xor_structure"]
    nets["learned"][:] = 1
    for run, ratios in (("low", (0.1, 0.2)), ("intermediate", (0.1, 0.5)), ("high", (0.9, 0.8))):
        nets["merged"].loc[{"run": f"{prefix}{run}"}] = np.array(ratios)
    nets["learned"].loc[{"run": f"{prefix}two_layers"}] = 0
    merged = "merged both pairs of equal target"
    assert title_of("universality", name, data).endswith(f": only 20 layers and small weights {merged}")
    assert (
        "both (20 layers, small), one (20 layers, middle), none (20 layers, large), none learned (2 layers, small)"
        in drawn("universality", name, data).repdyn["caption"]
    )
    nets["merged"][:] = 0.5
    assert title_of("universality", name, data).endswith(f": none of 3 {merged}")
    nets["learned"][:] = 0
    assert title_of("universality", name, data).endswith(f": ? {merged}")


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("fig8_blob_structure", ("high", "low", "very_low")),
        ("fig17_blob_structure_adam", ("adam_high", "adam_low", "leaky_high", "leaky_low")),
    ],
)
def test_blobs_say_whether_contexts_collapse_more_at_smaller_weights(name, runs):
    data = made_up("universality", name)
    blobs = data["blob_structure"]
    gains = {"high": 2.0, "low": 0.5, "very_low": 0.3, "adam_high": 2.0, "adam_low": 0.5, "leaky_high": 2.0}
    blobs = data["blob_structure"] = blobs.assign_coords(
        gain=("run", [gains.get(str(run), 0.5) for run in blobs["run"].values])
    )
    typical = blobs["typical_collapse"]
    for run in runs:
        typical.loc[{"run": run}] = gains.get(run, 0.5) / 2
    assert title_of("universality", name, data).endswith(": contexts collapse more at smaller weights")
    typical.loc[{"run": runs[-1]}] = 9
    assert title_of("universality", name, data).endswith(": contexts do not collapse more at smaller weights")
    typical[:] = np.nan
    assert title_of("universality", name, data).endswith("is not known")


@pytest.mark.parametrize("name", ["fig9_structure", "fig18_structure_adam"])
def test_distances_say_where_the_prediction_fits_them_less(name):
    data = made_up("universality", name)
    correlation = data["representational_structure"]["correlation_of_mean"]
    cases = (
        (0.9, 0.4, "fits distances worse between digits than over all pairs"),
        (0.4, 0.9, "fits distances no worse between digits than over all pairs"),
        (np.nan, np.nan, "to an unknown degree"),
    )
    for total, between, words in cases:
        correlation[:] = total
        correlation.loc[{"part": "between classes"}] = between
        assert title_of("universality", name, data).endswith(words)


def test_figure_11_says_whether_an_altered_dynamics_fits_better():
    data = made_up("universality", "fig11_alternatives")
    losses = data["default_network_fits"]["alternative_loss"]
    cases = (
        (1.0, "the theory fits better than the altered dynamics"),
        (3.0, "an altered dynamics fits better than the theory"),
        (np.nan, "not compared"),
    )
    for theory, words in cases:
        losses[:] = 5.0
        losses.loc[{"alternative": "square"}] = 2.0
        losses.loc[{"alternative": "theory"}] = theory
        figure = drawn("universality", "fig11_alternatives", data)
        assert figure.repdyn["title"].endswith(words)
        assert "at best 2 (square)" in figure.repdyn["caption"]
    losses[:] = np.nan
    assert title_of("universality", "fig11_alternatives", data).endswith("not compared")


def test_figure_15_compares_adam_with_descent():
    data = made_up("universality", "fig15_adam")
    adam, descent = data["adam_fits"]["r2"], data["architecture_fits"]["r2"]
    descent[:] = 0.5
    for level, words in ((0.1, "worse with Adam than"), (0.9, "no worse with Adam at some rate"), (np.nan, "unknown")):
        adam[:] = level
        assert words in title_of("universality", "fig15_adam", data)


def shown_r2(fits, levels):
    """All trials have converged, with the same explained variances of h, y, w in each network."""
    fits["shown"][:] = 0
    for network, r2 in levels.items():
        fits["r2"].loc[{"network": network}] = xr.DataArray(np.array(r2, float), {"curve": list("hyw")}, "curve")


def test_figure_2_counts_the_networks_that_the_theory_explains():
    data = made_up("universality", "fig2_architectures")
    fits, names = data["architecture_fits"], FIGURE_2
    shown_r2(fits, dict.fromkeys(names, (0.9, 0.8, 0.7)))
    words = "Figure 2: the theory explains 80% of "
    assert title_of("universality", "fig2_architectures", data) == (
        f"{words}$h$ in all {len(names)}, of $y$ in all {len(names)} and of $w$ in 0 of {len(names)} networks"
    )
    shown_r2(fits, {"relu": (0.7, 0.9, 0.9)})
    title = title_of("universality", "fig2_architectures", data)
    assert f"$h$ in {len(names) - 1} of {len(names)}, of $y$ in all" in title
    assert title.endswith(f"of $w$ in 1 of {len(names)} networks")
    fits["r2"][:] = np.nan
    assert "$h$ in none known, " in title_of("universality", "fig2_architectures", data)


def test_figure_3_names_the_gains_at_which_the_theory_explains_every_curve():
    data = made_up("universality", "fig3_initial_weights")
    fits, runs = data["architecture_fits"], data["architectures"]
    start = "Figure 3: the theory explains 80% of each of $h, y, w$ for "
    shown_r2(fits, dict.fromkeys(FIGURE_3, (0.9, 0.8, 0.9)))
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}all 5"
    shown_r2(fits, dict.fromkeys([name for name in FIGURE_3 if name != "low"], (0.9, 0.9, 0.7)))
    gain = float(runs["gain"].sel(network="low"))
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}only gain {gain:g}"
    fits["r2"][:] = np.nan
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}?"


def test_formula_47_fits_the_draws_as_printed_and_as_corrected():
    data = made_up("universality", "n2_final_distribution")
    drawn_shares = data["final_distribution"]
    start = "Final distance over random initial weights: (47) as printed fits the draws for "
    for kind in ("printed", "corrected"):
        drawn_shares[kind] = drawn_shares["level"] + 0 * drawn_shares[kind]
    assert title_of("universality", "n2_final_distribution", data) == f"{start}all 3, as corrected for all 3"
    rho = drawn_shares["rho"].values
    drawn_shares["printed"].loc[{"rho": rho[1:]}] += 0.02
    one = rf"only $\tau_y/\tau_h$ = {rho[0]:g}"
    assert title_of("universality", "n2_final_distribution", data) == f"{start}{one}, as corrected for all 3"
    drawn_shares["printed"][:] = np.nan
    assert title_of("universality", "n2_final_distribution", data) == f"{start}?, as corrected for all 3"


def test_the_printed_limit_of_the_lazy_regime_is_reached_or_not():
    data = made_up("universality", "n3_rich_to_lazy")
    maps = data["theory_maps"]
    maps["regime_h"][:] = maps["regime_printed"][:] = 2.0
    assert title_of("universality", "n3_rich_to_lazy", data).endswith(": the printed limit is reached for all 3")
    maps["regime_printed"].loc[{"rho": maps["rho"][1:]}] = -2.0
    assert title_of("universality", "n3_rich_to_lazy", data).endswith(
        rf"reached for only $\tau_y/\tau_h$ = {float(maps['rho'][0]):g}"
    )
    maps["regime_h"][:] = np.nan
    assert title_of("universality", "n3_rich_to_lazy", data).endswith("reached for ?")


def test_weighing_raises_the_correlation_or_not():
    data = made_up("universality", "n4_correlations")
    levels = data["representational_structure"]["correlation_of_mean"]
    for over_all, between, words in (
        (0.9, 0.4, "rises over all entries, does not rise between classes"),
        (0.4, 0.9, "does not rise over all entries, rises between classes"),
        (np.nan, np.nan, "may change over all entries, may change between classes"),
    ):
        levels.loc[{"prediction": "pair alone"}] = 0.5
        levels.loc[{"prediction": "weighed (50)", "part": "all entries"}] = over_all
        levels.loc[{"prediction": "weighed (50)", "part": "between classes"}] = between
        assert title_of("universality", "n4_correlations", data).endswith(f"the correlation {words}")


def test_the_closed_form_explains_a_network_or_not():
    data = made_up("universality", "n5_closed_form")
    fits = data["default_network_fits"]
    fits["shown"][...] = 0
    for level, words in (
        (0.9, "explains 80% of each of $h, y, w$ of a trained network"),
        (0.7, "explains less than 80% of $h$, $y$ or $w$ of a trained network"),
        (np.nan, "is not compared with a network"),
    ):
        fits["r2"][:] = 0.95
        fits["r2"].loc[{"curve": "w"}] = level
        if level != level:
            fits["r2"][:] = np.nan
        assert title_of("universality", "n5_closed_form", data).endswith(f"closed form of the theory {words}")


def test_figure_14_counts_the_times_at_which_the_ratio_falls():
    data = made_up("universality", "fig14_taylor")
    ratio, looks = data["taylor_ratios"]["ratio"], data["taylor_ratios"].sizes["look"]
    falling = xr.DataArray(np.linspace(2, 1, ratio.sizes["bin"]), dims="bin")
    ratio[:] = falling.broadcast_like(ratio).transpose(*ratio.dims)
    start = "Figure 14: with distance the ratio of Taylor orders falls in the encoder at "
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}all {looks} times, in the decoder at all {looks}"
    ratio.loc[{"look": ratio["look"][0], "map": "encoder"}] = 1 / falling
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}{looks - 1} of {looks} times, in the decoder at all {looks}"
    ratio[:] = np.nan
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}none known times, in the decoder at none known"


# bn_decomposed


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


# leaky_resnets


def test_the_laboratory_says_whether_the_hamiltonian_is_conserved():
    data = made_up("leaky_resnets", "geodesic_laboratory")
    H = data["geodesics"]["scaled_hamiltonian"]
    for share, words in (
        (0.0, "the Hamiltonian is conserved"),
        (0.5, "the Hamiltonian varies by up to 50%"),
        (np.nan, "the Hamiltonian's variation is not known"),
    ):
        H[:] = 1 + share * np.linspace(-0.5, 0.5, H.sizes["p"])[(...,) + (None,) * (H.ndim - 1 - H.dims.index("p"))]
        figure = drawn("leaky_resnets", "geodesic_laboratory", data)
        assert f"(c) {words}" in panel_titles(figure)
        assert figure.repdyn["title"] == f"Exact trajectories through a bottleneck: {words}"


def test_balancedness_says_which_factor_is_nearer():
    data = made_up("leaky_resnets", "balancedness")
    factors = data["refinement_measures"]["balance_factor"]
    for level, words in (
        (1.9, "nearer 2 than the printed 1"),
        (1.2, "nearer the printed 1 than 2"),
        (np.nan, "not known"),
    ):
        factors[:] = 1.5
        factors.loc[{"layers": factors["layers"][-1]}] = level
        title = title_of("leaky_resnets", "balancedness", data)
        assert title == f"Balancedness: with most layers the factor of Proposition 9 is {words}"


def test_theorem_4_says_which_bound_is_broken():
    data = made_up("leaky_resnets", "theorem4")
    for part in data.values():
        part["middle"][:] = -1
        for name in {"lower", "lower_printed"} & set(part):
            part[name][:] = -2
    title = title_of("leaky_resnets", "theorem4", data)
    assert title == "Theorem 4: the printed lower bound holds here, the corrected one holds"
    data["random_geodesics"]["lower_printed"][:] = -0.5
    assert "printed lower bound is false, the corrected one holds" in title_of("leaky_resnets", "theorem4", data)
    data["geodesics"]["lower"][:] = -0.5
    assert title_of("leaky_resnets", "theorem4", data).endswith("the corrected one is false, too")


def test_proposition_1_says_where_its_printed_bound_holds():
    data = made_up("leaky_resnets", "identity_cost")
    least = data["identity_costs"]["least_ratio"]
    cases = (
        (0.6, 1.0, "fails with a bias, holds without"),
        (1.2, 0.4, "holds with a bias, fails without"),
        (np.nan, np.nan, "is not known with a bias, is not known without"),
    )
    for biased, plain, words in cases:
        least.loc[{"search": "bias, printed"}] = biased
        least.loc[{"search": "no bias, printed"}] = plain
        figure = drawn("leaky_resnets", "identity_cost", data)
        assert figure.repdyn["title"].endswith(words)
        assert f"{number(plain, '.2f')} (no bias), {number(biased, '.2f')} (bias)" in figure.repdyn["caption"]


def test_critical_paths_say_whether_layers_help_and_which_factor_is_nearer():
    data = made_up("leaky_resnets", "critical_paths")
    paths = data["critical_paths"]
    cases = (
        (-1.0, 2.1, "better; Proposition 9's gain is nearer 2 than 1"),
        (0.5, 1.0, "no better; Proposition 9's gain is nearer 1 than 2"),
        (np.nan, np.nan, "?; Proposition 9's gain is not known"),
    )
    for slope, gain, words in cases:
        paths["spread"][:] = 0
        paths["spread"] = paths["spread"] + paths["layer_count"].astype(float) ** slope
        paths["norm_gain"][:] = gain
        figure = drawn("leaky_resnets", "critical_paths", data)
        assert figure.repdyn["title"].endswith(words)
        assert panel_titles(figure)[0].endswith(f"slope {number(slope, '.1f')}")


def test_levels_of_trained_weights_are_in_the_title():
    data = made_up("leaky_resnets", "fig2b_weight_spectra")
    for level in (3.0, 6.0):
        data["staged_measures"]["stage_dimension"][:] = level
        assert f"The weights have {level:.1f} dimensions" in title_of("leaky_resnets", "fig2b_weight_spectra", data)


def test_figure_1a_names_the_maps_whose_cost_and_energy_end_near_the_rank():
    data = made_up("leaky_resnets", "fig1a_hamiltonian")
    chains = data["chain_measures"]
    kinds, rank = chains["maps"].values, int(chains["rank"])
    for cost, energy, others, words in (
        (0.3, -0.3, 1.0, f"with only {kinds[0]}"),
        (0.3, -0.6, 1.0, f"with none of {len(kinds)}"),
        (0.6, -0.3, 1.0, f"with none of {len(kinds)}"),
        (0.3, 0.3, 0.3, f"with all {len(kinds)}"),
        (np.nan, np.nan, np.nan, "with ?"),
    ):
        for name, apart in (("least_cost", cost), ("median_hamiltonian", energy)):
            chains[name] = chains[name].astype(float)
            chains[name][:] = rank + others
            chains[name].loc[{"maps": kinds[0]}] = rank + apart
        figure = drawn("leaky_resnets", "fig1a_hamiltonian", data)
        assert figure.repdyn["title"].endswith(words)
        ends = f"{number(rank + cost, '.1f')}, {number(rank + energy, '.1f')} ({kinds[0]})"
        assert ends in figure.repdyn["caption"]


def test_figure_1c_compares_the_hamiltonian_with_its_parts():
    data = made_up("leaky_resnets", "fig1c_energies")
    chains = data["chain_measures"]
    for ranges, words in (
        ((1, 2, 3), "varies less than its parts"),
        ((7, 5, 8), "varies more than a part of it"),
        ((np.nan, np.nan, np.nan), "is not known"),
    ):
        for name, size in zip(("hamiltonian", "cost", "kinetic"), ranges, strict=True):
            chains[name][:] = 1 + 0 * size
            chains[name].loc[{"layer": chains["layer"][0]}] = 1 + size
        figure = drawn("leaky_resnets", "fig1c_energies", data)
        assert figure.repdyn["title"].endswith(words)
        H, cost, kinetic = map(number, ranges)
        sizes = f"Hamiltonian {H}, cost of identity {cost}, kinetic energy {kinetic}"
        assert sizes in figure.repdyn["caption"]


def test_figure_2a_of_networks_that_diverged_has_no_number():
    data = made_up("leaky_resnets", "fig2a_test_error")
    ratios = data["scheme_measures"]["test_ratio_by_layers"]
    for level, words in ((1.02, "2 %"), (1.5, "50 %"), (np.nan, "? %")):
        ratios[:] = level
        assert f"by {words} at most" in title_of("leaky_resnets", "fig2a_test_error", data)


def test_figure_2c_says_whether_adaptive_steps_are_more_even():
    data = made_up("leaky_resnets", "fig2c_paths")
    unevenness = data["scheme_measures"]["plane_unevenness"]
    for equidistant, words in ((0.9, "spread out more evenly"), (0.1, "spread out no more evenly")):
        unevenness[:] = 0.5
        unevenness.loc[{"scheme": "equidistant"}] = equidistant
        assert words in title_of("leaky_resnets", "fig2c_paths", data)


def test_figure_3_names_the_lengths_that_grow():
    data = made_up("leaky_resnets", "fig3_bounded")
    chains = data["chain_measures"]
    names = ("length", "stable_length", "largest_momentum", "median_alignment")
    for factors, words in (
        ((2, 3, 4, 0.5), r"only path length, stable norm, largest $\|B_p\|$ grew"),
        ((0.5, 0.6, 0.7, 0.8), "none of 4 grew"),
        ((5, 6, 7, 8), "all 4 grew"),
        ((np.nan,) * 4, ": ? grew"),
    ):
        for name, factor in zip(names, factors, strict=True):
            chains[name][:] = 1
            chains[name].loc[{"effective_depth": chains["effective_depth"][-1]}] = factor
        figure = drawn("leaky_resnets", "fig3_bounded", data)
        assert words in figure.repdyn["title"]
        assert f"path length {number(factors[0])}, stable norm {number(factors[1])}" in figure.repdyn["caption"]
    for name in names:
        chains[name][:] = 1
    chains["length"].loc[{"effective_depth": chains["effective_depth"][-1], "maps": "free maps"}] = 0.5
    figure = drawn("leaky_resnets", "fig3_bounded", data)
    assert r"only stable norm, largest $\|B_p\|$, $\|B_p S_p^T\|$ grew" in figure.repdyn["title"]
    assert "path length 0.5 to 1," in figure.repdyn["caption"]


# truncation_flow


def cluster_shrinks(data):
    data["image"][:] = data["data"]
    data["image"].loc[{"cluster": 0}] = data["label"]
    data["apex"][:] = data["label"]
    data["apex"].loc[{"time": data["time"][0]}] = data["label"] + 1


@pytest.mark.parametrize("name", ["truncation_in_the_plane", "truncation_in_three_dimensions"])
def test_truncation_says_what_becomes_of_the_clusters(name):
    data = made_up("truncation_flow", name)
    clusters = data["truncation_in_the_plane"]
    cluster_shrinks(clusters)
    title = title_of("truncation_flow", name, data)
    assert "cluster 1 shrinks to one point, which runs to its label" in title
    assert title.endswith("; cluster 2 stays") == (name == "truncation_in_the_plane")
    clusters["image"][:] = clusters["data"] + 0.5
    clusters["apex"].loc[{"time": clusters["time"][-1]}] = clusters["label"] + 0.5
    title = title_of("truncation_flow", name, data)
    assert "cluster 1 keeps 100% of its size, and its apex stops with 50% of the way to its label left" in title
    assert title.endswith("; cluster 2 moves by up to 0.5") == (name == "truncation_in_the_plane")


def test_neural_collapse_says_what_is_left_of_clusters_and_whether_they_stay_separated():
    data = made_up("truncation_flow", "neural_collapse")
    clusters = data["neural_collapse"]
    for left, margin, words in (
        (0.0, 0.1, "every cluster becomes one point, all stay separated"),
        (0.2, -0.1, "of the variance within clusters 0.2 of that between is left, not all stay separated"),
        (np.nan, np.nan, "what becomes of clusters is not known, their separation is not known"),
    ):
        clusters["ratio"][:], clusters["margin"][:] = left, margin
        assert title_of("truncation_flow", "neural_collapse", data) == f"Neural collapse by truncation: {words}"


def test_the_audit_says_whether_all_corrected_formulas_hold():
    data = made_up("truncation_flow", "gradient_audit")
    for part in data.values():
        part["corrected"][:] = 1e-12
    assert title_of("truncation_flow", "gradient_audit", data).endswith("corrected, all hold")
    data["propagators"]["corrected"][:] = 1.0
    assert title_of("truncation_flow", "gradient_audit", data).endswith(
        f"corrected, {data['gradient_audit'].sizes['equation']} hold"
    )


def test_conservation_says_which_bound_on_the_weight_holds():
    data = made_up("truncation_flow", "conservation")
    clusters = data["collapsed_clusters"]
    clusters["weight_norm"][:] = 1
    for printed, corrected, words in (
        (0.5, 2.0, "the printed bound fails, the corrected one holds"),
        (2.0, 0.5, "the printed bound holds, the corrected one fails"),
        (np.nan, np.nan, "the printed bound is not known, the corrected one is not known"),
    ):
        clusters["weight_bound_printed"][:] = printed
        clusters["weight_bound_corrected"][:] = corrected
        figure = drawn("truncation_flow", "conservation", data)
        assert words in figure.repdyn["caption"]
        assert words in figure.repdyn["alt"]


# bn_mean_field


def test_speeds_at_equal_iteration_and_at_equal_loss_are_compared_with_vanilla():
    data = made_up("bn_mean_field", "matched_loss")
    for ratio, matched, words in (
        (18.0, 0.5, "faster at equal iteration, slower at equal loss"),
        (0.2, 4.0, "slower at equal iteration, faster at equal loss"),
        (np.nan, np.nan, "of unknown speed at equal iteration, of unknown speed at equal loss"),
    ):
        data["speed_ratio"]["ratio"][:] = ratio
        data["speed_ratio"]["matched_ratio"][:] = matched
        figure = drawn("bn_mean_field", "matched_loss", data)
        assert figure.repdyn["title"].endswith(words)
        assert f"a ratio of {number(ratio)} (the paper: 10)" in figure.repdyn["caption"]


def test_steps_that_learn_are_moved_or_widened():
    data = made_up("bn_mean_field", "learning_over_steps")
    rates = data["learning_rates"]
    for shift, decades, words in (
        (10, 0, "moves the range of steps that learn more than it widens it"),
        (0.1, 0.2, "moves the range of steps that learn more than it widens it"),
        (10, 1, "widens the range of steps that learn more than it moves it"),
        (np.nan, np.nan, "in an unknown way"),
    ):
        rates["largest_step"][:] = 1
        rates["largest_step"].loc[{"network": "BN"}] = shift
        rates["decades"][:] = 1
        rates["decades"].loc[{"network": "BN"}] = 1 + decades
        figure = drawn("bn_mean_field", "learning_over_steps", data)
        assert figure.repdyn["title"].endswith(words)
        factors = f"{number(shift)} times and their range {number(10.0**decades)} times"
        assert factors in figure.repdyn["caption"]


def test_neurons_near_the_axis_of_low_variance_are_compared_for_both_targets():
    data = made_up("bn_mean_field", "speeds_over_targets")
    scan = data["target_scan"]
    for first, last, words in (
        (1.0, -1.0, "faster for target $x_1$, no faster for $x_2$"),
        (-1.0, 2.0, "no faster for target $x_1$, faster for $x_2$"),
        (np.nan, np.nan, "of unknown speed for target $x_1$, of unknown speed for $x_2$"),
    ):
        scan["outer_contrast"].loc[{"angle": 0.0}] = first
        scan["outer_contrast"].loc[{"angle": 90.0}] = last
        figure = drawn("bn_mean_field", "speeds_over_targets", data)
        assert figure.repdyn["title"].endswith(words)
        levels = f"{number(10**first)} for the target $x_1$ and {number(10**last)} for $x_2$"
        assert levels in figure.repdyn["caption"]


def test_figure_3_says_whether_smaller_neurons_are_longer_after_a_step():
    data = made_up("bn_mean_field", "fig3_first_step")
    norm = data["first_step"]["norm"]
    for slope, words in (
        (-1, "smaller neurons are longer than larger ones"),
        (1, "not all smaller neurons are longer than larger ones"),
    ):
        norm[:] = (norm["radius"] ** slope).broadcast_like(norm).transpose(*norm.dims)
        title = title_of("bn_mean_field", "fig3_first_step", data)
        assert title == f"Figure 3, computed: after the first step {words}"
    norm[:] = np.nan
    with pytest.raises(NotEnoughDataError, match="first steps that have not diverged"):
        title_of("bn_mean_field", "fig3_first_step", data)


def test_equal_speeds_learn_and_gather_as_before_or_not():
    data = made_up("bn_mean_field", "parts_switched_off")
    needed, angle = data["feature_learning"]["needed"], data["concentration"]["axis_angle"]
    for equal, turned, words in (
        (100.0, 5.0, "in fewer iterations than vanilla, and as many neurons end near $x_1$"),
        (np.inf, 80.0, "in no fewer iterations than vanilla, and not as many neurons end near $x_1$"),
        (np.nan, np.nan, "in no known fewer iterations than vanilla, and an unknown number of neurons ends near $x_1$"),
    ):
        needed[:], angle[:] = 200.0, 5.0
        needed.loc[{"network": "BN, equal speeds"}] = equal
        angle.loc[{"network": "BN, equal speeds"}] = turned
        title = title_of("bn_mean_field", "parts_switched_off", data)
        assert title == f"Section 4.1: without the anisotropic speed BN learns {words}"


def test_figure_2_says_whether_more_small_neurons_than_large_ones_end_near_the_axis():
    data = made_up("bn_mean_field", "fig2_magnitudes")
    near = data["magnitudes"]["near"]
    small, large = np.sort(near["radius"].values)
    for shares, words in (
        ((1.0, 0.2), ": more small neurons than large ones end"),
        ((0.2, 1.0), ": no more small neurons than large ones end"),
        ((0.5, 0.5), ": no more small neurons than large ones end"),
        ((np.nan, np.nan), ": unknown shares of neurons end"),
    ):
        for radius, share in zip((small, large), shares, strict=True):
            near.loc[{"radius": radius}] = share
        figure = drawn("bn_mean_field", "fig2_magnitudes", data)
        assert words in figure.repdyn["title"]
        assert f"{number(shares[0], '.0%')} of length {small:g}" in figure.repdyn["caption"]


def test_theorem_4_says_whether_wide_systems_are_nearer_the_limit():
    data = made_up("bn_mean_field", "mean_field_limit")
    limit = data["propagation_distances"]
    limit["distance"][:] = 1 / limit["width"]
    assert title_of("bn_mean_field", "mean_field_limit", data).endswith(
        ": wide systems are nearer the mean-field flow than narrow ones"
    )
    widest = limit["width"].where((limit["width"] != limit["reference"]) & (limit["start"] == "i.i.d.")).max()
    limit["distance"][limit["width"] == widest] = 9
    assert ": not all wide systems are nearer" in title_of("bn_mean_field", "mean_field_limit", data)
    limit["distance"][:] = np.nan
    assert title_of("bn_mean_field", "mean_field_limit", data).endswith("is not known")


def test_equicontinuity_says_which_bound_holds():
    data = made_up("bn_mean_field", "equicontinuity_bounds")
    flow = data["equicontinuity"]
    for distance, printed, bound, words in (
        (1.0, 0.5, 2.0, "the printed bound fails, the corrected one holds"),
        (1.0, 2.0, 0.5, "the printed bound holds, the corrected one fails"),
        (np.nan, 2.0, 2.0, "the printed bound is not known, the corrected one is not known"),
    ):
        for name, level in (("w2", distance), ("bound_printed", printed), ("bound", bound)):
            flow[name][:] = level
        assert title_of("bn_mean_field", "equicontinuity_bounds", data).endswith(words)


def test_theorem_5_gives_the_most_that_separating_starts_leave():
    data = made_up("bn_mean_field", "global_minimum")
    flows = data["minimization"]
    for separating, others in ((0.001, 0.5), (0.2, 0.01)):
        flows["relative_loss"][:] = xr.where(flows["separates"] == 1, separating, others)
        figure = drawn("bn_mean_field", "global_minimum", data)
        assert f"from separating starts at most {separating:g} of the loss" in figure.repdyn["title"]
        assert f"{others:g} from others" in figure.repdyn["caption"]


def test_the_manifold_says_how_equal_the_angles_are():
    angles = np.radians(np.arange(0, 360, 10.0))
    data = made_up("bn_mean_field", "round_manifold")
    for moved in (0.0, 4.0):
        angles[1] = np.radians(10 + moved)
        unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        assert abs(_unevenness(unit) - moved) < 1e-5
        data["metric_audit"]["tick_position"][:] = unit
        title = title_of("bn_mean_field", "round_manifold", data)
        assert title.endswith(" 4 degree") == bool(moved)


# across_papers


def test_question_1_names_the_networks_that_the_theory_misses():
    data = made_up("across_papers", "theory_fits")
    unexplained = data["theory_fits"]["unexplained"]
    for plain, batch_norm, others, words in (
        (0.1, 0.3, 0.15, "only batch norm left"),
        (0.4, 0.3, 0.5, "none of 3 left"),
        (0.1, 0.3, 0.4, "all 3 left"),
        (np.nan, np.nan, np.nan, ": ? left"),
    ):
        unexplained[:] = others
        unexplained.loc[{"network": "plain"}] = plain
        unexplained.loc[{"network": "batch norm"}] = batch_norm
        figure = drawn("across_papers", "theory_fits", data)
        assert words in figure.repdyn["title"]
        assert "over twice as much unexplained as plain" in figure.repdyn["title"]
        assert f"{number(plain, '.0%')} (plain), {number(batch_norm, '.0%')} (batch norm)" in figure.repdyn["caption"]
