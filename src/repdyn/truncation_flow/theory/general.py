r"""The gradient flow of L layers of truncation maps acting on all clusters: Chen, Theorem 5.1 and Section 7.

z_0 = x, z_l = tau_l(z_{l-1}), u_l = R_l (z_{l-1} + beta_l), P_l = R_l^T H_l R_l, e = z_L - yt_c, c the cluster of x.
Corrected flow, with v_l = P_{l+1}^T ... P_L^T e::

    d(beta_l)/ds = + sum_c E_c[(1 - P_l)^T v_l],   dR_l/ds = Omega_l R_l,
    Omega_l = - sum_c E_c[ [H_l, (a u_l^T + u_l a^T)/2] ],  a = R_l v_l.

Printed (5.4) has a minus sign, a sum over layers, only the clusters c >= l, and a label without index.

Batch axes lead: R (..., L, Q, Q), beta (..., L, Q), points z (..., n, Q). Every point has its own weight
w (..., n) or (n,); cluster c of N_c points has weights 1/N_c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base import arguments
from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import inputs

if TYPE_CHECKING:
    from repdyn.base.arrays import Bool, Float, Int


class ForwardPass(NamedTuple):
    """What the flow needs of a pass through L layers: z_0..z_L, u_1..u_L and H_1..H_L, lists over layers."""

    z: list[Array]
    u: list[Array]
    H: list[NDArray[np.bool_]]


class GeneralGradient(NamedTuple):
    """Velocity of all layers: `dbeta` (..., L, Q), `Omega` (..., L, Q, Q), and the `cost` (...)."""

    dbeta: Array
    Omega: Array
    cost: Array


def general_effective_gradient(
    X: Float[ArrayLike, "n Q"],
    cluster: Int[ArrayLike, "n"],
    R: Float[ArrayLike, "L Q Q"],
    beta: Float[ArrayLike, "L Q"],
    yt: Float[ArrayLike, "K Q"],
) -> GeneralGradient:
    """Corrected velocity of Theorem 5.1 for data in clusters, any number L of layers.

    Args:
        X: all points, input units.
        cluster: index of each point's cluster, 0 .. K-1.
        R: orthogonal matrices.
        beta: pulled-back biases, input units.
        yt: pulled-back labels, one row per cluster, input units.

    Returns:
        `dbeta` (L, Q), `Omega` (L, Q, Q) with dR_l/ds = Omega_l R_l, and the Euclidean `cost` (2.26).

    Raises:
        ValueError: if shapes disagree, a cluster is empty, an R_l is not orthogonal or a number is not finite.
    """
    X, yt = inputs.points(X), inputs.points(yt, "yt")
    R = inputs.rotations(R, X.shape[1], "R")
    beta = arguments.shaped(beta, "beta", R.shape[:2], "one row per layer of R")
    index = arguments.shaped(cluster, "cluster", (len(X),), "one index per point").astype(int)
    if not np.array_equal(index, cluster):
        raise arguments.refuse("cluster", "indices that are no integers", f"integers from 0 to {len(yt) - 1}")
    weights = cluster_weights(index, len(yt))
    passed = forward(X, R, beta)
    residual = passed.z[-1] - yt[index]
    return GeneralGradient(*pull_back(passed, R, residual, weights), weighted_cost(residual, weights))


def weighted_cost(residual: Float[Array, "*batch n Q"], w: Float[Array, "*#batch n"]) -> Float[Array, "*batch"]:
    """Half the weighted sum of squared residuals (..., n, Q) of all points.

    The Euclidean cost (2.26).
    """
    return 0.5 * np.sum(w * np.sum(residual**2, axis=-1), axis=-1)


def cluster_weights(cluster: Int[NDArray[np.intp], "n"], K: int) -> Float[Array, "n"]:
    """Weight 1/N_c of every point, c its cluster (2.26).

    Raises:
        ValueError: if one of the K clusters has no point.
    """
    sizes = np.bincount(cluster, minlength=K) if np.min(cluster) >= 0 else np.zeros(K)
    if len(sizes) > K or np.any(sizes == 0):
        got = f"indices from {np.min(cluster)} to {np.max(cluster)}, sizes {sizes.tolist()}"
        raise arguments.refuse("cluster", got, f"{K} non-empty clusters, 0 to {K - 1}, one per row of yt")
    return 1.0 / sizes[cluster]


def forward(
    X: Float[Array, "*#batch n Q"], R: Float[Array, "*batch L Q Q"], beta: Float[Array, "*batch L Q"]
) -> ForwardPass:
    """Apply the L truncation maps in turn (7.1), keeping what the gradient needs."""
    z, pre, patterns = [X], [], []
    for layer in range(R.shape[-3]):
        rotation, offset = R[..., layer, :, :], beta[..., layer, None, :]
        u = (z[-1] + offset) @ rotation.mT
        H = u > 0
        z.append((H * u) @ rotation - offset)
        pre.append(u)
        patterns.append(H)
    return ForwardPass(z, pre, patterns)


def pull_back(
    passed: ForwardPass,
    R: Float[Array, "*batch L Q Q"],
    residual: Float[Array, "*batch n Q"],
    w: Float[Array, "*#batch n"],
) -> tuple[Float[Array, "*batch L Q"], Float[Array, "*batch L Q Q"]]:
    """Velocities of (beta_l, R_l) for a cost whose derivative in the output z_L is `residual`, weighted by w.

    The products P_L^T ... P_{l+1}^T of (5.1)-(5.2) are applied from the output inwards, which is reverse-mode
    differentiation by hand.

    Args:
        passed: a pass of `forward`.
        R: orthogonal matrices.
        residual: derivative of the cost in z_L over the weight of the point.
        w: weight of each point.
    """
    dbeta, generators, v = [], [], residual
    for layer in reversed(range(R.shape[-3])):
        rotation, u, H = R[..., layer, :, :], passed.u[layer], passed.H[layer]
        a = v @ rotation.mT
        off = np.einsum("...ki,...k->...i", ~H * a, w)
        dbeta.append(np.einsum("...ji,...j->...i", rotation, off))
        generators.append(-layer_generator(H, a, u, w))
        v = (H * a) @ rotation
    return np.stack(dbeta[::-1], axis=-2), np.stack(generators[::-1], axis=-3)


def layer_generator(
    H: Bool[NDArray[np.bool_], "*batch n Q"],
    a: Float[Array, "*batch n Q"],
    u: Float[Array, "*batch n Q"],
    w: Float[Array, "*#batch n"],
) -> Float[Array, "*batch Q Q"]:
    """Sum of commutators sum_k w_k [H_k, (a_k u_k^T + u_k a_k^T)/2] (5.6)-(5.7), batched.

    Args:
        H: activation patterns of the layer.
        a: R_l v_l of each point, the error pulled back to the layer.
        u: pre-activations of the layer, input units.
        w: weight of each point.
    """
    weighted = H * w[..., None]
    G = (weighted * a).mT @ u + (weighted * u).mT @ a
    return 0.5 * (G - G.mT)


def forward_product(passed: ForwardPass, R: Float[Array, "L Q Q"], first: int, point: int) -> Float[Array, "Q Q"]:
    """P^+ of (5.1) for one point: P_L ... P_first (layers from 1; the identity if first = L + 1).

    Args:
        passed: a pass of `forward`.
        R: orthogonal matrices.
        first: first layer of the product, from 1.
        point: index of the point.
    """
    product = np.eye(R.shape[-1])
    for layer in range(first - 1, len(R)):
        product = R[layer].T @ (passed.H[layer][point][:, None] * R[layer]) @ product
    return product


def truncating_product(passed: ForwardPass, R: Float[Array, "L Q Q"], layer: int, point: int) -> Float[Array, "Q Q"]:
    """P^- of (5.2) for one point: P_L ... P_{layer+1} (1 - P_layer), layers from 1.

    Args:
        passed: a pass of `forward`.
        R: orthogonal matrices.
        layer: the layer that truncates, from 1.
        point: index of the point.
    """
    off = R[layer - 1].T @ (~passed.H[layer - 1][point][:, None] * R[layer - 1])
    return forward_product(passed, R, layer + 1, point) @ off


def composition_by_products(
    passed: ForwardPass, R: Float[Array, "L Q Q"], beta: Float[Array, "L Q"], first: int, point: int
) -> Float[Array, "Q"]:
    """Lemma 7.1, (7.2): tau^(L..first)(z) = P^+ z_{first-1} - sum_{m >= first} P^-_m beta_m for one point.

    Args:
        passed: a pass of `forward`.
        R: orthogonal matrices.
        beta: pulled-back biases, input units.
        first: first layer of the composition, from 1.
        point: index of the point.
    """
    image = forward_product(passed, R, first, point) @ passed.z[first - 1][point]
    for layer in range(first, len(R) + 1):
        image = image - truncating_product(passed, R, layer, point) @ beta[layer - 1]
    return image


def bias_gradient_of_point(
    passed: ForwardPass,
    R: Float[Array, "L Q Q"],
    beta: Float[Array, "L Q"],
    yt: Float[Array, "Q"],
    layer: int,
    point: int,
) -> Float[Array, "Q"]:
    """Corrected (7.11), as (7.14): the gradient in beta_l is -(P^-_l)^T (P^+_l z_{l-1} - sum P^- beta - yt).

    Args:
        passed: a pass of `forward`.
        R: orthogonal matrices.
        beta: pulled-back biases, input units.
        yt: pulled-back label of the point, input units.
        layer: layer l, from 1.
        point: index of the point.
    """
    return -bias_gradient_of_point_as_printed(passed, R, beta, yt, layer, point)


def bias_gradient_of_point_as_printed(
    passed: ForwardPass,
    R: Float[Array, "L Q Q"],
    beta: Float[Array, "L Q"],
    yt: Float[Array, "Q"],
    layer: int,
    point: int,
) -> Float[Array, "Q"]:
    """(7.11) as printed, without the minus sign that the last line of its own proof (7.14) has.

    Arguments as in `bias_gradient_of_point`.
    """
    residual = composition_by_products(passed, R, beta, layer, point) - yt
    return truncating_product(passed, R, layer, point).T @ residual


def bias_velocity_as_printed(
    X: Float[Array, "n Q"],
    cluster: Int[NDArray[np.intp], "n"],
    R: Float[Array, "Q Q Q"],
    beta: Float[Array, "Q Q"],
    yt: Float[Array, "Q Q"],
) -> Float[Array, "Q Q"]:
    """(5.4) as printed, for L = Q: d(beta_l)/ds = - sum_{c >= l} E_c[(P^-_c)^T (z_Q - yt_c)].

    One index serves as layer of the product and as cluster; the label, printed without index, is the cluster's.

    Args:
        X: points of all clusters, input units.
        cluster: cluster of each point, 0 to Q - 1.
        R: orthogonal matrices.
        beta: pulled-back biases, input units.
        yt: pulled-back labels, one per row, input units.
    """
    passed, L = forward(X, R, beta), len(R)
    weights = cluster_weights(cluster, len(yt))
    contribution = np.zeros_like(beta)
    for point, c in enumerate(cluster):
        residual = passed.z[-1][point] - yt[c]
        contribution[c] -= weights[point] * truncating_product(passed, R, c + 1, point).T @ residual
    return np.array([contribution[layer:].sum(axis=0) for layer in range(L)])
