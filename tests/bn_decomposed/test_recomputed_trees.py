"""The simplified model recomputed in fractions: counts of rows, splits, limits, amplitudes, several coordinates."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.bn_decomposed.reference import amplitudes, angles_of, layer, layers, tree_gram

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import simplified_limits, simplified_model
from repdyn.bn_decomposed.settings import study as sizes

STREAM = Stream(14, ("bn_decomposed", "recomputed"))
NOTHING_KEPT = Checkpoint(None, "")
close = np.testing.assert_allclose


def clusters(row):
    return len(set(row))


ROWS = sizes.ClusterRows(points=(4, 5), layers=4, batches=2)


@cache
def counted():
    return simplified_model.cluster_rows(ROWS, STREAM)


@pytest.mark.parametrize(("n", "batch", "t"), [(4, 0, 1), (5, 1, 2), (5, 0, 3), (4, 1, 4)])
def test_counts_of_rows(n, batch, t):
    x = range(n) if batch == 0 else np.sort(STREAM.generator(n, batch).choice(2_000_001, n, replace=False)) - 1_000_000
    x = [int(value) for value in x]
    rows, cell = layers(x, t), counted().sel(points=n, batch=batch, layer=t)
    numbers = [clusters(row) for row in rows]
    inside = [[min(row) < value < max(row) for value in row] for row in rows]
    tied = [
        any(i and value == sum(row) / n for i, value in zip(of, row, strict=True))
        for of, row in zip(inside, rows, strict=True)
    ]
    per_point = np.sum(inside, axis=0)[1:-1]
    ordered = [sorted(row) for row in rows]
    wanted = {
        "excess": sum(numbers) - 2 * len(rows),
        "wide_rows": sum(k > 2 for k in numbers),
        "parted_rows": sum(k > 1 for k in numbers),
        "most_clusters": max(numbers),
        "ties": sum(tied),
        "interior_rows_least": per_point.min(),
        "interior_rows_most": per_point.max(),
        "shared_clusters": sum(a == b for row in ordered for a, b in pairwise(row)),
        "shared_middles": sum(row[0] < a == b < row[-1] for row in ordered for a, b in pairwise(row)),
        "both_extremes": sum(row[0] > 0 and row[-1] > 0 for row in rows),
        "first_two": sum(row[0] > 0 and row[1] > 0 for row in rows),
    }
    parents = layers(x, t - 1)
    pairs = [(clusters(parent), clusters(child)) for parent in parents for child in layer([parent])]
    wanted |= {"gaining": sum(b > a for a, b in pairs), "losing": sum(b < a for a, b in pairs)}
    three = [(row, tie) for row, tie in zip(rows, tied, strict=True) if clusters(row) == 3]
    wanted["three_tied"] = sum(tie for _, tie in three)
    wanted["three_split_otherwise"] = sum(sorted(map(clusters, layer([row]))) != [2, 3] for row, _ in three)
    for name, value in wanted.items():
        assert int(cell[name]) == value, name
    assert int(cell.excess_by_algorithm) == wanted["excess"]
    assert int(cell.most_by_algorithm) == max(2, wanted["most_clusters"])
    assert float(cell.gram_difference) < 1e-12
    values = np.array(rows, float)
    gram, wide = values.T @ values, values[np.array(numbers) > 2]
    share = np.abs(wide.T @ wide - gram).max() / gram.max()
    assert float(cell.gram_difference_of_wide_rows) == pytest.approx(share)


def test_descendants_of_rows_of_two_and_three_clusters():
    data = simplified_model.split_rows(sizes.SplitRows(points=(4, 5), layers=3, draws=2), STREAM)
    for n, zeros in ((4, 1), (5, 3)):
        cell = data.isel(split=np.flatnonzero((data.split_points == n) & (data.split_zeros == zeros))[0])
        for t in (1, 3):
            rows = layers([0] * zeros + [1] * (n - zeros), t)
            sums = [sum(row[k] ** 2 for row in rows) for k in (0, -1)]
            close(cell.square.sel(layer=t), np.array(sums, float))
    for n, draw, rising in ((4, 1, 1), (5, 0, 0)):
        middle = STREAM.generator(n, draw).uniform()
        same = (data.row_points == n) & (data.rising == rising)
        cell = data.isel(row=np.flatnonzero(same)[draw])
        ends = (0, 1) if rising else (1, 0)
        for t in (1, 2):
            rows = layers([ends[0], Fraction(middle)] + [ends[1]] * (n - 2), t)
            alone = [row for row in rows if row[0] != row[1] == row[-1]]
            pair = [row for row in rows if row[0] == row[1] != row[-1]]
            for kept, chosen in enumerate((alone, pair)):
                sums = [float(sum(row[k] ** 2 for row in chosen)) for k in (1, -1)]
                close(cell.parted_square.isel(kept=kept).sel(layer=t), sums, atol=1e-12)
    for n, T in ((4, 2), (10, 50)):
        place = np.flatnonzero((data.bound_points == n) & (data.bound_layers == T))[0]
        cell = data.isel(bound_points=place)
        assert float(cell.eq_61) <= float(cell.eq_62)
        assert float(cell.wrong_eq_62) == pytest.approx(float(cell.eq_62) * (2 * n - 7) / (2 * n - 3))


def test_example_tree_and_narrow_gaps():
    data = simplified_model.tree_example(sizes.TreeExample(values=(0, 4, 7, 15), layers=2))
    first, second = layers((0, 4, 7, 15), 1), [row for parent in layers((0, 4, 7, 15), 1) for row in layer([parent])]
    rows = [[Fraction(v) for v in (0, 4, 7, 15)], *first, *second]
    close(data.value, np.array(rows, float))
    close(data["mean"], [float(sum(row) / 4) for row in rows])
    assert data.clusters.values.tolist() == list(map(clusters, rows))
    assert data.parent.values.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert data.layer.values.tolist() == [0, 1, 1, 2, 2, 2, 2]
    gaps = simplified_model.narrow_gap(sizes.NarrowGap(decades=(1, 2, 4)))
    for decade in (1, 2, 4):
        x, depth = [0, Fraction(3, 10), Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**decade), 1], 0
        while max(map(clusters, layers(x, depth))) > 3:
            depth += 1
        cell = gaps.sel(decade=decade)
        assert int(cell.stable_depth) == depth
        gap, mean = min(Fraction(1, 10**decade), Fraction(1, 5)), sum(x) / 5
        after = float(sum(max(v - mean, 0) for v in x) / 5)
        bound = 1 + max(0, np.ceil(np.log(5 * after / (2 * float(gap))) / np.log(5 / 4)))
        assert int(cell.depth_bound) == bound
        assert int(cell.depth_bound_of_equal_gaps) == 1 + np.ceil(np.log(5 * 0.6 / 2) / np.log(5 / 4))


def geometry(x, depth):
    """Norms and angles, degrees, of the points in a layer."""
    X = np.array(layers(x, depth), float)
    return np.linalg.norm(X, axis=0), angles_of(X.T @ X)


def test_angles_through_the_layers():
    data = simplified_model.interior_angles(sizes.InteriorAngles(points=5, layers=100, every=3), STREAM)
    x = np.sort(STREAM.generator(5).standard_normal(5))
    assert data.layer.values.tolist() == list(range(1, 101, 3))
    for depth in (1, 4):
        close(data.angle.sel(layer=depth), geometry(x, depth)[1], atol=1e-4)
    m = np.arange(1, 5)
    close(data.kept, np.sqrt((m**2 + (5 - m) ** 2) / (1 + 4**2)))


def points_of(n, batch):
    if batch == 0:
        return 2.0 * np.arange(n) - (n - 1)
    return np.array([*range(n - 1), 10.0 * n]) if batch == 1 else np.sort(STREAM.generator(n, batch).standard_normal(n))


def test_limits_of_the_simplified_model():
    """B/A after 100 layers, where wider rows feed both no more."""
    settings = sizes.TreeLimits(points=(4, 5), batches=(4, 4), deep_batches=2, decay=40)
    data = simplified_limits.tree_limits(settings, STREAM, NOTHING_KEPT)
    assert data.kind.values.tolist() == 2 * ["symmetric", "outlier", "gaussian", "gaussian"]
    for n, batch in ((4, 1), (4, 3), (5, 2), (5, 0)):
        x, cell = points_of(n, batch), data.isel(case=(4 if n == 5 else 0) + batch)
        A, *_, B = amplitudes(x, 100)[0]
        first, last, inner = (n - 1) ** 2 * A + B, A + (n - 1) ** 2 * B, A + B
        close(cell.amplitude_ratio, B / A, rtol=1e-6)
        close([cell.ratio_first, cell.ratio_last], np.sqrt([inner / first, inner / last]), rtol=1e-6)
        close(cell.angle_first, np.degrees(np.arccos(B / np.sqrt(inner * first))), rtol=1e-6)
        close(cell.angle_last, np.degrees(np.arccos(A / np.sqrt(inner * last))), rtol=1e-6)
        close(cell.extremes, np.sqrt(min(first, last) / max(first, last)), rtol=1e-6)
        if batch:
            assert int(cell.odd_is_last) == (B > A)
            assert int(cell.farther_is_last) == (x[-1] - x.mean() > x.mean() - x[0])
            assert int(cell.longer_is_last) == (abs(x[-1]) > abs(x[0]))
        depth = next(t for t in range(99) if max(map(clusters, layers(x, t))) <= 3) if n == 4 or batch else None
        assert depth is None or int(cell.stable_depth) == depth
        gap, after = np.diff(x)[1:-1].min(), np.maximum(x - x.mean(), 0).mean()
        bound = 1 + max(0, np.ceil(np.log(n * after / (2 * gap)) / np.log(n / (n - 1))))
        assert int(cell.depth_bound) == bound
    equal = {4: 1 + np.ceil(np.log(4 * 0.5 / 2) / np.log(4 / 3)), 5: 1 + np.ceil(np.log(5 * 0.6 / 2) / np.log(5 / 4))}
    assert data.depth_bound_of_equal_gaps.values.tolist() == [equal[4]] * 4 + [equal[5]] * 4


def test_deep_trees_of_the_simplified_model():
    settings = sizes.TreeLimits(points=(4, 5), batches=(4, 4), deep_batches=3, decay=40)
    data = simplified_limits.tree_limits(settings, STREAM, NOTHING_KEPT)
    assert data.deep_points.values.tolist() == [4] * 3 + [5] * 3
    for n, batch, place in ((4, 2, 2), (5, 1, 4)):
        x, cell = points_of(n, batch), data.isel(deep=place)
        rates = [(m**2 + (n - m) ** 2) / n**2 for m in (1, 2)]
        depth = int(np.ceil(40 / np.log(rates[0] / rates[1])))
        assert int(cell.deep_layers) == depth
        A, *_, B = amplitudes(x, depth - 1)[0]
        close(float(cell.deep_B / cell.deep_A), B / A, rtol=1e-9)
        first, last, inner = (n - 1) ** 2 * A + B, A + (n - 1) ** 2 * B, A + B
        for end in ("least", "most"):
            ends = cell.sel(end=end)
            close([ends.deep_ratio_first, ends.deep_ratio_last], np.sqrt([inner / first, inner / last]), rtol=1e-6)
            close(ends.deep_cosine_first, B / np.sqrt(inner * first), rtol=1e-6)
            close(ends.deep_cosine_last, A / np.sqrt(inner * last), rtol=1e-6)
        early = geometry(x, 1)[1][1]
        assert int(cell.deep_apart_early) == (early > 45).sum()
        cosines = np.array([B, A]) / np.sqrt(inner * np.array([first, last]))
        assert int(cell.deep_apart) == (cosines < np.sqrt(0.5)).sum()


SPLITS = sizes.SplitAmplitudes(points=(5, 6), batches=3, enumerated=5, decay=40)


@pytest.mark.parametrize(("n", "batch"), [(5, 2), (6, 1)])
def test_shares_and_first_layers_of_splits(n, batch):
    data = simplified_limits.split_amplitudes(SPLITS, STREAM).isel(case=(3 if n == 6 else 0) + batch)
    x, squares = points_of(n, batch), Counter()
    for row in layers(x, 5):
        if clusters(row) == 2 and 0 in row:
            split = next(m for m in range(1, n) if row[m] != row[m - 1])
            squares[split] += float(max(row)) ** 2
    total = sum(squares.values())
    sides = (1, n - 1, 2, n - 2)
    close(data.enumerated, [squares[m] / total for m in sides], rtol=1e-9)
    close(data.by_algorithm, [squares[m] / total for m in sides], rtol=1e-9)
    close(data.by_other_end, [squares[n - m] / total for m in sides], rtol=1e-9)
    stable = next(t for t in range(99) if not any(len(np.unique(row)) > 3 for row in amplitudes(x, t)[1]))
    positive = [next(t for t in range(1, 200) if amplitudes(x, t)[0][m - 1] > 0) for m in sides]
    start = max(stable, 1)
    assert data.zero_layers.values.tolist() == [max(0, first - start) for first in positive]
    assert data.first_layer.values.tolist() == positive[:2]
    assert int(data.layer[0]) == max(start, *positive)
    gaps, after = np.diff(x), np.maximum(x - x.mean(), 0).mean()

    def bound(gap):
        return 1 + max(0, np.ceil(np.log(n * after / gap) / np.log(n / (n - 2))))

    assert data.first_layer_bound.values.tolist() == [bound(gaps[0]), bound(gaps[-1])]
    assert data.first_layer_bound_of_largest_gap.values.tolist() == 2 * [bound(gaps.max())]
    begin, rates = int(data.layer[0]), [(m**2 + (n - m) ** 2) / n**2 for m in (1, 2)]
    depth = int(np.ceil(40 / np.log(rates[0] / rates[1])))
    assert data.layer.values.tolist() == [begin + round(part * depth) for part in (0, 0.125, 0.25, 0.5, 0.75, 1)]
    for step in (0, 2):
        squares, rows = amplitudes(x, int(data.layer[step]))
        (A, B, C, D), wide = (squares[m - 1] for m in sides), sum(row.max() ** 2 for row in rows)
        for name, counted_ in (("(2, n-2)", 1), ("(1, 1, n-2)", 0)):
            cell, (c, d) = data.sel(definition=name).isel(step=step), (counted_ * C, counted_ * D)
            close(cell.ratio, (A + c) / (B + d), rtol=1e-6)
            close(cell.ratio_without_B, (A + c) / D, rtol=1e-6)
            for suffix, births in (("", (n - 1) ** 2 * wide), ("_unfed", 0)):
                close(cell[f"lowest{suffix}"], A / (B + d + births), rtol=1e-6)
                close(cell[f"highest{suffix}"], (A + c + births) / B, rtol=1e-6)


def test_bounds_of_theorem_11_by_the_number_of_points():
    """Between the smallest and the largest batch for every number of points."""
    settings = sizes.TreeLimits(points=(4, 6), batches=(4, 5), deep_batches=2, decay=40)
    data = simplified_limits.tree_limits(settings, STREAM, NOTHING_KEPT)
    assert data.bound_points.values.tolist() == [4, 5, 6]
    n = data.bound_points.values
    close(data.printed_ratio, 3 / (n - 2))
    close(data.sharp_ratio, np.sqrt(2 / ((n - 1) ** 2 + 1)))
    close(data.printed_angle, 90 - np.sqrt(2) * 180 / (n - 2))
    close(data.sharp_angle, np.degrees(np.arccos(1 / np.sqrt(2 * ((n - 1) ** 2 + 1)))))


@cache
def splits():
    return simplified_limits.split_amplitudes(SPLITS, STREAM)


@pytest.mark.parametrize(("n", "batch"), [(5, 2), (6, 1)])
def test_interior_angles_at_the_first_and_the_last_step(n, batch):
    case = (3 if n == 6 else 0) + batch
    data = splits().isel(case=case)
    assert (int(data.points), str(data.kind.values)) == (n, ("symmetric", "outlier", "gaussian")[batch])
    found = []
    for depth in (int(data.layer[0]), int(data.layer[-1])):
        found.append(angles_of(tree_gram(points_of(n, batch), depth)[1:-1, 1:-1]).max())
    close([data.interior_angle_early, data.interior_angle], found, rtol=1e-4, atol=1e-4)
    assert found[0] > 0.1 > found[1]


def test_several_coordinates_add_their_gram_matrices():
    settings = sizes.SeveralCoordinates(points=5, coordinates=2, decay=40, draws=2)
    data = simplified_limits.several_coordinates(settings, STREAM)
    rates = [(m**2 + (5 - m) ** 2) / 25 for m in (1, 2)]
    depth = int(np.ceil(40 / np.log(rates[0] / rates[1])))
    assert int(data.layers) == depth
    X = np.sort(STREAM.generator(1, "batch").standard_normal((2, 5)), axis=1)
    order = STREAM.generator(1, "order")
    for name, free in (("shared", slice(1, 4)), ("free", slice(0, 5))):
        mixed, gram = X.copy(), np.zeros((5, 5))
        mixed[:, free] = order.permuted(X[:, free], axis=1)
        for x in mixed:
            rank = np.argsort(np.argsort(x))
            gram += tree_gram(np.sort(x), depth)[np.ix_(rank, rank)]
        norm = np.sqrt(np.diag(gram))
        angle = angles_of(gram)
        cell = data.sel(extremes=name, draw=1)
        close(cell.extremes_angle, angle[0, -1], atol=1e-3)
        close(cell.interior_angle, angle[1:-1, 1:-1].max(), atol=1e-3)
        ratio = norm[1:-1, None] / norm[[0, -1]]
        close(cell.ratio, ratio.max(axis=0).min(), rtol=1e-5)
        close(cell.odd_angle, angle[1:-1][:, [0, -1]].min(axis=0).max(), atol=1e-3)
