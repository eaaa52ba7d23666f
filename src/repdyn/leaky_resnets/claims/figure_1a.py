"""Claims on Figure 1a: what the Hamiltonian of trained networks approaches, and from which side."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import Control, false_world, replace_labels, wrong_formula
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, all_of
from repdyn.leaky_resnets.claims.over_seeds import (
    ALL_MAPS,
    FIXED,
    FREE,
    NO_BIAS,
    REVERSED,
    change,
    gammas,
    means,
    near,
    need_chains,
    positive,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, PAPER_DEPTH, at_paper_depth, of_maps

STATES_1A = (
    "As $\\tilde L$ grows, $-2 \\mathcal{H} / \\tilde L$ and its stable forms approach the rank $k^* = 3$ from below,"
    " the least stable cost of identity from above."
)
FIGURE_1A = (
    r"-\frac{2}{\tilde L} \mathcal{H} \nearrow k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \nearrow k^*, \quad"
    r" \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
)
APPROACH_1A = (
    r"-\frac{2}{\tilde L} \mathcal{H} \to k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \to k^*, \quad"
    r" \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
)


def _stable(chains: xr.Dataset) -> xr.DataArray:
    return chains["median_stable"].isel(gamma=0)


def _cost(chains: xr.Dataset) -> xr.DataArray:
    return chains["least_cost"].isel(gamma=0)


def _below(values: xr.DataArray, rank: int) -> Test:
    """Below the rank at every effective depth but the last, where it is to be at the rank."""
    largest = values.isel(effective_depth=slice(None, -1)).max("effective_depth")
    return mean_within(
        largest.values, -np.inf, rank, expected=rf"below {rank} at all $\tilde L$ but the last", reason="'from below'"
    )


def _missing_dimensions(chains: xr.Dataset) -> xr.DataArray:
    """The task's rank less what a network keeps at the largest Lt: values before the largest step of the centered A."""
    remaining = chains["separation_place"].sel(spectrum_of="A centered", drop=True)
    return int(chains["rank"]) - remaining.isel(effective_depth=-1, drop=True)


def _from_below(chains: xr.Dataset, values: xr.DataArray) -> Test:
    """Below the rank, rising, and at the rank in the end."""
    rank = int(chains["rank"])
    return all_of(
        below=_below(values, rank),
        rises=positive(change(values), r"rises with $\tilde L$"),
        near=near(values.isel(effective_depth=-1), rank, r"the largest $\tilde L$"),
    )


def _estimates(chains: xr.Dataset) -> dict[str, tuple[str, int]]:
    """Readings of maps and estimate: from the momenta (-1), not of fixed maps, or a stable form by its gamma_0."""
    places = {"from momenta": -1} | {f"stable, {words}": place for words, place in gammas(chains).items()}
    return {
        f"{estimate}, maps {words}": (maps, place)
        for words, maps in ALL_MAPS.items()
        for estimate, place in places.items()
        if place >= 0 or maps != FIXED
    }


def _estimate(chains: xr.Dataset, place: int) -> xr.DataArray:
    return chains["median_hamiltonian"] if place < 0 else chains["median_stable"].isel(gamma=place)


def _approach(chains: xr.Dataset) -> dict[str, Test]:
    """Both estimates end at the rank, the cost of identity comes from above."""
    rank, last = int(chains["rank"]), {"effective_depth": -1}
    return {
        "H": near(chains["median_hamiltonian"].isel(last), rank, r"median $-2 H / \tilde L$ at the largest $\tilde L$"),
        **_approach_of_stable_forms(chains),
    }


def _approach_of_stable_forms(chains: xr.Dataset) -> dict[str, Test]:
    rank, last = int(chains["rank"]), {"effective_depth": -1}
    stable = near(_stable(chains).isel(last), rank, r"median $-2 H_\gamma / \tilde L$ at the largest $\tilde L$")
    return {"stable H": stable, **_from_above(_cost(chains), rank)}


def _from_above(cost: xr.DataArray, rank: int) -> dict[str, Test]:
    return {
        "least cost": mean_within(
            cost.isel(effective_depth=-1).values,
            rank - 1,
            2 * rank,
            expected=rf"least cost of identity at the largest $\tilde L$ close to {rank}",
            reason=r"from above and tens at small $\tilde L$: still up to twice the rank; $\gamma$ takes off up to 1",
        ),
        "cost falls": positive(-change(cost), r"least cost of identity falls with $\tilde L$"),
    }


def _facts(chains: xr.Dataset) -> dict[str, Any]:
    """Means over seeds by effective depth."""
    return {
        "effective depths": chains["effective_depth"],
        "seeds": chains.sizes["seed"],
        "energy from momenta": means(chains["median_hamiltonian"]),
        "energy, stable form": means(_stable(chains)),
        "least cost of identity": means(_cost(chains)),
        "relative distance from a critical point": means(chains["relative_distance"]),
    }


def shallowest(maps: str) -> Control:
    """Networks with fixed maps at the least Lt, where nothing is separated, in place of some at the largest."""

    def replaced(measures: xr.Dataset) -> xr.Dataset:
        shallow = measures.sel(maps=FIXED).isel(effective_depth=0, drop=True)
        last = (measures["maps"] == maps) & (measures["effective_depth"] == measures["effective_depth"][-1])
        names = ("median_hamiltonian", "median_stable", "least_cost")
        return measures.assign({name: xr.where(last, shallow[name], measures[name]) for name in names})

    return false_world("fixed maps at the least effective depth in place of the largest one", replaced)


def _cost_as_estimate(measures: xr.Dataset) -> xr.Dataset:
    cost = measures["least_cost"]
    return measures.assign(median_hamiltonian=cost.isel(gamma=0), median_stable=cost)


@claim(
    "lrn-fig1a",
    where="Section 2.1, Figure 1a",
    words="approach the rank $k^* = 3$ from below, while the minimal COI approaches it from above",
    line=260,
    assumes=r"trained networks, $\tilde L$ growing; the maps in and out are learned or fixed (Appendix B)",
    kind="limit",
    states=STATES_1A,
    formula=FIGURE_1A,
    control={
        "Hamiltonian": wrong_formula("the least cost of identity in place of the Hamiltonian", _cost_as_estimate),
        "least cost": REVERSED,
    },
    labels={
        "Hamiltonian": "rank that the Hamiltonian estimates as the effective depth grows",
        "least cost": "least cost of identity along the path, at the largest depth and its fall",
    },
    remark="For each kind of linear maps separately see lrn-fig1a-fixed, lrn-fig1a-decayed, lrn-fig1a-free; the "
    "numbers are those of decayed ones.",
)
def hamiltonian_reaches_the_rank(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds; readings of the maps and of the estimate."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    tests = {
        "Hamiltonian": over_readings(
            lambda estimate, rank: _from_below(
                part := of_maps(chain_measures, estimate[0]), _estimate(part, estimate[1]) + rank(part)
            ),
            estimate=_estimates(chain_measures),
            rank={"of the task": lambda _: 0, "kept by each network": _missing_dimensions},
        ),
        "least cost": over_readings(
            lambda maps, gamma: all_of(
                _from_above(of_maps(chain_measures, maps)["least_cost"].isel(gamma=gamma), int(chain_measures["rank"]))
            ),
            maps=ALL_MAPS,
            gamma=gammas(chain_measures),
        ),
    }
    return Verdict.from_tests(tests, facts=_facts(of_maps(chain_measures)))


@claim(
    "lrn-fig1a-decayed",
    where="Section 2.1, Figure 1a",
    assumes=r"teachers of rank $k^* = 3$, $\tilde L$ from 2 to 10, each depth trained on from the one before; to "
    "reach means to end within one dimension, the least cost within twice $k^*$",
    kind="limit",
    origin="ours",
    states=r"With learned maps that are decayed like the layers all estimates reach $k^*$ as $\tilde L$ grows, the "
    r"stable form of $-2 \mathcal{H} / \tilde L$ from above.",
    formula=APPROACH_1A,
    control={
        "H": shallowest(DECAYED),
        "stable H": shallowest(DECAYED),
        "least cost": REVERSED,
        "cost falls": REVERSED,
        "above": false_world("fixed maps, which come from below", replace_labels("maps", {DECAYED: FIXED})),
    },
    labels={
        "H": "rank that the Hamiltonian estimates at the largest depth",
        "above": "rank that the stable Hamiltonian estimates at the smallest depth",
        "cost falls": "fall of the least cost of identity from the smallest to the largest depth",
        "least cost": "least cost of identity along the path at the largest depth",
        "stable H": "rank that the stable Hamiltonian estimates at the largest depth",
    },
)
def hamiltonian_with_decayed_maps(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds; gamma_0 the first."""
    need_chains(chain_measures, DECAYED, FIXED)
    chains = of_maps(chain_measures)
    first = _stable(chains).isel(effective_depth=0)
    above = mean_within(first.values, int(chains["rank"]), np.inf, expected="above $k^*$ at first", reason="a sign")
    return Verdict.from_tests({**_approach(chains), "above": above}, facts=_facts(chains))


@claim(
    "lrn-no-bias-rank",
    where="Section 1.4",
    assumes="decayed maps, trained networks near critical points; $x$ as in lrn-coi-bias",
    kind="comparison",
    origin="ours",
    states=r"Without the appended 1 the estimate $-2 \mathcal{H} / \tilde L$ at the largest $\tilde L$ is higher, "
    "by one dimension or less: with it a constant direction in the rows of a non-negative representation "
    "costs $x / (1 + x)$ less, which is between 0 and 1.",
    control=false_world("networks with bias in place of those without", replace_labels("maps", {NO_BIAS: DECAYED})),
    remark="That this direction is the reason is not tested here: networks without bias differ in their fit, too.",
    labels={"": "estimate without bias minus that with bias, paired over seeds"},
)
def constant_direction_costs_one(chain_measures: xr.Dataset) -> Verdict:
    """Median -2 H / Lt at the largest Lt, without and with bias, paired over seeds."""
    need_chains(chain_measures, DECAYED, NO_BIAS)
    last = chain_measures["median_hamiltonian"].isel(effective_depth=-1)
    without = last.sel(maps=NO_BIAS)
    more = without - last.sel(maps=DECAYED, drop=True)
    test = mean_within(
        more.values, 1e-9, 1.5, expected="more, by one or less", reason="a sign; distinguished from two half-way"
    )
    return Verdict.from_tests(test, facts={"energy without bias": without.mean()})


@claim(
    "lrn-fig1a-free",
    where="Section 2.1, Figure 1a",
    assumes=r"teachers of rank $k^* = 3$, $\tilde L$ from 2 to 10, each depth trained on from the one before; to "
    "reach means to end within one dimension, the least cost within twice $k^*$",
    kind="limit",
    origin="ours",
    states=r"With free learned maps all estimates reach $k^*$ and $-2 \mathcal{H} / \tilde L$ starts below it, but "
    "passes it on the way, when each depth goes on from the one before.",
    formula=APPROACH_1A,
    control={
        "H": shallowest(FREE),
        "stable H": shallowest(FREE),
        "least cost": REVERSED,
        "cost falls": REVERSED,
        "first": wrong_formula("the least cost of identity in place of the Hamiltonian", _cost_as_estimate),
        "passes": REVERSED,
    },
    labels={
        "H": "rank that the Hamiltonian estimates at the largest depth",
        "first": "rank that the Hamiltonian estimates at the smallest depth",
        "passes": "rank that the Hamiltonian estimates at an effective depth near 7",
        "cost falls": "fall of the least cost of identity from the smallest to the largest depth",
        "least cost": "least cost of identity along the path at the largest depth",
        "stable H": "rank that the stable Hamiltonian estimates at the largest depth",
    },
    remark="These numbers depend on the length of training: lrn-free-maps.",
)
def hamiltonian_with_free_maps(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds; above the rank at Lt next to 7."""
    need_chains(chain_measures, FREE, FIXED)
    chains = of_maps(chain_measures, FREE)
    H, rank = chains["median_hamiltonian"], int(chains["rank"])
    sides = {
        "first": mean_within(
            H.isel(effective_depth=0).values, -np.inf, rank, expected="below $k^*$ at first", reason="a sign"
        ),
        "passes": mean_within(
            at_paper_depth(chains)["median_hamiltonian"].values,
            rank,
            np.inf,
            expected=r"above $k^*$ at $\tilde L = 7$",
            reason="a sign",
        ),
    }
    return Verdict.from_tests({**_approach(chains), **sides}, facts=_facts(chains))


@claim(
    "lrn-fig1a-fixed",
    where="Section 2.1, Figure 1a",
    assumes=r"teachers of rank $k^* = 3$, $\tilde L$ from 2 to 7, each depth trained on from the one before; to reach "
    "means to end within one dimension, the least cost within twice $k^*$",
    kind="limit",
    origin="ours",
    states=r"As $\tilde L$ grows up to 7, $-2 \mathcal{H}_\gamma / \tilde L$ approaches the rank $k^* = 3$ from "
    "below, the least stable cost of identity from above. Linear maps: fixed (inputs padded with zeros, first outputs "
    "read).",
    formula=r"-\frac{2}{\tilde L} \mathcal{H}_\gamma \nearrow k^*, \quad \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow "
    "k^*",
    control={
        "stable H": REVERSED,
        "least cost": REVERSED,
        "cost falls": REVERSED,
        "from below": false_world("decayed maps, which come from above", replace_labels("maps", {FIXED: DECAYED})),
        "rises": REVERSED,
    },
    labels={
        "rises": "rise of the stable Hamiltonian's estimate up to effective depth 7",
        "cost falls": "fall of the least cost of identity from the smallest to the largest depth",
        "from below": "largest estimate of the stable Hamiltonian before the largest depth, below the rank",
        "least cost": "least cost of identity along the path at the largest depth",
        "stable H": "rank that the stable Hamiltonian estimates at the largest depth",
    },
)
def hamiltonian_with_fixed_maps(chain_measures: xr.Dataset) -> Verdict:
    """The form without momenta, since networks with fixed maps stay far from critical points; Lt up to 7."""
    need_chains(chain_measures, DECAYED, FIXED)
    low = chain_measures["effective_depth"].values <= PAPER_DEPTH
    chains = of_maps(chain_measures, FIXED).isel(effective_depth=low)
    stable = _stable(chains)
    tests = {
        **_approach_of_stable_forms(chains),
        "from below": _below(stable, int(chains["rank"])),
        "rises": positive(change(stable), r"$-2 H_\gamma / \tilde L$ rises with $\tilde L$"),
    }
    return Verdict.from_tests(tests, facts=_facts(of_maps(chain_measures, FIXED)))
