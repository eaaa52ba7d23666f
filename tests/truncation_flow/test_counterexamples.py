"""Attacks on the theorems: edges of sectors, ties, vanishing residuals, singular factors, the smallest sizes."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from tests.truncation_flow.reference import descent

from repdyn.truncation_flow.methods.collapsed import collapsed_trajectory
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.theory import general, separated, standard_cost, truncation

ONE = np.eye(2)


def flow(X, beta, yt, times):
    """One cluster from R = 1: pre-activations (time, point, coordinate), residuals |beta + yt| and costs."""
    X, beta, yt = (np.asarray(value, float) for value in (X, beta, yt))
    R, biases, _ = event_flow(X, np.full(len(X), 1 / len(X)), yt, np.eye(X.shape[1]), beta, np.asarray(times))
    u, b = np.einsum("tij,tkj->tki", R, X + biases[:, None]), np.einsum("tij,tj->ti", R, biases + yt)
    costs = 0.5 * ((np.maximum(u, 0) - b[:, None]) ** 2).sum(axis=2).mean(axis=1)
    return u, np.linalg.norm(b, axis=1), costs


# Theorem 3.2, Corollary 3.5, Lemma 6.1


def test_theorem_3_2_needs_the_cost_of_the_own_maps():
    """Under (3.3) alone the second cone cuts tau_1(x_1) off, and the gradient of (2.26) is another."""
    turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    X, yt = np.array([[1.0, -1.0], [5.0, 1.0]]), np.array([[0.3, -0.2], [4.0, 0.5]])
    apex = np.array([1.0, 0.0]) + turned.T @ [0.2, -1.0]
    R, beta = np.array([ONE, turned]), np.array([[0.0, 0.0], -apex])
    for layer, other in enumerate((1, 0)):
        image = truncation.truncation_map(X[[other]], R[layer], beta[layer])
        np.testing.assert_allclose(image, X[[other]], atol=1e-15)
    whole = general.general_effective_gradient(X, np.array([0, 1]), R, beta, yt).dbeta
    own = [separated.effective_gradient(X[[c]], R[c], beta[c], yt[c]).dbeta for c in range(2)]
    cut_off = turned[0] * (turned[0] @ ([1.0, 0.0] + 0.2 * turned[0] - yt[0]))
    np.testing.assert_allclose(own, [[0.0, 0.2], [0.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(whole, [[0.0, 0.45], cut_off], atol=1e-14)


@pytest.mark.parametrize(("label", "speed"), [(-1.0, 1.0), (1.0, -1.0)])
def test_on_a_plane_the_formula_is_a_derivative_only_where_the_point_is_being_truncated(label, speed):
    """One point at u = 0: with b < 0 no curve follows (3.19), and the orbit rests."""
    state = np.zeros((1, 1)), np.eye(1), np.zeros(1), np.array([label])
    assert separated.effective_gradient(*state).dbeta == pytest.approx(speed)
    rests = label < 0
    assert flow([[0.0]], [0.0], [label], [1.0])[1] == pytest.approx(1.0 if rests else np.exp(-1), abs=1e-9)


def test_second_moments_about_the_label_decide_the_flow_and_those_about_the_origin_do_not():
    beta, yt = np.array([0.1, -0.1]), np.array([0.3, -0.4])
    first = np.array([[1.0, -1.0], [1.0, -1.0]])
    second = np.array([[0.5, -0.5], [1.0, -1.0]]) * [[1.0], [np.sqrt(1.75)]]
    np.testing.assert_allclose(first.T @ first, second.T @ second, atol=1e-15)
    one, other = (separated.effective_gradient(X, ONE, beta, yt).Omega[0, 1] for X in (first, second))
    assert one - other == pytest.approx(0.5 * 0.7 * (second[:, 0].mean() - 1.0))


def test_lemma_6_1_does_not_depend_on_how_the_function_is_continued_off_the_group():
    """A function that vanishes on O(Q) has a symmetric gradient there, also at determinant -1."""
    R, S = (
        torch.tensor([[0.6, 0.8], [0.8, -0.6]], dtype=torch.float64, requires_grad=True),
        torch.tensor([[2.0, 1.0], [1.0, -3.0]]),
    )
    (S * (R.T @ R - torch.eye(2))).sum().backward()
    product = R.grad @ R.detach().T
    assert float(product.abs().max()) > 1
    assert float((product - product.T).abs().max()) < 1e-14


# Propositions 4.1 and 4.2


def test_a_point_on_an_edge_of_the_negative_sector_may_leave_it_under_4_16():
    """u = (0, -2), b = (1, 0): the plane repels, so that two solutions start there; the cost falls along both."""
    for start in (-1e-9, 1e-9):
        u, _, costs = flow([[-1.0, -2.0]], [1.0 + start, 0.0], [0.0, 0.0], [0.0, 0.5, 1.0, 3.0])
        assert np.all(np.sign(u[1:, 0, 0]) == np.sign(start))
        assert np.all(np.abs(u[1:, 0, 0]) > 0.3)
        assert np.all(np.diff(costs) < 0)


def test_a_released_point_may_stay_on_the_plane():
    """The point (.5, .4), label 0, apex (1, 1): from log 2 on it slides, and the cost falls."""
    u, _, costs = flow([[0.5, 0.4]], [-1.0, -1.0], [0.0, 0.0], np.log(2) + np.array([-0.05, 0.01, 0.2, 0.4]))
    assert u[0, 0, 0] < -0.01
    np.testing.assert_allclose(u[1:, 0, 0], 0, atol=1e-9)
    assert np.all(np.diff(costs) < 0)


def test_a_point_rests_on_a_plane_where_the_formula_of_the_generator_does_not_vanish():
    """The point (1, 1), label 0: at u_1 = 0 the formula (3.22), by h(0) = 0, gives -b_1 u_2 / 2 for ever."""
    x, start, times = np.ones((1, 2)), np.array([-2.0, 1.0]), np.array([1.0, 5.0])
    R, beta, _ = event_flow(x, np.ones(1), np.zeros(2), ONE, start, times)
    (u_1, u_2), (b_1, _) = (np.einsum("tij,tj->it", R, moved) for moved in (x + beta, beta))
    np.testing.assert_allclose(u_1, 0, atol=1e-9)
    np.testing.assert_allclose(np.diff(-b_1 * u_2 / 2), 0, atol=1e-9)
    assert np.all(-b_1 * u_2 / 2 > 1)


def test_without_a_residual_proposition_4_2_is_empty_and_its_conclusion_fails():
    """At beta(0) = -yt no bias meets (4.17); one of 20 points approaches its plane at the rate p |u|^2 / 2 for ever."""
    X = [[-1.0, -1.0]] * 19 + [[0.01, -1.0]]
    u, residual, _ = flow(X, [0.0, 0.0], [0.0, 0.0], [0.0, 100.0, 300.0])
    assert np.all(residual == 0)
    assert np.all(u[:, :-1] < 0)
    np.testing.assert_allclose(np.log(u[1:, -1, 0] / 0.01), [-2.5, -7.5], rtol=1e-3)


def test_one_direction_has_nothing_to_turn():
    """Q = 1: (4.15) is empty, and a partly truncated cluster under (4.16) is truncated at the time of (4.49)."""
    u, *_ = flow([[-2.0], [-1.0]], [1.5], [0.0], [2 * np.log(1.5) - 1e-6, 2 * np.log(1.5) + 1e-6])
    assert np.max(u[0]) > 0 > np.max(u[1])


# Theorem 5.1


def test_general_flow_where_a_layer_kills_all_points_and_clusters_share_one():
    """Autograd with one point under two labels, a reflection, a layer of the identity, and one that truncates all."""
    X, cluster, yt = (
        np.array([[1.0, -2.0], [1.0, -2.0], [-1.0, 0.2]]),
        np.array([0, 1, 1]),
        np.array([[1.0, 0.0], [-0.5, 2.0]]),
    )
    R = np.array([[[0.6, 0.8], [0.8, -0.6]], ONE, -ONE])
    for last in (-9.0, 9.0):  # the last layer passes all or truncates all
        beta = np.array([[0.3, -0.2], [5.0, 5.0], [last, last]])
        _, dbeta, Omega = descent(X, cluster, R, beta, yt)
        found = general.general_effective_gradient(X, cluster, R, beta, yt)
        np.testing.assert_allclose(found.dbeta, dbeta, atol=1e-14)
        np.testing.assert_allclose(found.Omega, Omega, atol=1e-14)
        assert (np.abs(found.Omega[0]).max() > 0.1) == (last < 0)


# Theorems 8.4 and 9.1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("Y", [np.zeros((2, 2)), np.array([[2.0, 2.0], [1.0, 1.0]]), np.diag([3.0, 0.0])])
def test_definite_integral_of_motion_with_a_vanishing_factor_and_singular_labels(sign, Y):
    """One factor 0 at the start, the other 1: I(0) = +-1 has a double eigenvalue."""
    B, W = (ONE, 0 * ONE)[::sign]
    times = np.linspace(0, 20, 41)
    B, W = collapsed_trajectory(B, W, Y, times)
    error = np.linalg.norm(W @ B + Y, axis=(1, 2))
    assert np.all(error <= np.exp(-times) * np.linalg.norm(Y) * (1 + 1e-9) + 1e-10)
    assert max(np.abs(B[-1] - B[-3]).max(), np.abs(W[-1] - W[-3]).max()) < 1e-8


def test_a_gap_bounds_the_propagator_though_the_eigenvectors_turn():
    """B B^T with eigenvalues 1 and 9 and turning axes; U_B = e^{-s} exactly where both are 1."""

    def falls(s, U, other):
        axes = np.array([[np.cos(3 * s), -np.sin(3 * s)], [np.sin(3 * s), np.cos(3 * s)]])
        return -(U.reshape(2, 2) @ axes @ np.diag([1.0, other]) @ axes.T).ravel()

    for other in (1.0, 9.0):
        solution = solve_ivp(falls, (0, 3), ONE.ravel(), args=(other,), rtol=1e-10, atol=1e-14)
        ratio = np.linalg.norm(solution.y.T.reshape(-1, 2, 2), 2, axis=(1, 2)) * np.exp(solution.t)
        assert np.all(ratio <= 1 + 1e-8)
        assert (ratio[-1] > 1 - 1e-8) == (other == 1.0)


def test_explicit_output_weight_with_as_many_points_as_classes():
    """N = Q, one point per class, nearly dependent, labels of rank 1: the closed form obeys (9.7)."""
    X, Y, start = (
        np.array([[1.0, 1.0], [0.0, 0.01]]),
        np.array([[1.0, 2.0], [2.0, 4.0]]),
        np.array([[0.0, 1.0], [0.0, 0.0]]),
    )
    step, s = 1e-4, 0.7
    before, now, after = (
        standard_cost.output_layer_flow(X, Y, start, [t], weights=np.full(2, 0.5))[0] for t in (s - step, s, s + step)
    )
    np.testing.assert_allclose((after - before) / (2 * step), -0.5 * (now @ X - Y) @ X.T, atol=1e-7)
    late = standard_cost.output_layer_flow(X, Y, start, [1e7], weights=np.full(2, 0.5))[0]
    np.testing.assert_allclose(late, Y @ np.linalg.inv(X), rtol=1e-6)


def test_a_definite_integral_of_motion_does_not_keep_a_network_in_its_sectors():
    """Theorem 8.4 at Q = 1: x = 0, beta = -1, W = 2, y = -2 is collapsed, I(0) = -3.

    The collapsed flow reaches the label; the network's cost ends at y^2/2 (`test_quick_answers`).
    """
    B, factor = collapsed_trajectory(-ONE[:1, :1], 2 * ONE[:1, :1], -2 * ONE[:1, :1], np.array([0.0, 5.0]))
    assert abs((factor @ B)[-1].item() - 2.0) < 1e-6
