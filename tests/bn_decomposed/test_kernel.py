import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from repdyn.bn_decomposed.theory.kernel import (
    arccos_kernel,
    arccos_kernel_complement,
    expected_gram_step,
    expected_relu_gram,
    gram_map_multiplier,
    gram_step_derivative,
)
from repdyn.bn_decomposed.theory.layers import bn_components
from repdyn.bn_decomposed.theory.odd_cluster import expected_gram_fixed_point, odd_fixed_point

COMBINATIONS = list(itertools.product([False, True], [None, "rms", "std"], [False, True]))


@pytest.mark.parametrize("theta", [0.0, 1e-3, 0.7, np.pi / 2, 2.5, np.pi])
def test_kernel_is_the_mean_over_directions(theta):
    # In polar coordinates E r^2 = 2 and the direction is uniform on the circle: kappa = 2 E[...] .
    kinks = sorted({np.pi / 2, 3 * np.pi / 2, (theta + np.pi / 2) % (2 * np.pi), (theta - np.pi / 2) % (2 * np.pi)})
    mean, _ = quad(lambda a: max(np.cos(a), 0) * max(np.cos(a - theta), 0) / np.pi, 0, 2 * np.pi, points=kinks)
    assert arccos_kernel(np.cos(theta)) == pytest.approx(2 * mean, abs=1e-12)  # tolerance of the quadrature


def test_kernel_values():
    np.testing.assert_allclose(arccos_kernel(np.array([-1.0, 0.0, 1.0])), [0, 1 / np.pi, 1], atol=1e-16)


def test_complement_matches_kernel_and_its_series():
    theta = np.linspace(0.01, np.pi, 200)
    np.testing.assert_allclose(arccos_kernel_complement(theta), 1 - arccos_kernel(np.cos(theta)), atol=1e-15)
    small = np.geomspace(1e-9, 1e-3, 30)
    series = small**2 / 2 - small**3 / (3 * np.pi) - small**4 / 24 + small**5 / (30 * np.pi)
    # The next term of the series is theta^6/720, relative to theta^2/2 below 1e-14.
    np.testing.assert_allclose(arccos_kernel_complement(small), series, rtol=3e-15)
    assert arccos_kernel_complement(0.0) == 0


def sample(X, neurons, combination, seed):
    W = np.random.default_rng(seed).standard_normal((neurons, len(X)))
    return bn_components(X, W, *combination)


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_expected_step_against_monte_carlo(combination):
    recenter, rescale, relu = combination
    X = np.random.default_rng(0).standard_normal((8, 7)) + 0.5
    Y = sample(X, 40_000, combination, seed=1) * (np.sqrt(2) if relu else 1)
    products = Y[:, :, None] * Y[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(Y))
    expected = expected_gram_step(X.T @ X, recenter, rescale, relu=relu)
    # 28 distinct entries: five standard errors are passed by chance with probability 2e-5. A trace that is fixed
    # by the rescaling has no error, so a rounding is added.
    assert (np.abs(products.mean(axis=0) - expected) < 5 * error + 1e-12).all()


def test_rms_step_in_closed_form_for_a_projector_and_its_trace_for_any_batch():
    n = 6
    H = np.eye(n) - 1 / n
    closed = expected_relu_gram(H) * n / np.trace(H)
    # The trapezoidal rule in log s converges geometrically; what is left is rounding of 400 terms.
    np.testing.assert_allclose(expected_gram_step(7 * H + 2, True, "rms"), closed, atol=1e-12)
    np.testing.assert_allclose(
        expected_gram_step(3 * np.eye(n), False, "rms"), expected_relu_gram(np.eye(n)), atol=1e-12
    )
    X = np.random.default_rng(2).standard_normal((4, n)) * np.array([1, 2, 3, 4, 5, 100.0])
    for relu in (False, True):
        assert np.trace(expected_gram_step(X.T @ X, False, "rms", 3.0, relu=relu)) == pytest.approx(3 * n, rel=1e-11)


def test_rank_one_batch_under_rms():
    # z = g v: ReLU(z) ReLU(z)' n / z'z is v+ v+' or v- v-', each half of the time, times n / v'v.
    v = np.array([1.0, -2.0, 3.0])
    halves = np.outer(np.maximum(v, 0), np.maximum(v, 0)) + np.outer(np.maximum(-v, 0), np.maximum(-v, 0))
    expected = halves * 3 / (v @ v)
    # The integrand falls like exp(-x/2) only; cut at x = 90.
    np.testing.assert_allclose(expected_gram_step(np.outer(v, v), False, "rms"), expected, atol=1e-7)


def test_recentered_rms_and_std_coincide():
    X = np.random.default_rng(3).standard_normal((5, 6))
    np.testing.assert_array_equal(expected_gram_step(X.T @ X, True, "rms"), expected_gram_step(X.T @ X, True, "std"))


def test_step_is_homogeneous():
    X = np.random.default_rng(4).standard_normal((5, 6))
    G = X.T @ X
    np.testing.assert_allclose(expected_gram_step(9 * G, scale=2.0), 18 * expected_gram_step(G), rtol=1e-13)
    np.testing.assert_allclose(
        expected_gram_step(9 * G, False, "std"), expected_gram_step(G, False, "std"), rtol=1e-11, atol=1e-11
    )


def test_degenerate_batches():
    identical = np.ones((4, 4))
    assert (expected_gram_step(identical, True, "rms") == 0).all()
    assert (expected_gram_step(identical + 1e-15 * np.eye(4), True, "rms") == 0).all()
    spread = expected_gram_step(identical + 1e-13 * np.eye(4), True, "rms")
    np.testing.assert_allclose(spread, expected_gram_step(np.eye(4), True, "rms"), rtol=0.05)


def test_derivative_converges_at_second_order():
    rng = np.random.default_rng(5)
    X, D = rng.standard_normal((6, 5)), rng.standard_normal((5, 5))
    G, D = X.T @ X, D + D.T
    exact = gram_step_derivative(G, D)
    errors = []
    for h in (1e-2, 1e-3):
        central = (expected_gram_step(G + h * D) - expected_gram_step(G - h * D)) / (2 * h)
        errors.append(np.abs(central - exact).max())
    # Central differences: a factor 100 per decade, read with room for the next order.
    assert 1.8 < np.log10(errors[0] / errors[1]) < 2.2


@pytest.mark.parametrize("start", ["odd", "simplex"])
def test_multiplier_is_the_rate_of_approach(start):
    n = 10
    G = expected_gram_fixed_point(n, start)
    noise = np.random.default_rng(6).standard_normal((n, n))
    K, distance = G + 1e-4 * (noise + noise.T), []
    for _ in range(120):
        K = expected_gram_step(K)
        K *= np.trace(G) / np.trace(K)
        distance.append(np.linalg.norm(K - G))
    rate = (distance[-1] / distance[-31]) ** (1 / 30)
    # Slower modes than the slowest do not exist; the second one is still mixed in at 90 layers by about 1e-3.
    assert gram_map_multiplier(G) == pytest.approx(rate, abs=3e-3)
    if start == "odd":
        assert gram_map_multiplier(G) == pytest.approx(odd_fixed_point(n).multiplier, rel=1e-8)
