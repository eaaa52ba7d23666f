"""Claims on the cost of identity: Propositions 1 and 2, ranks, feasibility."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import (
    Spoil,
    exchange,
    false_world,
    in_dataset,
    replace_labels,
    replace_variables,
    wrong_formula,
)
from repdyn.base.formula_audit import with_wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, share_within
from repdyn.leaky_resnets.claims.tolerances import ROUNDING, ROUNDING_REASON, SOLVED, SOLVED_REASON

TYPICAL = 0.75  # share of starts of which a descent is said to end somewhere: three in four
WIDE = "9 x 4"  # neurons x points; every cost finite and solved to 1e-9


def _ratios(costs: xr.Dataset, bound: str, search: list[str]) -> np.ndarray:
    """Cost over bound wherever the cost is finite, and the least ratios found by search."""
    feasible = costs["feasible"].values == 1
    ratio = (costs["plain_cost"] / costs[bound]).values[feasible]
    return np.concatenate([ratio, costs["least_ratio"].sel(search=search).values.ravel()])


def _printed_with_bias(costs: xr.Dataset) -> xr.Dataset:
    searched = replace_labels("search", {"bias, corrected": "bias, printed"})(costs)
    return replace_variables(bound_corrected="bound_printed", constant_bound="constant_bound_printed")(searched)


PRINTED_BOUND = wrong_formula("the printed bound with bias", _printed_with_bias)


@claim(
    "lrn-prop1",
    where="Section 1.4, Proposition 1",
    words=r"$$||A\sigma(A)^+||_F^2 \ge \frac{||A||_*^2}{||A||_F^2}$$",
    line=143,
    assumes=r"infinite cost where $\operatorname{Im} A^T \not\subseteq \operatorname{Im} \sigma(A)^T$ (Section "
    r"1.3); $\sigma$ appends a 1 (Section 1.1)",
    kind_of_slip="missing hypothesis",
    kind="bound",
    states="The cost of identity is at least the stable rank.",
    correction=r"Without bias and with the convention of infinite cost; with the appended 1, $\|\sigma(A)\|_F^2 \le"
    r" \|A\|_F^2 + N$ gives a smaller bound, with equality for $A = c \mathbf{1}^T$, $c > 0$.",
    formula=r"\|A \sigma(A)^+\|_F^2 \ge \frac{\|A\|_*^2}{\|A\|_F^2}",
    corrected_formula=(
        r"\operatorname{Im} A^T \subseteq \operatorname{Im} \sigma(A)^T \Rightarrow \|A \sigma(A)^+\|_F^2 \ge"
        r" \frac{\|A\|_*^2}{\|A\|_F^2 + N} \text{ with bias}, \quad \ge \frac{\|A\|_*^2}{\|A\|_F^2} \text{ without}"
    ),
    data="identity_costs",
    control={"bound": PRINTED_BOUND, "tight": PRINTED_BOUND, "constant": PRINTED_BOUND},
)
def cost_bounds_stable_rank(identity_costs: xr.Dataset) -> Verdict:
    """Random representations, search for the least ratio, and A = c 1^T in closed form."""
    costs, reason = identity_costs, f"cost and bound; {SOLVED_REASON}"
    printed = at_least(
        _ratios(costs, "bound_printed", ["no bias, printed", "bias, printed"]),
        1 - SOLVED,
        expected="ratio at least 1",
        reason=reason,
    )
    least = costs["least_ratio"].sel(search=["no bias, printed", "bias, corrected"])
    corrected = all_of(
        bound=at_least(
            _ratios(costs, "bound_corrected", ["no bias, printed", "bias, corrected"]),
            1 - SOLVED,
            expected="ratio at least 1",
            reason=reason,
        ),
        tight=deviation(least.min("start") - 1, 0.01, expected="1 is reached", reason="a search of 60 steps"),
        constant=deviation(
            costs["constant_cost"] - costs["constant_bound"],
            ROUNDING,
            expected="$c^2 / (1 + c^2)$",
            reason=ROUNDING_REASON,
        ),
    )
    plain = float((costs["plain_cost"] / costs["bound_printed"]).sel(bias=0).min())
    return Verdict.from_tests(
        printed, corrected, f"Without the convention the ratio falls to {plain:.2g} ($A = -I$ costs 0)."
    )


@claim(
    "lrn-stable-rank",
    where="Section 1.4, after Proposition 1",
    words="is upper bounded by Rank*A* ... lower bound by the more common notion",
    line=148,
    kind="bound",
    states=r"$\|A\|_F^2 / \|A\|_{op}^2 \le \|A\|_*^2 / \|A\|_F^2 \le \operatorname{Rank} A$.",
    data="identity_costs",
    control={
        "nuclear over spectral": wrong_formula(
            "the two stable ranks exchanged",
            replace_variables(nuclear_rank="spectral_rank", spectral_rank="nuclear_rank"),
        ),
        "rank over nuclear": wrong_formula(
            "rank and stable rank exchanged", replace_variables(nuclear_rank="full_rank", full_rank="nuclear_rank")
        ),
    },
)
def stable_ranks_are_ordered(identity_costs: xr.Dataset) -> Verdict:
    """Random representations."""
    ratios = {
        "nuclear_over_spectral": identity_costs["nuclear_rank"] / identity_costs["spectral_rank"],
        "rank_over_nuclear": identity_costs["full_rank"] / identity_costs["nuclear_rank"],
    }
    tests = {
        name: at_least(ratio, 1 - ROUNDING, expected="ratio at least 1", reason="round-off")
        for name, ratio in ratios.items()
    }
    return Verdict.from_tests(all_of(**tests))


@claim(
    "lrn-coi-rank",
    where="Section 1.4, first display",
    words=r"It is obvious for non-negative representations because $||A_p||_{K_p^+}^2 = ||A_pA_p^+||_F^2 = "
    r"\operatorname{Rank} A_p$",
    line=140,
    assumes=r"$\sigma$ appends a 1 (Section 1.1); that Section 1.3 says it for no bias is not repeated here",
    kind_of_slip="missing hypothesis",
    kind="identity",
    states="The COI of a non-negative representation is its rank.",
    correction=r"Without bias, as Section 1.3 adds; with the appended 1 it is the rank unless $\mathbf{1}$ lies in the"
    " row space, there less by $x / (1 + x)$.",
    formula=r"A \ge 0 \Rightarrow \|A\|_K^2 = \operatorname{Rank} A",
    corrected_formula=(
        r"\text{with bias: } A \ge 0, \mathbf{1} \in \operatorname{Im} A^T \Rightarrow \|A\|_K^2 ="
        r" \operatorname{Rank} A - \frac{x}{1 + x}, \quad x = \mathbf{1}^T (A^T A)^+ \mathbf{1}"
    ),
    data="identity_costs",
    control={
        "no bias": false_world("costs with bias", exchange("bias", 0, 1)),
        "closed": wrong_formula(
            "Rank A with bias",
            lambda costs: costs.assign(nonnegative_closed=costs["rank"] + 0 * costs["nonnegative_closed"]),
        ),
    },
)
def cost_is_rank(identity_costs: xr.Dataset) -> Verdict:
    """Random non-negative representations of rank 1 to 5, without and with 1 in the row space."""
    costs, nonnegative = identity_costs, identity_costs["nonnegative_cost"]
    printed = deviation(nonnegative - costs["rank"], SOLVED, expected="COI equal to Rank $A$", reason=SOLVED_REASON)
    corrected = all_of(
        no_bias=deviation(nonnegative.sel(bias=0) - costs["rank"], SOLVED, expected="Rank A", reason=SOLVED_REASON),
        closed=deviation(nonnegative - costs["nonnegative_closed"], SOLVED, expected="equal", reason=SOLVED_REASON),
    )
    return Verdict.from_tests(printed, corrected)


def _other_bias(name: str) -> Spoil:
    """One variable with the numbers of the other case of bias."""

    def exchanged(costs: xr.Dataset) -> xr.Dataset:
        return costs.assign({name: exchange("bias", 0, 1)(costs)[name]})

    return exchanged


def _falls(change: xr.DataArray, what: str) -> Test:
    return at_least(-change, 1e-3, expected=f"the {what} falls", reason="sign only; its size is .09 for the entry -.3")


WRONG_EXPANSION = with_wrong_formula("the coefficient with the other sign", "Prop. 2 added neuron")


@claim(
    "lrn-prop2",
    where="Section 1.4, Proposition 2",
    words=r"All stable minima are non-negative, and satisfy $||A\sigma(A)^+||_F^2 = \operatorname{Rank} A$",
    line=154,
    assumes="local minima of finite cost (convention of Section 1.3), still local minima with a zero row added",
    kind="bound",
    states=r"Where a point has a negative entry, adding the neuron $\epsilon K e_i$ lowers the cost of identity, so"
    " stable minima are non-negative and cost their rank.",
    correction="Without bias and at finite cost. With the appended 1 the argument fails unless the negative part of"
    " the point exceeds 1; with the plain pseudo-inverse $A = -I$ costs 0, the global minimum.",
    formula=r"\epsilon^2 \|\sigma(A_{\cdot i})\|^2 - \epsilon^2 \|A_{\cdot i}\|^2 < 0",
    corrected_formula=(
        r"\text{with bias: } \epsilon^2 \|\sigma(A_{\cdot i})\|^2 - \epsilon^2 \|A_{\cdot i}\|^2 = \epsilon^2"
        r" \left( 1 - \|[A_{\cdot i}]_-\|^2 \right)"
    ),
    data=("formula_audit", "identity_costs"),
    control={
        "falls": false_world("representations with bias", in_dataset(1, exchange("bias", 0, 1))),
        "expansion": wrong_formula(WRONG_EXPANSION.says, in_dataset(0, WRONG_EXPANSION.data)),
        "short form": wrong_formula(
            "the formula of the other case of bias", in_dataset(1, _other_bias("neuron_change_short"))
        ),
    },
)
def added_neuron_lowers_the_cost(formula_audit: xr.Dataset, identity_costs: xr.Dataset) -> Verdict:
    """Expansion against Richardson extrapolation; its sign for representations with one entry -.3."""
    wide = identity_costs.sel(shape=WIDE)
    formula = deviation(
        formula_audit["corrected"].sel(equation="Prop. 2 added neuron"),
        1e-5,
        expected=r"the cost at finite $\epsilon$",
        reason="relative; Richardson extrapolation",
    )
    short = wide["neuron_change"] - wide["neuron_change_short"]
    agree = deviation(
        np.abs(short) / np.abs(wide["neuron_change_short"]),
        1e-6,
        expected="$|S_i|^2 - |A_i|^2$",
        reason="condition of $K$",
    )
    change = wide["neuron_change"]
    note = (
        f"Coefficient for one entry -.3: {float(change.sel(bias=0).median()):.2f} without,"
        f" {float(change.sel(bias=1).median()):.2f} with bias."
    )
    printed = _falls(change, "cost")
    corrected = all_of(falls=_falls(change.sel(bias=0), "cost"), expansion=formula, short_form=agree)
    return Verdict.from_tests(printed, corrected, note)


def _with_bias(descents: xr.Dataset) -> xr.Dataset:
    biased = descents["case"].values[-1]
    return descents.sel(case=[biased] * descents.sizes["case"]).assign_coords(case=descents["case"])


BIASED = false_world("the same descents with bias, which end below the rank", _with_bias)


@claim(
    "lrn-prop2-descent",
    where="Section 1.4, end",
    words="in our experiments with full population GD we have only observed stable/non-negative local minimas",
    line=176,
    assumes="descent of the cost of identity itself, without bias, where it is the rank",
    kind="qualitative",
    states="Full-batch descent of the cost of identity is observed to end at non-negative representations only, where "
    "it equals $\\operatorname{Rank} A$.",
    formula=r"[A]_- = 0, \quad \|A \sigma(A)^+\|_F^2 = \operatorname{Rank} A",
    data="descents",
    control={"small": BIASED, "large": BIASED},
)
def descent_ends_nonnegative(descents: xr.Dataset) -> Verdict:
    """Share of starts, without bias, that end with |COI - Rank| < .01 and less than 1e-3 of negative mass."""
    ends = descents.isel(case=[0, 1])
    hits = (np.abs(ends["end_cost"] - ends["end_rank"]) < 0.01) & (ends["negative_mass"] < 1e-3)
    reason = "typical, not all: limits lie at kinks and drops of rank, where some descents stall"
    tests = [
        share_within(
            hits.sel(case=case).values, TYPICAL, np.inf, expected="more than three starts in four", reason=reason
        )
        for case in ends["case"].values
    ]
    below = (descents["end_cost"] < descents["end_rank"] - 0.01).mean("start")
    note = "Share of starts that end so: " + "; ".join(
        f"{float(hits.sel(case=case).mean()):.1%} ({case})" for case in ends["case"].values
    )
    note += f". With bias {float(below[-1]):.0%} end below the rank. No neuron is added here; what one does: lrn-prop2."
    return Verdict.from_tests(all_of(small=tests[0], large=tests[1]), None, note)


def _small_negatives(costs: xr.Dataset) -> xr.Dataset:
    small, large = costs["negative_norm"].values
    return costs.assign(slow_norm_change=exchange("negative_norm", small, large)(costs)["slow_norm_change"])


@claim(
    "lrn-prop5",
    where="Section 2.1, Proposition 5; Appendix A.2, Proposition 8",
    words=r"a uniformly bounded sequence of local minima ... then $A_{p_0}^{\infty} = \lim_{\tilde{L}} "
    r"A_{p_0}^{\tilde{L}}$ is non-negative",
    line=256,
    assumes=r"$\|A\|$ and $\|B\|$ bounded as Theorem 7 defines it, $\|\partial_p A_p\|$ bounded near $p_0$, "
    r"paths stable under adding a neuron",
    kind="bound",
    states="Limits of local minima are non-negative where the path is slow: at a negative entry an added neuron lowers"
    " the parameter norm.",
    correction="Without bias. With it the norm falls only where the negative part of a point exceeds 1, so that limits"
    " with a smaller one are not excluded.",
    formula=r"\|A_{p, \cdot i}\|^2 - \|\sigma(A_{p, \cdot i})\|^2 > 0",
    corrected_formula=(
        r"\|A_{p, \cdot i}\|^2 - \|\sigma(A_{p, \cdot i})\|^2 = \|[A_{p, \cdot i}]_-\|^2 - \beta^2, \quad \beta ="
        r" 1 \text{ with bias}, 0 \text{ without}"
    ),
    data="identity_costs",
    control={
        "no bias": false_world("layers with bias", _other_bias("slow_norm_change")),
        "bias": false_world("negative parts below 1", _small_negatives),
    },
)
def added_neuron_lowers_the_norm(identity_costs: xr.Dataset) -> Verdict:
    """Layers that stand still, one negative entry: change of |W|^2 at finite eps, over (eps t Lt)^2."""
    change = identity_costs["slow_norm_change"]
    small, large = change["negative_norm"].values
    corrected = all_of(
        no_bias=_falls(change.sel(bias=0), "norm"), bias=_falls(change.sel(bias=1, negative_norm=large), "norm")
    )
    note = (
        f"An entry of {-small:g} changes the norm by {float(change.sel(bias=0, negative_norm=small).mean()):.2f} "
        f"without and {float(change.sel(bias=1, negative_norm=small).mean()):+.2f} with bias. Tested is the step of "
        "the proof that decides; its Gronwall argument and the existence of the limit are taken as they are. Whether "
        "the conclusion is true with bias all the same is open; trained networks: lrn-prop5-trained."
    )
    return Verdict.from_tests(_falls(change, "norm"), corrected, note)


@claim(
    "lrn-rank-continuous",
    where="Section 1.4, after Proposition 1",
    words=r"the ratio $\frac{\|A\|_{*}^{2}}{\|A\|_{F}^{2}}$ is continuous except at A = 0",
    line=150,
    kind="bound",
    states="In contrast to the cost of identity, the stable rank is continuous except at $A = 0$.",
    formula=r"\left| \frac{\|A + E\|_*}{\|A + E\|_F} - \frac{\|A\|_*}{\|A\|_F} \right| \le \frac{\sqrt{\min(w, N)} +"
    r" \|A\|_* / \|A\|_F}{\|A\|_F / \|E\|_F - 1}",
    data="identity_costs",
    control={
        "rank": wrong_formula(
            "the cost of identity in the place of the stable rank", replace_variables(rank_change="cost_change")
        ),
        "cost": wrong_formula(
            "the stable rank in the place of the cost of identity", replace_variables(cost_change="rank_change")
        ),
    },
)
def stable_rank_is_continuous(identity_costs: xr.Dataset) -> Verdict:
    """Non-negative representations of rank 3 and perturbations of relative size 1e-2 to 1e-8."""
    costs = identity_costs
    tests = all_of(
        rank=at_most(
            np.abs(costs["rank_change"]) / costs["rank_modulus"],
            1 + 1e-6,
            expected="at most its modulus of continuity",
            reason="a bound from the triangle inequality of both norms; round-off 1e-15 over changes of 1e-8",
        ),
        cost=at_least(
            np.abs(costs["cost_change"]),
            0.1,
            expected="the cost jumps",
            reason="it jumps from root 3 to root 4 or more, by .27, when the rank rises",
        ),
    )
    return Verdict.from_tests(tests)


@claim(
    "lrn-e9-strict",
    where="Section 1.4, before Proposition 3",
    words="one can show that all strict local minima of wide enough networks are stable",
    line=172,
    assumes="minima of the cost of identity",
    kind="qualitative",
    states="All strict local minima of the COI of wide enough networks are stable.",
    data="identity_costs",
    control=wrong_formula("scaling up by 1.1 in the place of down", replace_variables(scaling="scaling_up")),
)
def no_other_minimum_is_strict(identity_costs: xr.Dataset) -> Verdict:
    """The cost of 0.9 A against that of A, random A that are not 0: equal without bias, lower with bias."""
    scaling = identity_costs["scaling"].sel(shape=WIDE)
    test = at_most(
        1 + scaling, 1 + SOLVED, expected="$0.9 A$ costs no more than $A$", reason=f"a ratio; {SOLVED_REASON}"
    )
    note = (
        "It holds of $A = 0$ only and says nothing otherwise: scaling down never raises the COI (without bias it stays "
        f"within {float(abs(scaling.sel(bias=0)).max()):.1g}), so no other $A$ is a strict local minimum. At $A = 0$ "
        "the COI is 0, and stays so with a zero row added; it is positive all around (Proposition 1)."
    )
    return Verdict.from_tests(test, None, note)
