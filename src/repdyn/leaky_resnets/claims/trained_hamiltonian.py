"""Claims on the Hamiltonian of trained networks: Figures 1a and 1c, what is concluded from Theorem 4."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.claims import claim
from repdyn.base.controls import Control, false_world, replace_labels, reverse, wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, mean_within
from repdyn.leaky_resnets.claims.over_seeds import change, in_words, middle_layers, near, need_chains, positive
from repdyn.leaky_resnets.methods.selection import DECAYED, PAPER_DEPTH, at_paper_depth, of_maps

FREE, FIXED, NO_BIAS = "free maps", "fixed maps", "decayed maps, no bias"
STATES_1A = (
    "As $\\tilde L$ grows, $-2 \\mathcal{H} / \\tilde L$ and its stable forms approach the rank $k^* = 3$ from below,"
    " the least stable cost of identity from above"
)
FIGURE_1A = (
    r"-\frac{2}{\tilde L} \mathcal{H} \nearrow k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \nearrow k^*, \quad"
    r" \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
)
APPROACH_1A = (
    r"-\frac{2}{\tilde L} \mathcal{H} \to k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \to k^*, \quad"
    r" \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
)
LEARNED = "Linear maps: learned and decayed like the layers."
MUCH = "'much less': a tenth, of the cost's range in the middle; at the ends it is hundreds"
LITTLE = "range over all layers at most a tenth of the cost's over $0.2 < p < 0.8$"


def _stable(chains: xr.Dataset) -> xr.DataArray:
    return chains["median_stable"].isel(gamma=0)


def _cost(chains: xr.Dataset) -> xr.DataArray:
    return chains["least_cost"].isel(gamma=0)


def _below(values: xr.DataArray, rank: int) -> Test:
    """Below the rank at every effective depth but the last, where 'at the rank' is asked for."""
    largest = values.isel(effective_depth=slice(None, -1)).max("effective_depth")
    return mean_within(
        largest.values, -np.inf, rank, expected=rf"below {rank} at all $\tilde L$ but the last", reason="'from below'"
    )


def _rising(chains: xr.Dataset) -> dict[str, Test]:
    """Both estimates come from below."""
    rank = int(chains["rank"])
    return {
        "H_from_below": _below(chains["median_hamiltonian"], rank),
        "stable_H_from_below": _below(_stable(chains), rank),
    }


def _approach(chains: xr.Dataset) -> dict[str, Test]:
    """Both estimates end at the rank, the cost of identity comes from above."""
    rank, last = int(chains["rank"]), {"effective_depth": -1}
    return {
        "H": near(chains["median_hamiltonian"].isel(last), rank, r"median $-2 H / \tilde L$ at the largest $\tilde L$"),
        **_approach_of_stable_forms(chains),
    }


def _approach_of_stable_forms(chains: xr.Dataset) -> dict[str, Test]:
    rank, last = int(chains["rank"]), {"effective_depth": -1}
    return {
        "stable_H": near(
            _stable(chains).isel(last), rank, r"median $-2 H_\gamma / \tilde L$ at the largest $\tilde L$"
        ),
        "least_cost": mean_within(
            _cost(chains).isel(last).values,
            rank - 1,
            2 * rank,
            expected=rf"least cost of identity at the largest $\tilde L$ close to {rank}",
            reason=r"from above and tens at small $\tilde L$: still up to twice the rank; $\gamma$ takes off up to 1",
        ),
        "cost_falls": positive(-change(_cost(chains)), r"least cost of identity falls with $\tilde L$"),
    }


def _note(chains: xr.Dataset) -> str:
    depths = ", ".join(f"{Lt:g}" for Lt in chains["effective_depth"].values)
    values = {
        r"median $-2 H / \tilde L$": in_words(chains["median_hamiltonian"]),
        r"$-2 H_\gamma / \tilde L$": in_words(_stable(chains)),
        "least cost": in_words(_cost(chains)),
        r"$|W - \tilde L B S^T| / |W|$": in_words(chains["relative_distance"], 2),
    }
    words = "; ".join(f"{name} {numbers}" for name, numbers in values.items())
    return rf"$\tilde L$ = {depths}: means over {chains.sizes['seed']} seeds of {words}."


def shallowest(maps: str) -> Control:
    """Networks with fixed maps at the least Lt, where nothing is separated, in the place of some at the largest."""

    def replaced(measures: xr.Dataset) -> xr.Dataset:
        shallow = measures.sel(maps=FIXED).isel(effective_depth=0, drop=True)
        last = (measures["maps"] == maps) & (measures["effective_depth"] == measures["effective_depth"][-1])
        names = ("median_hamiltonian", "median_stable", "least_cost")
        return measures.assign({name: xr.where(last, shallow[name], measures[name]) for name in names})

    return false_world("fixed maps at the least effective depth in the place of the largest one", replaced)


REVERSED = false_world("effective depths in reversed order", reverse("effective_depth"))


@claim(
    "lrn-fig1a",
    where="Section 2.1, Figure 1a",
    words="approach the rank $k^* = 3$ from below, while the minimal COI approaches it from above",
    line=260,
    assumes=r"trained networks, $\tilde L$ growing; the maps in and out are learned or fixed (Appendix B)",
    kind="limit",
    states=f"{STATES_1A}. {LEARNED}",
    correction="With learned, decayed maps, our choice of the maps that the paper leaves open, all estimates reach"
    " $k^*$, but not from below: $\\mathcal{H}_\\gamma$ comes from above. From below with fixed maps: lrn-fig1a-fixed.",
    formula=FIGURE_1A,
    corrected_formula=APPROACH_1A,
    data="chain_measures",
    control={
        "H": shallowest(DECAYED),
        "stable H": shallowest(DECAYED),
        "least cost": REVERSED,
        "cost falls": REVERSED,
    },
)
def hamiltonian_reaches_the_rank(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds."""
    need_chains(chain_measures, DECAYED, FIXED)
    chains = of_maps(chain_measures)
    approach = _approach(chains)
    return Verdict.from_tests(all_of(**approach, **_rising(chains)), all_of(**approach), _note(chains))


@claim(
    "lrn-no-bias-rank",
    where="Section 1.4",
    kind="comparison",
    origin="ours",
    states="Without the appended 1 networks keep one dimension more, the constant direction that the 1 gives for free.",
    data="chain_measures",
    control=false_world("networks with bias in the place of those without", replace_labels("maps", {NO_BIAS: DECAYED})),
)
def constant_direction_costs_one(chain_measures: xr.Dataset) -> Verdict:
    """Median -2 H / Lt at the largest Lt, without and with bias, paired over seeds."""
    need_chains(chain_measures, DECAYED, NO_BIAS)
    last = chain_measures["median_hamiltonian"].isel(effective_depth=-1)
    without = last.sel(maps=NO_BIAS)
    more = without - last.sel(maps=DECAYED, drop=True)
    test = mean_within(
        more.values, 0.25, 1.75, expected="one more", reason="told apart from none and from two; kept ranks vary by 1"
    )
    note = f"Without bias {float(without.mean()):.3g}; training error and test error are higher too."
    return Verdict.from_tests(test, None, note)


def _first_above(measures: xr.Dataset) -> xr.Dataset:
    at_paper = at_paper_depth(measures)["median_hamiltonian"].drop_vars("effective_depth")
    first = measures["effective_depth"] == measures["effective_depth"][0]
    return measures.assign(median_hamiltonian=xr.where(first, at_paper, measures["median_hamiltonian"]))


@claim(
    "lrn-fig1a-free",
    where="Figure 1a, Section 2.1",
    kind="limit",
    states=f"{STATES_1A}. Linear maps: learned without decay.",
    correction="With free maps all estimates reach $k^*$ and $-2 \\mathcal{H} / \\tilde L$ starts below it, but "
    "passes it on the way: above $k^*$ at $\\tilde L = 7$.",
    formula=FIGURE_1A,
    corrected_formula=APPROACH_1A,
    data="chain_measures",
    control={
        "H": shallowest(FREE),
        "stable H": shallowest(FREE),
        "least cost": REVERSED,
        "cost falls": REVERSED,
        "first": false_world("the effective depth next to 7 in the place of the first", _first_above),
        "rises": REVERSED,
    },
)
def hamiltonian_with_free_maps(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds."""
    need_chains(chain_measures, FREE, FIXED)
    chains = of_maps(chain_measures, FREE)
    approach, H, rank = _approach(chains), chains["median_hamiltonian"], int(chains["rank"])
    approach["first"] = mean_within(
        H.isel(effective_depth=0).values, -np.inf, rank, expected="below $k^*$ at first", reason="a sign"
    )
    approach["rises"] = positive(change(H), r"$-2 H / \tilde L$ rises with $\tilde L$")
    note = f"{_note(chains)} See lrn-free-maps for why these numbers depend on the length of training."
    return Verdict.from_tests(all_of(**approach, **_rising(chains)), all_of(**approach), note)


@claim(
    "lrn-fig1a-fixed",
    where="Figure 1a, Section 2.1",
    kind="limit",
    states="As $\\tilde L$ grows up to 7, $-2 \\mathcal{H}_\\gamma / \\tilde L$ approaches the rank $k^* = 3$ from"
    " below,"
    " the least stable cost of identity from above. Linear maps: fixed (inputs padded with zeros, first outputs read).",
    formula=r"-\frac{2}{\tilde L} \mathcal{H}_\gamma \nearrow k^*, \quad \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow"
    r" k^*",
    data="chain_measures",
    control={
        "stable H": REVERSED,
        "least cost": REVERSED,
        "cost falls": REVERSED,
        "from below": false_world("decayed maps, which come from above", replace_labels("maps", {FIXED: DECAYED})),
        "rises": REVERSED,
    },
)
def hamiltonian_with_fixed_maps(chain_measures: xr.Dataset) -> Verdict:
    """The form without momenta, since networks with fixed maps stay far from critical points; Lt up to 7."""
    need_chains(chain_measures, DECAYED, FIXED)
    low = chain_measures["effective_depth"].values <= PAPER_DEPTH
    chains = of_maps(chain_measures, FIXED).isel(effective_depth=low)
    stable = _stable(chains)
    tests = all_of(
        **_approach_of_stable_forms(chains),
        from_below=_below(stable, int(chains["rank"])),
        rises=positive(change(stable), r"$-2 H_\gamma / \tilde L$ rises with $\tilde L$"),
    )
    return Verdict.from_tests(tests, None, _note(of_maps(chain_measures, FIXED)))


def _spans(chains: xr.Dataset) -> tuple[Array, Array]:
    """Ranges of -2 H_gamma / Lt and of -2 H / Lt over all layers, over the cost's range in the middle, per seed."""
    span = _span(chains["cost"].isel(gamma=0, layer=middle_layers(chains.sizes["layer"])))
    stable = _span(chains["stable_hamiltonian"].isel(gamma=0))
    return (stable / span).values, (chains["hamiltonian_range"] / span).values


def _proportion(chains: xr.Dataset) -> Array:
    """Exponent of the kinetic energy in the cost of identity beyond -2 H / Lt, where both exceed a tenth, per seed."""
    kinetic = chains["kinetic"].isel(gamma=0)
    extra = chains["cost"].isel(gamma=0) - chains["median_hamiltonian"]
    exponents = []
    for seed in range(chains.sizes["seed"]):
        k, e = kinetic.isel(seed=seed).values, extra.isel(seed=seed).values
        both = (k > 0.1) & (e > 0.1)
        exponents.append(np.polyfit(np.log(e[both]), np.log(k[both]), 1)[0] if both.sum() > 2 else 0.0)
    return np.array(exponents)


def _span(along: xr.DataArray) -> xr.DataArray:
    """Largest less least over layers."""
    return along.max("layer") - along.min("layer")


def _cost_for_hamiltonian(measures: xr.Dataset) -> xr.Dataset:
    cost = measures["cost"]
    return measures.assign(stable_hamiltonian=cost, hamiltonian_range=_span(cost.isel(gamma=0)))


def _at_constant_speed(measures: xr.Dataset) -> xr.Dataset:
    kinetic = measures["kinetic"]
    return measures.assign(kinetic=0 * kinetic + np.sqrt(kinetic).mean("layer") ** 2)


COST_FOR_H = wrong_formula("the cost of identity in the place of the Hamiltonian", _cost_for_hamiltonian)
CONSTANT_SPEED = false_world("paths of the same length at constant speed", _at_constant_speed)


@claim(
    "lrn-fig1c",
    where="Section 2.1, Figure 1c",
    words="The kinetic energy is proportional to the extra COI ... varies much less than its components",
    line=260,
    assumes="the network of Figure 1b",
    kind="qualitative",
    states="Along $p$ the Hamiltonian varies much less than its parts; the kinetic energy is proportional to the extra "
    "cost of identity, both large at the two ends.",
    data="chain_measures",
    control={
        "stable H": COST_FOR_H,
        "H": COST_FOR_H,
        "proportion": wrong_formula(
            "the speed in the place of its square", lambda measures: measures.assign(kinetic=measures["kinetic"] ** 0.5)
        ),
        "first": CONSTANT_SPEED,
        "last": CONSTANT_SPEED,
    },
)
def hamiltonian_varies_less_than_its_parts(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; ranges over layers, exponent of the proportion, ends over middle."""
    need_chains(chain_measures, DECAYED)
    chains = at_paper_depth(of_maps(chain_measures))
    stable, mixed = _spans(chains)
    kinetic = chains["kinetic"].isel(gamma=0)
    ends = [np.log10(kinetic.isel(layer=end) / kinetic.min("layer")).values for end in (0, -1)]
    large = {
        "low": 0.3,
        "high": np.inf,
        "expected": "over twice the least",
        "reason": r"'large': twice, $\log_{10} 2 = 0.3$",
    }
    tests = all_of(
        stable_H=mean_within(stable, -np.inf, 0.1, expected=LITTLE, reason=MUCH),
        H=mean_within(mixed, -np.inf, 0.1, expected=LITTLE, reason=MUCH),
        proportion=mean_within(
            _proportion(chains), 0.75, 1.25, expected="exponent 1", reason="1 is told apart from 1/2 and 3/2"
        ),
        first=mean_within(ends[0], **large),
        last=mean_within(ends[1], **large),
    )
    spread = float(chains["hamiltonian_range"].mean())
    return Verdict.from_tests(
        tests, None, rf"{LEARNED} Range of $-2 H / \tilde L$ over layers {spread:.2g}, mean over seeds."
    )


@claim(
    "lrn-thm4-trained",
    where="Section 2.1, after Theorem 4",
    words=r"for large \tilde{L} ... the Hamiltonian is close to the minimal COI along the path",
    line=240,
    assumes="trained networks, which Figure 1 shows for it",
    kind="limit",
    states="On trained networks with large $\\tilde L$ the Hamiltonian is close to the least stable cost of identity"
    " along the path.",
    formula=r"-\frac{2}{\tilde L} \mathcal{H} - \min_p \|A_p\|_{K_p + \gamma I}^2 \to 0",
    data="chain_measures",
    control={"close": REVERSED, "closes": REVERSED},
)
def theorem_4_on_trained_networks(chain_measures: xr.Dataset) -> Verdict:
    """Median -2 H / Lt minus the least cost at the largest Lt, and how its size changes with Lt."""
    need_chains(chain_measures, DECAYED)
    chains = of_maps(chain_measures).isel(gamma=0)
    gap = chains["gap"]
    tests = all_of(
        close=mean_within(
            gap.isel(effective_depth=-1).values,
            -1,
            1,
            expected=r"within 1 at the largest $\tilde L$",
            reason="'close': less than one dimension",
        ),
        closes=positive(-change(np.abs(gap)), r"its size falls with $\tilde L$"),
    )
    note = (
        rf"{LEARNED} Difference {in_words(gap, 2)} from the least to the largest $\tilde L$. The theorem itself bounds "
        rf"it by {in_words(chains['bound_low'], 2)} and {in_words(chains['bound_high'], 2)} (corrected, $\gamma_p$): "
        "satisfied, and far too wide to explain it."
    )
    return Verdict.from_tests(tests, None, note)
