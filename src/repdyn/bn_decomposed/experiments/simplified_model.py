"""Experiments on the simplified model of recentering and ReLU, eqs. (9)-(10): settings in, one dataset out.

Small trees are enumerated row by row in integers, n^t X^(t), so that counts are exact; deep trees come from
`theory.cluster_tree.ClusterTree`, which the enumeration checks. Points are numbered in increasing order.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import ClusterRows, InteriorAngles, NarrowGap, SplitRows, TreeExample
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, integer_layer, simplified_layer
from repdyn.bn_decomposed.theory.tree_formulas import (
    split_rate,
    stable_depth_bound,
    three_cluster_bound,
    three_cluster_sum,
)

RANGE = 1_000_000
ROWS = {  # counted in every layer
    "excess": "sum of (clusters - 2), all rows enumerated",
    "excess_by_algorithm": "sum of (clusters - 2), from the exact algorithm",
    "wide_rows": "rows with three or more clusters",
    "parted_rows": "rows with two or more clusters",
    "most_clusters": "clusters of the row that has most",
    "most_by_algorithm": "clusters of the row that has most, from the exact algorithm",
    "ties": "rows in which a cluster equals the mean",
    "interior_rows_least": "least number of rows in which an interior point lies strictly between its row's ends",
    "interior_rows_most": "largest number of rows in which an interior point lies strictly between its row's ends",
    "shared_middles": "pairs of points in one cluster strictly between its row's ends",
    "shared_clusters": "pairs of neighboring points in one cluster",
    "both_extremes": "rows in which points 1 and n are both positive",
    "first_two": "rows in which points 1 and 2 are both positive",
    "gaining": "rows with more clusters than their parent",
    "losing": "rows with fewer clusters than their parent",
    "three_split_otherwise": "three-cluster rows whose children do not have three and two clusters",
    "three_tied": "three-cluster rows whose middle equals the mean",
}


def cluster_rows(settings: ClusterRows, stream: Stream) -> xr.Dataset:
    """All 2^t rows of small trees, counted exactly, against the algorithm that keeps n - 2 (App. C and E)."""
    shape = (len(settings.points), settings.batches, settings.layers + 1)
    counts = {name: np.zeros(shape, np.int64) for name in ROWS}
    difference, of_wide = np.zeros((2, *shape))
    for (p, n), b in product(enumerate(settings.points), range(settings.batches)):
        x = np.arange(n) if b == 0 else _integers(stream.generator(n, b), n)
        tree, X = ClusterTree(x.tolist()), x[None, :]
        for t in range(settings.layers + 1):
            children = integer_layer(X)
            most = max((len(row.values) for row in tree.rows), default=2)
            counted = _counted(X, children) | {"excess_by_algorithm": tree.excess, "most_by_algorithm": most}
            _enter(counts, counted, (p, b, t))
            rows, wide = X / float(n) ** t, _clusters(X) > 2
            gram, gram_of_wide = rows.T @ rows, rows[wide].T @ rows[wide]
            difference[p, b, t] = np.abs(tree.gram() * np.exp(2 * tree.log_scale) - gram).max() / gram.max()
            of_wide[p, b, t] = np.abs(gram_of_wide - gram).max() / gram.max()
            tree, X = tree.step(), children
    dims = ("points", "batch", "layer")
    return dataset(
        {name: variable(dims, counts[name], words) for name, words in ROWS.items()}
        | {
            "gram_difference": variable(
                dims, difference, "Gram matrix, algorithm minus enumeration, over its largest entry"
            ),
            "gram_difference_of_wide_rows": variable(dims, of_wide, "the same with the rows of two clusters left out"),
        },
        {
            "points": variable("points", np.array(settings.points), "data points in the batch"),
            "batch": index("batch", settings.batches, "batch; 0 is equally spaced, the others random"),
            "layer": index("layer", settings.layers + 1, "layer, 0 is the input"),
        },
        title="Clusters in all rows of the simplified model, counted exactly",
    )


def _integers(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.sort(rng.choice(2 * RANGE + 1, n, replace=False)) - RANGE


def _clusters(X: np.ndarray) -> np.ndarray:
    return 1 + (np.diff(np.sort(X, axis=1), axis=1) != 0).sum(axis=1)


def _counted(X: np.ndarray, children: np.ndarray) -> dict[str, int]:
    """Counts of a layer; those that compare parent and child belong to the next layer, see `_enter`."""
    n, clusters = X.shape[1], _clusters(X)
    low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
    interior = (low < X) & (high > X)
    tied = (interior & (n * X == X.sum(axis=1, keepdims=True))).any(axis=1)
    ordered = np.sort(X, axis=1)
    same = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] > low) & (ordered[:, 1:] < high)
    positive, negative = np.split(_clusters(children), 2)
    three = clusters == 3
    as_stated = np.sort([positive, negative], axis=0).T == (2, 3)
    return {
        "excess": int((clusters - 2).sum()),
        "wide_rows": int((clusters > 2).sum()),
        "parted_rows": int((clusters > 1).sum()),
        "most_clusters": int(clusters.max()),
        "ties": int(tied.sum()),
        "interior_rows_least": int(interior.sum(axis=0)[1:-1].min()),
        "interior_rows_most": int(interior.sum(axis=0)[1:-1].max()),
        "shared_middles": int(same.sum()),
        "shared_clusters": int((np.diff(ordered, axis=1) == 0).sum()),
        "both_extremes": int(((X[:, 0] > 0) & (X[:, -1] > 0)).sum()),
        "first_two": int(((X[:, 0] > 0) & (X[:, 1] > 0)).sum()),
        "gaining": int((positive > clusters).sum() + (negative > clusters).sum()),
        "losing": int((positive < clusters).sum() + (negative < clusters).sum()),
        "three_split_otherwise": int((three & ~as_stated.all(axis=1)).sum()),
        "three_tied": int((three & tied).sum()),
    }


def _enter(counts: dict[str, np.ndarray], measured: dict[str, int], place: tuple[int, int, int]) -> None:
    *which, t = place
    for name, value in measured.items():
        layer = t + 1 if name in ("gaining", "losing") else t
        if layer < counts[name].shape[-1]:
            counts[name][(*which, layer)] = value


def split_rows(settings: SplitRows, stream: Stream) -> xr.Dataset:
    """Rows of two and of three clusters followed through all their descendants, eqs. (36)-(40) and (61)-(62)."""
    splits = [(n, m) for n in settings.points for m in range(1, n)]
    squares = np.array([_squares_of_split(n, m, settings.layers) for n, m in splits])
    draws = [(n, d, up) for n in settings.points for d in range(settings.draws) for up in (1, 0)]
    parted = np.array(
        [_squares_from_three(n, stream.generator(n, d).uniform(), bool(up), settings.layers) for n, d, up in draws]
    )
    return dataset(
        {
            "square": variable(
                ("split", "end", "layer"),
                squares,
                "sum of squares of a point over all descendants of a two-cluster row",
            ),
            "parted_square": variable(
                ("row", "kept", "point", "layer"),
                parted,
                "sum of squares of a point over the two-cluster descendants of a three-cluster row",
            ),
            **_three_cluster_bounds(),
        },
        {
            "split": index("split", len(splits), "two-cluster row: zeros, then ones"),
            "split_points": variable("split", np.array([n for n, _ in splits]), "data points"),
            "split_zeros": variable("split", np.array([m for _, m in splits]), "points at zero"),
            "end": variable("end", np.array(["first", "last"]), "point 1, at zero, or point n, at one"),
            "row": index("row", len(draws), "three-cluster row 0, u, 1, ..., 1 or 1, u, 0, ..., 0"),
            "row_points": variable("row", np.array([n for n, _, _ in draws]), "data points"),
            "rising": variable("row", np.array([up for *_, up in draws]), "1 for 0, u, 1, ..., 1"),
            "kept": variable("kept", np.array(["1, n-1", "2, n-2"]), "composition of the descendants summed over"),
            "point": variable("point", np.array(["middle", "large cluster"]), "point 2 or point n"),
            "layer": variable("layer", np.arange(1, settings.layers + 1), "layers T after the row"),
            "bound_points": variable("bound_points", np.array([n for n, _ in BOUNDED]), "data points"),
            "bound_layers": variable("bound_points", np.array([T for _, T in BOUNDED]), "layers T after the row"),
        },
        title="Descendants of two- and three-cluster rows by enumeration",
    )


BOUNDED = tuple(product((4, 5, 10, 50, 200), (2, 5, 50, 500)))


def _three_cluster_bounds() -> dict[str, xr.Variable]:
    """(61) and (62) at c = 1 on a grid of n and T; wrong: 2 n - 3 for 2 n - 7 in (62)."""
    n = np.array([n for n, _ in BOUNDED])
    sums = np.array([three_cluster_sum(1.0, *place) for place in BOUNDED])
    bounds = np.array([three_cluster_bound(1.0, *place) for place in BOUNDED])
    words = "bound (62) on the squares of the (2, n-2) descendants"
    return {
        "eq_61": variable("bound_points", sums, "sum (61) over the squares of the (2, n-2) descendants"),
        "eq_62": variable("bound_points", bounds, words),
        "wrong_eq_62": variable("bound_points", bounds * (2 * n - 7) / (2 * n - 3), f"{words}, 2n - 3 for 2n - 7"),
    }


def _squares_of_split(n: int, zeros: int, layers: int) -> np.ndarray:
    """Sums of squares of points 1 and n, shape (2, layers)."""
    X = np.where(np.arange(n) < zeros, 0.0, 1.0)[None, :]
    squares = np.empty((2, layers))
    for layer in range(layers):
        X = simplified_layer(X)
        squares[:, layer] = (X[:, [0, -1]] ** 2).sum(axis=0)
    return squares


def _squares_from_three(n: int, middle: float, rising: bool, layers: int) -> np.ndarray:
    """Sums of squares by composition and point, shape (2, 2, layers)."""
    ends = (0.0, 1.0) if rising else (1.0, 0.0)
    X = np.array([[ends[0], middle] + [ends[1]] * (n - 2)])
    squares = np.empty((2, 2, layers))
    for layer in range(layers):
        X = simplified_layer(X)
        with_first, with_last = X[:, 0] == X[:, 1], X[:, 1] == X[:, -1]
        for kept, rows in enumerate((with_last & ~with_first, with_first & ~with_last)):
            squares[kept, :, layer] = (X[rows][:, [1, -1]] ** 2).sum(axis=0)
    return squares


def tree_example(settings: TreeExample) -> xr.Dataset:
    """Every row of the first layers of one small batch, parent before child (Figures 4, 7 and 8)."""
    rows = [np.array(settings.values)]
    for parent in range(2**settings.layers - 1):
        rows += list(integer_layer(rows[parent][None, :]))
    stacked, depths = np.array(rows), np.arange(settings.layers + 1)
    layer = np.repeat(depths, 2**depths)
    n = stacked.shape[1]
    scale = float(n) ** layer
    return dataset(
        {
            "value": variable(("node", "point"), stacked / scale[:, None], "entry of the row, eq. (10)"),
            "mean": variable("node", stacked.sum(axis=1) / (n * scale), "mean of the row over the batch"),
            "clusters": variable("node", _clusters(stacked), "clusters of the row, Definition 6"),
            "parent": variable("node", (np.arange(len(rows)) - 1) // 2, "node it comes from, -1 for the input"),
            "layer": variable("node", layer, "layer, 0 is the input"),
        },
        {
            "node": index("node", len(rows), "row; of two sisters the positive comes first"),
            "point": variable("point", np.arange(1, n + 1), "data point, in increasing order"),
        },
        title="The tree of positive and negative transformations of one batch",
    )


def narrow_gap(settings: NarrowGap) -> xr.Dataset:
    """Depth at which all rows are stable when two of five points are close: no bound in n alone (Theorem 10)."""
    tenth = Fraction(1, 10)
    batches: list[list[Fraction | float]] = [
        [0, 3 * tenth, 5 * tenth, 5 * tenth + tenth**decade, 1] for decade in settings.decades
    ]
    return dataset(
        {
            "stable_depth": variable(
                "decade",
                np.array([ClusterTree(x).stable_depth for x in batches]),
                "first layer with at most three clusters in every row",
            ),
            "depth_bound": variable(
                "decade", np.array([stable_depth_bound(x) for x in batches]), "bound on it by the smallest inner gap"
            ),
            "depth_bound_of_equal_gaps": variable(
                "decade", np.full(len(batches), stable_depth_bound(range(5))), "the bound for equal gaps"
            ),
        },
        {"decade": variable("decade", np.array(settings.decades), "-log10 of the gap of points 3 and 4")},
        title="Depth of stability of (0, 0.3, 0.5, 0.5 + gap, 1)",
    )


def interior_angles(settings: InteriorAngles, stream: Stream) -> xr.Dataset:
    """Angles of all pairs of points of one Gaussian batch through the layers (Theorem 11, item 2)."""
    layers = np.arange(1, settings.layers + 1, settings.every)
    tree = ClusterTree(stream.generator(settings.points).standard_normal(settings.points))
    angles = np.empty((layers.size, settings.points, settings.points))
    progress = Progress("interior_angles", layers.size)
    for place, layer in enumerate(layers):
        angles[place] = np.degrees(tree.step(int(layer) - tree.depth).angles())
        progress.step(place + 1)
    n, points = settings.points, np.arange(1, settings.points + 1)
    kept = [np.sqrt(split_rate(m, n) / split_rate(1, n)) for m in points[:-1].tolist()]
    return dataset(
        {
            "angle": variable(("layer", "first", "second"), angles, "angle between two data points", "degree"),
            "kept": variable("split", np.array(kept), "share of the angle kept per layer, sqrt(lambda_m / lambda_1)"),
        },
        {
            "layer": variable("layer", layers, "layer"),
            "first": variable("first", points, "data point, in increasing order"),
            "second": variable("second", points, "data point, in increasing order"),
            "split": variable("split", points[:-1], "m of the split between points m and m + 1"),
        },
        title="Angles between the points of one batch in the simplified model",
    )
