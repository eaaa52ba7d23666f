"""Numbers recomputed that no other file looks at: points at rest, bounds, angles of trees; names of the numbers."""

from functools import cache

import numpy as np
import pytest
from tests.bn_decomposed.test_recomputed_layers import LAYER, NOTHING_KEPT, ROWS, circle, images, sectors
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


def test_batches_of_the_limits_are_numbered_by_their_points():
    data = limits()
    assert data.points.values.tolist() == [4] * 4 + [6] * 5
    first = ["symmetric", "outlier", "gaussian", "gaussian"]
    assert data.kind.values.tolist() == [*first, *first, "gaussian"]
    assert data.deep_points.values.tolist() == [4, 4, 6, 6]
    assert data.deep_kind.values.tolist() == ["symmetric", "outlier"] * 2
    assert data.end.values.tolist() == ["least", "most"]


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


def test_what_identifies_a_batch_of_rows():
    settings = ROWS.model_copy(update={"draws": 2, "wait_draws": 3, "spatial": (4,), "recentered": (5,), "batches": 1})
    data = full_rank.rows_to_full_rank(settings, STREAM, NOTHING_KEPT)
    assert data.kind.values.tolist() == ["circle", "Gaussian k=2", "Gaussian k=3", "recentered"]
    assert (data.k.values.tolist(), data.n.values.tolist()) == ([2, 2, 3, 2], [3, 3, 4, 5])
    assert [data.sizes[dim] for dim in ("draw", "wait_batch", "wait_draw", "column", "column_or_next")] == [
        2,
        2,
        3,
        3,
        4,
    ]
    assert (data.column.values.tolist(), data.column_or_next.values.tolist()) == ([1, 2, 3], [1, 2, 3, 4])
    assert (int(data.antipodal_points), data.form.values.tolist()) == (6, ["geometric", "7a", "7b"])
    least = [0.5, *(sectors(circle(3)[:, :t]).min() for t in (2, 3))]
    close(data.bound_by_column[0], sum(1 / volume for volume in least))


# Names of the numbers

NAMES = {
    "relu_moments": """
        square: ||ReLU(Wy)||^2 in units of d sigma^2 ||y||^2
        inner: ReLU(Wx).ReLU(Wy)
        quadrature: by quadrature
        square_linear: ||Wy||^2 in the unit of `square`
        inner_linear: Wx.Wy in the unit of `inner`
        quadrature_linear: `inner`, expected
        recentered_sampled: ||x~_j||, sampled
        recentered: K(HGH)
        not_recentered: K(G)""",
    "gaussian_layer": """
        odd_square: ||x_1'||^2, mean over layers
        cluster_square: (n-1)^2 ||nu_c'||^2, mean over layers
        odd_norm: ||x_1'||, mean over layers
        cluster_norm: (n-1) ||nu_c'||, mean over layers
        odd_mean: sqrt(d) times the mean entry of x_1'
        inner: |x_1'.nu_c'|, largest over layers
        inner_not_recentered: the mean left in
        pair_factor: ||x_2 - x_3||^2, mean over layers
        alpha: d sigma^2 / 2
        expected_odd_square: E||x_1'||^2
        expected_cluster_square: E||nu_c'||^2
        expected_inner: E x_1'.nu_c'
        square_of_mean_odd: ||E x_1'||^2
        square_of_mean_cluster: ||E nu_c'||^2
        inner_of_means: E x_1'. E nu_c'
        expected_pair_factor: E||x_2' - x_3'||^2
        wrong_pair_factor: arccos rho for pi - arccos rho
        cluster_mean_cosine: cosine of x_1'
        cluster_mean_excess: minus 1""",
    "contraction": """
        factor: mean square distance within the cluster after the layer over before
        largest_factor: largest factor of a pair
        wrong_largest_factor: arccos rho for pi - arccos rho
        alpha: alpha of Theorem 14
        norm_keeping_alpha: keeps E||x_1||^2 = 1
        invariant_distance: of an invariant representation
        required_distance: asks ||x_1 - nu_c|| to exceed
        resting_spread: root mean square size at the fixed point
        point_multiplier: cluster of angle 1e-4
        family_multiplier: within one odd point and n - 1 equivalent
        full_multiplier: over all Gram matrices
        full_multiplier_of_equal_points: the same for the fixed point of n equivalent""",
    "rows_to_full_rank": """
        y: rows until ReLU(W X) has full rank
        gamma: smallest volume of a cell
        bound: bound on the mean of y
        bound_by_column: sum over t of 1/gamma
        wait: rows that column t waits for
        column_gamma: gamma of the first t columns
        wait_gamma: gamma of all columns
        y_antipodal: rows until full rank for 6 points
        wait_antipodal: wait of the last of 6 points
        tail_bound: do not give full rank""",
    "full_rank_tail": """
        log_tail: logarithm of P(
        log_chernoff: minimum in (28b)
        exponent_a: exponent per column of (7a)
        exponent_b: exponent per column of (7b)
        exponent_fine: exponent per column of (7a)
        wrong_exponent_a: (7a) with the sign
        wrong_exponent_b: (7b) with the sign
        wrong_exponent_fine: (7a) with the sign""",
    "tree_limits": """
        stable_depth: first layer with at most three clusters
        depth_bound: by the smallest inner gap
        depth_bound_of_equal_gaps: with equal gaps
        amplitude_ratio: B / A
        ratio_first: norm of an interior point over that of point 1
        ratio_last: norm of an interior point over that of point n
        angle_first: angle of an interior point to point 1
        angle_last: angle of an interior point to point n
        extremes: smaller over larger norm
        odd_is_last: larger norm in the limit
        farther_is_last: farther from the mean
        longer_is_last: larger modulus
        deep_ratio_first: interior points: norm over that of point 1
        deep_ratio_last: interior points: norm over that of point n
        deep_cosine_first: cosine of the angle to point 1
        deep_cosine_last: cosine of the angle to point n
        deep_A: rows with point 1 alone, one layer before
        deep_B: rows with point n alone, one layer before
        deep_layers: depth of the Gram matrix
        deep_apart: more than 45 degrees from point 2
        deep_apart_early: in the first layer
        printed_ratio: smaller ratio of norms, as printed
        sharp_ratio: smaller ratio of norms, best possible
        printed_angle: larger angle to an extreme, as printed
        sharp_angle: larger angle to an extreme, best possible""",
    "split_amplitudes": """
        enumerated: by enumeration
        by_algorithm: the same share from the exact algorithm
        by_other_end: as far from the other end
        zero_layers: in which no row has this split
        first_layer: first layer in which a row parts the point
        first_layer_bound: by the point's gap to the next one
        first_layer_bound_of_largest_gap: with the largest gap
        ratio: (A + C) / (B + D)
        lowest: lower end of the interval that holds
        highest: upper end of the interval that holds
        lowest_unfed: lower end of the interval without
        highest_unfed: upper end of the interval without
        ratio_without_B: (n-2, 2) alone
        interior_angle: last step
        interior_angle_early: first step""",
    "several_coordinates": """
        extremes_angle: between the first and the last point
        interior_angle: between two other points
        ratio: norm of another point over that of first or last
        odd_angle: angle of another point to first or last""",
    "sign_cells": """
        cell_count: cells of positive volume, from the arrangement
        patterns_seen: sign patterns among the sampled rows
        strays: pattern is none of the arrangement's
        volume_sum: sum of the cells' volumes
        gamma: smallest volume of a cell
        smallest_hits: sampled rows in the smallest cells
        smallest_share: volume of the smallest cells together
        smallest_count: number of the smallest cells
        pair_count: w and -w taken for one
        volume_sum_without_smallest: without the smallest cells
        strays_of_reflection: its last point reflected
        not_one: does not change exactly one sign""",
    "stalled_rows": """
        probability: from the cells
        frequency: frequency in 100 next rows
        gamma: smallest volume of a cell""",
}


def small(name):
    """A dataset at sizes that take no time."""
    moments = sizes.ReluMoments(cosines=[-1.0, 1.0], batch=3, width=8, draws=20)
    layer = LAYER.model_copy(update={"batches": (3,), "widths": (4,), "blocks": 10})
    rows = ROWS.model_copy(update={"draws": 2, "wait_draws": 2, "batches": 1})
    cells = sizes.SignCells(largest_circle=3, planar=[3], spatial=[3], batches=1, draws=1000, steps=100)
    stalled = sizes.StalledRows(planar=[1], spatial=[2], configurations=2, draws=100)
    tail = sizes.FullRankTail(points=[2], alphas=[2.5], gammas=[0.3])
    several = sizes.SeveralCoordinates(points=5, coordinates=2, decay=40, draws=2)
    return {
        "relu_moments": lambda: gaussian_layers.relu_moments(moments, images(), STREAM),
        "gaussian_layer": lambda: gaussian_layers.gaussian_layer(layer, STREAM, NOTHING_KEPT),
        "contraction": contraction,
        "rows_to_full_rank": lambda: full_rank.rows_to_full_rank(rows, STREAM, NOTHING_KEPT),
        "full_rank_tail": lambda: full_rank.full_rank_tail(tail),
        "tree_limits": limits,
        "split_amplitudes": splits,
        "several_coordinates": lambda: simplified_limits.several_coordinates(several, TREES),
        "sign_cells": lambda: full_rank.sign_cells(cells, STREAM),
        "stalled_rows": lambda: full_rank.stalled_rows(stalled, STREAM),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_each_number_has_the_name_and_the_unit_of_what_it_is(name):
    data = small(name)
    words = dict(line.strip().split(": ", 1) for line in NAMES[name].strip().splitlines())
    assert set(words) == set(data.data_vars)
    assert [key for key, text in words.items() if text not in data[key].long_name] == []
    angles = {key for key in words if "angle" in key}
    assert {key for key in words if data[key].units != "1"} == angles
    assert {data[key].units for key in angles} <= {"degree"}
