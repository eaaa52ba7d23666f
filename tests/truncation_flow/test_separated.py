"""The flow of one cluster against autograd on R^Q x O(Q), finite differences and a plain sum of commutators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from tests.truncation_flow.reference import descent

from repdyn.truncation_flow.theory import derivatives, separated

ROUNDING = 1e-12  # sums over 30 points of products of numbers up to 10


def cluster(Q, seed, N=30):
    g = np.random.default_rng((Q, seed))
    return g.normal(size=(N, Q)), ortho_group.rvs(Q, random_state=g), 0.5 * g.normal(size=Q), g.normal(size=Q)


def state(X, R, beta, yt):
    u = (X + beta) @ R.T
    return (u > 0).astype(float), u, R @ (beta + yt), np.full(len(X), 1 / len(X))


def autograd(X, R, beta, yt):
    cost, dbeta, Omega = descent(X, np.zeros(len(X), int), R[None], beta[None], yt[None])
    return cost, dbeta[0], Omega[0]


@pytest.mark.parametrize("Q", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("seed", range(4))
def test_corrected_flow_is_the_gradient_and_the_printed_is_not(Q, seed):
    X, R, beta, yt = cluster(Q, seed)
    cost, dbeta, Omega = autograd(X, R, beta, yt)
    corrected = separated.effective_gradient(X, R, beta, yt)
    np.testing.assert_allclose(corrected.dbeta, dbeta, atol=ROUNDING)
    np.testing.assert_allclose(corrected.Omega, Omega, atol=ROUNDING)
    assert corrected.cost == pytest.approx(cost, abs=ROUNDING)
    printed = separated.effective_gradient(X, R, beta, yt, formula="printed")
    np.testing.assert_allclose(printed.dbeta, dbeta, atol=ROUNDING)
    assert np.abs(printed.Omega - Omega).max() > 1e-3


@pytest.mark.parametrize("Q", [2, 4, 6])
def test_complex_steps_agree_with_autograd(Q):
    X, R, beta, yt = cluster(Q, 9)
    w = np.full(len(X), 1 / len(X))
    found = derivatives.flow_by_complex_step(X, w, yt, R[None], beta[None])
    for (part,), expected in zip(found, autograd(X, R, beta, yt)[1:], strict=True):
        np.testing.assert_allclose(part, expected, atol=ROUNDING)


@settings(max_examples=30, deadline=None)
@given(Q=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_all_forms_of_the_generator_agree(Q, seed):
    X, R, beta, yt = cluster(Q, seed)
    H, u, b, w = state(X, R, beta, yt)
    Omega = separated.generator(H, u, b, w)
    np.testing.assert_allclose(Omega, -Omega.T, atol=ROUNDING)
    np.testing.assert_allclose(separated.generator_by_commutators(H, u, b, w), Omega, atol=ROUNDING)
    J, S = separated.sector_moments(X, yt, R, beta)
    np.testing.assert_allclose(separated.generator_from_moments(J, S, R, b), Omega, atol=ROUNDING)
    assert separated.cost_from_moments(J, S, R, b) == pytest.approx(float(separated.cost(H, u, b, w)), abs=1e-11)


@settings(max_examples=30, deadline=None)
@given(Q=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_printed_forms_are_what_the_paper_prints(Q, seed):
    H, u, b, w = state(*cluster(Q, seed))
    printed = separated.generator_as_printed(H, u, b, w)
    np.testing.assert_allclose(separated.generator_by_commutators(H, u, b, w, quadratic=False), printed, atol=ROUNDING)
    elements = separated.generator_from_first_moments_as_printed(H, u, b, w)
    np.testing.assert_allclose(elements, 2 * printed, atol=ROUNDING)


@settings(max_examples=20, deadline=None)
@given(Q=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_flow_does_not_see_permutations_or_a_common_rotation(Q, seed):
    X, R, beta, yt = cluster(Q, seed)
    turn = ortho_group.rvs(Q, random_state=np.random.default_rng(seed))
    plain = separated.effective_gradient(X, R, beta, yt)
    shuffled = separated.effective_gradient(X[::-1], R, beta, yt)
    np.testing.assert_allclose(shuffled.Omega, plain.Omega, atol=ROUNDING)
    turned = separated.effective_gradient(X @ turn.T, R @ turn.T, turn @ beta, turn @ yt)
    np.testing.assert_allclose(turned.Omega, plain.Omega, atol=1e-11)
    np.testing.assert_allclose(turned.dbeta, turn @ plain.dbeta, atol=1e-11)


def test_explicit_example_of_the_rise():
    X, yt = np.array([[1.0, -1.0]]), np.array([0.5, 0.0])
    printed = separated.effective_gradient(X, np.eye(2), np.zeros(2), yt, formula="printed")
    corrected = separated.effective_gradient(X, np.eye(2), np.zeros(2), yt)
    bias = -np.sum(printed.dbeta**2)
    assert bias - np.sum(printed.Omega * corrected.Omega) == pytest.approx(1 / 8)
    assert bias - np.sum(corrected.Omega**2) == pytest.approx(-1 / 8)


def state_under_416(Q, seed, scale):
    """Points with v = R (x - yt) <= 0 of very different sizes, any residual bias."""
    g = np.random.default_rng((Q, seed))
    v = -np.abs(g.normal(size=(6, Q))) * np.exp(2 * g.normal(size=(6, 1)))
    b = scale * g.normal(size=Q)
    return (v + b > 0).astype(float), v + b, b, np.full(6, 1 / 6)


@settings(max_examples=60, deadline=None)
@given(Q=st.integers(2, 6), seed=st.integers(0, 10**6), scale=st.floats(1e-3, 10))
def test_bound_on_the_generator_holds_with_a_half_under_its_hypothesis(Q, seed, scale):
    H, u, b, w = state_under_416(Q, seed, scale)
    norm = np.linalg.norm(separated.generator(H, u, b, w), 2)
    assert norm <= 0.5 * separated.generator_bound(H, u, b, w) * (1 + 1e-12) + 1e-14  # round-off where both vanish


def test_bound_on_the_generator_by_hand():
    H = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])  # first and last are partly on
    u = np.array([[3.0, -4.0], [1.0, 1.0], [-1.0, -1.0], [-5.0, 12.0]])  # of size 5 and 13
    b, w = np.array([0.6, 0.8]) * 2, np.array([0.1, 0.4, 0.3, 0.2])
    assert separated.generator_bound(H, u, b, w) == pytest.approx(2 * (0.1 * 5 + 0.2 * 13))


def test_release_time_by_hand_and_never_under_the_hypothesis():
    X, beta, identity = np.array([[0.5, 0.4], [-3.0, -2.0]]), -np.ones(2), np.eye(2)
    assert separated.release_time(X, identity, beta, np.zeros(2)) == pytest.approx(np.log(2))  # u = -.5, v = .5
    assert separated.release_time(X, identity, beta, np.ones(2)) == np.inf
