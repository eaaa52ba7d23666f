"""Geometry of section 2.2 against brute force: pseudo-inverses, finite differences, integrated lengths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from repdyn.bn_mean_field.experiments.metric_audit import random_covariance
from repdyn.bn_mean_field.theory import manifold

SIZES = [(2, 10.0), (3, 10.0), (5, 1e2), (10, 10.0), (20, 1e4)]


def draw(dimension, condition, points=6, seed=0):
    """Random covariance with a given condition number and points of Omega."""
    rng = np.random.default_rng([seed, dimension])
    cov = random_covariance(dimension, condition, rng)
    return cov, manifold.normalize(rng.normal(size=(points, dimension)), cov), rng


def rounding(cov):
    """A is a product of two matrices of norm up to k, its pseudo-inverse divides by 1: a few k eps."""
    return 50 * np.linalg.cond(cov) * np.finfo(float).eps


@pytest.mark.parametrize(("dimension", "condition"), SIZES)
def test_metric_is_the_round_metric_on_tangents(dimension, condition):
    cov, b, _ = draw(dimension, condition)
    for point, G, R in zip(b, manifold.bn_metric(b, cov), manifold.round_metric(b), strict=True):
        T = null_space((cov @ point)[None])
        size = np.abs(T.T @ G @ T).max()
        np.testing.assert_allclose(T.T @ G @ T, T.T @ R @ T, atol=rounding(cov) * size)


@pytest.mark.parametrize(("dimension", "condition"), SIZES)
def test_smallest_eigenvalue_and_its_bound(dimension, condition):
    cov, b, _ = draw(dimension, condition)
    minima = []
    for point, G in zip(b, manifold.bn_metric(b, cov), strict=True):
        T = null_space((cov @ point)[None])
        eigenvalues = np.linalg.eigvalsh(T.T @ G @ T) * (point @ point)
        minima.append(eigenvalues[0])
        np.testing.assert_allclose(eigenvalues[1:], 1.0, atol=rounding(cov))
    np.testing.assert_allclose(manifold.smallest_metric_eigenvalue(b, cov), minima, rtol=rounding(cov))
    assert np.all(minima >= manifold.kantorovich_bound(condition) * (1 - rounding(cov)))


def test_kantorovich_bound_is_attained():
    cov = np.diag([5.0, 1.0])
    worst = np.array([[1.0, np.sqrt(5.0)]])
    np.testing.assert_allclose(manifold.smallest_metric_eigenvalue(worst, cov), manifold.kantorovich_bound(5.0))


@pytest.mark.parametrize(("dimension", "condition"), SIZES)
def test_gradient_is_the_one_of_the_metric(dimension, condition):
    """<v, G grad_m> = <v, P grad> for all v defines the manifold gradient; here by brute force."""
    cov, b, rng = draw(dimension, condition)
    grad = rng.normal(size=b.shape)
    fast, literal = manifold.riemannian_gradient(grad, b, cov), manifold.gradient_by_metric(grad, b, cov)
    scale = np.linalg.norm(literal, axis=-1).max()
    np.testing.assert_allclose(fast, literal, atol=rounding(cov) * condition * scale)
    np.testing.assert_allclose(np.sum(fast * (b @ cov), axis=-1), 0.0, atol=rounding(cov) * scale * cov.max())


def test_projector_is_an_orthogonal_projector():
    cov, b, _ = draw(5, 100.0)
    P = manifold.tangent_projector(b, cov)
    np.testing.assert_allclose(P @ P, P, atol=1e-14)  # three products of unit matrices: a few eps
    np.testing.assert_allclose(P, np.swapaxes(P, -1, -2), atol=1e-15)
    np.testing.assert_allclose(np.trace(P, axis1=-2, axis2=-1), 4.0, atol=1e-14)


def test_geodesic_distance_is_the_length_of_the_shortest_path():
    """Length of the great arc measured with the paper's G, by the trapezoid rule of order two."""
    cov, ends, _ = draw(3, 10.0, points=2)
    u, v = ends / np.linalg.norm(ends, axis=-1, keepdims=True)
    errors = []
    for n in (50, 100):
        s = np.linspace(0, 1, n + 1)[:, None]
        omega = np.arccos(u @ v)
        path = manifold.normalize(np.sin((1 - s) * omega) * u + np.sin(s * omega) * v, cov)
        velocity = np.gradient(path, 1 / n, axis=0, edge_order=2)
        speed = np.sqrt(np.einsum("mi,mij,mj->m", velocity, manifold.bn_metric(path, cov), velocity))
        errors.append(abs(np.trapezoid(speed, dx=1 / n) - omega))
    exact = manifold.geodesic_distance([0.0], ends[:1], [0.0], ends[1:])[0, 0]
    np.testing.assert_allclose(exact, omega, rtol=1e-14)
    assert errors[1] < 1e-3
    assert 3 < errors[0] / errors[1] < 5  # second order: 4


def test_angles_are_accurate_at_both_ends():
    for turn in (1e-9, 1.0, np.pi - 1e-9, np.pi):
        for embed in (lambda c, s: [[c, s]], lambda c, s: [[c, s, 0.0]]):
            b = np.array(embed(np.cos(turn), np.sin(turn)))
            angle = manifold.angle(np.array(embed(2.0, 0.0)), b)[0, 0]
            np.testing.assert_allclose(angle, turn, atol=4e-16)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.floats(1.0, 1e3), st.integers(0, 10**6), st.floats(0.01, 100.0))
def test_distance_ignores_lengths_and_obeys_the_triangle(dimension, condition, seed, length):
    _, b, rng = draw(dimension, condition, 3, seed)
    a = rng.normal(size=3)
    D = manifold.geodesic_distance(a, b, a, length * b)
    np.testing.assert_allclose(D, manifold.geodesic_distance(a, b, a, b), atol=1e-14)
    assert D[0, 2] <= D[0, 1] + D[1, 2] + 1e-14


def test_angles_are_wrapped_in_the_plane():
    across = np.array([[np.cos(3.0), np.sin(3.0)]]), np.array([[np.cos(-3.0), np.sin(-3.0)]])
    np.testing.assert_allclose(manifold.angle(*across), 2 * np.pi - 6, rtol=1e-14)


def test_leading_axes_are_a_batch():
    cov, b, rng = draw(4, 10.0)
    both, grad = np.stack([b, b[::-1]]), rng.normal(size=(2, *b.shape))
    for function in (manifold.tangent_projector, manifold.bn_metric, manifold.smallest_metric_eigenvalue):
        np.testing.assert_allclose(function(both, cov)[1], function(b[::-1], cov), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(manifold.round_metric(both)[1], manifold.round_metric(b[::-1]))
    single = manifold.riemannian_gradient(grad[1], b[::-1], cov)
    np.testing.assert_allclose(manifold.riemannian_gradient(grad, both, cov)[1], single, rtol=1e-13)
