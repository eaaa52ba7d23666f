r"""The rank that ReLU(W X) reaches with enough rows, and the chance of the next row, both from the cells exactly.

In a cell of Definition 1 with active columns A = {i : w x_i > 0} the row ReLU(w X) is w X with the other columns set
to zero. So the rows of ReLU(W X) span at most the sum over the cells of the row spaces of X diag(1_A), and with
probability one they come to span it. Across a hyperplane that belongs to x_i alone the two matrices differ by x_i in
column i: where no two columns are collinear, the rank reaches n. Paper: Nachum, Bondaschi, Gastpar and Khina, "Batch
Normalization Decomposed", Section I and Appendix B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import angle_matrix
from repdyn.bn_decomposed.theory.layers import as_batch
from repdyn.bn_decomposed.theory.rank import COLLINEAR, NEW_DIRECTION, Method, cells, null_vector

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

NULL = 1e-8


def exact_method(X: Float[Array, "k n"]) -> Method:
    """The exact method of `rank.cells` that serves the rank of X: "exact2d" up to rank 2, "exact3d" for rank 3.

    Ours: a choice among the methods for Definition 1.

    Raises:
        ValueError: a zero column, or rank above 3.
    """
    if not X.any(axis=0).all():
        raise ValueError(f"got a zero column at {np.flatnonzero(~X.any(axis=0)).tolist()}, expected none")
    rank = int(np.linalg.matrix_rank(X / np.linalg.norm(X, axis=0), rtol=NEW_DIRECTION))
    if rank > 3:
        raise ValueError(f"got a batch of rank {rank}, expected at most 3: cells are exact in two and three dimensions")
    return "exact2d" if rank < 3 else "exact3d"


def largest_rank(X: Float[Array, "k n"]) -> int:
    """Maximum over d and W of rank ReLU(W^(d) X), reached with probability one, from the cells.

    Ours: where Lemma 2 and Theorem 3 end without their assumptions.

    Args:
        X: batch of rank 2 or 3, no zero column; collinear columns are allowed.

    Returns:
        Rank of the matrices X diag(1_A), stacked over all cells.

    Raises:
        ValueError: bad batch, a zero column, or rank above 3.
    """
    X = as_batch(X)
    signs, _ = cells(X, exact_method(X))
    stacked = (X / np.linalg.norm(X, axis=0) * (signs > 0)[:, None, :]).reshape(-1, X.shape[1])
    return int(np.linalg.matrix_rank(stacked, rtol=NEW_DIRECTION))


def largest_rank_by_lines(X: Float[Array, "k n"]) -> int:
    r"""The same rank from the lines that the columns span, in any dimension.

    (w x)+ = (|w x| + w x) / 2. The functions |w x| of different lines are independent even modulo linear functions,
    and a line gives w x besides |w x| if it holds columns of both directions. So the rank is the number of lines plus
    the dimension spanned by the lines that hold both directions.

    Ours: a second way to `largest_rank`, beyond Lemma 2.

    Args:
        X: batch, no zero column.

    Raises:
        ValueError: bad batch or a zero column.
    """
    angles = angle_matrix(X)
    same, opposite = angles <= COLLINEAR, np.pi - angles <= COLLINEAR
    first = np.argmax(same | opposite, axis=1)  # the first column on the line of each column
    both = np.flatnonzero((first == np.arange(len(first))) & opposite.any(axis=1))
    spanned = np.linalg.matrix_rank(as_batch(X)[:, both], rtol=NEW_DIRECTION) if both.size else 0
    return len(np.unique(first)) + int(spanned)


def success_probability(X: Float[Array, "k n"], W: Float[Array, "r k"]) -> float:
    r"""Probability that one more Gaussian row raises rank ReLU(W X) from t to t + 1, Lemma 2, exactly.

    With a the unique null vector of ReLU(W X), (14a), the row adds nothing if and only if w u = 0, (16), u = sum of
    a_j x_j over the active columns of its cell: the probability is the volume of the cells with u != 0.

    Args:
        X: batch of rank 2 or 3, of n = t + 1 columns.
        W: rows so far, with ReLU(W X) of rank t.

    Raises:
        ValueError: bad batch, rank above 3, or ReLU(W X) not of rank t.
    """
    X = as_batch(X)
    terms = X * null_vector(X, W)
    signs, volumes = cells(X, exact_method(X))
    left = np.linalg.norm((signs > 0) @ terms.T, axis=1)
    return float(volumes[left > NULL * np.linalg.norm(terms, axis=0).max()].sum())
