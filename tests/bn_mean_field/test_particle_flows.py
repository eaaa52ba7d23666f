"""Trajectories: orders of convergence, invariants, independence of batch members, divergence as a result."""

import numpy as np
import pytest

from repdyn.bn_mean_field.methods.particle_flows import (
    _array_descent,
    _compiled_descent,
    descent_losses,
    gradient_descent,
    gradient_flow,
)
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Population, Teacher

COV = np.array([[5.0, 0.3], [0.3, 1.0]])
LINEAR = Teacher(np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 0.0]]))


def start(m=12, seed=0, d=2):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=(m, d))
    return rng.uniform(-1, 1, size=m), b / np.linalg.norm(b, axis=1, keepdims=True)


@pytest.mark.parametrize("d", [2, 5])
def test_the_flow_with_bn_is_that_of_the_vanilla_loss_on_the_manifold(d):
    """Theorem 3; solver tolerance 1e-10 per step, kinks of the ReLU velocity, growth along the flow."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    cov, teacher = root @ root.T, Teacher(np.array([1.0, -0.7]), rng.normal(size=(2, d)))
    a, b = start(8, 1, d)
    bn = gradient_flow(a, b, Population(teacher, cov), [0.0, 2.0])
    manifold, euclidean = (
        gradient_flow(a, normalize(b, cov), Population(teacher, cov, kind), [0.0, 2.0]) for kind in ("manifold", "none")
    )
    np.testing.assert_allclose(normalize(bn.b[-1], cov), manifold.b[-1], atol=1e-7)
    np.testing.assert_allclose(bn.a[-1], manifold.a[-1], atol=1e-7)
    assert np.abs(normalize(bn.b[-1], cov) - normalize(euclidean.b[-1], cov)).max() > 1e-2


@pytest.mark.parametrize("normalization", ["batch", "none", "manifold"])
def test_a_compiled_flow_starts_with_the_velocity_of_the_model(normalization):
    """A short flow in the plane, which is compiled, against the velocity by arrays; the rest is of second order."""
    a, b = start(15)
    model, time = Population(LINEAR, COV, normalization), 1e-5
    b = normalize(b, COV) if normalization == "manifold" else b
    da, db, _ = model.velocity(a, b)
    flow = gradient_flow(a, b, model, [0.0, time])
    np.testing.assert_allclose((flow.a[-1] - a) / time, da, atol=1e-3)
    np.testing.assert_allclose((flow.b[-1] - b) / time, db, atol=1e-3)


def test_descent_converges_to_the_flow_at_first_order():
    a, b = start()
    model = Population(LINEAR, COV)
    exact = gradient_flow(a, b, model, [0.0, 1.0]).a[-1]
    errors = [np.abs(gradient_descent(a, b, model, 1 / n, record=[n]).a[-1] - exact).max() for n in (50, 100, 200)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.1)


def test_batch_members_do_not_touch_each_other():
    a, b = start()
    steps = np.array([0.01, 0.1])
    both = gradient_descent(np.stack([a, -a]), np.stack([b, b]), Population(LINEAR, COV), steps, record=[0, 30])
    for i, (sign, step) in enumerate(zip((1, -1), steps, strict=True)):
        alone = gradient_descent(sign * a, b, Population(LINEAR, COV), step, record=[0, 30])
        np.testing.assert_allclose(both.b[:, i], alone.b, atol=1e-13)  # sums in another order


def test_divergence_is_a_result_and_stays_in_its_member():
    a, b = start(100)
    scales = np.array([1.0, 10.0])[:, None, None]
    vanilla = Population(LINEAR, COV, "none")
    run = gradient_descent(np.stack([a, a]), scales * b, vanilla, 0.1, record=[0, 5, 300])
    assert np.isnan(run.diverged[0])
    assert 1 <= run.diverged[1] < 300
    assert run.loss[-1, 0] < 1e-3 * run.loss[0, 0]
    assert np.isnan(run.a[-1, 1]).all()
    assert np.isnan(run.loss[-1, 1])
    stable = gradient_descent(a, 10 * b, Population(LINEAR, COV), 0.1, record=[0, 300])
    assert np.isnan(stable.diverged)


def test_recording_does_not_change_the_run():
    a, b = start()
    model = Population(LINEAR, COV)
    every = gradient_descent(a, b, model, 0.05, record=range(21))
    last = gradient_descent(a, b, model, 0.05, record=[20])
    np.testing.assert_array_equal(every.b[-1], last.b[-1])
    np.testing.assert_array_equal(every.times, np.arange(21))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: gradient_flow(*start(), m, [1.0, 0.0]), "increasing"),
        (lambda m: gradient_flow(np.ones((2, 3)), np.ones((2, 3, 2)), m, [0.0, 1.0]), "call once each"),
        (lambda m: gradient_descent(*start(), m, 0.0, record=[3]), "step > 0"),
        (lambda m: gradient_descent(*start(), m, 0.1, record=[]), "non-empty"),
        (lambda m: gradient_descent(*start(), m, 0.1, record=[-1, 3]), "first record -1; expected step > 0, record"),
        (
            lambda m: gradient_descent(np.ones((2, 3)), np.ones((2, 3, 2)), m, [0.1, -0.2], record=[3]),
            "step is -0.2, first record 3",
        ),
        (lambda m: gradient_descent(*start(d=3), m, 0.1, record=[1]), "match cov"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(Population(LINEAR, COV))


@pytest.mark.parametrize("normalization", ["batch", "none"])
def test_compiled_descent_is_that_of_the_arrays(normalization):
    a, b = start(20)
    a, b = np.stack([a, a]), np.stack([b, 3 * b])
    model, record, steps = Population(LINEAR, COV, normalization), np.array([0, 3, 40]), np.array([0.01, 0.4])
    fast, plain = (run(a, b, model, steps, record) for run in (_compiled_descent, _array_descent))
    for name in ("a", "b", "loss"):
        compiled, other = getattr(fast, name), getattr(plain, name)
        np.testing.assert_allclose(compiled, other, rtol=1e-9, atol=1e-12)  # 40 steps amplify rounding
    np.testing.assert_array_equal(fast.diverged, plain.diverged)


def test_losses_of_descent_are_those_of_the_trajectory():
    a, b = start()
    model = Population(LINEAR, COV)
    losses = descent_losses(a, b, model, 0.05, 30)
    np.testing.assert_allclose(losses, gradient_descent(a, b, model, 0.05, record=range(31)).loss, rtol=1e-12)
    wild = descent_losses(a, 30 * b, Population(LINEAR, COV, "none"), 0.5, 30)
    np.testing.assert_array_equal(np.isinf(wild[[0, -1]]), [False, True])


def test_descent_leaves_its_start_as_it_was():
    a, b = start()
    model = Population(LINEAR, COV)
    gradient_descent(a, b, model, 0.1, record=[5])
    descent_losses(a, b, model, 0.1, 5)
    gradient_flow(a, b, model, [0.0, 0.1])
    for part, before in zip((a, b), start(), strict=True):
        np.testing.assert_array_equal(part, before)
