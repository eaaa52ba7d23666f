r"""The layer of infinite width: what the components of batch normalization do to the Gram matrix G = X'X.

Averaging over i.i.d. Gaussian neurons turns a layer into a deterministic map of G (n x n). The expectation
(8) that Nachum, Bondaschi, Gastpar and Khina ("Batch Normalization Decomposed") call intractable is in closed
form: with H = I - 11'/n recentering is G -> H G H, and ReLU acts by the arc-cosine kernel of eq. (111).

Conventions: H = I - 11'/n, rho cosines, theta angles in radians. A Gram matrix resolves angles only down to
the square root of the rounding error, 1e-8; `odd_cluster` carries the angle itself and has no such limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import jv

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.layers import Rescale

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def arccos_kernel(rho: Float[Array, "*shape"] | float) -> Float[Array, "*shape"]:
    r"""Arc-cosine kernel of degree one, eq. (111): kappa(rho) = (sqrt(1-rho^2) + (pi - arccos rho) rho) / pi.

    kappa(-1) = 0, kappa(0) = 1/pi, kappa(1) = 1.

    Args:
        rho: cosines, any shape; rounding beyond [-1, 1] by up to 1e-9 is clipped.

    Raises:
        ValueError: a cosine beyond [-1, 1].
    """
    rho = np.asarray(rho, dtype=np.float64)
    if not (np.abs(rho) <= 1 + 1e-9).all():
        raise ValueError(
            f"got a cosine of modulus {np.abs(rho).max()}, expected at most 1: normalize the vectors first"
        )
    rho = np.clip(rho, -1.0, 1.0)
    return (np.sqrt((1 - rho) * (1 + rho)) + (np.pi - np.arccos(rho)) * rho) / np.pi


def arccos_kernel_complement(theta: Float[Array, "*shape"] | float) -> Float[Array, "*shape"]:
    r"""1 - kappa(cos theta) = 2 sin^2(theta/2) - (sin theta - theta cos theta) / pi, to full precision.

    For small angles theta^2/2 - theta^3/(3 pi): the second term is what lets a cluster stop contracting.
    Below one radian sin theta - theta cos theta = sqrt(pi theta^3 / 2) J_{3/2}(theta) avoids the
    cancellation.

    Ours: a form of `arccos_kernel`, the expectation (8), without cancellation.

    Args:
        theta: angles in [0, pi], radians, any shape.
    """
    theta = np.asarray(theta, dtype=np.float64)
    bessel = np.sqrt(np.pi * theta**3 / 2) * jv(1.5, theta)
    third_order = np.where(theta < 1, bessel, np.sin(theta) - theta * np.cos(theta))
    return 2 * np.sin(theta / 2) ** 2 - third_order / np.pi


def expected_relu_gram(G: Float[Array, "n n"]) -> Float[Array, "n n"]:
    r"""E ReLU(W x_i).ReLU(W x_j) = ||x_i|| ||x_j|| kappa(rho_ij), eqs. (98) and (111), in units of d sigma^2 / 2.

    Exact for any width d and any batch; W has i.i.d. N(0, sigma^2) entries. The unit is 1 at He's choice
    sigma^2 = 2/d, which keeps norms.

    Args:
        G: Gram matrix X'X.

    Returns:
        Expected Gram matrix of the next batch; its diagonal is that of G.

    Raises:
        ValueError: G is not a symmetric matrix with a diagonal >= 0.
    """
    return _relu_gram(_as_gram(G))


def expected_gram_step(
    G: Float[Array, "n n"], recenter: bool = True, rescale: Rescale = None, scale: float = 1.0, *, relu: bool = True
) -> Float[Array, "n n"]:
    r"""Expected Gram matrix after one Gaussian layer, for every combination of the components.

    Let z ~ N(0, C) be one neuron over the batch, C = H G H with recentering and C = G without. Then::

        rescale None:   G' = scale * K(C),  K = `expected_relu_gram`
        rescale "rms":  G' = scale * 2 E[ReLU(z) ReLU(z)' n / z'z]
        rescale "std":  G' = scale * 2 E[ReLU(z) ReLU(z)' n / z'Hz]

    (without ReLU the same with z z' and no factor 2). All are exact expectations at any n and any width; that
    X'X itself follows them is the limit of infinite width. The rescaled ones use 1/q = int_0^inf exp(-s q)
    ds, which leaves one smooth integral over s of det(I + 2 s C A)^{-1/2} K(C (I + 2 s A C)^{-1}), A = I or
    H, taken by the trapezoidal rule in log s. When C is a multiple of a projector (orthogonal points, or H C
    H of a simplex) the direction of z is uniform and independent of its length, so that "rms" is K(C) n /
    trace C without any integral.

    The expectation of eq. (8), in closed form.

    Args:
        G: Gram matrix X'X.
        recenter: subtract the mean over the batch.
        rescale: None, "rms" or "std", as in `layers.bn_components`.
        scale: overall factor; for rescale None it is d sigma^2 / 2 with ReLU, d sigma^2 without.
        relu: apply ReLU.

    Returns:
        Expected Gram matrix. With "rms" its trace is n scale.

    Raises:
        ValueError: bad Gram matrix, unknown `rescale`, no scale to divide by (zero batch without recentering),
            or "std" without recentering when the centered points span less than three dimensions (E is
            infinite).
    """
    G = _as_gram(G)
    C = _centered(G) if recenter else G
    if rescale is None:
        return scale * (_relu_gram(C) if relu else C)
    if rescale not in ("rms", "std"):
        raise ValueError(f'got rescale={rescale!r}, expected None, "rms" or "std"')
    if recenter and np.trace(C) <= 1e-14 * np.trace(G):
        return np.zeros_like(G)
    about_mean = rescale == "std" and not recenter
    return scale * _rescaled_gram(C, about_mean, relu)


def gram_step_derivative(G: Float[Array, "n n"], D: Float[Array, "n n"]) -> Float[Array, "n n"]:
    r"""Derivative at G in direction D of the map G -> K(H G H) (recentering and ReLU, scale 1).

    With C = H G H, dC = H D H: dK_ij = (1 - theta_ij/pi) dC_ij
    + sin(theta_ij) / (2 pi) (sqrt(C_jj/C_ii) dC_ii + sqrt(C_ii/C_jj) dC_jj), and dK_ii = dC_ii.

    Ours: the paper does not linearize (8).

    Args:
        G: Gram matrix, no centered point zero.
        D: symmetric direction.

    Returns:
        Symmetric matrix.

    Raises:
        ValueError: bad Gram matrix.
    """
    C, dC = _centered(_as_gram(G)), _centered(D)
    length = np.sqrt(np.diag(C))
    rho = _cosines(C)
    angular = (1 - np.arccos(rho) / np.pi) * dC
    relative = np.diag(dC) / length**2
    radial = np.sqrt((1 - rho) * (1 + rho)) / (2 * np.pi) * np.outer(length, length)
    return angular + radial * (relative[:, None] + relative[None, :])


def gram_map_multiplier(G: Float[Array, "n n"]) -> float:
    r"""Spectral radius of the map G -> K(H G H) / trace at a fixed point, over all Gram matrices.

    Below one the fixed point is locally stable against every perturbation of the points, not only against
    those that keep the cluster symmetric.

    Ours: the paper does not linearize (8).

    Args:
        G: fixed point up to a factor.

    Returns:
        Largest modulus of an eigenvalue of the derivative, n (n + 1) / 2 dimensions, dense: meant for n <=
        40.

    Raises:
        ValueError: bad Gram matrix.
    """
    G = _as_gram(G) / np.trace(G)
    n = len(G)
    image = _relu_gram(_centered(G))
    growth = np.trace(image)
    rows, columns = np.triu_indices(n)
    jacobian = np.empty((rows.size, rows.size))
    for m, (i, j) in enumerate(zip(rows, columns, strict=True)):
        D = np.zeros((n, n))
        D[i, j] = D[j, i] = 1.0
        derivative = gram_step_derivative(G, D)
        normalized = (derivative - image / growth * np.trace(derivative)) / growth
        jacobian[:, m] = normalized[rows, columns]
    return float(np.abs(np.linalg.eigvals(jacobian)).max())


def _as_gram(G: Array) -> Array:
    G = np.asarray(G, dtype=np.float64)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.shape[0] < 2:
        raise ValueError(f"got shape {G.shape}, expected a Gram matrix X'X of shape (n, n) with n >= 2")
    size = np.abs(G).max()
    if not (np.abs(G - G.T) <= 1e-9 * size).all() or (np.diag(G) < 0).any():
        raise ValueError("got a matrix that is not symmetric with a diagonal >= 0 and finite: pass X'X of a batch")
    return G


def _centered(G: Array) -> Array:
    rows = G.mean(axis=0)
    return G - rows[:, None] - rows[None, :] + rows.mean()


def _products_of_lengths(C: Array) -> Array:
    length = np.sqrt(np.maximum(np.diag(C), 0.0))
    return np.outer(length, length)


def _cosines(C: Array) -> Array:
    product = _products_of_lengths(C)
    rho = np.divide(C, product, out=np.zeros_like(C), where=product > 0)
    np.fill_diagonal(rho, 1.0)
    return np.clip(rho, -1.0, 1.0)


def _relu_gram(C: Array) -> Array:
    return _products_of_lengths(C) * arccos_kernel(_cosines(C))


def _rescaled_gram(C: Array, about_mean: bool, relu: bool) -> Array:
    n = len(C)
    values, vectors = np.linalg.eigh(C / (np.trace(C) / n) if np.trace(C) > 0 else C)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    measured = root - root.mean(axis=0) if about_mean else root
    mu, rotation = np.linalg.eigh(measured.T @ measured)
    mu, root = np.maximum(mu, 0.0), root @ rotation
    rank = np.count_nonzero(mu > 1e-12 * n)
    if rank == 0 or (about_mean and rank < 3):
        raise ValueError(
            f"got a batch with {rank} dimensions to rescale by, expected at least {3 if about_mean else 1}: "
            "recenter, rescale by rms, or pass more distinct points"
        )
    total = np.zeros((n, n))
    for s, weight in _scale_nodes(mu, about_mean):
        G_s = (root / (1 + 2 * s * mu)) @ root.T
        total += weight * (_relu_gram(G_s) if relu else G_s)
    return n * total


def _scale_nodes(mu: Array, about_mean: bool) -> list[tuple[float, float]]:
    step = 0.25
    x = np.arange(-45.0, 90.0, step)
    s = np.exp(x)
    log_weight = x - 0.5 * np.log1p(2 * np.outer(s, mu)).sum(axis=1)
    size = log_weight if about_mean else log_weight - np.log1p(2 * s)
    kept = size > size.max() - 42.0
    return list(zip(s[kept], step * np.exp(log_weight[kept]), strict=True))
