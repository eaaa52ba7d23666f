"""Margins of clusters of digits that are drawn to their means."""

from functools import cache

import numpy as np
import pytest
from tests.truncation_flow.test_recomputed_examples import digits

from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import own_clusters
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
