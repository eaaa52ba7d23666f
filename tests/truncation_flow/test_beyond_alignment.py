"""Free weights, layers in place of their products, and the examples of Proposition 4.2 and (5.13)."""

import numpy as np
import pytest
import xarray as xr

from repdyn.truncation_flow.claims.section5_layers import data_drop_out
from repdyn.truncation_flow.experiments import beyond_alignment, examples, printed_radius
from repdyn.truncation_flow.theory import unaligned

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


def test_two_clusters_of_definition_3_1_keep_their_data_in_the_bias_flow():
    """(P^-)^T P^+ x = R_1^T (1 - H_1) R_1 P_2 R_1^T H_1 R_1 x by hand: half of the first coordinate, at 45 degrees."""
    measured = {name: value for name, (value, _) in examples.data_remain().items()}
    assert measured["cross_product_moved"] == pytest.approx(0.5)
    assert measured["cross_product_others"] < 1e-12
    assert measured["cross_product_512"] < 1e-12


def test_data_drop_out_only_where_images_are_left_alone():
    numbers = {
        "cross_product_moved": 0.5,
        "cross_product": 0.0,
        "cross_product_random": 1.0,
        "cross_product_others": 0.0,
        "cross_product_512": 0.0,
    }
    assert data_drop_out(xr.Dataset(numbers)).status == "holds as corrected"
    assert data_drop_out(xr.Dataset(numbers | {"cross_product_moved": 0.0})).status == "holds"
    assert data_drop_out(xr.Dataset(numbers | {"cross_product": 0.5})).status == "does not hold"


def test_layers_move_the_cumulative_bias_at_another_rate():
    """Differences of the cost in b_1, b_2 at W_1 = 2, W_2 = 1/2, and what they do to beta^(2)."""
    first, second, yt = 2.0, 0.5, 0.3

    def cumulative(b):
        return b[0] / first + b[1] / (first * second)

    b = np.zeros(2)
    speed = -differences(lambda b: 0.5 * (cumulative(b) + yt) ** 2, b)
    rate = -cumulative(speed) / (cumulative(b) + yt)
    assert beyond_alignment.layer_flow_differs()["layer_rate"][0] == pytest.approx(rate)
