"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp


def cost(rotation, beta, points, label):
    """Mean of |tau(x) - label|^2 / 2 for tau(x) = R^T relu(R (x + beta)) - beta."""
    image = torch.relu((points + beta) @ rotation.T) @ rotation - beta
    return ((image - label) ** 2).sum(1).mean() / 2


def generator(points, label):
    """Generator of the gradient flow of R at R = 1, beta = 0: minus the antisymmetric part of dC/dR R^T."""
    rotation = torch.eye(points.shape[1], dtype=torch.float64, requires_grad=True)
    cost(rotation, torch.zeros(points.shape[1], dtype=torch.float64), points, label).backward()
    return -(rotation.grad - rotation.grad.T) / 2


def test_cost_rises_along_the_printed_flow():
    x, label = torch.tensor([[1.0, -1.0]], dtype=torch.float64), torch.tensor([0.5, 0.0], dtype=torch.float64)
    u, b, active = x[0], label, torch.diag((x[0] > 0).double())
    printed = (active @ (torch.outer(u, b) + torch.outer(b, u)) - (torch.outer(u, b) + torch.outer(b, u)) @ active) / 2
    bias = -(torch.eye(2, dtype=torch.float64) - active) @ b
    zero, one = torch.tensor(0.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    speeds = []
    for omega in (printed, generator(x, label)):
        along = lambda s, omega=omega: cost(torch.matrix_exp(s * omega), s * bias, x, label)  # noqa: E731
        speeds.append(float(torch.autograd.functional.jvp(along, zero, one)[1]))
    assert speeds == pytest.approx([1 / 8, -1 / 8], abs=1e-12)


def test_truncated_cluster_moves_to_its_label_at_rate_one():
    points, label = -1.0 - torch.rand(20, 3, dtype=torch.float64), torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64)
    beta = torch.tensor([0.5, 0.2, 0.4], dtype=torch.float64, requires_grad=True)
    assert (points + beta < 0).all(), "no neuron is active"
    cost(torch.eye(3, dtype=torch.float64), beta, points, label).backward()
    np.testing.assert_allclose(-beta.grad, -(beta + label).detach(), rtol=1e-14)


def test_clusters_of_equal_masses_and_means_turn_at_other_speeds():
    label = torch.zeros(2, dtype=torch.float64)
    middle = torch.tensor([2.0, -2.0], dtype=torch.float64)  # the sector in which one neuron is active
    narrow = torch.stack([middle, middle])
    wide = torch.stack([middle + 1, middle - 1])
    assert (wide.mean(0) == narrow.mean(0)).all()
    assert ((wide > 0) == (narrow > 0)).all(), "masses of all sectors"
    speeds = [float(generator(points, label)[0, 1]) for points in (narrow, wide)]
    np.testing.assert_allclose(speeds, [2.0, 1.5], rtol=1e-14)  # -E[u_1 u_2] / 2


def test_right_angled_cones_hold_two_directions_only_below_90_degrees():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(200_000, 3, 3))
    acute = np.ones(len(means), bool)
    for vertex in range(3):
        first, second = (means[:, other] - means[:, vertex] for other in range(3) if other != vertex)
        acute &= (first * second).sum(-1) > 0
    share = 3 * np.sqrt(3) / (4 * np.pi)
    assert acute.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(means)))
    obtuse = np.array([[1.0, 0.1, 0.0], [-1.0, 0.1, 0.0]])  # from the third mean to the two others
    rotations = np.linalg.qr(rng.normal(size=(20_000, 3, 3)))[0]
    assert (np.einsum("rij,kj->rki", rotations, obtuse).min(axis=(1, 2)) < 0).all()


def test_cost_rests_where_a_collapsed_point_is_released():
    y = -2.0

    def velocity(_, state):
        beta, weight = state
        error = weight * (max(beta, 0.0) - beta) - y  # output of x = 0: W (relu(beta) - beta)
        slope = float(beta > 0) - 1
        return [-error * weight * slope, -error * (max(beta, 0.0) - beta)]

    released = lambda _, state: state[0]  # noqa: E731
    released.terminal = True
    path = solve_ivp(velocity, (0, 50), [-1.0, 2.0], rtol=1e-10, atol=1e-12, events=released)
    beta, weight = path.y
    assert path.t_events[0].size == 1, "the bias reaches 0, where the output no longer depends on the parameters"
    np.testing.assert_allclose(beta**2 - weight**2, -3, rtol=1e-7)
    costs = (weight * -beta - y) ** 2 / 2
    assert costs[0] == pytest.approx(8)
    assert costs[-1] == pytest.approx(y**2 / 2, rel=1e-6)
    assert velocity(0, [1e-9, weight[-1]]) == [0, 0]
