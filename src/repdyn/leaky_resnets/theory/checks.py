"""Bad input refused by name, for all of the theory."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]


def as_matrix(values: ArrayLike, name: str, shape: tuple[int | None, int | None] = (None, None)) -> Array:
    """A finite float64 matrix.

    Args:
        values: the matrix, neurons in rows, points in columns.
        name: what the caller calls it, for the message.
        shape: rows and columns wanted; None leaves a number free.

    Raises:
        ValueError: not a matrix, empty, of another shape, or not finite.
    """
    matrix = np.asarray(values, dtype=float)
    wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
    fits = matrix.ndim == 2 and all(size in (None, have) for size, have in zip(shape, matrix.shape, strict=True))
    if not fits or matrix.size == 0:
        raise ValueError(f"{name} has shape {matrix.shape}; give a matrix of shape {wanted}, one column per point")
    return finite(matrix, name)


def finite(values: ArrayLike, name: str) -> Array:
    """The values as float64, none of them NaN or infinite.

    Raises:
        ValueError: with the number of values that are not finite.
    """
    array = np.asarray(values, dtype=float)
    if bad := int(np.sum(~np.isfinite(array))):
        raise ValueError(f"{name} holds {bad} values that are not finite; remove those points or stop where they begin")
    return array


def positive(value: float, name: str, advice: str = "") -> float:
    """A finite number above 0.

    Raises:
        ValueError: it is not.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}; give a finite number above 0" + (f": {advice}" if advice else ""))
    return float(value)


def effective_depth_of(value: float) -> float:
    """An effective depth, which the energies and the penalty divide by."""
    return positive(value, "effective_depth", "at 0, a plain ResNet, kinetic energy and penalty are not defined")


def representation_pair(A: ArrayLike, B: ArrayLike, names: tuple[str, str] = ("A", "B")) -> tuple[Array, Array]:
    """Two matrices of one shape (w, N)."""
    A = as_matrix(A, names[0])
    return A, as_matrix(B, names[1], A.shape)
