"""Claims on the Hamiltonian of trained networks: Figures 1a and 1c, Theorem 4, the rank that is kept."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, mean_within
from repdyn.leaky_resnets.claims.over_seeds import (
    change,
    judge_sampled,
    middle_layers,
    near,
    positive,
    spoken,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps

STATES_1A = (
    "As Lt grows, -2 H / Lt and its stable forms approach the rank k* = 3 from below, the least stable cost of identity"
    " from above"
)
FIGURE_1A = (
    r"-\frac{2}{\tilde L} \mathcal{H} \nearrow k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \nearrow k^*, \quad"
    r" \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
)
LEARNED = "Linear maps: learned and decayed like the layers."
MUCH = "'much less': a tenth, of the cost's range in the middle; at the ends it is hundreds"
LITTLE = "range over all layers at most a tenth of the cost's over 0.2 < p < 0.8"


def _below(values: xr.DataArray, rank: int) -> Test:
    """Below the rank at every effective depth but the last, where 'at the rank' is asked for."""
    tests = {
        f"at_Lt_{Lt:g}": mean_within(
            values.sel(effective_depth=Lt).values, -np.inf, rank, expected=f"below {rank}", reason="'from below'"
        )
        for Lt in values["effective_depth"].values[:-1]
    }
    return all_of(**tests)


def _approach(chains: xr.Dataset) -> dict[str, Test]:
    """Both estimates end at the rank, the cost of identity comes from above."""
    rank, cost = int(chains["rank"]), chains["least_cost"].isel(gamma=0)
    last = {"effective_depth": -1}
    return {
        "H": near(chains["median_hamiltonian"].isel(last), rank, "median -2 H / Lt at the largest Lt"),
        "H_gamma": near(
            chains["median_stable"].isel(gamma=0).isel(last), rank, "median -2 H_gamma / Lt at the largest Lt"
        ),
        "least_cost": mean_within(
            cost.isel(last).values,
            rank - 1,
            2 * rank,
            expected=f"least cost of identity at the largest Lt close to {rank}",
            reason="from above and tens at small Lt: still up to twice the rank; gamma takes off up to 1",
        ),
        "cost_falls": positive(-change(cost), "least cost of identity falls with Lt"),
    }


def _rising(chains: xr.Dataset) -> dict[str, Test]:
    rank = int(chains["rank"])
    return {
        "H_from_below": _below(chains["median_hamiltonian"], rank),
        "H_gamma_from_below": _below(chains["median_stable"].isel(gamma=0), rank),
    }


def _told(chains: xr.Dataset) -> str:
    return (
        f"Lt = {', '.join(f'{Lt:g}' for Lt in chains['effective_depth'].values)}: means over"
        f" {chains.sizes['seed']} seeds of median -2 H / Lt {spoken(chains['median_hamiltonian'])}; -2 H_gamma / Lt"
        f" {spoken(chains['median_stable'].isel(gamma=0))}; least cost {spoken(chains['least_cost'].isel(gamma=0))}; |W - Lt B S^T|"
        f" / |W| {spoken(chains['relative_distance'], 2)}."
    )


def reversed_depths(measures: xr.Dataset) -> xr.Dataset:
    """Networks of the smallest depth under the name of the largest, and so on."""
    depths = measures["effective_depth"].values
    return measures.sel(effective_depth=depths[::-1]).assign_coords(effective_depth=depths)


@claim(
    "lrn-fig1a",
    where="Figure 1a, Section 2.1",
    kind="limit",
    states=f"{STATES_1A}. {LEARNED}",
    correction="With learned, decayed maps, our choice of the maps that the paper leaves open, -2 H / Lt ends at k*;"
    " its stable form, like the cost of identity, comes down to k* from above. With fixed maps: lrn-fig1a-fixed.",
    formula=FIGURE_1A,
    corrected_formula=(
        r"-\frac{2}{\tilde L} \mathcal{H} \to k^*, \quad -\frac{2}{\tilde L} \mathcal{H}_\gamma \searrow"
        r" k^*, \quad \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
    ),
    data="chain_measures",
    control=wrong_formula("effective depths in reversed order", reversed_depths),
)
def hamiltonian_reaches_the_rank(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds."""
    chains = of_maps(chain_measures)
    approach = _approach(chains)
    falling = positive(-change(chains["median_stable"].isel(gamma=0)), "-2 H_gamma / Lt falls with Lt")
    return judge_sampled(
        chain_measures.sizes["seed"],
        all_of(**approach, **_rising(chains)),
        all_of(**approach, H_gamma_falls=falling),
        _told(chains),
    )


def bias_dropped(measures: xr.Dataset) -> xr.Dataset:
    """Networks with bias in the place of those without."""
    names = measures["maps"].values
    return measures.sel(maps=[DECAYED if "no bias" in name else name for name in names]).assign_coords(maps=names)


@claim(
    "lrn-no-bias-rank",
    where="Section 1.4 (ours)",
    kind="comparison",
    states="Without the appended 1 networks keep one dimension more, the constant direction that the 1 gives for free.",
    data="chain_measures",
    control=wrong_formula("networks with bias in the place of those without", bias_dropped),
)
def constant_direction_costs_one(chain_measures: xr.Dataset) -> Verdict:
    """Median -2 H / Lt at the largest Lt, without and with bias, paired over seeds."""
    last = {"effective_depth": -1}
    without = of_maps(chain_measures, "decayed maps, no bias").isel(last)["median_hamiltonian"]
    more = without - of_maps(chain_measures).isel(last)["median_hamiltonian"]
    test = mean_within(
        more.values, 0.25, 1.75, expected="one more", reason="told apart from none and from two; kept ranks vary by 1"
    )
    return judge_sampled(
        chain_measures.sizes["seed"],
        test,
        None,
        f"Without bias {float(without.mean()):.3g}; training error and test error are higher too.",
    )


@claim(
    "lrn-fig1a-free",
    where="Figure 1a, Section 2.1",
    kind="limit",
    states=f"{STATES_1A}. Linear maps: learned without decay.",
    correction="With free maps -2 H / Lt starts below k*, lies above it at Lt = 7 and ends within one dimension of it.",
    formula=FIGURE_1A,
    corrected_formula=(
        r"-\frac{2}{\tilde L} \mathcal{H} < k^* \text{ at first}, \quad -\frac{2}{\tilde L} \mathcal{H} > k^*"
        r" \text{ at } \tilde L = 7, \quad \min_p \|A_p\|_{K_p + \gamma I}^2 \searrow k^*"
    ),
    data="chain_measures",
    control=wrong_formula("effective depths in reversed order", reversed_depths),
)
def hamiltonian_with_free_maps(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds."""
    chains = of_maps(chain_measures, "free maps")
    approach, H = _approach(chains), chains["median_hamiltonian"]
    first = mean_within(
        H.isel(effective_depth=0).values, -np.inf, int(chains["rank"]), expected="below k* at first", reason="a sign"
    )
    rises = positive(change(H), "-2 H / Lt rises with Lt")
    above = positive(at_paper_depth(H).values - int(chains["rank"]), "above k* at Lt = 7")
    note = f"{_told(chains)} See lrn-free-maps for why these numbers depend on the length of training."
    return judge_sampled(
        chain_measures.sizes["seed"],
        all_of(**approach, **_rising(chains)),
        all_of(**approach, first=first, rises=rises, above=above),
        note,
    )


@claim(
    "lrn-fig1a-fixed",
    where="Figure 1a, Section 2.1",
    kind="limit",
    states=f"{STATES_1A}. Linear maps: fixed (inputs padded with zeros, first outputs read).",
    data="chain_measures",
    control=wrong_formula("effective depths in reversed order", reversed_depths),
)
def hamiltonian_with_fixed_maps(chain_measures: xr.Dataset) -> Verdict:
    """Medians over layers, means over seeds."""
    chains = of_maps(chain_measures, "fixed maps")
    return judge_sampled(
        chain_measures.sizes["seed"], all_of(**_approach(chains), **_rising(chains)), None, _told(chains)
    )


def _spans(chains: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Ranges of -2 H_gamma / Lt and of -2 H / Lt over all layers, over the cost's range in the middle, per seed."""
    cost = chains["cost"].isel(gamma=0, layer=middle_layers(chains.sizes["layer"]))
    span = cost.max("layer") - cost.min("layer")
    parts = (chains["stable_hamiltonian"].isel(gamma=0), chains["hamiltonian"])
    return tuple(((part.max("layer") - part.min("layer")) / span).values for part in parts)


def _proportion(chains: xr.Dataset) -> np.ndarray:
    """Exponent of the kinetic energy in the cost of identity beyond -2 H / Lt, where both exceed a tenth, per seed."""
    kinetic = chains["kinetic"].isel(gamma=0)
    extra = chains["cost"].isel(gamma=0) - chains["median_hamiltonian"]
    found = []
    for seed in range(chains.sizes["seed"]):
        k, e = kinetic.isel(seed=seed).values, extra.isel(seed=seed).values
        both = (k > 0.1) & (e > 0.1)
        found.append(np.polyfit(np.log(e[both]), np.log(k[both]), 1)[0] if both.sum() > 2 else 0.0)
    return np.array(found)


def _layers_rolled(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(
        kinetic=measures["kinetic"].roll(layer=measures.sizes["layer"] // 2),
        stable_hamiltonian=measures["cost"],
        hamiltonian=measures["cost"].isel(gamma=0),
    )


@claim(
    "lrn-fig1c",
    where="Figure 1c, Section 2.1",
    kind="qualitative",
    states="Along p the Hamiltonian varies much less than its parts; the kinetic energy is proportional to the extra"
    " cost of identity, both large at the two ends.",
    data="chain_measures",
    control=wrong_formula(
        "kinetic energies shifted by half the layers, the cost of identity in the place of the Hamiltonian",
        _layers_rolled,
    ),
)
def hamiltonian_varies_less_than_its_parts(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; ranges over layers, exponent of the proportion, ends over middle."""
    chains = at_paper_depth(of_maps(chain_measures))
    stable, mixed = _spans(chains)
    kinetic = chains["kinetic"].isel(gamma=0)
    ends = [np.log10(kinetic.isel(layer=end) / kinetic.min("layer")).values for end in (0, -1)]
    large = {"low": 0.3, "high": np.inf, "expected": "over twice the least", "reason": "'large': twice, log10 2 = 0.3"}
    tests = all_of(
        H_gamma=mean_within(stable, 0, 0.1, expected=LITTLE, reason=MUCH),
        H=mean_within(mixed, 0, 0.1, expected=LITTLE, reason=MUCH),
        proportion=mean_within(
            _proportion(chains), 0.75, 1.25, expected="exponent 1", reason="1 is told apart from 1/2 and 3/2"
        ),
        first=mean_within(ends[0], **large),
        last=mean_within(ends[1], **large),
    )
    spread = chains["hamiltonian_range"]
    note = f"{LEARNED} Range of -2 H / Lt over layers {float(spread.mean()):.2g}, mean over seeds."
    return judge_sampled(chain_measures.sizes["seed"], tests, None, note)


def _gap_reversed(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(gap=-measures["gap"])


@claim(
    "lrn-thm4-trained",
    where="Theorem 4",
    kind="bound",
    states="On trained networks -2 H / Lt minus the least stable cost of identity is between the bounds of Theorem 4.",
    data="chain_measures",
    control=wrong_formula("the cost of identity minus -2 H / Lt", _gap_reversed),
)
def theorem_4_on_trained_networks(chain_measures: xr.Dataset) -> Verdict:
    """Corrected bounds with gamma_p; every network, both gammas."""
    gap, low, high = (chain_measures[name] for name in ("gap", "bound_low", "bound_high"))
    used = xr.where(gap > 0, gap / high, gap / low)
    learned = of_maps(chain_measures).isel(gamma=0)
    note = (
        f"Satisfied by far: with decayed maps the difference is {spoken(learned['gap'], 2)} between "
        f"{spoken(learned['bound_low'], 2)} and {spoken(learned['bound_high'], 2)} from the least to the largest Lt. "
        "The constant c is not bounded in Lt: max |B| grows (lrn-fig3)."
    )
    test = at_most(
        used, 1, expected="difference / bound <= 1", reason="a bound; networks are near critical points only"
    )
    return Verdict.from_tests(test, None, note)
