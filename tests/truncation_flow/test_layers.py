"""Networks behind the truncation maps: equal functions, gradients against autograd, the two flows."""

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group
from tests.truncation_flow.reference import behind

from repdyn.truncation_flow.methods import layers
from repdyn.truncation_flow.methods.metrics import neural_collapse_metrics
from repdyn.truncation_flow.theory import general

Q, L, N = 3, 3, 24


def drawn(seed=0):
    g = np.random.default_rng(seed)
    R, beta = ortho_group.rvs(Q, size=L, random_state=g), 0.5 * g.normal(size=(L, Q))
    return g.normal(size=(N, Q)), np.full(N, 1.0 / 8), g.normal(size=(N, Q)), R, beta, g.normal(size=(Q, Q))


def test_network_computes_the_truncation_maps():
    X, _, _, R, beta, W_out = drawn()
    weights = layers.network_of_truncations(R, beta, W_out)
    z = general.forward(X, R, beta).z[-1]
    output = layers.network_output(layers.network_layers(X, weights)[-1], weights)
    np.testing.assert_allclose(output, z @ W_out.T, atol=1e-11)


def test_standard_cost_flow_starts_along_the_gradient():
    X, w, y, R, beta, W_out = drawn(4)
    tensors = [torch.tensor(part, requires_grad=True) for part in (R, beta, W_out)]
    z = behind(X, *tensors[:2])
    (0.5 * (torch.tensor(w)[:, None] * (z @ tensors[2].T - torch.tensor(y)) ** 2).sum()).backward()
    h = 1e-6
    R1, beta1, W1 = (part[0] for part in layers.standard_cost_flow(X, w, y, R, beta, W_out, [h], step=h))
    G = (tensors[0].grad @ tensors[0].transpose(1, 2)).detach().numpy()
    np.testing.assert_allclose((R1 - R) / h, -0.5 * (G - G.swapaxes(1, 2)) @ R, atol=1e-3)  # h times second derivative
    np.testing.assert_allclose((beta1 - beta) / h, -tensors[1].grad.numpy(), atol=1e-3)
    np.testing.assert_allclose((W1 - W_out) / h, -tensors[2].grad.numpy(), atol=1e-3)


def test_general_flow_lowers_the_cost_and_preserves_rotations():
    X, w, y, R, beta, _ = drawn(5)
    times, h = np.linspace(0.1, 4, 40), 0.01
    rotations, offsets = layers.general_flow(X, w, y, R, beta, times, step=h)
    assert np.abs(rotations @ np.swapaxes(rotations, -1, -2) - np.eye(Q)).max() < 1e-12
    z = [general.forward(X, *state).z[-1] for state in zip(rotations, offsets, strict=True)]
    cost = np.array([0.5 * np.sum(w[:, None] * (output - y) ** 2) for output in z])
    assert np.diff(cost).max() < h * cost[0]  # O(h) where points slide
    assert cost[-1] < cost[0]


def test_batched_runs_equal_single_runs():
    first, second = drawn(1), drawn(2)
    X, y, R, beta = (np.array([first[k], second[k]]) for k in (0, 2, 3, 4))
    both = layers.general_flow(X, first[1], y, R, beta, [0.5], step=0.05)
    alone = layers.general_flow(second[0], second[1], second[2], second[3], second[4], [0.5], step=0.05)
    for batched, other in zip(both, alone, strict=True):
        np.testing.assert_allclose(batched[0, 1], other[0], atol=1e-13)


def test_collapse_metrics_of_a_simplex_and_of_noise():
    features = np.repeat(np.eye(4), 5, axis=0)
    metrics = neural_collapse_metrics(features, np.repeat(np.arange(4), 5))
    assert metrics["within"] == 0
    assert metrics["equiangle"] < 1e-12
    assert metrics["equinorm"] < 1e-12
    noisy = features + np.random.default_rng(0).normal(size=features.shape)
    assert neural_collapse_metrics(noisy, np.repeat(np.arange(4), 5))["ratio"] > 1
    for labels in (np.zeros(20), np.zeros(3)):
        with pytest.raises(ValueError, match="label"):
            neural_collapse_metrics(features, labels)
