"""Neurons next to an edge, where the derivative of ReLU jumps: closed forms, differences of the loss, the limit."""

import numpy as np
import pytest

from repdyn.bn_mean_field.methods import edge_flows as flows
from repdyn.bn_mean_field.theory.velocity import empirical_velocity

ROOT = np.sqrt(2)


def loss(a, angle, labels):
    outputs = a * np.maximum(flows.INPUTS @ [np.cos(angle), np.sin(angle)], 0)
    return np.mean((outputs - labels) ** 2) / 2


def test_inputs_have_mean_zero_and_unit_covariance():
    np.testing.assert_allclose(flows.INPUTS.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(flows.INPUTS.T @ flows.INPUTS / 8, np.eye(2), atol=1e-15)


@pytest.mark.parametrize("labels", [flows.LABELS, flows.SLIDING_LABELS])
@pytest.mark.parametrize("side", [-1, 1])
def test_velocities_beside_the_edge_are_one_sided_differences_of_the_loss(labels, side):
    h = 1e-6
    da, turn = flows.edge_velocity(1.0, 0.0, labels, "relu", side=side)
    assert turn == pytest.approx(-side * (loss(1.0, side * h, labels) - loss(1.0, 0.0, labels)) / h, abs=1e-6)
    assert da == pytest.approx(-(loss(1 + h, 0.0, labels) - loss(1 - h, 0.0, labels)) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_velocity_off_the_edges_is_that_of_the_data_set(activation):
    b = np.array([np.cos(0.3), np.sin(0.3)])
    da, db, _ = empirical_velocity([0.7], b[None], flows.INPUTS, flows.LABELS, activation=activation)
    turn = db[0] @ [-b[1], b[0]]
    assert flows.edge_velocity(0.7, 0.3, flows.LABELS, activation) == pytest.approx((da[0], turn), abs=1e-14)


@pytest.mark.parametrize("kink_slope", [0.0, 0.3, 1.0])
def test_equation_moves_the_limit_whatever_the_slope_at_the_kink(kink_slope):
    on_edge = flows.edge_velocity(1.0, 0.0, flows.LABELS, "relu", kink_slope=kink_slope)
    assert on_edge == pytest.approx((0.0, -ROOT / 8), abs=1e-15)
    assert flows.distance_required(kink_slope, "relu", 2.0) == pytest.approx(-ROOT / 4)


def test_neurons_next_to_the_edge_keep_to_it():
    """Near the edge the angle decays as exp(-t / 2): the loss is smooth to the right, with curvature 1/2."""
    assert flows.edge_velocity(1.0, 0.0, flows.LABELS, "relu", side=1) == pytest.approx((0.0, 0.0), abs=1e-15)
    for start in (1e-4, 1e-6):
        assert flows.distance_moved(start, "relu", 1.0) / start == pytest.approx(np.exp(-0.5) - 1, abs=1e-4)


def test_limit_of_a_smooth_activation_moves_with_the_equation():
    required = flows.distance_required(0.0, "erf", 1.0)
    assert required < -0.05
    for start in (1e-4, 1e-6):
        assert flows.distance_moved(start, "erf", 1.0) == pytest.approx(required, abs=start)


def test_labels_without_a_solution_drive_to_the_edge_from_both_sides_and_away_on_it():
    left, on_it, right = flows.sliding_rates()
    np.testing.assert_allclose([left, on_it, right], [(0.4 + ROOT) / 8, 0.05, (0.4 - ROOT) / 8])
    assert left > 0 > right
    assert on_it > 0
