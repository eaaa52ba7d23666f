"""Limits of the simplified model, Theorem 11, for many batches: settings in, one dataset out.

Norms and angles of deep trees come from the Gram matrix, which holds every row; limits come from the two
amplitudes A and B of Appendices D and E. A batch is drawn by its number, so more batches change none before.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import SeveralCoordinates, TreeLimits
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree
from repdyn.bn_decomposed.theory.tree_formulas import angle_bound, ratio_bound, split_rate, stable_depth_bound

KINDS = ("symmetric", "outlier", "gaussian")
CASES = {
    "stable_depth": ("first layer with at most three clusters in every row", "1"),
    "depth_bound": ("bound on it by the smallest inner gap", "1"),
    "depth_bound_of_equal_gaps": ("the bound for as many points with equal gaps", "1"),
    "amplitude_ratio": ("B / A: rows with point n alone over rows with point 1 alone, in the limit", "1"),
    "ratio_first": ("norm of an interior point over that of point 1, limit", "1"),
    "ratio_last": ("norm of an interior point over that of point n, limit", "1"),
    "angle_first": ("angle of an interior point to point 1, limit", "degree"),
    "angle_last": ("angle of an interior point to point n, limit", "degree"),
    "extremes": ("smaller over larger norm of points 1 and n, limit", "1"),
    "odd_is_last": ("1 if point n has the larger norm in the limit, 0 if point 1", "1"),
    "farther_is_last": ("1 if point n is farther from the mean of the input, 0 if point 1", "1"),
    "longer_is_last": ("1 if point n has the larger modulus in the input, 0 if point 1", "1"),
}
DEEP = {
    "ratio_first": "norm over that of point 1",
    "ratio_last": "norm over that of point n",
    "cosine_first": "cosine of the angle to point 1",
    "cosine_last": "cosine of the angle to point n",
}


def tree_limits(settings: TreeLimits, stream: Stream) -> xr.Dataset:
    """Depth of stability, limits of norm ratios and angles, and the Gram matrix at great depth (Theorems 10, 11)."""
    places = [(n, b) for n, count in zip(settings.points, settings.batches, strict=True) for b in range(count)]
    values: dict[str, list[float]] = {name: [] for name in CASES}
    deep: list[dict[str, object]] = []
    sizes = np.arange(min(settings.points), max(settings.points) + 1)
    progress = Progress("tree_limits", len(places))
    for done, (n, b) in enumerate(places):
        x = _batch(n, b, stream)
        for name, value in _case(x).items():
            values[name].append(value)
        if b < settings.deep_batches:
            deep.append({"points": n, "kind": _kind(b)} | _deep(x, _layers(n, settings.decay)))
        progress.step(done + 1)
    return dataset(
        {name: variable("case", np.array(values[name]), *words) for name, words in CASES.items()}
        | _deep_variables(deep)
        | _bounds(sizes),
        {
            "case": index("case", len(places), "batch"),
            "points": variable("case", np.array([n for n, _ in places]), "data points in the batch"),
            "kind": variable("case", np.array([_kind(b) for _, b in places]), "how the batch was made"),
            "deep": index("deep", len(deep), "batch followed to great depth"),
            "deep_points": variable("deep", np.array([row["points"] for row in deep]), "data points in the batch"),
            "deep_kind": variable("deep", np.array([row["kind"] for row in deep]), "how the batch was made"),
            "end": variable("end", np.array(["least", "most"]), "over the interior points"),
            "bound_points": variable("bound_points", sizes, "data points in the batch, for the bounds"),
        },
        title="Limits of the simplified model over many batches",
    )


def _kind(batch: int) -> str:
    return KINDS[min(batch, 2)]


def _batch(n: int, batch: int, stream: Stream) -> np.ndarray:
    """Batch 0 is symmetric, batch 1 has one far point, the others are Gaussian; in increasing order."""
    if batch == 0:
        return 2.0 * np.arange(n) - (n - 1)
    if batch == 1:
        return np.append(np.arange(n - 1), 10.0 * n)
    return np.sort(stream.generator(n, batch).standard_normal(n))


def _case(x: np.ndarray) -> dict[str, float]:
    tree = ClusterTree(x)
    limit = tree.limit()
    return {
        "stable_depth": tree.stable_depth,
        "depth_bound": stable_depth_bound(x.tolist()),
        "depth_bound_of_equal_gaps": stable_depth_bound(range(len(x))),
        "amplitude_ratio": limit.B / limit.A,
        "ratio_first": limit.ratio_first,
        "ratio_last": limit.ratio_last,
        "angle_first": np.degrees(limit.angle_first),
        "angle_last": np.degrees(limit.angle_last),
        "extremes": limit.extremes,
        "odd_is_last": int(limit.odd == -1),
        "farther_is_last": int(x[-1] - x.mean() > x.mean() - x[0]),
        "longer_is_last": int(abs(x[-1]) > abs(x[0])),
    }


def _deep(x: np.ndarray, layers: int) -> dict[str, object]:
    """Amplitudes one layer before the last, and the interior points' geometry in the last."""
    tree = ClusterTree(x).step()
    early = _apart(tree)
    A, B = tree.step(layers - 2).amplitudes()
    G = tree.step().gram()
    square, inner = np.diag(G), slice(1, len(x) - 1)
    ranges = {
        "ratio_first": np.sqrt(square[inner] / square[0]),
        "ratio_last": np.sqrt(square[inner] / square[-1]),
        "cosine_first": G[inner, 0] / np.sqrt(square[inner] * square[0]),
        "cosine_last": G[inner, -1] / np.sqrt(square[inner] * square[-1]),
    }
    single = {"A": A, "B": B, "layers": layers, "apart": _apart(tree), "apart_early": early}
    return single | {name: (v.min(), v.max()) for name, v in ranges.items()}


def _apart(tree: ClusterTree) -> int:
    """Points at more than 45 degrees from point 2, an interior one."""
    return int((tree.angles()[1] > np.pi / 4).sum())


def _layers(n: int, decay: float) -> int:
    """Layers until the square of the second largest split, lambda_2^t, has lost e^decay against lambda_1^t."""
    return int(np.ceil(decay / np.log(split_rate(1, n) / split_rate(2, n))))


def _deep_variables(deep: list[dict[str, object]]) -> dict[str, xr.Variable]:
    variables = {
        f"deep_{name}": variable(("deep", "end"), np.array([row[name] for row in deep]), f"interior points: {words}")
        for name, words in DEEP.items()
    }
    for name, words in (
        ("A", "squared amplitude of the rows with point 1 alone, one layer before"),
        ("B", "squared amplitude of the rows with point n alone, one layer before"),
        ("layers", "depth of the Gram matrix"),
        ("apart", "points at more than 45 degrees from point 2"),
        ("apart_early", "points at more than 45 degrees from point 2 in the first layer"),
    ):
        variables[f"deep_{name}"] = variable("deep", np.array([row[name] for row in deep]), words)
    return variables


def _bounds(sizes: np.ndarray) -> dict[str, xr.Variable]:
    variables = {}
    for name, which, words in (("printed", "theorem", "as printed"), ("sharp", "sharp", "best possible")):
        ratio = np.array([ratio_bound(n, which) for n in sizes.tolist()])
        angle = np.degrees([angle_bound(n, which) for n in sizes.tolist()])
        variables[f"{name}_ratio"] = variable("bound_points", ratio, f"bound on the smaller ratio of norms, {words}")
        variables[f"{name}_angle"] = variable(
            "bound_points", angle, f"bound on the larger angle to an extreme, {words}", "degree"
        )
    return variables


def several_coordinates(settings: SeveralCoordinates, stream: Stream) -> xr.Dataset:
    """Theorem 11 in several coordinates, with and without two points that are extreme in all (Remark)."""
    n, layers = settings.points, _layers(settings.points, settings.decay)
    measured = np.empty((2, settings.draws, 4))
    progress = Progress("several_coordinates", settings.draws)
    for draw in range(settings.draws):
        X = np.sort(stream.generator(draw, "batch").standard_normal((settings.coordinates, n)), axis=1)
        order = stream.generator(draw, "order")
        for s, free in enumerate((slice(1, n - 1), slice(0, n))):
            mixed = X.copy()
            mixed[:, free] = order.permuted(X[:, free], axis=1)
            measured[s, draw] = _geometry_of_extremes(_gram(mixed, layers))
        progress.step(draw + 1)
    names = {
        "extremes_angle": ("angle between the first and the last point", "degree"),
        "interior_angle": ("largest angle between two other points", "degree"),
        "ratio": ("norm of another point over that of first or last, the smaller, at worst", "1"),
        "odd_angle": ("angle of another point to first or last, the larger, at worst", "degree"),
    }
    return dataset(
        {
            name: variable(("extremes", "draw"), measured[..., place], *words)
            for place, (name, words) in enumerate(names.items())
        },
        {
            "extremes": variable(
                "extremes", np.array(["shared", "free"]), "whether first and last are extreme in every coordinate"
            ),
            "draw": index("draw", settings.draws, "batch"),
            "points": variable((), n, "data points in the batch"),
            "coordinates": variable((), settings.coordinates, "input dimension"),
            "layers": variable((), layers, "depth"),
        },
        title="The simplified model with an input of several coordinates",
    )


def _gram(X: np.ndarray, layers: int) -> np.ndarray:
    """Gram matrix up to a common factor: the trees of the coordinates do not interact."""
    trees = [ClusterTree(x).step(layers) for x in X]
    largest = max(tree.log_scale for tree in trees)
    total = np.zeros((X.shape[1],) * 2)
    for tree in trees:
        total[np.ix_(tree.order, tree.order)] += tree.gram() * np.exp(2 * (tree.log_scale - largest))
    return total


def _geometry_of_extremes(G: np.ndarray) -> tuple[float, float, float, float]:
    norm = np.sqrt(np.diag(G))
    angle = np.degrees(np.arccos(np.clip(G / np.outer(norm, norm), -1, 1)))
    inner, ends = slice(1, len(G) - 1), [0, -1]
    ratio = norm[inner, None] / norm[ends]
    return angle[0, -1], angle[inner, inner].max(), ratio.max(axis=0).min(), angle[inner][:, ends].min(axis=0).max()
