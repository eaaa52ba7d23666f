r"""The gradient flow of one cluster under cluster separated truncations: Chen, Theorem 3.2 and Corollary 3.5.

Notation of one cluster (rows are points, weights w_k = 1/N)::

    u_k = R (x_k + beta), H_k = 1[u_k > 0], v_k = R (x_k - yt), b = R (beta + yt), so u_k = v_k + b.
    J_i = sum_k w_k H_ki, Jp = 1 - J.

Corrected flow::

    d(beta)/ds = -R^T Jp b, dR/ds = Omega R,
    Omega = sum_k w_k [H_k, M_k], M = (u b^T + b u^T - u u^T)/2 = (b b^T - v v^T)/2.

The paper's (3.23) lacks -u u^T/2 because (6.16) writes H sigma(u) u^T = H u u^T H; it is H u u^T.

The functions without checks take leading batch axes: H, u of shape (..., N, Q), b (..., Q), w (..., N).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import inputs, truncation

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

FORMULAS = ("corrected", "printed")


class EffectiveGradient(NamedTuple):
    """Velocity of the flow: `dbeta` (Q,), `Omega` (Q, Q) with dR/ds = Omega R, and the `cost`."""

    dbeta: Array
    Omega: Array
    cost: float


def effective_gradient(
    X: Float[ArrayLike, "N Q"],
    R: Float[ArrayLike, "Q Q"],
    beta: Float[ArrayLike, "Q"],
    yt: Float[ArrayLike, "Q"],
    *,
    formula: str = "corrected",
) -> EffectiveGradient:
    """Velocity of the gradient flow of one cluster: d(beta) = -R^T Jp b (3.19), dR = Omega R (3.21).

    Args:
        X: points, input units.
        R: orthogonal matrix.
        beta: pulled-back bias, input units.
        yt: pulled-back label, input units.
        formula: "corrected", or "printed" for Omega as in (3.22)-(3.23).

    Returns:
        `dbeta` (input units per time), `Omega` (input units squared per time), `cost` (input units squared).

    Raises:
        ValueError: if shapes disagree, R is not orthogonal, the cluster is empty or a number is not finite.
    """
    X, R, beta = inputs.cluster_state(X, R, beta)
    yt = arguments.shaped(yt, "yt", (X.shape[1],))
    arguments.one_of(formula, FORMULAS, "formula")
    b = R @ (beta + yt)
    if formula == "corrected":
        return velocity_of_columns((X - yt).T, R, b)
    u, w = (X + beta) @ R.T, np.full(len(X), 1.0 / len(X))
    H = (u > 0).astype(np.float64)
    Omega = generator_as_printed(H, u, b, w)
    return EffectiveGradient(bias_velocity(H, R, b, w), Omega, float(cost(H, u, b, w)))


def velocity_of_columns(D: Float[Array, "Q N"], R: Float[Array, "Q Q"], b: Float[Array, "Q"]) -> EffectiveGradient:
    """Corrected velocity from D = (x - yt) as columns, shape (Q, N): two products and one comparison.

    Since u = v + b, the pattern is v > -b, and Omega and the cost need only J and A = E[(H v) v^T]:
    Omega_ij = ((J_i - J_j) b_i b_j - A_ij + A_ji)/2, C = (Tr A + sum_i (1 - J_i) b_i^2)/2.

    Ours: a fast form of corrected Theorem 3.2.
    """
    V = R @ D
    H = -b[:, None] < V
    J, A = H.mean(axis=1), (V * H) @ V.T / V.shape[1]
    Omega = generator_from_shares(J, A, b)
    return EffectiveGradient(-R.T @ ((1.0 - J) * b), Omega, 0.5 * float(np.trace(A) + (1.0 - J) @ (b * b)))


def generator_from_shares(J: Float[Array, "Q"], A: Float[Array, "Q Q"], b: Float[Array, "Q"]) -> Float[Array, "Q Q"]:
    """Omega_ij = ((J_i - J_j) b_i b_j - A_ij + A_ji)/2 of one cluster, A = E[(H v) v^T].

    Ours: the matrix elements of the corrected flow; (3.38) has others.
    """
    return 0.5 * ((J[:, None] - J[None, :]) * np.outer(b, b) - A + A.T)


def sector_moments(
    X: Float[ArrayLike, "N Q"], yt: Float[ArrayLike, "Q"], R: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> tuple[Float[Array, "Q"], Float[Array, "Q Q Q"]]:
    """Half-space moments that determine the corrected flow: J_i (3.33) and S_i, one matrix per coordinate.

    S_i = sum_k w_k 1[u_ki > 0] (x_k - yt)(x_k - yt)^T. They replace the first moments of Corollary 3.5, which do
    not determine the flow.

    Arguments as in `effective_gradient`.

    Returns:
        `J`, and `S` in input units squared.

    Raises:
        ValueError: as `effective_gradient`.
    """
    H = truncation.sector_pattern(X, R, beta)
    D = np.asarray(X) - arguments.shaped(yt, "yt", (H.shape[1],))
    return H.mean(axis=0), np.einsum("ki,ka,kb->iab", H, D, D) / len(D)


def truncated_shares(H: Float[Array, "*batch N Q"], w: Float[Array, "*#batch N"]) -> Float[Array, "*batch Q"]:
    """Jp = 1 - J, the share of points truncated in each direction (3.39)."""
    return 1.0 - np.einsum("...ki,...k->...i", H, w)


def bias_velocity(
    H: Float[Array, "*batch N Q"],
    R: Float[Array, "*batch Q Q"],
    b: Float[Array, "*batch Q"],
    w: Float[Array, "*#batch N"],
) -> Float[Array, "*batch Q"]:
    """Bias flow d(beta)/ds = -R^T Jp b (3.19), (3.36).

    Args:
        H: activation patterns 0 or 1.
        R: orthogonal matrix.
        b: residual of the bias R (beta + yt), input units.
        w: weight of each point, sum 1.
    """
    return -np.einsum("...ji,...j->...i", R, truncated_shares(H, w) * b)


def generator(
    H: Float[Array, "*batch N Q"],
    u: Float[Array, "*batch N Q"],
    b: Float[Array, "*batch Q"],
    w: Float[Array, "*#batch N"],
) -> Float[Array, "*batch Q Q"]:
    r"""Corrected weight flow: Omega = sum_k w_k [H_k, M_k], M = (u b^T + b u^T - u u^T)/2.

    Corrects (3.22)-(3.23); agrees with (5.6)-(5.7) at the last layer. Evaluated as
    Omega_ij = ((J_i - J_j) b_i b_j - A_ij + A_ji)/2 with A = sum_k w_k (H_k v_k) v_k^T, v = u - b: one product.

    Args:
        H: activation patterns 0 or 1.
        u: pre-activations R (x + beta), input units.
        b: residual of the bias R (beta + yt), input units.
        w: weight of each point, sum 1.
    """
    v = u - b[..., None, :]
    weighted = H * w[..., None]
    A = (weighted * v).mT @ v
    J = weighted.sum(axis=-2)
    bias = (J[..., :, None] - J[..., None, :]) * b[..., :, None] * b[..., None, :]
    return 0.5 * (bias - A + A.mT)


def generator_as_printed(
    H: Float[Array, "*batch N Q"],
    u: Float[Array, "*batch N Q"],
    b: Float[Array, "*batch Q"],
    w: Float[Array, "*#batch N"],
) -> Float[Array, "*batch Q Q"]:
    """Weight flow as printed in (3.22)-(3.23): Omega = sum_k w_k [H_k, (u b^T + b u^T)/2].

    Arguments as in `generator`.
    """
    G = (H * w[..., None]).mT @ u
    diagonal = np.diagonal(G, axis1=-2, axis2=-1)
    left = (diagonal[..., :, None] - G.mT) * b[..., None, :]
    right = (G - diagonal[..., None, :]) * b[..., :, None]
    return 0.5 * (left + right)


def generator_from_first_moments_as_printed(
    H: Float[Array, "N Q"], u: Float[Array, "N Q"], b: Float[Array, "Q"], w: Float[Array, "N"]
) -> Float[Array, "Q Q"]:
    """Matrix elements as printed in (3.38), (4.3), for one cluster; twice (3.22), a factor 1/2 is missing.

    Omega_ij = sum_nu (nu_i - nu_j) (J_{1,nu,i} b_j + b_i J_{1,nu,j}) over the sectors nu that hold points.

    Arguments as in `generator`.
    """
    Omega = np.zeros((b.size, b.size))
    for nu in np.unique(H, axis=0):
        moment = (w[:, None] * u)[np.all(nu == H, axis=1)].sum(axis=0)
        Omega += (nu[:, None] - nu[None, :]) * (np.outer(moment, b) + np.outer(b, moment))
    return Omega


def generator_by_commutators(
    H: Float[Array, "N Q"],
    u: Float[Array, "N Q"],
    b: Float[Array, "Q"],
    w: Float[Array, "N"],
    *,
    quadratic: bool = True,
) -> Float[Array, "Q Q"]:
    """Omega of one cluster as the plain sum of commutators w_k [H_k, M_k]; the reference for the fast forms.

    Corrected (3.22)-(3.23).

    Args:
        H: activation patterns 0 or 1.
        u: pre-activations R (x + beta), input units.
        b: residual of the bias R (beta + yt), input units.
        w: weight of each point, sum 1.
        quadratic: keep the term -u u^T/2 of M; without it (3.22)-(3.23) as printed.
    """
    Omega = np.zeros((b.size, b.size))
    for h, pre, weight in zip(H, u, w, strict=True):
        M = 0.5 * (np.outer(pre, b) + np.outer(b, pre) - quadratic * np.outer(pre, pre))
        Omega += weight * (np.diag(h) @ M - M @ np.diag(h))
    return Omega


def generator_from_moments(
    J: Float[Array, "Q"], S: Float[Array, "Q Q Q"], R: Float[Array, "Q Q"], b: Float[Array, "Q"]
) -> Float[Array, "Q Q"]:
    """Row form Omega_ij = ((J_i - J_j) b_i b_j - r_i^T S_i r_j + r_i^T S_j r_j)/2, independent of N.

    Ours: it stands in for (3.38) of Corollary 3.5.

    Args:
        J: share of points with u_i > 0.
        S: moments of `sector_moments`, input units squared.
        R: orthogonal matrix.
        b: residual of the bias, input units.
    """
    return generator_from_shares(J, np.einsum("ia,iab,jb->ij", R, S, R), b)


def cost(
    H: Float[Array, "*batch N Q"],
    u: Float[Array, "*batch N Q"],
    b: Float[Array, "*batch Q"],
    w: Float[Array, "*#batch N"],
) -> Float[Array, "*batch"]:
    """Euclidean cost of a cluster, (1/2) sum_k w_k |tau(x_k) - yt|^2 = (1/2) sum_k w_k |H u - b|^2 (3.15).

    Arguments as in `generator`.
    """
    residual = H * u - b[..., None, :]
    return 0.5 * np.einsum("...ki,...ki,...k->...", residual, residual, w)


def cost_from_moments(
    J: Float[Array, "Q"], S: Float[Array, "Q Q Q"], R: Float[Array, "Q Q"], b: Float[Array, "Q"]
) -> float:
    """Cost C = (1/2) sum_i (r_i^T S_i r_i + (1 - J_i) b_i^2), exact.

    Ours: the cost (3.15) from moments.

    Arguments as in `generator_from_moments`.
    """
    return 0.5 * float(np.einsum("ia,iab,ib->", R, S, R) + (1.0 - J) @ (b * b))


def dissipation(
    Jp: Float[Array, "*batch Q"], b: Float[Array, "*batch Q"], Omega: Float[Array, "*batch Q Q"]
) -> Float[Array, "*batch"]:
    """Rate of change of the cost along the flow, dC/ds = -|Jp b|^2 - Tr(Omega^T Omega) (3.25)-(3.26), batched."""
    return -np.sum((Jp * b) ** 2, axis=-1) - np.sum(Omega**2, axis=(-2, -1))


def cost_decomposition(images: Float[ArrayLike, "N Q"], yt: Float[ArrayLike, "Q"]) -> tuple[float, float]:
    """Split of the cost (3.7): half the variance within the cluster, half the squared distance of its mean."""
    images = inputs.points(images, "images")
    mean = images.mean(axis=0)
    within = 0.5 * float(np.mean(np.sum((images - mean) ** 2, axis=1)))
    return within, 0.5 * float(np.sum((mean - arguments.shaped(yt, "yt", (images.shape[1],))) ** 2))


def truncated_residual(b: Float[Array, "Q"], Omega: Float[Array, "Q Q"], Jp: Float[Array, "Q"]) -> Float[Array, "Q"]:
    """Motion of b = R (beta + yt): db/ds = Omega b - Jp b (4.23), valid for dR = +Omega R."""
    return Omega @ b - Jp * b


def release_time(
    X: Float[ArrayLike, "N Q"], R: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"], yt: Float[ArrayLike, "Q"]
) -> float:
    """First time at which a coordinate of a fully truncated cluster reaches 0; infinite if never.

    While it is truncated, u(s) = e^{-s} u(0) + (1 - e^{-s}) v, v = R (x - yt), so u_i reaches 0 at
    log(1 - u_i(0)/v_i) where v_i > 0, and never where v_i <= 0, as (4.16) asks.
    The point then crosses the plane, or slides on it.

    Arguments as in `effective_gradient`.

    Raises:
        ValueError: if the cluster is not fully truncated at the start, or as `effective_gradient`.
    """
    X, R, beta = inputs.cluster_state(X, R, beta)
    u, v = (X + beta) @ R.T, (X - arguments.shaped(yt, "yt", (X.shape[1],))) @ R.T
    if np.any(u > 0):
        raise arguments.refuse("beta", "a cluster that is not fully truncated", "R (x + beta) <= 0 for all points")
    turning = v > 0
    return float(np.log1p(-u[turning] / v[turning]).min()) if turning.any() else np.inf


def generator_bound(
    H: Float[Array, "N Q"], u: Float[Array, "N Q"], b: Float[Array, "Q"], w: Float[Array, "N"]
) -> float:
    r"""(4.25): ||Omega|| <= |b| int_off |u|, over points neither all on nor all off; for clusters that meet (4.16).

    (4.16) at beta = -yt says v = u - b <= 0. With M = (u b^T + b u^T - u u^T)/2 the off-diagonal block of [H, M] is
    H M (1-H) = (Hu ((1-H)b)^T + H(b-u) ((1-H)u)^T)/2. Where H_i = 1, 0 < u_i = v_i + b_i <= b_i, so |Hu| <= |Hb| and
    |H(b-u)| <= |Hb|, and the norm is at most |u||b|/2 per point: half of what (4.25) allows. Without (4.16) it fails.

    Arguments as in `generator`.
    """
    partial = np.any(H > 0, axis=1) & np.any(H == 0, axis=1)
    return float(np.linalg.norm(b) * (w[partial] @ np.linalg.norm(u, axis=1)[partial]))
