"""Counterexamples to the theorems, sought where their hypotheses are least generous."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree
from repdyn.bn_decomposed.theory.full_rank import tail_exponent
from repdyn.bn_decomposed.theory.geometry import geometry
from repdyn.bn_decomposed.theory.invariance import expected_next_gram
from repdyn.bn_decomposed.theory.kernel import expected_relu_gram
from repdyn.bn_decomposed.theory.largest_rank import success_probability
from repdyn.bn_decomposed.theory.layers import propagate
from repdyn.bn_decomposed.theory.odd_cluster import cluster_width, odd_fixed_point
from repdyn.bn_decomposed.theory.rank import cell_volume_min
from repdyn.bn_decomposed.theory.tree_formulas import ratio_bound, stable_depth_bound

TINY = Fraction(1, 10**9)
BATCHES = [
    [0, 1, 2],  # the middle meets the mean
    [0, TINY, 1],
    [0, 1, 2, 3],
    [-1, -TINY, TINY, 1],
    [0, TINY, 1, 1 + TINY],  # two narrow pairs
    [0, 1, 2, 3, 4],
    [0, 1, 3, 6, 100],
    [-(10**9), 0, 1, 2, 10**9],
]


# Section I


def test_lemma_2_next_to_collinear_columns():
    rng = np.random.default_rng(0)
    tried = 0
    for _, angle in product(range(20), (1e-2, 1e-4, 1e-6)):
        X = np.vstack([np.ones(3), angle * rng.standard_normal(3)]) * rng.choice([-1, 1], 3)
        W = rng.standard_normal((2, 2))
        if np.linalg.matrix_rank(np.maximum(W @ X, 0), rtol=1e-10) == 2:
            assert success_probability(X, W) >= cell_volume_min(X, "exact2d")
            tried += 1
    assert tried > 10


def test_one_point_reaches_the_bound_of_theorem_3_and_a_zero_column_has_no_row():
    rng = np.random.default_rng(1)
    hits = (rng.standard_normal((40_000, 3)) @ [1.0, -2.0, 0.5]) > 0
    assert abs(hits.mean() - 1 / 2) < 5 * 0.5 / 200  # five standard errors: E[y] = 2 = n / gamma
    X = np.array([[1.0, 0.0, -0.5], [0.0, 0.0, 1.0]])
    assert np.linalg.matrix_rank(np.maximum(rng.standard_normal((2000, 2)) @ X, 0)) == 2


def test_center_of_a_triangle_off_the_origin_stays_at_rank_three():
    """No two of the four columns are collinear; less their mean one is zero."""
    angle = 2 * np.pi * np.arange(3) / 3
    X = np.vstack([np.append(np.cos(angle), 0.0) + 5.0, np.append(np.sin(angle), 0.0) + 1.0])
    centered = X - X.mean(axis=1, keepdims=True)
    W = np.random.default_rng(2).standard_normal((2000, 2))
    assert np.linalg.matrix_rank(np.maximum(W @ X, 0)) == 4
    assert np.linalg.matrix_rank(np.maximum(W @ centered, 0), rtol=1e-10) == 3


@pytest.mark.parametrize("alpha", [1.0, 1.05, 2.0, 8.0])
def test_exponent_of_7a_is_a_power_series_without_negative_coefficients(alpha):
    """Whose constant term is that of (7b)."""
    m = np.arange(1, 200)
    coefficients = (alpha - alpha**-m) / (m + 1) - (1 - alpha**-m) / m
    assert (coefficients >= -1e-16).all()
    gamma = 0.5
    series = alpha - 1 - np.log(alpha) + coefficients @ gamma**m
    assert tail_exponent(alpha, gamma) == pytest.approx(series, abs=1e-12)


# The simplified model


@pytest.mark.parametrize("x", BATCHES)
def test_theorems_10_and_11_at_ties_and_narrow_gaps(x):
    n, tree = len(x), ClusterTree(x)
    assert tree.stable_depth <= stable_depth_bound(x)
    gram = tree.step(40 * n * n).gram()
    norm, inner = np.sqrt(np.diag(gram)), slice(1, n - 1)
    cosine = gram / np.outer(norm, norm)
    assert gram[0, -1] == 0
    assert tree.angles()[inner, inner].max() < 1e-15
    ratio = min((norm[inner] / norm[end]).max() for end in (0, -1))
    assert ratio <= ratio_bound(n, "sharp") * (1 + 1e-12) < 3 / (n - 2)
    assert min(cosine[inner, end].max() for end in (0, -1)) <= 1 / np.sqrt(2 * ((n - 1) ** 2 + 1)) + 1e-12


def test_depth_bound_counts_a_negative_logarithm_as_zero():
    """Two narrow pairs far apart: n m < 2 Delta, and the four clusters need one layer."""
    assert ClusterTree([0, 1, 100, 101]).stable_depth == stable_depth_bound([0, 1, 100, 101]) == 1


@pytest.mark.parametrize("n", [3, 5])
def test_point_at_the_mean_is_zero_in_the_first_layer_only(n):
    tree = ClusterTree(list(range(n)))
    zero = [int((np.diag(tree.step().gram()) == 0).sum()) for _ in range(6)]
    assert zero == [1, 0, 0, 0, 0, 0]


# Gaussian layers


def _factors(X: np.ndarray, nearness: float) -> np.ndarray:
    """E ||x_i' - x_j'||^2 over ||x_i - x_j||^2 of the cluster and its mean, at R = nearness * n / (n - 1)."""
    n = X.shape[1]
    cluster = X[:, 1:].mean(axis=1)
    R = nearness * n / (n - 1)
    X = np.column_stack([cluster + R * (X[:, 0] - cluster) / np.linalg.norm(X[:, 0] - cluster), X[:, 1:]])
    centered = np.column_stack([X[:, 1:], cluster]) - X.mean(axis=1, keepdims=True)
    alpha = n**2 / ((n - 1) ** 2 * R**2)
    after = alpha * expected_relu_gram(centered.T @ centered)
    first, second = np.triu_indices(n, 1)
    apart = np.diag(after)[first] + np.diag(after)[second] - 2 * after[first, second]
    return apart / ((centered[:, first] - centered[:, second]) ** 2).sum(axis=0)


@pytest.mark.parametrize(("k", "n"), [(1, 3), (1, 6), (2, 3), (2, 5), (8, 4)])
def test_item_4_of_theorem_14_on_a_line_and_at_the_border(k, n):
    X = np.random.default_rng(k + n).standard_normal((k, n)) * 0.3
    X[:, 0] += 1.0
    assert _factors(X, 1 + 1e-9).max() < 1
    if k == 1:  # on one side of the mean images of the line keep their distances but for alpha
        assert _factors(X, 1 + 1e-9).max() == pytest.approx(1 / (1 + 1e-9) ** 2, abs=1e-11)
    assert _factors(X, 0.99).max() > 1 or k > 1


def test_images_of_opposite_points_and_of_the_mean_of_the_batch():
    """Recentered u, 2 u, -u and 0: distances of images over those of points, squared."""
    u = np.array([[1.0, 2.0, -1.0, 0.0], [0.5, 1.0, -0.5, 0.0]])
    after = expected_relu_gram(u.T @ u)
    first, second = np.triu_indices(4, 1)
    apart = np.diag(after)[first] + np.diag(after)[second] - 2 * after[first, second]
    before = ((u[:, first] - u[:, second]) ** 2).sum(axis=0)
    assert apart / before == pytest.approx([1, 1 / 2, 1, 5 / 9, 1, 1], abs=1e-12)


def test_two_points_have_the_largest_alpha_of_theorem_13():
    gram = expected_next_gram(np.eye(2), 2.0)  # n^2 / (n^2 - 2 n + 2) = 2
    assert np.allclose(gram, np.eye(2), atol=1e-14)


@pytest.mark.parametrize(("n", "degrees"), [(7, 61.4), (10, 45.2), (20, 24.5), (200, 2.67)])
def test_width_of_the_cluster_tends_to_540_over_n(n, degrees):
    assert np.degrees(odd_fixed_point(n).intra_angle) == pytest.approx(degrees, abs=0.05)
    assert 0 < 1 - np.degrees(odd_fixed_point(n).intra_angle) / np.degrees(cluster_width(n)) < 2 / n


def test_other_combinations_keep_a_long_point_but_make_none():
    """Second over first norm after twenty layers without rescaling, from unit vectors with one of length 1 and 5."""
    kept = {}
    for length, relu, recenter in product((1.0, 5.0), (False, True), (False, True)):
        if not (relu and recenter):
            X = np.random.default_rng(3).standard_normal((100, 16))
            X /= np.linalg.norm(X, axis=0)
            X[:, 0] *= length
            rng = np.random.default_rng(4)
            (last,) = propagate(X, 500, 20, rng, recenter=recenter, rescale=None, relu=relu, record=[20])
            kept[length, relu, recenter] = geometry(last).second_to_first
    assert min(value for (length, *_), value in kept.items() if length == 1) > 0.5
    assert max(value for (length, *_), value in kept.items() if length == 5) < 0.5
