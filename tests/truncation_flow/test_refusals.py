"""What the theory refuses, each part of each condition alone, and what stands at its border and is taken."""

import re

import numpy as np
import pytest

from repdyn.truncation_flow.theory import general, inputs, proposition, separated, staircase, standard_cost, truncation

EYE, X, ZERO = np.eye(2), np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, -2.0]]), np.zeros(2)
FLAT = np.array([[1.0, 2.0], [2.0, 4.0]])

REFUSED = [
    (lambda: inputs.points(np.ones(2)), "X: got shape (2,); expected a non-empty array of shape (any, any)"),
    (lambda: inputs.points(np.ones((0, 2)), "x"), "x: got shape (0, 2)"),
    (lambda: inputs.cluster_state(X, 2 * EYE, ZERO), "R: got max|R R^T - 1| = 3.00e+00; expected an orthogonal matrix"),
    (
        lambda: inputs.cluster_state(X, np.eye(3), ZERO),
        "R: got shape (3, 3); expected a non-empty array of shape (2, 2)",
    ),
    (lambda: inputs.cluster_state(X, EYE, np.zeros(3)), "beta: got shape (3,)"),
    (lambda: inputs.cluster_state(X * np.nan, EYE, ZERO, "y"), "y: got 6 values"),
    (lambda: inputs.rotations([EYE, 2 * EYE], 2, "R"), "R[1]: got max|"),
    (lambda: inputs.invertible(FLAT, "W"), "W: got condition number"),
    (lambda: inputs.invertible(np.ones((2, 3)), "W"), "W: got shape (2, 3); expected a square matrix (Q, Q)"),
    (lambda: inputs.independent_labels(FLAT), "yt: got linearly dependent labels (condition number"),
    (lambda: inputs.independent_labels(np.ones((2, 3))), "yt: got shape (2, 3); expected a square matrix"),
    (lambda: inputs.clusters([]), "X: got no cluster; expected a sequence of arrays of shape (N_l, Q)"),
    (lambda: inputs.clusters([X, X, np.ones((1, 3))]), "X[2]: got 3 columns; expected 2 in every cluster"),
    (lambda: inputs.clusters([X, X * np.inf]), "X[1]: got 6 values"),
    (
        lambda: general.general_effective_gradient(X, [0, 1.5, 1], [EYE], [ZERO], EYE),
        "cluster: got indices that are no integers; expected integers from 0 to 1",
    ),
    (lambda: general.general_effective_gradient(X, [0, 1], [EYE], [ZERO], EYE), "cluster: got shape (2,)"),
    (lambda: general.general_effective_gradient(X, [0, 1, 1], [EYE], [ZERO, ZERO], EYE), "beta: got shape (2, 2)"),
    (lambda: general.general_effective_gradient(X, [0, 1, 1], [2 * EYE], [ZERO], EYE), "R[0]: got max|"),
    (lambda: general.cluster_weights(np.array([0, 0, 2]), 3), "cluster: got indices from 0 to 2, sizes [2, 0, 1]"),
    (lambda: general.cluster_weights(np.array([0, 1, 2]), 2), "cluster: got indices from 0 to 2, sizes [1, 1, 1]"),
    (
        lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO, 0.0),
        "gamma: got 0.0; expected a number",
    ),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO, 0.1), "gamma: got 0.1"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, ZERO - 1, 0.05), "|beta0 + yt|: got 0"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), 2 * EYE, ZERO + 1, ZERO, 0.05), "R0: got max|"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, np.ones(3), ZERO, 0.05), "beta0: got shape (3,)"),
    (lambda: proposition.proposition_4_2_constants(-(X**2), EYE, ZERO + 1, np.ones(3), 0.05), "yt: got shape (3,)"),
    (lambda: separated.effective_gradient(X, EYE, ZERO, np.ones(3)), "yt: got shape (3,)"),
    (
        lambda: separated.effective_gradient(X, EYE, ZERO, ZERO, formula="prnted"),
        "formula: got 'prnted'; expected one of",
    ),
    (lambda: separated.cost_decomposition(X, np.ones(3)), "yt: got shape (3,)"),
    (lambda: separated.cost_decomposition(np.ones(2), ZERO), "images: got shape (2,)"),
    (
        lambda: separated.release_time([[-1.0, -1.0], [-1.0, 0.5]], EYE, ZERO, ZERO),
        "beta: got a cluster that is not fully",
    ),
    (lambda: separated.release_time(-(X**2), EYE, ZERO, np.ones(3)), "yt: got shape (3,)"),
    (lambda: staircase.truncation_times([1.0, np.nan], 0.0, 2.0), "x: got 1 values"),
    (lambda: staircase.truncation_times([1.0], np.inf, 2.0), "b0: got 1 values"),
    (lambda: staircase.truncation_times([1.0], 0.0, np.nan), "y: got 1 values"),
    (lambda: staircase.truncation_times([], 0.0, 2.0), "x: got shape (0,); expected (N,)"),
    (lambda: staircase.truncation_times([[1.0]], 0.0, 2.0), "x: got shape (1, 1)"),
    (lambda: staircase.bias_flow([1.0], 0.0, 2.0, [0.0, -0.5]), "s: got a negative time -0.5; expected times >= 0"),
    (lambda: staircase.truncation_times_upward([1.0, 2.0], 2.0), "x: got [1.0, 2.0]; expected distinct points below"),
    (lambda: staircase.truncation_times_upward([1.0, 0.0, 1.0], 2.0), "x: got [0.0, 1.0, 1.0]"),
    (lambda: standard_cost.conserved_quantity(np.ones(2), np.ones(2)), "B, W: got shapes (2,) and (2,)"),
    (lambda: standard_cost.conserved_quantity(np.eye(2), np.eye(3)), "B, W: got shapes (2, 2) and (3, 3)"),
    (lambda: standard_cost.conserved_quantity(np.ones((2, 3)), np.ones((2, 3))), "B, W: got shapes (2, 3) and (2, 3)"),
    (lambda: standard_cost.spectral_gap(np.diag([2.0, 0.5]), EYE), "I = B B^T - W^T W: got eigenvalues from -0.75"),
    (lambda: standard_cost.spectral_gap(EYE, EYE), "I = B B^T - W^T W: got eigenvalues from 0 to 0"),
    (lambda: standard_cost.output_layer_flow(X.T[0], X.T, EYE, [0.0]), "got X (3,), Y (2, 3), W0 (2, 2)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T[0], EYE, [0.0]), "got X (2, 3), Y (3,), W0 (2, 2)"),
    (lambda: standard_cost.output_layer_flow(X.T, EYE, EYE, [0.0]), "got X (2, 3), Y (2, 2), W0 (2, 2)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, np.eye(3), [0.0]), "got X (2, 3), Y (2, 3), W0 (3, 3)"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0, -1.0]), "s: got -1"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0], weights=[1, -1, 1]), "weights: got -1"),
    (lambda: standard_cost.output_layer_flow(X.T, X.T, EYE, [0.0], weights=[1, 1]), "weights: got shape (2,)"),
    (lambda: standard_cost.output_layer_flow(FLAT, X.T[:, :2], EYE, [0.0]), "X X^T: got condition number"),
    (lambda: truncation.truncation_map(X, 2 * EYE, ZERO), "R: got max|"),
    (lambda: truncation.truncation_map(X * np.nan, EYE, ZERO), "x: got 6 values"),
    (lambda: truncation.truncation_map_of_weights(X, FLAT, ZERO), "W: got condition number"),
    (lambda: truncation.truncation_map_of_weights(X, EYE, np.ones(3)), "beta: got shape (3,)"),
    (lambda: truncation.sector_pattern(X, EYE, np.ones(3)), "beta: got shape (3,)"),
    (lambda: truncation.affine_truncation_map(X, FLAT, ZERO), "W: got condition number"),
    (lambda: truncation.cumulative_parameters([EYE], []), "got 1 weights and 0 biases"),
    (lambda: truncation.cumulative_parameters([], []), "got 0 weights and 0 biases; expected equal numbers"),
    (lambda: truncation.cumulative_parameters([EYE, FLAT], [ZERO, ZERO]), "weights[1]: got condition number"),
    (lambda: truncation.cumulative_parameters([EYE, EYE], [ZERO, np.ones(3)]), "biases[1]: got shape (3,)"),
    (lambda: truncation.pullback_labels(FLAT, EYE), "W_out: got condition number"),
    (lambda: truncation.pullback_labels(EYE, np.ones((2, 3))), "y: got labels in R^3; expected R^2"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_each_bad_argument_is_refused_with_its_value(call, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        call()


def test_what_stands_at_a_border_is_taken():
    on_the_border = np.array([[-1.0, -1.0], [-1.0, 0.0]])  # R (x + beta) = 0 counts as truncated
    assert separated.release_time(on_the_border, EYE, ZERO, ZERO) >= 0
    np.testing.assert_array_equal(staircase.bias_flow([1.0], 0.5, 2.0, [0.0]), [0.5])
    assert standard_cost.spectral_gap(2 * EYE, EYE) == pytest.approx(3)
    assert general.cluster_weights(np.array([0, 1, 1]), 2).tolist() == [1, 0.5, 0.5]
    assert len(inputs.clusters([X, X[:1]])) == 2
    assert inputs.invertible(np.diag([1.0, 1e-11]), "W").shape == (2, 2)  # a condition number of 1e11
