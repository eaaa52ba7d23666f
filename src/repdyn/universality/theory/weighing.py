"""Exponential weighing of predicted pairwise distances, equation (50), as printed and with units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import not_negative
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def exponential_weighing(
    A: Float[ArrayLike, "n n"], length_scale: float | None = None, normalize: bool = True
) -> Float[Array, "n n"]:
    r"""Weighs predicted distances by nearness: pred = P A P^T, P = K or its rows normalized, K = e^{-A/length_scale}.

    Corrects equation (50), whose exponent has units and whose weights do not sum to one.

    Args:
        A: predicted squared distances of all pairs, symmetric.
        length_scale: squared distance over which neighbors count; None takes the mean over pairs of different points.
        normalize: divide each row of K by its sum, so that pred is a weighted mean of distances.

    Returns:
        Weighed distances, in the units of A (if normalized).

    Raises:
        ValueError: A is not square, symmetric and 0 or more, or the length scale is not above 0.
    """
    A = _pairwise(A)
    scale = A.sum() / (len(A) * (len(A) - 1)) if length_scale is None else length_scale
    if not scale > 0:
        raise ValueError(f"length_scale is {scale}; expected a squared distance above 0")
    K = np.exp(-A / scale)
    P = K / K.sum(axis=1, keepdims=True) if normalize else K
    return P @ A @ P.T


def exponential_weighing_as_printed(A: Float[ArrayLike, "n n"]) -> Float[Array, "n n"]:
    """Equation (50): sum_kl e^{-A_ik} e^{-A_lj} A_kl; distances far above 1 underflow to sums over equal labels."""
    A = _pairwise(A)
    K = np.exp(-A)
    return K @ A @ K


def _pairwise(A: ArrayLike) -> Array:
    A = not_negative(A, "A", "it holds squared distances")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or len(A) < 2:
        raise ValueError(f"A has shape {A.shape}; expected all pairs of two or more points, (n, n)")
    if not np.allclose(A, A.T, rtol=1e-9, atol=0):
        raise ValueError(f"A is not symmetric (largest difference {np.abs(A - A.T).max():.3g}); distances are")
    return A
