"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import re

import numpy as np
import pytest
from tests.noted import data_of, note_of

STUDY = "leaky_resnets"
DECAYED, FREE, FIXED = "decayed maps", "free maps", "fixed maps"


def noted(id, name=None, narrow=False):
    """The note and one dataset, of several the named one."""
    data = data_of(STUDY, id, narrow=narrow)
    return note_of(STUDY, id, data), data[name or next(iter(data))]


def over_seeds(values, digits=3):
    """Means over seeds along what is left, in words."""
    (rest,) = [dim for dim in values.dims if dim != "seed"]
    return ", ".join(f"{row.mean():.{digits}g}" for row in values.transpose(rest, "seed").values)


@pytest.mark.parametrize(
    ("id", "maps"),
    [("lrn-fig1a", DECAYED), ("lrn-fig1a-decayed", DECAYED), ("lrn-fig1a-fixed", FIXED), ("lrn-fig1a-free", FREE)],
)
def test_estimates_of_the_rank_are_means_over_seeds_at_every_effective_depth(id, maps):
    note, chains = noted(id, narrow=True)
    own = chains.sel(maps=maps)
    depths = ", ".join(f"{depth:g}" for depth in chains["effective_depth"].values)
    parts = (
        rf"median $-2 H / \tilde L$ {over_seeds(own['median_hamiltonian'])}",
        rf"$-2 H_\gamma / \tilde L$ {over_seeds(own['median_stable'].isel(gamma=0))}",
        f"least cost {over_seeds(own['least_cost'].isel(gamma=0))}",
        rf"$|W - \tilde L B S^T| / |W|$ {over_seeds(own['relative_distance'], 2)}",
    )
    assert rf"$\tilde L$ = {depths}: means over {chains.sizes['seed']} seeds of {'; '.join(parts)}." in note


def test_speeds_are_those_of_decayed_maps_in_the_first_the_slowest_and_the_last_layer():
    note, chains = noted("lrn-fig1-speed", narrow=True)
    own = chains.sel(maps=DECAYED)
    speed = (
        (own["kinetic"].isel(gamma=0) ** 0.5 * own["effective_depth"])
        .transpose("effective_depth", "seed", "layer")
        .values
    )
    first, least, last = (
        ", ".join(f"{row.mean():.3g}" for row in values)
        for values in (speed[..., 0], speed.min(axis=2), speed[..., -1])
    )
    assert f"Means: first layer {first}; least {least}; last layer {last}," in note


def test_lengths_and_momenta_of_figure_3_are_those_of_decayed_maps():
    note, chains = noted("lrn-fig3", narrow=True)
    own = chains.sel(maps=DECAYED)
    assert f"Means: path length {over_seeds(own['length'])}," in note
    assert f"does not show, {over_seeds(own['stable_length'].isel(gamma=0))}; " in note
    assert f"max $|B|$ {over_seeds(own['largest_momentum'])}; " in note
    assert f"median $|B S^T|$ {over_seeds(own['median_alignment'])}." in note


def test_differences_of_theorem_4_stand_between_its_bounds():
    note, chains = noted("lrn-thm4-trained", narrow=True)
    own = chains.sel(maps=DECAYED).isel(gamma=0)
    assert f"Difference {over_seeds(own['gap'], 2)} from the least to the largest" in note
    assert f"by {over_seeds(own['bound_low'], 2)} and {over_seeds(own['bound_high'], 2)} (corrected" in note


def test_what_is_told_of_the_largest_effective_depth():
    note, chains = noted("lrn-no-bias-rank", narrow=True)
    without = chains["median_hamiltonian"].isel(effective_depth=-1).sel(maps="decayed maps, no bias").values
    assert note.startswith(f"Without bias {without.mean():.3g};")
    note, chains = noted("lrn-long-steps", narrow=True)
    own = chains.isel(effective_depth=-1).sel(maps=DECAYED)
    start, end = (float(own["merged_change"].sel(place=place).mean()) for place in ("start", "end"))
    assert (
        f"$\\rho \\tilde L$ = {float(own['merged_step'].mean()):.2g}. Elsewhere: start {start:.2g}, end {end:.2g}."
        in note
    )
    note, chains = noted("lrn-only-nonneg", narrow=True)
    last = chains.isel(effective_depth=-1)
    first, final = (float(last["negative"].sel(maps=DECAYED).isel(node=node).mean()) for node in (0, -1))
    assert f"decayed maps, {first:.0%} and {final:.0%}." in note
    told = sorted(re.findall(r"([\d.]+%)[;.]", note.split(" At the two ends")[0] + ";"))
    assert told == sorted(
        f"{float(last['least_negative'].sel(maps=maps).mean()):.1%}" for maps in (DECAYED, FREE, FIXED)
    )


def test_parts_outside_the_image_are_medians_over_everything_by_maps():
    note, chains = noted("lrn-image-never", narrow=True)
    told = ", ".join(f"{maps} {np.median(chains['image_gap'].sel(maps=maps)):.2g}" for maps in chains["maps"].values)
    assert f"by maps: {told}." in note


# steps and layers


def test_wins_of_each_scheme_are_counted_over_seeds():
    note, schemes = noted("lrn-fig2a", narrow=True)
    ratios = schemes["test_ratio_by_layers"]
    for scheme in ("irregular", "adaptive"):
        own = ratios.sel(scheme=scheme)
        assert f"{scheme}, mean ratio {np.exp(np.log(own.values).mean()):.3g}: " in note
        for maps in schemes["maps"].values:
            wins = own.sel(maps=maps).transpose("layers", "seed").values < 1
            told = ", ".join(f"$L = {L}$: {row.sum()}" for L, row in zip(schemes["layers"].values, wins, strict=True))
            assert f"{maps}: {told}" in note
    assert f"in so many of {schemes.sizes['seed']} seeds" in note


def test_exponents_of_the_test_error_are_slopes_of_logarithms_with_decayed_maps():
    note, schemes = noted("lrn-appb-layers", narrow=True)
    L = np.log(schemes["layers"].values)
    for scheme in schemes["scheme"].values:
        errors = schemes["test_error_by_layers"].sel(maps=DECAYED, scheme=scheme).transpose("layers", "seed").values
        slopes = np.polyfit(L, np.log(errors), 1)[0]
        assert f"{scheme} {slopes.mean():.2g}" in note.replace("-0 ", "0 ")


def test_unevenness_of_steps_by_scheme():
    note, schemes = noted("lrn-adaptive", narrow=True)
    assert note == f"Equidistant steps: {float(schemes['unevenness_by_layers'].sel(scheme='equidistant').mean()):.3g}."
    note, schemes = noted("lrn-fig2c", narrow=True)
    uneven = schemes["plane_unevenness"].sel(maps=DECAYED)
    told = ", ".join(f"{scheme} {float(uneven.sel(scheme=scheme).mean()):.3g}" for scheme in schemes["scheme"].values)
    assert f"decayed maps: {told}." in note


def layers_up_to(path, position):
    """How many layers lie before a position, in between counted in parts."""
    k = int(np.searchsorted(path, position, side="right")) - 1
    return k if k == len(path) - 1 else k + (position - path[k]) / (path[k + 1] - path[k])


def test_layers_at_both_ends_are_over_their_equidistant_number():
    data = data_of(STUDY, "lrn-fig2b-steps", narrow=True)
    schemes = data["scheme_measures"]
    place = np.linspace(0, 1, schemes.sizes["node"])
    schemes["p"][:] = place
    power = 1.2 + 0.1 * np.arange(schemes.sizes["seed"])
    paths = place ** power[:, None]
    cell = {"scheme": "adaptive"} | ({"maps": DECAYED} if "maps" in schemes["p"].dims else {})
    schemes["p"].loc[cell] = paths if schemes["p"].sel(cell).dims == ("seed", "node") else paths.T
    note = note_of(STUDY, "lrn-fig2b-steps", data)
    L = schemes.sizes["node"] - 1
    told = []
    for words, window in (("5 %", 0.05), ("10 %", 0.1), ("20 %", 0.2)):
        first = np.mean([layers_up_to(path, window) for path in paths]) / (window * L)
        last = np.mean([L - layers_up_to(path, 1 - window) for path in paths]) / (window * L)
        told.append(f"{words} {first:.3g} and {last:.3g}")
    assert f"in the first and the last {'; '.join(told)}." in note


def test_dimensions_of_the_weights_are_counted_above_shares_of_the_largest_at_the_stage():
    note, schemes = noted("lrn-fig2b", "scheme_measures", narrow=True)
    own = schemes.sel(maps=DECAYED, scheme="adaptive")
    counts = {share: [] for share in (0.1, 0.25, 0.5)}
    for seed in own["seed"].values:
        net = own.sel(seed=seed)
        p = net["p"].values
        layer = int(np.abs((p[1:] + p[:-1]) / 2 - 0.3).argmin())
        values = net["weight_spectrum"].transpose("layer", "value").values[layer]
        for share, count in counts.items():
            count.append((values > share * values[0]).sum())
    assert f"a tenth, a quarter, a half: {', '.join(f'{np.mean(count):.2g}' for count in counts.values())}." in note
    staged = data_of(STUDY, "lrn-fig2b", narrow=True)["staged_measures"]
    for teacher in staged["teacher"].values:
        count, far = (
            float(staged[name].sel(teacher=teacher).mean()) for name in ("stage_dimension", "relative_distance")
        )
        assert f"{teacher} {count:.3g} (distance {far:.2g})" in note


def test_kept_dimensions_are_listed_teacher_by_teacher():
    note, runs = noted("lrn-rank-varies", narrow=True)
    kept = runs["separation_place"].sel(spectrum_of="A centered").transpose("teacher", "start").values
    assert f"by teacher and start: {'; '.join(', '.join(f'{int(k)}' for k in row) for row in kept)}." in note


def test_ranges_and_factors_of_halved_layers_leave_out_the_coarsest():
    note, refined = noted("lrn-refined", narrow=True)
    finer = refined.isel(layers=slice(1, None))
    assert note.startswith(f"$L$ = {', '.join(f'{int(L)}' for L in finer['layers'].values)}: ")
    assert f"range {over_seeds(finer['hamiltonian_range'], 2)}; " in note
    assert f"factor of Proposition 9 {over_seeds(finer['balance_factor'])}, on its way" in note


# exact statements


def test_the_kept_representation_changes_its_cost_by_the_square_of_its_negative_part():
    note, costs = noted("lrn-prop2-neuron", "identity_costs")
    small = float(costs["negative_norm"][0])
    change = float(costs["kept_change_printed"].sel(bias=1, negative_norm=small).mean()) * small**2
    assert f"Negative part {small:g}, bias: the proof's neuron changes the cost by {change:+.2f} " in note
    note, costs = noted("lrn-prop5-neuron", "identity_costs")
    both = [
        float(costs["slow_norm_change_printed"].sel(bias=bias, negative_norm=small).mean()) * small**2
        for bias in (0, 1)
    ]
    assert f"by {both[0]:+.2f} without and {both[1]:+.2f} with bias," in note


def test_scaling_without_bias_stays_within_its_largest_change():
    note, costs = noted("lrn-e9-strict")
    off = np.abs(costs["scaling"].sel(shape="9 x 4", bias=0).values).max()
    assert f"(without bias it stays within {off:.1g})" in note


def test_ends_at_rest_and_at_the_cost_of_their_rank_are_counted_case_by_case():
    data = data_of(STUDY, "lrn-prop2-descent")
    ends = data["descents"]
    place = np.arange(ends.sizes["start"])
    for number, case in enumerate(ends["case"].values):
        ends["slope"].loc[{"case": case}] = np.where(place < 150 + number, 0.0, 1.0)
        ends["end_rank"].loc[{"case": case}] = 3
        ends["end_cost"].loc[{"case": case}] = np.where(place < 20 * (number + 1), 3.0099, 3.011)
    note = note_of(STUDY, "lrn-prop2-descent", data)
    n = place.size
    told = [f"{150 + k} of {n}, {20 * (k + 1) / n:.1%} ({case})" for k, case in enumerate(ends["case"].values)]
    assert "; ".join(told) in note


def test_the_laboratory_is_told_at_its_largest_effective_depth():
    note, lab = noted("lrn-geodesic-lab")
    last = lab.isel(effective_depth=-1)
    off = np.abs(last["scaled_hamiltonian"].values - int(lab["rank"])).max()
    middle = int(np.abs(lab["p"].values - 0.5).argmin())
    assert f"$\\tilde L$ = {float(last['effective_depth']):g} $-2 H / \\tilde L$ is within {off:.1g} of $k$" in note
    assert f"is {float(last['share_near_rank'].mean()):.2f} and the relative speed" in note
    assert f"in the middle {float(last['plain_speed'].isel(p=middle).mean()):.2g}:" in note
    speeds = lab["plain_speed"].transpose("effective_depth", "bias", "seed", "p").values.max(axis=3)
    relative = speeds.mean(axis=(1, 2)) / lab["effective_depth"].values
    assert note.endswith(f"by depth: {', '.join(f'{speed:.2f}' for speed in relative)}.")


def test_theorem_4_counts_its_random_counter_examples():
    note, random = noted("lrn-thm4-lower", "random_geodesics")
    violated = int((random["middle"].values < random["lower_printed"].values).sum())
    assert f"Violated by {violated} of {random['middle'].size} random trajectories." in note
    data = data_of(STUDY, "lrn-thm4-lower")
    example = dict(
        zip(data["scalar_geodesics"]["quantity"].values, data["scalar_geodesics"]["example"].values, strict=True)
    )
    assert f"{example['middle']:.4f} against the printed bound {example['lower as printed']:.4f}; " in note
    assert f"right bound {example['lower']:.4f}." in note
    assert f"positive in {(data['geodesics']['middle'].values > 0).mean():.0%} of cases" in note
    note, turning = noted("lrn-thm4-close")
    for turn in turning["turn"].values:
        assert ", ".join(f"{gap:.3g}" for gap in turning["turning_gap"].sel(turn=turn).values) in note
    assert f"$\\tilde L$ = {', '.join(f'{depth:g}' for depth in turning['deeper'].values)} by the angle" in note
