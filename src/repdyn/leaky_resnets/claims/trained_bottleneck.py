"""Claims on the bottleneck of trained networks: Figure 1b, signs, jumps, speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import false_world, wrong_formula
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within, share_within
from repdyn.base.verdicts import Test, Verdict, all_of, at_most
from repdyn.leaky_resnets.claims.over_seeds import (
    ALL_MAPS,
    FIXED,
    FREE,
    LEARNED_MAPS,
    NO_BIAS,
    REVERSED,
    gammas,
    growth,
    means,
    need_chains,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, by_label, of_maps


def _separates(chains: xr.Dataset, spectrum: str, places: int, step: float) -> Test:
    """The largest step of a spectrum: after k* values, up to some places more or less, and by a factor."""
    rank, of = int(chains["rank"]), chains.sel(spectrum_of=spectrum)
    return all_of(
        place=share_within(
            np.abs(of["separation_place"].values - rank) <= places,
            0.5,
            np.inf,
            expected=f"largest step after {rank} values, up to {places} more or less, in most networks",
            reason="more often than by chance: of the six places compared",
        ),
        step=mean_within(
            of["separation_step"].values,
            np.log(step),
            np.inf,
            expected=f"log of the step over log {step:g}",
            reason="'clear': a factor",
        ),
    )


def _other_places(measures: xr.Dataset) -> xr.Dataset:
    rank, turn = int(measures["rank"]), measures["seed"] % 3
    places = xr.where(turn == 0, rank - 2, rank + 1 + turn)
    return measures.assign(separation_place=0 * measures["separation_place"] + places)


NO_PLACE = false_world(
    "networks whose largest step lies two or three places away in turn", _other_places, recomputes=True
)


@claim(
    "lrn-fig1b",
    where="Appendix B, Figure 1b",
    words="a clear separation between $k^*$ number of large values as the rest decay",
    line=508,
    assumes="the middle of the network; training not over-regularized",
    kind="qualitative",
    states="The spectra of $A_p$ and of $W_p$ show a clear separation between $k^* = 3$ large values and the rest.",
    formula=r"s_{k^*}(A_p) \gg s_{k^* + 1}(A_p), \quad s_{k^*}(W_p) \gg s_{k^* + 1}(W_p)",
    control={"A": NO_PLACE, "W": NO_PLACE},
    labels={
        "A": "place and size of the largest step in the representations' spectra",
        "W": "place and size of the largest step in the weights' spectra",
    },
)
def k_values_separate(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; readings of the maps, of what counts as k* values and as clear, of the constant direction."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    chains = at_paper_depth(chain_measures)
    tests = {
        matrix: over_readings(
            lambda maps, spectrum, values, factor, matrix=matrix: _separates(
                of_maps(chains, maps), matrix + spectrum, values, factor
            ),
            maps=ALL_MAPS,
            spectrum={"as it is": "", "without the constant direction": " centered"},
            values={"exactly $k^*$": 0, "one more or less": 1},
            factor={"2": 2.0, "3": 3.0},
        )
        for matrix in ("A", "W")
    }
    decayed, rank = of_maps(chains), int(chains["rank"])
    places = decayed["separation_place"]
    return Verdict.from_tests(
        tests,
        facts={
            "seeds": chains.sizes["seed"],
            "k*": rank,
            **{
                f"seeds with the largest step of {name} after k* - 1, k*, k* + 1 values": [
                    (places.sel(spectrum_of=name) == rank + more).sum() for more in (-1, 0, 1)
                ]
                for name in places["spectrum_of"].values
            },
            **by_label("mean log of the largest step", decayed["separation_step"].mean("seed")),
        },
    )


LEAST, HALF, WORST = "least_negative", "middle", "worst"
PLACES = {"least over layers": LEAST, "near $p = 1/2$": HALF, "largest for $0.2 < p < 0.8$": WORST}


def _negative(chains: xr.Dataset, where: str) -> xr.DataArray:
    """Share of the squared size in negative entries: its least, its mean near p = 1/2, or its largest in the middle."""
    if where == LEAST:
        return chains["least_negative"]
    nodes, edge = chains.sizes["node"], 0.4 if where == HALF else 0.2
    inside = chains["negative"].isel(node=slice(round(edge * nodes), round((1 - edge) * nodes)))
    return inside.mean("node") if where == HALF else inside.max("node")


def _last_layer(measures: xr.Dataset) -> xr.Dataset:
    last = measures["negative"].isel(node=-1)
    return measures.assign(least_negative=last, negative=last + 0 * measures["negative"])


@claim(
    "lrn-only-nonneg",
    where="Section 1.4, end",
    words="in our experiments with full population GD we have only observed stable/non-negative local minimas",
    line=176,
    assumes="the representations that trained networks have inside the bottleneck",
    kind="qualitative",
    states="In trained networks only representations without negative entries are observed in the bottleneck.",
    control=false_world("representations of the last layer", _last_layer),
)
def bottleneck_is_nonnegative(chain_measures: xr.Dataset) -> Verdict:
    """Share of the squared size in negative entries, largest Lt; readings of maps, place and how little."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    last = chain_measures.isel(effective_depth=-1)
    test = over_readings(
        lambda maps, where, none: mean_within(
            _negative(of_maps(last, maps), where).values,
            -np.inf,
            none,
            expected=f"at most {none:.0%}",
            reason="the share of random signs is 50 %, of the ends 15 to 50 %",
        ),
        maps=ALL_MAPS,
        where=PLACES,
        none={"1 %": 0.01, "5 %": 0.05},
    )
    least = {
        f"least share over layers, {words}": _negative(of_maps(last, maps), LEAST).mean()
        for words, maps in ALL_MAPS.items()
    }
    ends = [of_maps(last)["negative"].isel(node=end).mean() for end in (0, -1)]
    return Verdict.from_tests(test, facts={**least, "share at the two ends, decayed maps": ends})


@claim(
    "lrn-prop5-trained",
    where="Section 2.1, before Proposition 5",
    words="guarantee that the representations in the slow layers ('inside the Bottleneck') will be non-negative",
    line=254,
    assumes=r"trained networks, $\tilde L$ growing",
    kind="limit",
    states=r"In the bottleneck the negative part of the representation vanishes as $\tilde L$ grows.",
    control={"bias": REVERSED, "no bias": REVERSED},
    sought="Sought among all kinds of maps, with and without bias, also at the worst layer for $0.2 < p < 0.8$ "
    "rather than at the least one. Proposition 5 itself says nothing about a rate; at the full scale the "
    "part with bias stays open.",
    labels={
        "bias": "exponent of the negative share in effective depth, networks with bias",
        "no bias": "exponent of the negative share in effective depth, networks without bias",
    },
)
def negative_part_vanishes(chain_measures: xr.Dataset) -> Verdict:
    """Exponent in Lt of the share of negative entries, with bias over readings of maps and place, and without."""
    need_chains(chain_measures, DECAYED, FREE, FIXED, NO_BIAS)

    def test(maps: str, where: str, rate: float) -> Test:
        return mean_within(
            growth(_negative(of_maps(chain_measures, maps), where).clip(1e-12)),
            -np.inf,
            -rate,
            expected=rf"falls faster than $\tilde L$ to the power {-rate:g}",
            reason="a sign; a root is half-way to 1 / Lt",
        )

    grid: dict[str, Mapping[str, object]] = {"where": PLACES, "rate": {"at all": 1e-9, "as a root": 0.5}}
    tests = {
        "bias": over_readings(test, maps=ALL_MAPS, **grid),
        "no bias": over_readings(lambda where, rate: test(NO_BIAS, where, rate), **grid),
    }
    least = means(of_maps(chain_measures)["least_negative"])
    return Verdict.from_tests(tests, facts={"least share by effective depth, decayed maps": least})


def jumps_in_the_middle(heights: xr.DataArray, factor: float = 2.0, edge: float = 0.2) -> Array:
    """Whether a chain has, at some Lt, a peak inside (edge, 1 - edge) over the least height on each side."""
    L = heights.sizes["layer"]
    p = (np.arange(L) + 0.5) / L
    inside = np.flatnonzero((p > edge) & (p < 1 - edge))
    chains = heights.stack(chain=("maps", "seed")).transpose("chain", "effective_depth", "layer")
    return np.array(
        [
            any(v[j] > factor * max(v[:j].min(), v[j + 1 :].min()) for v in depths for j in inside)
            for depths in chains.values
        ]
    )


def stable_speed(measures: xr.Dataset, gamma: int = 0) -> xr.DataArray:
    """Norm of the derivative in that of K + gamma I, over Lt."""
    return np.sqrt(measures["kinetic"].isel(gamma=gamma))  # type: ignore[return-value]  # a DataArray


HEIGHTS = {"stable speed": stable_speed, "cost of identity": lambda measures, gamma: measures["cost"].isel(gamma=gamma)}


def _peak_in_the_middle(measures: xr.Dataset) -> xr.Dataset:
    center = measures["layer"] == measures.sizes["layer"] // 2
    peaks = {name: xr.where(center, measures[name].max("layer"), 0.0) for name in ("kinetic", "cost")}
    return measures.assign({name: measures[name] + peak for name, peak in peaks.items()})


@claim(
    "lrn-ends-jumps",
    where="Section 2.1, after Theorem 4",
    words="We have actually never observed any jump in the middle of the network",
    line=252,
    assumes="trained networks; a jump is a short stretch of high cost of identity and speed, as two sentences before",
    kind="qualitative",
    states="A jump in the middle of the network is never observed.",
    control=false_world(
        "the kinetic energy of the fastest and the cost of the costliest layer added in the middle",
        _peak_in_the_middle,
        recomputes=True,
    ),
    sought="One peak refutes 'never': every layer of each chain at each depth was searched, with three kinds of "
    r"maps, two heights, two $\gamma$, three factors. None bounds only the share of chains that have one; "
    "the plain speed does peak in the middle.",
    remark="The plain speed is not meant here.",
)
def jumps_lie_at_the_ends(chain_measures: xr.Dataset) -> Verdict:
    """Chains with bias that have a peak at some Lt; readings of what peaks, of gamma, of jump and of middle."""
    need_chains(chain_measures, *ALL_MAPS.values())
    chains = chain_measures.sel(maps=list(ALL_MAPS.values()))
    test = over_readings(
        lambda height, gamma, jump, middle: at_most(
            float(jumps_in_the_middle(height(chains, gamma), jump, middle).sum()),
            0.5,
            expected="no peak over its surroundings",
            reason="a count; one peak refutes 'never'",
        ),
        height=HEIGHTS,
        gamma=gammas(chains),
        jump={"1.5 times": 1.5, "twice": 2.0, "3 times": 3.0},
        middle={"0.2 to 0.8": 0.2, "0.1 to 0.9": 0.1},
    )
    count = chains.sizes["maps"] * chains.sizes["seed"]
    return Verdict.from_tests(
        test,
        facts={
            "chains": count,
            "effective depths of each": chains.sizes["effective_depth"],
            "upper bound on the share of chains with a peak, if none has one (99.9 %)": 1 - 0.001 ** (1 / count),
            "chains with a peak of the plain speed by 1.5 times, by twice": [
                jumps_in_the_middle(chains["speed"], jump).sum() for jump in (1.5, 2)
            ],
        },
    )


@claim(
    "lrn-fig1-speed",
    where="Section 2.1, after Theorem 4",
    words=r"slow (~ 1) dynamics ... fast (~ $\tilde{L}$) dynamics everywhere the COI is far from optimal",
    line=240,
    assumes="trained networks",
    kind="scaling",
    states=r"The stable speed $\|\partial_p A_p\|$ is of order 1 where the cost of identity is almost least, of order "
    r"$\tilde L$ where it is far from it.",
    control={
        "everywhere": wrong_formula(
            "the kinetic energy in proportion to the square of the extra cost",
            lambda measures: measures.assign(kinetic=measures["kinetic"] ** 2),
            recomputes=True,
        ),
        "first layer": false_world(
            "the slowest layer in place of all",
            lambda measures: measures.assign(kinetic=measures["kinetic"].min("layer") + 0 * measures["kinetic"]),
        ),
        "slow": false_world(
            "the first layer in place of all",
            lambda measures: measures.assign(kinetic=measures["kinetic"].isel(layer=0) + 0 * measures["kinetic"]),
        ),
    },
    sought="Slow and fast layers were sought to mix: first layer, slowest layer and middle apart, learned and "
    r"fixed maps where no momenta enter, both $\gamma$. At exact critical points the relation of speed and "
    "extra cost is Theorem 4's own; a path that grows throughout (lrn-thm4-close) has no slow layer at "
    "all, but no trained network is one.",
    labels={
        "everywhere": r"speed over $\tilde L$ times the root of the extra cost of identity",
        "slow": "exponent of the slow layers' speed in the effective depth",
        "first layer": "exponent of the first layer's speed in the effective depth",
    },
)
def speeds_separate(chain_measures: xr.Dataset) -> Verdict:
    """Exponents in Lt of the speed in the first layer and in the slow ones; readings of maps, gamma and slow layers."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)

    def speed(maps: str, gamma: int) -> xr.DataArray:
        chains = of_maps(chain_measures, maps)
        return cast("xr.DataArray", np.sqrt(chains["kinetic"].isel(gamma=gamma)) * chains["effective_depth"])

    grid: dict[str, Mapping[str, object]] = {"maps": ALL_MAPS, "gamma": gammas(chain_measures)}

    def fast(maps: str, gamma: int, far: float) -> Array:
        """Mean size of log2 of the speed over Lt times the root of the extra cost, where that is large, per seed."""
        chains = of_maps(chain_measures, maps)
        extra = chains["cost"].isel(gamma=gamma) - chains["median_hamiltonian"]
        ratio = np.log2(chains["kinetic"].isel(gamma=gamma).where(extra > far) / extra.where(extra > far)) / 2
        return cast("xr.DataArray", np.abs(ratio)).mean(("layer", "effective_depth")).values

    tests = {
        "everywhere": over_readings(
            lambda maps, gamma, far: mean_within(
                fast(maps, gamma, far),
                0,
                0.5,
                expected=r"speed $\tilde L$ times the root of the extra cost, within a factor of 1.4",
                reason="a factor of root 2",
            ),
            maps=LEARNED_MAPS,
            gamma=gammas(chain_measures),
            far={"extra cost over 1": 1.0, "over 3": 3.0},
        ),
        "first layer": over_readings(
            lambda maps, gamma: mean_within(
                growth(speed(maps, gamma).isel(layer=0)),
                0.75,
                1.25,
                expected="exponent 1",
                reason="distinguished from 1/2 and 3/2 half-way",
            ),
            **grid,
        ),
        "slow": over_readings(
            lambda maps, gamma, layers: mean_within(
                growth(
                    getattr(speed(maps, gamma).isel(layer=layers), "min" if layers == slice(None) else "median")(
                        "layer"
                    )
                ),
                -np.inf,
                0.25,
                expected="no growth",
                reason="distinguished from 1/2 half-way",
            ),
            **grid,
            layers={"least over layers": slice(None), "median near $p = 1/2$": _around_the_middle(chain_measures)},
        ),
    }
    decayed = speed(DECAYED, 0)
    return Verdict.from_tests(
        tests,
        facts={
            "speed of the first layer by effective depth, decayed maps": means(decayed.isel(layer=0)),
            "least speed by effective depth, decayed maps": means(decayed.min("layer")),
            "speed of the last layer by effective depth, decayed maps": means(decayed.isel(layer=-1)),
        },
    )


def _around_the_middle(chains: xr.Dataset) -> slice:
    L = chains.sizes["layer"]
    return slice(round(0.4 * L), round(0.6 * L))
