r"""Right-hand sides: eqs. (6), (7), (8), (21), (22) and the gradient of Theorem 2, corrected and as printed.

Each takes the two moments of the residual at the model's own weights v_k (bbar_k with BN, b_k without)::

    force_k = E l'(f, y) sigma(v_k^T x)   (..., m),      moment_k = E l'(f, y) sigma'(v_k^T x) x   (..., m, d),

with the output weights a (..., m), the inner weights b or bbar (..., m, d) and the covariance Sigma (d, d), and
returns (a-velocity, b-velocity). `scale` is 1/m in the paper's parameter time (6)-(8) and Theorem 2, and 1 in its
mean-field time (10), (14), (21), (22): the second is the first with t -> m t, which the paper does not say. The
printed and the corrected form differ in signs. No input is checked here: loops call these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory.manifold import unchecked_gradient, unchecked_norm

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

Velocity = tuple[Array, Array]


def bn_flow(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    b: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    r"""Gradient flow of the BN model, eq. (6) with its signs restored; eqs. (10), (21) at scale 1.

    a' = -force, b' = -a (I - Sigma b b^T / ||b||_Sigma^2) moment / ||b||_Sigma.

    Args:
        force: E l'(f, y) sigma(v_k^T x).
        moment: E l'(f, y) sigma'(v_k^T x) x.
        a: output weights.
        b: inner weights, nonzero.
        cov: covariance Sigma.
        scale: 1/m in the paper's parameter time, 1 in its mean-field time.
    """
    return bn_flow_of_norm(force, moment, a, b, cov, unchecked_norm(b, cov), scale)


def bn_flow_of_norm(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    b: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    norm: Float[Array, "*batch m"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """`bn_flow` for a given normalizer: sqrt(b^T Sigma b), or sqrt(b^T Sigma b + eps) in libraries.

    Eq. (6) corrected; with eps ours, for comparison with libraries.

    Args:
        force: E l'(f, y) sigma(v_k^T x).
        moment: E l'(f, y) sigma'(v_k^T x) x.
        a: output weights.
        b: inner weights, nonzero.
        cov: covariance Sigma.
        norm: the normalizer, units of the pre-activation.
        scale: 1/m in the paper's parameter time, 1 in its mean-field time.
    """
    radial = np.sum(b * moment, axis=-1) / norm**2
    return -scale * force, -scale * (a / norm)[..., None] * (moment - radial[..., None] * (b @ cov))


def bn_flow_as_printed(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    b: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Eq. (6) as printed: both right-hand sides lack the minus of -dL/da_k, -dL/db_k beside them.

    Arguments as in `bn_flow`.
    """
    da, db = bn_flow(force, moment, a, b, cov, scale)
    return -da, -db


def normalized_flow(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    bbar: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
    radius: Float[Array, "m"] | float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    r"""Velocity of (a, bbar) induced by eq. (6): a' = -force, bbar' = -(||bbar||^2 / r^2) A(bbar) a moment.

    Corrects eq. (7) in the sign of a' and for ||b|| = r: the printed factor needs r = 1, so that the norm,
    free in the function, is not free in the dynamics.

    Args:
        force: E l'(f, y) sigma(v_k^T x).
        moment: E l'(f, y) sigma'(v_k^T x) x.
        a: output weights.
        bbar: normalized inner weights, points of Omega.
        cov: covariance Sigma.
        scale: 1/m in the paper's parameter time, 1 in its mean-field time.
        radius: r, Euclidean length of the unnormalized weights, scalar or shape (m,).
    """
    rate = scale * a / np.asarray(radius) ** 2
    return -scale * force, -rate[..., None] * unchecked_gradient(moment, bbar, cov)


def normalized_flow_as_printed(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    bbar: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Eq. (7) as printed: no minus in the a-line, no r.

    Arguments as in `normalized_flow`.
    """
    da, db = normalized_flow(force, moment, a, bbar, cov, scale)
    return -da, db


def vanilla_flow(
    force: Float[Array, "*batch m"], moment: Float[Array, "*batch m d"], a: Float[Array, "*batch m"], scale: float = 1.0
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Gradient flow without BN, eq. (8) with the sign of its a-line restored; eq. (22) at scale 1.

    Arguments as in `bn_flow`.
    """
    return -scale * force, -scale * a[..., None] * moment


def vanilla_flow_as_printed(
    force: Float[Array, "*batch m"], moment: Float[Array, "*batch m d"], a: Float[Array, "*batch m"], scale: float = 1.0
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Eq. (8) as printed: no minus in the a-line.

    Arguments as in `bn_flow`.
    """
    da, db = vanilla_flow(force, moment, a, scale)
    return -da, db


def manifold_gradient(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    bbar: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    r"""Manifold gradient of L_0 on M: (force, ||bbar||^2 A(bbar) a moment) times 1/m.

    Corrects Theorem 2, whose statement gives minus the gradient in both lines; its 1/m is right, the proof
    drops it.

    Arguments as in `normalized_flow`.
    """
    da, db = normalized_flow(force, moment, a, bbar, cov, scale)
    return -da, -db


def manifold_gradient_as_printed(
    force: Float[Array, "*batch m"],
    moment: Float[Array, "*batch m d"],
    a: Float[Array, "*batch m"],
    bbar: Float[Array, "*batch m d"],
    cov: Float[Array, "d d"],
    scale: float = 1.0,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Statement of Theorem 2 as printed: a minus in front of both lines of a gradient.

    Arguments as in `normalized_flow`.
    """
    return normalized_flow(force, moment, a, bbar, cov, scale)


def tangential_speed(b: Float[Array, "*batch m d"], db: Float[Array, "*batch m d"]) -> Float[Array, "*batch m"]:
    """Speed |(I - u u^T) b'|, u = b/||b||, along the sphere: the vertical axis of Figure 1.

    Args:
        b: inner weights.
        db: their velocities, same shape.

    Returns:
        Speeds; divided by ||b|| it is the angular speed.
    """
    u = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return np.linalg.norm(db - u * np.sum(u * db, axis=-1, keepdims=True), axis=-1)
