import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.bn_decomposed.theory.geometry import (
    angle_matrix,
    effective_rank,
    geometry,
    numerical_rank,
    orthogonality_gap,
    pair_angles,
)


@pytest.mark.parametrize("theta", [1e-150, 1e-12, 1e-8, 0.3, np.pi / 2, 3.0, np.pi])
def test_angle_is_resolved_at_every_size(theta):
    X = np.array([[1.0, 5 * np.cos(theta)], [0.0, 5 * np.sin(theta)]])
    # Rounding of the two coordinates, relative for small angles; near pi sin(pi) itself is 1e-16 off.
    assert pair_angles(X)[0] == pytest.approx(theta, rel=1e-14, abs=0 if theta < 3 else 1e-15)


def test_angles_against_arccos_of_the_cosine():
    X = np.random.default_rng(0).standard_normal((6, 9))
    U = X / np.linalg.norm(X, axis=0)
    expected = np.arccos(np.clip(U.T @ U, -1, 1))
    # arccos loses digits only near 0 and pi, which random directions avoid off the diagonal.
    np.testing.assert_allclose(pair_angles(X), expected[np.triu_indices(9, 1)], atol=1e-12)
    matrix = angle_matrix(X)
    assert (np.diag(matrix) == 0).all()
    np.testing.assert_array_equal(matrix[np.triu_indices(9, 1)], pair_angles(X))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 999), st.floats(-200, 200))
def test_geometry_ignores_rotation_and_scale(seed, exponent):
    X = np.random.default_rng(seed).standard_normal((5, 4))
    Q = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((5, 5)))[0]
    a, b = geometry(X), geometry(10.0**exponent * (Q @ X))
    for name in ("angles", "odd_index", "odd_angle", "intra_angle", "second_to_first", "numerical_rank"):
        # Conditioning of angles of random directions: rounding of a 5 x 5 product.
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10)
    for name in ("stable_rank", "effective_rank", "orthogonality_gap"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-10)


def test_odd_point_and_cluster():
    X = np.array([[0.1, 0.1, 0.0, 0.1], [0.0, 0.0, 2.0, 0.0], [0.0, 0.1, 0.0, -0.1]])
    g = geometry(X)
    assert g.odd_index == 2
    assert g.odd_angle == pytest.approx(np.pi / 2, abs=1e-15)
    assert g.intra_angle == pytest.approx(np.pi / 4, abs=1e-15)
    assert g.second_to_first == pytest.approx(np.sqrt(0.02) / 2)
    assert np.isnan(geometry(X[:, :2]).intra_angle)
    assert geometry(X[:, :3]).intra_angle == pytest.approx(np.pi / 4, abs=1e-15)


def test_ranks_of_a_known_spectrum():
    rng = np.random.default_rng(1)
    s = np.array([4.0, 2.0, 1.0, 1e-5])
    U, V = (np.linalg.qr(rng.standard_normal((m, 4)))[0] for m in (7, 6))
    X = (U * s) @ V.T
    p = s / s.sum()
    assert numerical_rank(X) == 4
    assert geometry(X).stable_rank == pytest.approx((s**2).sum() / 16)
    assert effective_rank(X) == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    G = X.T @ X
    assert orthogonality_gap(X) == pytest.approx(np.linalg.norm(G / np.trace(G) - np.eye(6) / 6))


def test_extremes_of_the_orthogonality_gap():
    assert orthogonality_gap(3 * np.eye(5)) == pytest.approx(0, abs=1e-15)
    assert orthogonality_gap(np.ones((5, 4))) == pytest.approx(np.sqrt(1 - 1 / 4))


def test_zero_batches_have_rank_0():
    assert numerical_rank(np.zeros((2, 3))) == 0
    assert np.isnan(effective_rank(np.zeros((2, 3))))
    assert np.isnan(orthogonality_gap(np.zeros((2, 3))))
