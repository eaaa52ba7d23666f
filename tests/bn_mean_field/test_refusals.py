"""What the theory refuses, each part of each condition alone, and what stands at its border and is taken."""

import re

import numpy as np
import pytest

from repdyn.bn_mean_field.theory import arguments, bounds, kernels, manifold
from repdyn.bn_mean_field.theory.circular import circular_kernel_sums
from repdyn.bn_mean_field.theory.velocity import Population, Teacher, empirical_velocity, mean_field_velocity

COV = np.diag([4.0, 1.0])
ON_OMEGA = np.array([[0.5, 0.0], [0.0, 1.0]])
A, B = np.ones(2), np.array([[1.0, 0.0], [1.0, 1.0]])
ONE_ZERO_ROW = np.array([[1.0, 0.0], [0.0, 0.0]])
X, Y = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
TEACHER = Teacher(np.ones(1), np.array([[1.0, 0.0]]))

REFUSED = [
    (lambda: arguments.covariance(np.ones(4)), "cov has shape (4,); expected a square matrix"),
    (lambda: arguments.covariance(np.ones((2, 3))), "cov has shape (2, 3)"),
    (lambda: arguments.covariance(np.ones((0, 0))), "cov has shape (0, 0)"),
    (lambda: arguments.covariance([[2.0, 0.5], [0.25, 2.0]]), "cov is not symmetric (largest difference 0.25)"),
    (lambda: arguments.covariance(np.diag([2.0, 0.0])), "cov is not positive definite (smallest eigenvalue 0)"),
    (lambda: arguments.covariance(np.diag([2.0, -1.0])), "smallest eigenvalue -1"),
    (lambda: arguments.covariance(np.diag([6e-16, 1e-3, 1.0])), "smallest eigenvalue 6e-16"),  # rounding of 1.0
    (lambda: arguments.vectors(np.ones(2), 2), "b has shape (2,); expected (..., m, 2) to match cov (2, 2)"),
    (lambda: arguments.vectors(np.ones((3, 2)), 3, "w"), "w has shape (3, 2); expected (..., m, 3)"),
    (lambda: arguments.vectors(np.ones((0, 2)), 2), "b has no rows (m = 0)"),
    (lambda: arguments.vectors(ONE_ZERO_ROW, 2), "b has a zero row"),
    (lambda: arguments.vectors([[1.0, np.nan]], 2), "b: got 1 values that are NaN or infinite"),
    (lambda: arguments.particles(np.ones(3), B, 2), "a has shape (3,) but b has (2, 2)"),
    (lambda: arguments.particles([1.0, np.inf], B, 2), "a: got 1 values that are NaN or infinite"),
    (lambda: arguments.on_omega([[0.5, 0.0], [0.0, 1.25]], COV), "||b||_Sigma differs from 1 by up to 0.25"),
    (lambda: arguments.on_omega([[0.5, 0.0], [0.0, 0.75]], COV), "||b||_Sigma differs from 1 by up to 0.25"),
    (lambda: arguments.data(np.ones(4), Y, centered=False), "x has shape (4,), y (4,)"),
    (lambda: arguments.data(X, Y[:3], centered=False), "x has shape (4, 2), y (3,)"),
    (lambda: arguments.data(X[:1], Y[:1], centered=False), "x has shape (1, 2), y (1,)"),
    (lambda: arguments.data(X - [0.0, 1e-3], Y, centered=True), "Assumption 1 needs E x = 0"),
    (lambda: arguments.data(X, Y * np.nan, centered=True), "y: got 4 values that are NaN or infinite"),
    (lambda: Teacher(np.ones(2), np.ones((3, 2))), "a has shape (2,) but b has (3, 2)"),
    (lambda: Population(Teacher(np.ones(1), np.ones((1, 3))), COV), "teacher.w has shape (1, 3); expected (..., m, 2)"),
    (lambda: Population(TEACHER, COV, "layer"), "normalization: got 'layer'; expected one of"),
    (lambda: Population(TEACHER, COV, "batch", "tanh"), "activation: got 'tanh'; expected one of relu, erf"),
    (
        lambda: mean_field_velocity(A, 2 * ON_OMEGA, TEACHER, COV, normalization="manifold"),
        "||b||_Sigma differs from 1 by up to 1",
    ),
    (lambda: mean_field_velocity(A, B, TEACHER, COV, time_scale="t"), "time_scale: got 't'; expected one of"),
    (lambda: empirical_velocity(A, B, X, Y, time_scale="t"), "time_scale: got 't'"),
    (lambda: empirical_velocity(A, B, X, Y, normalization="manifold"), "normalization: got 'manifold'; expected"),
    (lambda: empirical_velocity(A, B, X, Y, activation="tanh"), "activation: got 'tanh'"),
    (lambda: empirical_velocity(A, B, X, Y, loss="hinge"), "loss: got 'hinge'; expected one of squared, logistic"),
    (lambda: empirical_velocity(A, B, X, [1.0, -1.0, 0.0, 1.0], loss="logistic"), "y has labels [-1.0, 0.0, 1.0]"),
    (lambda: empirical_velocity(A, B, X + 1, Y), "Assumption 1 needs E x = 0"),
    (lambda: empirical_velocity(A, [[1.0, 0.0], [0.0, 1.0]], X * [1.0, 0.0], Y), "some b^T x is constant on the data"),
    (lambda: kernels.relu_kernel(B, B[:, :1], COV), "v has shape (2, 1); expected (..., m, 2)"),
    (lambda: kernels.relu_kernel(B[:, :1], B, COV), "u has shape (2, 1); expected (..., m, 2)"),
    (lambda: kernels.erf_kernel(B, ONE_ZERO_ROW, COV), "v has a zero row"),
    (lambda: kernels.erf_kernel(ONE_ZERO_ROW, B, COV), "u has a zero row"),
    (lambda: kernels.potential(B, B, A * np.nan, COV), "NaN or infinite"),
    (lambda: kernels.potential(B, B, A, COV, "tanh"), "activation: got 'tanh'; expected one of relu, erf"),
    (lambda: kernels.potential(B, B, A, np.diag([1.0, 0.0])), "cov is not positive definite"),
    (lambda: circular_kernel_sums(np.zeros((1, 1)), [0.0], [1.0]), "shapes are (1, 1), (1,), (1,)"),
    (lambda: circular_kernel_sums([0.0], np.zeros((1, 1)), np.ones((1, 1))), "shapes are (1,), (1, 1), (1, 1)"),
    (lambda: circular_kernel_sums([0.0], [0.0, 1.0], [1.0]), "shapes are (1,), (2,), (1,)"),
    (lambda: circular_kernel_sums([0.0], [], []), "shapes are (1,), (0,), (0,); expected (m,), (n,), (n,), n >= 1"),
    (lambda: manifold.sigma_norm(ONE_ZERO_ROW, COV), "b has a zero row"),
    (lambda: manifold.normalize(ONE_ZERO_ROW, COV), "b has a zero row"),
    (lambda: manifold.condition_operator(B, COV), "||b||_Sigma differs from 1"),
    (lambda: manifold.tangent_projector(ONE_ZERO_ROW, COV), "b has a zero row"),
    (lambda: manifold.round_metric(ONE_ZERO_ROW), "b has a zero row"),
    (lambda: manifold.smallest_metric_eigenvalue(ONE_ZERO_ROW, COV), "b has a zero row"),
    (lambda: manifold.riemannian_gradient(B, B, COV), "||b||_Sigma differs from 1"),
    (lambda: manifold.riemannian_gradient(B[:1], ON_OMEGA, COV), "grad has shape (1, 2), b (2, 2)"),
    (lambda: manifold.kantorovich_bound([2.0, 0.5]), "condition_number is 0.5; expected k >= 1"),
    (lambda: manifold.angle(B, ONE_ZERO_ROW), "b has a zero row"),
    (lambda: manifold.angle(ONE_ZERO_ROW, B), "b has a zero row"),
    (lambda: manifold.geodesic_distance(A, B, A, np.ones((2, 3))), "b has shape (2, 3); expected (..., m, 2)"),
    (lambda: manifold.geodesic_distance(A[:1], B, A, B), "a has shape (1,) but b has (2, 2)"),
    (lambda: bounds.growth_constants(-1.0, 1.0, 1.0), "activation_bound: got -1; expected finite numbers of 0 or more"),
    (lambda: bounds.growth_constants(1.0, -1.0, 1.0), "loss_slope_at_zero: got -1"),
    (lambda: bounds.growth_constants(1.0, 1.0, -1.0), "loss_curvature: got -1"),
    (lambda: bounds.exit_time([2.0, 1.0], 1.0, 1.0, 1.0), "r is 1, r0 1; expected r > r0 > 0"),
    (lambda: bounds.exit_time([2.0, 3.0], 0.0, 1.0, 1.0), "r is 2, r0 0"),
    (lambda: bounds.exit_time([], 1.0, 1.0, 1.0), "r is inf, r0 1"),
    (lambda: bounds.exit_time([2.0], 1.0, -1.0, 1.0), "A: got -1"),
    (lambda: bounds.exit_time([2.0], 1.0, 1.0, -1.0), "B: got -1"),
    (lambda: bounds.exit_time([2.0], 1.0, 0.0, 0.0), "A and B are both 0"),
    (lambda: bounds.exit_time_by_gronwall([2.0], 1.0, 0.0, 0.0), "A and B are both 0"),
    (lambda: bounds.exit_time_by_stages(0, 1.0, 1.0, 1.0), "whole number"),
    (lambda: bounds.exit_time_by_stages(2.5, 1.0, 1.0, 1.0), "whole number"),
    (lambda: bounds.exit_time_by_stages(3, -1.0, 1.0, 1.0), "r0 -1"),
    (lambda: bounds.equicontinuity_bound([[1.0, 2.0]], [[0.0, 1.0]]), "losses (1, 2) and times (1, 2) must be 1-d"),
    (lambda: bounds.equicontinuity_bound([1.0, 2.0], [0.0]), "losses (2,) and times (1,)"),
    (lambda: bounds.equicontinuity_bound([3.0, 2.0, 1.0], [0.0, 1.0, 1.0]), "times increasing"),
    (lambda: bounds.equicontinuity_bound_as_printed([3.0, 2.0, 1.0], [0.0, 2.0, 1.0]), "times increasing"),
    (lambda: bounds.first_step_norm([1.0, 0.0], 1.0, 0.1), "radius: got 0; expected finite numbers above 0: at b = 0"),
    (lambda: bounds.first_step_norm(1.0, -1.0, 0.1), "gradient_norm: got -1"),
    (lambda: bounds.first_step_norm(1.0, 1.0, -0.1), "step: got -0.1"),
    (lambda: bounds.critical_radius(-1.0, 0.1), "gradient_norm: got -1"),
    (lambda: bounds.critical_radius(1.0, -0.1), "step: got -0.1"),
    (lambda: bounds.effective_angular_rate(0.1, 0.0), "radius: got 0"),
    (lambda: bounds.effective_angular_rate(-0.1, 1.0), "step: got -0.1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_each_bad_argument_is_refused_with_its_value(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_boundary_values_are_accepted():
    assert manifold.kantorovich_bound(1.0) == 1
    np.testing.assert_array_equal(bounds.growth_constants(0.0, 0.0, 0.0), [0, 0])
    assert bounds.critical_radius(1.0, 0.0) == 0
    assert bounds.first_step_norm(3.0, 1.0, 0.0) == 3
    assert bounds.effective_angular_rate(0.0, 2.0) == 0
    # With B = 0 the radius grows at most at the rate A; with A = 0 it still takes time.
    assert 0 < bounds.exit_time([2.0], 1.0, 0.0, 1.0)[0] < np.inf
    assert 0 < bounds.exit_time([2.0], 1.0, 1.0, 0.0)[0] < np.inf
    inputs, _ = arguments.data(X[:2], Y[:2], centered=True)
    assert inputs.shape == (2, 2)
    shifted = X + 5
    assert arguments.data(shifted, Y, centered=False)[0] is shifted  # only batch normalization needs E x = 0
    np.testing.assert_array_equal(arguments.on_omega(ON_OMEGA * (1 + 0.9e-8), COV), ON_OMEGA * (1 + 0.9e-8))
    assert arguments.vectors([[0.0, 1e-300]], 2).shape == (1, 2)  # short, but with a direction


def test_eps_allows_a_direction_without_variance():
    x = X * [1.0, 0.0]
    _, db, _ = empirical_velocity(A, [[1.0, 0.0], [0.0, 1.0]], x, Y, eps=0.1)
    np.testing.assert_array_equal(db[1], 0)  # no input has anything along the second direction
