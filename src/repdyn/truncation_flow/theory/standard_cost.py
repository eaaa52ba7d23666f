r"""The standard cost with a trained output layer: Chen, Sections 8 and 9.

Section 8: all clusters collapsed, cluster l at -beta_l. B = [beta_1 .. beta_Q], Y = [y_1 .. y_Q] (columns), W the
output weight, E = W B + Y, cost Tr(E^T E)/2. Section 9: no point truncated, only W is trained on X (columns).

Two pairs of propagators are needed. Those of the E-equation (8.8) have the Gram matrices B^T B and W W^T; those of
the variation of constants (8.16)-(8.17) have B B^T and W^T W, as (8.9) prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

SINGULAR = 1e12


def output_error(
    B: Float[Array, "*batch Q Q"], W: Float[Array, "*batch Q Q"], Y: Float[Array, "*#batch Q Q"]
) -> Float[Array, "*batch Q Q"]:
    """E = W B + Y, batched.

    The error of Section 8, whose equation is (8.8).
    """
    return W @ B + Y


def collapsed_cost(
    B: Float[Array, "*batch Q Q"], W: Float[Array, "*batch Q Q"], Y: Float[Array, "*#batch Q Q"]
) -> Float[Array, "*batch"]:
    """Standard cost of collapsed clusters, C = Tr(E^T E)/2 (8.2), batched."""
    return 0.5 * np.sum(output_error(B, W, Y) ** 2, axis=(-2, -1))


def collapsed_flow(
    B: Float[Array, "*batch Q Q"], W: Float[Array, "*batch Q Q"], Y: Float[Array, "*#batch Q Q"]
) -> tuple[Float[Array, "*batch Q Q"], Float[Array, "*batch Q Q"]]:
    """Gradient flow of collapsed clusters: dB = -W^T E (8.6), dW = -E B^T (8.7), batched."""
    E = output_error(B, W, Y)
    return -W.mT @ E, -E @ B.mT


def error_flow(
    B: Float[Array, "*batch Q Q"], W: Float[Array, "*batch Q Q"], Y: Float[Array, "*#batch Q Q"]
) -> Float[Array, "*batch Q Q"]:
    """dE/ds = -W W^T E - E B^T B (8.8), batched."""
    E = output_error(B, W, Y)
    return -W @ W.mT @ E - E @ B.mT @ B


def propagator_rates(B: Float[Array, "Q Q"], W: Float[Array, "Q Q"]) -> tuple[Float[Array, "Q Q"], Float[Array, "Q Q"]]:
    """Gram matrices of corrected (8.9): dU_B = -U_B (B^T B), dU_W = -(W W^T) U_W, so that E = U_W E(0) U_B (8.11)."""
    return B.T @ B, W @ W.T


def propagator_rates_as_printed(
    B: Float[Array, "Q Q"], W: Float[Array, "Q Q"]
) -> tuple[Float[Array, "Q Q"], Float[Array, "Q Q"]]:
    """Gram matrices of (8.9) as printed, B B^T and W^T W: those of the variation of constants, not of (8.11)."""
    return B @ B.T, W.T @ W


def conserved_quantity(
    B: Float[ArrayLike, "*batch Q Q"], W: Float[ArrayLike, "*batch Q Q"]
) -> Float[Array, "*batch Q Q"]:
    """Integral of motion I = B B^T - W^T W (8.21), batched over leading axes.

    Raises:
        ValueError: if B and W do not end in equal square shapes or a number is not finite.
    """
    B, W = arguments.finite(B, "B"), arguments.finite(W, "W")
    if B.ndim < 2 or B.shape != W.shape or B.shape[-1] != B.shape[-2]:
        raise ValueError(f"B, W: got shapes {B.shape} and {W.shape}; expected equal square matrices (Q, Q)")
    return B @ B.mT - W.mT @ W


def spectral_gap(B: Float[ArrayLike, "Q Q"], W: Float[ArrayLike, "Q Q"]) -> float:
    """Rate lambda_0 of Theorem 8.4: the smallest eigenvalue of +I or of -I, whichever is positive definite.

    Raises:
        ValueError: if I is indefinite, where the theorem says nothing.

    Example:
        >>> round(spectral_gap([[0.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]), 3)
        1.0
    """
    spectrum = np.linalg.eigvalsh(conserved_quantity(B, W))
    gap = max(spectrum[0], -spectrum[-1])
    if gap <= 0:
        raise ValueError(
            f"I = B B^T - W^T W: got eigenvalues from {spectrum[0]:.3g} to {spectrum[-1]:.3g}; expected all of one"
            " sign (Theorem 8.4); scale B up or W down, or the reverse"
        )
    return float(gap)


def weight_bound(s: Float[Array, "*shape"], gap: float, cost_0: float) -> Float[Array, "*shape"]:
    """Corrected (8.35): ||W + Y B^{-1}|| <= sqrt(c/lambda_0) exp(-lambda_0 s), c = 2 C(0), if I > 0."""
    return np.sqrt(2.0 * cost_0 / gap) * np.exp(-gap * np.asarray(s))


def weight_bound_as_printed(s: Float[Array, "*shape"], gap: float, cost_0: float) -> Float[Array, "*shape"]:
    """(8.35) as printed: ||W + Y B^{-1}|| <= c exp(-2 lambda_0 s)/sqrt(lambda_0), the root of (8.34) not taken."""
    return 2.0 * cost_0 / np.sqrt(gap) * np.exp(-2.0 * gap * np.asarray(s))


def output_layer_flow(
    X: Float[ArrayLike, "Q N"],
    Y: Float[ArrayLike, "M N"],
    W0: Float[ArrayLike, "M Q"],
    s: Float[ArrayLike, "T"],
    *,
    weights: Float[ArrayLike, "N"] | None = None,
) -> Float[Array, "T M Q"]:
    r"""Output weight of Theorem 9.1 in closed form, W(s) = W_0 e^{-sG} + A G^{-1} (1 - e^{-sG}) (9.10), Y -> Y_ext.

    G = X D X^T and A = Y D X^T with D the diagonal of weights: 1/N as in (9.3), or 1/N_j as in (2.22).

    Args:
        X: points as columns, input units.
        Y: label of every point as columns (Y_ext).
        W0: initial weight.
        s: flow times, none negative.
        weights: weight of every point; 1/N if not given.

    Returns:
        Weights.

    Raises:
        ValueError: if X D X^T is singular (9.9), a weight or a time is negative, or shapes disagree.
    """
    X, Y, W0 = arguments.finite(X, "X"), arguments.finite(Y, "Y"), arguments.finite(W0, "W0")
    if X.ndim != 2 or Y.ndim != 2 or Y.shape[1] != X.shape[1] or W0.shape != (Y.shape[0], X.shape[0]):
        raise ValueError(
            f"got X {X.shape}, Y {Y.shape}, W0 {W0.shape}; expected (Q, N), (M, N), (M, Q): one label per point (Y_ext)"
        )
    w = np.full(X.shape[1], 1.0 / X.shape[1])
    if weights is not None:
        w = arguments.not_negative(arguments.shaped(weights, "weights", (X.shape[1],)), "weights")
    rates, axes = np.linalg.eigh((X * w) @ X.T)
    if not rates[0] * SINGULAR > rates[-1]:
        raise ValueError(
            f"X X^T: got condition number {rates[-1] / max(rates[0], 1e-300):.2e}; expected an invertible matrix"
            " (9.9); add points or drop dependent coordinates"
        )
    limit = (Y * w) @ X.T @ (axes / rates) @ axes.T
    decay = np.exp(-np.multiply.outer(np.atleast_1d(arguments.not_negative(s, "s")), rates))
    return limit + np.einsum("ma,ta,qa->tmq", (W0 - limit) @ axes, decay, axes)


def least_squares_minimizer(
    X: Float[ArrayLike, "Q N"], Y: Float[ArrayLike, "M N"], weights: Float[ArrayLike, "N"] | None = None
) -> Float[Array, "M Q"]:
    """Minimizer of sum_k w_k |W x_k - y_k|^2, which (9.12) names as the limit."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    root = np.ones(X.shape[1]) if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
    return np.linalg.lstsq((X * root).T, (Y * root).T, rcond=None)[0].T


def right_inverse(X: Float[ArrayLike, "Q N"]) -> Float[Array, "N Q"]:
    """P = X^T (X X^T)^{-1} of (9.11): N x Q, a right inverse of X; the projector onto the range of X^T is P X."""
    X = np.asarray(X, dtype=np.float64)
    return np.linalg.solve(X @ X.T, X).T
