"""Claims on the bottleneck of trained networks: Figures 1b and 3, speeds, signs, sizes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.claims import claim
from repdyn.base.controls import Control, false_world, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, mean_within, share_within
from repdyn.leaky_resnets.claims.over_seeds import (
    LEARNED,
    NO_BIAS,
    REVERSED,
    growth,
    in_words,
    middle_layers,
    need_chains,
)
from repdyn.leaky_resnets.claims.trained_networks import FIRST_LAYER
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps


def _separates(chains: xr.Dataset, form: str) -> dict[str, Test]:
    """The largest step of A's and of W's spectrum: after k* values, one more or less, and by a factor of 2."""
    rank, tests = int(chains["rank"]), {}
    for matrix in ("A", "W"):
        place, step = (chains[f"separation_{part}"].sel(spectrum_of=matrix + form).values for part in ("place", "step"))
        tests[f"{matrix}_place"] = share_within(
            np.abs(place - rank) <= 1,
            0.5,
            np.inf,
            expected=f"largest step after {rank} values, one more or less, in most networks",
            reason="more often than by chance: three of the six places compared",
        )
        tests[f"{matrix}_step"] = mean_within(
            step, np.log(2), np.inf, expected="log of the step over log 2", reason="'clear': a factor of 2"
        )
    return tests


def _other_places(measures: xr.Dataset) -> xr.Dataset:
    rank, turn = int(measures["rank"]), measures["seed"] % 3
    places = xr.where(turn == 0, rank - 2, rank + 1 + turn)
    return measures.assign(separation_place=0 * measures["separation_place"] + places)


NO_PLACE = false_world("networks whose largest step lies two or three places away in turn", _other_places)


@claim(
    "lrn-fig1b",
    where="Appendix B, Figure 1b",
    words="a clear separation between k^* number of large values as the rest decay",
    line=508,
    assumes="the middle of the network; training not over-regularized",
    kind_of_slip="result changes",
    kind="qualitative",
    states="In the middle of the network $k^* = 3$ singular values of $A_p$ and of $W_p$ are clearly larger than the"
    " rest.",
    correction="Once the constant direction is taken out (of $A_p$ the mean over points, of $W_p$ the direction of the"
    " mean activation), up to one dimension more or less; as they are, the spectra carry that direction besides.",
    formula=r"s_{k^*}(A_p) \gg s_{k^* + 1}(A_p), \quad s_{k^*}(W_p) \gg s_{k^* + 1}(W_p)",
    corrected_formula=(
        r"s_k(A_p \Pi) \gg s_{k+1}(A_p \Pi), \quad s_k(W_p \Pi_p) \gg s_{k+1}(W_p \Pi_p), \quad |k - k^*| \le 1, \quad"
        r" \Pi = I - \tfrac{1}{N} \mathbf{1} \mathbf{1}^T, \quad \Pi_p = I - \bar S_p \bar S_p^T / \|\bar S_p\|^2"
    ),
    data="chain_measures",
    control={"A place": NO_PLACE, "A step": FIRST_LAYER, "W place": NO_PLACE, "W step": FIRST_LAYER},
)
def k_values_separate(chain_measures: xr.Dataset) -> Verdict:
    """Lt next to 7; one criterion for A and W, as they are (printed) and without the constant direction."""
    need_chains(chain_measures, DECAYED)
    chains = at_paper_depth(of_maps(chain_measures))
    words = []
    for matrix in chains["spectrum_of"].values:
        place, step = (chains[f"separation_{part}"].sel(spectrum_of=matrix).values for part in ("place", "step"))
        counts = ", ".join(f"{np.sum(place == k)} after {k:.0f}" for k in np.unique(place))
        words.append(f"{matrix}: {counts}, by a factor {np.exp(step.mean()):.3g}")
    printed, corrected = (all_of(**_separates(chains, form)) for form in ("", " centered"))
    return Verdict.from_tests(printed, corrected, f"{LEARNED} Largest steps: {'; '.join(words)}.")


def _bounded(chains: xr.Dataset, name: str) -> Test:
    depths, values = chains["effective_depth"].values, chains[name]
    return mean_within(
        np.log2(values.isel(effective_depth=-1) / values.isel(effective_depth=0)).values,
        -1,
        1,
        expected="within a factor of 2 (log2 in [-1, 1])",
        reason=rf"'relatively constant' while $\tilde L$ grows {depths[-1] / depths[0]:g} times",
    )


def _turned(name: str) -> Control:
    """|B S^T|, which stays constant, where the quantity does not; the least cost, which falls tenfold, elsewhere."""

    def turned(measures: xr.Dataset) -> xr.Dataset:
        fails = _bounded(of_maps(measures), name).outcome == "fails"
        other = measures["median_alignment"] if fails else measures["least_cost"].isel(gamma=0)
        return measures.assign({name: other})

    return false_world("a quantity that stays constant, or the least cost of identity, which does not", turned)


@claim(
    "lrn-fig3",
    where="Appendix B, Figure 3",
    words=r"respective magnitudes remains relatively constant as the effective depth \tilde{L} grows",
    line=510,
    assumes=r"path length, magnitudes of $B_p$ and of $B_p \sigma(A_p)^T$; trained networks",
    kind_of_slip="conclusion fails",
    kind="scaling",
    states="Path length, $\\|B_p\\|$ and $\\|B_p \\sigma(A_p)^T\\|$ remain relatively constant as $\\tilde L$ grows.",
    correction="Only $\\|B_p \\sigma(A_p)^T\\|$ does; path length and the largest $\\|B_p\\|$ grow several times.",
    formula=r"\int_0^1 \|\partial_p A_p\| dp, \|B_p\|, \|B_p \sigma(A_p)^T\| = O(1) \text{ as } \tilde L \to \infty",
    corrected_formula=(
        r"\|B_p \sigma(A_p)^T\| = O(1), \quad \int_0^1 \|\partial_p A_p\| dp \nearrow, \quad \max_p \|B_p\| \nearrow"
    ),
    data="chain_measures",
    control={
        "length": _turned("length"),
        "largest B": _turned("largest_momentum"),
        "median BS": _turned("median_alignment"),
    },
)
def quantities_stay_bounded(chain_measures: xr.Dataset) -> Verdict:
    """Ratio of the values at the largest and the smallest Lt."""
    need_chains(chain_measures, DECAYED)
    chains = of_maps(chain_measures)
    names = {"length": "length", "largest_B": "largest_momentum", "median_BS": "median_alignment"}
    tests = {part: _bounded(chains, name) for part, name in names.items()}
    length, largest, median = (in_words(chains[name]) for name in names.values())
    note = (
        f"{LEARNED} Means: path length {length}, in the stable norm {in_words(chains['stable_length'].isel(gamma=0))};"
        f" max $|B|$ {largest}; median $|B S^T|$ {median}."
    )
    return Verdict.from_tests(all_of(**tests), None, note)


@claim(
    "lrn-balanced-size",
    where="Section 2.1, after Theorem 4",
    words=r"since $W_p = \tilde{L}B_p\sigma(A_p)^T$ is of approximately constant size",
    line=238,
    assumes="trained networks",
    kind="qualitative",
    states="$W_p$ is of approximately constant size along $p$.",
    data="chain_measures",
    control=wrong_formula(
        "the cost of identity, which varies a hundredfold, in the place of $|W_p|^2$",
        lambda measures: measures.assign(weight_sq=measures["cost"].isel(gamma=0)),
    ),
)
def weights_are_of_constant_size(chain_measures: xr.Dataset) -> Verdict:
    """Largest over least |W_p| per network at Lt next to 7."""
    need_chains(chain_measures, DECAYED)
    chains = at_paper_depth(of_maps(chain_measures))
    size = np.sqrt(chains["weight_sq"])
    cost = chains["cost"].isel(gamma=0)
    test = mean_within(
        (size.max("layer") / size.min("layer")).values,
        1,
        np.sqrt(2),
        expected="largest at most 1.4 times the least",
        reason="'approximately constant': $|W|^2$ within a factor of 2",
    )
    span = float((cost.max("layer") / cost.min("layer")).mean())
    note = f"{LEARNED} The cost of identity spans a factor of {span:.0f} along the same paths."
    return Verdict.from_tests(test, None, note)


def _slopes(chains: xr.Dataset) -> Array:
    """Exponent over layers of |B_l|_F in |S_{l-1}|_op, per network."""
    B, S = (np.log(chains[name].transpose("seed", "layer").values) for name in ("momentum", "activation"))
    return np.array([np.polyfit(s, b, 1)[0] for s, b in zip(S, B, strict=True)])


@claim(
    "lrn-b-inverse",
    where="Section 2.1, after Theorem 4",
    words=r"we typically have that the size of B_p is inversely proportional to that of $\sigma(A_p)$",
    line=238,
    assumes="trained networks, along $p$",
    kind="scaling",
    states="The size of $B_p$ is inversely proportional to that of $\\sigma(A_p)$.",
    formula=r"\|B_p\|_F \propto \|\sigma(A_p)\|_{op}^{-1}",
    data="chain_measures",
    control=wrong_formula(
        "$|B| |S|$ in the place of $|B|$",
        lambda measures: measures.assign(momentum=measures["momentum"] * measures["activation"]),
    ),
)
def momenta_balance_activations(chain_measures: xr.Dataset) -> Verdict:
    """Free maps, whose |S| spans most along p, Lt next to 7 (see the note for the others)."""
    need_chains(chain_measures, "free maps")
    chains = at_paper_depth(chain_measures)
    test = mean_within(
        _slopes(of_maps(chains, "free maps")), -1.5, -0.5, expected="exponent -1", reason="told apart from 0 and -2"
    )
    words = []
    for maps in chains["maps"].values:
        part = of_maps(chains, maps)
        span = float((part["activation"].max("layer") / part["activation"].min("layer")).mean())
        words.append(f"{maps} {_slopes(part).mean():.2f} ($|S|$ spans {span:.2g} times)")
    return Verdict.from_tests(test, None, f"Exponents by maps: {'; '.join(words)}.")


@claim(
    "lrn-only-nonneg",
    where="Section 1.4, end",
    words="in our experiments with full population GD we have only observed stable/non-negative local minimas",
    line=176,
    assumes="the representations that trained networks have inside the bottleneck",
    kind="qualitative",
    states="Only non-negative minima of the cost of identity are observed: representations in the bottleneck have no"
    " negative entries.",
    data="chain_measures",
    control=false_world(
        "representations of the last layer",
        lambda measures: measures.assign(least_negative=measures["negative"].isel(node=-1)),
    ),
)
def bottleneck_is_nonnegative(chain_measures: xr.Dataset) -> Verdict:
    """Share of the squared size in negative entries at its least over layers, largest Lt."""
    need_chains(chain_measures, DECAYED)
    last = of_maps(chain_measures).isel(effective_depth=-1)
    test = mean_within(
        last["least_negative"].values,
        -np.inf,
        0.01,
        expected="at most 1 %",
        reason="the share of random signs is 50 %, of the ends 15 to 50 %",
    )
    ends = [float(last["negative"].isel(node=end).mean()) for end in (0, -1)]
    return Verdict.from_tests(test, None, f"{LEARNED} At the two ends {ends[0]:.0%} and {ends[1]:.0%}.")


@claim(
    "lrn-prop5-trained",
    where="Section 2.1, before Proposition 5",
    words="guarantee that the representations in the slow layers ('inside the Bottleneck') will be non-negative",
    line=254,
    assumes=r"trained networks, $\tilde L$ growing",
    kind="limit",
    states=r"In the bottleneck the negative part of the representation vanishes as $\tilde L$ grows.",
    data="chain_measures",
    control={"bias": REVERSED, "no bias": REVERSED},
)
def negative_part_vanishes(chain_measures: xr.Dataset) -> Verdict:
    """Exponent in Lt of the least share of negative entries, with and without bias (the proposition's setting)."""
    need_chains(chain_measures, DECAYED, NO_BIAS)
    exponents = {
        name: growth(of_maps(chain_measures, maps)["least_negative"].clip(1e-12))
        for name, maps in {"bias": DECAYED, "no_bias": NO_BIAS}.items()
    }
    tests = {
        name: mean_within(
            slopes, -np.inf, -1, expected=r"falls faster than $1 / \tilde L$", reason="told apart from a slow drift"
        )
        for name, slopes in exponents.items()
    }
    least = of_maps(chain_measures)["least_negative"]
    return Verdict.from_tests(all_of(**tests), None, f"{LEARNED} Least shares: {in_words(least, 2)}.")


def jumps_in_the_middle(measures: xr.Dataset) -> Array:
    """Whether a network's stable speed has a peak inside (0.2, 0.8) of twice the least speed on either side."""
    speed = np.sqrt(measures["kinetic"].isel(gamma=0)).stack(net=("maps", "seed", "effective_depth"))
    return np.array(
        [
            any(v[j] > 2 * max(v[:j].min(), v[j + 1 :].min()) for j in middle_layers(len(v)))
            for v in speed.transpose("net", "layer").values
        ]
    )


def _peak_in_the_middle(measures: xr.Dataset) -> xr.Dataset:
    center = measures["layer"] == measures.sizes["layer"] // 2
    return measures.assign(kinetic=measures["kinetic"] + xr.where(center, measures["kinetic"].max("layer"), 0.0))


@claim(
    "lrn-ends-jumps",
    where="Section 2.1, after Theorem 4",
    words="We have actually never observed any jump in the middle of the network",
    line=252,
    assumes="trained networks",
    kind="qualitative",
    states="Fast layers lie at the two ends; a jump in the middle of the network is never observed.",
    data="chain_measures",
    control=false_world("the kinetic energy of the fastest layer added in the middle", _peak_in_the_middle),
)
def jumps_lie_at_the_ends(chain_measures: xr.Dataset) -> Verdict:
    """Peaks of the stable speed over all networks with bias at the two largest Lt."""
    require(chain_measures, "chain_measures", effective_depth=2)
    kinds = [maps for maps in chain_measures["maps"].values if "no bias" not in maps]
    if not kinds:
        raise NotEnoughDataError("chain_measures: networks with bias")
    chains = chain_measures.sel(maps=kinds).isel(effective_depth=slice(-2, None))
    jumps = jumps_in_the_middle(chains)
    test = at_most(
        float(jumps.sum()),
        0.5,
        expected="no peak of twice its surroundings",
        reason="a count; one peak refutes 'never'",
    )
    bound = 1 - 0.001 ** (1 / jumps.size)
    return Verdict.from_tests(
        test, None, f"{jumps.size} networks; share of networks with such a peak below {bound:.1%} (99.9 %)."
    )


@claim(
    "lrn-fig1-speed",
    where="Section 2.1, after Theorem 4",
    words=r"slow (~ 1) dynamics ... fast (~ \tilde{L}) dynamics everywhere the COI is far from optimal",
    line=240,
    assumes="trained networks",
    kind="scaling",
    states="The stable speed $\\|\\partial_p A_p\\|$ is of order 1 in the bottleneck, of order $\\tilde L$ where the "
    "cost of identity is far from its least.",
    data="chain_measures",
    control={
        "first layer": false_world(
            "the slowest layer in the place of all",
            lambda measures: measures.assign(kinetic=measures["kinetic"].min("layer") + 0 * measures["kinetic"]),
        ),
        "least": false_world(
            "the first layer in the place of all",
            lambda measures: measures.assign(kinetic=measures["kinetic"].isel(layer=0) + 0 * measures["kinetic"]),
        ),
    },
)
def speeds_separate(chain_measures: xr.Dataset) -> Verdict:
    """Exponents in Lt of the speed in the first layer and at its least."""
    need_chains(chain_measures, DECAYED)
    chains = of_maps(chain_measures)
    speed = np.sqrt(chains["kinetic"].isel(gamma=0)) * chains["effective_depth"]
    first, least, last = speed.isel(layer=0), speed.min("layer"), speed.isel(layer=-1)
    tests = all_of(
        first_layer=mean_within(
            growth(first), 0.75, 1.25, expected="exponent 1", reason="told apart from 1/2 and 3/2 half-way"
        ),
        least=mean_within(growth(least), -np.inf, 0.25, expected="no growth", reason="told apart from 1/2 half-way"),
    )
    note = (
        f"{LEARNED} Means: first layer {in_words(first)}; least {in_words(least)}; last layer {in_words(last)},"
        r" where the cost of identity is near its least and the speed grows more slowly than $\tilde L$."
    )
    return Verdict.from_tests(tests, None, note)
