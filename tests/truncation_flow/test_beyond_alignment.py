"""Free weights, layers in place of their products, and the examples of Proposition 4.2 and (5.13)."""

from itertools import product

import numpy as np
import pytest
import torch

from repdyn.truncation_flow.experiments import beyond_alignment, examples, printed_radius
from repdyn.truncation_flow.methods import construction, cost_audit, layers
from repdyn.truncation_flow.methods.formula_audit import random_layers
from repdyn.truncation_flow.theory import derivatives, unaligned

ETA_0, ETA_1 = printed_radius.ETA_0, printed_radius.ETA_1


def cost(X, W, beta, yt):
    tau = np.maximum((X + beta) @ W.T, 0) @ np.linalg.inv(W).T - beta
    return 0.5 * ((tau - yt) ** 2).sum(axis=1).mean()


def differences(function, at, step=1e-6):
    """Central differences, entry by entry."""
    slopes = np.empty_like(at)
    for place in np.ndindex(at.shape):
        move = np.zeros_like(at)
        move[place] = step
        slopes[place] = (function(at + move) - function(at - move)) / (2 * step)
    return slopes


def test_the_flow_of_a_free_weight_is_the_gradient_of_the_cost():
    rng = np.random.default_rng(0)
    X, W, beta, yt = rng.normal(size=(30, 3)), rng.normal(size=(3, 3)) + 2 * np.eye(3), *rng.normal(size=(2, 3))
    speeds = unaligned.velocity(X, W, beta, yt)
    np.testing.assert_allclose(speeds.weight_speed, -differences(lambda W: cost(X, W, beta, yt), W), atol=1e-7)
    np.testing.assert_allclose(speeds.bias_speed, -differences(lambda beta: cost(X, W, beta, yt), beta), atol=1e-7)


@pytest.mark.slow
def test_the_example_leaves_the_printed_ball_by_another_integration():
    """Gradient steps of the cost in an angle and beta, by differences: no generator, no bound on it."""
    outlier = np.array(printed_radius.OUTLIERS[""])
    X, weights = (
        np.array([printed_radius.CORE, outlier]),
        np.array([1 - 1 / printed_radius.POINTS, 1 / printed_radius.POINTS]),
    )

    def loss(state):
        angle, beta = state[0], state[1:]
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        tau = np.maximum((X + beta) @ R.T, 0) @ R - beta
        return 0.5 * weights @ (tau**2).sum(axis=1)

    state, step, turned = np.array([0.0, *printed_radius.START]), 4e-3, 0.0
    for _ in range(1500):
        slopes = differences(loss, state)
        slopes[0] /= 2  # |dR|_F^2 = 2 dangle^2
        state = state - step * slopes
        turned = max(turned, abs(2 * np.sin(state[0] / 2)))
    measured = {name: value for name, (value, _) in printed_radius.printed_radius().items()}
    assert turned == pytest.approx(measured["radius_turned"], rel=5e-3)
    assert measured["printed_radius"] == pytest.approx(ETA_1 / (1 - ETA_0 - 1.1 * 20 * ETA_1) * np.log(1 / 0.0999))
    assert measured["printed_radius"] < turned < measured["sufficient_radius"]
    angle, beta = state[0], state[1:]
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert (R @ (outlier + beta)).max() > 0  # the last point is still not fully truncated


@pytest.mark.slow
def test_the_example_meets_the_hypotheses_at_sampled_points_of_the_ball():
    """The bounds are proved over the ball; samples must lie within them."""
    measured = {name: value for name, (value, _) in printed_radius.printed_radius().items()}
    rng, outlier = np.random.default_rng(1), np.array(printed_radius.OUTLIERS[""])
    for _ in range(2000):
        angle = measured["printed_radius"] * rng.uniform(-1, 1)
        b = 22 * np.sqrt(rng.uniform()) * np.array([np.cos(t := rng.uniform(0, 2 * np.pi)), np.sin(t)])
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        core, other = R @ np.array(printed_radius.CORE) + b, R @ outlier + b
        assert core.max() < 0
        mixed = 0 < (other > 0).sum() < 2
        assert mixed * np.linalg.norm(other) / printed_radius.POINTS <= measured["radius_eta_1"] * ETA_1 + 1e-12
        assert (R @ outlier).max() < 0 or abs(angle) > 0.0570


def test_data_of_two_clusters_of_definition_3_1_remain_in_the_bias_flow():
    """(P^-)^T P^+ x = R_1^T (1 - H_1) R_1 P_2 R_1^T H_1 R_1 x by hand: half of the first coordinate, at 45 degrees."""
    measured = {name: value for name, (value, _) in examples.data_remain().items()}
    assert measured["cross_product_moved"] == pytest.approx(0.5)
    assert measured["cross_product_others"] < 1e-12
    assert measured["cross_product_512"] < 1e-12


@pytest.mark.parametrize(("bias", "name", "rate"), [(0.0, "layer_rate", 1.25), (1.0, "layer_rate_biased", 5.3125)])
def test_layers_move_the_cumulative_bias_at_another_rate(bias, name, rate):
    """Autograd through two layers of width 1, W_1 = 2, W_2 = -1/2, whose second one truncates the point 3."""
    parameters = torch.tensor([2.0, -0.5, bias, bias], dtype=torch.float64, requires_grad=True)
    W1, W2, b1, b2 = parameters
    beta, hidden = b1 / W1 + b2 / (W1 * W2), torch.relu(W1 * 3.0 + b1)
    cost = 0.5 * (torch.relu(W2 * hidden + b2) / (W1 * W2) - beta - 0.3) ** 2
    (slope,) = torch.autograd.grad(cost, parameters, retain_graph=True)
    (change,) = torch.autograd.grad(beta, parameters)
    assert (slope @ change).item() / (beta.item() + 0.3) == pytest.approx(rate)
    assert beyond_alignment.layer_flow_differs()[name][0] == pytest.approx(rate)


def test_the_flow_of_free_weights_of_many_layers_is_the_gradient_of_the_standard_cost():
    rng = np.random.default_rng(2)
    X, y, W_out = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)), rng.normal(size=(3, 3))
    V, beta, w = rng.normal(size=(2, 3, 3)) + 2 * np.eye(3), rng.normal(size=(2, 3)), rng.uniform(size=12)
    dV, dbeta = unaligned.pull_back(X, V, beta, w, lambda z: (z @ W_out.T - y) @ W_out)

    def loss(V, beta):
        z = X
        for weight, offset in zip(V, beta, strict=True):
            z = np.maximum((z + offset) @ weight.T, 0) @ np.linalg.inv(weight).T - offset
        return 0.5 * w @ ((z @ W_out.T - y) ** 2).sum(axis=1)

    np.testing.assert_allclose(dV, -differences(lambda V: loss(V, beta), V), atol=1e-7)
    np.testing.assert_allclose(dbeta, -differences(lambda beta: loss(V, beta), beta), atol=1e-7)
    np.testing.assert_allclose(
        derivatives.complex_standard_cost(X, w, y, V, beta, W_out).real, loss(V, beta), rtol=1e-13
    )


@pytest.mark.parametrize("Q", [2, 3, 5])
def test_collapsing_weights_are_not_aligned_and_collapse_every_cluster_to_its_bias(Q):
    trained = cost_audit.collapsed(Q, 4 * Q, np.random.default_rng(Q))
    assert min(beyond_alignment.misalignment(V) for V in trained.V) > 1e-3
    np.testing.assert_allclose(
        unaligned.forward(trained.X, trained.V, trained.beta)[0][-1], -trained.beta[trained.cluster]
    )
    far = trained.beta + 2.0  # apexes far away: own clusters are not truncated any more
    assert cost_audit.collapse_margin(trained.X.reshape(Q, -1, Q), trained.V, far) < 0


def test_free_weights_are_followed_as_far_as_a_step_resolves_them():
    """Exchanged labels drive a weight towards a singular one: NaN from there on, in place of numbers or an error."""
    R, _, yt = construction.simplex_initial_data(3, shift=0.22)
    clusters, times = construction.ball_clusters(np.eye(3), 4, 0.05, np.random.default_rng(0)), np.linspace(0, 6, 61)
    points, w = clusters.reshape(-1, 3), np.full(12, 0.25)
    W, ends = 1.15 * np.linalg.inv(yt.T), []
    for seed in range(2):
        V = cost_audit.collapsing_weights(clusters, R, -yt, np.random.default_rng(seed))
        for step, labels in product((0.02, 0.005), (np.eye(3), 1.5 * np.roll(np.eye(3), 1, axis=0))):
            targets = np.repeat(labels, 4, axis=0)
            path = layers.free_standard_cost_flow(points, w, targets, V, -yt, W, times, step=step)[0]
            followed = np.isfinite(path).all(axis=(1, 2, 3))
            assert followed[:2].all()
            assert not (np.diff(followed.astype(int)) > 0).any()  # once it has ended it does not come back
            assert np.isnan(path[~followed]).all()
            ends.append(followed.all())
    assert any(ends)
    assert not all(ends)


def test_untruncated_data_pass_through_free_weights():
    trained = cost_audit.untruncated(random_layers(3, 9, np.random.default_rng(0)), np.random.default_rng(1))
    assert min(beyond_alignment.misalignment(V) for V in trained.V) > 1e-2
    np.testing.assert_allclose(unaligned.forward(trained.X, trained.V, trained.beta)[0][-1], trained.X, atol=1e-12)


@pytest.mark.parametrize("label", [(0.3, 0.8), (-0.4, 0.1)])
def test_how_fast_alignment_is_lost_by_hand(label):
    """One point of pattern (1, 0) at W = 1: d(W W^T)_12/ds in (W, beta), and in (W, b) with b = W beta at rest."""
    yt, beta, x = np.array(label), np.array([0.4, -0.2]), np.array([0.7, -0.5])
    u, v, b = x + beta, x - yt, beta + yt
    assert u[0] > 0 > u[1]
    dW = unaligned.velocity(x[None], np.eye(2), beta, yt).weight_speed
    assert (dW + dW.T)[0, 1] == pytest.approx(-(u[1] * v[0] + b[1] * u[0]))

    def in_weight_and_bias(W):
        return cost(x[None], W, np.linalg.solve(W, beta), yt)

    dW = -differences(in_weight_and_bias, np.eye(2))
    assert (dW + dW.T)[0, 1] == pytest.approx(-(u[1] * v[0] + b[1] * x[0]), abs=1e-7)
