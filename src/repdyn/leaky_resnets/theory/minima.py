"""Minima of the cost of identity: a neuron added, neurons merged, and the gradient to descend by.

A of shape (w, N); S = [relu(A); 1] or relu(A); K = S^T S; A_i, S_i are columns, A_k. rows.
Paper: Hamiltonian Mechanics of Feature Learning, Propositions 2, 3 and 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite
from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import as_matrix
from repdyn.leaky_resnets.theory.identity_cost import activation

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

NULL = 1e-9  # relative size below which an LP coefficient is a zero of its vertex


def added_neuron_coefficient(A: Float[ArrayLike, "w N"], z: Float[ArrayLike, "N"], bias: bool) -> float:
    r"""Coefficient of eps^2 in the COI of [A; eps z]: |z^T S^+|^2 - |A S^+ S^{+T} sigma(z)|^2 (proof of Proposition 2).

    Args:
        A: representation of finite COI.
        z: the added neuron on the data, in the row space of S.
        bias: whether S carries a row of ones.
    """
    A, z = as_matrix(A, "A"), finite(z, "z")
    inverse = np.linalg.pinv(activation(A, bias), rcond=1e-10)
    return float(np.sum((z @ inverse) ** 2) - np.sum((A @ inverse @ (inverse.T @ np.maximum(z, 0))) ** 2))


def column_coefficients(A: Float[ArrayLike, "w N"], bias: bool) -> Float[Array, "N"]:
    r"""`added_neuron_coefficient` at z = K e_i, every i: |S_i|^2 - |A_i|^2 = bias - |[A_i]_-|^2.

    Without bias it is negative wherever A_i has a negative entry; with bias only where |[A_i]_-| > 1.

    From the proof of Proposition 2.
    """
    A = as_matrix(A, "A")
    return np.sum(activation(A, bias) ** 2, axis=0) - np.sum(A**2, axis=0)


def positive_neuron(A: Float[ArrayLike, "w N"], i: int) -> Float[Array, "N"]:
    r"""Z = [A]_+^T [A_i]_+, shape (N,): the neuron that proves Proposition 2 with bias too, where K e_i does not.

    If the least weights of A have no bias, its coefficient of eps^2 is at most -|[A_i]_-|^2.
    """
    active = np.maximum(as_matrix(A, "A"), 0)
    return active.T @ active[:, i]


def without_bias(active: Float[ArrayLike, "w N"]) -> Float[Array, "w N"] | None:
    r"""A representation with the positive part `active` whose least weights [V, b] have b = 0, or None.

    b = A K^+ 1 vanishes where every row is orthogonal to u = (R^T R)^{-1} 1, R the positive part, shape (w, N) of rank
    N; a row becomes so by one negative entry at a point where it is 0. None where no such point has the right sign.

    Ours: examples for the propositions on minima, which the paper does not have.
    """
    A = as_matrix(active, "active").copy()
    u = np.linalg.solve(A.T @ A, np.ones(A.shape[1]))
    for row in A:
        along = row @ u
        room = np.where((row == 0) & (u * along > 0), np.abs(u), 0.0)
        if not room.any():
            return None
        at = int(room.argmax())
        row[at] = -along / u[at]
    return A


def ridge_cost(A: Float[Array, "*batch w N"], bias: bool, ridge: float) -> Float[Array, "*batch"]:
    """|A|^2_{K + ridge I} for a stack of representations, shape (..., w, N).

    Ours: the stable cost of Section 2.1 for a fixed regularizer, to descend by.
    """
    S = activation(A, bias)
    inverse = np.linalg.inv(np.swapaxes(S, -1, -2) @ S + ridge * np.eye(A.shape[-1]))
    return np.einsum("...ki,...ij,...kj->...", A, inverse, A)


def ridge_cost_gradient(A: Float[Array, "*batch w N"], bias: bool, ridge: float) -> Float[Array, "*batch w N"]:
    r"""Gradient of `ridge_cost` by A: 2 A G - 2 sigma'(A) o [S G A^T A G], G = (K + ridge I)^{-1}, shape of A.

    Ours: what descent on `ridge_cost` needs.
    """
    S = activation(A, bias)
    inverse = np.linalg.inv(np.swapaxes(S, -1, -2) @ S + ridge * np.eye(A.shape[-1]))
    kept = A @ inverse
    pulled = S[..., : A.shape[-2], :] @ (np.swapaxes(kept, -1, -2) @ kept)
    return 2 * (kept - np.where(A > 0, pulled, 0.0))


def merging_coefficients(A: Float[ArrayLike, "w N"]) -> Float[Array, "w"]:
    r"""Coefficients a >= 0, at most N (N + 1) not 0, with sum a_k (A_k A_k^T, S_k S_k^T) = (A^T A, K - 1 1^T).

    Caratheodory's theorem (Proposition 6) as a vertex of a linear program. A row of ones stays as it is.
    """
    A = as_matrix(A, "A")
    upper = np.triu_indices(A.shape[1])
    pairs = np.concatenate([np.einsum("ki,kj->kij", part, part)[:, *upper] for part in (A, np.maximum(A, 0))], axis=1)
    cost = np.arange(len(A), dtype=float)  # any cost that is not constant on the face picks a vertex
    solution = scipy.optimize.linprog(cost, A_eq=pairs.T, b_eq=pairs.sum(axis=0), bounds=(0, None), method="highs-ds")
    return np.where(solution.x > NULL * solution.x.max(), solution.x, 0.0)


def merged(A: Float[ArrayLike, "w N"], a: Float[ArrayLike, "w"], t: float) -> Float[Array, "w N"]:
    """A_t with rows sqrt((1 - t) + t a_k) A_k: a path of constant COI from A to fewer neurons (Proposition 3)."""
    return np.sqrt((1 - t) + t * finite(a, "a"))[:, None] * as_matrix(A, "A")
