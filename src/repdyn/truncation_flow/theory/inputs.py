"""Validation of arguments that only this study needs: clusters of points and their state, invertible weights, labels.

Rows of a data array are points. The general ones stand in `repdyn.base.arguments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arguments import refuse
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

CONDITION_LIMIT = 1e12


def points(X: Float[ArrayLike, "N Q"], name: str = "X") -> Float[Array, "N Q"]:
    """Return a non-empty cluster of points.

    Ours: validation of arguments.
    """
    return arguments.shaped(X, name, (None, None), "one row per point, at least one point")


def cluster_state(
    X: Float[ArrayLike, "N Q"], R: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"], name: str = "X"
) -> tuple[Float[Array, "N Q"], Float[Array, "Q Q"], Float[Array, "Q"]]:
    """Return points (N, Q), rotation (Q, Q) and bias (Q,) of one cluster.

    Ours: validation of arguments.

    Args:
        X: points, input units.
        R: orthogonal matrix.
        beta: pulled-back bias, input units.
        name: what errors call the points.
    """
    X = points(X, name)
    return X, arguments.orthogonal(R, X.shape[1], "R"), arguments.shaped(beta, "beta", (X.shape[1],))


def rotations(R: Float[ArrayLike, "L Q Q"], Q: int, name: str) -> Float[Array, "L Q Q"]:
    """Return orthogonal matrices.

    Ours: validation of arguments.
    """
    stack = enumerate(cast("Sequence[ArrayLike]", R))
    return np.array([arguments.orthogonal(matrix, Q, f"{name}[{index}]") for index, matrix in stack])


def invertible(W: Float[ArrayLike, "Q Q"], name: str) -> Float[Array, "Q Q"]:
    """Return a square matrix whose condition number allows it to be inverted.

    Ours: validation of arguments.
    """
    array, condition = _square(W, name)
    if not condition < CONDITION_LIMIT:
        expected = f"an invertible matrix (below {CONDITION_LIMIT:.0e})"
        raise refuse(name, f"condition number {condition:.2e}", expected, "its rows must be linearly independent")
    return array


def independent_labels(yt: Float[ArrayLike, "Q Q"]) -> Float[Array, "Q Q"]:
    """Return Q linearly independent pulled-back labels, one per row.

    Ours: validation of arguments.
    """
    array, condition = _square(yt, "yt")
    if not condition < CONDITION_LIMIT:
        raise refuse(
            "yt",
            f"linearly dependent labels (condition number {condition:.2e})",
            f"{array.shape[0]} independent ones, else W^(Q+1) does not exist",
            "move one label",
        )
    return array


def _square(value: ArrayLike, name: str) -> tuple[Array, float]:
    array = arguments.shaped(value, name, (None, None))
    if array.shape[0] != array.shape[1]:
        raise refuse(name, f"shape {array.shape}", "a square matrix (Q, Q)")
    return array, float(np.linalg.cond(array))


def clusters(X: Float[Array, "K N Q"] | Sequence[Float[ArrayLike, "_ Q"]]) -> list[Float[Array, "_ Q"]]:
    """Return clusters of points of one common dimension Q.

    Ours: validation of arguments.
    """
    arrays = [points(cluster, f"X[{index}]") for index, cluster in enumerate(X)]
    if not arrays:
        raise refuse("X", "no cluster", "a sequence of arrays of shape (N_l, Q)")
    expected = arrays[0].shape[1]
    for index, cluster in enumerate(arrays):
        if cluster.shape[1] != expected:
            raise refuse(f"X[{index}]", f"{cluster.shape[1]} columns", f"{expected} in every cluster")
    return arrays
