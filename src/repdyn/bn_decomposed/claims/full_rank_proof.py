"""Claims on the steps by which Theorem 3 is proved: the rank of a product, Lemma 2, (18)-(20), (26)-(28a)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_labels, replace_variables, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, equal
from repdyn.bn_decomposed.claims.worst_of import worst_mean_over_bound, worst_survival
from repdyn.bn_decomposed.theory.largest_rank import success_probability
from repdyn.bn_decomposed.theory.rank import circle_batch, circle_cells

LEAST_CLASS = 200
WAITS = (0.5, 1.0)  # over 1/gamma: the bound is then near 0.6 and 0.4, far from the trivial 1
UNCORRELATED = "a correlation of 0.1 is not independence, and a smaller one would not matter"


@claim(
    "bnd-e2-product",
    where="Section I, first paragraph",
    line=93,
    kind_of_slip="misprint",
    assumes="linear layers",
    words=r"since rank $(AB) \leq$ max $(\text{rank}(A), \text{rank}(B))$",
    kind="bound",
    states="The rank of a batch cannot grow through linear layers, since the rank of a product is at most the larger "
    "one of its factors.",
    correction="The rank of a product is at most the smaller one. The larger one is a bound too, but lets the rank "
    "grow to that of $A$.",
    formula=r"\operatorname{rank}(AB) \le \max(\operatorname{rank} A, \operatorname{rank} B)",
    corrected_formula=r"\operatorname{rank}(AB) \le \min(\operatorname{rank} A, \operatorname{rank} B)",
    control={
        "products above the bound": false_world(
            r"$\mathrm{ReLU}(W X)$ in place of $W X$", replace_labels("factor", {"WX": "ReLU(WX)"})
        ),
        "products whose rank it lets grow": wrong_formula(
            "the printed maximum", replace_labels("bound", {"corrected": "printed"})
        ),
    },
    possible_ocr_error=True,
    labels={
        "products above the bound": "products whose rank exceeds the bound: the words",
        "products whose rank it lets grow": "products for which the bound exceeds the rank of $X$: the inference",
    },
    message="A true bound that does not imply the conclusion",
    cause="In our copy: the larger rank is a bound, so the words are true, but it lets the rank grow to "
    "that of $A$; the inference needs the smaller one.",
    consequence="With the smaller rank the conclusion follows, that linear layers cannot raise the rank of a batch.",
)
def rank_of_a_product(relu_rank: xr.Dataset) -> Verdict:
    """Ranks of W, X, W X: is the bound true, and does it keep the rank from growing?"""
    before, after = (relu_rank["product_rank"].sel(factor=factor) for factor in ("X", "WX"))

    def form(which: str) -> Test:
        limit = relu_rank["product_bound"].sel(bound=which)
        return all_of(
            {
                "products above the bound": equal(int((after > limit).sum()), 0, expected="0"),
                "products whose rank it lets grow": equal(int((limit > before).sum()), 0, expected="0"),
            }
        )

    return Verdict.from_tests(form("printed"), form("corrected"))


def hexagon(stalled_rows: xr.Dataset) -> xr.Dataset:
    """Puts six points on the circle, stalled at rank 5, in place of batches without collinear columns."""
    stuck = success_probability(circle_batch(6), circle_batch(25).T)
    return stalled_rows.assign(probability=xr.full_like(stalled_rows["probability"], stuck))


@claim(
    "bnd-lem2-prob",
    where="Section I, Lemma 2, eq. (6)",
    line=108,
    assumes="t columns have rank t after ReLU, no two of t + 1 are collinear; a zero column counts as collinear, also"
    " alone",
    words=r"Then, with probability at least $\gamma(X^{(t+1)})$",
    kind="bound",
    states="If $t$ columns have full rank after ReLU and no two of $t + 1$ are collinear, one more Gaussian row gives "
    r"$t + 1$ columns full rank with probability at least $\gamma$ of the $t + 1$ columns.",
    control={
        r"probability over its bound": false_world(
            "six points on the circle, with antipodal pairs, stalled at rank 5", hexagon, recomputes=True
        ),
        "frequency minus probability": wrong_formula(
            r"$\gamma$, the bound, for the probability", replace_variables(probability="gamma")
        ),
    },
    remark="The printed proof step (18)-(20) needs a repair (bnd-e3-step).",
    sought=r"Proof: a null vector $a$ of $\operatorname{ReLU}(W X)$ has $a_{t+1} \ne 0$, so $\sum_i a_i (w x_i)_+$ "
    "has a kink at the hyperplane of $x_{t+1}$, which no other column shares, and is not zero in one of two "
    "cells beside it. Tried: columns within 1e-6 of a line (their lengths drop out), odd circles of 3 and 5 "
    r"points (probability over $\gamma$ at least 3 and 5), $t = 0$, where $\gamma = 1/2$ is reached. A single "
    "zero column has no such kink.",
)
def next_row_raises_the_rank(stalled_rows: xr.Dataset) -> Verdict:
    """Exact probability from the cells over gamma, and against the frequency in sampled rows."""
    ratio = stalled_rows["probability"] / stalled_rows["gamma"]
    return Verdict.from_tests(
        {
            "probability over its bound": at_least(
                ratio,
                1,
                expected="at least 1",
                reason=f"the bound itself; probabilities are exact, in {ratio.size} stalled configurations",
                n=ratio.size,
            ),
            "frequency minus probability": mean_within(
                (stalled_rows["frequency"] - stalled_rows["probability"]).values.ravel(),
                -0.02,
                0.02,
                expected="0",
                reason="a cell with $w u = 0$ that is counted, or one left out, would shift it by its volume; 0.02 "
                "is a few per cent of the typical probability",
            ),
        },
        facts={"smallest probability over its bound": ratio.min(), "stalled configurations": ratio.size},
    )


@claim(
    "bnd-e3-step",
    where="Appendix B, eqs. (18)-(20)",
    line=390,
    kind_of_slip="slip in a proof",
    assumes="no two columns are collinear; columns of any length, all in the relation (14) ($a_i \\ne 0$); $w x_i \\ne "
    "0$ for each of them, as for almost all rows",
    words=r"Then, for a sufficiently small $\epsilon > 0$ ... $\left(\mathbf{w}_{\ell} - (1+\epsilon) "
    r"\frac{\mathbf{w}_{\ell} \mathbf{x}_i}{\|\mathbf{x}_i\|} \mathbf{x}_i^T\right) \mathbf{x}_i < 0$",
    kind="identity",
    states="The row that is moved along the column $x_i$ of least $|w x_i|$ lies across the hyperplane of $x_i$ and "
    r"of no other column, for small $\epsilon$.",
    correction=r"The column is that of least distance $|w x_i| / \|x_i\|$, the nearest hyperplane, and the step is "
    r"divided by $\|x_i\|^2$. With columns of unit length, which ReLU allows to assume, both forms agree, and Lemma 2 "
    "stands.",
    formula=r"i = \operatorname{arg\,min}_i |w x_i|, \quad w - (1 + \epsilon) \frac{w x_i}{\|x_i\|} x_i^T",
    corrected_formula=r"i = \operatorname{arg\,min}_i \frac{|w x_i|}{\|x_i\|}, \quad w - (1 + \epsilon) \frac{w "
    r"x_i}{\|x_i\|^2} x_i^T",
    control=wrong_formula(
        "steps of 2.5 times the distance to the hyperplane", replace_labels("step", {"corrected": "overshot"})
    ),
    message="The step of the proof may cross another hyperplane",
    cause=r"The nearest hyperplane is that of least $|w x_i|/\|x_i\|$, and the step to it is divided by $\|x_i\|^2$; "
    "each lacks one norm in print.",
    consequence="For columns of unit length, which ReLU allows to assume, both forms agree, and Lemma 2 stands.",
    labels={"as printed": "share of rows whose step, as printed, crosses other hyperplanes"},
    remark="The printed form fails even with a lost square of the norm put back, by the index of (18). In (20) $x_i$ "
    "should be $x_j$, and the condition is that its sign is kept, not that it is positive.",
)
def step_crosses_one_hyperplane(sign_cells: xr.Dataset) -> Verdict:
    """Share of rows whose step does not change exactly one sign, for columns of unequal length."""
    share = sign_cells["not_one"] / sign_cells["rows_tried"]

    def form(step: str) -> Test:
        return deviation(
            share.sel(step=step),
            0.5 / int(sign_cells["rows_tried"]),
            expected="none of the rows",
            reason="not a single row; at a step of 1e-9 a second hyperplane so near has a chance below 1e-3 in all "
            "rows",
            n=int(sign_cells["rows_tried"]),
        )

    return Verdict.from_tests(
        {"as printed": form("printed"), "with the norm squared": form("printed, norm squared")}, form("corrected")
    )


def drawn_apart(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Takes every column's waits from draws of their own, in another order for each, so that they are independent."""
    waits = rows_to_full_rank["wait"].copy(deep=True)
    for column in range(waits.sizes["column"]):
        waits[:, :, column] = np.roll(waits.values[:, :, column], 7 * column, axis=1)
    return rows_to_full_rank.assign(wait=waits)


@claim(
    "bnd-yt-indep",
    where="Appendix B, before eq. (28a)",
    line=453,
    kind_of_slip="slip in a proof",
    assumes="rows i.i.d. Gaussian, columns added one by one",
    words=r"note first that $y_1, y_2, \ldots, y_n$ are independent",
    kind="identity",
    states=r"The waiting times $y_1, \dots, y_n$ by column are independent.",
    correction="They are dependent, but the proof does not need independence (bnd-yt-dominated).",
    formula=r"\mathbb{P}(y_1, \dots, y_n) = \prod_{t=1}^{n} \mathbb{P}(y_t)",
    control=false_world("waits of every column from draws of their own", drawn_apart),
    message="The waiting times are not independent",
    cause="On the circle of three points $y_2 = 0$ has probability 2/5, but is impossible if $y_1 = 1$.",
    consequence="The proof does not need independence: its conclusion (28b) follows from a conditional bound, Lemma "
    "2 (bnd-yt-dominated).",
    labels={"": "correlation of $y_1$ and $y_2$ on the circle"},
)
def waits_are_independent(rows_to_full_rank: xr.Dataset) -> Verdict:
    """Correlation of y_1 and y_2 on the circle."""
    circle = rows_to_full_rank["wait"].isel(wait_batch=0).values
    standard = (circle - circle.mean(axis=0)) / circle.std(axis=0)
    return Verdict.from_tests(
        mean_within(standard[:, 0] * standard[:, 1], -0.1, 0.1, expected="correlation 0", reason=UNCORRELATED)
    )


def antipodal_waits(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Puts the last of six points on the circle in place of the last column."""
    waits, gamma = (rows_to_full_rank[name].copy(deep=True) for name in ("wait", "column_gamma"))
    waits[:, :, -1] = rows_to_full_rank["wait_antipodal"].values
    gamma[:, -2] = circle_cells(int(rows_to_full_rank["antipodal_points"]))[1]
    return rows_to_full_rank.assign(wait=waits, column_gamma=gamma)


@claim(
    "bnd-yt-dominated",
    where="Appendix B, eqs. (28a)-(28b)",
    kind="bound",
    origin="ours",
    states="Given the past, the waiting time $y_t$ is stochastically below a geometric variable of success "
    r"probability $\gamma$ of the first $t$ columns; this is enough for (28b), factor by factor from the last.",
    formula=r"\mathbb{P}(y_t > s \mid y_1, \dots, y_{t-1}) \le (1 - \gamma(X^{(t)}))^s",
    control=false_world(
        "six points on the circle, whose antipodal pairs the theorem excludes", antipodal_waits, recomputes=True
    ),
    assumes="i.i.d. standard Gaussian rows, columns added one by one, no two of them collinear and none zero",
)
def waits_are_dominated(rows_to_full_rank: xr.Dataset) -> Verdict:
    """P(y_t > s | y_{t-1}) against (1 - gamma of t columns)^s, y_{t-1} = 0, 1, or more."""
    waits, gamma = rows_to_full_rank["wait"].values, rows_to_full_rank["column_gamma"].values
    cases = []
    for b, t, before in product(range(len(waits)), range(1, waits.shape[-1]), range(3)):
        past = np.minimum(waits[b, :, t - 1], 2) == before
        if past.sum() >= LEAST_CLASS:
            rows = [int(np.ceil(share / gamma[b, t])) for share in WAITS]
            cases += [(waits[b, past, t], s, (1 - gamma[b, t]) ** s) for s in rows]
    if not cases:
        raise NotEnoughDataError(f"rows_to_full_rank: {LEAST_CLASS} draws of equal past in some column")
    return Verdict.from_tests(
        worst_survival(
            cases,
            expected=r"$P(y_t > s \mid y_{t-1})$ over $(1 - \gamma)^s$ at most 1",
            reason=f"the bound itself, over pasts with at least {LEAST_CLASS} draws",
        )
    )


def index_above(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Takes gamma of t + 1 columns for gamma of t, with a further point as column n + 1."""
    return rows_to_full_rank.assign(column_gamma=rows_to_full_rank["column_gamma"].roll(column_or_next=-1))


def index_below(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Takes gamma of t - 1 columns for gamma of t; that of no column is 1."""
    return rows_to_full_rank.assign(
        column_gamma=rows_to_full_rank["column_gamma"].shift(column_or_next=1, fill_value=1)
    )


@claim(
    "bnd-e4-columns",
    where="Appendix B, eqs. (21)-(27)",
    line=439,
    assumes=("the proof of Theorem 3; the index of (26) is shifted by one and gamma is non-increasing in the columns"),
    words=r"that of a geometric distribution with success probability $\gamma(X^{(t+1)})$",
    kind="bound",
    states="The wait for the row that raises the rank of $t + 1$ columns from $t$ to $t + 1$ is on average at most "
    r"$1/\gamma$ of these columns, and the sum of these bounds is at most $n/\gamma$.",
    formula=r"\mathbb{E}[r_{t+1} - r_t] \le \frac{1}{\gamma(X^{(t+1)})}, \quad \sum_{t=0}^{n-1} "
    r"\frac{1}{\gamma(X^{(t+1)})} \le \frac{n}{\gamma}",
    control={
        "sum of bounds": wrong_formula("the index $t + 1$ to the end, with a further point", index_above),
        "first wait": wrong_formula(r"$\gamma$ of one column less", index_below, recomputes=True),
        "later waits": false_world(
            "six points on the circle, whose antipodal pairs the theorem excludes", antipodal_waits, recomputes=True
        ),
        "all columns": wrong_formula(r"$n$ for the sum: $\gamma$ left out", replace_variables(bound_by_column="n")),
    },
    labels={
        "all columns": r"mean number of rows for all columns, over $n/\gamma$",
        "first wait": r"mean wait for the first column, times $\gamma$",
        "later waits": "mean wait for each further column, over its bound",
    },
    remark="With $y_t = r_t - r_{t-1}$ as defined, the wait in (22)-(26) is $y_{t+1}$, and the sum in (27) runs from"
    r" 0 to $n - 1$; (26) as printed is true too, as $\gamma$ never grows with a column, but the last term of "
    "(27) asks for a column $n + 1$, which does not exist. The distribution function of the wait is at least the "
    "geometric one, not majorized by it; its tail is.",
)
def sum_over_columns(rows_to_full_rank: xr.Dataset) -> Verdict:
    """Sum of 1/gamma over the columns; means of the waits and of y against their bounds."""
    waits, gamma = rows_to_full_rank["wait"].values, rows_to_full_rank["column_gamma"].values
    n = waits.shape[-1]
    means = {"expected": "mean over bound at most 1, the largest given", "reason": "the bound itself"}
    later = np.moveaxis(waits, -1, 1)[:, 1:].reshape(-1, waits.shape[1])
    return Verdict.from_tests(
        {
            "sum of bounds": at_most(
                (1 / gamma[:, :n]).sum(axis=1) * rows_to_full_rank["wait_gamma"].values / n,
                1,
                expected=r"at most 1, over $n / \gamma$",
                reason=r"the bound itself; $\gamma$ is exact",
            ),
            "first wait": mean_within(
                waits[..., 0].ravel() * gamma[0, 0],
                0.9,
                1.1,
                expected=r"$\gamma E[y_1] = 1$: the first column waits for a positive product",
                reason="10 %, which separates it from half and from twice the value",
            ),
            "later waits": worst_mean_over_bound(later, 1 / gamma[:, 1:n].ravel(), **means),
            "all columns": worst_mean_over_bound(
                rows_to_full_rank["y"].values, rows_to_full_rank["bound_by_column"].values, **means
            ),
        }
    )
