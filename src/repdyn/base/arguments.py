"""Validation of arrays and numbers passed to public functions; each function returns the value or raises.

Messages name the given and the expected value and, with `advice`, what to do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array

ORTHOGONALITY_TOLERANCE = 1e-8


def refuse(name: str, got: str, expected: str, advice: str = "") -> ValueError:
    """The error of a bad argument, to be raised by the caller."""
    return ValueError(f"{name}: got {got}; expected {expected}" + (f": {advice}" if advice else ""))


def finite(value: ArrayLike, name: str, advice: str = "") -> Array:
    """The values as float64, none of them NaN or infinite.

    Raises:
        ValueError: values are complex, text or ragged; or some are not finite, with their number.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise refuse(name, f"not an array ({error})", "finite real numbers", advice) from error
    if array.dtype.kind not in "fiub":
        raise refuse(name, f"values of type {array.dtype}", "finite real numbers", advice)
    array = array.astype(np.float64, copy=False)
    if bad := int(np.count_nonzero(~np.isfinite(array))):
        raise refuse(name, f"{bad} values that are NaN or infinite", "finite numbers only", advice)
    return array


def positive(value: ArrayLike, name: str, advice: str = "") -> Array:
    """Finite values, all above 0; a number stays zero-dimensional."""
    array = finite(value, name, advice)
    if not (array > 0).all():
        raise refuse(name, f"{array.min():.6g}", "finite numbers above 0", advice)
    return array


def not_negative(value: ArrayLike, name: str, advice: str = "") -> Array:
    """Finite values, none below 0."""
    array = finite(value, name, advice)
    if not (array >= 0).all():
        raise refuse(name, f"{array.min():.6g}", "finite numbers of 0 or more", advice)
    return array


def shaped(value: ArrayLike, name: str, shape: tuple[int | None, ...], advice: str = "") -> Array:
    """Finite values of a given shape, where None is any size; not empty."""
    array = finite(value, name, advice)
    fits = array.ndim == len(shape) and all(size in (None, have) for size, have in zip(shape, array.shape, strict=True))
    if not fits or array.size == 0:
        sizes = ["any" if size is None else str(size) for size in shape]
        wanted = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        raise refuse(name, f"shape {array.shape}", f"a non-empty array of shape {wanted}", advice)
    return array


def orthogonal(value: ArrayLike, size: int, name: str) -> Array:
    """An orthogonal matrix of shape (size, size)."""
    array = shaped(value, name, (size, size))
    defect = float(np.abs(array @ array.T - np.eye(size)).max())
    if defect > ORTHOGONALITY_TOLERANCE:
        raise refuse(
            name,
            f"max|{name} {name}^T - 1| = {defect:.2e}",
            f"an orthogonal matrix (below {ORTHOGONALITY_TOLERANCE:.0e})",
            "project with U V^T from np.linalg.svd first",
        )
    return array


def increasing(value: ArrayLike, name: str, advice: str = "") -> Array:
    """A non-empty sequence, strictly increasing, none below 0: times, depths."""
    array = np.atleast_1d(finite(value, name, advice))
    if array.ndim != 1 or array.size == 0 or array[0] < 0 or np.any(np.diff(array) <= 0):
        raise refuse(name, f"{array.tolist()}"[:60], "a strictly increasing sequence of numbers of 0 or more", advice)
    return array


def one_of(value: str, allowed: tuple[str, ...], name: str) -> str:
    """A word from a fixed list."""
    if value not in allowed:
        raise refuse(name, repr(value), f"one of {', '.join(allowed)}")
    return value
