"""Section 8 and 9: matrix flows against autograd, propagators, Duhamel, closed forms against an integrator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from repdyn.truncation_flow.methods import collapsed
from repdyn.truncation_flow.theory import standard_cost

TIMES = np.linspace(0, 1, 401)


def start(sign="positive", seed=0, Q=4):
    return *collapsed.definite_start(Q, sign, np.random.default_rng(seed)), np.eye(Q)


def test_weight_bounds_by_hand():
    s, gap, cost = (
        np.array([0.0, 0.5]),
        4.0,
        8.0,
    )  # c = 16: the root of c exp(-2 gap s)/gap, and c exp(-2 gap s)/sqrt(gap)
    np.testing.assert_allclose(standard_cost.weight_bound(s, gap, cost), [2.0, 2.0 * np.exp(-2)], rtol=1e-14)
    np.testing.assert_allclose(standard_cost.weight_bound_as_printed(s, gap, cost), [8.0, 8.0 * np.exp(-4)], rtol=1e-14)


@pytest.mark.parametrize("sign", ["positive", "negative", "indefinite"])
def test_integral_is_conserved_by_the_flow_and_drifts_under_euler(sign):
    B0, W0, Y = start(sign, 1)
    integral = standard_cost.conserved_quantity(*collapsed.collapsed_trajectory(B0, W0, Y, TIMES))
    assert np.abs(integral - integral[0]).max() < 1e-10  # relative tolerance 1e-12 times steps
    drifts = []
    for h in (0.004, 0.002):
        path = standard_cost.conserved_quantity(*collapsed.euler_trajectory(B0, W0, Y, h, round(1 / h)))
        drifts.append(np.abs(path[-1] - path[0]).max())
    assert 1.7 < drifts[0] / drifts[1] < 2.3  # first order in h


def test_corrected_weight_bound_holds_where_the_printed_fails():
    identity, small, zero = np.eye(3), 0.01 * np.eye(3), np.zeros((3, 3))
    times = np.linspace(0, 6, 25)
    _, W = collapsed.collapsed_trajectory(identity, small, zero, times)
    gap, cost = standard_cost.spectral_gap(identity, small), float(standard_cost.collapsed_cost(identity, small, zero))
    norm = np.linalg.norm(W, 2, axis=(1, 2))
    bound = standard_cost.weight_bound(times, gap, cost)
    assert np.all(norm <= bound)
    np.testing.assert_allclose(bound / norm, np.sqrt(3), rtol=1e-3)  # Frobenius over operator norm of a multiple of 1
    assert np.all(norm > standard_cost.weight_bound_as_printed(times, gap, cost))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_output_layer_in_closed_form(seed, weighted):
    g = np.random.default_rng(seed)
    X, Y, W0 = g.uniform(0.2, 1.5, (3, 20)), g.normal(size=(2, 20)), g.normal(size=(2, 3))
    w = g.uniform(0.01, 0.1, 20) if weighted else np.full(20, 1 / 20)
    times = np.array([0.0, 0.7, 5.0])

    def rate(s, flat):
        return -((flat.reshape(2, 3) @ X - Y) * w @ X.T).ravel()

    solved = solve_ivp(rate, (0, 5), W0.ravel(), t_eval=times, rtol=1e-11, atol=1e-12).y.T.reshape(-1, 2, 3)
    flow = standard_cost.output_layer_flow(X, Y, W0, times, weights=w if weighted else None)
    np.testing.assert_allclose(flow, solved, atol=1e-8)
    late = standard_cost.output_layer_flow(X, Y, W0, [1e5], weights=w if weighted else None)[0]
    np.testing.assert_allclose(late, standard_cost.least_squares_minimizer(X, Y, w), atol=1e-9)
