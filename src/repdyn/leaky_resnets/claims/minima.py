"""Claims on minima of the cost of identity and on limits of minimal paths: Propositions 2, 3 and 5."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import Spoil, false_world, in_dataset, replace_labels, replace_variables, wrong_formula
from repdyn.base.formula_audit import decide_formula, formula_claim, with_wrong_formula
from repdyn.base.verdicts import Test, Verdict, at_least, at_most, deviation
from repdyn.leaky_resnets.claims.tolerances import EXTRAPOLATED, EXTRAPOLATED_REASON, SOLVED, SOLVED_REASON
from repdyn.leaky_resnets.theory import equations

WIDE = "9 x 4"  # neurons x points; every cost finite and solved to 1e-9
MIDDLE = "middle_activation"
RADIUS = 0.25  # r of the added neuron's triangle
EXPANDED = "relative; Richardson extrapolation"
AT_LEAST = r"at least $\|[A_i]_-\|^2$"
SCALED = r"a ratio of solves with condition numbers up to 1e4; of weights at finite $\epsilon$, 1e-4"


def _falls(change: xr.DataArray, what: str) -> Test:
    """Changes over the squared negative part."""
    return at_least(-change, 1 - 1e-3, expected=f"the {what} falls by {AT_LEAST}", reason=SCALED)


def _changes(costs: xr.Dataset, name: str) -> dict[str, Any]:
    """What the proof's neuron changes at the smallest negative part, as facts."""
    small = float(costs["negative_norm"].values[0])
    changes = costs[name].sel(negative_norm=small).transpose("bias", ...).values * small**2
    return {
        "negative part": small,
        "change by the proof's neuron over its squared size (no bias, bias)": changes.reshape(len(changes), -1).mean(
            axis=1
        ),
    }


def _error(audit: xr.Dataset, equation: str, expected: str) -> Test:
    errors = audit["corrected"].sel(equation=equation)
    return deviation(errors, EXTRAPOLATED, expected=expected, reason=EXPANDED)


def _wrong(equation: str, says: str) -> Spoil:
    return in_dataset(0, with_wrong_formula(says, equation).data)  # type: ignore[arg-type]  # it takes one dataset


OTHER_EXPANSION = wrong_formula(
    "the coefficient with a plus sign", _wrong(equations.POSITIVE_NEURON, "the coefficient with a plus sign")
)


@claim(
    "lrn-prop2",
    where="Section 1.4, Proposition 2",
    words=r"All stable minima are non-negative, and satisfy $||A\sigma(A)^+||_F^2 = \operatorname{Rank} A$",
    line=154,
    assumes="local minima of finite cost (convention of Section 1.3) that remain local minima with a zero row added",
    kind="bound",
    states="All stable minima of the cost of identity are non-negative, and their cost is their rank.",
    formula=r"[A]_- = 0, \quad \|A \sigma(A)^+\|_F^2 = \operatorname{Rank} A",
    control={
        "bias": wrong_formula(
            "scaling up by 1.1 in place of down", in_dataset(1, replace_variables(scaling="scaling_up"))
        ),
        "falls": wrong_formula(
            "the neuron of the proof", in_dataset(1, replace_variables(kept_change="kept_change_printed"))
        ),
        "expansion": OTHER_EXPANSION,
        "rank": false_world(
            "$\\mathbf{1}$ in the row space, where least weights have a bias",
            in_dataset(1, replace_labels("row_space", {"without 1": "with 1"})),
        ),
    },
    sought="Proved as Theorem A on the study's page, for singular $K$ as well: equal or dependent columns, points "
    r"at 0 or without a positive entry and $\mathbf{1}$ in the row space are cases of the proof, and the "
    r"new row is non-negative, so no kink is crossed. Falls were computed at finite $\epsilon$ with "
    "dependent activations and a point at 0; at $w = N = 1$ all minima are known.",
    labels={
        "bias": "cost of a shrunk representation over that of the original",
        "falls": "fall of the cost by the added neuron, over its bound",
        "expansion": "cost with the added neuron, against its expansion",
        "rank": "cost of identity minus the rank where nothing is negative",
    },
    remark="The proof's neuron $K e_i$ does not show it with bias (lrn-prop2-neuron); $[A]_+^T [A_i]_+$ does, with the "
    "proof on the study's page. Infinite costs are no minima; with the plain pseudo-inverse $A = -I$ would cost 0.",
)
def stable_minima_are_nonnegative(formula_audit: xr.Dataset, identity_costs: xr.Dataset) -> Verdict:
    """The steps of the proof: b = 0 at a minimum; then a neuron lowers the cost, or the cost is the rank."""
    costs = identity_costs
    without_ones = costs["nonnegative_cost"].sel(row_space="without 1")
    tests = {
        "bias": at_most(
            1 + costs["scaling"].sel(shape=WIDE, bias=1),
            1 - 1e-6,
            expected="$0.9 A$ costs less where the least weights have a bias",
            reason="a sign; it falls by a tenth of the bias's share",
        ),
        "falls": _falls(costs["kept_change"], "cost"),
        "expansion": _error(formula_audit, equations.POSITIVE_NEURON, r"the cost at finite $\epsilon$"),
        "rank": deviation(without_ones - costs["rank"], SOLVED, expected="Rank A", reason=SOLVED_REASON),
    }
    return Verdict.from_tests(tests)


@claim(
    "lrn-prop2-neuron",
    where="Section 1.4, proof of Proposition 2",
    words=r"then choosing $z = \sigma(A)^T \sigma(A_{\cdot i})$ we have $\sigma(z) = z$ and the two $ϵ^2$ "
    "terms are negative",
    line=164,
    assumes=r"a point $i$ with $\sigma(A_i) \ne A_i$, a minimum of finite cost; $\sigma$ appends a 1",
    kind_of_slip="slip in a proof",
    kind="bound",
    states=r"Where a point has a negative entry, the neuron $\epsilon K e_i$ lowers the cost of identity.",
    correction="Without bias. With it $K e_i$ raises the cost unless the negative part exceeds 1; the neuron "
    r"$\epsilon [A]_+^T [A_i]_+$ lowers it by $\epsilon^2 \|[A_i]_-\|^2$ or more, at a minimum, whose least weights "
    "have no bias. The proposition stands.",
    formula=r"\epsilon^2 \|\sigma(A_{\cdot i})\|^2 - \epsilon^2 \|A_{\cdot i}\|^2 < 0",
    corrected_formula=r"z = [A]_+^T [A_{\cdot i}]_+: \quad \epsilon^2 \|z^T \sigma(A)^+\|^2 - \epsilon^2 \|A_{\cdot "
    r"i}\|^2 \le -\epsilon^2 \|[A_{\cdot i}]_-\|^2",
    control={
        "falls": wrong_formula(
            "the neuron of the proof", in_dataset(1, replace_variables(kept_change="kept_change_printed"))
        ),
        "expansion": OTHER_EXPANSION,
        "printed expansion": wrong_formula(
            "the coefficient with the other sign", _wrong(equations.ADDED_NEURON, "the coefficient with the other sign")
        ),
    },
    message="With biases the neuron of the proof can raise the cost",
    cause=r"The coefficient of $\epsilon^2$ is $1 - \|[A_i]_-\|^2$ with the appended 1, so the cost falls only where "
    "the negative part of the point exceeds 1.",
    consequence=r"The proposition stands, with the neuron $\epsilon [A]_+^T [A_i]_+$; without bias the proof is "
    "right as printed.",
    sought=r"The printed coefficient is an identity, the bias less $\|[A_i]_-\|^2$. The bound of the other neuron "
    "is part (ii) of Theorem A: a projection cannot lengthen $[A_i]_+$. A column without positive entries "
    "has $z = 0$ there, and is 0 itself at a minimum; equal columns and fewer neurons than points were "
    "tried.",
    labels={
        "falls": "fall of the cost by the added neuron, over its bound",
        "expansion": "cost with the added neuron, against its expansion",
        "printed expansion": "cost with the added neuron, against the printed expansion",
    },
)
def added_neuron_lowers_the_cost(formula_audit: xr.Dataset, identity_costs: xr.Dataset) -> Verdict:
    """Coefficients of both neurons at representations whose least weights have no bias; expansions by Richardson."""
    costs = identity_costs
    printed = _falls(costs["kept_change_printed"], "cost")
    corrected = {
        "falls": _falls(costs["kept_change"], "cost"),
        "expansion": _error(formula_audit, equations.POSITIVE_NEURON, r"the cost at finite $\epsilon$"),
        "printed expansion": _error(formula_audit, equations.ADDED_NEURON, r"the cost at finite $\epsilon$"),
    }
    return Verdict.from_tests(printed, corrected, _changes(costs, "kept_change_printed"))


@claim(
    "lrn-e9-strict",
    where="Section 1.4, before Proposition 3",
    words="one can show that all strict local minima of wide enough networks are stable",
    line=172,
    assumes="minima of the cost of identity",
    kind="qualitative",
    states="All strict local minima of the COI of wide enough networks are stable.",
    control=wrong_formula("scaling up by 1.1 in place of down", replace_variables(scaling="scaling_up")),
    sought=r"$[V, c b]$ carries $c A$, so no $A \ne 0$ is strict at any width, of infinite cost neither: $c A$ "
    "then costs as much. Only $A = 0$ could break the statement, and there every other representation "
    "costs more by Proposition 1, with a row added too.",
    remark="It holds of $A = 0$ only and says nothing otherwise: scaling down never raises the COI, so no other $A$ is "
    "a strict local minimum. At $A = 0$ the COI is 0, and stays so with a zero row added; it is positive all around "
    "(Proposition 1).",
)
def no_other_minimum_is_strict(identity_costs: xr.Dataset) -> Verdict:
    """The cost of 0.9 A against that of A, random A that are not 0: equal without bias, lower with bias."""
    scaling = identity_costs["scaling"].sel(shape=WIDE)
    test = at_most(
        1 + scaling, 1 + SOLVED, expected="$0.9 A$ costs no more than $A$", reason=f"a ratio; {SOLVED_REASON}"
    )
    apart = abs(scaling.sel(bias=0)).max()
    return Verdict.from_tests(test, facts={"largest relative change of the cost by scaling, no bias": apart})


@claim(
    "lrn-prop3",
    where="Section 1.4, Proposition 3; Appendix A.1, Proposition 6",
    words="then there is a continuous path $A_t$ of constant COI ... $A_1$ is a saddle",
    line=174,
    assumes="$w > N(N + 1)$; the first representation a local minimum of finite cost that is not non-negative",
    kind="identity",
    states="From a local minimum that is not non-negative a path of constant cost of identity leads to a saddle: a "
    "representation with a zero row, critical as the first is.",
    control=with_wrong_formula("rows scaled by $(1 - t) + t a$ without the root", equations.MERGED_NEURONS),
    sought="Proved as Theorem B on the study's page. Caratheodory leaves a zero row from $w = N (N + 1) + 1$ on. "
    "Where $K$ is singular the cost has no gradient; there the end is neither minimum (Proposition 2) nor "
    "maximum (a short non-negative row of the image raises the cost). For $N = 1$ the statement is empty: "
    "without its negative part a point costs less.",
    remark="That the end is a saddle also needs it to be critical, which the proof leaves out: the COI depends on "
    "$(A^T A, K)$ only, so each row's gradient scales with the row. With bias too no local minimum with a zero row has "
    "a negative entry (lrn-prop2).",
)
def neurons_merge(formula_audit: xr.Dataset) -> Verdict:
    """N = 2, w = 9: cost along the path, number of rows, and gradients that scale with their rows."""
    return decide_formula(formula_audit, equations.MERGED_NEURONS, 1e-8, "a vertex of a linear program, solved to 1e-9")


def _share_of_bias(geodesics: xr.Dataset) -> np.ndarray:
    """2 Lt times the integral of |b|^2 over |W_1|^2: at most 1 by Proposition 9, so b / Lt vanishes as Lt grows."""
    paths = geodesics.sel(bias=1)
    integral = scipy.integrate.simpson(paths["bias_sq"].values, x=paths["p"].values, axis=-1)
    depth = paths["effective_depth"].values[:, None]
    return 2 * depth * integral / paths["weight_sq"].isel(p=-1).values


@claim(
    "lrn-prop5",
    where="Section 2.1, Proposition 5; Appendix A.2, Proposition 8",
    words=r"a uniformly bounded sequence of local minima ... then $A_{p_0}^{\infty} = \lim_{\tilde{L}} "
    r"A_{p_0}^{\tilde{L}}$ is non-negative",
    line=256,
    assumes=r"$\|A\|$ and $\|B\|$ bounded as in Theorem 7, $\|\partial_p A_p\|$ bounded near $p_0$, paths stable "
    "under adding a neuron; derivatives as the paper writes them, so no entry stays at 0 over an interval",
    kind="limit",
    states="Limits of local minima are non-negative where the path is slow.",
    formula=r"\lim_{\tilde L \to \infty} [A_{p_0}^{\tilde L}]_- = 0",
    control={
        "norm": wrong_formula(
            "the neuron of the proof", in_dataset(1, replace_variables(slow_norm_change="slow_norm_change_printed"))
        ),
        "objective": wrong_formula(
            "the neuron's activation left out",
            _wrong(equations.ADDED_NEURON_OBJECTIVE, "the neuron's activation left out"),
        ),
        "bias": wrong_formula(
            "all columns of the weights in place of the bias", in_dataset(2, replace_variables(bias_sq="weight_sq"))
        ),
    },
    sought="Proved as Theorem C on the study's page; equal points, points at 0, singular $K$ are covered. Least "
    r"case: one neuron from -1 to -1 follows $-\cosh(\tilde L (p - \frac12)) / \cosh(\tilde L / 2) \to 0$. "
    "A path with an entry at 0 over an interval has a one-sided first variation: there neither our proof "
    r"nor the paper's, whose Gronwall factor grows as $e^{\tilde L}$, applies, and no counterexample was "
    "found.",
    labels={
        "norm": "fall of the squared weights by the added neuron, over its bound",
        "objective": "objective with the added neuron, against its expansion",
        "bias": "biases' integral of Proposition 9 over the squared weights at the end",
    },
    remark="Proved on the study's page with the neuron $[A]_+^T [A_i]_+$, by the objective's first variation in the "
    r"place of the Gronwall argument; Proposition 9 makes $b / \tilde L$ vanish. Trained networks: lrn-prop5-trained.",
)
def limits_are_nonnegative(formula_audit: xr.Dataset, identity_costs: xr.Dataset, geodesics: xr.Dataset) -> Verdict:
    """The steps of a proof with and without bias: norm of the enlarged weights, the objective's change, size of b."""
    tests = {
        "norm": _falls(identity_costs["slow_norm_change"], "norm"),
        "objective": _error(formula_audit, equations.ADDED_NEURON_OBJECTIVE, r"the objective at finite $\epsilon$"),
        "bias": at_most(
            _share_of_bias(geodesics), 1 + 1e-3, expected="the bias takes at most what the norm gains", reason="Simpson"
        ),
    }
    return Verdict.from_tests(tests)


@claim(
    "lrn-prop5-neuron",
    where="Appendix A.2, proof of Proposition 8",
    words=r"has at least one negative entry, and therefore $\|A_{p_0, \cdot i}\|^2 - \|\sigma(A_{p_0, \cdot i})\|^2 = "
    "c_0 > 0$",
    line=415,
    assumes=r"$\sigma$ appends a 1",
    kind_of_slip="slip in a proof",
    kind="bound",
    states=r"Where a point has a negative entry, $\|A_i\|^2$ exceeds $\|\sigma(A_i)\|^2$, so that the added neuron "
    "lowers the parameter norm.",
    correction=r"Without bias. With it the difference is $\|[A_i]_-\|^2 - 1$; incoming weights $[A_i]_+$ without the "
    r"entry of the bias lower the norm by $\|[A_i]_-\|^2$. The proposition stands.",
    formula=r"\|A_{p, \cdot i}\|^2 - \|\sigma(A_{p, \cdot i})\|^2 > 0",
    corrected_formula=r"\|A_{p, \cdot i}\|^2 - \|[A_{p, \cdot i}]_+\|^2 = \|[A_{p, \cdot i}]_-\|^2 > 0",
    control=wrong_formula("the neuron of the proof", replace_variables(slow_norm_change="slow_norm_change_printed")),
    message="With biases the added neuron can raise the parameter norm",
    cause=r"With the appended 1 the difference of the squared norms is $\|[A_i]_-\|^2 - 1$, which a negative entry "
    "does not make positive.",
    consequence="The proposition stands: incoming weights $[A_i]_+$ without the entry of the bias lower the norm.",
    sought=r"$\|A_i\|^2 = \|[A_i]_+\|^2 + \|[A_i]_-\|^2$ for any column; one without a positive entry gets a "
    r"neuron of no incoming weights, and the norm falls all the same. Computed at finite $\epsilon$ on "
    "layers at rest, with negative parts below and above 1.",
)
def added_neuron_lowers_the_norm(identity_costs: xr.Dataset) -> Verdict:
    """Layers at rest whose least weights have no bias: change of |W|^2 at finite eps by both neurons."""
    costs = identity_costs
    printed, corrected = (_falls(costs[f"slow_norm_change{form}"], "norm") for form in ("_printed", ""))
    return Verdict.from_tests(printed, corrected, _changes(costs, "slow_norm_change_printed"))


added_neuron_changes_norm = formula_claim(
    "lrn-prop5-norm",
    where="Appendix A.2, proof of Proposition 8",
    words=r"this simplifies to ... $\int_{0}^{1} \left\| W_{p} \right\|^{2} + \tilde{L}^{2} \epsilon^{2} "
    r"t(p)^{2} \left(- \left\| A_{p,\cdot i} \right\|^{2} + \left\| \sigma(A_{p,\cdot i}) \right\|^{2} "
    r"- \frac{1}{\tilde{L}} A_{p,\cdot i}^{T} \partial_{p} A_{p,\cdot i} \right) dp + O(\epsilon^{4}).$",
    line=429,
    assumes="the neuron that the proof adds",
    kind_of_slip="slip in a proof",
    states="What the added neuron changes the squared norm of the weights by, to second order in its size, and the "
    "block it adds to $W_p$.",
    correction="The block has $t^2$, as the next display of the proof has it, and the last term the factor 2.",
    formula=r"\tilde L^2 \epsilon^2 t^2 \left( \|\sigma(A_i)\|^2 - \|A_i\|^2 - \frac{1}{\tilde L} A_i^T \partial_p "
    r"A_i \right), \quad W_p - \tilde L \epsilon^2 t A_i \sigma(A_i)^T",
    corrected_formula=r"\tilde L^2 \epsilon^2 t^2 \left( \|\sigma(A_i)\|^2 - \|A_i\|^2 - \frac{2}{\tilde L} A_i^T "
    r"\partial_p A_i \right), \quad W_p - \tilde L \epsilon^2 t^2 A_i \sigma(A_i)^T",
    audit=("formula_audit", equations.ENLARGED_NORM, EXTRAPOLATED, EXTRAPOLATED_REASON),
    control=r"$-1 / \tilde L$ with the right block",
    sought=r"Expanding squares: nothing is used but $W S_i = \partial_p A_i + \tilde L A_i$, and the remainder is "
    r"$\epsilon^4$ times the block's norm. At $t = 0$ and $t = 1$ the two blocks agree, in between they do "
    "not.",
    decided="Norms of the enlarged weights at finite eps, extrapolated.",
    message="The added block lacks a square, and one term a factor 2",
    cause="The block has $t^2$, as the next display of the proof has it, and its cross term with $W$ gives $A_i^T "
    r"\partial_p A_i$ the factor $2/\tilde L$.",
    consequence="The term with the missing factor is sent to 0 anyway, so the slip has no consequence in the proof.",
)


@claim(
    "lrn-e13-ends",
    where="Appendix A.2, proof of Proposition 8",
    words=r"as $\tilde{L} \to \infty$, $a_p \to t(p)K_{p,i}$ and so that $a_0 \to 0$ and $a_1 \to 1$",
    line=437,
    assumes=r"a triangle $t$ around $p_0 \in (0, 1)$ that vanishes at both ends",
    kind_of_slip="slip in a proof",
    kind="limit",
    states=r"As $\tilde L$ grows the added neuron's activation tends to 0 at $p = 0$ and to 1 at $p = 1$.",
    correction="It tends to $t(p) K_i$, so to 0 at both ends.",
    formula=r"a_0 \to 0, \quad a_1 \to 1 \text{ as } \tilde L \to \infty",
    corrected_formula=r"a_p \to t(p) K_{p,i}, \quad a_0 \to 0, \quad a_1 = O\left( e^{-\tilde L (1 - p_0 - r)} "
    r"\right) \to 0",
    possible_ocr_error=True,
    control={
        "end": wrong_formula("the limit 1 as printed, that of $a$ at $p_0$", replace_variables(end_activation=MIDDLE)),
        "integral": wrong_formula("$a$ at $p_0$ in place of $a_1$", replace_variables(end_activation=MIDDLE)),
        "middle": wrong_formula(
            "$a_1$ in place of $a$ at $p_0$", replace_variables(middle_activation="end_activation")
        ),
    },
    message="The added neuron's activation vanishes at both ends",
    cause="In our copy: the activation tends to $t(p) K_i$, and the triangle $t$ is 0 at $p = 0$ and at $p = 1$.",
    consequence=r"That is what the proof needs: with $a_1 \to 1$ the ends of the path would move.",
    sought=r"$a_1 \le \sup_q K_{q,i}\, e^{-\tilde L (1 - p_0 - r)}$, since $t$ is at most 1 and 0 beyond $p_0 + "
    r"r$. At the edge $p_0 + r = 1$, which 'r small enough' excludes, $a_1$ is still of order $1 / (\tilde "
    "L r)$; computed for both.",
    labels={
        "end": "activation of the added neuron at the end of the path",
        "integral": "that activation by its integral over the integrated path, minus 1",
        "middle": "activation at $p_0$ over $K_i$, minus its closed form, which tends to 1",
    },
)
def added_neuron_vanishes_at_the_end(formula_audit: xr.Dataset) -> Verdict:
    """a_1 by its integral, which the integrated path confirms, up to Lt = 80."""
    end = formula_audit["end_activation"]
    last, agree = float(end[-1]), (end / formula_audit["end_integrated"] - 1)
    steep = RADIUS * formula_audit["effective_depth"]
    near = 1 - (1 - np.exp(-steep)) / steep  # a at p_0 in closed form, 1 in the limit
    printed = deviation(last - 1, 1e-3, expected=r"$a_1 = 1$ at $\tilde L = 80$", reason=r"a tenth of $1 / \tilde L$")
    corrected = {
        "end": at_most(last, 1e-3, expected=r"$a_1 = 0$ at $\tilde L = 80$", reason=r"a tenth of $1 / \tilde L$"),
        "integral": deviation(
            agree, 1e-6, expected="the integrated path", reason="tolerance 1e-12 over values of 1e-10"
        ),
        "middle": deviation(
            formula_audit["middle_activation"] - near, SOLVED, expected="$t K_i$ in the limit", reason="quadrature"
        ),
    }
    return Verdict.from_tests(printed, corrected)
