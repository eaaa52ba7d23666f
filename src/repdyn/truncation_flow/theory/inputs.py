"""Checks of arguments that only this study needs: clusters of points, invertible weights, labels, small constants.

Rows of a data array are points. The general checks stand in `repdyn.base.checks`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import checks
from repdyn.base.checks import Array, refuse

CONDITION_LIMIT = 1e12


def points(X: ArrayLike, name: str = "X") -> Array:
    """Return a non-empty cluster of points, shape (N, Q)."""
    return checks.shaped(X, name, (None, None), "one row per point, at least one point")


def invertible(W: ArrayLike, name: str) -> Array:
    """Return a square matrix whose condition number allows it to be inverted."""
    array, condition = _square(W, name)
    if not condition < CONDITION_LIMIT:
        expected = f"an invertible matrix (below {CONDITION_LIMIT:.0e})"
        raise refuse(name, f"condition number {condition:.2e}", expected, "its rows must be linearly independent")
    return array


def independent_labels(yt: ArrayLike, name: str = "yt") -> Array:
    """Return Q linearly independent pulled-back labels, one per row, shape (Q, Q)."""
    array, condition = _square(yt, name)
    if not condition < CONDITION_LIMIT:
        raise refuse(
            name,
            f"linearly dependent labels (condition number {condition:.2e})",
            f"{array.shape[0]} independent ones, else W^(Q+1) does not exist",
            "move one label",
        )
    return array


def _square(value: ArrayLike, name: str) -> tuple[Array, float]:
    array = checks.shaped(value, name, (None, None))
    if array.shape[0] != array.shape[1]:
        raise refuse(name, f"shape {array.shape}", "a square matrix (Q, Q)")
    return array, float(np.linalg.cond(array))


def small_constant(value: float, name: str) -> float:
    """Return a constant of Proposition 4.2, which must lie in (0, 1/10)."""
    if not 0.0 < value < 0.1:
        raise refuse(name, f"{value}", "a number in (0, 0.1) (Proposition 4.2)")
    return float(value)


def clusters(X: Sequence[ArrayLike] | Array, Q: int | None = None) -> list[Array]:
    """Return clusters of points of one common dimension Q."""
    arrays = [points(cluster, f"X[{index}]") for index, cluster in enumerate(X)]
    if not arrays:
        raise refuse("X", "no cluster", "a sequence of arrays of shape (N_l, Q)")
    expected = arrays[0].shape[1] if Q is None else Q
    for index, cluster in enumerate(arrays):
        if cluster.shape[1] != expected:
            raise refuse(f"X[{index}]", f"{cluster.shape[1]} columns", f"{expected} in every cluster")
    return arrays
