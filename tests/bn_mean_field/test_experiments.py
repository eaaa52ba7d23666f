"""Experiments at tiny sizes: independent trials, and the pieces of analysis that claims rest on."""

import inspect

import numpy as np
import pytest
import xarray as xr
from tests.bn_mean_field.test_recomputed_descents import FEATURES, FIRST, RATES
from tests.bn_mean_field.test_recomputed_flows import PROPAGATION

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as sizes
from repdyn.bn_mean_field.experiments.concentration import concentration
from repdyn.bn_mean_field.experiments.exit_times import exit_times
from repdyn.bn_mean_field.experiments.feature_learning import feature_learning
from repdyn.bn_mean_field.experiments.first_step import _statistics, first_step
from repdyn.bn_mean_field.experiments.learning_rates import learning_rates
from repdyn.bn_mean_field.experiments.magnitudes import magnitudes
from repdyn.bn_mean_field.experiments.propagation import propagation
from repdyn.bn_mean_field.experiments.speed_ratio import speed_ratio
from repdyn.bn_mean_field.experiments.target_scan import target_scan
from repdyn.bn_mean_field.experiments.well_posedness import well_posedness
from repdyn.bn_mean_field.methods import starts_and_targets as problems
from repdyn.bn_mean_field.theory.velocity import Population

STREAM = Stream(1, ("test",))
NOTHING_KEPT = Checkpoint(None, "")
ANISOTROPY = sizes.Anisotropy(
    directions=12, step=0.002, steps=[0.002, 0.004], record=[0, 10, 20], look=10, early=20, stride=5, seeds=2
)
MAGNITUDES = sizes.Magnitudes(directions=4, radii=[1.0, 10.0], step=0.002, iterations=10, stride=5, seeds=3)
SCAN = sizes.TargetScan(angles=[0.0, 45.0, 90.0], directions=12, step=0.01, look=30, seeds=3)
CONCENTRATION = sizes.Concentration(angles=[0.0, 90.0], directions=6, step=0.01, record=[0, 10, 20], seeds=3)
WELL_POSED = sizes.WellPosedness(gaps=[1e-4, 1e-2], time=0.5, radii=[0.1, 1.0], draws=5)
EXITS = sizes.ExitTimes(width=10, start_radius=0.5, radii=[0.75, 1.0], slope=3.0, time=0.5, frames=101)


def test_adding_a_draw_changes_no_old_number():
    more = PROPAGATION.model_copy(update={"seeds": 3})
    old, new = (propagation(s, STREAM, NOTHING_KEPT) for s in (PROPAGATION, more))
    for seed in range(2):
        losses = []
        for dataset in (old, new):
            drawn = (dataset["start"] == "i.i.d.") & (dataset["seed"] == seed)
            losses.append(dataset["loss"].isel(run=np.flatnonzero(drawn)).values)
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


def test_paired_start_is_the_zero_function():
    a, b = problems.paired_start(10)
    loss = Population(problems.linear(0), problems.ANISOTROPIC).velocity(a, b)[2]
    np.testing.assert_allclose(loss, 2.5, rtol=1e-14)  # E x_1^2 / 2


def test_a_radius_that_is_not_reached_has_no_exit_time():
    times = exit_times(EXITS.model_copy(update={"radii": (0.75, 50.0)}))["exit_time"].values
    np.testing.assert_array_equal(np.isnan(times), [False, True])


def test_constant_lengths_recomputed():
    """The first start of the smallest settings, neuron by neuron, brought back to its length after each iteration."""
    data = first_step(FIRST, STREAM)
    a, b = problems.paired_start(FIRST.directions)
    model, r, h = Population(problems.linear(0), problems.ANISOTROPIC), 0.1, 0.05
    b, losses, farthest = r * b, [], []
    for _ in range(FIRST.iterations):
        da, db, loss = model.velocity(a, b)
        moved = b + h * db
        cosine = np.sum(moved * b, axis=1) / (np.linalg.norm(moved, axis=1) * r)
        a, b = a + h * da, r * moved / np.linalg.norm(moved, axis=1)[:, None]
        losses.append(float(loss))
        farthest.append(np.degrees(np.arccos(cosine)).max())
    cell = data.sel(radius=0.1, step=0.05).isel(start=0)
    np.testing.assert_allclose(cell["turn_quantile_kept"].sel(quantile=1.0), farthest, rtol=1e-6)
    np.testing.assert_allclose(cell["loss_growth_kept"][:-1], np.divide(losses[1:], losses[:-1]), rtol=1e-9)


TRIALS = {  # experiment, its settings, its dimension of trials, places of the first two independent trials
    "target_scan": (target_scan, SCAN, "seed", (0, 1)),
    "magnitudes": (magnitudes, MAGNITUDES, "start", (1, 2)),
    "first_step": (first_step, FIRST, "start", (1, 2)),
    "speed_ratio": (speed_ratio, ANISOTROPY, "start", (1, 2)),
    "learning_rates": (learning_rates, RATES, "start", (1, 2)),
    "feature_learning": (feature_learning, FEATURES, "start", (0, 1)),
    "concentration": (concentration, CONCENTRATION, "start", (0, 1)),
}


@pytest.mark.parametrize("name", TRIALS)
def test_trials_differ_and_do_not_depend_on_their_number(name):
    experiment, settings, dim, places = TRIALS[name]
    kept = {"checkpoint": NOTHING_KEPT} if "checkpoint" in inspect.signature(experiment).parameters else {}
    few, many = (experiment(settings.model_copy(update={"seeds": seeds}), STREAM, **kept) for seeds in (2, 3))
    drawn = [variable for variable in many.data_vars if dim in many[variable].dims]
    first, second = (many[drawn].isel({dim: place}, drop=True) for place in places)
    assert not first.equals(second)
    for place in places:
        xr.testing.assert_identical(many[drawn].isel({dim: place}), few[drawn].isel({dim: place}))


def test_a_relu_neuron_at_an_edge_may_rest_or_leave_and_an_erf_neuron_may_not():
    """Theorem 4 without a Lipschitz derivative: two solutions from one start."""
    ends = well_posedness(WELL_POSED, STREAM)["gap_at_end"]
    relu, erf = (ends.sel(activation=name).values for name in ("relu", "erf"))
    assert relu[0] > 0.05
    assert relu[0] == pytest.approx(relu[1], rel=0.1)
    np.testing.assert_allclose(erf[1] / erf[0], 100, rtol=0.05)


def test_a_run_that_diverged_has_no_turns_and_no_share_of_large_ones():
    """Four neurons in two runs, of which the second is lost in its last iteration: missing, not 0."""
    turns = np.array([[[5.0, 9.0, 11.0, 90.0], [0.0, 1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0, 12.0], [np.nan] * 4]])
    found = _statistics(turns, ("later", "run"))
    np.testing.assert_array_equal(found["large_turns"], [[0.5, 0.0], [0.25, np.nan]])
    quantiles = found["turn_quantile"].values
    assert np.isnan(quantiles[:, 1, 1]).all()
    np.testing.assert_allclose(quantiles[[2, -1], 0], [[10.0, 1.5], [90.0, 3.0]])
    assert {array.attrs["missing"] for array in found.values()} == {"the run diverged"}
