"""Claims on the bottleneck of trained networks: Figures 1b and 3, speeds, signs, sizes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of, at_least, at_most, mean_within, share_within
from repdyn.leaky_resnets.claims.over_seeds import (
    growth,
    judge_sampled,
    middle_layers,
    positive,
    spoken,
)
from repdyn.leaky_resnets.claims.trained_hamiltonian import LEARNED, reversed_depths
from repdyn.leaky_resnets.methods.measures import largest_step
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps


def _middle(measures: xr.Dataset, name: str) -> xr.DataArray:
    """A spectrum in the middle of the network."""
    values = measures[name]
    dim = "node" if "node" in values.dims else "layer"
    return values.isel({dim: values.sizes[dim] // 2})


def ends_for_middle(measures: xr.Dataset) -> xr.Dataset:
    """Spectra of the first layer in the place of all others."""
    first = {"spectrum": "node", "centred_spectrum": "node", "weight_spectrum": "layer"}
    first |= {"centred_weight_spectrum": "layer"}
    spoilt = {name: 0 * measures[name] + measures[name].isel({dim: 0}) for name, dim in first.items()}
    steps = xr.apply_ufunc(
        largest_step,
        spoilt["centred_spectrum"].isel(node=0),
        input_core_dims=[["value"]],
        output_core_dims=[[], []],
        vectorize=True,
    )
    place, step = (0 * measures["separation_place"] + part for part in steps)
    return measures.assign(spoilt, separation_place=place, separation_step=step)


def _largest_gap(spectrum: xr.DataArray, count: int, among: int = 6) -> Array:
    """log(s_k / s_{k+1}) minus the largest other such step among the first ones, per seed."""
    s = spectrum.transpose("seed", "value").values
    steps = np.log(s[:, :among] / np.maximum(s[:, 1 : among + 1], 1e-12 * s[:, :1]))
    return steps[:, count - 1] - np.delete(steps, count - 1, axis=1).max(axis=1)


@claim(
    "lrn-fig1b",
    where="Figure 1b, Appendix B",
    kind="qualitative",
    states="In the middle of the network k* = 3 singular values of A_p and of W_p are clearly larger than the rest.",
    correction="Of A_p once the mean over points is taken out, up to one dimension more or less; spectra as they are"
    " carry a constant direction besides. Of W_p not, with or without the direction of the mean activation.",
    formula=r"s_{k^*}(A_p) \gg s_{k^* + 1}(A_p), \quad s_{k^*}(W_p) \gg s_{k^* + 1}(W_p)",
    corrected_formula=(
        r"s_k \left( A_p \left( I - \frac{1}{N} \mathbf{1} \mathbf{1}^T \right) \right) \gg s_{k+1} \left( A_p"
        r" \left( I - \frac{1}{N} \mathbf{1} \mathbf{1}^T \right) \right), \quad |k - k^*| \le 1"
    ),
    data="chain_measures",
    control=wrong_formula("spectra of the first layer", ends_for_middle),
)
def k_values_separate(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7: the step after the third value against the largest other step, logarithms."""
    chains = at_paper_depth(of_maps(chain_measures))
    rank = int(chains["rank"])
    gaps = {
        name: _largest_gap(_middle(chains, name), rank)
        for name in ("spectrum", "weight_spectrum", "centred_spectrum", "centred_weight_spectrum")
    }
    tests = {name: positive(gaps[name], f"largest step after value {rank}") for name in ("spectrum", "weight_spectrum")}
    place, step = (chains[f"separation_{name}"].sel(spectrum_of="A centred").values for name in ("place", "step"))
    clear = all_of(
        place=share_within(
            np.abs(place - rank) <= 1,
            0.5,
            np.inf,
            expected=f"largest step of the centred spectrum after {rank} values, one more or less",
            reason="more often than by chance: three of the six places compared",
        ),
        step=mean_within(
            step, np.log(2), np.inf, expected="log of the step over log 2", reason="'clear': a factor of 2"
        ),
    )
    shares = ", ".join(f"{name.replace('_', ' ')} {np.mean(gap > 0):.0%}" for name, gap in gaps.items())
    return judge_sampled(
        chain_measures.sizes["seed"],
        all_of(A=tests["spectrum"], W=tests["weight_spectrum"]),
        clear,
        f"{LEARNED} Share of networks whose largest step comes after value {rank}: {shares}.",
    )


def _ratios(values: xr.DataArray) -> Array:
    return (values.isel(effective_depth=-1) / values.isel(effective_depth=0)).values


def growing_alignment(measures: xr.Dataset) -> xr.Dataset:
    """|B S^T| that grows in proportion to Lt."""
    return measures.assign(median_alignment=measures["median_alignment"] * measures["effective_depth"])


@claim(
    "lrn-fig3",
    where="Figure 3, Appendix B",
    kind="scaling",
    states="Path length, |B_p| and |B_p S_p^T| remain relatively constant as Lt grows.",
    correction="|B_p S_p^T| does; path length and max |B_p| grow with Lt.",
    formula=r"\int_0^1 \|\partial_p A_p\| dp, \|B_p\|, \|B_p \sigma(A_p)^T\| = O(1) \text{ as } \tilde L \to \infty",
    corrected_formula=(
        r"\|B_p \sigma(A_p)^T\| = O(1), \quad \int_0^1 \|\partial_p A_p\| dp \nearrow, \quad \max_p \|B_p\| \nearrow"
    ),
    data="chain_measures",
    control=wrong_formula("|B S^T| in proportion to Lt", growing_alignment),
)
def quantities_stay_bounded(chain_measures: xr.Dataset) -> Verdict:
    """Ratio of the values at the largest and the smallest Lt."""
    chains = of_maps(chain_measures)
    parts = {
        "length": chains["length"],
        "largest_B": chains["largest_momentum"],
        "median_BS": chains["median_alignment"],
    }
    depths = chains["effective_depth"].values
    tests = {
        name: mean_within(
            np.log2(_ratios(values)),
            -1,
            1,
            expected="within a factor of 2 (log2 in [-1, 1])",
            reason=f"'relatively constant' while Lt grows {depths[-1] / depths[0]:g} times",
        )
        for name, values in parts.items()
    }
    right = all_of(
        median_BS=tests["median_BS"],
        **{
            f"{name}_grows": positive(np.log2(_ratios(parts[name])), "log2 of its growth")
            for name in ("length", "largest_B")
        },
    )
    stable = chains["stable_length"].isel(gamma=0)
    note = f"{LEARNED} Means: path length {spoken(parts['length'])}, in the stable norm {spoken(stable)}; max |B| "
    note += f"{spoken(parts['largest_B'])}; median |B S^T| {spoken(parts['median_BS'])}."
    others = ", ".join(
        f"{maps} {spoken(of_maps(chain_measures, maps)['largest_momentum'])}" for maps in ("free maps", "fixed maps")
    )
    return judge_sampled(chain_measures.sizes["seed"], all_of(**tests), right, f"{note} Max |B| otherwise: {others}.")


@claim(
    "lrn-balanced-size",
    where="Section 2.1, Appendix A.3",
    kind="qualitative",
    states="W_p is of approximately constant size along p.",
    data="chain_measures",
    control=wrong_formula(
        "the cost of identity, which varies a hundredfold, in the place of |W_p|^2",
        lambda measures: measures.assign(weight_sq=measures["cost"].isel(gamma=0)),
    ),
)
def weights_are_of_constant_size(chain_measures: xr.Dataset) -> Verdict:
    """Largest over least |W_p| per network at Lt next to 7."""
    chains = at_paper_depth(of_maps(chain_measures))
    size = np.sqrt(chains["weight_sq"])
    cost = chains["cost"].isel(gamma=0)
    test = mean_within(
        (size.max("layer") / size.min("layer")).values,
        1,
        np.sqrt(2),
        expected="largest at most 1.4 times the least",
        reason="'approximately constant': |W|^2 within a factor of 2",
    )
    span = float((cost.max("layer") / cost.min("layer")).mean())
    return judge_sampled(
        chain_measures.sizes["seed"],
        test,
        None,
        f"{LEARNED} The cost of identity spans a factor of {span:.0f} along the same paths.",
    )


@claim(
    "lrn-b-inverse",
    where="Section 2.1, after Theorem 4",
    kind="scaling",
    states="The size of B_p is inversely proportional to that of sigma(A_p).",
    formula=r"\|B_p\|_F \propto \|\sigma(A_p)\|_{op}^{-1}",
    data="chain_measures",
    control=wrong_formula(
        "|B| |S| in the place of |B|",
        lambda measures: measures.assign(momentum=measures["momentum"] * measures["activation"]),
    ),
)
def momenta_balance_activations(chain_measures: xr.Dataset) -> Verdict:
    """Exponent over layers of |B_l|_F in |S_{l-1}|_op per network, Lt next to 7."""
    chains = at_paper_depth(of_maps(chain_measures))
    B, S = (np.log(chains[name].transpose("seed", "layer").values) for name in ("momentum", "activation"))
    slopes = np.array([np.polyfit(s, b, 1)[0] for s, b in zip(S, B, strict=True)])
    test = mean_within(slopes, -1.5, -0.5, expected="exponent -1", reason="told apart from 0 and -2 half-way")
    spans = {"|B|": B, "|S|": S, "|B| |S|": B + S}
    told = ", ".join(f"{name} {np.exp(np.ptp(values, axis=1).mean()):.2g}" for name, values in spans.items())
    note = f"{LEARNED} Largest over least along p, geometric means over seeds: {told}."
    return judge_sampled(chain_measures.sizes["seed"], test, None, note)


@claim(
    "lrn-only-nonneg",
    where="Section 1.4, end",
    kind="qualitative",
    states="Only non-negative minima of the cost of identity are observed: representations in the bottleneck have no"
    " negative entries.",
    data="chain_measures",
    control=wrong_formula(
        "representations of the last layer",
        lambda measures: measures.assign(least_negative=measures["negative"].isel(node=-1)),
    ),
)
def bottleneck_is_nonnegative(chain_measures: xr.Dataset) -> Verdict:
    """Share of the squared size in negative entries at its least over layers, largest Lt."""
    last = of_maps(chain_measures).isel(effective_depth=-1)
    test = mean_within(
        last["least_negative"].values,
        -np.inf,
        0.01,
        expected="at most 1 %",
        reason="the share of random signs is 50 %, of the ends 15 to 50 %",
    )
    ends = [float(last["negative"].isel(node=end).mean()) for end in (0, -1)]
    return judge_sampled(
        chain_measures.sizes["seed"], test, None, f"{LEARNED} At the two ends {ends[0]:.0%} and {ends[1]:.0%}."
    )


@claim(
    "lrn-prop5-trained",
    where="Proposition 5, trained networks",
    kind="limit",
    states="In the bottleneck the negative part of the representation vanishes as Lt grows.",
    data="chain_measures",
    control=wrong_formula("effective depths in reversed order", reversed_depths),
)
def negative_part_vanishes(chain_measures: xr.Dataset) -> Verdict:
    """Exponent in Lt of the least share of negative entries, with and without bias (the proposition's setting)."""
    found = {
        name: growth(of_maps(chain_measures, maps)["least_negative"].clip(1e-12))
        for name, maps in {"bias": DECAYED, "no_bias": "decayed maps, no bias"}.items()
    }
    tests = {
        name: mean_within(
            slopes, -np.inf, -1, expected="falls faster than 1 / Lt", reason="told apart from a slow drift"
        )
        for name, slopes in found.items()
    }
    least = of_maps(chain_measures)["least_negative"]
    return judge_sampled(
        chain_measures.sizes["seed"], all_of(**tests), None, f"{LEARNED} Least shares: {spoken(least, 2)}."
    )


def jumps_in_the_middle(measures: xr.Dataset) -> Array:
    """Whether a network's stable speed has a peak inside (0.2, 0.8) of twice the least speed on either side."""
    speed = np.sqrt(measures["kinetic"].isel(gamma=0)).stack(net=("maps", "seed", "effective_depth"))
    found = []
    for v in speed.transpose("net", "layer").values:
        found.append(any(v[j] > 2 * max(v[:j].min(), v[j + 1 :].min()) for j in middle_layers(len(v))))
    return np.array(found)


def _peak_in_the_middle(measures: xr.Dataset) -> xr.Dataset:
    centre = measures["layer"] == measures.sizes["layer"] // 2
    return measures.assign(kinetic=measures["kinetic"] + xr.where(centre, measures["kinetic"].max("layer"), 0.0))


@claim(
    "lrn-ends-jumps",
    where="Section 2.1",
    kind="qualitative",
    states="Fast layers lie at the two ends; a jump in the middle of the network is never observed.",
    data="chain_measures",
    control=wrong_formula("the kinetic energy of the fastest layer added in the middle", _peak_in_the_middle),
)
def jumps_lie_at_the_ends(chain_measures: xr.Dataset) -> Verdict:
    """Peaks of the stable speed over all networks with bias at the two largest Lt."""
    kinds = [maps for maps in chain_measures["maps"].values if "no bias" not in maps]
    chains = chain_measures.sel(maps=kinds).isel(effective_depth=slice(-2, None))
    found = jumps_in_the_middle(chains)
    test = at_most(
        float(found.sum()),
        0.5,
        expected="no peak of twice its surroundings",
        reason="a count; one peak refutes 'never'",
    )
    bound = 1 - 0.001 ** (1 / found.size)
    return Verdict.from_tests(
        test, None, f"{found.size} networks; share of networks with such a peak below {bound:.1%} (99.9 %)."
    )


@claim(
    "lrn-fig1-speed",
    where="Section 2.1",
    kind="scaling",
    states="The stable speed |d_p A_p| is of order 1 in the bottleneck, of order Lt where the cost of identity is far"
    " from its least.",
    data="chain_measures",
    control=wrong_formula(
        "a kinetic energy smaller by Lt",
        lambda measures: measures.assign(kinetic=measures["kinetic"] / measures["effective_depth"]),
    ),
)
def speeds_separate(chain_measures: xr.Dataset) -> Verdict:
    """Exponents in Lt of the speed in the first layer and at its least."""
    chains = of_maps(chain_measures)
    speed = np.sqrt(chains["kinetic"].isel(gamma=0)) * chains["effective_depth"]
    first, least, last = speed.isel(layer=0), speed.min("layer"), speed.isel(layer=-1)
    tests = all_of(
        first_layer=mean_within(
            growth(first), 0.75, 1.25, expected="exponent 1", reason="told apart from 1/2 and 3/2 half-way"
        ),
        least=mean_within(growth(least), -np.inf, 0.25, expected="no growth", reason="told apart from 1/2 half-way"),
    )
    note = f"{LEARNED} Means: first layer {spoken(first)}; least {spoken(least)}; last layer {spoken(last)}, where the"
    note += " cost of identity is near its least and the speed grows more slowly than Lt."
    return judge_sampled(chain_measures.sizes["seed"], tests, None, note)


def _two_and_six(measures: xr.Dataset) -> xr.Dataset:
    kept = xr.where(measures["seed"] % 2 == 1, 6, 2)
    return measures.assign(separation_place=0 * measures["separation_place"] + kept)


@claim(
    "lrn-rank-varies",
    where="Section 2.1, end",
    kind="qualitative",
    states="The number of dimensions kept in the bottleneck varies by 1 or 2 between runs.",
    data="chain_measures",
    control=wrong_formula("two and six dimensions in turn", _two_and_six),
)
def kept_dimension_varies(chain_measures: xr.Dataset) -> Verdict:
    """Singular values before the largest step of the centred A in the middle, largest Lt; such runs exist."""
    last = chain_measures.sel(maps=[DECAYED, "free maps"]).isel(effective_depth=-1)
    kept = {
        maps: of_maps(last, maps)["separation_place"].sel(spectrum_of="A centred").values.astype(int)
        for maps in last["maps"].values
    }
    spread = float(max(np.ptp(counts) for counts in kept.values()))
    told = {
        maps: ", ".join(f"{np.sum(counts == k)} of {k}" for k in np.unique(counts)) for maps, counts in kept.items()
    }
    note = "Networks by dimensions kept: " + "; ".join(f"{maps}: {text}" for maps, text in told.items())
    note += ". Every seed has a teacher of its own, so that these need not be distinct minima of one loss."
    tests = all_of(
        varies=at_least(spread, 0.5, expected="numbers 1 apart or more", reason="whole numbers, half-way"),
        little=at_most(spread, 2.5, expected="at most 2 apart", reason="whole numbers, half-way"),
    )
    if spread == 0 and last.sizes["seed"] < 10:
        return Verdict("not decidable at this scale", tests, None, f"{note} Too few runs to miss a variation.")
    return judge_sampled(last.sizes["seed"], tests, None, note)
