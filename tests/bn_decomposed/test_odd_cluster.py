import numpy as np
import pytest

from repdyn.bn_decomposed.theory import odd_cluster
from repdyn.bn_decomposed.theory.geometry import geometry, pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import propagate


def angle_between(G, i, j):
    return np.arccos(G[i, j] / np.sqrt(G[i, i] * G[j, j]))


def centered(G):
    H = np.eye(len(G)) - 1 / len(G)
    return H @ G @ H


@pytest.mark.parametrize("n", [3, 7, 20])
def test_reduced_map_is_the_full_gram_recursion(n):
    for theta in (0.05, 0.5, 1.2):
        before = centered(odd_cluster.odd_gram(theta, n))
        step = expected_gram_step(odd_cluster.odd_gram(theta, n))
        start = angle_between(before, 1, 2)
        # Angles from a Gram matrix: rounding 1e-16 over theta^2/2 > 1e-3.
        assert angle_between(centered(step), 1, 2) == pytest.approx(float(odd_cluster.odd_map(start, n)), abs=1e-11)
        growth = centered(step)[1, 1] / before[1, 1]
        assert growth == pytest.approx(float(odd_cluster.odd_growth(start, n)), rel=1e-11)
        # odd_gram(theta) is the layer after centered angle theta.
        assert start == pytest.approx(float(odd_cluster.odd_map(theta, n)), abs=1e-11)


def test_point_cluster_widens_by_theorem_13():
    for n in (3, 10, 100):
        assert odd_cluster.odd_growth(0.0, n) == pytest.approx(((n - 1) ** 2 + 1) / n**2, rel=1e-14)
        widening = float(odd_cluster.odd_map(1e-9, n)) / 1e-9
        # First-order correction 2 theta / (3 pi) is 1e-10.
        assert widening == pytest.approx(np.sqrt(n**2 / ((n - 1) ** 2 + 1)), rel=1e-9)


@pytest.mark.parametrize("n", [4, 10, 50])
def test_multiplier_is_the_slope_of_the_map(n):
    for theta in (0.1, 0.8, np.arccos(-1 / (n - 1)) - 0.01):
        h = 1e-5
        slope = np.diff(np.cos(odd_cluster.odd_map(np.array([theta - h, theta + h]), n)))[0] / np.diff(
            np.cos([theta - h, theta + h])
        )
        # Central difference: h^2 of curvature, and rounding 1e-16 / (h sin theta).
        assert odd_cluster.odd_map_multiplier(theta, n) == pytest.approx(slope[0], abs=1e-7)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 20])
def test_fixed_points_are_where_the_recursion_ends(n):
    # An odd point with a tight cluster, iterated as a full matrix: 0.95^1500 is below rounding.
    K = odd_cluster.odd_gram(0.5 * odd_cluster.cluster_width(n), n)
    for _ in range(1500):
        K = expected_gram_step(K)
        K /= K[0, 0]
    np.testing.assert_allclose(K, odd_cluster.expected_gram_fixed_point(n, "odd"), atol=1e-10)
    assert (odd_cluster.odd_fixed_point(n) is None) == (n <= 6)
    assert angle_between(odd_cluster.expected_gram_fixed_point(n, "simplex"), 0, 1) == pytest.approx(
        odd_cluster.simplex_angle(n), abs=1e-12
    )


def test_fixed_point_describes_its_gram_matrix():
    for n in (7, 30):
        point, G = odd_cluster.odd_fixed_point(n), odd_cluster.expected_gram_fixed_point(n, "odd")
        assert angle_between(G, 1, 2) == pytest.approx(point.intra_angle, abs=1e-12)
        assert angle_between(G, 0, 1) == pytest.approx(point.odd_angle, abs=1e-12)
        assert (n - 1) * np.sqrt(G[1, 1]) == pytest.approx(point.norm_ratio, rel=1e-12)
        assert point.multiplier < 1


def test_cluster_narrows_like_three_pi_over_n():
    sizes = np.array([50, 100, 200, 400, 800])
    angles = np.array([odd_cluster.odd_fixed_point(int(n)).intra_angle for n in sizes])
    deviation = np.abs(angles / odd_cluster.cluster_width(sizes) - 1)
    order = np.log2(deviation[:-1] / deviation[1:])
    # The next term is relative 1/n: order one, approached from finite n.
    assert order[-1] == pytest.approx(1, abs=0.1)
    assert deviation[-1] < 0.01


def test_norm_ratio_and_odd_angle_tend_to_definition_12():
    points = [odd_cluster.odd_fixed_point(n) for n in (100, 200)]
    defects = [(p.norm_ratio - 1, np.pi / 2 - p.odd_angle) for p in points]
    # Excess 1/(n-1)^2-like terms: at least a factor 3 for a doubling.
    assert defects[0][0] / defects[1][0] > 3
    assert defects[0][1] / defects[1][1] > 3


def test_simplex_is_stable_at_every_n():
    for n in (3, 6, 7, 50, 1000):
        assert 0 < odd_cluster.odd_map_multiplier(np.arccos(-1 / (n - 1)), n) < 1


def test_simplex_angle_values():
    assert np.degrees(odd_cluster.simplex_angle(9)) == pytest.approx(75.03, abs=0.005)  # the 75 degrees of Figure 5(b)
    assert odd_cluster.simplex_angle(2) == pytest.approx(np.pi / 2)
    assert odd_cluster.simplex_angle(np.inf) == pytest.approx(np.arccos(1 / np.pi))


def test_simplex_is_the_fixed_point_with_rescaling_too():
    G = odd_cluster.expected_gram_fixed_point(8, "simplex")
    for rescale in (None, "rms", "std"):
        K = expected_gram_step(G, True, rescale)
        np.testing.assert_allclose(K / K[0, 0], G, atol=1e-12)


def test_odd_point_at_finite_width():
    n, fixed = 30, odd_cluster.odd_fixed_point(30)
    rng = np.random.default_rng(0)
    X = np.full((3, n), 1 / (n - 1)) * np.array([[0.0], [1.0], [0.0]])
    X[0, 0] = 1.0
    X[2, 1:] = rng.standard_normal(n - 1) / n**2
    g = geometry(propagate(X, 1000, 400, rng, recenter=True, rescale=None, relu=True))
    assert g.odd_index == 0
    # 400 layers are ten memories of 1/(1 - 0.97); chance per layer is of order 1/sqrt(1000) over one memory.
    assert g.intra_angle == pytest.approx(fixed.intra_angle, rel=0.25)
    assert g.odd_angle == pytest.approx(fixed.odd_angle, abs=0.05)


def test_rms_fixed_point_tends_to_its_limit_at_first_order():
    limit = odd_cluster.rms_fixed_point(np.inf)
    distance = [limit - odd_cluster.rms_fixed_point(n) for n in (16, 32, 64)]
    orders = np.log2(np.array(distance[:-1]) / distance[1:])
    assert orders == pytest.approx(1, abs=0.05)
    assert np.degrees(np.arccos(odd_cluster.rms_fixed_point(9))) == pytest.approx(60, abs=0.1)  # Figure 5(a)
    assert np.degrees(np.arccos(limit)) == pytest.approx(58.75, abs=0.01)


def test_rms_step_of_infinite_n_against_monte_carlo():
    c, rng = 0.3, np.random.default_rng(1)
    g, e = rng.standard_normal((200_000, 1)), rng.standard_normal((200_000, 2))
    z = np.maximum(np.sqrt(c) * g + np.sqrt(1 - c) * e, 0)
    product = 2 * z.prod(axis=1) / (c * g[:, 0] ** 2 + 1 - c)
    error = product.std() / np.sqrt(product.size)
    assert abs(product.mean() - odd_cluster.rms_cosine_step(c, np.inf)) < 4 * error  # four standard errors, fixed seed


def test_rms_angle_at_finite_width():
    X = np.random.default_rng(2).standard_normal((50, 9))
    Y = propagate(X, 2000, 30, np.random.default_rng(3), recenter=False, rescale="rms", relu=True)
    # Mean over 36 pair angles, each off by about 1/sqrt(2000) = 1.3 degrees per layer with a short memory.
    assert np.degrees(pair_angles(Y).mean()) == pytest.approx(
        np.degrees(np.arccos(odd_cluster.rms_fixed_point(9))), abs=2
    )


def test_active_fractions_against_sampling():
    rng, c = np.random.default_rng(4), 0.8  # at 1/2 the fraction is uniform, whatever the power
    z = np.sqrt(c) * rng.standard_normal((20_000, 1)) + np.sqrt(1 - c) * rng.standard_normal((20_000, 1000))
    share = np.mean((z > 0).mean(axis=1) > 0.9)
    expected = odd_cluster.active_fraction_tail(c, 0.9)
    # Five binomial standard errors plus the blur of a fraction over 1000 inputs, under 0.002.
    assert abs(share - expected) < 5 * np.sqrt(expected / 20_000) + 0.002
    n = 12
    y = rng.standard_normal((50_000, n))
    fraction = (y > y.mean(axis=1, keepdims=True)).mean(axis=1)
    # Standard error of a standard deviation: sd / sqrt(2 m), five of them.
    assert fraction.std() == pytest.approx(odd_cluster.active_fraction_deviation(n), rel=5 / np.sqrt(100_000))


@pytest.mark.parametrize("n", [100, 1000, 10000])
def test_width_and_multiplier_tend_to_their_proved_limits(n):
    """Width 3 pi / n and multiplier 1 - 1/n, both up to a relative O(1/n): proved on the study's page."""
    point = odd_cluster.odd_fixed_point(n)
    assert n * point.centered_angle / (3 * np.pi) == pytest.approx(1, abs=2 / n)
    assert n * (1 - point.multiplier) == pytest.approx(1, abs=2 / n)
