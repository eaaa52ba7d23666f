"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid
from tests.leaky_resnets.reference import active


def identity_cost(A, bias):
    """Squared size of the least weights W with W sigma(A) = A."""
    S = active(A, bias)
    W = np.linalg.lstsq(S.T, A.T, rcond=None)[0].T
    np.testing.assert_allclose(W @ S, A, atol=1e-12)
    return np.sum(W**2)


def test_bias_makes_a_representation_cheaper_than_its_rank():
    A = np.eye(2)
    assert identity_cost(A, bias=False) == pytest.approx(np.linalg.matrix_rank(A))
    assert identity_cost(A, bias=True) == pytest.approx(4 / 3)
    constant = np.full((1, 5), 0.1)
    assert identity_cost(constant, bias=False) == pytest.approx(1)
    assert identity_cost(constant, bias=True) == pytest.approx(0.01 / 1.01)


def test_neuron_that_lowers_the_cost_raises_it_with_bias():
    A, step = np.array([[1.0, -0.3], [0.0, 1.0]]), 1e-3
    changes = []
    for bias in (False, True):
        S = active(A, bias)
        z = S.T @ S[:, 1]
        before, after = identity_cost(A, bias), identity_cost(np.vstack([A, step * z]), bias)
        changes.append((after - before) / step**2)
    assert changes == pytest.approx([-0.09, 0.91], abs=1e-4)


def squared_weights(turn, depth):
    """Squared weights of the path that turns three positive neurons by an angle about (1, 1, 1), and its last point."""
    axis = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]) / np.sqrt(3)
    start = np.eye(3) + 4
    sizes = []
    for p in np.linspace(0, 1, 41):
        angle = turn * p
        A = (np.eye(3) + np.sin(angle) * axis + (1 - np.cos(angle)) * axis @ axis) @ start
        assert (A > 0).all()
        W = np.linalg.solve(active(A, False).T, (depth * A + turn * axis @ A).T).T
        B = np.linalg.solve(A, W.T).T / depth
        np.testing.assert_allclose(depth * B - W.T @ B, turn * axis @ B, atol=1e-11)  # Hamilton's equation of B
        sizes.append(np.sum(W**2))
    return trapezoid(sizes, dx=1 / 40), A


def test_turning_the_other_way_is_shorter_past_half_a_turn():
    depth, turn = 20.0, 1.5 * np.pi
    (far, end), (near, same) = (squared_weights(angle, depth) for angle in (turn, turn - 2 * np.pi))
    np.testing.assert_allclose(end, same, atol=1e-12)
    assert [far, near] == pytest.approx([3 * depth**2 + 4.5 * np.pi**2, 3 * depth**2 + 0.5 * np.pi**2])


def test_weights_grow_by_twice_the_biases():
    depth, shape = 1.5, (3, 4)
    start = np.random.default_rng(1).normal(size=(2, *shape))

    def velocity(_, state):
        A, B = state[:-1].reshape(2, *shape)
        W = depth * B @ active(A, True).T
        forward = W @ active(A, True) - depth * A
        backward = depth * B - (A > 0) * (W[:, :-1].T @ B)
        return np.concatenate([forward.ravel(), backward.ravel(), [np.sum(W[:, -1] ** 2)]])

    path = solve_ivp(velocity, (0, 1), np.append(start, 0.0), rtol=1e-9, atol=1e-11, max_step=1e-2).y
    A, B = np.moveaxis(path[:-1].reshape(2, *shape, -1), -1, 1)
    first, last = (depth**2 * np.sum((B[i] @ active(A[i], True).T) ** 2) for i in (0, -1))
    assert path[-1, -1] > 1
    assert (last - first) / (depth * path[-1, -1]) == pytest.approx(2, rel=1e-5)


def test_stable_cost_of_a_resting_point_is_below_its_energy():
    A = B = 1.0
    speed, energy = B * A**2 - A, 2 * A * B - (A * B) ** 2
    under_root = {gamma: A**2 / (A**2 + gamma) - energy for gamma in (0.0, 0.1)}
    assert speed == under_root[0.0] == 0
    assert under_root[0.1] == pytest.approx(-1 / 11)
