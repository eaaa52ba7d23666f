"""Descent with parts of batch normalization switched off, against the checked velocities of the whole model."""

import numpy as np
import pytest

from repdyn.bn_mean_field.methods import compiled_pairs as pairs
from repdyn.bn_mean_field.theory.velocity import Teacher

VARIANCES = np.array([5.0, 1.0, 0.5, 2.0])
TEACHER = Teacher(np.array([1.0, -0.6]), np.array([[1.0, 0.0, 0.0, 0.0], [0.3, -1.0, 0.5, 0.2]]))


def start(m=10, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], m), rng.normal(size=(m, len(VARIANCES)))


def descended(kind, step=0.05, iterations=20, thresholds=None):
    return pairs.descend(*start(), TEACHER, VARIANCES, kind, step, iterations, thresholds)


def test_a_divergence_reaches_nothing():
    assert np.isinf(descended(pairs.VANILLA, 1e3, 50, np.array([1e-3])).reached).all()


def test_least_loss_does_not_see_lengths_and_ends_at_the_teacher():
    _, b = start(4)
    lengths = np.array([0.1, 1.0, 3.0, 10.0])[:, None]
    least = pairs.least_loss_with_b_frozen(b, TEACHER, VARIANCES)
    assert pairs.least_loss_with_b_frozen(lengths * b, TEACHER, VARIANCES) == pytest.approx(least, rel=1e-9)
    assert pairs.least_loss_with_b_frozen(TEACHER.w, TEACHER, VARIANCES) == pytest.approx(0.0, abs=1e-12)


def test_descent_leaves_its_start_and_its_thresholds_as_they_were():
    (a, b), thresholds = start(), np.array([1.0, 1e-3])
    pairs.descend(a, b, TEACHER, VARIANCES, pairs.BN, 0.05, 5, thresholds)
    for part, before in zip((a, b, thresholds), (*start(), [1.0, 1e-3]), strict=True):
        np.testing.assert_array_equal(part, before)
