"""Numbers in captions and titles of leaky ResNets, worked out again from made-up datasets of unequal sizes."""

import numpy as np
from tests.titled import drawn, made_up

from repdyn.base.wording import number
from repdyn.leaky_resnets.figures.exact import WIDE

STUDY = "leaky_resnets"


def caption_of(name, data):
    return drawn(STUDY, name, data).repdyn["caption"]


def test_trained_networks_count_the_seeds_of_each_dataset():
    data = made_up(STUDY, "distance_to_critical")
    data["refinement_measures"] = data["refinement_measures"].isel(seed=[0])
    data["refinement_measures"] = data["refinement_measures"].assign_coords(effective_depth=3.25)
    longer = data["convergence_measures"]
    data["convergence_measures"] = longer.isel(seed=np.r_[0 : longer.sizes["seed"], 0])
    caption = caption_of("distance_to_critical", data)
    assert caption.startswith(f"(a), (b) {data['chain_measures'].sizes['seed']} seeds, ")
    assert r"(c) 1 networks at $\tilde L$ = 3.25, every layer halved" in caption
    assert f"(d) {longer.sizes['seed'] + 1} seeds, runs of several lengths" in caption


def test_factors_of_balancedness_are_means_over_seeds_at_the_fewest_and_the_most_layers():
    data = made_up(STUDY, "balancedness")
    nets = data["refinement_measures"] = data["refinement_measures"].assign_coords(effective_depth=3.25)
    factors = nets["balance_factor"]
    factors[:] = 1.5
    for place, mean in ((0, 1.25), (-1, 1.75)):
        factors[{"layers": place}] = mean + np.linspace(-0.1, 0.1, factors.sizes["seed"])
    L = nets["layers"].values
    figure = drawn(STUDY, "balancedness", data)
    caption = figure.repdyn["caption"]
    assert caption.endswith(f"means from 1.25 at $L$ = {int(L[0])} to 1.75 at $L$ = {int(L[-1])}.")
    assert "path, $\\tilde L$ = 3.25, learned and decayed maps. (a) Seed 0. (b) Each line a network, " in caption
    assert f"a network, {nets.sizes['seed']} seeds:" in caption
    assert figure.axes[0].get_title("left").endswith(f"one network, $L$ = {int(L[-1])}")


def test_the_papers_own_settings_are_told_of_the_first_network_and_the_last_step_of_adam():
    data = made_up(STUDY, "paper_settings")
    net = data["paper_measures"]
    net["relative_distance"][{"maps": 0, "seed": 0, "stop": -1}] = 0.37
    figure = drawn(STUDY, "paper_settings", data)
    steps = net["steps"].values[net["descent_rate"].values == 0]
    told = figure.repdyn["caption"]
    assert figure.repdyn["title"] == "The paper's own settings end 37% off a critical point"
    assert f"One network, {net['maps'].values[0]}, $\\tilde L$ = {float(net['effective_depth']):g}, $L$ = " in told
    assert f"$L$ = {net.sizes['layer']}, penalty as in the paper" in told
    assert f"falls to 0 until step {int(steps[-1])}, then gradient descent" in told
    assert f"first $k^*$ = {int(net['rank'])} singular values" in told
    assert f"(d) $\\gamma_p$ = {float(net['gamma'][0]):g} " in told


def test_the_laboratory_tells_the_cost_halfway_at_the_greatest_depth():
    data = made_up(STUDY, "geodesic_laboratory")
    (lab,) = data.values()
    middle = int(np.abs(lab["p"].values - 0.5).argmin())
    cost = lab["cost"]
    cost[:] = 99.0
    sample = np.linspace(3.25, 3.75, cost.sizes["seed"])
    for seed, level in enumerate(sample):
        cost[{"effective_depth": -1, "p": middle, "seed": seed}] = level
    caption = caption_of("geodesic_laboratory", data)
    depth = float(lab["effective_depth"][-1])
    assert rf"$\tilde L$ = {depth:g} the stable COI is 3.25 to 3.75." in caption
    assert rf"{lab.sizes['seed']} bottlenecks, no bias" in caption


def test_broken_bounds_of_theorem_4_are_counted_on_random_and_on_scalar_geodesics():
    data = made_up(STUDY, "theorem4")
    random, scalar = data["random_geodesics"], data["scalar_geodesics"]
    values = np.arange(random["middle"].size, dtype=float).reshape(random["middle"].shape)
    random["middle"][:] = 2.5 - values
    random["lower_printed"][:], random["lower"][:] = -1.0, -np.inf
    scalar["middle"][:] = -np.arange(1.0, scalar["middle"].size + 1).reshape(scalar["middle"].shape)
    scalar["lower_printed"][:] = -0.75 * scalar["middle"].size
    scalar["lower"][:] = -2.0 * scalar["middle"].size
    scalar["middle"][dict.fromkeys(scalar["middle"].dims, 0)] = -1.0
    told = caption_of("theorem4", data)
    size = random["middle"].size
    assert f"(a) The {size - 3} of {size} random exact trajectories" in told
    assert f"the printed bound is broken ({size - 4} times, filled)" in told
    broken = np.mean(scalar["middle"].values < -0.75 * scalar["middle"].size)
    assert f"inside the black line the printed bound is broken ({broken:.0%} of the grid" in told
    assert "the gap over the corrected bound is at most 0.50." in told
    assert f"range of {data['geodesics'].sizes['seed']} bottlenecks." in told
    assert rf"$\tilde L$ = {float(scalar['effective_depth']):g}: inside" in told


def test_costs_of_identity_count_draws_searches_descents_and_negative_mass():
    data = made_up(STUDY, "identity_cost")
    costs, descents = data["identity_costs"], data["descents"]
    mass = descents["negative_mass"]
    flat = np.where(np.arange(mass.size) < 0.3 * mass.size, 0.0, 0.5)
    mass[:] = flat.reshape(mass.shape)
    costs["scaling"][:] = 5.0
    own = {"bias": 0, "shape": WIDE}
    costs["scaling"].loc[own] = -2e-5
    told = caption_of("identity_cost", data)
    assert f"({costs.sizes['draw']} per shape)" in told
    assert f"that {costs.sizes['start']} searches find" in told
    assert f"Ends of {descents.sizes['start']} descents per case" in told
    assert f"{np.mean(flat == 0):.0%} of them have a negative mass" in told
    assert f"{WIDE} (neurons x points): without bias within {number(2e-5, '.0e')} of 1" in told


def test_critical_paths_tell_the_gain_with_bias_at_the_most_layers():
    data = made_up(STUDY, "critical_paths")
    paths, random = data["critical_paths"], data["random_geodesics"]
    gain = paths["norm_gain"]
    gain[:] = 9.0
    gain.loc[{"bias": 1, "layer_count": gain["layer_count"][-1]}] = 1.75 + np.linspace(-0.5, 0.5, gain.sizes["seed"])
    told = caption_of("critical_paths", data)
    L = int(paths["layer_count"][-1])
    assert f"networks with bias, 1.75 at $L$ = {L}; the proposition" in told
    assert told.startswith(f"(a), (b) {paths.sizes['seed']} random critical paths each")
    assert f"$w$ = {int(paths['width'])}, $N$ = {int(paths['points'])}, $\\tilde L$ = " in told
    assert f"$\\tilde L$ = {float(paths['effective_depth']):g}; lines: geometric means" in told
    assert f"(c) {random.sizes['draw']} random exact trajectories" in told


def test_test_errors_change_by_the_farthest_geometric_mean_of_their_ratios():
    data = made_up(STUDY, "fig2a_test_error")
    nets = data["scheme_measures"]
    ratio = nets["test_ratio_by_layers"]
    ratio[:] = 1.0
    seeds = ratio.sizes["seed"]
    spread = np.exp(np.linspace(-0.3, 0.3, seeds))
    ratio.loc[{"scheme": "adaptive", "maps": ratio["maps"][-1], "layers": ratio["layers"][0]}] = 0.75 * spread
    ratio.loc[{"scheme": "irregular", "maps": ratio["maps"][0], "layers": ratio["layers"][-1]}] = 1.125 * spread
    figure = drawn(STUDY, "fig2a_test_error", data)
    assert "change the mean test error by 25 % at most" in figure.repdyn["title"]
    told = figure.repdyn["caption"]
    assert "means 0.750 to 1.125." in told
    assert f"$\\tilde L$ = {float(nets['effective_depth']):g}, {seeds} seeds; schemes share" in told


def test_paths_in_the_plane_tell_their_share_and_the_unevenness_of_each_scheme():
    data = made_up(STUDY, "fig2c_paths")
    nets = data["scheme_measures"]
    own = {"maps": "decayed maps"}
    nets["plane_share"][:], nets["plane_unevenness"][:] = 0.1, 5.0
    share = nets["plane_share"].sel(own)
    sample = np.linspace(0.5, 0.9, share.size).reshape(share.shape)
    nets["plane_share"].loc[own] = sample
    for scheme, level in (("equidistant", 0.75), ("irregular", 0.5), ("adaptive", 0.25)):
        cell = own | {"scheme": scheme}
        nets["plane_unevenness"].loc[cell] = level + np.linspace(-0.1, 0.1, nets.sizes["seed"])
    told = caption_of("fig2c_paths", data)
    assert "they hold 70% of the variance." in told
    assert "lengths: equidistant 0.75, irregular 0.50, adaptive 0.25." in told
    assert f"(d) Means over {nets.sizes['seed']} seeds" in told
    assert f"seed 0, $L$ = {nets.sizes['layer']}, learned" in told


def test_stages_of_the_weights_tell_layers_values_and_seeds():
    data = made_up(STUDY, "fig2b_weight_spectra")
    nets = data["staged_measures"]
    told = caption_of("fig2b_weight_spectra", data)
    assert f"$L$ = {nets.sizes['layer']}, $\\tilde L$ = {float(nets['effective_depth']):g}, learned" in told
    assert f"the largest {nets.sizes['value']} are drawn" in told
    assert f"means over {nets.sizes['seed']} seeds. Teachers" in told
