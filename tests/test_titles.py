"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import warnings

import numpy as np
import pytest
from tests.drawn import given, makers, read

from repdyn.base.figures import style
from repdyn.base.wording import counted, number, outcome, span
from repdyn.bn_mean_field.figures.manifold import _unevenness
from repdyn.pipeline.run.execute.loading import load_function

SHAPES = {
    study: read(study)
    for study in ("universality", "bn_decomposed", "leaky_resnets", "truncation_flow", "bn_mean_field")
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


# universality


@pytest.mark.parametrize(("name", "prefix"), [("fig6_xor", ""), ("fig16_xor_adam", "adam_")])
def test_titles_of_xor_count_the_merged_pairs_of_every_run(name, prefix):
    data = made_up("universality", name)
    nets = data["xor_structure"]
    nets["learned"][:] = 1
    for run, ratios in (("low", (0.1, 0.2)), ("intermediate", (0.1, 0.5)), ("high", (0.9, 0.8))):
        nets["merged"].loc[{"run": f"{prefix}{run}"}] = np.array(ratios)
    nets["learned"].loc[{"run": f"{prefix}two_layers"}] = 0
    assert title_of("universality", name, data).endswith(
        "both (20 layers, small), one (20 layers, middle), none (20 layers, large), none learned (2 layers, small)"
    )
    nets["merged"][:] = 0.5
    assert ": none (20 layers, small)" in title_of("universality", name, data)


# bn_decomposed


def test_figure_3_gives_the_angles_measured():
    data = made_up("bn_decomposed", "fig3_odd_point")
    odd = data["odd_point"]
    for angle, width, at_end in ((88.0, 540.0, 0.1), (61.0, 200.0, 1.0)):
        odd["odd_angle"][:] = angle
        odd["intra_angle"][:] = width / odd["batch"]
        odd["after"][:] = angle
        odd["second_to_first"][:] = 0.5
        odd["second_to_first"].loc[{"layer": odd["layer"][-1]}] = at_end
        figure = drawn("bn_decomposed", "fig3_odd_point", data)
        assert f"at {angle:.0f} degrees to the others, which end {width:.0f}/n degrees" in figure.repdyn["title"]
        grows = "its norm outgrows the others" if at_end < 0.5 else "its norm does not outgrow all others"
        assert panel_titles(figure)[1:4] == [
            f"(b) the odd point at {angle:.0f} degrees",
            f"(c) {grows}",
            f"(d) the others end at {width:.0f}$/n$ degrees",
        ]


def test_figure_5_gives_every_normalization_its_own_angles():
    data = made_up("bn_decomposed", "fig5_layer_angles")
    angles = data["layer_angles"]["mean_angle"]
    for full, rms, std in ((75, 59, 3), (40, 41, 42)):
        for kind, level in (("full", full), ("rms", rms), ("std", std)):
            angles.loc[{"normalization": kind}] = level
        words = f"{full} (RC + RS), {rms} (RS by RMS), {std} (RS by std)"
        assert words in title_of("bn_decomposed", "fig5_layer_angles", data)


def test_figure_6_gives_shares_without_and_with_recentering():
    data = made_up("bn_decomposed", "fig6_activity")
    for without, by in ((0.9, 0.5), (0.2, 0.3)):
        data["activity"]["active"].loc[{"recentering": "without"}] = without
        data["activity"]["active"].loc[{"recentering": "with"}] = by
        words = f"{without:.0%} without recentering, {by:.0%} with recentering"
        assert title_of("bn_decomposed", "fig6_activity", data).endswith(words)


def test_the_gap_of_rescaling_alone_is_in_the_title():
    data = made_up("bn_decomposed", "orthogonality_gap")
    for rms, std in ((0.1, 0.9), (0.8, 0.2)):
        data["orthogonality_gap"]["gap"].loc[{"rescale": "rms"}] = rms
        data["orthogonality_gap"]["gap"].loc[{"rescale": "std"}] = std
        assert f"{rms} by the RMS, {std} by the std" in title_of("bn_decomposed", "orthogonality_gap", data)


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
    assert f"all {cases} limits keep its bounds as printed; the shorter extreme has 0.4" in figure.repdyn["title"]
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
    for share, words in ((0.0, "conserved"), (0.5, "varies by up to 50%")):
        H[:] = 1 + share * np.linspace(-0.5, 0.5, H.sizes["p"])[(...,) + (None,) * (H.ndim - 1 - H.dims.index("p"))]
        figure = drawn("leaky_resnets", "geodesic_laboratory", data)
        assert f"(c) Hamiltonian, {words}" in panel_titles(figure)


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


def test_the_least_cost_over_the_printed_bound_is_in_the_title():
    data = made_up("leaky_resnets", "identity_cost")
    least = data["identity_costs"]["least_ratio"]
    for biased, plain in ((0.6, 1.0), (1.2, 0.4)):
        least.loc[{"search": "bias, printed"}] = biased
        least.loc[{"search": "no bias, printed"}] = plain
        words = f"at least {biased:.2f} with a bias, {plain:.2f} without"
        assert title_of("leaky_resnets", "identity_cost", data).endswith(words)


def test_critical_paths_give_slope_and_gain():
    data = made_up("leaky_resnets", "critical_paths")
    paths = data["critical_paths"]
    for slope, gain in ((-1.0, 2.0), (-0.5, 1.0)):
        paths["spread"][:] = 0
        paths["spread"] = paths["spread"] + paths["layer_count"].astype(float) ** slope
        paths["norm_gain"][:] = gain
        figure = drawn("leaky_resnets", "critical_paths", data)
        assert f"to the power {slope:.1f}, the gain of Proposition 9 is {gain:g} at" in figure.repdyn["title"]
        assert panel_titles(figure)[0].endswith(f"slope {slope:.1f}")


@pytest.mark.parametrize(
    ("name", "dataset", "variable", "words"),
    [
        ("fig1a_hamiltonian", "chain_measures", "least_cost", "least cost of identity is {:.1f}, the energy"),
        ("fig2b_weight_spectra", "staged_measures", "stage_dimension", "The weights have {:.1f} dimensions"),
    ],
)
def test_levels_of_trained_networks_are_in_the_title(name, dataset, variable, words):
    data = made_up("leaky_resnets", name)
    for level in (3.0, 6.0):
        data[dataset][variable][:] = level
        assert words.format(level) in title_of("leaky_resnets", name, data)


def test_figure_1a_gives_every_kind_of_maps_its_own_energy():
    data = made_up("leaky_resnets", "fig1a_hamiltonian")
    chains = data["chain_measures"]
    kinds = chains["maps"].values
    for place, maps in enumerate(kinds):
        chains["median_hamiltonian"].loc[{"maps": maps}] = float(place)
    words = ", ".join(f"{place:.1f} ({maps})" for place, maps in enumerate(kinds))
    assert f"the energy {words}; rank" in title_of("leaky_resnets", "fig1a_hamiltonian", data)


def test_figure_1c_gives_the_range_of_every_energy():
    data = made_up("leaky_resnets", "fig1c_energies")
    chains = data["chain_measures"]
    for ranges in ((1, 2, 3), (7, 5, 4)):
        for name, size in zip(("hamiltonian", "cost", "kinetic"), ranges, strict=True):
            chains[name][:] = 1
            chains[name].loc[{"layer": chains["layer"][0]}] = 1 + size
        H, cost, kinetic = ranges
        words = f"Hamiltonian {H}, cost of identity {cost}, kinetic energy {kinetic}"
        assert words in title_of("leaky_resnets", "fig1c_energies", data)


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


def test_figure_3_gives_every_length_its_own_factor():
    data = made_up("leaky_resnets", "fig3_bounded")
    chains = data["chain_measures"]
    names = ("length", "stable_length", "largest_momentum", "median_alignment")
    for factors in ((2, 3, 4, 1), (5, 6, 7, 8)):
        for name, factor in zip(names, factors, strict=True):
            chains[name][:] = 1
            chains[name].loc[{"effective_depth": chains["effective_depth"][-1]}] = factor
        title = title_of("leaky_resnets", "fig3_bounded", data)
        assert [part.split()[0] for part in title.split(" times ")[1:]] == [
            f"{factor}{',' if factor != factors[-1] else ''}" for factor in factors
        ]


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


def test_the_audit_says_whether_all_corrected_formulas_hold():
    data = made_up("truncation_flow", "gradient_audit")
    for part in data.values():
        part["corrected"][:] = 1e-12
    assert title_of("truncation_flow", "gradient_audit", data).endswith("corrected, all hold")
    data["propagators"]["corrected"][:] = 1.0
    assert title_of("truncation_flow", "gradient_audit", data).endswith(
        f"corrected, {data['gradient_audit'].sizes['equation']} hold"
    )


# bn_mean_field


def test_speeds_at_equal_iteration_and_at_equal_loss_are_in_the_title():
    data = made_up("bn_mean_field", "matched_loss")
    for ratio, matched in ((18.0, 0.5), (3.0, 4.0)):
        data["speed_ratio"]["ratio"][:] = ratio
        data["speed_ratio"]["matched_ratio"][:] = matched
        words = f"{ratio:g} at equal iteration, {matched:g} at equal loss"
        assert words in title_of("bn_mean_field", "matched_loss", data)


def test_the_shift_of_steps_that_learn_is_in_the_title():
    data = made_up("bn_mean_field", "learning_over_steps")
    rates = data["learning_rates"]
    for shift, decades in ((10, 0), (0.5, 1)):
        rates["largest_step"][:] = 1
        rates["largest_step"].loc[{"network": "BN"}] = shift
        rates["decades"][:] = 1
        rates["decades"].loc[{"network": "BN"}] = 1 + decades
        words = f"{shift:g} times, the range {10**decades} times"
        assert words in title_of("bn_mean_field", "learning_over_steps", data)


def test_the_contrast_of_speeds_is_given_for_both_targets():
    data = made_up("bn_mean_field", "speeds_over_targets")
    scan = data["target_scan"]
    for first, last in ((1.0, -1.0), (0.0, 2.0)):
        scan["outer_contrast"].loc[{"angle": 0.0}] = first
        scan["outer_contrast"].loc[{"angle": 90.0}] = last
        words = f"{10**first:g} for the target $x_1$, {10**last:g} for $x_2$"
        assert title_of("bn_mean_field", "speeds_over_targets", data).endswith(words)


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
