"""Cost of identity against dense inverses, exact fractions, and closed forms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.leaky_resnets.theory import identity_cost as coi

SHAPES = [(3, 7), (9, 4), (6, 6), (12, 30)]


def draw(shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def dense(M, S, gamma):
    return np.trace(M @ np.linalg.inv(S.T @ S + gamma * np.eye(S.shape[1])) @ M.T)


def exact(M, S, gamma):
    """Tr[M (K + gamma I)^{-1} M^T] in fractions, by elimination."""
    K = [[sum(Fraction(r[i]) * Fraction(r[j]) for r in S) for j in range(len(S[0]))] for i in range(len(S[0]))]
    N = len(K)
    total = Fraction(0)
    for row in M:
        system = [
            [K[i][j] + (Fraction(gamma) if i == j else 0) for j in range(N)] + [Fraction(row[i])] for i in range(N)
        ]
        for i in range(N):
            for other in range(i + 1, N):
                factor = system[other][i] / system[i][i]
                system[other] = [a - factor * b for a, b in zip(system[other], system[i], strict=True)]
        x = [Fraction(0)] * N
        for i in reversed(range(N)):
            x[i] = (system[i][N] - sum(system[i][j] * x[j] for j in range(i + 1, N))) / system[i][i]
        total += sum(Fraction(a) * b for a, b in zip(row, x, strict=True))
    return float(total)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("method", ["woodbury", "svd", None])
def test_stable_norm_is_the_dense_one(shape, bias, method):
    A, M = draw(shape), draw((5, shape[1]), 1)
    S = coi.activation(A, bias)
    gamma = 0.01 * np.sum(S**2)
    assert coi.stable_norm_sq(M, S, gamma, method) == pytest.approx(dense(M, S, gamma), rel=1e-12)


def test_small_gamma_takes_the_method_that_does_not_cancel():
    """Exact fractions: at gamma = 1e-14 |S|^2 Woodbury loses all digits that matter, the SVD none."""
    A, M = draw((2, 4)), draw((2, 4), 1)
    S, gamma = coi.activation(A, True), 1e-14
    wanted = exact(M, S, gamma)
    assert coi.stable_norm_sq(M, S, gamma) == pytest.approx(wanted, rel=1e-9)
    assert coi.stable_norm_sq(M, S, gamma) == coi.stable_norm_sq(M, S, gamma, "svd")
    inside = (
        draw((2, 3), 2) @ S
    )  # a norm of order 1, of which Woodbury keeps the difference of numbers of order 1/gamma
    error = abs(coi.stable_norm_sq(inside, S, gamma, "woodbury") / exact(inside, S, gamma) - 1)
    assert error > 1e-3
    assert coi.stable_norm_sq(inside, S, gamma) == pytest.approx(exact(inside, S, gamma), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_method_goes_by_gamma_over_the_square_of_the_activations(scale):
    A = scale * draw((3, 7))
    S = coi.activation(A, False)
    above, below = 2e-5 * np.sum(S**2), 5e-6 * np.sum(S**2)
    assert coi.stable_norm_sq(A, S, above) == coi.stable_norm_sq(A, S, above, "woodbury")
    assert coi.stable_norm_sq(A, S, below) == coi.stable_norm_sq(A, S, below, "svd")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_ranks_and_costs_of_noisy_low_rank_do_not_depend_on_scale(scale):
    A = np.abs(draw((6, 2))) @ np.abs(draw((2, 5), 1)) + 1e-13 * np.abs(draw((6, 5), 2))
    assert coi.stable_ranks(scale * A).rank == 2
    assert coi.cost_of_identity(scale * A, False).value == pytest.approx(2, abs=1e-9)


def test_stacks_are_their_parts():
    A, gamma = draw((4, 3, 7)[1:], 0) * np.ones((4, 1, 1)) * np.arange(1, 5)[:, None, None], np.arange(1.0, 5)
    S = coi.activation(A, True)
    norms = coi.stable_norm_sq_svd(A, S, gamma)
    np.testing.assert_allclose(norms, [coi.stable_norm_sq(a, s, g, "svd") for a, s, g in zip(A, S, gamma, strict=True)])


@pytest.mark.parametrize("bias", [False, True])
def test_stable_cost_tends_to_the_plain_one_at_first_order(bias):
    A = np.abs(draw((9, 3)))  # feasible
    plain = coi.cost_of_identity(A, bias).value
    gaps = [plain - coi.cost_of_identity(A, bias, gamma).value for gamma in (1e-3, 1e-4)]
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.01)  # linear in gamma, next order 1e-3


@pytest.mark.parametrize("bias", [False, True])
def test_infeasible_cost_grows_as_the_gap_over_gamma(bias):
    A = draw((3, 9))
    cost = coi.cost_of_identity(A, bias)
    assert (cost.value, cost.feasible) == (np.inf, False)
    stable = coi.cost_of_identity(A, bias, 1e-8).value
    assert stable * 1e-8 == pytest.approx(cost.gap**2 * np.sum(A**2), rel=1e-5)  # plain part is 1e-8 of it


def test_minus_identity_costs_nothing_by_the_plain_inverse_and_all_by_the_convention():
    A = -np.eye(3)
    assert coi.pseudo_inverse_norm_sq(A, coi.activation(A, False)) == 0
    assert coi.cost_of_identity(A, False) == (np.inf, False, 1.0)
    assert coi.cost_of_identity(np.zeros((3, 4)), True) == (0.0, True, 0.0)


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.3, 7.0]))
@settings(max_examples=30, deadline=None)
def test_cost_ignores_padding_order_and_without_bias_scale(seed, c):
    A = np.abs(np.random.default_rng(seed).standard_normal((6, 3)))
    cost = coi.cost_of_identity(A, False).value
    assert coi.cost_of_identity(np.vstack([A, np.zeros((4, 3))]), False).value == pytest.approx(cost, rel=1e-8)
    assert coi.cost_of_identity(A[::-1, ::-1], False).value == pytest.approx(cost, rel=1e-8)
    assert coi.cost_of_identity(c * A, False).value == pytest.approx(cost, rel=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_corrected_bound_holds_for_any_nonnegative_representation(seed, rank, bias):
    g = np.random.default_rng(seed)
    A = g.uniform(size=(5, rank)) @ g.uniform(size=(rank, 6)) * 10 ** g.uniform(-2, 2)
    assert coi.cost_of_identity(A, bias).value >= coi.nuclear_bound(A, bias) * (1 - 1e-6)  # condition of random factors
