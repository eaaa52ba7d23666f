from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree
from repdyn.bn_decomposed.theory.geometry import angle_matrix
from repdyn.bn_decomposed.theory.tree_formulas import angle_bound, ratio_bound, split_rate

POINTS = st.lists(st.integers(-1000, 1000), min_size=3, max_size=7, unique=True).map(sorted)


def true_rows(x, t):
    n = len(x)
    return enumerate_tree(x, t) / Fraction(n) ** t


@settings(deadline=None, max_examples=40)
@given(POINTS, st.integers(0, 7))
def test_gram_matrix_against_enumeration(x, t):
    rows = true_rows(x, t)
    exact = (rows.T @ rows).astype(float)
    tree = ClusterTree(x).step(t)
    # Relative to the largest entry; the logarithmic scale costs |log| times the rounding.
    np.testing.assert_allclose(tree.gram() * np.exp(2 * tree.log_scale), exact, atol=1e-12 * np.abs(exact).max())


@settings(deadline=None, max_examples=40)
@given(POINTS, st.integers(1, 7))
def test_rows_with_three_clusters_are_those_of_the_enumeration(x, t):
    clusters = [len(set(row)) for row in enumerate_tree(x, t)]
    tree = ClusterTree(x).step(t)
    assert sorted(c for c in clusters if c > 2) == sorted(len(row.values) for row in tree.rows)
    assert tree.excess == sum(c - 2 for c in clusters) <= len(x) - 2


def test_excess_is_conserved_and_lost_only_in_ties():
    x = np.random.default_rng(0).standard_normal(9)
    tree = ClusterTree(x)
    for _ in range(200):
        assert tree.step().excess == 7
    assert ClusterTree([-2, -1, 0, 1, 2]).step(3).excess == 2
    tie = ClusterTree([0, 1, 2]).step()
    assert tie.rows == []


@pytest.mark.parametrize("n", [3, 6])
def test_stable_depth_is_the_first_stable_layer(n):
    for seed in range(10):
        tree = ClusterTree(np.random.default_rng(seed).standard_normal(n))
        depth = tree.stable_depth
        assert tree.depth == 0
        stable = []
        for _ in range(depth + 3):
            stable.append(all(len(row.values) <= 3 for row in tree.rows))
            tree.step()
        assert stable == [t >= depth for t in range(depth + 3)]


@pytest.mark.parametrize("n", [3, 5, 8])
def test_angles_against_enumeration(n):
    x = np.sort(np.random.default_rng(n).standard_normal(n))
    for t in (2, 6, 10):
        tree = ClusterTree(x).step(t)
        # Where two points differ in length alone the angle is known to 1e-8.
        np.testing.assert_allclose(tree.angles(), angle_matrix(true_rows(x, t).astype(float)), atol=3e-8)


def test_interior_angles_decay_at_the_rate_of_the_slowest_split_between():
    n = 10
    tree = ClusterTree(np.random.default_rng(2).standard_normal(n)).step(300)
    early = tree.angles()
    late = tree.step(100).angles()
    for i, j, m in ((2, 7, 3), (1, 2, 2), (4, 5, 5), (1, 8, 2)):
        rate = (late[i, j] / early[i, j]) ** (1 / 100)
        # Splits that decay faster have lost e^{-20} or more by layer 300.
        assert rate == pytest.approx(np.sqrt(split_rate(m, n) / split_rate(1, n)), rel=1e-8)


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_limits_are_those_of_a_deep_tree(n):
    for seed in range(3):
        tree = ClusterTree(np.random.default_rng(seed).standard_normal(n))
        limit = tree.limit()
        assert tree.depth == 0
        tree.step(30 * n + 100)
        G, angles = tree.gram(), tree.angles()
        norms = np.sqrt(np.diag(G))
        inner = slice(1, n - 1)
        # The other splits decay as (lambda_2/lambda_1)^(t/2): e^{-60} or less by then; the rest is rounding.
        assert norms[inner] / norms[0] == pytest.approx(limit.ratio_first, rel=1e-9)
        assert norms[inner] / norms[-1] == pytest.approx(limit.ratio_last, rel=1e-9)
        assert angles[inner, 0] == pytest.approx(limit.angle_first, rel=1e-9)
        assert angles[inner, -1] == pytest.approx(limit.angle_last, rel=1e-9)
        assert min(norms[0], norms[-1]) / max(norms[0], norms[-1]) == pytest.approx(limit.extremes, rel=1e-9)
        A, B = tree.amplitudes()
        assert pytest.approx(limit.B / limit.A, rel=1e-9) == B / A


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 10_000), min_size=3, max_size=12, unique=True))
def test_bounds_of_theorem_11(x):
    n, limit = len(x), ClusterTree(x).limit()
    ratio, angle = min(limit.ratio_first, limit.ratio_last), max(limit.angle_first, limit.angle_last)
    assert ratio <= ratio_bound(n, "sharp") * (1 + 1e-12) <= ratio_bound(n, "theorem")
    assert angle >= angle_bound(n, "sharp") * (1 - 1e-12) >= angle_bound(n, "theorem")


def test_symmetric_points_reach_the_sharp_bounds():
    limit = ClusterTree([-3, -1, 0, 1, 3]).limit()
    sharp = ratio_bound(5, "sharp"), angle_bound(5, "sharp")
    assert (limit.ratio_first, limit.angle_last) == pytest.approx(sharp, rel=1e-13)
    assert limit.extremes == pytest.approx(1)


def test_a_far_point_is_the_odd_one():
    assert ClusterTree([0, 1, 2, 3, 100]).limit().odd == -1
    assert ClusterTree([-100, 0, 1, 2, 3]).limit().odd == 0


def test_order_and_exactness_of_the_input():
    x = [0.3, -1.0, 2.5, 0.1]
    tree = ClusterTree(x)
    assert tree.order.tolist() == [1, 3, 0, 2]
    np.testing.assert_array_equal(tree.step(5).gram(), ClusterTree(np.sort(x)).step(5).gram())
    close = ClusterTree([0.0, 1.0, 1.0 + 2**-52, 3.0])
    assert close.excess == 2


def test_no_overflow_at_great_depth():
    tree = ClusterTree(np.random.default_rng(3).standard_normal(5) * 1e-200).step(3000)
    assert np.isfinite(tree.gram()).all()
    assert tree.gram().max() > 1e-3
    assert tree.log_scale < -1000
