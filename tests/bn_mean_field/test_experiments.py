"""Experiments at tiny sizes: house conventions, repeatability, and the pieces of analysis that claims rest on."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base import datasets
from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as knobs
from repdyn.bn_mean_field.experiments import (
    batches,
    equivalence,
    first_step,
    gradients,
    metric,
    minimisation,
    problems,
    propagation,
    theorem4,
    training,
)
from repdyn.bn_mean_field.theory.velocity import Population

STREAM = Stream(1, ("test",))
ANISOTROPY = knobs.Anisotropy(
    directions=12, step=0.002, steps=[0.002, 0.004], record=[0, 10, 20], look=10, early=20, stride=5, seeds=2
)
PROPAGATION = knobs.Propagation(
    widths=[4, 8, 16],
    random_widths=[4, 8, 16],
    seeds=2,
    reference=64,
    random_reference=64,
    times=[0.0, 0.5],
    tolerance=1e-6,
)
RUNS = {
    "gradient_audit": lambda: gradients.gradient_audit(
        knobs.GradientAudit(
            draws=2, samples=60, dimension=3, width=4, radii=[0.5, 1.0], eps=1e-5, eps_radii=[0.01, 0.1, 1.0]
        ),
        STREAM,
    ),
    "metric_audit": lambda: metric.metric_audit(
        knobs.MetricAudit(dimensions=[2, 3], conditions=[10.0], draws=3), STREAM
    ),
    "equivalence": lambda: equivalence.equivalence(
        knobs.Equivalence(width=4, dimensions=[2, 3], radii=[0.5, 1.0], time=0.5, frames=3, tolerance=1e-10), STREAM
    ),
    "propagation": lambda: propagation.propagation(PROPAGATION, STREAM),
    "equicontinuity": lambda: theorem4.equicontinuity(
        knobs.Equicontinuity(width=10, time=2.0, frames=41, pair_stride=10, transport_stride=20)
    ),
    "exit_times": lambda: theorem4.exit_times(
        knobs.ExitTimes(width=10, start_radius=0.5, radii=[0.75, 1.0], slope=3.0, time=0.5, frames=101)
    ),
    "minimisation": lambda: minimisation.minimisation(
        knobs.Minimisation(width=12, erf_width=8, time=1.0, counter_time=1.0, frames=11)
    ),
    "anisotropy": lambda: training.anisotropy(ANISOTROPY),
    "speed_ratio": lambda: training.speed_ratio(ANISOTROPY, STREAM),
    "magnitudes": lambda: training.magnitudes(
        knobs.Magnitudes(directions=4, radii=[1.0, 10.0], step=0.002, iterations=10, stride=5, seeds=2), STREAM
    ),
    "first_step": lambda: first_step.first_step(
        knobs.FirstStep(
            directions=8,
            radii=[0.01, 0.1, 1.0, 10.0],
            steps=[0.1],
            iterations=4,
            seeds=2,
            stability_radii=[1.0, 10.0],
            stability_steps=[0.1],
            stability_iterations=30,
        ),
        STREAM,
    ),
    "finite_batch": lambda: batches.finite_batch(
        knobs.FiniteBatch(width=8, batches=[8, 16, 32], repeats=20, groups=2), STREAM
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_datasets_keep_the_conventions_and_repeat(name):
    made = RUNS[name]()
    complete = made.assign_attrs({key: "-" for key in datasets.REQUIRED if key not in made.attrs})
    assert datasets.problems(complete) == []
    xr.testing.assert_identical(made, RUNS[name]())


def test_distances_name_the_right_reference():
    flows = propagation.propagation(PROPAGATION, STREAM)
    found = propagation.propagation_distances(PROPAGATION, flows)
    references = found["width"] == 64
    assert np.all(found["distance"].values[references.values] == 0)
    assert np.all(found["distance"].values[~references.values] > 0)
    assert float(found["loss_gap"].where(references, 0).max()) == 0


def test_adding_a_draw_changes_no_old_number():
    more = PROPAGATION.model_copy(update={"seeds": 3})
    old, new = (propagation.propagation(s, STREAM) for s in (PROPAGATION, more))
    for seed in range(2):
        losses = []
        for made in (old, new):
            drawn = (made["start"] == "i.i.d.") & (made["seed"] == seed)
            losses.append(made["loss"].isel(run=np.flatnonzero(drawn)).values)
        np.testing.assert_array_equal(*losses)


@pytest.mark.parametrize("count", [16, 100, 128])
def test_hammersley_points_fill_the_cylinder(count):
    """Share of points in boxes [-1, s] x [0, t] against the area: star discrepancy below 2 log2(m) / m."""
    a, b = problems.low_discrepancy_start(count)
    turn = np.mod(np.arctan2(b[:, 1], b[:, 0]) / (2 * np.pi), 1)
    assert np.abs(a).max() <= 1
    for s in np.linspace(0.05, 0.95, 7):
        for t in np.linspace(0.05, 0.95, 7):
            share = np.mean(((a + 1) / 2 < s) & (turn < t))
            assert abs(share - s * t) < 2 * np.log2(count) / count


def test_targets_are_what_they_are_called():
    x = np.random.default_rng(0).normal(size=(50, 2))
    for axis in (0, 1):
        teacher = problems.linear(axis, 3.0)
        np.testing.assert_allclose(np.maximum(x @ teacher.w.T, 0) @ teacher.c, 3 * x[:, axis], atol=1e-14)


def test_paired_start_is_the_zero_function():
    a, b = problems.paired_start(10)
    loss = Population(problems.linear(0), problems.ANISOTROPIC).velocity(a, b)[2]
    np.testing.assert_allclose(loss, 2.5, rtol=1e-14)  # E x_1^2 / 2


def test_iteration_of_equal_loss():
    iterations = np.arange(0, 50, 5)
    slow, fast = np.exp(-0.1 * iterations), np.exp(-0.2 * iterations)
    np.testing.assert_allclose(training._iteration_of_loss(slow, fast, iterations), iterations / 2, atol=1e-9)


def test_exit_times_that_are_not_reached_are_told():
    short = knobs.ExitTimes(width=10, start_radius=0.5, radii=[0.75, 50.0], slope=3.0, time=0.5, frames=101)
    with pytest.raises(ValueError, match="raise time"):
        theorem4.exit_times(short)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: PROPAGATION.__class__(**(PROPAGATION.model_dump() | {"reference": 20})), "four times"),
        (lambda: ANISOTROPY.__class__(**(ANISOTROPY.model_dump() | {"step": 0.1})), "not one of steps"),
        (lambda: ANISOTROPY.__class__(**(ANISOTROPY.model_dump() | {"look": 7})), "not one of record"),
        (
            lambda: knobs.Magnitudes(directions=4, radii=[1.0, 10.0], step=0.1, iterations=10, stride=3, seeds=2),
            "no multiple",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()
