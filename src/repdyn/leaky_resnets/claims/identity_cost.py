"""Claims on the cost of identity: Propositions 1 and 2, ranks, feasibility."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, share_within
from repdyn.leaky_resnets.claims.tolerances import ROUNDING, ROUNDING_REASON, SOLVED, SOLVED_REASON

TYPICAL = 0.75  # share of starts of which a descent is said to end somewhere: three in four
WIDE = "9 x 4"  # neurons x points; every cost finite and solved to 1e-9


def _ratios(costs: xr.Dataset, bound: str, search: list[str]) -> np.ndarray:
    """Cost over bound wherever the cost is finite, and the least ratios found by search."""
    feasible = costs["feasible"].values == 1
    ratio = (costs["plain_cost"] / costs[bound]).values[feasible]
    return np.concatenate([ratio, costs["least_ratio"].sel(search=search).values.ravel()])


def _bound_without_n(costs: xr.Dataset) -> xr.Dataset:
    least = costs["least_ratio"]
    swapped = least.sel(search=["no bias, printed", "bias, printed", "bias, printed"]).assign_coords(
        search=least["search"]
    )
    return costs.assign(
        bound_corrected=costs["bound_printed"], least_ratio=swapped, constant_bound=costs["constant_bound"] * 0 + 1
    )


@claim(
    "lrn-prop1",
    where="Proposition 1",
    kind="bound",
    states="|A S^+|_F^2 >= |A|_*^2 / |A|_F^2.",
    correction="Without bias and with the convention of infinite cost; with the appended 1, |S|_F^2 <= |A|_F^2 + N"
    " gives COI >= |A|_*^2 / (|A|_F^2 + N), with equality for A = c 1^T, c > 0.",
    formula=r"\|A \sigma(A)^+\|_F^2 \ge \frac{\|A\|_*^2}{\|A\|_F^2}",
    corrected_formula=(
        r"\operatorname{Im} A^T \subseteq \operatorname{Im} \sigma(A)^T \Rightarrow \|A \sigma(A)^+\|_F^2 \ge"
        r" \frac{\|A\|_*^2}{\|A\|_F^2 + N} \text{ with bias}, \quad \ge \frac{\|A\|_*^2}{\|A\|_F^2} \text{ without}"
    ),
    data="identity_costs",
    control=wrong_formula("the printed bound with bias", _bound_without_n),
)
def cost_bounds_stable_rank(identity_costs: xr.Dataset) -> Verdict:
    """Random representations, search for the least ratio, and A = c 1^T in closed form."""
    costs, reason = identity_costs, f"cost and bound; {SOLVED_REASON}"
    printed = at_least(
        _ratios(costs, "bound_printed", ["no bias, printed", "bias, printed"]),
        1 - SOLVED,
        expected="ratio >= 1",
        reason=reason,
    )
    least = costs["least_ratio"].sel(search=["no bias, printed", "bias, corrected"])
    corrected = all_of(
        bound=at_least(
            _ratios(costs, "bound_corrected", ["no bias, printed", "bias, corrected"]),
            1 - SOLVED,
            expected="ratio >= 1",
            reason=reason,
        ),
        tight=deviation(least.min("start") - 1, 0.01, expected="1 is reached", reason="a search of 60 steps"),
        constant=deviation(
            costs["constant_cost"] - costs["constant_bound"],
            ROUNDING,
            expected="c^2 / (1 + c^2)",
            reason=ROUNDING_REASON,
        ),
    )
    plain = float((costs["plain_cost"] / costs["bound_printed"]).sel(bias=0).min())
    return Verdict.from_tests(
        printed, corrected, f"Without the convention the ratio falls to {plain:.2g} (A = -I costs 0)."
    )


@claim(
    "lrn-stable-rank",
    where="after Proposition 1",
    kind="bound",
    states="|A|_F^2 / |A|_op^2 <= |A|_*^2 / |A|_F^2 <= Rank A.",
    data="identity_costs",
    control=wrong_formula(
        "the two stable ranks exchanged",
        lambda costs: costs.assign(nuclear_rank=costs["spectral_rank"], spectral_rank=costs["nuclear_rank"]),
    ),
)
def stable_ranks_are_ordered(identity_costs: xr.Dataset) -> Verdict:
    """Random representations."""
    costs, reason = identity_costs, "round-off"
    low = at_least(costs["nuclear_rank"] / costs["spectral_rank"], 1 - ROUNDING, expected="ratio >= 1", reason=reason)
    high = at_least(costs["full_rank"] / costs["nuclear_rank"], 1 - ROUNDING, expected="ratio >= 1", reason=reason)
    return Verdict.from_tests(all_of(nuclear_over_spectral=low, rank_over_nuclear=high))


@claim(
    "lrn-coi-rank",
    where="Section 1.4",
    kind="identity",
    states="The COI of a non-negative representation is its rank.",
    correction="Without bias, as Section 1.3 adds; with the appended 1 it is Rank A unless 1 lies in the row space,"
    " there Rank A - x / (1 + x), x = 1^T (A^T A)^+ 1.",
    formula=r"A \ge 0 \Rightarrow \|A\|_K^2 = \operatorname{Rank} A",
    corrected_formula=(
        r"\text{with bias: } A \ge 0, \mathbf{1} \in \operatorname{Im} A^T \Rightarrow \|A\|_K^2 ="
        r" \operatorname{Rank} A - \frac{x}{1 + x}, \quad x = \mathbf{1}^T (A^T A)^+ \mathbf{1}"
    ),
    data="identity_costs",
    control=wrong_formula(
        "Rank A with bias",
        lambda costs: costs.assign(nonnegative_closed=costs["rank"] + 0 * costs["nonnegative_closed"]),
    ),
)
def cost_is_rank(identity_costs: xr.Dataset) -> Verdict:
    """Random non-negative representations of rank 1 to 5, without and with 1 in the row space."""
    costs = identity_costs
    found, expected = costs["nonnegative_cost"], "equal"
    printed = deviation(found - costs["rank"], SOLVED, expected="COI = Rank A", reason=SOLVED_REASON)
    corrected = all_of(
        no_bias=deviation(found.sel(bias=0) - costs["rank"], SOLVED, expected="Rank A", reason=SOLVED_REASON),
        closed=deviation(found - costs["nonnegative_closed"], SOLVED, expected=expected, reason=SOLVED_REASON),
    )
    return Verdict.from_tests(printed, corrected)


def _always_falls(costs: xr.Dataset) -> xr.Dataset:
    """Control: the coefficient's sign changed, so that no neuron lowers the cost."""
    return costs.assign(neuron_change=-costs["neuron_change"])


@claim(
    "lrn-prop2",
    where="Proposition 2",
    kind="bound",
    states="Where a point has a negative entry, adding the neuron eps K e_i lowers the COI, so stable minima are"
    " non-negative and have COI = Rank A.",
    correction="Without bias and at finite COI. With the appended 1 the coefficient of eps^2 is 1 - |[A_i]_-|^2 and the"
    " argument fails; with the plain pseudo-inverse A = -I costs 0, the global minimum.",
    formula=r"\epsilon^2 \|\sigma(A_{\cdot i})\|^2 - \epsilon^2 \|A_{\cdot i}\|^2 < 0",
    corrected_formula=(
        r"\text{with bias: } \epsilon^2 \|\sigma(A_{\cdot i})\|^2 - \epsilon^2 \|A_{\cdot i}\|^2 = \epsilon^2"
        r" \left( 1 - \|[A_{\cdot i}]_-\|^2 \right)"
    ),
    data=("identities", "identity_costs"),
    control=wrong_formula(
        "the other sign of the coefficient", lambda identities, costs: (identities, _always_falls(costs))
    ),
)
def added_neuron_lowers_the_cost(identities: xr.Dataset, identity_costs: xr.Dataset) -> Verdict:
    """Expansion against Richardson extrapolation; its sign for representations with one entry -.3."""
    wide = identity_costs.sel(shape=WIDE)
    formula = deviation(
        identities["corrected"].sel(equation="Prop. 2 added neuron"),
        1e-5,
        expected="the cost at finite eps",
        reason="relative; Richardson extrapolation",
    )
    short = wide["neuron_change"] - wide["neuron_change_short"]
    agree = deviation(
        np.abs(short) / np.abs(wide["neuron_change_short"]), 1e-6, expected="|S_i|^2 - |A_i|^2", reason="condition of K"
    )

    def falls(coefficient: xr.DataArray) -> Test:
        return at_least(
            -coefficient, 1e-3, expected="the cost falls", reason="sign only; its size is .09 for the entry -.3"
        )

    change = wide["neuron_change"]
    note = (
        f"Coefficient for one entry -.3: {float(change.sel(bias=0).median()):.2f} without,"
        f" {float(change.sel(bias=1).median()):.2f} with bias."
    )
    return Verdict.from_tests(
        falls(change), all_of(falls=falls(change.sel(bias=0)), expansion=formula, short_form=agree), note
    )


def _with_bias(descents: xr.Dataset) -> xr.Dataset:
    biased = descents["case"].values[-1]
    return descents.sel(case=[biased] * descents.sizes["case"]).assign_coords(case=descents["case"])


@claim(
    "lrn-prop2-descent",
    where="Proposition 2, Section 1.4 (end)",
    kind="qualitative",
    states="Descent of the COI from random representations with spare neurons ends at non-negative ones with COI = Rank"
    " A.",
    data="descents",
    control=wrong_formula("the same descents with bias, which end below the rank", _with_bias),
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
    mass = descents["negative_mass"]
    note = "Negative mass at the end, median and 99 %: " + "; ".join(
        f"{float(mass.sel(case=case).median()):.1g}, {float(mass.sel(case=case).quantile(0.99)):.1g} ({case})"
        for case in descents["case"].values
    )
    return Verdict.from_tests(all_of(small=tests[0], large=tests[1]), None, note)


@claim(
    "lrn-image-never",
    where="Section 2.1",
    kind="qualitative",
    states="The assumption Im A^T in Im S^T is rarely true.",
    data="identity_costs",
    control=wrong_formula(
        "representations with w >= N, where it is true",
        lambda costs: costs.assign(gap=costs["gap"].sel(shape=WIDE, drop=True) + 0 * costs["gap"]),
    ),
)
def image_is_missed(identity_costs: xr.Dataset) -> Verdict:
    """Generic representations with fewer neurons than points: rank S <= w + 1 < N."""
    tall = [name for name in identity_costs["shape"].values if name not in ("3 x 3", WIDE)]
    gap = identity_costs["gap"].sel(shape=tall)
    test = at_least(gap, 1e-5, expected="part of A outside the image", reason="root of the tolerance 1e-10 on ranks")
    return Verdict.from_tests(
        test, None, "Then COI and kinetic energy are infinite, and only their stable versions can be shown."
    )


@claim(
    "lrn-e9-strict",
    where="Section 1.4, before Proposition 3",
    kind="qualitative",
    states="All strict local minima of the COI of wide enough networks are stable.",
    data="identity_costs",
    control=wrong_formula(
        "a cost that rises by a tenth on scaling down, as at a strict minimum",
        lambda costs: costs.assign(scaling=costs["scaling"] * 0 + 0.1),
    ),
)
def no_other_minimum_is_strict(identity_costs: xr.Dataset) -> Verdict:
    """The cost of 0.9 A against that of A, random A that are not 0: equal without bias, lower with bias."""
    scaling = identity_costs["scaling"].sel(shape=WIDE)
    test = at_most(1 + scaling, 1 + SOLVED, expected="0.9 A costs no more than A", reason=f"a ratio; {SOLVED_REASON}")
    note = (
        "It holds of A = 0 only and says nothing otherwise: scaling down never raises the COI (without bias it stays"
        f" within {float(abs(scaling.sel(bias=0)).max()):.1g}), so no other A is a strict local minimum. At A = 0 the"
        " COI is 0, and stays so with a zero row added; it is positive all around (Proposition 1)."
    )
    return Verdict.from_tests(test, None, note)
