"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
import torch

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
