import numpy as np
import pytest

from repdyn.bn_decomposed.theory.invariance import (
    cluster_contraction,
    cluster_mean_defect,
    contraction_factors,
    expected_next_gram,
    expected_norm_ratio,
    invariant_distance,
    invariant_representation,
    perturbed_invariant,
    required_distance,
    theorem13_alpha,
    theorem14_alpha,
    theorem14_square_norms,
    with_cluster_mean,
)

SIZES = [2, 3, 5, 10, 50]


def layers(X, alpha, d, repeats, seed):
    W = np.random.default_rng(seed).normal(0, np.sqrt(2 * alpha / d), (repeats, d, len(X)))
    return np.maximum(W @ X, 0.0)


@pytest.mark.parametrize("n", SIZES)
def test_theorem_13_is_true_of_the_expected_gram_matrix(n):
    X = invariant_representation(n, k=4)
    np.testing.assert_allclose(expected_next_gram(X, theorem13_alpha(n)), X.T @ X, atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 10, 200])
def test_expected_norm_against_sampling(d):
    x = np.array([[0.6], [-0.8]])
    norms = np.linalg.norm(layers(x, 1.0, d, 20_000 // d + 400, 1), axis=1)
    error = norms.std() / np.sqrt(norms.size)
    assert abs(norms.mean() - expected_norm_ratio(d)) < 4 * error  # four standard errors, fixed seed


def test_expected_norm_tends_to_one_at_first_order():
    widths = np.array([100, 200, 400, 800, 1600])
    defect = np.array([1 - expected_norm_ratio(int(d)) for d in widths])
    assert (defect > 0).all()
    assert widths[-1] * defect[-1] == pytest.approx(5 / 8, rel=1e-3)
    second = np.abs(defect - 5 / (8 * widths))
    assert np.log2(second[:-1] / second[1:]) == pytest.approx(2, abs=0.05)


def test_items_1_and_2_hold_in_the_mean_square_for_any_odd_point():
    rng = np.random.default_rng(2)
    for n in (3, 8):
        X = rng.standard_normal((6, n))
        R = np.linalg.norm(X[:, 0] - X[:, 1:].mean(axis=1))
        odd, cluster = theorem14_square_norms(X, theorem14_alpha(n, R))
        assert (odd, cluster * (n - 1) ** 2) == pytest.approx((1, 1), rel=1e-12)


def test_item_3_holds_for_every_weight_matrix():
    X = np.random.default_rng(3).standard_normal((5, 7))
    tilde = with_cluster_mean(X)
    Y = layers(tilde, 1.0, 50, 20, 4)
    # Antipodal up to rounding of the recentering, so at most one rounded product per neuron survives.
    assert np.abs((Y[:, :, 0] * Y[:, :, -1]).sum(axis=1)).max() < 1e-13


def test_contraction_factors_against_sampling():
    X = np.random.default_rng(5).standard_normal((4, 5))
    alpha = 0.7
    Y = layers(with_cluster_mean(X)[:, 1:], alpha, 1, 200_000, 6)[:, 0, :]
    i, j = np.triu_indices(5, 1)
    points = with_cluster_mean(X)[:, 1:]
    before = ((points[:, i] - points[:, j]) ** 2).sum(axis=0)
    squares = (Y[:, i] - Y[:, j]) ** 2 / before
    error = squares.std(axis=0) / np.sqrt(len(Y))
    assert (np.abs(squares.mean(axis=0) - contraction_factors(X, alpha)) < 4 * error).all()


@pytest.mark.parametrize("n", [3, 5, 10, 50])
def test_item_4_contracts_by_at_least_alpha_at_any_spread(n):
    rng = np.random.default_rng(7)
    for spread in (1e-4 / n**2, 1 / n**2, 1.0):
        for _ in range(20):
            X = perturbed_invariant(n, spread, rng, k=6)
            X[0, 0] = np.sqrt((1.01 * required_distance(n)) ** 2 - 1 / (n - 1) ** 2)
            alpha = theorem14_alpha(n, np.linalg.norm(X[:, 0] - X[:, 1:].mean(axis=1)))
            assert alpha < 1
            # Coordinates of size 1/n resolve a spread of 1e-4/n^2 to 1e-12 relative, squared distances twice that.
            assert np.nanmax(contraction_factors(X, alpha)) <= alpha * (1 + 1e-8)


def test_positively_collinear_points_contract_by_alpha_exactly():
    X = np.array([[3.0, -1.0, -2.0], [0.0, 0.0, 0.0]])
    assert contraction_factors(X, 0.9) == pytest.approx(np.full(3, 0.9), rel=1e-12)


def test_hypotheses_of_theorem_14_contradict_each_other():
    for n in range(2, 200):
        X = invariant_representation(n)
        assert invariant_distance(n) == pytest.approx(np.linalg.norm(X[:, 0] - X[:, 1]))
        assert invariant_distance(n) < required_distance(n)
        assert 1 + 1 / (n - 1) ** 2 < required_distance(n) ** 2  # the square distance after the layer, see below
        assert theorem14_alpha(n, required_distance(n)) == pytest.approx(1)
        assert theorem14_alpha(n, invariant_distance(n)) == pytest.approx(theorem13_alpha(n))


def test_small_clusters_grow_and_wide_ones_shrink_at_the_norm_keeping_scale():
    n, rng = 20, np.random.default_rng(9)
    alpha = theorem13_alpha(n)
    factors = [cluster_contraction(perturbed_invariant(n, e / n**2, rng), alpha) for e in (1e-3, 1, 3, 10, 30)]
    assert (np.diff(factors) < 0).all()
    assert factors[0] == pytest.approx(alpha, rel=1e-3)
    assert factors[2] > 1 > factors[4]


def test_new_cluster_mean_is_close_to_the_image_of_the_old_one():
    n, rng = 10, np.random.default_rng(10)
    X = perturbed_invariant(n, 1 / n**2, rng)
    excess, cosine = cluster_mean_defect(X, theorem13_alpha(n))
    assert 0 < excess < 1e-3
    assert 0 < cosine < 1e-3
    assert cluster_mean_defect(3 * X, theorem13_alpha(n)) == pytest.approx((excess, cosine), rel=1e-6)
    exact = cluster_mean_defect(invariant_representation(n), theorem13_alpha(n))
    assert exact == pytest.approx((0, 0), abs=1e-12)


def test_perturbation_has_the_requested_spread_and_mean():
    X = perturbed_invariant(8, 0.02, np.random.default_rng(11))
    cluster = X[:, 1:] - X[:, 1:].mean(axis=1, keepdims=True)
    assert np.sqrt((cluster**2).sum(axis=0).mean()) == pytest.approx(0.02)
    nu = X[:, 1:].mean(axis=1)
    np.testing.assert_allclose([X[:, 0] @ X[:, 0], 7**2 * (nu @ nu), X[:, 0] @ nu], [1, 1, 0], atol=1e-14)
