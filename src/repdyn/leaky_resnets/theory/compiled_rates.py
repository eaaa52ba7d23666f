"""Right side of the Hamiltonian flow, compiled: a path asks for it ten thousand times, at small matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

REORDERED = {"reassoc", "contract", "nsz"}  # sums for the vector unit; NaN and infinity keep their meaning


@compiled(fastmath=REORDERED)
def _through(A: Array, B: Array, bias: bool, V: Array) -> None:
    """Computes V = B S^T, shape (w, w + 1) or (w, w)."""
    for i in range(A.shape[0]):
        for k in range(A.shape[0]):
            total = 0.0
            for n in range(A.shape[1]):
                total += B[i, n] * max(A[k, n], 0.0)
            V[i, k] = total
        if bias:
            V[i, A.shape[0]] = np.sum(B[i])


@compiled(fastmath=REORDERED)
def rates(A: Float[Array, "w N"], B: Float[Array, "w N"], effective_depth: float, bias: bool) -> Float[Array, "2 w N"]:
    """dA/dp = Lt (B K - A) and dB/dp = Lt (B - sigma'(A) o [S B^T B]) (Section 1.5).

    Args:
        A: representation.
        B: momentum.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
    """
    w, N = A.shape
    V, moved = np.empty((w, w + bias)), np.empty((2, w, N))
    _through(A, B, bias, V)
    for i in range(w):
        for n in range(N):
            moved[0, i, n] = (V[i, w] if bias else 0.0) - A[i, n]
            moved[1, i, n] = 0.0
        for k in range(w):
            for n in range(N):
                moved[0, i, n] += V[i, k] * max(A[k, n], 0.0)
                moved[1, i, n] += V[k, i] * B[k, n]
        for n in range(N):
            moved[0, i, n] *= effective_depth
            moved[1, i, n] = effective_depth * (B[i, n] - (moved[1, i, n] if A[i, n] > 0 else 0.0))
    return moved
