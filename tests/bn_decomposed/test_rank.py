import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.bn_decomposed.theory import rank

UNEQUAL = np.array([[1.0, 1.0, -0.5], [0.3, 4.0, 0.2]])


def cell_volumes(X, method):
    return rank.cells(X, method)[1]


def sign_patterns(X, draws, seed):
    signs = np.random.default_rng(seed).standard_normal((draws, len(X))) @ X > 0
    return np.unique(signs, axis=0, return_counts=True)[1] / draws


@pytest.mark.parametrize("n", [3, 5, 7, 9, 15])
def test_circle_has_twice_the_printed_cells(n):
    volumes = cell_volumes(rank.circle_batch(n), "exact2d")
    count, gamma = rank.circle_cells(n)
    assert (len(volumes), volumes.min()) == (count, pytest.approx(gamma, rel=1e-12))
    assert len(sign_patterns(rank.circle_batch(n), 20_000, 0)) == count
    assert rank.circle_cells_as_printed(n) == (count // 2, 2 * gamma)


def test_even_circle_has_coinciding_lines():
    for n in (4, 6, 8):
        assert (len(cell_volumes(rank.circle_batch(n), "exact2d")), 1 / n) == rank.circle_cells(n)
        with pytest.raises(ValueError, match=rf"\(0, {n // 2}\)"):
            rank.cell_volume_min(rank.circle_batch(n), "exact2d")


@settings(deadline=None, max_examples=20)
@given(st.integers(3, 9), st.integers(0, 999))
def test_generic_arrangement_in_three_dimensions(n, seed):
    X = np.random.default_rng(seed).standard_normal((3, n))
    volumes = cell_volumes(X, "exact3d")
    assert len(volumes) == n * (n - 1) + 2
    # Cells as thin as 1e-6 have corners known to 1e-10.
    assert volumes.sum() == pytest.approx(1, abs=1e-9)
    # -w has the opposite signs: volumes come in equal pairs.
    np.testing.assert_allclose(np.sort(volumes)[::2], np.sort(volumes)[1::2], atol=1e-9)


def test_exact_volumes_against_sampling():
    for k, method in ((2, "exact2d"), (3, "exact3d")):
        X = np.random.default_rng(1).standard_normal((k, 4))
        exact, seen = np.sort(cell_volumes(X, method)), np.sort(sign_patterns(X, 200_000, 2))
        assert len(exact) == len(seen)
        # Five binomial standard errors for each; sorting only brings the values closer.
        assert (np.abs(exact - seen) < 5 * np.sqrt(exact / 200_000)).all()


def test_three_circles_through_one_point():
    X = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 2, 3.0]]).T
    volumes = cell_volumes(X, "exact3d")
    assert volumes.sum() == pytest.approx(1, abs=1e-12)
    assert len(volumes) == len(sign_patterns(X, 100_000, 3)) == 20  # two fewer than in general position


def test_orthant_and_embedding():
    assert cell_volumes(np.eye(3), "exact3d") == pytest.approx(np.full(8, 1 / 8))
    X = np.random.default_rng(4).standard_normal((2, 6))
    embedded = np.random.default_rng(5).standard_normal((9, 2))
    lifted = cell_volumes(np.linalg.qr(embedded)[0] @ X, "exact2d")
    np.testing.assert_allclose(np.sort(lifted), np.sort(cell_volumes(X, "exact2d")), atol=1e-12)


def test_gamma_falls_as_columns_are_added_and_ignores_their_length():
    X = np.random.default_rng(6).standard_normal((3, 8))
    gammas = [rank.cell_volume_min(X[:, :t], "exact3d") for t in range(3, 9)]
    assert (np.diff(gammas) <= 1e-12).all()
    assert rank.cell_volume_min(X * np.arange(1, 9), "exact3d") == pytest.approx(gammas[-1], rel=1e-6)


def test_antipodal_pair_has_two_half_spaces():
    X = np.array([[1.0, -1.0], [2.0, -2.0]])
    assert cell_volumes(X, "exact2d") == pytest.approx([0.5, 0.5])
    assert rank.collinear_pairs(X) == [(0, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_corrected_step_crosses_exactly_one_hyperplane(seed):
    rng = np.random.default_rng(seed)
    for k, n in ((2, 3), (3, 6), (8, 12)):
        X = rng.standard_normal((k, n)) * rng.uniform(0.2, 5, n)
        w = rng.standard_normal((3000, k))
        assert (rank.signs_changed(w, rank.flip_one_sign(w, X), X) == 1).all()


def test_printed_step_does_not_cross_one_hyperplane():
    w = np.random.default_rng(8).standard_normal((5000, 2))
    literal = rank.signs_changed(w, rank.flip_one_sign_as_printed(w, UNEQUAL), UNEQUAL)
    squared = rank.signs_changed(w, rank.flip_one_sign_as_printed(w, UNEQUAL, squared_norm=True), UNEQUAL)
    assert np.mean(literal != 1) > 0.3
    assert np.mean(squared != 1) > 0.05
    assert (rank.signs_changed(w, rank.flip_one_sign(w, UNEQUAL), UNEQUAL) == 1).all()


def test_printed_step_is_right_for_unit_columns():
    X = UNEQUAL / np.linalg.norm(UNEQUAL, axis=0)
    w = np.random.default_rng(9).standard_normal(2)
    np.testing.assert_allclose(rank.flip_one_sign_as_printed(w, X), rank.flip_one_sign(w, X), rtol=1e-12)


def test_rank_of_a_product():
    rng = np.random.default_rng(10)
    A, B = rng.standard_normal((5, 2)), rng.standard_normal((2, 5))
    assert np.linalg.matrix_rank(A @ B) == rank.rank_product_bound(2, 2)
    A[:, 1] = A[:, 0]
    assert np.linalg.matrix_rank(A @ B) == rank.rank_product_bound(1, 2) < rank.rank_product_bound_as_printed(1, 2)
