r"""Rows needed until ReLU(W X) has full rank: simulation and the bounds of Theorem 3.

y = min{d : rank ReLU(W^(d) X) = n} for i.i.d. Gaussian rows. Batch normalization replaces X by X - mean
(Corollary 4); its positive scale per row changes no rank. The rank of a growing matrix is followed by
incremental Gram-Schmidt, n^2 operations per row; a row is new when what is left of it after two projections
exceeds 1e-10 of its length. Paper: Nachum, Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed",
Section I and Appendix B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.layers import as_batch
from repdyn.bn_decomposed.theory.rank import NEW_DIRECTION, collinear_pairs, null_vector

if TYPE_CHECKING:
    from repdyn.base.arrays import Float, Int

ROUNDING = 1e-9  # relative distance from which a number of rows counts as the integer that it was computed for

Form = Literal["a", "b"]


Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


class _Span:
    """Orthonormal bases of the rows seen so far, one per trial."""

    def __init__(self, trials: int, n: int) -> None:
        self.basis = np.zeros((trials, n, n))
        self.rank = np.zeros(trials, dtype=np.intp)

    def add(self, trial: Indices, rows: Array) -> Flags:
        """Add one row to each of the given trials; True where it was new."""
        basis = self.basis[trial]
        left = rows
        for _ in range(2):
            left = left - np.einsum("tr,trn->tn", np.einsum("trn,tn->tr", basis, left), basis)
        length = np.linalg.norm(left, axis=1)
        new = length > NEW_DIRECTION * np.linalg.norm(rows, axis=1)
        grown = trial[new]
        self.basis[grown, self.rank[grown]] = left[new] / length[new, None]
        self.rank[grown] += 1
        return new


def rows_to_full_rank(
    X: Float[Array, "k n"], rng: np.random.Generator, trials: int, *, max_rows: int = 100_000
) -> Int[Indices, "trials"]:
    r"""Draws of y = min{d : rank ReLU(W^(d) X) = n}, Theorem 3, by incremental Gram-Schmidt.

    Args:
        X: batch.
        rng: source of the rows of W.
        trials: number of independent draws of y.
        max_rows: give up beyond this number of rows.

    Returns:
        Integers.

    Raises:
        ValueError: bad batch, trials < 1, or full rank not reached within `max_rows` (collinear pairs are
            named).
    """
    return rows_to_rank_by_column(X, rng, trials, max_rows=max_rows, prefixes=False)[:, -1]


def rows_to_rank_by_column(
    X: Float[Array, "k n"], rng: np.random.Generator, trials: int, *, max_rows: int = 100_000, prefixes: bool = True
) -> Int[Indices, "trials #n"]:
    r"""Draws of r_t = min{r : rank ReLU(W^(r) X^(t)) = t}, Appendix B, with X^(t) the first t columns.

    The paper prints r_t with W^(r) X^(r) and without "rank"; y_t = r_t - r_{t-1}. The y_t are not
    independent, as the text before (28a) has it; what holds is that y_{t+1} given the past is stochastically
    below Geometric(gamma(X^(t+1))), and that carries the proof.

    Errors are those of `rows_to_full_rank`.

    Args:
        X: batch.
        rng: source of the rows of W.
        trials: number of independent draws.
        max_rows: give up beyond this number of rows.
        prefixes: whether all t = 1..n are followed, or t = n alone.

    Returns:
        Integers, shape (trials, n), non-decreasing in t; shape (trials, 1) without prefixes.
    """
    X = _checked(X, trials)
    n = X.shape[1]
    columns = range(1, n + 1) if prefixes else [n]
    spans = [_Span(trials, t) for t in columns]
    reached = np.zeros((trials, len(spans)), dtype=np.intp)
    for row in range(1, max_rows + 1):
        waiting = np.flatnonzero((reached == 0).any(axis=1))
        if waiting.size == 0:
            return reached
        values = np.maximum(rng.standard_normal((waiting.size, len(X))) @ X, 0.0)
        for m, (t, span) in enumerate(zip(columns, spans, strict=True)):
            open_ = reached[waiting, m] == 0
            span.add(waiting[open_], values[open_, :t])
            reached[waiting[open_ & (span.rank[waiting] == t)], m] = row
    raise ValueError(
        f"got rank {spans[-1].rank.min()} of {n} after {max_rows} rows, collinear pairs of columns: "
        f"{collinear_pairs(X)[:5]}: move or merge these points, or allow more rows"
    )


def relu_rank_profile(
    X: Float[Array, "k n"], rng: np.random.Generator, rows: int, trials: int = 1
) -> Int[Indices, "trials rows"]:
    """Rank of ReLU(W^(d) X) for d = 1..rows.

    The ranks of Theorem 3, row by row.

    Args:
        X: batch.
        rng: source of the rows of W.
        rows: largest number of rows.
        trials: independent draws.

    Returns:
        Integers.

    Raises:
        ValueError: bad batch or trials < 1.
    """
    X = _checked(X, trials)
    span = _Span(trials, X.shape[1])
    rank = np.zeros((trials, rows), dtype=np.intp)
    for row in range(rows):
        growing = np.flatnonzero(span.rank < X.shape[1])
        span.add(growing, np.maximum(rng.standard_normal((growing.size, len(X))) @ X, 0.0))
        rank[:, row] = span.rank
    return rank


def success_frequency(X: Float[Array, "k n"], W: Float[Array, "r k"], rng: np.random.Generator, draws: int) -> float:
    r"""Frequency with which one more Gaussian row raises rank ReLU(W X), Lemma 2, eq. (6), given the rows W.

    Args:
        X: batch of n = t + 1 columns.
        W: rows so far, with ReLU(W X) of rank t.
        rng: source of the new row.
        draws: number of new rows tried.

    Returns:
        Frequency of rank t + 1, to be compared with gamma(X).

    Raises:
        ValueError: bad batch or ReLU(W X) not of rank t.
    """
    X = as_batch(X)
    a = null_vector(X, W)
    rows = np.maximum(rng.standard_normal((draws, len(X))) @ X, 0.0)
    return float(np.mean(np.abs(rows @ a) > NEW_DIRECTION * np.linalg.norm(rows, axis=1)))


def expected_rows_bound(
    gamma: Float[Array, "*#shape"] | float, n: Int[Array, "*#shape"] | int
) -> Float[Array, "*shape"] | float:
    """Theorem 3, item 1: E[y] <= n / gamma.

    Example:
        >>> expected_rows_bound(1 / 18, 9)  # nine points on the circle, gamma = 1/18
        162.0
    """
    _check_gamma(gamma)
    return n / gamma


def expected_rows_bound_by_column(gammas: Float[Array, "n"]) -> float:
    r"""E[y] <= sum_t 1 / gamma(X^(t)), t = 1..n, the middle of (27) as corrected; at most n / gamma.

    Printed with X^(t+1), which does not exist for t = n: the waiting time for column t is y_t in (26), not
    y_{t+1}.

    Args:
        gammas: gamma(X^(t)) for t = 1..n, non-increasing; the first is 1/2.
    """
    return float(np.sum(1.0 / np.asarray(gammas)))


def tail_exponent(
    alpha: Float[Array, "*#shape"] | float, gamma: Float[Array, "*#shape"] | float, form: Form = "a"
) -> Float[Array, "*shape"]:
    r"""Exponent per column of P(rank < n at d = alpha n / gamma) <= exp(-n exponent), eqs. (7), (28c), (28d).

    form "a": (alpha/gamma) log(1/alpha) + (alpha/gamma - 1) log((alpha - gamma) / (1 - gamma)); form "b":
    alpha - 1 - log alpha, its limit for gamma -> 0. Both are valid from alpha > 1; the paper asks alpha > 2.

    Args:
        alpha: d gamma / n >= 1.
        gamma: smallest cell volume, in (0, 1).
        form: "a" or "b".

    Returns:
        Exponent >= 0, broadcast shape of alpha and gamma.

    Raises:
        ValueError: alpha < 1, gamma outside (0, 1), or unknown form.
    """
    alpha, gamma = np.asarray(alpha, dtype=np.float64), np.asarray(gamma, dtype=np.float64)
    _check_gamma(gamma)
    if not (alpha >= 1).all():
        raise ValueError(f"got alpha = {alpha.min()}, expected at least 1: with fewer rows the bound is empty")
    if form == "b":
        return alpha - 1 - np.log(alpha) + 0 * gamma
    if form != "a":
        raise ValueError(f'got form={form!r}, expected "a" (7a) or "b" (7b)')
    return -alpha / gamma * np.log(alpha) + (alpha / gamma - 1) * np.log1p((alpha - 1) / (1 - gamma))


def full_rank_tail_bound(
    alpha: Float[Array, "*#shape"] | float, gamma: Float[Array, "*#shape"] | float, n: int, form: Form = "a"
) -> Float[Array, "*shape"]:
    """Theorem 3, item 2: lower bound (7a) or (7b) on P(rank ReLU(W^(d) X) = n) at d = alpha n / gamma rows.

    It is 1 - exp(-n exponent) with `tail_exponent`, of the same errors.

    Args:
        alpha: rows d in units of n / gamma, any shape.
        gamma: smallest volume of a cell, in (0, 1/2], shape that broadcasts with alpha.
        n: number of columns.
        form: "a" for (7a), "b" for (7b), as in `tail_exponent`.
    """
    return -np.expm1(-n * tail_exponent(alpha, gamma, form))


def geometric_sum_tail(
    d: Float[Array, "*#shape"] | float, gamma: Float[Array, "*#shape"] | float, n: int
) -> Float[Array, "*shape"]:
    """P(g_1 + ... + g_n > d) for independent Geometric(gamma): P(Binomial(floor d, gamma) < n), cf. (28a).

    The sum is an integer, so the tail is a step function of d: at n = 2, gamma = 0.8 it is 0.36 on [2, 3) and 0.104 on
    [3, 4). A d within rounding of an integer counts as that integer.
    """
    _check_gamma(gamma)
    d = np.asarray(d, dtype=np.float64)
    whole = np.round(d)
    trials = np.where(np.abs(d - whole) <= ROUNDING * np.maximum(whole, 1), whole, np.floor(d))
    return scipy.stats.binom.cdf(n - 1, trials, gamma)


def chernoff_log_bound(s: Float[Array, "*shape"] | float, alpha: float, gamma: float) -> Float[Array, "*shape"]:
    """Logarithm per column of (28b) before min: log(gamma e^s / (1 - (1-gamma) e^s)) - s alpha / gamma."""
    s = np.asarray(s, dtype=np.float64)
    return np.log(gamma) + s - np.log1p(-(1 - gamma) * np.exp(s)) - s * alpha / gamma


def _checked(X: Array, trials: int) -> Array:
    if trials < 1:
        raise ValueError(f"got trials = {trials}, expected at least one")
    return as_batch(X)


def _check_gamma(gamma: Array | float) -> None:
    gamma = np.asarray(gamma)
    if not ((gamma > 0) & (gamma < 1)).all():
        raise ValueError(f"got gamma = {gamma}, expected a volume strictly between 0 and 1")
