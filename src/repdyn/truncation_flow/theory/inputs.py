"""Refusal of bad input: every public function of the study checks its arguments here.

Rows of a data array are points. A message says what was got, what was expected and what to do.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

ORTHOGONALITY_TOLERANCE = 1e-8
CONDITION_LIMIT = 1e12


def finite(value: ArrayLike, name: str) -> Array:
    """Return `value` as float64; refuse NaN and infinity."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        bad = int(np.sum(~np.isfinite(array)))
        raise ValueError(f"{name}: got {bad} entries that are NaN or infinite; expected finite numbers only")
    return array


def points(X: ArrayLike, name: str = "X") -> Array:
    """Return a non-empty cluster of points, shape (N, Q)."""
    array = finite(X, name)
    if array.ndim != 2:
        raise ValueError(f"{name}: got shape {array.shape}; expected (N, Q), one row per point")
    if array.shape[0] == 0:
        raise ValueError(f"{name}: got an empty cluster (N = 0); expected at least one point, drop the cluster")
    return array


def vector(value: ArrayLike, Q: int, name: str) -> Array:
    """Return a vector of R^Q."""
    array = finite(value, name)
    if array.shape != (Q,):
        raise ValueError(f"{name}: got shape {array.shape}; expected ({Q},), as many entries as the data have columns")
    return array


def orthogonal(R: ArrayLike, Q: int, name: str = "R") -> Array:
    """Return an orthogonal Q x Q matrix."""
    array = finite(R, name)
    if array.shape != (Q, Q):
        raise ValueError(f"{name}: got shape {array.shape}; expected ({Q}, {Q}), one row per data column")
    defect = float(np.max(np.abs(array @ array.T - np.eye(Q))))
    if defect > ORTHOGONALITY_TOLERANCE:
        raise ValueError(
            f"{name}: got max|R R^T - 1| = {defect:.2e}; expected an orthogonal matrix"
            f" (below {ORTHOGONALITY_TOLERANCE:.0e}); project with U V^T from np.linalg.svd first"
        )
    return array


def invertible(W: ArrayLike, name: str) -> Array:
    """Return a square matrix whose condition number allows it to be inverted."""
    array = finite(W, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: got shape {array.shape}; expected a square matrix")
    condition = float(np.linalg.cond(array))
    if not condition < CONDITION_LIMIT:
        raise ValueError(
            f"{name}: got condition number {condition:.2e}; expected an invertible matrix"
            f" (below {CONDITION_LIMIT:.0e}); its rows must be linearly independent"
        )
    return array


def independent_labels(yt: ArrayLike, name: str = "yt") -> Array:
    """Return Q linearly independent pulled-back labels, one per row, shape (Q, Q)."""
    array = finite(yt, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: got shape {array.shape}; expected (Q, Q), one label per row and Q labels in R^Q")
    condition = float(np.linalg.cond(array))
    if not condition < CONDITION_LIMIT:
        raise ValueError(
            f"{name}: got linearly dependent labels (condition number {condition:.2e}); expected {array.shape[0]}"
            " independent ones, else W^(Q+1) does not exist; move one label"
        )
    return array


def small_constant(value: float, name: str) -> float:
    """Return a constant of Proposition 4.2, which must lie in (0, 1/10)."""
    if not 0.0 < value < 0.1:
        raise ValueError(f"{name}: got {value}; expected a number in (0, 0.1) (Proposition 4.2)")
    return float(value)


def positive(value: float, name: str) -> float:
    """Return a finite number above zero."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name}: got {value}; expected a finite number above 0")
    return float(value)


def increasing_times(times: ArrayLike, name: str = "times") -> Array:
    """Return flow times: at least one, none negative, strictly increasing."""
    array = np.atleast_1d(finite(times, name))
    if array.ndim != 1 or array.size == 0 or array[0] < 0 or np.any(np.diff(array) <= 0):
        raise ValueError(f"{name}: expected a strictly increasing sequence of times >= 0; sort it and drop repeats")
    return array


def clusters(X: Sequence[ArrayLike] | Array, Q: int | None = None) -> list[Array]:
    """Return clusters of points of one common dimension Q."""
    arrays = [points(cluster, f"X[{index}]") for index, cluster in enumerate(X)]
    if not arrays:
        raise ValueError("X: got no cluster; expected a sequence of arrays of shape (N_l, Q)")
    expected = arrays[0].shape[1] if Q is None else Q
    for index, cluster in enumerate(arrays):
        if cluster.shape[1] != expected:
            raise ValueError(f"X[{index}]: got {cluster.shape[1]} columns; expected {expected} in every cluster")
    return arrays


def one_of(value: str, allowed: Sequence[str], name: str) -> str:
    """Return a word of a fixed vocabulary."""
    if value not in allowed:
        raise ValueError(f"{name}: got {value!r}; expected one of {', '.join(allowed)}")
    return value
