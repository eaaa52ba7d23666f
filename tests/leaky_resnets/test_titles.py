"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import xarray as xr
from tests.titled import drawn, made_up, panel_titles, title_of

from repdyn.base.wording import number


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


def test_distances_from_critical_points_are_given_with_their_trend():
    data = made_up("leaky_resnets", "distance_to_critical")
    chains = data["chain_measures"]
    distance, depth = chains["relative_distance"], chains["effective_depth"]
    for power, trend in ((1, "more at greater depth"), (-1, "not always more at greater depth")):
        levels = 0.1 * (depth / depth[0]).astype(float) ** power
        chains["relative_distance"] = levels.broadcast_like(distance).transpose(*distance.dims)
        ends = " to ".join(number(100 * end) for end in (float(levels.min()), float(levels.max())))
        title = title_of("leaky_resnets", "distance_to_critical", data)
        assert title == f"Trained networks lie {ends}% off critical points, {trend}"
    chains["relative_distance"] = distance * np.nan
    title = title_of("leaky_resnets", "distance_to_critical", data)
    assert title == "Trained networks lie ?% off critical points, at any depth"


def test_the_papers_settings_say_how_far_from_a_critical_point_they_end():
    data = made_up("leaky_resnets", "paper_settings")
    for level, words in ((0.62, "62%"), (0.03, "3%"), (np.nan, "?")):
        data["paper_measures"]["relative_distance"][..., -1] = level
        title = title_of("leaky_resnets", "paper_settings", data)
        assert title == f"The paper's own settings end {words} off a critical point"


def test_figure_1b_gives_the_gaps_after_the_rank():
    data = made_up("leaky_resnets", "fig1b_spectra")
    chains = data["chain_measures"]
    rank = int(chains["rank"])
    for gap in (4.0, 1.5):
        for name, factor in (("spectrum", gap), ("weight_spectrum", 2 * gap)):
            chains[name][:] = xr.where(chains["value"] < rank, factor, 1.0).broadcast_like(chains[name])
        title = title_of("leaky_resnets", "fig1b_spectra", data)
        assert f"singular value {rank} is {gap:g} times the next in $A_p$, {2 * gap:g} times in $W_p$" in title
    chains["spectrum"][:] = np.nan
    assert f"value {rank} is ? times" in title_of("leaky_resnets", "fig1b_spectra", data)
