"""Claims on the steps by which Theorem 3 is proved: the rank of a product, Lemma 2, (18)-(20), (26)-(28a)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import (
    Test,
    Verdict,
    all_of,
    at_least,
    at_most,
    deviation,
    equal,
    interval_within,
    mean_within,
)
from repdyn.bn_decomposed.claims.full_rank import FALSE_ALARM, share_interval, worst_mean
from repdyn.bn_decomposed.theory.rank import rank_product_bound, rank_product_bound_as_printed

LEAST_CLASS = 200
WAITS = (0.5, 1.0)  # over 1/gamma: the bound is then near 0.6 and 0.4, far from the trivial 1


def with_relu_between(relu_rank: xr.Dataset) -> xr.Dataset:
    """Puts rank ReLU(W X) in the place of rank W X."""
    ranks = relu_rank["product_rank"].copy(deep=True)
    ranks.loc[{"factor": "WX"}] = ranks.sel(factor="ReLU(WX)")
    return relu_rank.assign(product_rank=ranks)


@claim(
    "bnd-e2-product",
    where="Section I",
    kind="bound",
    states="The rank of a batch cannot grow through linear layers, since rank(AB) <= max(rank A, rank B).",
    correction="rank(AB) <= min(rank A, rank B). The maximum is a bound too, but lets the rank grow to that of A.",
    formula=r"\operatorname{rank}(AB) \le \max(\operatorname{rank} A, \operatorname{rank} B)",
    corrected_formula=r"\operatorname{rank}(AB) \le \min(\operatorname{rank} A, \operatorname{rank} B)",
    data="relu_rank",
    control=wrong_formula("ReLU(W X) in the place of W X", with_relu_between),
    possible_ocr_error=True,
)
def rank_of_a_product(relu_rank: xr.Dataset) -> Verdict:
    """Ranks of W, X, W X: is the bound true, and does it keep the rank from growing?"""
    ranks = relu_rank["product_rank"]
    factors = ranks.sel(factor=["W", "X"]).values.tolist()
    before, after = ranks.sel(factor="X").values, ranks.sel(factor="WX").values

    def form(bound) -> Test:
        limit = np.array([bound(w, x) for w, x in factors])
        return all_of(
            products_above_the_bound=equal(int((after > limit).sum()), 0, expected="0"),
            products_whose_rank_it_lets_grow=equal(int((limit > before).sum()), 0, expected="0"),
        )

    return Verdict.from_tests(form(rank_product_bound_as_printed), form(rank_product_bound))


def hexagon(stalled_rows: xr.Dataset) -> xr.Dataset:
    """Puts six points on the circle, stalled at rank 5, in the place of batches without collinear columns."""
    return stalled_rows.assign(
        probability=xr.full_like(stalled_rows["probability"], float(stalled_rows["hexagon_probability"]))
    )


@claim(
    "bnd-lem2-prob",
    where="Lemma 2, eq. (6)",
    kind="bound",
    states="If t columns have full rank after ReLU and no two of t + 1 are collinear, one more Gaussian row gives "
    "t + 1 columns full rank with probability at least gamma of the t + 1 columns.",
    data="stalled_rows",
    control=wrong_formula("six points on the circle, with antipodal pairs, stalled at rank 5", hexagon),
)
def next_row_raises_the_rank(stalled_rows: xr.Dataset) -> Verdict:
    """Exact probability from the cells over gamma, and against the frequency in sampled rows."""
    ratio = stalled_rows["probability"] / stalled_rows["gamma"]
    return Verdict.from_tests(
        all_of(
            probability_over_gamma=at_least(
                ratio,
                1,
                expected="at least 1",
                reason=f"the bound itself; probabilities are exact, in {ratio.size} stalled configurations",
                n=ratio.size,
            ),
            frequency_minus_probability=mean_within(
                (stalled_rows["frequency"] - stalled_rows["probability"]).values.ravel(),
                -0.02,
                0.02,
                expected="0",
                reason="a cell with w u = 0 that is counted, or one left out, would shift it by its volume; 0.02 is "
                "a few per cent of the typical probability",
            ),
        ),
        note="A stalled rank rises far more readily than the bound says. The printed proof step (18)-(20) "
        "needs a repair (bnd-e3-step).",
    )


def steps_too_long(sign_cells: xr.Dataset) -> xr.Dataset:
    """Puts steps of two and a half times the distance in the place of those just beyond the hyperplane."""
    counts = sign_cells["not_one"].copy(deep=True)
    counts.loc[{"step": "corrected"}] = counts.sel(step="overshot")
    return sign_cells.assign(not_one=counts)


@claim(
    "bnd-e3-step",
    where="Appendix B, eqs. (18)-(20)",
    kind="identity",
    states="With i = argmin |w x_i|, the row w - (1+eps) (w x_i / ||x_i||) x_i' lies across the hyperplane of x_i and "
    "of no other column, for small eps.",
    correction="i = argmin |w x_i| / ||x_i||, the nearest hyperplane, and the step is divided by ||x_i||^2. With "
    "columns of unit length, which ReLU allows to assume, both forms agree, and Lemma 2 stands.",
    formula=r"i = \operatorname{arg\,min}_i |w x_i|, \quad w - (1 + \epsilon) \frac{w x_i}{\|x_i\|} x_i^T",
    corrected_formula=(
        r"i = \operatorname{arg\,min}_i \frac{|w x_i|}{\|x_i\|}, "
        r"\quad w - (1 + \epsilon) \frac{w x_i}{\|x_i\|^2} x_i^T"
    ),
    data="sign_cells",
    control=wrong_formula("steps of 2.5 times the distance to the hyperplane", steps_too_long),
)
def step_crosses_one_hyperplane(sign_cells: xr.Dataset) -> Verdict:
    """Share of rows whose step does not change exactly one sign, for columns of unequal length."""
    share = sign_cells["not_one"] / sign_cells["rows_tried"]

    def form(step: str) -> Test:
        return deviation(
            share.sel(step=step),
            0.5 / int(sign_cells["rows_tried"]),
            expected="none of the rows",
            reason="not a single row; eps = 1e-9, so a second hyperplane so near has a chance below 1e-3 in all rows",
            n=int(sign_cells["rows_tried"]),
        )

    return Verdict.from_tests(
        all_of(as_printed=form("printed"), with_the_norm_squared=form("printed, norm squared")),
        form("corrected"),
        "The printed form fails even with a lost square of the norm put back, by the index of (18). In (20) x_i stands "
        "for x_j, and the condition is that its sign stays, not that it is positive.",
    )


def success_for_failure(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Puts 1 - gamma for gamma of the columns."""
    return rows_to_full_rank.assign(column_gamma=1 - rows_to_full_rank["column_gamma"])


def _conditional_survival(rows_to_full_rank: xr.Dataset) -> Test:
    """P(y_t > s | y_{t-1}) <= (1 - gamma of t columns)^s, by the case that comes closest to its limit."""
    waits, gamma = rows_to_full_rank["wait"].values, rows_to_full_rank["column_gamma"].values
    cases = []
    for b, t, before in product(range(len(waits)), range(1, waits.shape[-1]), range(3)):
        past = np.minimum(waits[b, :, t - 1], 2) == before
        if past.sum() >= LEAST_CLASS:
            y = waits[b, past, t]
            rows = [int(np.ceil(share / gamma[b, t])) for share in WAITS]
            cases += [((y > s).sum(), y.size, (1 - gamma[b, t]) ** s) for s in rows]
    level = FALSE_ALARM / len(cases)
    scaled = [tuple(end / limit for end in share_interval(int(hits), n, level)) for hits, n, limit in cases]
    return interval_within(
        max(scaled, key=lambda interval: interval[1]),
        -np.inf,
        1,
        expected="P(y_t > s | y_(t-1)) over (1 - gamma)^s at most 1, the closest case given",
        reason=f"the bound itself, in {len(cases)} cases of at least {LEAST_CLASS} draws",
        n=min(n for _, n, _ in cases),
        false_alarm=FALSE_ALARM,
    )


@claim(
    "bnd-yt-indep",
    where="Appendix B, before eq. (28a)",
    kind="identity",
    states="The waiting times y_1, ..., y_n by column are independent.",
    correction="They are not. Given the past, y_t is stochastically below Geometric(gamma) for the first t columns, "
    "and that is enough for (28b), factor by factor from the last.",
    formula=r"\mathbb{P}(y_1, \dots, y_n) = \prod_{t=1}^{n} \mathbb{P}(y_t)",
    corrected_formula=r"\mathbb{P}(y_t > s \mid y_1, \dots, y_{t-1}) \le (1 - \gamma)^s",
    data="rows_to_full_rank",
    control=wrong_formula("1 - gamma for gamma in the geometric law", success_for_failure),
)
def waits_are_dependent(rows_to_full_rank: xr.Dataset) -> Verdict:
    """Correlations of y_1 with the others on the circle; conditional survival in all batches."""
    circle = rows_to_full_rank["wait"].isel(wait_batch=0).values
    standard = (circle - circle.mean(axis=0)) / circle.std(axis=0)
    correlations = {
        f"correlation_of_y_1_and_y_{t + 1}": mean_within(
            standard[:, 0] * standard[:, t],
            -0.1,
            0.1,
            expected="0",
            reason="a correlation of 0.1 is not independence, and a smaller one would not matter",
        )
        for t in range(1, circle.shape[1])
    }
    return Verdict.from_tests(
        all_of(**correlations), all_of(conditional_survival_over_bound=_conditional_survival(rows_to_full_rank))
    )


def all_gammas_one(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Puts 1 for every gamma, so that each column would wait for one row."""
    return rows_to_full_rank.assign(
        column_gamma=xr.ones_like(rows_to_full_rank["column_gamma"]),
        bound_by_column=rows_to_full_rank["n"].astype(float),
    )


@claim(
    "bnd-e4-columns",
    where="Appendix B, eqs. (26), (27)",
    kind="bound",
    states="E[y_t] <= 1/gamma(X^(t+1)), and the sum of 1/gamma(X^(t+1)) over t = 1..n is at most n/gamma.",
    correction="E[y_t] <= 1/gamma(X^(t)), and the sum of 1/gamma(X^(t)) is at most n/gamma: the wait that Lemma 2 "
    "bounds by gamma(X^(t+1)) is y_(t+1). X^(n+1) does not exist; with a further point for it the sum can exceed "
    "n/gamma.",
    formula=(
        r"\mathbb{E}[y_t] \le \frac{1}{\gamma(X^{(t+1)})}, \quad \sum_{t=1}^{n} \frac{1}{\gamma(X^{(t+1)})} "
        r"\le \frac{n}{\gamma}"
    ),
    corrected_formula=(
        r"\mathbb{E}[y_t] \le \frac{1}{\gamma(X^{(t)})}, \quad \sum_{t=1}^{n} \frac{1}{\gamma(X^{(t)})} "
        r"\le \frac{n}{\gamma}"
    ),
    data="rows_to_full_rank",
    control=wrong_formula("1 for every gamma", all_gammas_one),
)
def sum_over_columns(rows_to_full_rank: xr.Dataset) -> Verdict:
    """Sums of 1/gamma with and without a further column; means of y_t and of y against their bounds."""
    waits, gamma = rows_to_full_rank["wait"].values, rows_to_full_rank["column_gamma"].values
    n = waits.shape[-1]
    total = {"expected": "at most 1, over n/gamma", "reason": "the bound itself; gamma is exact"}
    means = {"expected": "mean over bound at most 1, the largest given", "reason": "the bound itself"}
    by_column = np.moveaxis(waits, -1, 1)
    return Verdict.from_tests(
        all_of(
            sum_of_bounds=at_most((1 / gamma[:, 1:]).sum(axis=1) * gamma[:, n - 1] / n, 1, **total),
            waits=worst_mean(by_column.reshape(-1, waits.shape[1]), 1 / gamma[:, 1:].ravel(), **means),
        ),
        all_of(
            sum_of_bounds=at_most((1 / gamma[:, :n]).sum(axis=1) * gamma[:, n - 1] / n, 1, **total),
            first_wait=mean_within(
                waits[..., 0].ravel() * gamma[0, 0],
                0.9,
                1.1,
                expected="E[y_1] gamma = 1: the first column waits for a positive product",
                reason="10 %, which tells it from half and from twice the value",
            ),
            later_waits=worst_mean(by_column[:, 1:].reshape(-1, waits.shape[1]), 1 / gamma[:, 1:n].ravel(), **means),
            all_columns=worst_mean(rows_to_full_rank["y"].values, rows_to_full_rank["bound_by_column"].values, **means),
        ),
        "Printed form: with a further point as column n + 1.",
    )
