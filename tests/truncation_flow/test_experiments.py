"""Experiments: named variables, paired draws, costs and errors of integrators."""

import numpy as np

from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.audits import gradient_audit, random_clusters
from repdyn.truncation_flow.experiments.cluster_flow import integrators
from repdyn.truncation_flow.experiments.collapse import neural_collapse
from repdyn.truncation_flow.settings import GradientAudit, Integrators, NeuralCollapse, RandomClusters

STREAM = Stream(3, ("truncation_flow", "test"))
COLLAPSE = {"points": 12, "fill": 0.8, "start": 0.0, "horizon": 6.0, "samples": 21, "step": 0.04}


def test_more_draws_leave_the_old_ones_alone():
    few = gradient_audit(GradientAudit(dimensions=(2,), points=8, draws=2), STREAM)
    many = gradient_audit(GradientAudit(dimensions=(2, 3), points=8, draws=3), STREAM)
    np.testing.assert_array_equal(few["printed"], many["printed"].isel(dimension=[0], draw=[0, 1]))
    short = random_clusters(RandomClusters(dimensions=(2,), points=(5,), draws=4), STREAM)
    long = random_clusters(RandomClusters(dimensions=(2, 3), points=(5, 5), draws=9), STREAM)
    np.testing.assert_array_equal(short["printed_rate"][0], long["printed_rate"][0, :4])


def test_a_dimension_does_not_see_the_others():
    alone = neural_collapse(NeuralCollapse(dimensions=(3,), **COLLAPSE), STREAM)
    among = neural_collapse(NeuralCollapse(dimensions=(2, 3), **COLLAPSE), STREAM)
    np.testing.assert_array_equal(alone["cost"][0], among["cost"].sel(dimension=3))


def test_integrators_are_compared_by_the_right_sides_that_they_evaluate():
    """A step of the occupation scheme: a predicted end, then a midpoint and an end in each of three corrections."""
    settings = Integrators(
        dimension=3, points=10, steps=[0.025, 0.05, 0.1], tolerances=[1e-6, 1e-4], evaluations=1000, horizon=0.4
    )
    data = integrators(settings, Stream(1))
    np.testing.assert_array_equal(data["euler_cost"], [16, 8, 4])
    after_first = data["scipy_cost"].values - 2  # RK45 takes two right sides before the first step and six in each
    assert not (after_first % 6).any()
    assert (np.diff(after_first) < 0).all()
    np.testing.assert_array_equal(data["occupation_cost"], [7 * 16, 7 * 8, 7 * 4])
