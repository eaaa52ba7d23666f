import numpy as np
import pytest
from scipy.linalg import expm

from repdyn.truncation_flow.theory.proposition import (
    BALL,
    constants_in_ball,
    eta_2_as_printed,
    partial_size_bound,
    proposition_4_2_constants,
)


def data(Q, share, seed=0, N=400):
    g = np.random.default_rng((Q, seed))
    X = -1 + g.uniform(-0.1, 0.1, (N, Q))
    for k in range(round(share * N)):
        X[k, k % Q] = -0.3 + g.uniform(-0.04, 0.04)
    return X, np.full(Q, {2: 0.5, 3: 0.6}[Q] / np.sqrt(Q))


def random_state(g, Q, reach, eta):
    direction = g.normal(size=Q)
    b = reach * g.uniform() ** 0.2 * direction / np.linalg.norm(direction)
    A = g.normal(size=(Q, Q))
    A = A - A.T
    return b, expm(0.99 * eta * A / np.linalg.norm(A, 2))


@pytest.mark.parametrize(("Q", "share"), [(2, 0.02), (3, 0.01)])
def test_bounds_hold_at_random_states_of_the_balls(Q, share):
    X, beta = data(Q, share)
    c = proposition_4_2_constants(X, np.eye(Q), beta, np.zeros(Q), 0.09)
    assert c.hypotheses_hold
    g, r = np.random.default_rng(1), np.linalg.norm(beta)
    for _ in range(2000):
        b, R = random_state(g, Q, BALL * r, c.eta_2)
        u = X @ R.T + b
        partial = np.any(u > 0, axis=1) & np.any(u <= 0, axis=1)
        size = np.linalg.norm(u, axis=1) * partial
        assert np.max(np.mean(u > 0, axis=0)) <= c.eta_0
        assert size.mean() <= c.eta_1
        low, R = random_state(g, Q, 0.09 * r, c.eta_2)
        assert np.all(X @ R.T + low <= 0)


def test_constants_belong_together():
    X, beta = data(2, 0.02)
    c = proposition_4_2_constants(X, np.eye(2), beta, np.zeros(2), 0.09)
    time = np.log(1 / 0.09)
    assert c.eta_1_prime == pytest.approx(BALL * 0.5 * c.eta_1)
    assert c.sharp_arrival_bound == pytest.approx(time / (1 - c.eta_0))
    assert c.arrival_bound == pytest.approx(time / (1 - c.eta_0 - c.eta_1_prime))
    assert c.eta_2 == pytest.approx(c.eta_1 * np.linalg.norm(beta) / (2 * (1 - c.eta_0)))


def test_hypotheses_ask_nothing_of_second_moments():
    X = -1 + np.random.default_rng(0).uniform(-0.1, 0.1, (1000, 2))
    X[:2] = [(-5.0, -0.3), (-0.3, -5.0)]  # few and far: small first, large second moment
    assert proposition_4_2_constants(X, np.eye(2), np.full(2, 0.5 / np.sqrt(2)), np.zeros(2), 0.09).hypotheses_hold


def test_wide_data_are_not_certified_and_the_printed_eta_2_disagree():
    X, beta = data(2, 0.2)
    assert not proposition_4_2_constants(X, np.eye(2), beta, np.zeros(2), 0.09).hypotheses_hold
    narrow, start = data(2, 0.02)
    printed = eta_2_as_printed(proposition_4_2_constants(narrow, np.eye(2), start, np.zeros(2), 0.09))
    assert abs(printed[0] - printed[1]) > 0.01


def test_printed_eta_2_by_hand():
    X, beta = data(2, 0.02)
    c = proposition_4_2_constants(X, np.eye(2), beta, np.zeros(2), 0.09)
    time = 2.407945608651872  # log(1 / 0.09)
    by_hand = (time * c.eta_1 / (1 - (c.eta_0 + c.eta_1_prime)), time * c.eta_1_prime / (1 - (c.eta_0 + c.eta_1)))
    assert eta_2_as_printed(c) == pytest.approx(by_hand, rel=1e-12)


def test_bound_on_partial_points_by_hand():
    # v = (-1, -1), reach 3/2: 1 of b is spent, sqrt(5)/2 is left for the other coordinate, 1/2 turns positive
    below = np.hypot(np.sqrt(2) + np.sqrt(1.25), 0.5)
    inside, far, on = np.sqrt(1.25) + 1.5, 0.0, 0.0  # partly on already; out of reach; always on
    v = np.array([[-1.0, -1.0], [0.5, -1.0], [-2.0, -3.0], [2.0, 2.0]])
    bounds = partial_size_bound(v, v, np.linalg.norm(v, axis=1), 1.5)
    np.testing.assert_allclose(bounds, [below, inside, far, on], rtol=1e-12)


def test_points_count_as_untruncated_up_to_a_tenth_beyond_the_radius():
    """|b| <= 1.1 r = 1.1 raises -1.05 above 0 for some b, and -1.2 for none."""
    assert constants_in_ball(np.array([[-1.05], [-1.2]]), 1.0, 0.5, 0.0).eta_0 == 0.5
