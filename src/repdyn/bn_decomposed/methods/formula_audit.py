"""Formulas of Appendix C, (31) to (33) and (35), each held against rows that are transformed by the definition.

Appendix C follows a row through transformations that lose no cluster: a negative one at t_1, positive ones, and a
negative one at t_2. Such rows are rare, so they are made backwards from the last one; both inverses are unique.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, fixed, holds, relative_error
from repdyn.bn_decomposed.theory import equations
from repdyn.bn_decomposed.theory.cluster_tree import simplified_layer

SAME_CLUSTER = 1e-12  # of the row's largest entry


def lossless_rows(sizes: NDArray[np.int64], gaps: Array, positives: int) -> Array:
    """Rows t_1 - 1, t_1, ..., t_2 of Appendix C: negative, positive, ..., positive, negative, no cluster lost.

    Args:
        sizes: points of each cluster of the last row, the one at zero first, shape (k,).
        gaps: gaps between its clusters, all positive, shape (k - 1,).
        positives: positive transformations between the two negative ones, >= 0.

    Returns:
        Non-negative rows with minimum zero, shape (positives + 3, n).
    """
    rows = [np.repeat(np.append(0.0, np.cumsum(gaps)), sizes)]
    for negative in (True, *[False] * positives, True):
        rows.append(_before(rows[-1], negative))
    return np.array(rows[::-1])


def _before(row: Array, negative: bool) -> Array:
    """The non-negative row with minimum zero whose transformation is `row`, and which has as many clusters."""
    share = row.sum() / np.count_nonzero(row == 0)
    if negative:
        return np.where(row > 0, row.max() - row, row.max() + share)
    return np.where(row > 0, row + share, 0.0)


def transformed(row: Array, negative: bool) -> Array:
    """The positive or negative transformation of one row, Definition 5, shape (n,)."""
    return simplified_layer(row[None, :])[int(negative)]


def eq_31(rows: Array) -> Errors:
    """Positive transformations: c_3 - c_2 constant; wrong: c_2 - c_1.

    Eq. (31), Appendix C.
    """
    gaps = [_gaps(row) for row in rows[1:-1]]
    return holds(_change([gap[1] for gap in gaps]), _change([gap[0] for gap in gaps]))


def eq_32(rows: Array) -> Errors:
    """Mean above Delta / n with Delta the first row's c_3 - c_2, along mixed sequences; wrong: above the first mean.

    Eq. (32), Appendix C.
    """
    gap, mean = _gaps(rows[0])[1], rows.mean(axis=1)
    return holds(_excess(gap / rows.shape[1], mean), _excess(mean[0], mean))


def eq_31_mixed(rows: Array) -> Errors:
    """Delta_t along mixed sequences: c_3 - c_2 constant as printed for positive ones; the smallest inner gap is.

    Eq. (31), Appendix C.
    """
    gaps = [_gaps(row) for row in rows]
    return fixed(_change([gap[1] for gap in gaps]), _change([gap[1:-1].min() for gap in gaps]))


def _excess(bound: float, values: Array) -> float:
    return max(0.0, float((bound / values).max()) - 1)


def _gaps(row: Array) -> Array:
    """Gaps between the clusters of a row, in increasing order of the clusters."""
    gaps = np.diff(np.sort(row))
    return gaps[gaps > SAME_CLUSTER * row.max()]


def _change(values: list[float]) -> float:
    return relative_error(values, np.full(len(values), values[0]))


def eq_33(rows: Array) -> Errors:
    """Positive transformations: next mean (1 - n_t/n) mean; wrong: n_t/n for 1 - n_t/n.

    Eq. (33), Appendix C.
    """
    before, after = rows[1:-2], rows[2:-1]
    if not len(before):
        return Errors(0.0, 0.0, 0.0)
    mean, share = before.mean(axis=1), (before > 0).mean(axis=1)
    error = relative_error((1 - share) * mean / after.mean(axis=1), np.ones(len(mean)))
    return holds(error, relative_error(share * mean / after.mean(axis=1), np.ones(len(mean))))


def eq_35b(rows: Array) -> Errors:
    """Mean at t_2 as the mean of (mean - x_i) over all points below the largest; wrong: over all points.

    Eq. (35b), Appendix C.
    """
    last, mean = rows[-2], rows[-2].mean()
    below = last < last.max()
    return _identity((mean - last)[below].sum() / last.size, (mean - last).sum() / last.size, rows)


def eq_35c(rows: Array) -> Errors:
    """Mean at t_2 as (1 - n_t2/n) (x_max - mean) of the row before; wrong: n_t2/n for 1 - n_t2/n.

    Eq. (35c), Appendix C.
    """
    height, share = rows[-2].max() - rows[-2].mean(), (rows[-1] > 0).mean()
    return _identity((1 - share) * height, share * height, rows)


def _identity(value: float, wrong: float, rows: Array) -> Errors:
    mean = rows[-1].mean()
    return holds(relative_error(value, mean), relative_error(wrong, mean))


def eq_35d(rows: Array) -> Errors:
    """x_max - mean does not rise from t_1 to t_2 - 1 (equal where the two are one row); wrong: it rises.

    Eq. (35d), Appendix C.
    """
    first, last = (rows[place].max() - rows[place].mean() for place in (1, -2))
    return holds(max(0.0, last / first - 1), max(0.0, first / last - 1))


def eq_35e(rows: Array) -> Errors:
    """x_max at t_1 is the mean at t_1 - 1; wrong: x_max at t_1 - 1.

    Eq. (35e), Appendix C.
    """
    top = rows[1].max()
    return holds(relative_error(top, rows[0].mean()), relative_error(top, rows[0].max()))


def eq_35f(rows: Array) -> Errors:
    """Mean at t_2 below (1 - 2/n) of that at t_1 - 1; wrong: below 2/n of it.

    Eq. (35f), Appendix C.
    """
    n, ratio = rows.shape[1], rows[-1].mean() / rows[0].mean()
    return holds(max(0.0, ratio / (1 - 2 / n) - 1), max(0.0, ratio * n / 2 - 1))


def loss_of_clusters(rows: Array) -> float:
    """Largest relative deviation of the rows from the transformations of Definition 5 of the row before."""
    kinds = (True, *[False] * (len(rows) - 3), True)
    steps = zip(rows[:-1], rows[1:], kinds, strict=True)
    return max(relative_error(transformed(before, negative), after) for before, after, negative in steps)


FORMULAS = {
    equations.EQ_31: eq_31,
    equations.EQ_31_MIXED: eq_31_mixed,
    equations.EQ_32: eq_32,
    equations.EQ_33: eq_33,
    equations.EQ_35B: eq_35b,
    equations.EQ_35C: eq_35c,
    equations.EQ_35D: eq_35d,
    equations.EQ_35E: eq_35e,
    equations.EQ_35F: eq_35f,
}
