"""Distances of digits against predictions: brute force, the library's equation (50), bootstrap moments."""

import numpy as np
import pytest

from repdyn.universality.methods import structure
from repdyn.universality.theory.final import final_distance

ROUNDING = 1e-10


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(4), rng.integers(0, 4, 56)])
    return rng.standard_normal((60, 6)) + 3 * np.eye(6)[labels], labels


def test_a_low_is_the_theorys_final_distance_from_nothing(task):
    """Equation (10) at h0, y0 -> 0 and rho = 1 with one-hot targets."""
    x, labels = task
    dx = np.linalg.norm(x[0] - x[1:], axis=1)
    dy = np.linalg.norm(np.eye(4)[labels[0]] - np.eye(4)[labels[1:]], axis=1)
    wanted = final_distance(1e-12, 1e-24, dx, dy, 1.0)
    assert np.allclose(structure.low_weight_distances(x, labels)[0, 1:], wanted, atol=1e-6)  # start 1e-12, not 0


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_weighing_by_all_is_equation_50_on_the_whole_matrix(task, scale, monkeypatch):
    """Also when the columns come in blocks."""
    x, labels = task
    A = structure.low_weight_distances(x, labels)
    monkeypatch.setattr(structure, "CHUNK", 17)
    K = np.exp(-A / scale)
    P = K / K.sum(axis=1, keepdims=True)
    normalized = structure.weighed_by_all(x, labels, 10, [1.0, scale], normalize=True)[1]
    assert np.allclose(normalized, (P @ A @ P.T)[:10, :10], rtol=ROUNDING)
    printed = structure.weighed_by_all(x, labels, 10, [1.0, scale], normalize=False)[0]
    assert np.allclose(printed, (np.exp(-A) @ A @ np.exp(-A))[:10, :10], rtol=ROUNDING)


def test_far_classes_turn_equation_50_into_class_sums(task):
    """The deviation is of the order n^2 e^{-least A}; sums by a double loop."""
    x, labels = 4 * task[0], task[1]
    A = structure.low_weight_distances(x, labels)
    sums, sizes = structure.class_sums(x, labels)
    for i, j in np.ndindex(4, 4):
        assert sums[i, j] == pytest.approx(A[np.ix_(labels == i, labels == j)].sum(), rel=ROUNDING)
    assert np.array_equal(sizes, np.bincount(labels))
    least = structure.smallest_between(x, labels)
    assert least == pytest.approx(A[labels[:, None] != labels[None]].min(), rel=1e-12)
    weighed = structure.weighed_by_all(x, labels, 60, [1.0], normalize=False)[0]
    error = np.abs(weighed - sums[np.ix_(labels, labels)]).max() / sums.max()
    assert 0 < error < 60**2 * np.exp(-least)


def test_every_pair_of_classes_once_gives_the_plain_correlation(task, monkeypatch):
    labels = task[1]
    rng = np.random.default_rng(2)
    a = rng.random((60, 60))
    a, b = a + a.T, rng.random((60, 60))
    monkeypatch.setattr(structure, "_drawn", lambda count, resamples, generator: np.ones((resamples, count)))
    correlations = structure.resampled_correlations(a, b + b.T, labels, 3, rng)
    assert np.allclose(correlations[:, 0], structure.correlations(a, b + b.T, labels), rtol=ROUNDING)


def test_redrawn_correlations_scatter_around_the_plain_one(task):
    """The spread of a mean over pairs of classes; constant predictions have none between classes."""
    x, labels = task
    rng = np.random.default_rng(3)
    d = structure.low_weight_distances(x, labels)
    noisy = d + rng.standard_normal(d.shape)
    noisy = noisy + noisy.T
    correlations = structure.resampled_correlations(d, noisy, labels, 4000, rng)
    plain = structure.correlations(d, noisy, labels)
    assert np.all(np.quantile(correlations, 0.001, axis=1) < plain)
    assert np.all(np.quantile(correlations, 0.999, axis=1) > plain)
    constant = structure.resampled_correlations(labels[:, None] != labels[None], noisy, labels, 10, rng)
    assert np.isnan(constant[1]).all()
    assert np.isfinite(constant[0]).all()
