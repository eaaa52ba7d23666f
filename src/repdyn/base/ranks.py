"""Ranks of a matrix from its descending singular values, and the distance of its columns from orthogonality."""

import numpy as np

from repdyn.base.arrays import Array

RANK_TOLERANCE = 1e-6


def numerical_rank(s: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """Singular values above `tolerance` times the largest; 0 for a layer of zeros."""
    return int(np.count_nonzero(s > tolerance * s[0]))


def effective_rank(s: Array) -> float:
    """Exponential of the entropy of s_i / sum s, from 1 to the rank; NaN for a layer of zeros.

    Example:
        >>> import numpy as np
        >>> round(effective_rank(np.array([2.0, 1.0])), 3)
        1.89
    """
    if s[0] == 0:
        return float("nan")
    p = s[s > 0] / s.sum()
    return float(np.exp(-np.sum(p * np.log(p))))


def stable_rank(s: Array) -> float:
    """|A|_F^2 / |A|_op^2, from 1 to the rank; NaN for a layer of zeros."""
    return float(np.sum((s / s[0]) ** 2)) if s[0] else float("nan")


def nuclear_rank(s: Array) -> float:
    """|A|_*^2 / |A|_F^2, from 1 to the rank (leaky ResNets, Proposition 1); NaN for a layer of zeros."""
    return float(np.sum(s)) ** 2 / float(np.sum(s**2)) if s[0] else float("nan")


def orthogonality_gap(s: Array, points: int) -> float:
    """|G / tr G - I / n|_F of the Gram matrix G of n points, from 0 to sqrt(1 - 1/n); NaN for a layer of zeros."""
    if s[0] == 0:
        return float("nan")
    p = np.zeros(points)
    p[: s.size] = (s / s[0]) ** 2
    return float(np.linalg.norm(p / p.sum() - 1.0 / points))
