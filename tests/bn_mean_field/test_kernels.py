"""Closed-form kernels against quadrature, Monte Carlo, autograd of the loss and each other."""

import numpy as np
import pytest

from repdyn.bn_mean_field.theory import kernels
from repdyn.bn_mean_field.theory.circular import circular_kernel, circular_kernel_sums, planar_field

RNG = np.random.default_rng(3)
COV = np.array([[5.0, 0.7, 0.2], [0.7, 1.0, -0.1], [0.2, -0.1, 0.6]])
U, V, W = RNG.normal(size=(4, 3)), RNG.normal(size=(6, 3)), RNG.normal(size=6)


def hermite_plane(rho, values, n=400):
    """E g(z1, z2) for unit Gaussians of correlation rho by a product of Gauss-Hermite rules."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    z1 = nodes[:, None]
    z2 = rho * z1 + np.sqrt(1 - rho**2) * nodes[None, :]
    return np.sum(weights[:, None] * weights[None, :] * values(z1, z2)) / (2 * np.pi)


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 0.99])
def test_erf_kernel_is_the_arcsine(rho):
    from scipy.special import erf

    cov = np.array([[1.0, rho], [rho, 1.0]])
    expected = hermite_plane(rho, lambda s, t: erf(s) * erf(t), n=120)
    kernel = kernels.erf_kernel([[1.0, 0.0]], [[0.0, 1.0]], cov)[0, 0]
    np.testing.assert_allclose(kernel, expected, atol=1e-12)  # analytic integrand: the rule has converged
    np.testing.assert_allclose(kernel, 2 / np.pi * np.arcsin(2 * rho / 3), atol=1e-15)


@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
def test_potential_gradient_by_central_differences(activation):
    value, grad = kernels.potential(U, V, W, COV, activation)
    kernel = getattr(kernels, f"{activation}_kernel")
    np.testing.assert_allclose(value, kernel(U, V, COV) @ W, rtol=1e-13)
    step = 1e-5  # error of the differences step^2 + eps/step = 1e-10
    for i, direction in enumerate(np.eye(3)):
        up, down = (kernel(U + s * step * direction, V, COV) @ W for s in (1, -1))
        np.testing.assert_allclose(grad[:, i], (up - down) / (2 * step), atol=1e-8)


def test_relu_diagonal_is_exact_and_coincident_sources_are_harmless():
    K = kernels.relu_kernel(U, U, COV)
    np.testing.assert_allclose(np.diag(K), np.einsum("mi,ij,mj->m", U, COV, U) / 2, rtol=1e-15 * 8)
    assert np.isfinite(kernels.relu_kernel_grad(U, np.concatenate([U, -U]), np.ones(8), COV)).all()


def test_relu_forms_hold_on_the_ellipsoid():
    """Bounded data: Sigma^{1/2} z with z uniform on the sphere of radius sqrt(d) gives the same kernel."""
    n, rng = 200_000, np.random.default_rng(7)
    z = rng.normal(size=(n, 3))
    z *= np.sqrt(3) / np.linalg.norm(z, axis=1, keepdims=True)
    x = z @ np.linalg.cholesky(COV).T
    products = np.maximum(x @ U.T, 0)[:, :, None] * np.maximum(x @ V.T, 0)[:, None, :]
    exact = kernels.relu_kernel(U, V, COV)
    assert np.all(np.abs(products.mean(0) - exact) < 5 * products.std(0) / np.sqrt(n))


@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
def test_blocks_do_not_change_the_potential(activation, monkeypatch):
    whole = kernels.potential(U, V, W, COV, activation)
    monkeypatch.setattr(kernels, "PAIRS_PER_BLOCK", 7)
    for unblocked, other in zip(whole, kernels.potential(U, V, W, COV, activation), strict=True):
        np.testing.assert_allclose(unblocked, other, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
def test_batches_are_independent(activation):
    u, w = np.stack([U, 2 * U]), np.stack([W, -W])
    both = kernels.potential(u, np.stack([V, V]), w, COV, activation)
    for i in range(2):
        for batched, other in zip(both, kernels.potential(u[i], V, w[i], COV, activation), strict=True):
            np.testing.assert_allclose(batched[i], other, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 60, 1500])
def test_prefix_sums_are_the_pairwise_sums(n):
    rng = np.random.default_rng(n)
    points, weights = rng.normal(size=(3, n, 2)), rng.normal(size=(3, n))
    psi = np.arctan2(points[..., 1], points[..., 0])
    K, dK = circular_kernel(psi[:, :, None] - psi[:, None, :])
    field, slope = planar_field(points, weights)
    scale = np.abs(weights).sum(axis=-1).max() * 16 * np.finfo(float).eps  # n terms of size up to pi
    np.testing.assert_allclose(field, np.matmul(K, weights[..., None])[..., 0], atol=scale)
    np.testing.assert_allclose(slope, np.matmul(dK, weights[..., None])[..., 0], atol=scale)


def test_prefix_sums_on_the_axes_with_ties():
    points = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [2, 0], [-1, -0.0]])
    weights = np.random.default_rng(1).normal(size=7)
    psi = np.arctan2(points[:, 1], points[:, 0])
    K, dK = circular_kernel(psi[:, None] - psi)
    field, slope = planar_field(points, weights)
    np.testing.assert_allclose(field, K @ weights, atol=1e-15)
    np.testing.assert_allclose(slope, dK @ weights, atol=1e-15)


def test_sums_at_arbitrary_targets_and_their_slope():
    rng = np.random.default_rng(2)
    sources, weights, targets = rng.uniform(-9, 9, 40), rng.normal(size=40), rng.uniform(-9, 9, 25)
    field, slope = circular_kernel_sums(targets, sources, weights)
    K, dK = circular_kernel(targets[:, None] - sources)
    np.testing.assert_allclose(field, K @ weights, atol=1e-14)
    np.testing.assert_allclose(slope, dK @ weights, atol=1e-14)
    step = 1e-5
    up, down = (circular_kernel_sums(targets + s * step, sources, weights)[0] for s in (1, -1))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)  # step^2 + eps/step


def test_circle_and_plane_agree():
    cov = np.array([[5.0, 0.6], [0.6, 1.0]])
    rng = np.random.default_rng(4)
    u, v = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    root = np.linalg.cholesky(cov)
    psi, phi = (np.arctan2(*(z @ root).T[::-1]) for z in (u, v))
    lengths = np.linalg.norm(u @ root, axis=1)[:, None] * np.linalg.norm(v @ root, axis=1)
    expected = lengths * circular_kernel(psi[:, None] - phi)[0]
    np.testing.assert_allclose(kernels.relu_kernel(u, v, cov), expected, atol=1e-13)
