"""Descent with parts of batch normalization switched off, against the checked velocities of the whole model."""

import numpy as np
import pytest

from repdyn.bn_mean_field.methods import compiled_pairs as pairs
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.theory.manifold import sigma_norm
from repdyn.bn_mean_field.theory.velocity import Population, Teacher

VARIANCES = np.array([5.0, 1.0, 0.5, 2.0])
TEACHER = Teacher(np.array([1.0, -0.6]), np.array([[1.0, 0.0, 0.0, 0.0], [0.3, -1.0, 0.5, 0.2]]))


def start(m=10, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], m), rng.normal(size=(m, len(VARIANCES)))


def descended(kind, step=0.05, iterations=20, thresholds=None):
    return pairs.descend(*start(), TEACHER, VARIANCES, kind, step, iterations, thresholds)


def python_descent(kind, step, iterations):
    """One velocity of the model after the other."""
    model = Population(TEACHER, np.diag(VARIANCES), "none" if kind == pairs.VANILLA else "batch")
    (a, b), losses = start(), []
    for _ in range(iterations + 1):
        da, db, loss = model.velocity(a, b)
        if kind == pairs.EQUAL_SPEEDS:
            norms = sigma_norm(b, np.diag(VARIANCES)) / np.linalg.norm(b, axis=1)
            db = db * (norms / np.sqrt(VARIANCES.mean()))[:, None]
        losses.append(float(loss))
        a, b = a + step * da, b + step * (0 if kind == pairs.FROZEN else db)
    return a, b, losses


@pytest.mark.parametrize("kind", [pairs.VANILLA, pairs.BN, pairs.EQUAL_SPEEDS, pairs.FROZEN])
def test_descent_is_that_of_the_model_with_the_part_switched_off(kind):
    run = descended(kind)
    a, b, _ = python_descent(kind, 0.05, 20)
    np.testing.assert_allclose(run.a, a, rtol=1e-10)
    np.testing.assert_allclose(run.b, b, rtol=1e-10, atol=1e-12)


def test_bn_is_the_descent_that_is_used_elsewhere():
    model = Population(TEACHER, np.diag(VARIANCES))
    other = gradient_descent(*start(), model, 0.05, record=[21])
    np.testing.assert_allclose(descended(pairs.BN).b, other.b[-1], rtol=1e-9)


def test_equal_speeds_are_those_of_bn_for_isotropic_data():
    isotropic = np.full(4, 3.0)
    bn, equal = (pairs.descend(*start(), TEACHER, isotropic, kind, 0.05, 20) for kind in (pairs.BN, pairs.EQUAL_SPEEDS))
    np.testing.assert_allclose(bn.b, equal.b, rtol=1e-12)


def test_frozen_weights_do_not_move():
    np.testing.assert_array_equal(descended(pairs.FROZEN).b, start()[1])


def test_a_threshold_is_reached_where_the_loss_crosses_it():
    _, _, losses = python_descent(pairs.BN, 0.2, 60)
    wanted = np.sqrt(losses[9] * losses[10])  # half-way in the logarithm
    reached = descended(pairs.BN, 0.2, 60, np.array([wanted, 0.0])).reached
    assert reached[0] == pytest.approx(9.5, abs=1e-6)
    assert reached[1] == np.inf


def test_a_divergence_reaches_nothing():
    assert np.isinf(descended(pairs.VANILLA, 1e3, 50, np.array([1e-3])).reached).all()


def test_least_loss_with_b_frozen_is_that_of_trained_output_weights():
    a, b = start(4)
    least = pairs.least_loss_with_b_frozen(b, TEACHER, VARIANCES)
    model = Population(TEACHER, np.diag(VARIANCES))
    trained = pairs.descend(a, b, TEACHER, VARIANCES, pairs.FROZEN, 2.0, 20_000)
    assert float(model.velocity(trained.a, b)[2]) == pytest.approx(least, rel=1e-6)
    assert 0 < least < float(model.velocity(a, b)[2])


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
