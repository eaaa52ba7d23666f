"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad, solve_ivp
from scipy.special import ellipe

COVARIANCE = np.diag([5.0, 1.0])
"""Of the data on the ellipse and in the paper's experiments."""


def points_on_an_ellipse(number):
    """Points x = sqrt(2) Sigma^(1/2) (cos t, sin t), equispaced in t: mean 0 and covariance Sigma."""
    t = 2 * np.pi * (np.arange(number) + 0.5) / number
    return np.sqrt(2) * np.stack([np.cos(t), np.sin(t)], 1) @ np.sqrt(COVARIANCE)


def velocities(a, b, x, y, batch_norm=True):
    """Minus the gradients of m E (f - y)^2 / 2 for f = mean_k a_k relu(z_k / sd(z_k)), z_k = b_k x; and the loss."""
    a, b = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    z = torch.tensor(x) @ b.T
    if batch_norm:
        z = z / z.square().mean(0).sqrt()
    loss = ((torch.relu(z) @ a / len(a) - torch.tensor(y)) ** 2).mean() / 2
    return *(-len(a) * gradient.numpy() for gradient in torch.autograd.grad(loss, (a, b))), float(loss.detach())


def test_limit_of_relu_networks_rests_where_its_equation_moves_it():
    root = np.sqrt(2)
    x = np.array([[root, 0], [-root, 0], [0, root], [0, -root], [1, 1], [-1, -1], [1, -1], [-1, 1]])
    y = np.array([root, 0, 1, 1, 1 - root / 2, 0, 1 + root / 2, 0])
    np.testing.assert_allclose(x.T @ x / 8, np.eye(2), atol=1e-15)

    def speed(a, angle, slope_at_zero=0.0, activation=None):
        """(a', angle') of networks whose neurons are all alike, at Sigma = 1 and |b| = 1."""
        z = x @ [np.cos(angle), np.sin(angle)]
        z[np.abs(z) < 1e-15] = 0
        value, slope = activation(z) if activation else (np.maximum(z, 0), np.heaviside(z, slope_at_zero))
        residual, tangent = a * value - y, x @ [-np.sin(angle), np.cos(angle)]
        return -np.mean(residual * value), -a * np.mean(residual * slope * tangent)

    at_the_edge = [speed(1.0, 0.0, slope) for slope in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(at_the_edge, [[0, -root / 8]] * 3, atol=1e-15)
    for width in (1e2, 1e4, 1e6):
        path = solve_ivp(lambda _, p: speed(*p), (0, 5), [1.0, 1 / width], rtol=1e-10, atol=1e-14)
        assert 0 < path.y[1].min() <= path.y[1].max() < 10 / width
        np.testing.assert_allclose(path.y[0], 1, atol=10 / width)
    smooth = lambda z: (np.logaddexp(0, 5 * z) / 5, 1 / (1 + np.exp(-5 * z)))  # noqa: E731
    np.testing.assert_allclose(speed(1.0, 1e-8, activation=smooth), speed(1.0, 0.0, activation=smooth), atol=1e-7)
    assert abs(speed(1.0, 0.0, activation=smooth)[1]) > 0.01


def metric(b, covariance):
    """G of the paper before Proposition 1, as printed."""
    normal = covariance @ b
    half = np.eye(len(b)) - np.outer(normal, b)
    return (np.eye(len(b)) - np.outer(normal, normal) / (normal @ normal)) @ np.linalg.pinv(half.T @ half) / (b @ b)


def test_surface_is_a_round_sphere():
    root = np.sqrt(np.diag(COVARIANCE))

    def speed(t, with_metric):
        b, step = np.array([np.cos(t), np.sin(t)]) / root, np.array([-np.sin(t), np.cos(t)]) / root
        return np.sqrt(step @ (metric(b, COVARIANCE) if with_metric else np.eye(2)) @ step)

    lengths = [quad(speed, 0, np.pi, args=(with_metric,), points=[np.pi / 2])[0] for with_metric in (False, True)]
    np.testing.assert_allclose(lengths, [2 * ellipe(0.8), np.pi], rtol=1e-9)
    assert lengths[0] == pytest.approx(2.357, abs=5e-4)

    rng = np.random.default_rng(0)
    for _ in range(20):
        factor = rng.normal(size=(4, 4))
        covariance, b = factor @ factor.T, rng.normal(size=4)
        b /= np.sqrt(b @ covariance @ b)
        tangent = np.linalg.svd((covariance @ b)[:, None])[0][:, 1:]
        u = b / np.linalg.norm(b)
        on_the_sphere = (tangent - np.outer(u, u @ tangent)) / np.linalg.norm(b)  # derivative of b / |b|
        products = tangent.T @ metric(b, covariance) @ tangent
        np.testing.assert_allclose(products, on_the_sphere.T @ on_the_sphere, atol=1e-9 * np.abs(products).max())


def test_fastest_neuron_is_on_the_axis_of_least_variance_for_one_target_only():
    x = points_on_an_ellipse(64)
    angle = np.radians(np.arange(0, 90.05, 0.1))
    directions = np.stack([np.cos(angle), np.sin(angle)], 1)
    a, b = np.repeat([1.0, -1.0], len(angle)), np.concatenate([directions, directions])  # f = 0
    fastest = []
    for axis in (0, 1):
        speed = np.linalg.norm(velocities(a, b, x, x[:, axis])[1], axis=1)[: len(angle)]
        law = np.array([np.sin(angle), np.cos(angle)][axis]) / (1 + 4 * np.cos(angle) ** 2) ** 1.5
        np.testing.assert_allclose(speed, law * speed.max() / law.max(), atol=1e-12)
        fastest.append(np.degrees(angle[speed.argmax()]))
    assert speed[-1] < 1e-12 < speed[0], "at 90 degrees the target's own axis rests"
    np.testing.assert_allclose(fastest, [90, np.degrees(np.arccos(np.sqrt(1 / 8)))], atol=0.06)


@pytest.mark.parametrize(("axis", "equal_iteration", "equal_loss"), [(0, 15.4, 0.40), (1, 1.53, 1.21)])
def test_faster_at_equal_iteration_can_be_slower_at_equal_loss(axis, equal_iteration, equal_loss):
    x = points_on_an_ellipse(90)
    angle = 2 * np.pi * (np.arange(100) + 0.5) / 100
    directions = np.stack([np.cos(angle), np.sin(angle)], 1)
    losses, fastest = {True: [], False: []}, {True: [], False: []}
    for batch_norm in (True, False):
        a, b = np.repeat([1.0, -1.0], 100), np.concatenate([directions, directions])
        for _ in range(501):
            da, db, loss = velocities(a, b, x, x[:, axis], batch_norm)
            losses[batch_norm].append(loss)
            u = b / np.linalg.norm(b, axis=1, keepdims=True)
            fastest[batch_norm].append(np.linalg.norm(db - (db * u).sum(1, keepdims=True) * u, axis=1).max())
            a, b = a + 0.002 * da, b + 0.002 * db
    same_loss = np.searchsorted(-np.array(losses[False]), -losses[True][500])
    ratios = [fastest[True][500] / fastest[False][iteration] for iteration in (500, same_loss)]
    np.testing.assert_allclose(ratios, [equal_iteration, equal_loss], rtol=0.02)


def test_shorter_neuron_is_not_always_longer_after_its_first_step():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    x -= x.mean(0)
    a, y, b = np.array([1.0]), np.sin(x[:, 0]) + x[:, 1], np.array([[0.6, 0.0, 0.8]])
    step = 0.04 / np.linalg.norm(velocities(a, b, x, y)[1])  # h g = 0.04, so that sqrt(h g) = 0.2
    after = [np.linalg.norm(r * b + step * velocities(a, r * b, x, y)[1]) for r in (0.1, 0.2, 0.4)]
    np.testing.assert_allclose(after, np.sqrt([0.17, 0.08, 0.17]), rtol=1e-12)
