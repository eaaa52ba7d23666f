"""Layer steps, momenta and kinks of discrete networks."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.leaky_resnets.theory import layers

DEPTH = 1.7
ROUNDING = 1e-12  # products over a few layers of numbers of order 10


def network(bias, L=6, w=4, N=9, seed=0):
    g = np.random.default_rng((seed, L, w, N))
    rho = g.uniform(0.5, 1.5, L)
    W = g.standard_normal((L, w, w + bias))
    A0 = g.standard_normal((w, N))
    return W, A0, rho / rho.sum()


# Layer steps


@pytest.mark.parametrize("L", [1, 2, 7, 20, 33])
@pytest.mark.parametrize("a", [0.0, 0.5, 0.9, 3.9])
def test_irregular_steps_sum_to_one_and_are_symmetric(L, a):
    rho = layers.layer_steps("irregular", L, a)
    assert rho.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(rho, rho[::-1], rtol=1e-12)
    assert rho.min() > 0
    shape = [1 + Fraction(a) * (Fraction(1, 4) - abs(Fraction(2 * n + 1, 2 * L) - Fraction(1, 2))) for n in range(L)]
    np.testing.assert_allclose(rho, np.array([part / sum(shape) for part in shape], float), rtol=1e-12)


def path_of(curve, rho):
    return np.stack([curve(p) for p in np.concatenate([[0], np.cumsum(rho)])])


def test_adapted_steps_even_out_the_relative_distances():
    """On a fixed curve the rule is iterated to its fixed point, where |A_l - A_{l-1}| / |A_l| is the same"
    " everywhere."""
    start, rho = np.array([[2.0, 1.0], [0.0, 1.0]]), np.full(12, 1 / 12)

    def curve(p):
        return np.exp(-3 * p) * start + np.sin(4 * p) * start[::-1]

    before = layers.relative_speeds(path_of(curve, rho), rho) * rho
    for _ in range(60):
        rho = layers.adapt_layer_steps(path_of(curve, rho), rho, damping=0.5)
    after = layers.relative_speeds(path_of(curve, rho), rho) * rho
    assert before.max() / before.min() > 2
    np.testing.assert_allclose(after, after.mean(), rtol=1e-6)


def test_a_layer_that_rests_takes_a_million_times_the_step_of_the_fastest():
    A = np.ones((4, 2, 2)) * np.array([1.0, 2.0, 2.0, 4.0])[:, None, None]
    rho = layers.adapt_layer_steps(100 * A, np.full(3, 1 / 3), 0.0)
    assert rho[1] / rho[0] == pytest.approx(1e6, rel=1e-9)
    assert rho.sum() == pytest.approx(1, abs=1e-14)


def test_undamped_rule_is_the_papers():
    W, A0, rho = network(True)
    A = layers.propagate(W, A0, rho, DEPTH)
    c = np.linalg.norm(A[1:] - A[:-1], axis=(1, 2)) / (rho * np.linalg.norm(A[1:], axis=(1, 2)))
    np.testing.assert_allclose(layers.relative_speeds(A, rho), c, rtol=ROUNDING)
    np.testing.assert_allclose(layers.adapt_layer_steps(A, rho, 0.0), (1 / c) / np.sum(1 / c), rtol=ROUNDING)
    halfway = (rho + (1 / c) / np.sum(1 / c)) / 2
    np.testing.assert_allclose(layers.adapt_layer_steps(A, rho, 0.5), halfway, rtol=ROUNDING)


@given(st.integers(0, 10**6), st.floats(0.17, 0.6))
@settings(max_examples=40, deadline=None)
def test_capped_steps_obey_the_cap_and_sum_to_one(seed, cap):
    W, A0, rho = network(True, seed=seed)
    new = layers.adapt_layer_steps(layers.propagate(W, A0, rho, DEPTH), rho, 0.0, largest=cap)
    assert new.sum() == pytest.approx(1, abs=1e-12)
    assert new.min() > 0
    assert new.max() <= cap * (1 + 1e-12)


# Networks


@pytest.mark.parametrize("bias", [False, True])
def test_products_change_by_the_biases_for_any_weights(bias):
    W, A0, rho = network(bias)
    A = layers.propagate(W, A0, rho, DEPTH)
    B = layers.momenta(W, A, np.random.default_rng(5).standard_normal(A0.shape), rho, DEPTH)
    np.testing.assert_allclose(layers.momentum_identity(W, A, B, rho), 0, atol=1e-11)
    changed = layers.momentum_identity(2 * W, A, B, rho)
    assert (np.abs(changed).max() > 1e-3) == bias


def test_kinks_are_counted_without_padding():
    A = np.ones((2, 4, 10))
    A[:, 2:] = 0.0  # padded rows
    A[0, 0, :3] = (1e-5, -1e-5, 1e-3)
    assert layers.kink_share(A) == pytest.approx(2 / 40)
    assert layers.kink_share(500 * A) == pytest.approx(2 / 40)
    A[0, 0, 3] = 0.9e-4  # between 1e-4 of the root mean square, .69, and 1e-4 itself
    assert layers.kink_share(A) == pytest.approx(2 / 40)
    assert layers.kink_share(np.zeros((1, 2, 2))) == 0


def test_end_momentum_by_hand():
    np.testing.assert_allclose(layers.end_momentum([[3.0, -6.0]], 0.5), [[6.0, -12.0]])  # 2 / (lam N) = 2


def test_adaptive_steps_of_a_network_at_rest_become_equal():
    rest, rho = np.ones((5, 2, 3)), np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(layers.adapt_layer_steps(rest, rho, 0.0), 0.25)
    np.testing.assert_allclose(layers.adapt_layer_steps(rest, rho, 0.5), (rho + 0.25) / 2)
