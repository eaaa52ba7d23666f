r"""One Gaussian layer of recentering and ReLU on "one odd point and a cluster": Definition 12, Theorems 13 and 14.

Column 0 of X is the odd point x_1, the others are the cluster with mean nu_c. W is d x k with i.i.d. entries
N(0, sigma^2), sigma^2 = 2 alpha / d, x~ = x - mean of the batch, and x' = ReLU(W x~). Expectations are over W
and in closed form; they are sums over neurons, so expected squared norms and inner products do not depend on
the width d, while expected norms do. Throughout, X is a batch of shape (k, n), and a bad one raises ValueError
(`layers.as_batch`). Paper: Nachum, Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed", Appendix F.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy
from scipy.special import gammaln, logsumexp

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.kernel import arccos_kernel_complement, expected_gram_step
from repdyn.bn_decomposed.theory.layers import as_batch

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

Complement = Callable[[Array], Array]


def invariant_representation(n: int, k: int = 2) -> Float[Array, "k n"]:
    r"""The representation of Definition 12 in the coordinates of Appendix F: x_1 = e_1, nu_c = e_2 / (n - 1).

    Args:
        n: number of points, n >= 2.
        k: dimension, k >= 2.

    Returns:
        Batch.

    Raises:
        ValueError: n < 2 or k < 2.
    """
    if n < 2 or k < 2:
        raise ValueError(f"got n = {n} points in k = {k} dimensions, expected at least 2 of each")
    X = np.zeros((k, n))
    X[0, 0] = 1.0
    X[1, 1:] = 1.0 / (n - 1)
    return X


def perturbed_invariant(n: int, spread: float, rng: np.random.Generator, k: int = 100) -> Float[Array, "k n"]:
    r"""Definition 12 with a cluster of finite size: ||x_i - nu_c|| of root mean square `spread`, mean kept at nu_c.

    The displacements are isotropic Gaussian in the k - 2 dimensions orthogonal to x_1 and nu_c.

    Args:
        n: number of points, n >= 3.
        spread: root mean square distance from nu_c; Theorem 14 asks for less than 1/n^2.
        rng: source of the displacements.
        k: dimension, k >= 3.

    Returns:
        Batch.

    Raises:
        ValueError: n < 3, k < 3 or spread < 0.
    """
    if n < 3 or k < 3 or not spread >= 0:
        raise ValueError(f"got n = {n}, k = {k}, spread = {spread}, expected n >= 3, k >= 3 and spread >= 0")
    X = invariant_representation(n, k)
    shift = rng.standard_normal((k - 2, n - 1))
    shift -= shift.mean(axis=1, keepdims=True)
    X[2:, 1:] = spread * np.sqrt(n - 1) / np.linalg.norm(shift) * shift
    return X


def separated_cluster(n: int, R: float, spread: float, rng: np.random.Generator, k: int = 100) -> Float[Array, "k n"]:
    r"""A point at distance R from the mean of a cluster, all directions at random: all that Theorem 14 needs.

    nu_c is Gaussian of mean square 1, x_1 = nu_c + R u with u uniform on the sphere, and the displacements of the
    cluster are isotropic Gaussian of root mean square `spread` about nu_c.

    Args:
        n: number of points, n >= 3.
        R: ||x_1 - nu_c||, > 0.
        spread: root mean square distance from nu_c, >= 0.
        rng: source of the directions.
        k: dimension, k >= 1.

    Returns:
        Batch.

    Raises:
        ValueError: n < 3, k < 1, R <= 0 or spread < 0.
    """
    if n < 3 or k < 1 or not R > 0 or not spread >= 0:
        raise ValueError(
            f"got n = {n}, k = {k}, R = {R}, spread = {spread}, expected n >= 3, k >= 1, R > 0, spread >= 0"
        )
    nu, u = rng.standard_normal((2, k))
    shift = rng.standard_normal((k, n - 1))
    shift -= shift.mean(axis=1, keepdims=True)
    shift *= spread * np.sqrt(n - 1) / np.linalg.norm(shift)
    nu /= np.sqrt(k)
    return np.column_stack([nu + R * u / np.linalg.norm(u), nu[:, None] + shift])


def theorem13_alpha(n: int) -> float:
    """Theorem 13: alpha = n^2 / (n^2 - 2 n + 2), above 1: it restores ||x_1|| after recentering."""
    return n**2 / (n**2 - 2 * n + 2)


def theorem14_alpha(n: int, R: float) -> float:
    """Theorem 14: alpha = n^2 / ((n-1)^2 R^2), below 1 exactly when R > n / (n-1)."""
    return n**2 / ((n - 1) ** 2 * R**2)


def with_cluster_mean(X: Float[Array, "k n"]) -> Float[Array, "k n+1"]:
    """Recentered batch with the mean of its cluster appended, x~_1, ..., x~_n, x~_{n+1} = nu_c - mean, (99)-(104)."""
    X = as_batch(X)
    extended = np.column_stack([X, X[:, 1:].mean(axis=1)])
    return extended - X.mean(axis=1, keepdims=True)


def expected_next_gram(X: Float[Array, "k n"], alpha: float) -> Float[Array, "n n"]:
    r"""E[X'^T X'] of the next layer, eqs. (98) and (111), shape (n, n), any width: what Theorem 13 is true of."""
    X = as_batch(X)
    return expected_gram_step(X.T @ X, scale=alpha)


def expected_norm_ratio(d: int) -> float:
    r"""E||ReLU(W x)|| / sqrt(E||ReLU(W x)||^2) at width d: 1 - 5/(8 d) + O(1/d^2), never 1.

    Given that k of the d entries are positive (binomial) the norm is a chi variable with k degrees of
    freedom: sqrt(2/d) sum_k C(d, k) 2^{-d} sqrt 2 Gamma((k+1)/2) / Gamma(k/2).

    Ours: what items 1 and 2 of Theorem 14 leave out.

    Args:
        d: width, d >= 1.

    Raises:
        ValueError: d < 1.
    """
    if d < 1:
        raise ValueError(f"got width d = {d}, expected at least 1")
    k = np.arange(1, d + 1)
    log_chi = 0.5 * np.log(2) + gammaln((k + 1) / 2) - gammaln(k / 2)
    return float(np.sqrt(2 / d) * np.exp(logsumexp(scipy.stats.binom.logpmf(k, d, 0.5) + log_chi)))


def theorem14_norms_as_printed(n: int) -> tuple[float, float]:
    """Items 1 and 2 as printed: E||x_1'|| = 1 and E||nu_c'|| = 1 / (n-1); right for the root mean squares only.

    Theorem 14, items 1 and 2.
    """
    return 1.0, 1.0 / (n - 1)


def theorem14_square_norms(X: Float[Array, "k n"], alpha: float) -> tuple[float, float]:
    r"""E||x_1'||^2 and E||nu_c'||^2 with nu_c' = ReLU(W nu_c - mu), items 1 and 2 as corrected: 1 and 1/(n-1)^2.

    They need neither the orthogonality nor the norms of Definition 12: x~_1 = ((n-1)/n) (x_1 - nu_c) and nu~
    = -(1/n) (x_1 - nu_c), and with alpha of `theorem14_alpha` at R = ||x_1 - nu_c|| the squares are as
    stated.
    """
    tilde = with_cluster_mean(X)
    return float(alpha * tilde[:, 0] @ tilde[:, 0]), float(alpha * tilde[:, -1] @ tilde[:, -1])


def contraction_factors(
    X: Float[Array, "k n"],
    alpha: float,
    complement: Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]] = arccos_kernel_complement,
) -> Float[Array, "n*(n-1)//2"]:
    r"""E||x_i' - x_j'||^2 / ||x_i - x_j||^2 for the pairs of item 4 of Theorem 14, i < j in 2..n+1.

    The expected square is alpha ((|x~| - |y~|)^2 + 2 |x~| |y~| (1 - kappa)), from coordinates, so that narrow
    clusters keep their digits. It never exceeds alpha, with equality for positively collinear x~, y~ (0
    before the factor's limit for coinciding points, which are left out as NaN).

    Args:
        X: batch, n >= 3.
        alpha: d sigma^2 / 2.
        complement: 1 - kappa(cos theta) of the angle; of another activation, or of a wrong kernel on purpose.

    Returns:
        Factors in the order of `geometry.pair_angles` for x~_2, ..., x~_n, nu~.

    Raises:
        ValueError: bad batch, n < 3, or a cluster point at the mean of the batch.
    """
    after, before = _square_distances(X, alpha, complement)
    return np.divide(after, before, out=np.full_like(after, np.nan), where=before > 0)


def cluster_contraction(X: Float[Array, "k n"], alpha: float) -> float:
    r"""Factor of the total mean square distance within the cluster: sum E||x_i' - x_j'||^2 / sum ||x_i - x_j||^2.

    The cluster's points must not all be equal; errors are those of `contraction_factors`.

    Ours: the average over pairs of the factor of Theorem 14, item 3.
    """
    after, before = _square_distances(X, alpha, arccos_kernel_complement)
    return float(after.sum() / before.sum())


def invariant_distance(n: int) -> float:
    r"""R_inv = ||x_1 - nu_c|| of an invariant representation: sqrt((n-1)^2 + 1) / (n-1).

    R_inv of Definition 12 and Theorem 13 in closed form.
    """
    return float(np.sqrt((n - 1) ** 2 + 1) / (n - 1))


def required_distance(n: int) -> float:
    r"""Theorem 14 asks for R > n / (n-1), which exceeds `invariant_distance` for all n > 1: it contradicts itself."""
    return n / (n - 1)


def cluster_mean_defect(X: Float[Array, "k n"], alpha: float) -> tuple[float, float]:
    r"""How the mean of the new cluster differs from nu_c' = ReLU(W nu_c - mu), which stands for it in items 2 and 3.

    Ours: the error of a step in the proofs of Theorems 13 and 14.

    Returns:
        (E||mean||^2 / E||nu_c'||^2 - 1, E x_1'.mean / sqrt(E||x_1'||^2 E||mean||^2)) for the mean of x_2',
        ..., x_n'.
    """
    K = expected_next_gram(X, alpha)
    _, nu_square = theorem14_square_norms(X, alpha)
    mean_square = K[1:, 1:].mean()
    return float(mean_square / nu_square - 1), float(K[0, 1:].mean() / np.sqrt(K[0, 0] * mean_square))


def _square_distances(X: Array, alpha: float, complement: Complement) -> tuple[Array, Array]:
    points = with_cluster_mean(X)[:, 1:]
    if points.shape[1] < 3:
        raise ValueError(f"got n = {points.shape[1]} points, expected at least 3: one odd point and a cluster")
    i, j = np.triu_indices(points.shape[1], 1)
    length = np.linalg.norm(points, axis=0)
    spread = complement(pair_angles(points))
    after = alpha * ((length[i] - length[j]) ** 2 + 2 * length[i] * length[j] * spread)
    return after, ((points[:, i] - points[:, j]) ** 2).sum(axis=0)
