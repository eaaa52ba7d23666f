r"""One cluster with a cumulative weight W that need not be aligned: its gradient flow in (W, beta).

tau(x) = W^{-1} H u - beta with u = W (x + beta). At W = R the gradient in W, in the frame of R, has no diagonal part.
Its antisymmetric part turns R, which is the flow of Theorem 3.2; its symmetric part leaves the aligned weights D R.
"""

from typing import NamedTuple

import numpy as np

from repdyn.base.arrays import Array


class Velocity(NamedTuple):
    """dW/ds and d(beta)/ds."""

    weight_speed: Array
    bias_speed: Array


def velocity(X: Array, W: Array, beta: Array, yt: Array) -> Velocity:
    r"""Minus the gradient of C = E|tau(x) - yt|^2/2 in W and beta, points as rows.

    With e = tau(x) - yt and f = W^{-T} e: dC/dW = E[H f (x + beta)^T - f (tau + beta)^T],
    dC/dbeta = -E[W^T (1 - H) f].
    """
    inverse = np.linalg.inv(W)
    moved = X + beta
    H = (moved @ W.T > 0).astype(np.float64)
    image = (H * (moved @ W.T)) @ inverse.T
    f = (image - beta - yt) @ inverse
    return Velocity((f.T @ image - (H * f).T @ moved) / len(X), ((1.0 - H) * f).mean(axis=0) @ W)


def rotating_and_misaligning(X: Array, R: Array, beta: Array, yt: Array) -> tuple[float, float]:
    """Frobenius norms of the antisymmetric and the symmetric part of (dW/ds) R^T at W = R orthogonal."""
    A = velocity(X, R, beta, yt).weight_speed @ R.T
    return float(np.linalg.norm(A - A.T)) / 2, float(np.linalg.norm(A + A.T)) / 2
