"""Numbers recomputed that no other file looks at: points at rest, bounds, angles of trees."""

from functools import cache

import numpy as np
import pytest
from tests.bn_decomposed.test_recomputed_layers import NOTHING_KEPT
from tests.bn_decomposed.test_recomputed_trees import SPLITS, points_of
from tests.bn_decomposed.test_recomputed_trees import STREAM as TREES

from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import full_rank, gaussian_layers, simplified_limits
from repdyn.bn_decomposed.settings import study as sizes
from repdyn.bn_decomposed.theory.kernel import gram_map_multiplier
from repdyn.bn_decomposed.theory.odd_cluster import expected_gram_fixed_point, odd_fixed_point, odd_map_multiplier

STREAM = Stream(15, ("bn_decomposed", "recomputed"))
close = np.testing.assert_allclose


@cache
def contraction():
    settings = sizes.Contraction(batches=[7, 8], spreads=[0.5, 20.0], draws=2, configurations=1, multiplier_up_to=7)
    return gaussian_layers.contraction(settings, STREAM, NOTHING_KEPT)


@pytest.mark.parametrize("n", [7, 8])
def test_a_cluster_at_rest(n):
    """The root mean square distance of the cluster's points from their mean, in units of ||x_1|| / n^2."""
    cell, G = contraction().sel(batch=n), expected_gram_fixed_point(n, "odd")
    cluster = G[1:, 1:] / G[0, 0]
    close(cell.resting_spread, n**2 * np.sqrt(np.diag(cluster).mean() - cluster.mean()), rtol=1e-6)
    close(cell.point_multiplier, odd_map_multiplier(1e-4, n))
    close(cell.family_multiplier, odd_fixed_point(n).multiplier)
    both = [cell.full_multiplier, cell.full_multiplier_of_equal_points]
    starts = [gram_map_multiplier(expected_gram_fixed_point(n, start)) for start in ("odd", "simplex")]
    close(both, starts if n == 7 else [np.nan, np.nan])
    assert starts[0] != pytest.approx(starts[1], rel=1e-3)


@cache
def limits():
    settings = sizes.TreeLimits(points=(4, 6), batches=(4, 5), deep_batches=2, decay=40)
    return simplified_limits.tree_limits(settings, TREES, NOTHING_KEPT)


def test_bounds_of_theorem_11_by_the_number_of_points():
    """Between the smallest and the largest batch for every number of points."""
    data = limits()
    assert data.bound_points.values.tolist() == [4, 5, 6]
    n = data.bound_points.values
    close(data.printed_ratio, 3 / (n - 2))
    close(data.sharp_ratio, np.sqrt(2 / ((n - 1) ** 2 + 1)))
    close(data.printed_angle, 90 - np.sqrt(2) * 180 / (n - 2))
    close(data.sharp_angle, np.degrees(np.arccos(1 / np.sqrt(2 * ((n - 1) ** 2 + 1)))))


def gram(x, depth):
    """Gram matrix up to a factor: wider rows one by one, two-cluster rows by split and by the side that is positive."""
    n, rows, m = len(x), [np.array(x, float)], np.arange(1, len(x))
    upper, lower = np.zeros((2, n - 1))
    for _ in range(depth):
        upper, lower = (upper + lower) * m**2 / n**2, (upper + lower) * (n - m) ** 2 / n**2
        kept = []
        for row in rows:
            for child in (np.maximum(row - row.mean(), 0), np.maximum(row.mean() - row, 0)):
                if len(np.unique(child)) > 2:
                    kept.append(child)
                elif child.any():
                    side = upper if child[-1] > child[0] else lower
                    side[np.flatnonzero(np.diff(child))[0]] += child.max() ** 2
        rows = kept
    place = np.arange(n)
    total = sum((np.outer(row, row) for row in rows), np.zeros((n, n)))
    for split, up, down in zip(m, upper, lower, strict=True):
        above, below = place >= split, place < split
        total += up * np.outer(above, above) + down * np.outer(below, below)
    return total


@cache
def splits():
    return simplified_limits.split_amplitudes(SPLITS, TREES)


@pytest.mark.parametrize(("n", "batch"), [(5, 2), (6, 1)])
def test_interior_angles_at_the_first_and_the_last_step(n, batch):
    case = (3 if n == 6 else 0) + batch
    data = splits().isel(case=case)
    assert (int(data.points), str(data.kind.values)) == (n, ("symmetric", "outlier", "gaussian")[batch])
    found = []
    for layer in (int(data.layer[0]), int(data.layer[-1])):
        G = gram(points_of(n, batch), layer)[1:-1, 1:-1]
        length = np.sqrt(np.diag(G))
        found.append(np.degrees(np.arccos(np.clip(G / np.outer(length, length), -1, 1).min())))
    close([data.interior_angle_early, data.interior_angle], found, rtol=1e-4, atol=1e-4)
    assert found[0] > 0.1 > found[1]


# Cells and rows


def test_cases_of_the_next_row_are_named_by_dimension_and_columns():
    settings = sizes.StalledRows(planar=[1, 3], spatial=[2], configurations=2, draws=100)
    data = full_rank.stalled_rows(settings, STREAM)
    assert data.case.values.tolist() == ["k=2, t=1", "k=2, t=3", "k=3, t=2"]
    assert int(data.draws) == 100
    X, _ = full_rank._stalled(3, 2, STREAM.generator(3, 2, 0))
    fine = np.random.default_rng(0).standard_normal((200_000, 3)) @ X > 0
    least = np.unique(fine, axis=0, return_counts=True)[1].min() / len(fine)
    assert abs(float(data.gamma[2, 0]) - least) < 5 * np.sqrt(least / len(fine))


def test_steps_that_change_more_than_one_sign_are_counted_by_form_and_shape():
    settings = sizes.SignCells(largest_circle=3, planar=[3], spatial=[3], batches=1, draws=1000, steps=100)
    data = full_rank.sign_cells(settings, STREAM)
    assert data.step.values.tolist() == ["printed", "printed, norm squared", "corrected", "overshot"]
    assert data["shape"].values.tolist() == ["k=2, n=3", "k=3, n=6", "k=8, n=12"]
    assert (int(data.rows_tried), int(data.draws)) == (100, 1000)
    for column, (k, n) in enumerate(((2, 3), (3, 6), (8, 12))):
        generator = STREAM.generator("steps", k)
        X = generator.standard_normal((k, n)) * generator.uniform(0.2, 5.0, n)
        w = generator.standard_normal((100, k))
        for row, step in enumerate(full_rank.STEPS.values()):
            changed = ((step(w, X) @ X > 0) != (w @ X > 0)).sum(axis=1)
            assert int(data.not_one[row, column]) == (changed != 1).sum()
