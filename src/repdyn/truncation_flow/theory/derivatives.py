r"""Derivatives of the cost by complex step: an oracle that shares no formula with the flow equations.

With sigma(z) = z 1[Re z > 0] the cost is a polynomial in each sector, so Im C(beta + i h t)/h is its derivative to
rounding, whatever the step h. Along O(Q) the tangent at R in the direction omega (antisymmetric) is omega R, and
d/ds f(exp(s omega) R) = Tr((pi_-(G R^T))^T omega) (6.11); the generator of the gradient flow is -pi_-(G R^T).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float, Inexact

STEP = 1e-30


def complex_truncation(
    x: Inexact[Array, "n Q"], R: Inexact[Array, "Q Q"], beta: Inexact[Array, "Q"]
) -> Inexact[Array, "n Q"]:
    """tau(x) of (6.2) for complex parameters, sigma(z) = z 1[Re z > 0]; the points are rows."""
    u = (x + beta) @ R.T
    return (u * (u.real > 0)) @ R - beta


def complex_truncation_of_weights(
    x: Inexact[Array, "*#batch n Q"], W: Inexact[Array, "*#batch Q Q"], beta: Inexact[Array, "*#batch Q"]
) -> Inexact[Array, "*batch n Q"]:
    """tau(x) of (2.9) for any invertible W, complex parameters, sigma(z) = z 1[Re z > 0]; the points are rows.

    Batched: W (..., Q, Q), beta (..., Q).
    """
    u = (x + beta[..., None, :]) @ W.mT
    return (u * (u.real > 0)) @ np.linalg.inv(W).mT - beta[..., None, :]


def complex_cost(
    X: Float[Array, "n Q"],
    w: Float[Array, "n"],
    labels: Float[Array, "n Q"] | Float[Array, "Q"],
    R: Inexact[Array, "L Q Q"],
    beta: Inexact[Array, "L Q"],
) -> complex:
    """Euclidean cost (2.26) of L layers for complex parameters; one label per point, R (L, Q, Q), beta (L, Q).

    Args:
        X: points, input units.
        w: weight of each point.
        labels: pulled-back label of each point, or one for all, input units.
        R: orthogonal matrices.
        beta: pulled-back biases, input units.
    """
    return 0.5 * complex(np.sum(w[:, None] * (_composed(X, R, beta) - labels) ** 2))


def complex_standard_cost(
    X: Float[Array, "n Q"],
    w: Float[Array, "n"],
    y: Float[Array, "n Q"],
    V: Inexact[Array, "*#batch L Q Q"],
    beta: Inexact[Array, "*#batch L Q"],
    W: Inexact[Array, "*#batch Q Q"],
) -> Inexact[Array, "*batch"]:
    """Standard cost (2.22) of L layers of free cumulative weights V and the cumulative output weight W.

    Complex parameters, batched over leading axes.

    Args:
        X: points, input units.
        w: weights of the points.
        y: labels, one per point, input units.
        V: cumulative weights.
        beta: cumulative biases, input units.
        W: cumulative output weight.

    Returns:
        Cost, input units squared.
    """
    for layer in range(V.shape[-3]):
        X = complex_truncation_of_weights(X, V[..., layer, :, :], beta[..., layer, :])
    return 0.5 * np.sum(w[:, None] * (X @ W.mT - y) ** 2, axis=(-2, -1))


def _composed(X: Array, R: Array, beta: Array) -> Array:
    for rotation, offset in zip(R, beta, strict=True):
        X = complex_truncation(X, rotation, offset)
    return X


def gradient(f: Callable[[Inexact[Array, "*shape"]], complex], at: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Gradient of f at a real array, entry by entry.

    Ours: complex steps, which share no formula with the paper.
    """
    result = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        shifted = at.astype(complex)
        shifted[index] += 1j * STEP
        result[index] = f(shifted).imag / STEP
    return result


def batched_gradient(
    f: Callable[[Inexact[Array, "size *shape"]], Inexact[Array, "size"]], at: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Gradient of f at a real array; f takes a batch of arrays along the first axis.

    Ours: complex steps along every entry.
    """
    shifted = at + 1j * STEP * np.eye(at.size).reshape(at.size, *at.shape)
    return (f(shifted).imag / STEP).reshape(at.shape)


def descent_generators(
    f: Callable[[Inexact[Array, "L Q Q"]], complex], R: Float[Array, "L Q Q"]
) -> Float[Array, "L Q Q"]:
    """-pi_-(G_l R_l^T) for every layer, by complex steps along omega_ij R_l.

    Ours: the gradient on O(Q) of Section 6, (6.11), by complex steps.
    """
    L, Q, _ = R.shape
    result = np.zeros(R.shape)
    for layer in range(L):
        for i, j in zip(*np.triu_indices(Q, 1), strict=True):
            omega = np.zeros((Q, Q))
            omega[i, j], omega[j, i] = 1.0, -1.0
            shifted = R.astype(complex)
            shifted[layer] += 1j * STEP * (omega @ R[layer])
            slope = f(shifted).imag / STEP
            result[layer, i, j], result[layer, j, i] = -0.5 * slope, 0.5 * slope
    return result


def flow_by_complex_step(
    X: Float[Array, "n Q"],
    w: Float[Array, "n"],
    labels: Float[Array, "n Q"] | Float[Array, "Q"],
    R: Float[Array, "L Q Q"],
    beta: Float[Array, "L Q"],
) -> tuple[Float[Array, "L Q"], Float[Array, "L Q Q"]]:
    """Gradient flow of the cost of L layers: d(beta_l)/ds (L, Q) and the generators Omega_l (L, Q, Q).

    Ours: the flow of Theorem 5.1 without its formulas.

    Arguments as in `complex_cost`.
    """
    dbeta = -gradient(lambda shifted: complex_cost(X, w, labels, R, shifted), beta)
    Omega = descent_generators(lambda shifted: complex_cost(X, w, labels, shifted, beta), R)
    return dbeta, Omega
