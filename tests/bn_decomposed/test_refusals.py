"""What the theory refuses, each part of each condition alone, and which boundary values it accepts."""

import re

import numpy as np
import pytest

from repdyn.bn_decomposed.theory import full_rank, initialization, invariance, kernel, layers, odd_cluster, rank
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.largest_rank import exact_method
from repdyn.bn_decomposed.theory.tree_formulas import (
    angle_bound,
    limit_of_amplitudes,
    parted_depth_bound,
    ratio_bound,
    stable_depth_bound,
    three_cluster_bound,
)

PAIR = np.array([[1.0, 0.0], [0.0, 1.0]])
ASYMMETRIC_AT_ONE_PLACE = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.31, 1.0]])
LINEAR = {"recenter": True, "rescale": None, "relu": False}


def rng():
    return np.random.default_rng(0)


REFUSED = [
    (lambda: layers.as_batch(np.ones(3)), "got a batch of 1 dimensions, expected a matrix (k, n)"),
    (lambda: layers.as_batch(np.ones((0, 3))), "got a batch of shape (0, 3), expected (k, n) with k >= 1 and n >= 2"),
    (lambda: layers.as_batch(np.ones((3, 1))), "got a batch of shape (3, 1)"),
    (lambda: layers.as_batch([[1.0, 2.0, np.inf], [np.nan, 2.0, np.nan]]), "not finite in columns [0, 2]"),
    (lambda: layers.bn_components(PAIR, np.ones(2), True, None, True), "got weights of shape (2,), expected (d, 2)"),
    (lambda: layers.bn_components(PAIR, np.ones((0, 2)), True, None, True), "got weights of shape (0, 2)"),
    (lambda: layers.bn_components(PAIR, np.ones((2, 3)), True, None, True), "got weights of shape (2, 3)"),
    (lambda: layers.bn_components(PAIR, PAIR, True, "max", True), "got rescale='max', expected None, \"rms\" or"),
    (
        lambda: layers.bn_components(PAIR, [[1.0, 0.0], [1.0, 1.0], [2.0, 2.0]], False, "std", True),
        "got 2 of 3 neurons constant over the batch (first: row 1), no std scale",
    ),
    (
        lambda: layers.bn_components(PAIR, [[1.0, 0.0], [0.0, 0.0]], False, "rms", True),
        "1 of 2 neurons all zero (first: row",
    ),
    (lambda: layers.random_layer(PAIR, 0, rng(), **LINEAR), "got width 0, expected at least one neuron"),
    (lambda: layers.random_layer_naive(PAIR, 0, rng(), **LINEAR), "got width 0, expected at least one neuron"),
    (lambda: layers.propagate(PAIR, 2, -1, rng(), **LINEAR), "got depth -1, expected 0"),
    (lambda: layers.propagate(PAIR, 2, 3, rng(), **LINEAR, record=[1, 4]), "got record [1, 4], expected layers"),
    (lambda: layers.propagate(PAIR, 2, 3, rng(), **LINEAR, record=[3, -1]), "got record [3, -1]"),
    (lambda: pair_angles([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), "got zero columns [1], which have no angle"),
    (lambda: initialization.unit_columns([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), "got zero columns [0, 2]"),
    (lambda: initialization.point_neuron_init(PAIR, -0.5), "got margin -0.5, expected a positive number"),
    (lambda: initialization.point_neuron_init(PAIR, np.nan), "got margin nan"),
    (lambda: initialization.point_neuron_init([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]]), "points 1 and 2 lie on one ray"),
    (lambda: invariance.invariant_representation(1), "got n = 1 points in k = 2 dimensions"),
    (lambda: invariance.invariant_representation(2, 1), "got n = 2 points in k = 1 dimensions"),
    (lambda: invariance.perturbed_invariant(2, 0.1, rng()), "got n = 2, k = 100, spread = 0.1"),
    (lambda: invariance.perturbed_invariant(3, 0.1, rng(), 2), "got n = 3, k = 2"),
    (lambda: invariance.perturbed_invariant(3, -0.1, rng()), "spread = -0.1"),
    (lambda: invariance.separated_cluster(2, 1.0, 0.1, rng()), "got n = 2, k = 100, R = 1.0, spread = 0.1"),
    (lambda: invariance.separated_cluster(3, 1.0, 0.1, rng(), 0), "got n = 3, k = 0"),
    (lambda: invariance.separated_cluster(3, 0.0, 0.1, rng()), "R = 0.0"),
    (lambda: invariance.separated_cluster(3, 1.0, -0.1, rng()), "spread = -0.1"),
    (lambda: invariance.expected_norm_ratio(0), "got width d = 0, expected at least 1"),
    (lambda: invariance.contraction_factors(np.eye(2), 1.0), "got n = 2 points, expected at least 3"),
    (lambda: kernel.arccos_kernel([0.0, 1 + 1e-8, 0.5]), "got a cosine of modulus 1.0000"),
    (lambda: kernel.arccos_kernel(np.nan), "got a cosine of modulus nan"),
    (lambda: kernel.arccos_kernel([0.0, -1.5]), "got a cosine of modulus 1.5, expected at most 1"),
    (lambda: kernel.expected_gram_step(np.ones(4)), "got shape (4,), expected a Gram matrix X'X of shape (n, n)"),
    (lambda: kernel.expected_gram_step(np.ones((2, 3))), "got shape (2, 3)"),
    (lambda: kernel.expected_gram_step(np.ones((1, 1))), "got shape (1, 1)"),
    (lambda: kernel.expected_gram_step(ASYMMETRIC_AT_ONE_PLACE), "not symmetric with a diagonal >= 0 and finite"),
    (lambda: kernel.expected_gram_step([[1.0, 0.0], [0.0, -1.0]]), "not symmetric with a diagonal >= 0 and finite"),
    (lambda: kernel.expected_gram_step(np.full((2, 2), np.nan)), "not symmetric with a diagonal >= 0 and finite"),
    (lambda: kernel.expected_gram_step(np.eye(3), True, "max"), "got rescale='max', expected None,"),
    (lambda: kernel.expected_gram_step(np.eye(3) + 1, False, "std"), "got a batch with 2 dimensions to rescale by"),
    (lambda: kernel.expected_gram_step(np.zeros((3, 3)), False, "rms"), "got a batch with 0 dimensions to rescale"),
    (lambda: full_rank.tail_exponent([2.0, 0.5], 0.1), "got alpha = 0.5, expected at least 1"),
    (lambda: full_rank.tail_exponent(2, [0.5, 1.0]), "expected a volume strictly between 0 and 1"),
    (lambda: full_rank.tail_exponent(2, [0.0, 0.5]), "expected a volume strictly between 0 and 1"),
    (lambda: full_rank.tail_exponent(2, 0.1, "c"), 'got form=\'c\', expected "a" (7a) or "b" (7b)'),
    (lambda: full_rank.expected_rows_bound(0, 3), "got gamma = 0, expected a volume"),
    (lambda: full_rank.expected_rows_bound(1, 3), "got gamma = 1, expected a volume"),
    (lambda: full_rank.geometric_sum_tail(3, 1.0, 2), "got gamma = 1.0, expected a volume"),
    (lambda: full_rank.rows_to_full_rank(np.eye(3), rng(), 0), "got trials = 0, expected at least one"),
    (lambda: full_rank.relu_rank_profile(np.eye(3), 2, rng(), 0), "got trials = 0, expected at least one"),
    (lambda: full_rank.rows_to_full_rank(np.ones(3), rng(), 1), "got a batch of 1 dimensions"),
    (lambda: exact_method(np.array([[1.0, 0.0], [1.0, 0.0]])), "got a zero column at [1], expected none"),
    (lambda: exact_method(np.eye(4)), "got a batch of rank 4, expected at most 3"),
    (lambda: rank.cells(PAIR, "grid"), 'got method=\'grid\', expected "exact2d" or "exact3d"'),
    (lambda: rank.cells(np.eye(3), "exact2d"), "got a batch of rank 3, expected rank 2"),
    (lambda: rank.cells(PAIR, "exact3d"), "got a batch of rank 2, expected rank 3"),
    (lambda: rank.cell_volume_min(rank.circle_batch(4), "exact2d"), "got 2 collinear pairs of columns, first [(0, 2),"),
    (lambda: rank.circle_batch(2), "got n = 2, expected at least 3 points on the circle"),
    (lambda: rank.null_vector(np.eye(3), np.eye(3)), "got ReLU(W X) of rank 3, expected 2"),
    (lambda: rank.null_vector(np.eye(3), np.eye(3)[:1]), "got ReLU(W X) of rank 1, expected 2"),
    (lambda: odd_cluster.simplex_angle(1), "got n = 1, expected at least 2 points"),
    (lambda: odd_cluster.odd_fixed_point(2), "got n = 2, expected at least 3 points"),
    (lambda: odd_cluster.odd_gram(0.1, 2), "got n = 2, expected at least 3 points"),
    (lambda: odd_cluster.odd_growth(0.1, 2), "got n = 2, expected at least 3 points"),
    (lambda: odd_cluster.odd_map(0.1, 2), "got n = 2, expected at least 3 points"),
    (lambda: odd_cluster.odd_map_multiplier(0.1, 2), "got n = 2, expected at least 3 points"),
    (lambda: odd_cluster.expected_gram_fixed_point(5, "even"), 'got start=\'even\', expected "odd" or "simplex"'),
    (lambda: odd_cluster.rms_cosine_step(0.5, 1), "got n = 1, expected at least 2 points"),
    (lambda: odd_cluster.rms_cosine_step(0.5, np.nan), "got n = nan, expected at least 2 points"),
    (lambda: odd_cluster.rms_cosine_step(1.0, 5), "got a cosine of 1.0, expected 0 <= c < 1"),
    (lambda: odd_cluster.rms_cosine_step(-0.1, 5), "got a cosine of -0.1, expected 0 <= c < 1"),
    (lambda: odd_cluster.active_fraction_tail(0.5, 1.0), "got cosine 0.5 and fraction 1.0, expected both strictly"),
    (lambda: odd_cluster.active_fraction_tail(0.5, 0.0), "got cosine 0.5 and fraction 0.0"),
    (lambda: odd_cluster.active_fraction_tail(0.0, 0.5), "got cosine 0.0 and fraction 0.5"),
    (lambda: odd_cluster.active_fraction_tail(1.0, 0.5), "got cosine 1.0 and fraction 0.5"),
    (lambda: odd_cluster.active_fraction_deviation(1), "got n = 1, expected at least 2 points"),
    (lambda: limit_of_amplitudes(1.0, 0.0, 5), "got amplitudes A = 1.0, B = 0.0, expected both positive"),
    (lambda: limit_of_amplitudes(0.0, 1.0, 5), "got amplitudes A = 0.0, B = 1.0"),
    (lambda: limit_of_amplitudes(1.0, 1.0, 2), "got n = 2, expected at least 3 points"),
    (lambda: three_cluster_bound(1.0, 3, 5), "got n = 3, expected at least 4"),
    (lambda: parted_depth_bound(1.0, 1.0, 2), "got n = 2, expected at least 3 points"),
    (lambda: stable_depth_bound([0, 1, 1, 3]), "got gaps down to 0.0, expected distinct points in increasing order"),
    (lambda: stable_depth_bound([0, 1, 3, 2]), "got gaps down to -1.0"),
    (lambda: ratio_bound(2, "sharp"), "got n = 2, expected at least 3 points"),
    (lambda: ratio_bound(5, "best"), "got which='best', expected one of"),
    (lambda: angle_bound(2, "sharp"), "got n = 2, expected at least 3 points"),
    (lambda: angle_bound(5, "best"), "got which='best', expected one of"),
    (lambda: ClusterTree([0.0, np.inf]), "finite"),
    (lambda: ClusterTree([3.0, 1.0, 2.0, 1.0]), "repeated values, first at inputs (1, 3)"),
    (lambda: enumerate_tree([0, 1, 3], -1), "layer 0"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_each_bad_argument_is_refused_with_its_value(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_smallest_sizes_are_accepted():
    np.testing.assert_allclose(invariance.invariant_representation(2, 2), np.eye(2))
    np.testing.assert_allclose(
        invariance.perturbed_invariant(3, 0.0, rng(), 3), invariance.invariant_representation(3, 3)
    )
    one_dimension = invariance.separated_cluster(3, 2.0, 0.0, rng(), 1)
    assert abs(one_dimension[0, 0] - one_dimension[0, 1]) == pytest.approx(2)  # no spread: the cluster is a point
    assert one_dimension[0, 1] == pytest.approx(one_dimension[0, 2])
    # One neuron: the norm is |x| half of the time, E = 1/sqrt(2 pi), and the mean square is 1/2.
    assert invariance.expected_norm_ratio(1) == pytest.approx(1 / np.sqrt(np.pi))
    # n = 2: the fraction is 1/2 in every draw.
    assert odd_cluster.active_fraction_deviation(2) == pytest.approx(0, abs=1e-8)
    assert odd_cluster.simplex_angle(2) == pytest.approx(np.pi / 2)
    assert rank.circle_batch(3).shape == (2, 3)
    assert limit_of_amplitudes(1.0, 1.0, 3).extremes == 1
    assert three_cluster_bound(1.0, 4, 1) == pytest.approx((2 / 4) ** 2 * 9)


def test_ends_of_ranges_are_accepted():
    assert full_rank.tail_exponent(1.0, 0.5) == pytest.approx(0)  # alpha = 1 is the mean
    assert full_rank.tail_exponent(1.0, 0.5, "b") == pytest.approx(0)
    np.testing.assert_allclose(kernel.arccos_kernel([1 + 0.9e-9, -1 - 0.9e-9]), [1, 0], atol=1e-12)
    W, b = initialization.point_neuron_init(PAIR, 1.0)  # the threshold lies at the nearest point, which stays silent
    np.testing.assert_allclose(W @ PAIR + b[:, None], np.eye(2))
    np.testing.assert_array_equal(layers.propagate(PAIR, 2, 0, rng(), **LINEAR), PAIR)
    first, last = layers.propagate(PAIR, 2, 3, rng(), **LINEAR, record=[0, 3])
    np.testing.assert_array_equal(first, PAIR)
    np.testing.assert_array_equal(last, layers.propagate(PAIR, 2, 3, rng(), **LINEAR))


def test_a_zero_on_the_diagonal_is_a_point_at_the_origin():
    G = kernel.expected_gram_step(np.diag([1.0, 0.0]), recenter=False)
    np.testing.assert_allclose(G, np.diag([G[0, 0], 0.0]), atol=1e-15)
    assert G[0, 0] > 0
