"""Claims on the Hamiltonian of trained networks along p: Figure 1c, what is concluded from Theorem 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import false_world, wrong_formula
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Verdict
from repdyn.leaky_resnets.claims.over_seeds import (
    ALL_MAPS,
    FIXED,
    FREE,
    LEARNED_MAPS,
    REVERSED,
    change,
    gammas,
    means,
    need_chains,
    positive,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps


def _share(chains: xr.Dataset, hamiltonian: str, part: str, window: float) -> Array:
    """Range of the Hamiltonian over that of one of its parts, both over p in (window, 1 - window), per seed."""
    p = (np.arange(chains.sizes["layer"]) + 0.5) / chains.sizes["layer"]
    inside = chains.isel(layer=np.flatnonzero((p > window) & (p < 1 - window)))
    return (_span(inside[hamiltonian]) / _span(inside[part])).values


def _proportion(chains: xr.Dataset, floor: float) -> Array:
    """Exponent of the kinetic energy in the cost of identity beyond -2 H / Lt, where both exceed a floor, per seed."""
    kinetic, extra = chains["kinetic"], chains["cost"] - chains["median_hamiltonian"]
    exponents = []
    for seed in range(chains.sizes["seed"]):
        k, e = kinetic.isel(seed=seed).values, extra.isel(seed=seed).values
        both = (k > floor) & (e > floor)
        exponents.append(np.polyfit(np.log(e[both]), np.log(k[both]), 1)[0] if both.sum() > 2 else 0.0)
    return np.array(exponents)


def _span(along: xr.DataArray) -> xr.DataArray:
    """Largest less least over layers."""
    return along.max("layer") - along.min("layer")


def _cost_for_hamiltonian(measures: xr.Dataset) -> xr.Dataset:
    cost = measures["cost"]
    return measures.assign(stable_hamiltonian=cost, hamiltonian=cost.isel(gamma=0))


def _at_constant_speed(measures: xr.Dataset) -> xr.Dataset:
    kinetic = measures["kinetic"]
    return measures.assign(kinetic=0 * kinetic + cast("xr.DataArray", np.sqrt(kinetic)).mean("layer") ** 2)


HAMILTONIANS = {  # fixed maps stay far from critical points, where momenta say little
    f"{words}, maps {name}": (maps, hamiltonian)
    for words, hamiltonian, kinds in (
        ("from momenta", "hamiltonian", LEARNED_MAPS),
        ("stable", "stable_hamiltonian", ALL_MAPS),
    )
    for name, maps in kinds.items()
}
CONSTANT_SPEED = false_world("paths of the same length at constant speed", _at_constant_speed, recomputes=True)


@claim(
    "lrn-fig1c",
    where="Section 2.1, Figure 1c",
    words="The kinetic energy is proportional to the extra COI ... varies much less than its components",
    line=260,
    assumes=r"the network of Figure 1b; $\gamma_0$ and the linear maps are not stated",
    kind="qualitative",
    states="Along $p$ the Hamiltonian varies much less than its parts, and the kinetic energy is proportional to the "
    "extra cost of identity.",
    control={
        "varies": wrong_formula("the cost of identity in place of the Hamiltonian", _cost_for_hamiltonian),
        "proportion": wrong_formula(
            "the speed in place of its square",
            lambda measures: measures.assign(kinetic=measures["kinetic"] ** 0.5),
            recomputes=True,
        ),
    },
    labels={
        "varies": "range of the Hamiltonian along the path over that of its parts",
        "proportion": "exponent of the kinetic energy in the extra cost of identity",
    },
)
def hamiltonian_varies_less_than_its_parts(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; ranges over layers, exponent of the proportion. Fixed maps where no momenta enter."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    chains = at_paper_depth(chain_measures)
    tests = {
        "varies": over_readings(
            lambda hamiltonian, part, window, much_less, gamma: mean_within(
                _share(of_maps(chains, hamiltonian[0]).isel(gamma=gamma), hamiltonian[1], part, window),
                -np.inf,
                much_less,
                expected=f"at most {much_less:g} of the part's range",
                reason="'much less': a quarter, or a tenth",
            ),
            hamiltonian=HAMILTONIANS,
            part={"cost of identity": "cost", "kinetic energy": "kinetic"},
            window={"all layers": 0.0, "without a tenth at each end": 0.1, "$0.2 < p < 0.8$": 0.2},
            much_less={"a quarter": 0.25, "a tenth": 0.1},
            gamma=gammas(chains),
        ),
        "proportion": over_readings(
            lambda maps, above, gamma: mean_within(
                _proportion(of_maps(chains, maps).isel(gamma=gamma), above),
                0.75,
                1.25,
                expected="exponent 1",
                reason="1 is distinguished from 1/2 and 3/2",
            ),
            maps=LEARNED_MAPS,
            above={"a tenth": 0.1, "one": 1.0},
            gamma=gammas(chains),
        ),
    }
    spread = of_maps(chains)["hamiltonian_range"].mean()
    return Verdict.from_tests(tests, facts={"range of the energy over layers, decayed maps": spread})


@claim(
    "lrn-fig1c-ends",
    where="Section 2.1, Figure 1c",
    words="they are both large towards the beginning and end of the network",
    line=260,
    assumes="kinetic energy and extra cost of identity, the network of Figure 1b",
    kind="qualitative",
    states="The kinetic energy, and with it the extra cost of identity, is large towards the beginning and the end.",
    control={"beginning": CONSTANT_SPEED, "end": CONSTANT_SPEED},
    labels={
        "beginning": "kinetic energy of the first layer over the least or median layer's",
        "end": "kinetic energy of the last layer over the least or median layer's",
    },
)
def energies_are_large_at_the_ends(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; kinetic energy of the first and the last layer against the least and the median layer."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    kinetic = at_paper_depth(chain_measures)["kinetic"].isel(gamma=0)
    least, median = kinetic.min("layer"), kinetic.median("layer")
    tests = {
        name: over_readings(
            lambda maps, against, large, layer=layer: mean_within(
                of_maps(np.log10(kinetic.isel(layer=layer) / against), maps).values,
                np.log10(large),
                np.inf,
                expected=f"{large:g} times as large",
                reason="'large': a tenth more, or twice",
            ),
            maps=ALL_MAPS,
            against={"the least layer": least, "the median layer": median},
            large={"a tenth more": 1.1, "twice": 2.0},
        )
        for name, layer in (("beginning", 0), ("end", -1))
    }
    return Verdict.from_tests(tests)


@claim(
    "lrn-thm4-trained",
    where="Section 2.1, after Theorem 4",
    words=r"for large $\tilde{L}$ ... the Hamiltonian is close to the minimal COI along the path",
    line=240,
    assumes="trained networks, which Figure 1 shows for it",
    kind="limit",
    states=r"On trained networks with large $\tilde L$ the Hamiltonian is close to the least stable cost of identity "
    "along the path.",
    formula=r"-\frac{2}{\tilde L} \mathcal{H} - \min_p \|A_p\|_{K_p + \gamma I}^2 \to 0",
    control={"close": REVERSED, "closes": REVERSED},
    sought=r"Geodesics that refute the general statement grow or turn as $\tilde L$ does (lrn-thm4-close); trained "
    "ones were searched for such a gap with both kinds of learned maps, by median and by mean over layers, "
    r"at two $\gamma$. Networks with fixed maps, far from critical points, do not count.",
    labels={
        "close": "the Hamiltonian's estimate minus least cost of identity at the largest depth",
        "closes": "fall of that difference's size with effective depth",
    },
    remark="The upper bound of the theorem is an identity of any $A$ and $B$, which cannot fail; what is tested is the "
    "conclusion.",
)
def theorem_4_on_trained_networks(chain_measures: xr.Dataset) -> Verdict:
    """-2 H / Lt minus the least cost at the largest Lt, and how its size changes with Lt; learned maps."""
    need_chains(chain_measures, DECAYED, FREE)

    def gap(maps: str, gamma: int, over: str) -> xr.DataArray:
        chains = of_maps(chain_measures, maps).isel(gamma=gamma)
        return chains["gap"] if over == "median" else chains["hamiltonian"].mean("layer") - chains["least_cost"]

    readings: dict[str, Mapping[str, object]] = {
        "maps": LEARNED_MAPS,
        "gamma": gammas(chain_measures),
        "over": {"median layer": "median", "mean over layers": "mean"},
    }
    tests = {
        "close": over_readings(
            lambda maps, gamma, over: mean_within(
                gap(maps, gamma, over).isel(effective_depth=-1).values,
                -1,
                1,
                expected=r"within 1 at the largest $\tilde L$",
                reason="'close': less than one dimension",
            ),
            **readings,
        ),
        "closes": over_readings(
            lambda maps, gamma, over: positive(-change(abs(gap(maps, gamma, over))), r"its size falls with $\tilde L$"),
            **readings,
        ),
    }
    chains = of_maps(chain_measures).isel(gamma=0)
    return Verdict.from_tests(
        tests,
        facts={
            "difference by effective depth, decayed maps": means(chains["gap"]),
            "corrected lower bound": means(chains["bound_low"]),
            "upper bound": means(chains["bound_high"]),
        },
    )
