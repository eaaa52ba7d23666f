from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.bn_decomposed.theory.full_rank import relu_rank_profile, rows_to_full_rank, success_frequency
from repdyn.bn_decomposed.theory.largest_rank import (
    exact_method,
    largest_rank,
    largest_rank_by_lines,
    success_probability,
)
from repdyn.bn_decomposed.theory.rank import cell_volume_min, cells, circle_batch


@pytest.mark.parametrize("n", range(3, 13))
def test_circle(n):
    wanted = n if n % 2 else n // 2 + 2
    X = circle_batch(n)
    assert largest_rank(X) == largest_rank_by_lines(X) == wanted
    assert relu_rank_profile(X, np.random.default_rng(0), 400)[0, -1] == wanted


@settings(deadline=None, max_examples=25)
@given(k=st.integers(2, 3), antipodal=st.integers(0, 4), repeated=st.integers(0, 2), seed=st.integers(0, 999))
def test_two_ways_to_the_largest_rank(k, antipodal, repeated, seed):
    D = np.random.default_rng(seed).standard_normal((k, 5))
    X = np.hstack([D, -2 * D[:, :antipodal], 3 * D[:, :repeated]])
    assert largest_rank(X) == largest_rank_by_lines(X) == 5 + min(k, antipodal)


def test_many_dimensions_by_lines():
    D = np.random.default_rng(1).standard_normal((6, 9))
    X = np.hstack([D, -D[:, :8]])
    assert largest_rank_by_lines(X) == 9 + 6 == relu_rank_profile(X, np.random.default_rng(2), 300)[0, -1]


@pytest.mark.parametrize(("k", "n", "method"), [(2, 7, "exact2d"), (3, 6, "exact3d")])
def test_signs_belong_to_their_volumes(k, n, method):
    X = np.random.default_rng(3).standard_normal((k, n))
    assert exact_method(X) == method
    signs, volumes = cells(X, method)
    assert len(np.unique(signs, axis=0)) == len(volumes)
    sampled = np.sign(np.random.default_rng(4).standard_normal((100_000, k)) @ X)
    for pattern, volume in zip(signs, volumes, strict=True):
        seen = (sampled == pattern).all(axis=1).mean()
        assert abs(seen - volume) < 5 * np.sqrt(volume / 100_000) + 1e-9  # five standard errors, 14 and 32 cells


def test_success_probability_is_the_frequency():
    rng = np.random.default_rng(5)
    X = np.array([[1.0, 0.3, -0.8], [0.1, 1.0, 0.9]])
    count = 0
    while count < 5:
        W = rng.standard_normal((3, 2))
        if np.linalg.matrix_rank(np.maximum(W @ X, 0), rtol=1e-10) == 2:
            count += 1
            p = success_probability(X, W)
            assert abs(success_frequency(X, W, rng, 20_000) - p) < 5 * 0.5 / np.sqrt(20_000)  # five standard errors
            assert p >= 2 * cell_volume_min(X, "exact2d")
    with pytest.raises(ValueError, match="one less"):
        success_probability(X, np.zeros((1, 2)))


def expected_rows(X):
    """E[y] by a Markov chain on how often each cell was hit, twice or more counting as twice (two dimensions)."""
    signs, volumes = cells(X, "exact2d")
    rng = np.random.default_rng(6)
    generic = [[(rng.standard_normal(2) @ X) * (s > 0) for _ in range(2)] for s in signs]
    most = np.minimum(2, (signs > 0).sum(axis=1))

    @cache
    def left(hits):
        rows = [generic[c][j] for c, count in enumerate(hits) for j in range(count)]
        if rows and np.linalg.matrix_rank(np.array(rows), rtol=1e-10) == X.shape[1]:
            return 0.0
        moves = [c for c in range(len(hits)) if hits[c] < most[c]]
        further = sum(volumes[c] * left((*hits[:c], hits[c] + 1, *hits[c + 1 :])) for c in moves)
        return (1 + further) / volumes[moves].sum()

    return left((0,) * len(volumes))


def test_mean_rows_against_a_markov_chain():
    # The pair of antipodal points waits for both signs, 1 + Geometric(1/2); the circle of three has 284/75.
    assert expected_rows(np.array([[1.0, -1.0], [0.0, 0.0]])) == pytest.approx(3)
    assert expected_rows(circle_batch(3)) == pytest.approx(284 / 75)
    for n in (3, 5):
        y = rows_to_full_rank(circle_batch(n), np.random.default_rng(7), 20_000)
        assert abs(y.mean() - expected_rows(circle_batch(n))) < 4 * y.std() / np.sqrt(20_000)  # four standard errors


def test_lengths_of_columns_leave_the_largest_rank():
    lengths = np.geomspace(1e-9, 1e6, 7)
    for n in (6, 7):
        X = circle_batch(n) * lengths[:n]
        assert largest_rank(X) == largest_rank_by_lines(X) == largest_rank(circle_batch(n))
