"""Separation of own clusters: the angle condition, the search, what is refused."""

import numpy as np
import pytest

from repdyn.truncation_flow.experiments.own_clusters import triangle
from repdyn.truncation_flow.methods.construction import ball_clusters
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.separation import (
    cluster_separated_initial_data,
    margin_bound,
    procrustes_initial_data,
    separation_margin,
    widest_angle,
)

MEANS = np.array([[3.0, 0.2, -0.5], [-0.5, 2.5, 0.4], [0.3, -0.6, 3.5]])


def points(means):
    return [mean[None] for mean in means]


@pytest.mark.parametrize(("degrees", "margin"), [(60, 0.1114), (80, 0.0419), (85, 0.0214)])
def test_largest_margins_of_triangles(degrees, margin):
    corners = triangle(degrees)
    start = cluster_separated_initial_data(points(corners))
    assert start.margin.smallest == pytest.approx(margin, abs=5e-5)  # reached from most random starts as well
    assert procrustes_initial_data(points(corners)).margin.smallest < start.margin.smallest < margin_bound(corners)
    assert separation_margin(points(corners), start.R, start.beta, start.yt) == start.margin


def test_right_and_obtuse_angles_separate_no_cluster():
    for degrees in (90, 110):
        corners = triangle(degrees)
        assert widest_angle(corners).vertex == 0
        assert widest_angle(corners).degrees == pytest.approx(degrees)
        assert margin_bound(corners) == pytest.approx(0, abs=1e-7)
        start = cluster_separated_initial_data(points(corners), require=False)
        assert start.margin.smallest < 1e-9
    with pytest.raises(ValueError, match=r"1 and 2.*110.*0"):
        cluster_separated_initial_data(points(triangle(110)))


def test_bound_on_margins_by_hand():
    assert margin_bound([[0.0, 0.0], [3.0, 4.0]]) == pytest.approx(5 / np.sqrt(8))  # two means: |d|/(2 sqrt Q)
    corners = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])  # products 4 at the first, 1 at the others
    assert margin_bound(corners) == pytest.approx(np.sqrt(1 / 12))
    assert widest_angle([[0.0, 0.0], [3.0, 4.0]]).degrees == 0


def test_separated_clusters_collapse_under_the_flow():
    X = list(ball_clusters(MEANS, 20, 0.3, np.random.default_rng(1)))
    assert procrustes_initial_data(X).margin.smallest < 0
    start = cluster_separated_initial_data(X)
    assert start.margin.smallest > 0.1
    np.testing.assert_allclose(start.R @ np.swapaxes(start.R, 1, 2), np.tile(np.eye(3), (3, 1, 1)), atol=1e-12)
    path = integrate_flow(X, start.R, start.beta, start.yt, [0.0, 8.0], step=0.02)
    assert float(path["cost"].isel(time=1).sum()) < 1e-5 * float(path["cost"].isel(time=0).sum())


def test_wide_clusters_are_refused_with_the_reason():
    wide = list(ball_clusters(np.eye(3), 40, 0.5, np.random.default_rng(2)))
    with pytest.raises(ValueError, match=r"others -"):
        cluster_separated_initial_data(wide)


def test_bad_input_is_refused():
    for X, words in (
        ([np.ones((2, 3))] * 2, r"2 clusters.*3"),
        ([np.ones((2, 1))], "1"),
        ([np.zeros((2, 2)), np.zeros((1, 2))], "means"),
        ([np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3))], "2.*3"),
    ):
        with pytest.raises(ValueError, match=words):
            cluster_separated_initial_data(X)
    for gap in (0.0, 1e-14):  # a rounding
        labels = np.array([[1.0, 0.0], [1.0, gap]])
        with pytest.raises(ValueError, match="yt"):
            separation_margin([np.ones((2, 2))] * 2, [np.eye(2)] * 2, np.zeros((2, 2)), labels)
