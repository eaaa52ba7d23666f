import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree, simplified_layer
from repdyn.bn_decomposed.theory.tree_formulas import (
    angle_bound,
    later_amplitude_ratios,
    limit_of_amplitudes,
    parted_depth_bound,
    ratio_bound,
    split_contribution,
    split_contribution_by_paths,
    split_rate,
    three_cluster_bound,
    three_cluster_sum,
)


def two_cluster_row(c, zeros, n):
    return np.array([[0.0] * zeros + [c] * (n - zeros)])


def test_contribution_by_enumeration():
    n, zeros, T = 5, 2, 6
    X = two_cluster_row(1.5, zeros, n)
    for _ in range(T):
        X = simplified_layer(X)
    for point, own in ((0, zeros), (n - 1, n - zeros)):
        squares = (X[:, point] ** 2).sum()
        # Rounding of a sum of 64 positive terms.
        assert split_contribution(1.5, own, n, T) == pytest.approx(squares, rel=1e-13)
        assert split_contribution_by_paths(1.5, own, n, T) == pytest.approx(squares, rel=1e-13)


def test_dominant_split_is_the_most_unbalanced():
    rates = [split_rate(m, 9) for m in range(1, 9)]
    assert rates[0] == rates[-1] == max(rates)
    assert min(rates) == pytest.approx(split_rate(4, 9))


def test_bound_62_on_sum_61():
    ratios = [three_cluster_sum(2.0, n, T) / three_cluster_bound(2.0, n, T) for n in (4, 5, 10, 50) for T in (2, 5, 50)]
    assert 0.9 < max(ratios) <= 1


@pytest.mark.parametrize("n", [3, 5, 10, 50])
def test_sharp_bounds_are_the_worst_case_over_amplitudes(n):
    def best_ratio(log_rho):
        limit = limit_of_amplitudes(1.0, np.exp(log_rho), n)
        return -min(limit.ratio_first, limit.ratio_last)

    def best_angle(log_rho):
        limit = limit_of_amplitudes(1.0, np.exp(log_rho), n)
        return max(limit.angle_first, limit.angle_last)

    ratio, angle = ratio_bound(n, "sharp"), angle_bound(n, "sharp")
    rhos = np.linspace(-8, 8, 401)
    assert max(-best_ratio(r) for r in rhos) == pytest.approx(ratio, rel=1e-12)
    assert min(best_angle(r) for r in rhos) == pytest.approx(angle, rel=1e-12)
    # The kink at A = B is the optimum; away from it both are strictly better.
    assert minimize_scalar(best_ratio, bounds=(-3, 3), method="bounded").x == pytest.approx(0, abs=1e-4)


def test_order_of_the_bounds():
    for n in range(3, 60):
        assert ratio_bound(n, "sharp") <= ratio_bound(n, "two_clusters") < ratio_bound(n, "theorem")
        assert np.sqrt(8) / (n - 2) < ratio_bound(n, "theorem")
        assert angle_bound(n, "sharp") > angle_bound(n, "two_clusters") > angle_bound(n, "theorem")
        missing = np.pi / 2 / (np.sqrt(2) * (n - 1))  # (59)-(60): arcsin x <= pi x / 2
        assert np.pi / 2 - angle_bound(n, "two_clusters") == pytest.approx(missing)
    assert angle_bound(4, "theorem") < 0 < angle_bound(5, "theorem")
    assert ratio_bound(5, "theorem") == 1.0


def test_symmetry_of_the_limits():
    a, b = limit_of_amplitudes(1.0, 3.0, 6), limit_of_amplitudes(3.0, 1.0, 6)
    assert (a.ratio_first, a.angle_first, a.odd) == (b.ratio_last, b.angle_last, -1)
    assert b.odd == 0
    assert limit_of_amplitudes(2.0, 2.0, 6).extremes == 1
    large = limit_of_amplitudes(1.0, 0.25, 10_000)
    assert large.extremes == pytest.approx(0.5, rel=1e-6)


def test_equally_spaced_points_are_stable_before_any_row_parts_an_extreme():
    """(0, 0, 0, 1, 2) and (2, 1, 0, 0, 0): three clusters each, so A = B = C = D = 0 in the first stable layer."""
    assert enumerate_tree([0, 1, 2, 3, 4], 1).tolist() == [[0, 0, 0, 5, 10], [10, 5, 0, 0, 0]]
    tree = ClusterTree([0, 1, 2, 3, 4])
    assert tree.stable_depth == 1
    assert not tree.step().split_squares().any()
    assert tree.wide_square() == pytest.approx(2 * 2**2 / np.exp(2 * tree.log_scale))


def test_split_squares_by_hand():
    """(0, 1, 5): mean 2, children (0, 0, 3) and (2, 1, 0); then (0, 0, 2), (1, 1, 0), (1, 0, 0), (0, 0, 1)."""
    tree = ClusterTree([0, 1, 5]).step()
    assert tree.split_squares() * np.exp(2 * tree.log_scale) == pytest.approx([0, 9])
    assert tree.wide_square() * np.exp(2 * tree.log_scale) == pytest.approx(4)
    tree.step()
    assert tree.split_squares() * np.exp(2 * tree.log_scale) == pytest.approx([1, 1 + 2**2 + 1**2])


@pytest.mark.parametrize("seed", range(5))
def test_later_ratios_stay_in_the_interval(seed):
    n = 8
    tree = ClusterTree(np.random.default_rng(seed).standard_normal(n))
    tree.step(tree.stable_depth)
    while not tree.split_squares().all():
        tree.step()
    A, C, *_, D, B = tree.split_squares()
    low, high = later_amplitude_ratios(A, B, C, D, tree.wide_square(), n)
    for _ in range(60):
        tree.step()
        A, C, *_, D, B = tree.split_squares()
        assert low * (1 - 1e-12) <= (A + C) / (B + D) <= high * (1 + 1e-12)


def test_interval_by_hand():
    assert later_amplitude_ratios(2.0, 4.0, 1.0, 3.0, 0.5, 3) == (2 / 9, 5 / 4)  # (n - 1)^2 wide = 2


@pytest.mark.parametrize("n", [3, 5, 12])
def test_extreme_points_are_parted_within_the_bound(n):
    for seed in range(10):
        x = np.sort(np.random.default_rng(seed).standard_normal(n))
        mean = np.maximum(x - x.mean(), 0).mean()
        tree, bound = ClusterTree(x), [parted_depth_bound(gap, mean, n) for gap in np.diff(x)[[0, -1]]]
        for layer in range(1, max(bound) + 1):
            parted = np.array(tree.step().amplitudes()) > 0
            assert parted[layer >= np.array(bound)].all()


def test_bound_on_the_parting_by_hand():
    assert parted_depth_bound(1.0, 0.5, 4) == 2  # log(2)/log(2) = 1
    assert parted_depth_bound(10.0, 0.5, 4) == 1  # parted at once
