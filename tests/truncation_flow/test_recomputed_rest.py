"""Clusters of digits drawn to their means, and what the datasets of single clusters say that their numbers are."""

from functools import cache

import numpy as np
import pytest
from tests.truncation_flow.test_recomputed_examples import digits, stairs

from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import cluster_flow, own_clusters
from repdyn.truncation_flow.methods.separation import cluster_separated_initial_data

STREAM = Stream(11, ("truncation_flow", "examples"))


@cache
def clusters():
    small = {"ANGLES": (70.0,), "RANDOM_TRIANGLES": 1, "CONFIGURATIONS": 40, "SHRINKS": np.array([0.25, 1.0])}
    settings = sizes.OwnClusters(points=3, widths=(0.1, 0.2), classes=(0, 3))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in small.items():
            patch.setattr(own_clusters, name, value)
        return own_clusters.own_clusters(settings, digits(), STREAM)


@pytest.mark.parametrize(("row", "factor"), [(0, 0.25), (1, 1.0)])
def test_margins_of_digits_drawn_to_their_means(row, factor):
    reduced, explained = own_clusters.digit_clusters(digits(), (0, 3))
    drawn = [factor * X + (1 - factor) * X.mean(axis=0) for X in reduced]
    margin = cluster_separated_initial_data(drawn, require=False).margin
    np.testing.assert_allclose(clusters().digit_margin[row], margin, atol=1e-12)
    assert float(clusters().digit_explained) == pytest.approx(explained)
    assert int(clusters().digit_points) == 16
    assert clusters().condition.values.tolist() == list(margin._fields)


@cache
def flows():
    settings = sizes.PrintedAndCorrected(horizon=0.5, samples=20, step=0.1, clusters=2, points=3)
    return cluster_flow.printed_and_corrected(settings, STREAM)


@cache
def errors():
    settings = sizes.Integrators(
        dimension=2, points=4, steps=[0.05, 0.08, 0.1], tolerances=[1e-4, 1e-3], evaluations=100, horizon=0.2
    )
    return cluster_flow.integrators(settings, STREAM)


def test_sizes_stand_beside_the_numbers():
    data = errors()
    assert [int(data[name]) for name in ("points", "dimension", "evaluations", "sliding_cap")] == [4, 2, 100, 100]
    assert data.euler_cost.values.tolist() == [4, 3, 2]  # 0.2 / 0.08 is two steps and a half
    assert data.tolerance.values.tolist() == [1e-4, 1e-3]
    assert (int(flows().points), float(flows().step)) == (3, 0.1)
    assert (flows().sizes["cluster"], flows().sizes["time"]) == (2, 20)


NAMES = {  # what a number is, in words and in units
    "staircase": """
        b: bias b(s) at fixed R, exact | input
        rate: the rate -d log|y - b|/ds | 1/time
        b_by_events: bias by the event-driven integrator | input
        meeting: next point is met, exact | 1
        meeting_by_events: the same by the event-driven integrator | 1
        meeting_at_next_rate: (n + 1)/N in place of n/N | 1
        stage_rate: n/N in each stage | 1/time
        stage_rate_untruncated: 1 - n/N in each stage | 1/time
        stage_slope: -d log|y - b|/ds in each stage | 1/time
        printed_time: times of (4.49) | 1
        printed_time_at_next_rate: with the rate (n + 1)/N | 1
        label: label y | input
        x: data | input""",
    "flows": """
        example_cost: cost of one point | input^2
        cost: cost of a random planar cluster | input^2
        example_apex: apex of the cone | input
        example_turn: angle of R | degree
        example_image: image of the point | input
        example_point: the point | input
        example_label: its pulled-back label | input""",
    "errors": """
        occupation_error: error of the occupation scheme in R and beta | 1
        occupation_cost: right sides, occupation scheme | 1
        euler_error: error of Euler steps | 1
        euler_cost: right sides, Euler | 1
        scipy_error: error of RK45 | 1
        scipy_cost: right sides, RK45 | 1
        crossings: crossings of coordinate planes | 1
        sliding_u: u_1(s), event-driven | input
        sliding_u_occupation: u_1(s), occupation, largest step | input
        sliding_u_scipy: u_1(s), RK45 | input
        sliding_cost: cost, event-driven | input^2
        sliding_error: largest error of u_1 | input
        sliding_reached: last output time that RK45 reached | 1
        sliding_cap: cap on right sides of RK45 | 1""",
    "clusters": """
        margin: margin, synthetic | input
        digit_margin: margin, digits | 1
        digit_explained: share of variance kept | 1
        digit_points: digits used | 1
        triangle_angle: widest angle | degree
        triangle_margin: largest margin found | input
        triangle_margin_procrustes: by Procrustes alone | input
        triangle_bound: bound on any margin of aligned weights | input
        triangle_margin_general: weights that are not aligned | input
        acute_share: without an angle of 90 degrees or more | 1""",
}


@pytest.mark.parametrize(
    ("name", "made"), [("staircase", stairs), ("flows", flows), ("errors", errors), ("clusters", clusters)], ids=str
)
def test_each_number_has_the_name_and_the_unit_of_what_it_is(name, made):
    data = made()
    told = {}
    for line in NAMES[name].strip().splitlines():
        key, _, rest = line.strip().partition(": ")
        told[key] = tuple(rest.rsplit(" | ", 1))
    assert set(told) == set(data.data_vars)
    assert [key for key, (words, _) in told.items() if words not in data[key].long_name] == []
    assert {key: data[key].units for key in told} == {key: unit for key, (_, unit) in told.items()}
