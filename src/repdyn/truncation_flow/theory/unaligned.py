r"""Cumulative weights W that need not be aligned: the gradient flow in (W, beta) of one cluster and of many layers.

tau(x) = W^{-1} H u - beta with u = W (x + beta). At W = R the gradient in W, in the frame of R, has no diagonal part.
Its antisymmetric part turns R, which is the flow of Theorem 3.2; its symmetric part leaves the aligned weights D R.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


class Velocity(NamedTuple):
    """dW/ds and d(beta)/ds."""

    weight_speed: Array
    bias_speed: Array


def velocity(
    X: Float[Array, "N Q"], W: Float[Array, "Q Q"], beta: Float[Array, "Q"], yt: Float[Array, "Q"]
) -> Velocity:
    r"""Minus the gradient of C = E|tau(x) - yt|^2/2 in W and beta, points as rows.

    With e = tau(x) - yt and f = W^{-T} e: dC/dW = E[H f (x + beta)^T - f (tau + beta)^T],
    dC/dbeta = -E[W^T (1 - H) f].

    Ours: the paper keeps the weights aligned.

    Args:
        X: points, input units.
        W: cumulative weight, invertible.
        beta: pulled-back bias, input units.
        yt: pulled-back label, input units.
    """
    inverse = np.linalg.inv(W)
    moved = X + beta
    H = (moved @ W.T > 0).astype(np.float64)
    image = (H * (moved @ W.T)) @ inverse.T
    f = (image - beta - yt) @ inverse
    return Velocity((f.T @ image - (H * f).T @ moved) / len(X), ((1.0 - H) * f).mean(axis=0) @ W)


def rotating_and_misaligning(
    X: Float[Array, "N Q"], R: Float[Array, "Q Q"], beta: Float[Array, "Q"], yt: Float[Array, "Q"]
) -> tuple[float, float]:
    """Frobenius norms of the antisymmetric and the symmetric part of (dW/ds) R^T at W = R orthogonal.

    Ours: the part of the gradient that Theorem 3.2 follows, and the part that it leaves out.

    Args:
        X: points, input units.
        R: orthogonal matrix.
        beta: pulled-back bias, input units.
        yt: pulled-back label, input units.
    """
    A = velocity(X, R, beta, yt).weight_speed @ R.T
    return float(np.linalg.norm(A - A.T)) / 2, float(np.linalg.norm(A + A.T)) / 2


def forward(
    X: Float[Array, "n Q"], W: Float[Array, "L Q Q"], beta: Float[Array, "L Q"]
) -> tuple[list[Float[Array, "n Q"]], list[Float[Array, "n Q"]]]:
    """Images z_0 = x, z_l = tau_l(z_{l-1}) and pre-activations u_l = W_l (z_{l-1} + beta_l), lists of (n, Q).

    Ours: the truncation maps of Section 2.2 with weights that need not be orthogonal.
    """
    z, u = [X], []
    for weight, offset in zip(W, beta, strict=True):
        u.append((z[-1] + offset) @ weight.T)
        z.append(np.linalg.solve(weight, np.maximum(u[-1], 0.0).T).T - offset)
    return z, u


def pull_back(
    X: Float[Array, "n Q"],
    W: Float[Array, "L Q Q"],
    beta: Float[Array, "L Q"],
    w: Float[Array, "n"],
    residual: Callable[[Float[Array, "n Q"]], Float[Array, "n Q"]],
) -> tuple[Float[Array, "L Q Q"], Float[Array, "L Q"]]:
    r"""Velocities (dW_l/ds, d(beta_l)/ds) of L layers for a cost whose derivative in the output z_L is `residual(z_L)`.

    With v the derivative in z_l and f = W_l^{-T} v: dC/dW_l = E[H f (z_{l-1} + beta)^T - f (z_l + beta)^T],
    dC/dbeta_l = -E[W_l^T (1 - H) f], and W_l^T H f is the derivative in z_{l-1}.

    Ours: reverse-mode differentiation by hand.

    Args:
        X: points.
        W: cumulative weights.
        beta: pulled-back biases.
        w: weight of every point.
        residual: takes z_L, returns the derivative of a point's cost in it.
    """
    z, u = forward(X, W, beta)
    v, weight_speeds, bias_speeds = residual(z[-1]), [], []
    for layer in reversed(range(len(W))):
        H, f = u[layer] > 0, np.linalg.solve(W[layer].T, v.T).T
        weighted = f * w[:, None]
        weight_speeds.append(weighted.T @ (z[layer + 1] + beta[layer]) - (H * weighted).T @ (z[layer] + beta[layer]))
        bias_speeds.append((~H * weighted).sum(axis=0) @ W[layer])
        v = (H * f) @ W[layer]
    return np.array(weight_speeds[::-1]), np.array(bias_speeds[::-1])
