r"""Geometry of M = R x Omega, Omega = {b : b^T Sigma b = 1}: metric, projector, gradient, distance.

Ma and Ying, "A Riemannian Mean Field Formulation for Two-layer Neural Networks with Batch Normalization",
section 2. Vectors are rows: m of them are an array (m, d); leading axes are a batch. Throughout `cov` is the
covariance Sigma of the data, shape (d, d), `b` are nonzero vectors, shape (..., m, d), and
A(b) = (I - b b^T Sigma)(I - Sigma b b^T), which the metric and the gradients rest on, is for points b of Omega alone;
others are refused. The metric of the paper is the round metric of the unit sphere in the coordinates u = b/||b||, so
distances are angles and no geodesic is ever integrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite
from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory import arguments

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def sigma_norm(b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]) -> Float[Array, "*batch m"]:
    r"""Norm in the data's inner product: ||b||_Sigma = sqrt(b^T Sigma b), deviation of b^T x (after eq. 3).

    The paper prints the norm as sqrt(b^T Sigma b^T), which has no meaning as a matrix product.

    Returns:
        Norms, units of the pre-activation.

    Example:
        >>> sigma_norm([[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]).tolist()
        [2.0, 1.0]
    """
    cov = arguments.covariance(cov)
    return unchecked_norm(arguments.vectors(b, len(cov)), cov)


def unchecked_norm(b: Float[Array, "*batch m d"], cov: Float[Array, "d d"]) -> Float[Array, "*batch m"]:
    """`sigma_norm` without its input checks, for loops that checked once.

    The norm of eq. (3).
    """
    return np.sqrt(np.sum(b @ cov * b, axis=-1))


def normalize(b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]) -> Float[Array, "*batch m d"]:
    """The map T onto Omega: bbar = b / ||b||_Sigma, so that bbar^T x has unit variance (eqs. 3, 12).

    Returns:
        Points of Omega.
    """
    return np.asarray(b, dtype=np.float64) / sigma_norm(b, cov)[..., None]


def condition_operator(b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]) -> Float[Array, "*batch m d d"]:
    """A(b) = (I - b b^T Sigma)(I - Sigma b b^T) of eq. (7); its null space is span(Sigma b).

    Returns:
        Matrices, symmetric positive semi-definite.
    """
    cov = arguments.covariance(cov)
    b = arguments.on_omega(b, cov)
    right = np.eye(len(cov)) - (b @ cov)[..., :, None] * b[..., None, :]
    return np.swapaxes(right, -1, -2) @ right


def tangent_projector(b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]) -> Float[Array, "*batch m d d"]:
    """Orthogonal projector onto T_b Omega: P = I - Sigma b b^T Sigma / (b^T Sigma^2 b) (proof of Theorem 2).

    Any positive multiple of a point gives the same matrix.

    Returns:
        Matrices.
    """
    cov = arguments.covariance(cov)
    normal = arguments.vectors(b, len(cov)) @ cov
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.eye(len(cov)) - normal[..., :, None] * normal[..., None, :]


def bn_metric(b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]) -> Float[Array, "*batch m d d"]:
    r"""The metric G_b = ||b||^{-2} P [A(b)]^+ of section 2.2, as the paper writes it.

    The projector is redundant (A^+ has the range of A, which is T_b Omega). For audits and small m: the
    dynamics never form this pseudo-inverse, they use A itself (`riemannian_gradient`).

    Returns:
        Matrices, shape (..., m, d, d), with G Sigma b = 0.
    """
    pseudo_inverse = np.linalg.pinv(condition_operator(b, cov), hermitian=True, rcond=1e-12)
    squared_norm = np.sum(np.square(b), axis=-1)[..., None, None]
    return tangent_projector(b, cov) @ pseudo_inverse / squared_norm


def round_metric(b: Float[ArrayLike, "*batch m d"]) -> Float[Array, "*batch m d d"]:
    r"""Pull-back of the round unit sphere under b -> b/||b||: (I - u u^T)/||b||^2, u = b/||b||.

    Equals G_b on tangent vectors of Omega (not in the paper): for tangent alpha, A beta = alpha has
    the solution beta = P w with w = (I - u u^T) alpha, so alpha^T A^+ alpha = alpha^T w = |w|^2.

    Ours: another form of the metric of Section 2.2.

    Returns:
        Matrices.
    """
    b = arguments.vectors(b, np.shape(b)[-1])
    squared_norm = np.sum(b**2, axis=-1)[..., None, None]
    return (np.eye(b.shape[-1]) - b[..., :, None] * b[..., None, :] / squared_norm) / squared_norm


def riemannian_gradient(
    grad: Float[ArrayLike, "*batch m d"], b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]
) -> Float[Array, "*batch m d"]:
    r"""Manifold gradient G_b^+ P grad = ||b||^2 A(b) grad of a function with Euclidean gradient `grad`.

    The display that ends the proof of Theorem 2, evaluated as two projections in O(m d^2). `grad` and the tangent
    vectors of Omega that are returned have the shape of b.
    """
    cov = arguments.covariance(cov)
    b = arguments.on_omega(b, cov)
    grad = finite(grad, "grad")
    if grad.shape != b.shape:
        raise ValueError(f"grad has shape {grad.shape}, b {b.shape}; expected the same shape (..., m, d)")
    return unchecked_gradient(grad, b, cov)


def unchecked_gradient(
    grad: Float[Array, "*batch m d"], b: Float[Array, "*batch m d"], cov: Float[Array, "d d"]
) -> Float[Array, "*batch m d"]:
    """`riemannian_gradient` without its input checks, for loops that checked once.

    As in Theorem 2.
    """
    tangent = grad - (b @ cov) * np.sum(b * grad, axis=-1, keepdims=True)
    tangent = tangent - b * np.sum((b @ cov) * tangent, axis=-1, keepdims=True)
    return np.sum(b**2, axis=-1, keepdims=True) * tangent


def gradient_by_metric(
    grad: Float[ArrayLike, "m d"], b: Float[ArrayLike, "m d"], cov: Float[ArrayLike, "d d"]
) -> Float[Array, "m d"]:
    r"""G_b^+ P grad with G formed and inverted, as the proof of Theorem 2 has it: for audits, shapes (m, d)."""
    inverse = np.linalg.pinv(bn_metric(b, cov), rcond=1e-12)
    return np.einsum("mij,mjk,mk->mi", inverse, tangent_projector(b, cov), finite(grad, "grad"))


def smallest_metric_eigenvalue(
    b: Float[ArrayLike, "*batch m d"], cov: Float[ArrayLike, "d d"]
) -> Float[Array, "*batch m"]:
    r"""Smallest eigenvalue of ||b||^2 G_b on T_b Omega: cos^2 of the angle between b and Sigma b.

    All other eigenvalues are 1 (not in the paper, which proves positivity only).

    Ours: how positive the metric of Proposition 1 is.

    Returns:
        Eigenvalues in (0, 1].
    """
    cov = arguments.covariance(cov)
    b = arguments.vectors(b, len(cov))
    cosine = np.sum(b * (b @ cov), axis=-1)
    return cosine**2 / (np.sum(b**2, axis=-1) * np.sum((b @ cov) ** 2, axis=-1))


def kantorovich_bound(condition_number: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """Lower bound 4 k/(k+1)^2 of `smallest_metric_eigenvalue` over all b (Kantorovich's inequality).

    Args:
        condition_number: ratio k >= 1 of the largest to the smallest eigenvalue of Sigma.

    Returns:
        The bound, same shape.

    Example:
        >>> kantorovich_bound([1.0, 10.0]).round(3).tolist()
        [1.0, 0.331]
    """
    k = finite(condition_number, "condition_number")
    if (k < 1).any():
        raise ValueError(f"condition_number is {k.min():.3g}; expected k >= 1")
    return 4 * k / (k + 1) ** 2


def angle(b1: Float[ArrayLike, "m d"], b2: Float[ArrayLike, "n d"]) -> Float[Array, "m n"]:
    """Angle between rows, 2 arctan2(|u1 - u2|, |u1 + u2|), accurate also at 0 and pi.

    Ours: distances on M are angles, see `round_metric`.

    Args:
        b1: vectors.
        b2: vectors.

    Returns:
        Angles in [0, pi], radians.
    """
    first, second = (arguments.vectors(b, np.shape(b)[-1]) for b in (b1, b2))
    u, v = (b / np.linalg.norm(b, axis=-1, keepdims=True) for b in (first, second))
    if u.shape[-1] == 2:
        turn = np.arctan2(u[:, 1], u[:, 0])[:, None] - np.arctan2(v[:, 1], v[:, 0])[None, :]
        return np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi)))
    apart, along = u[:, None, :] - v[None, :, :], u[:, None, :] + v[None, :, :]
    return 2 * np.arctan2(np.linalg.norm(apart, axis=-1), np.linalg.norm(along, axis=-1))


def geodesic_distance(
    a1: Float[ArrayLike, "m"], b1: Float[ArrayLike, "m d"], a2: Float[ArrayLike, "n"], b2: Float[ArrayLike, "n d"]
) -> Float[Array, "m n"]:
    r"""Distance on M between all pairs: dist^2 = (a - a')^2 + angle(b, b')^2, exact for every Sigma.

    The distance of eq. (16); exact because G is the round metric in u = b/||b|| (`round_metric`).

    Args:
        a1: output weights.
        b1: inner weights, any nonzero length.
        a2: output weights.
        b2: inner weights.

    Returns:
        Distances.

    Example:
        >>> geodesic_distance([0.0], [[2.0, 0.0]], [1.0], [[0.0, 3.0]]).round(3).tolist()  # sqrt(1 + (pi/2)^2)
        [[1.862]]
    """
    a1, b1 = arguments.particles(a1, b1, np.shape(b1)[-1])
    a2, b2 = arguments.particles(a2, b2, b1.shape[-1])
    return np.hypot(a1[:, None] - a2[None, :], angle(b1, b2))
