r"""Geometry of a batch: angles between its columns, norms, the odd point, and ranks.

Angles are in radians and come from theta = 2 atan2(||u - v||, ||u + v||) on unit columns u, v, which keeps
all digits where arccos of a cosine near one keeps half. The odd point of a batch (Section III of Nachum,
Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed") is the column of largest norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy

from repdyn.base import ranks
from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.layers import as_batch

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


@dataclass(frozen=True)
class Geometry:
    """What `geometry` measures of a batch X with columns x_i and singular values s_1 >= s_2 >= ...

    Attributes:
        angles: angles between columns i < j, radians, shape (n (n - 1) / 2,), in the order of `pair_angles`.
        norms: ||x_i||, shape (n,), units of X.
        odd_index: column of largest norm.
        odd_angle: median angle between the odd column and the others, radians.
        intra_angle: median angle among the others, radians; NaN for n = 2, where there is no such pair.
        second_to_first: second largest norm over the largest.
        numerical_rank: number of s_i > `ranks.RANK_TOLERANCE` * s_1.
        stable_rank: ||X||_F^2 / s_1^2.
        effective_rank: exp of the entropy of s_i / sum s.
        orthogonality_gap: ||X'X / ||X||_F^2 - I/n||_F, from 0 (orthogonal, equal norms) to sqrt(1 - 1/n)
            (rank one).
    """

    angles: Array
    norms: Array
    odd_index: int
    odd_angle: float
    intra_angle: float
    second_to_first: float
    numerical_rank: int
    stable_rank: float
    effective_rank: float
    orthogonality_gap: float


def pair_angles(X: Float[Array, "k n"]) -> Float[Array, "n*(n-1)//2"]:
    r"""Angles between the columns of a batch, eq. (11), stable near 0 and pi.

    theta = 2 atan2(||u - v||, ||u + v||) on unit columns u, v.

    Args:
        X: batch.

    Returns:
        Angles of the pairs (0, 1), (0, 2), ..., (n-2, n-1) as in `numpy.triu_indices(n, 1)`, radians in [0,
        pi].

    Raises:
        ValueError: bad batch, or a zero column, which has no direction; the columns are named.
    """
    X = as_batch(X)
    X = X / np.abs(X).max(axis=0, initial=np.finfo(np.float64).tiny)
    norms = np.linalg.norm(X, axis=0)
    if (norms == 0).any():
        raise ValueError(
            f"got zero columns {np.flatnonzero(norms == 0).tolist()}, which have no angle: "
            "drop these points or widen the layer"
        )
    U = (X / norms).T
    together = scipy.spatial.distance.cdist(U, -U)[np.triu_indices(len(U), 1)]
    return 2.0 * np.arctan2(scipy.spatial.distance.pdist(U), together)


def angle_matrix(X: Float[Array, "k n"]) -> Float[Array, "n n"]:
    """The angles of `pair_angles` as a symmetric matrix of shape (n, n) with zero diagonal, radians.

    Ours: another form of the angles of Section III.
    """
    return scipy.spatial.distance.squareform(pair_angles(X))


def singular_values(X: Float[Array, "k n"]) -> Float[Array, "min(k,n)"]:
    """Singular values of a batch, largest first, shape (min(k, n),), units of X.

    Ours: the numbers behind the ranks, no formula of the paper.
    """
    return cast("Array", np.linalg.svd(as_batch(X), compute_uv=False))


def numerical_rank(X: Float[Array, "k n"]) -> int:
    """Number of singular values above `ranks.RANK_TOLERANCE` times the largest; 0 for a batch of zeros.

    Ours: the rank of Theorem 3 in floating point.
    """
    return ranks.numerical_rank(singular_values(X))


def effective_rank(X: Float[Array, "k n"]) -> float:
    """Exp of the entropy of s_i / sum s (singular values), from 1 to the rank; NaN for a batch of zeros.

    Ours: a rank that varies smoothly, no formula of the paper.

    Example:
        >>> round(effective_rank([[2.0, 0.0], [0.0, 1.0]]), 3)
        1.89
    """
    return ranks.effective_rank(singular_values(X))


def orthogonality_gap(X: Float[Array, "k n"]) -> float:
    """||X'X / ||X||_F^2 - I/n||_F of a batch of n columns; NaN for a batch of zeros.

    Ours: the measure of the work on rescaling alone that the paper sets itself apart from; not defined in the paper.
    """
    return ranks.orthogonality_gap(singular_values(X), np.shape(X)[1])


def geometry(X: Float[Array, "k n"]) -> Geometry:
    """Measure a batch of shape (k, n): pair angles, norms, the odd point and four notions of rank.

    Ours: the measures of Section III and its figures in one pass.

    Raises:
        ValueError: bad batch or a zero column.
    """
    angles = pair_angles(X)
    size = np.abs(X).max()
    norms = size * np.linalg.norm(X / size, axis=0)
    odd = int(np.argmax(norms))
    with_odd = (np.stack(np.triu_indices(len(norms), 1)) == odd).any(axis=0)
    second, first = np.sort(norms)[-2:]
    s = singular_values(X)
    return Geometry(
        angles=angles,
        norms=norms,
        odd_index=odd,
        odd_angle=float(np.median(angles[with_odd])),
        intra_angle=float(np.median(angles[~with_odd])) if len(norms) > 2 else float("nan"),
        second_to_first=float(second / first),
        numerical_rank=ranks.numerical_rank(s),
        stable_rank=ranks.stable_rank(s),
        effective_rank=ranks.effective_rank(s),
        orthogonality_gap=ranks.orthogonality_gap(s, len(norms)),
    )
