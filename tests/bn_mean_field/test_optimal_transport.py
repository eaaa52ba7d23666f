"""Exact transport: closed forms on the line, permutations by brute force, metric axioms."""

from itertools import permutations

import numpy as np
import pytest

from repdyn.bn_mean_field.methods.optimal_transport import coupled_distance, squared_cost, wasserstein2

COV = np.diag([5.0, 1.0])


def cloud(m, seed=0):
    rng = np.random.default_rng([seed, m])
    return rng.normal(size=m), rng.normal(size=(m, 2))


def test_on_a_line_it_is_the_quantile_distance():
    (a1, _), (a2, _) = cloud(6), cloud(3)
    same = np.tile([[1.0, 0.0]], (6, 1))
    distance = wasserstein2((a1, same), (a2, same[:3]), COV)
    expected = np.sqrt(np.mean((np.sort(a1) - np.repeat(np.sort(a2), 2)) ** 2))
    np.testing.assert_allclose(distance, expected, rtol=1e-12)


@pytest.mark.parametrize("metric", ["manifold", "chord"])
def test_equal_sizes_by_all_permutations(metric):
    first, second = cloud(6, 1), cloud(6, 2)
    cost = squared_cost(first, second, COV, metric)
    best = min(cost[np.arange(6), list(p)].mean() for p in permutations(range(6)))
    np.testing.assert_allclose(wasserstein2(first, second, COV, metric), np.sqrt(best), rtol=1e-12)


def test_unequal_sizes_are_the_assignment_of_copies():
    first, second = cloud(5, 1), cloud(20, 2)
    copies = tuple(np.repeat(part, 4, axis=0) for part in first)
    np.testing.assert_allclose(wasserstein2(first, second, COV), wasserstein2(copies, second, COV), rtol=1e-10)


def test_metric_axioms_and_coupling():
    first, second, third = cloud(7, 1), cloud(9, 2), cloud(7, 3)
    assert wasserstein2(first, first, COV) < 1e-7  # square root of the rounding of the cost
    np.testing.assert_allclose(wasserstein2(first, second, COV), wasserstein2(second, first, COV), rtol=1e-10)
    through = wasserstein2(first, second, COV) + wasserstein2(second, third, COV)
    assert wasserstein2(first, third, COV) <= through + 1e-12
    assert wasserstein2(first, third, COV) <= coupled_distance(first, third, COV)


def test_chord_and_angle_differ_by_the_stretch_of_the_ellipse():
    """Near the x1 axis of diag(5, 1) the angle is sqrt(5) times the chord on Omega, near x2 equal to it."""
    for axis, ratio in ((0, np.sqrt(5.0)), (np.pi / 2, 1.0)):
        b = [np.array([[np.cos(axis + s), np.sin(axis + s)]]) for s in (-1e-4, 1e-4)]
        pair = (np.zeros(1), b[0]), (np.zeros(1), b[1])
        quotient = wasserstein2(*pair, COV) / wasserstein2(*pair, COV, "chord")
        np.testing.assert_allclose(quotient, ratio, rtol=1e-6)  # curvature: s^2


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="expected one of manifold, chord"):
        wasserstein2(cloud(3), cloud(4), COV, "euclidean")
    with pytest.raises(ValueError, match="equal m"):
        coupled_distance(cloud(3), cloud(4), COV)
    with pytest.raises(ValueError, match="NaN or infinite"):
        wasserstein2((np.array([np.nan]), np.ones((1, 2))), cloud(4), COV)
