r"""Population kernels k(u, v) = E sigma(u^T x) sigma(v^T x), x ~ N(0, Sigma), in closed form: no sampling.

ReLU (arc-cosine) and erf (arcsine). The ReLU forms hold for every rotation-invariant Sigma^{-1/2} x with
E |Sigma^{-1/2} x|^2 = d, so also for bounded data on the ellipsoid. A weighted sum of kernels is the
potential E residual(x) sigma(u^T x), its gradient the moment E residual(x) sigma'(u^T x) x.

Used by section 4 of Ma and Ying, whose experiments leave the data's law open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite, one_of
from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory import arguments
from repdyn.bn_mean_field.theory.manifold import unchecked_norm

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

ACTIVATIONS = ("relu", "erf")
PAIRS_PER_BLOCK = 2_000_000  # 16 MB per temporary: the m x n kernel is never held whole


def relu_kernel(
    u: Float[ArrayLike, "*#batch m d"], v: Float[ArrayLike, "*#batch n d"], cov: Float[ArrayLike, "d d"]
) -> Float[Array, "*batch m n"]:
    r"""E relu(u^T x) relu(v^T x) = ||u|| ||v|| (sin theta + (pi - theta) cos theta) / (2 pi), Sigma-norms.

    Ours: the integrals of (21) and (22) for Gaussian inputs, which the paper does not take.

    Args:
        u: first weights.
        v: second weights.
        cov: covariance Sigma.

    Returns:
        Kernel; equal rows give ||u||^2/2 to rounding.
    """
    cov = arguments.covariance(cov)
    u, v = arguments.vectors(u, len(cov), "u"), arguments.vectors(v, len(cov), "v")
    lengths = unchecked_norm(u, cov)[..., :, None] * unchecked_norm(v, cov)[..., None, :]
    cosine, sine, angle = _angles(u, v, cov)
    return lengths * (sine + (np.pi - angle) * cosine) / (2 * np.pi)


def relu_kernel_grad(
    u: Float[ArrayLike, "*#batch m d"],
    v: Float[ArrayLike, "*#batch n d"],
    weights: Float[ArrayLike, "*#batch n"],
    cov: Float[ArrayLike, "d d"],
) -> Float[Array, "*batch m d"]:
    r"""Gradient in u of the ReLU potential: sum_j w_j E relu'(u^T x) relu(v_j^T x) x.

    One source contributes Sigma [||v||_Sigma sin(theta) ubar + (pi - theta) v] / (2 pi).

    The gradient of `potential`.

    Ours: (21) and (22) for Gaussian inputs.

    Args:
        u: points.
        v: sources.
        weights: source weights w.
        cov: covariance Sigma.
    """
    return potential(u, v, weights, cov)[1]


def erf_kernel(
    u: Float[ArrayLike, "*#batch m d"], v: Float[ArrayLike, "*#batch n d"], cov: Float[ArrayLike, "d d"]
) -> Float[Array, "*batch m n"]:
    r"""E erf(u^T x) erf(v^T x) = (2/pi) arcsin(2 u^T Sigma v / sqrt((1 + 2 ||u||^2)(1 + 2 ||v||^2))).

    For unit Sigma-norms and correlation rho this is (2/pi) arcsin(2 rho / 3). Gaussian x only; arguments and shape as
    in `relu_kernel`.

    Example:
        >>> erf_kernel([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]).round(4).tolist()
        [[0.4646, 0.0]]
    """
    cov = arguments.covariance(cov)
    u, v = arguments.vectors(u, len(cov), "u"), arguments.vectors(v, len(cov), "v")
    return 2 / np.pi * np.arcsin(_erf_correlation(u, v, cov)[0])


def potential(
    u: Float[ArrayLike, "*#batch m d"],
    v: Float[ArrayLike, "*#batch n d"],
    weights: Float[ArrayLike, "*#batch n"],
    cov: Float[ArrayLike, "d d"],
    activation: str = "relu",
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    r"""The potential F(u) = sum_j w_j k(u, v_j) = E residual sigma(u^T x) and its gradient, block by block.

    Ours: the force and the moment of (21) and (22) for Gaussian inputs.

    Args:
        u: points.
        v: sources.
        weights: source weights w.
        cov: covariance Sigma.
        activation: "relu" or "erf".

    Returns:
        F, and its gradient E residual sigma'(u^T x) x.
    """
    cov = arguments.covariance(cov)
    u, v = arguments.vectors(u, len(cov), "u"), arguments.vectors(v, len(cov), "v")
    return unchecked_potential(u, v, finite(weights, "weights"), cov, activation)


def unchecked_potential(
    u: Float[Array, "*#batch m d"],
    v: Float[Array, "*#batch n d"],
    weights: Float[Array, "*#batch n"],
    cov: Float[Array, "d d"],
    activation: str,
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """`potential` without its input checks, for loops that checked once.

    Ours: (21) and (22) for Gaussian inputs.

    Arguments as in `potential`.
    """
    form = _relu_potential if one_of(activation, ACTIVATIONS, "activation") == "relu" else _erf_potential
    rows = max(1, PAIRS_PER_BLOCK // max(1, v[..., 0].size))
    blocks = [form(u[..., i : i + rows, :], v, weights, cov) for i in range(0, u.shape[-2], rows)]
    return np.concatenate([f for f, _ in blocks], axis=-1), np.concatenate([g for _, g in blocks], axis=-2)


def _angles(u: Array, v: Array, cov: Array) -> tuple[Array, Array, Array]:
    """Cosine, sine and angle of all pairs in the Sigma inner product; the cosine is clipped to [-1, 1]."""
    ubar, vbar = u / unchecked_norm(u, cov)[..., None], v / unchecked_norm(v, cov)[..., None]
    cosine = np.clip(ubar @ cov @ np.swapaxes(vbar, -1, -2), -1.0, 1.0)
    return cosine, np.sqrt((1 - cosine) * (1 + cosine)), np.arccos(cosine)


def _relu_potential(u: Array, v: Array, weights: Array, cov: Array) -> tuple[Array, Array]:
    cosine, sine, angle = _angles(u, v, cov)
    charge = weights * unchecked_norm(v, cov) / (2 * np.pi)
    along = np.matmul(sine, charge[..., None])[..., 0]
    turned = np.matmul((np.pi - angle) * cosine, charge[..., None])[..., 0]
    length = unchecked_norm(u, cov)
    pull = (np.pi - angle) @ (weights[..., None] * v) / (2 * np.pi)
    return length * (along + turned), (along[..., None] * u / length[..., None] + pull) @ cov


def _erf_correlation(u: Array, v: Array, cov: Array) -> tuple[Array, Array, Array]:
    """Correlation rho = 2 u^T Sigma v / sqrt(p q), p = 1 + 2 ||u||^2 (column), q = 1 + 2 ||v||^2 (row)."""
    p = 1 + 2 * unchecked_norm(u, cov)[..., :, None] ** 2
    q = 1 + 2 * unchecked_norm(v, cov)[..., None, :] ** 2
    return 2 * (u @ cov @ np.swapaxes(v, -1, -2)) / np.sqrt(p * q), p, q


def _erf_potential(u: Array, v: Array, weights: Array, cov: Array) -> tuple[Array, Array]:
    rho, p, q = _erf_correlation(u, v, cov)
    value = 2 / np.pi * np.matmul(np.arcsin(rho), weights[..., None])[..., 0]
    slope = 4 / np.pi / np.sqrt(1 - rho**2) * weights[..., None, :]
    toward = (slope / np.sqrt(p * q)) @ v
    inward = np.sum(slope * rho, axis=-1, keepdims=True) / p * u
    return value, (toward - inward) @ cov
