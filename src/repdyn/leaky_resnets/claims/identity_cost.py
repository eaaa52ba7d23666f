"""Claims on the cost of identity: Proposition 1, ranks, continuity, where descent ends."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, replace_labels, replace_variables, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Verdict, at_least, at_most, deviation
from repdyn.leaky_resnets.claims.tolerances import ROUNDING, ROUNDING_REASON, SOLVED, SOLVED_REASON


def _ratios(costs: xr.Dataset, bound: str, search: list[str]) -> np.ndarray:
    """Cost over bound wherever the cost is finite, and the least ratios found by search."""
    feasible = costs["feasible"].values == 1
    ratio = (costs["plain_cost"] / costs[bound]).values[feasible]
    return np.concatenate([ratio, costs["least_ratio"].sel(search=search).values.ravel()])


def _printed_with_bias(costs: xr.Dataset) -> xr.Dataset:
    searched = replace_labels("search", {"bias, corrected": "bias, printed"})(costs)
    printed = replace_variables(bound_corrected="bound_printed", constant_bound="constant_bound_printed")
    return cast("xr.Dataset", printed(searched))


PRINTED_BOUND = wrong_formula("the printed bound with bias", _printed_with_bias)


@claim(
    "lrn-prop1",
    where="Section 1.4, Proposition 1",
    words=r"$||A\sigma(A)^+||_F^2 \ge \frac{||A||_*^2}{||A||_F^2}$",
    line=143,
    assumes=r"infinite cost where $\operatorname{Im} A^T \not\subseteq \operatorname{Im} \sigma(A)^T$ (Section 1.3); "
    r"$\sigma$ appends a 1 (Section 1.1)",
    kind_of_slip="missing hypothesis",
    kind="bound",
    states="The cost of identity is at least the stable rank.",
    correction=r"Without bias and with the convention of infinite cost; with the appended 1, $\|\sigma(A)\|_F^2 \le "
    r"\|A\|_F^2 + N$ gives a smaller bound, with equality for $A = c \mathbf{1}^T$, $c > 0$.",
    formula=r"\|A \sigma(A)^+\|_F^2 \ge \frac{\|A\|_*^2}{\|A\|_F^2}",
    corrected_formula=r"\operatorname{Im} A^T \subseteq \operatorname{Im} \sigma(A)^T \Rightarrow \|A "
    r"\sigma(A)^+\|_F^2 \ge \frac{\|A\|_*^2}{\|A\|_F^2 + N} \text{ with bias}, \quad \ge \frac{\|A\|_*^2}{\|A\|_F^2} "
    r"\text{ without}",
    control={"bound": PRINTED_BOUND, "tight": PRINTED_BOUND, "constant": PRINTED_BOUND},
    message="With biases the cost of identity can be below the stable rank",
    cause=r"The proof bounds the norm of $\sigma(A)$ by that of $A$, which the appended 1 breaks; without the "
    "convention of infinite cost, $A = -I$ would cost 0.",
    consequence=r"Without bias the bound holds; with it $\|A\|_*^2 / (\|A\|_F^2 + N)$ is a bound, and it is reached.",
    sought=r"Proved: $A = (A G^{+1/2}) G^{1/2}$ and Cauchy-Schwarz for any $G \ge 0$, singular too, whose image "
    "holds that of $A^T$; only the trace of $K$ is estimated. Tried at one neuron, one point, equal rows "
    r"and zero columns; $A = c \mathbf{1}^T$ reaches the bound, and a search for the least ratio comes to 1 "
    "and not below. $A = 0$ has no stable rank.",
    labels={
        "bound": "cost of identity over its corrected bound",
        "tight": "least such ratio that a search reaches, minus 1",
        "constant": "cost of equal points with a bias, minus its bound",
    },
    remark="Without the convention of infinite costs $A = -I$ would cost 0.",
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
    corrected = {
        "bound": at_least(
            _ratios(costs, "bound_corrected", ["no bias, printed", "bias, corrected"]),
            1 - SOLVED,
            expected="ratio at least 1",
            reason=reason,
        ),
        "tight": deviation(least.min("start") - 1, 0.01, expected="1 is reached", reason="a search of 60 steps"),
        "constant": deviation(
            costs["constant_cost"] - costs["constant_bound"],
            ROUNDING,
            expected="$c^2 / (1 + c^2)$",
            reason=ROUNDING_REASON,
        ),
    }
    plain = (costs["plain_cost"] / costs["bound_printed"]).sel(bias=0).min()
    return Verdict.from_tests(printed, corrected, {"least ratio without the convention of infinite costs": plain})


@claim(
    "lrn-stable-rank",
    where="Section 1.4, after Proposition 1",
    words="is upper bounded by Rank*A* ... lower bound by the more common notion",
    line=148,
    kind="bound",
    states=r"$\|A\|_F^2 / \|A\|_{op}^2 \le \|A\|_*^2 / \|A\|_F^2 \le \operatorname{Rank} A$.",
    control={
        "nuclear over spectral": wrong_formula(
            "the two stable ranks exchanged",
            replace_variables(nuclear_rank="spectral_rank", spectral_rank="nuclear_rank"),
        ),
        "rank over nuclear": wrong_formula(
            "rank and stable rank exchanged", replace_variables(nuclear_rank="full_rank", full_rank="nuclear_rank")
        ),
    },
    sought=r"$\sum s_i^2 \le \max s_i \sum s_i$ and $(\sum s_i)^2 \le \operatorname{Rank} A \sum s_i^2$ for any "
    "singular values; both are equalities at rank one, the second at equal values. $A = 0$, where nothing "
    "is defined, is the only exception.",
)
def stable_ranks_are_ordered(identity_costs: xr.Dataset) -> Verdict:
    """Random representations."""
    ratios = {
        "nuclear over spectral": identity_costs["nuclear_rank"] / identity_costs["spectral_rank"],
        "rank over nuclear": identity_costs["full_rank"] / identity_costs["nuclear_rank"],
    }
    tests = {
        name: at_least(ratio, 1 - ROUNDING, expected="ratio at least 1", reason="round-off")
        for name, ratio in ratios.items()
    }
    return Verdict.from_tests(tests)


@claim(
    "lrn-coi-rank",
    where="Section 1.4, first display",
    words="It is obvious for non-negative representations because $||A_p||_{K_p^+}^2 = ||A_pA_p^+||_F^2 = "
    r"\operatorname{Rank} A_p$",
    line=140,
    assumes=r"no bias, as Section 1.3 says of the same fact, so that $A_p = \sigma(A_p)$",
    kind="identity",
    states="The cost of identity of a non-negative representation is its rank.",
    formula=r"A \ge 0 \Rightarrow \|A\|_K^2 = \operatorname{Rank} A",
    control=false_world("costs with bias, where $\\mathbf{1}$ may lie in the rows", exchange("bias", 0, 1)),
    labels={"": "cost of random non-negative representations minus their rank"},
    remark="With bias: lrn-coi-bias.",
)
def cost_is_rank(identity_costs: xr.Dataset) -> Verdict:
    """Random non-negative representations of rank 1 to 5, without bias."""
    cost = identity_costs["nonnegative_cost"].sel(bias=0)
    test = deviation(cost - identity_costs["rank"], SOLVED, expected="Rank A", reason=SOLVED_REASON)
    return Verdict.from_tests(test)


@claim(
    "lrn-coi-bias",
    where="Section 1.4",
    kind="identity",
    origin="ours",
    states=r"With the appended 1 the cost of a non-negative representation is its rank, unless $\mathbf{1}$ lies in "
    "its row space: there it is less by $x / (1 + x)$.",
    formula=r"A \ge 0, \mathbf{1} \in \operatorname{Im} A^T \Rightarrow \|A\|_K^2 = \operatorname{Rank} A - "
    r"\frac{x}{1 + x}, \quad x = \mathbf{1}^T (A^T A)^+ \mathbf{1}",
    control=wrong_formula(
        "Rank A with bias",
        lambda costs: costs.assign(nonnegative_closed=costs["rank"] + 0 * costs["nonnegative_closed"]),
        recomputes=True,
    ),
    labels={"": "cost with a bias minus its closed form, random non-negative representations"},
)
def cost_with_bias(identity_costs: xr.Dataset) -> Verdict:
    """Random non-negative representations, without and with 1 in the row space."""
    difference = (identity_costs["nonnegative_cost"] - identity_costs["nonnegative_closed"]).sel(bias=1)
    return Verdict.from_tests(deviation(difference, SOLVED, expected="equal", reason=SOLVED_REASON))


@claim(
    "lrn-rank-continuous",
    where="Section 1.4, after Proposition 1",
    words=r"the ratio $\frac{\|A\|_{*}^{2}}{\|A\|_{F}^{2}}$ is continuous except at A = 0",
    line=150,
    kind="bound",
    states="In contrast to the cost of identity, the stable rank is continuous except at $A = 0$.",
    formula=r"\left| \frac{\|A + E\|_*}{\|A + E\|_F} - \frac{\|A\|_*}{\|A\|_F} \right| \le \frac{\sqrt{\min(w, N)} + "
    r"\|A\|_* / \|A\|_F}{\|A\|_F / \|E\|_F - 1}",
    control={
        "rank": wrong_formula(
            "the cost of identity in place of the stable rank", replace_variables(rank_change="cost_change")
        ),
        "cost": wrong_formula(
            "the stable rank in place of the cost of identity", replace_variables(cost_change="rank_change")
        ),
    },
    sought=r"The modulus in the formula is the triangle inequality of both norms, for every $A \ne 0$, of any rank, "
    r"and $\|E\|_F < \|A\|_F$. Along rank one and along equal singular values the limits at 0 differ, unless $w$ or "
    "$N$ is 1. The cost was asked to jump where nothing but the rank changes: non-negative $A$, no kink crossed.",
    labels={
        "rank": "change of the stable rank's root over its modulus of continuity",
        "cost": "jump of the cost's root where a small perturbation raises the rank",
    },
)
def stable_rank_is_continuous(identity_costs: xr.Dataset) -> Verdict:
    """Non-negative representations of rank 3 and perturbations of relative size 1e-2 to 1e-8."""
    costs = identity_costs
    tests = {
        "rank": at_most(
            np.abs(costs["rank_change"]) / costs["rank_modulus"],
            1 + 1e-6,
            expected="at most its modulus of continuity",
            reason="a bound from the triangle inequality of both norms; round-off 1e-15 over changes of 1e-8",
        ),
        "cost": at_least(
            np.abs(costs["cost_change"]),
            0.1,
            expected="the cost jumps",
            reason="it jumps from root 3 to root 4 or more, by .27, when the rank rises",
        ),
    }
    return Verdict.from_tests(tests)


LEAST_ENDS = 10
AT_REST = 0.1  # of |gradient| |A|: the cost changes by less than a tenth when A does by its own size


STARTS = false_world(
    "the starts of the descents in place of their ends", replace_variables(negative_mass="negative_mass_at_start")
)


@claim(
    "lrn-prop2-descent",
    where="Section 1.4, end",
    words="in our experiments with full population GD we have only observed stable/non-negative local minimas",
    line=176,
    assumes="full-batch descent of the cost of identity itself",
    kind="qualitative",
    states="In full-batch descent of the cost of identity only non-negative local minima are observed.",
    formula="[A]_- = 0",
    control=dict.fromkeys(("small", "large", "bias"), STARTS),
    labels={
        "small": "ends at rest with negative entries, 8 neurons and 3 points",
        "large": "ends at rest with negative entries, 12 neurons and 5 points",
        "bias": "ends at rest with negative entries, 8 neurons, 3 points, with bias",
    },
    remark="No neuron is added here; what one does: lrn-prop2.",
)
def descent_ends_nonnegative(descents: xr.Dataset) -> Verdict:
    """Ends at rest that have negative entries, with and without bias; readings of how little is none."""
    cases = dict(zip(("small", "large", "bias"), descents["case"].values, strict=True))
    rest = descents["slope"] < AT_REST
    if int(rest.sum("start").min()) < LEAST_ENDS:
        raise NotEnoughDataError(f"descents: {LEAST_ENDS} ends at rest in each case")
    tests = {
        name: over_readings(
            lambda negative, case=case: at_most(
                float((rest & (descents["negative_mass"] > negative)).sel(case=case).sum()),
                0.5,
                expected="none has negative entries",
                reason="a count; one refutes 'only'",
            ),
            negative={"over 1e-2 of the squared size": 1e-2, "over 1e-3": 1e-3},
        )
        for name, case in cases.items()
    }
    near = abs(descents["end_cost"] - descents["end_rank"]) < 0.01
    return Verdict.from_tests(
        tests,
        facts={
            "starts in each case": rest.sizes["start"],
            "cases": "; ".join(map(str, cases.values())),
            "ends at rest by case": rest.sel(case=list(cases.values())).sum("start"),
            "share of ends that cost their rank by case": near.sel(case=list(cases.values())).mean("start"),
        },
    )
