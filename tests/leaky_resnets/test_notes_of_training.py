"""Notes on jumps, sizes, spectra, penalties and the paper's own settings, worked out again from made-up datasets."""

from collections import Counter

import numpy as np
import pytest
from tests.leaky_resnets.test_notes import DECAYED, FIXED, FREE, noted, over_seeds
from tests.noted import data_of, note_of

STUDY = "leaky_resnets"


def depth_seven(chains, maps=DECAYED):
    return chains.sel(maps=maps, effective_depth=7.0)


def test_largest_steps_are_counted_by_place_at_the_papers_depth():
    data = data_of(STUDY, "lrn-fig1b")
    chains, told = data["chain_measures"], []
    chains["separation_place"][:] = np.round(chains["separation_place"])
    note = note_of(STUDY, "lrn-fig1b", data)
    for matrix in ("A", "A centered", "W", "W centered"):
        own = depth_seven(chains).sel(spectrum_of=matrix)
        assert len(set(own["separation_place"].values)) > 2
        counts = sorted(Counter(int(place) for place in own["separation_place"].values).items())
        factor = np.exp(np.mean(own["separation_step"].values))
        told.append(f"{matrix}: {', '.join(f'{n} after {k}' for k, n in counts)}, by a factor {factor:.3g}")
    assert note.endswith(f"Largest steps: {'; '.join(told)}.")


def test_least_shares_of_negative_entries_are_those_of_decayed_maps_by_depth():
    note, chains = noted("lrn-prop5-trained", narrow=True)
    assert note.endswith(f"Least shares: {over_seeds(chains['least_negative'].sel(maps=DECAYED), 2)}.")


def has_peak(depths, factor):
    """A layer inside (0.2, 0.8) over the least before it and over the least behind it, at any depth."""
    count = depths.shape[1]
    for speeds in depths:
        for j in range(count):
            if (
                0.2 < (j + 0.5) / count < 0.8
                and speeds[j] > factor * min(speeds[:j])
                and speeds[j] > factor * min(speeds[j + 1 :])
            ):
                return True
    return False


def test_chains_with_a_peak_of_the_plain_speed_are_counted():
    """A peak at one depth is enough; without a bias there are no chains."""
    data = data_of(STUDY, "lrn-ends-jumps", narrow=True)
    chains = data["chain_measures"]
    chains["speed"][:] = np.linspace(1, 3, 20)
    for seed in range(4):
        chains["speed"].loc[{"maps": FREE, "seed": chains["seed"][seed], "effective_depth": 4.0, "layer": 10}] = (
            3.5 + seed
        )
    chains["speed"].loc[{"maps": "decayed maps, no bias", "layer": 10}] = 50.0
    note = note_of(STUDY, "lrn-ends-jumps", data)
    biased = (
        chains["speed"].sel(maps=[DECAYED, FREE, FIXED]).transpose("maps", "seed", "effective_depth", "layer").values
    )
    many, few = (sum(has_peak(d, factor) for of_maps in biased for d in of_maps) for factor in (1.5, 2))
    assert many > few > 0
    count = 3 * chains.sizes["seed"]
    assert note.startswith(f"{count} chains of {chains.sizes['effective_depth']} effective depths each;")
    assert f"below {1 - 0.001 ** (1 / count):.0%} (99.9 %)" in note
    assert note.endswith(f"has peaks in {many} by 1.5 times, {few} by 2 times.")


def test_the_cost_of_identity_spans_the_mean_of_the_factors():
    note, chains = noted("lrn-balanced-size")
    cost = depth_seven(chains)["cost"].isel(gamma=0).transpose("seed", "layer").values
    assert f"spans a factor of {np.mean(cost.max(axis=1) / cost.min(axis=1)):.0f} along" in note


def test_exponents_of_momenta_are_told_by_maps_and_depth_and_spans_at_the_largest():
    note, chains = noted("lrn-b-inverse")
    told = []
    for maps in chains["maps"].values:
        B, S = (
            np.log(chains[name].sel(maps=maps).transpose("effective_depth", "seed", "layer").values)
            for name in ("momentum", "activation")
        )
        slopes = [
            np.mean([np.cov(s, b)[0, 1] / np.var(s, ddof=1) for s, b in zip(*of_depth, strict=True)])
            for of_depth in zip(S, B, strict=True)
        ]
        span = np.mean(np.exp(S[-1].max(axis=1) - S[-1].min(axis=1)))
        told.append(f"{maps} {', '.join(f'{slope:.2f}' for slope in slopes)} ($|S|$ spans {span:.2g} times)")
    assert note == rf"Exponents by maps over $\tilde L$: {'; '.join(told)}."


def test_outputs_under_a_squared_error_grow_by_the_last_half_of_the_records():
    note, outputs = noted("lrn-cross-entropy")
    sizes = outputs["output_size"]
    assert note.startswith(f"Sizes {over_seeds(sizes.sel(loss_name='cross-entropy'))}. ")
    other = sizes.sel(loss_name="mean squared error").transpose("record", "seed").values[3:]
    steps = np.log(outputs["record"].values[3:])
    slopes = [np.cov(steps, np.log(row))[0, 1] / np.var(steps, ddof=1) for row in other.T]
    assert note.endswith(f"the exponent is {np.mean(slopes):.2g}.")


def test_the_range_of_the_hamiltonian_is_that_of_decayed_maps_at_the_papers_depth():
    note, chains = noted("lrn-fig1c", narrow=True)
    assert f"over layers {float(depth_seven(chains)['hamiltonian_range'].mean()):.2g}, mean over seeds." in note


def test_drifts_are_the_largest_of_each_tolerance():
    note, paths = noted("lrn-ham-conserved", "random_geodesics")
    drift = paths["drift"].transpose("tolerance", "bias", "draw").values
    worst = ", ".join(f"{t:.0e}: {rows.max():.1g}" for t, rows in zip(paths["tolerance"].values, drift, strict=True))
    changes = paths["sign_changes"].values.mean()
    assert note == f"Largest drift by tolerance: {worst}; {changes:.1f} sign changes per trajectory."


# the paper's own settings


def test_the_papers_settings_are_told_at_every_stop_of_training():
    note, paper = noted("lrn-literal", narrow=True)
    own = paper.sel(maps=FREE)
    steps = ", ".join(str(int(n)) for n in paper["steps"].values)
    parts = (
        rf"median $-2 H / \tilde L$ {over_seeds(own['median_hamiltonian'])}",
        rf"$-2 H_\gamma / \tilde L$ {over_seeds(own['median_stable'].isel(gamma=0))}",
        rf"$|W - \tilde L B S^T| / |W|$ {over_seeds(own['relative_distance'])}",
    )
    assert note == f"After {steps} steps: {'; '.join(parts)}."


def test_descent_is_held_against_the_last_stop_before_it():
    note, paper = noted("lrn-sgd", narrow=True)
    logs = np.log(paper["relative_distance"].transpose("stop", "maps", "seed").values).mean(axis=(1, 2))
    rates = paper["descent_rate"].values
    last = int(np.sum(rates == 0)) - 1
    told = "; ".join(f"rate {rates[k]:g}: {np.exp(logs[k] - logs[last]):.3g}" for k in range(last + 1, rates.size))
    assert note == f"Distance after over before by rate: {told}."


def test_free_maps_are_told_beside_decayed_ones_by_the_length_of_training():
    note, runs = noted("lrn-free-maps", narrow=True)
    steps = ", ".join(str(int(n)) for n in runs["steps"].values)
    told = "; ".join(f"{maps} {over_seeds(runs['median_hamiltonian'].sel(maps=maps))}" for maps in (DECAYED, FREE))
    assert note == rf"Median $-2 H / \tilde L$ after {steps} steps: {told}."


@pytest.mark.parametrize("lost", [{"step": 0.5}, {"place": 5.0}, {"error": 0.6}, {}])
def test_networks_with_the_ranks_dimensions_have_learned_and_separate_clearly_there(lost):
    """Of six teachers all are near the rank at the first penalty, at the second those but the first two."""
    data = data_of(STUDY, "lrn-over-regularized")
    runs = data["excess_measures"]
    place, step = (runs[f"separation_{part}"] for part in ("place", "step"))
    place[:], step[:], runs["train_error"][:] = 1.0, 0.1, 0.9
    own = {"spectrum_of": "A centered"}
    place.loc[own], step.loc[own] = 4.0, 0.7
    runs["train_error"][:] = 0.4
    first = {"excess": 4.0, "teacher": runs["teacher"][:2]}
    place.loc[own | first] = lost.get("place", 4.0)
    step.loc[own | first] = lost.get("step", 0.7)
    runs["train_error"].loc[first] = lost.get("error", 0.4)
    note = note_of(STUDY, "lrn-over-regularized", data)
    error = (4 * 0.4 + 2 * lost.get("error", 0.4)) / 6
    assert (
        f": 1 times: 6 of 6, training error 0.4; 4 times: {4 if lost else 6} of 6, training error {error:.2g};" in note
    )
