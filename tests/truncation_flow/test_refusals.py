"""Arguments that the theory refuses, each part of each condition alone; boundary values that it accepts."""

import re

import numpy as np
import pytest

from repdyn.truncation_flow.theory import general, inputs, proposition, separated, staircase, standard_cost, truncation

EYE, X, ZERO = np.eye(2), np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, -2.0]]), np.zeros(2)
FLAT = np.array([[1.0, 2.0], [2.0, 4.0]])

REFUSED = [
    (lambda: inputs.points(np.ones(2)), "X", "(2,)"),
    (lambda: inputs.points(np.ones((0, 2)), "x"), "x", "(0, 2)"),
    (lambda: inputs.cluster_state(X, 2 * EYE, ZERO), "R", ""),
    (lambda: inputs.cluster_state(X, np.eye(3), ZERO), "R", "(3, 3)"),
    (lambda: inputs.cluster_state(X, EYE, np.zeros(3)), "beta", "(3,)"),
    (lambda: inputs.cluster_state(X * np.nan, EYE, ZERO, "y"), "y", "6"),
    (lambda: inputs.rotations([EYE, 2 * EYE], 2, "R"), "R[1]", ""),
    (lambda: inputs.invertible(FLAT, "W"), "W", ""),
    (lambda: inputs.invertible(np.ones((2, 3)), "W"), "W", "(2, 3)"),
    (lambda: inputs.independent_labels(FLAT), "yt", ""),
    (lambda: inputs.independent_labels(np.ones((2, 3))), "yt", "(2, 3)"),
    (lambda: inputs.clusters([]), "X", ""),
    (lambda: inputs.clusters([X, X, np.ones((1, 3))]), "X[2]", "3"),
    (lambda: inputs.clusters([X, X * np.inf]), "X[1]", "6"),
    (lambda: general.general_effective_gradient(X, [0, 1.5, 1], [EYE], [ZERO], EYE), "cluster", ""),
    (lambda: general.general_effective_gradient(X, [0, 1], [EYE], [ZERO], EYE), "cluster", "(2,)"),
    (lambda: general.general_effective_gradient(X, [0, 1, 1], [EYE], [ZERO, ZERO], EYE), "beta", "(2, 2)"),
    (lambda: general.general_effective_gradient(X, [0, 1, 1], [2 * EYE], [ZERO], EYE), "R[0]", ""),
    (lambda: general.cluster_weights(np.array([0, 0, 2]), 3), "cluster", "0"),
    (lambda: general.cluster_weights(np.array([0, 1, 2]), 2), "cluster", "0"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO, 0.0), "gamma", "0.0"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO, 0.1), "gamma", "0.1"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO - 1, 0.05), "|beta0 + yt|", "0"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), 2 * EYE, ZERO + 1, ZERO, 0.05), "R0", ""),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, np.ones(3), ZERO, 0.05), "beta0", "(3,)"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, np.ones(3), 0.05), "yt", "(3,)"),
    (lambda: separated.effective_gradient(X, EYE, ZERO, np.ones(3)), "yt", "(3,)"),
    (lambda: separated.effective_gradient(X, EYE, ZERO, ZERO, formula="prnted"), "formula", "'prnted'"),
    (lambda: separated.cost_decomposition(X, np.ones(3)), "yt", "(3,)"),
    (lambda: separated.cost_decomposition(np.ones(2), ZERO), "images", "(2,)"),
    (lambda: separated.release_time([[-1.0, -1.0], [-1.0, 0.5]], EYE, ZERO, ZERO), "beta", ""),
    (lambda: separated.release_time(-(X**2), EYE, ZERO, np.ones(3)), "yt", "(3,)"),
    (lambda: staircase.truncation_times([1.0, np.nan], 0.0, 2.0), "x", "1"),
    (lambda: staircase.truncation_times([1.0], np.inf, 2.0), "b0", "1"),
    (lambda: staircase.truncation_times([1.0], 0.0, np.nan), "y", "1"),
    (lambda: staircase.truncation_times([], 0.0, 2.0), "x", "(0,)"),
    (lambda: staircase.truncation_times([[1.0]], 0.0, 2.0), "x", "(1, 1)"),
    (lambda: staircase.bias_flow([1.0], 0.0, 2.0, [0.0, -0.5]), "s", ""),
    (lambda: staircase.truncation_times_upward([1.0, 2.0], 2.0), "x", "[1.0, 2.0]"),
    (lambda: staircase.truncation_times_upward([1.0, 0.0, 1.0], 2.0), "x", "[0.0, 1.0, 1.0]"),
    (lambda: standard_cost.conserved_quantity(np.ones(2), np.ones(2)), "B, W", "(2,) and (2,)"),
    (lambda: standard_cost.conserved_quantity(np.eye(2), np.eye(3)), "B, W", "(2, 2) and (3, 3)"),
    (lambda: standard_cost.conserved_quantity(np.ones((2, 3)), np.ones((2, 3))), "B, W", "(2, 3) and (2, 3)"),
    (lambda: standard_cost.spectral_gap(np.diag([2.0, 0.5]), EYE), "I = B B^T - W^T W", "-0.75"),
    (lambda: standard_cost.spectral_gap(EYE, EYE), "I = B B^T - W^T W", "0"),
    (lambda: standard_cost.output_layer_flow(X.T[0], X.T, EYE, [0.0]), "X", "(3,)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T[0], EYE, [0.0]), "Y", "(3,)"),
    (lambda: standard_cost.output_layer_flow(X.T, EYE, EYE, [0.0]), "Y", "(2, 2)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, np.eye(3), [0.0]), "W0", "(3, 3)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0, -1.0]), "s", "-1"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0], weights=[1, -1, 1]), "weights", "-1"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0], weights=[1, 1]), "weights", "(2,)"),
    (lambda: standard_cost.output_layer_flow(FLAT, X.T[:, :2], EYE, [0.0]), "X X^T", ""),
    (lambda: truncation.truncation_map(X, 2 * EYE, ZERO), "R", ""),
    (lambda: truncation.truncation_map(X * np.nan, EYE, ZERO), "x", "6"),
    (lambda: truncation.truncation_map_of_weights(X, FLAT, ZERO), "W", ""),
    (lambda: truncation.truncation_map_of_weights(X, EYE, np.ones(3)), "beta", "(3,)"),
    (lambda: truncation.sector_pattern(X, EYE, np.ones(3)), "beta", "(3,)"),
    (lambda: truncation.affine_truncation_map(X, FLAT, ZERO), "W", ""),
    (lambda: truncation.cumulative_parameters([EYE], []), "1 weights", "0 biases"),
    (lambda: truncation.cumulative_parameters([], []), "0 weights", "0 biases"),
    (lambda: truncation.cumulative_parameters([EYE, FLAT], [ZERO, ZERO]), "weights[1]", ""),
    (lambda: truncation.cumulative_parameters([EYE, EYE], [ZERO, np.ones(3)]), "biases[1]", "(3,)"),
]


@pytest.mark.parametrize(("call", "name", "value"), REFUSED)
def test_each_bad_argument_is_refused_with_its_name_and_value(call, name, value):
    with pytest.raises(ValueError, match=f"(?s){re.escape(name)}.*{re.escape(value)}"):
        call()


def test_boundary_values_are_accepted():
    on_the_boundary = np.array([[-1.0, -1.0], [-1.0, 0.0]])  # R (x + beta) = 0 counts as truncated
    assert separated.release_time(on_the_boundary, EYE, ZERO, ZERO) >= 0
    np.testing.assert_array_equal(staircase.bias_flow([1.0], 0.5, 2.0, [0.0]), [0.5])
    assert standard_cost.spectral_gap(2 * EYE, EYE) == pytest.approx(3)
    assert general.cluster_weights(np.array([0, 1, 1]), 2).tolist() == [1, 0.5, 0.5]
    assert len(inputs.clusters([X, X[:1]])) == 2
    assert inputs.invertible(np.diag([1.0, 1e-11]), "W").shape == (2, 2)  # a condition number of 1e11
