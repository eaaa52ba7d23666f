"""Limits of the simplified model, Theorem 11, for many batches: settings in, one dataset out.

Norms and angles of deep trees come from the Gram matrix, which holds every row; limits come from the two
amplitudes A and B of Appendices D and E. A batch is drawn by its number, so more batches change none before.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial, groups
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import SeveralCoordinates, SplitAmplitudes, TreeLimits
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree
from repdyn.bn_decomposed.theory.tree_formulas import (
    Bound,
    angle_bound,
    later_amplitude_ratios,
    parted_depth_bound,
    ratio_bound,
    split_rate,
    stable_depth_bound,
)

KINDS = ("symmetric", "outlier", "gaussian")
GROUP = 10  # batches that are kept together when they are finished
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


def tree_limits(settings: TreeLimits, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Depth of stability, limits of norm ratios and angles, and the Gram matrix at great depth (Theorems 10, 11)."""
    places = [(n, b) for n, count in zip(settings.points, settings.batches, strict=True) for b in range(count)]
    cases: list[Trial] = []
    progress = Progress("tree_limits", len(places))
    for n, count in zip(settings.points, settings.batches, strict=True):
        for group in groups(count, GROUP):
            name = f"{n} points, batches {group.start} to {group.stop - 1}"
            cases.append(checkpoint.get(name) or checkpoint.put(name, _cases(n, group, stream)))
            progress.step(sum(len(of_group["extremes"]) for of_group in cases))
    deep_places = [(n, b) for n, b in places if b < settings.deep_batches]
    deep: list[Trial] = []
    for n, b in deep_places:
        name = f"{n} points, batch {b}, deep"
        deep.append(
            checkpoint.get(name) or checkpoint.put(name, _deep(_batch(n, b, stream), _layers(n, settings.decay)))
        )
    sizes = np.arange(min(settings.points), max(settings.points) + 1)
    return dataset(
        {
            name: variable("case", np.concatenate([of_group[name] for of_group in cases]), *words)
            for name, words in CASES.items()
        }
        | _deep_variables(deep)
        | _bounds(sizes),
        {
            "case": index("case", len(places), "batch"),
            "points": variable("case", np.array([n for n, _ in places]), "data points in the batch"),
            "kind": variable("case", np.array([_kind(b) for _, b in places]), "how the batch was made"),
            "deep": index("deep", len(deep), "batch followed to great depth"),
            "deep_points": variable("deep", np.array([n for n, _ in deep_places]), "data points in the batch"),
            "deep_kind": variable("deep", np.array([_kind(b) for _, b in deep_places]), "how the batch was made"),
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


def _cases(n: int, batches: range, stream: Stream) -> Trial:
    """Names of `CASES` for batches of as many points, shape (batches,)."""
    rows = [_case(_batch(n, b, stream)) for b in batches]
    return {name: np.array([row[name] for row in rows]) for name in CASES}


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


def _deep(x: np.ndarray, layers: int) -> Trial:
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
    ends = {name: (values.min(), values.max()) for name, values in ranges.items()}
    return {name: np.array(value) for name, value in (single | ends).items()}


def _apart(tree: ClusterTree) -> int:
    """Points at more than 45 degrees from point 2, an interior one."""
    return int((tree.angles()[1] > np.pi / 4).sum())


def _layers(n: int, decay: float) -> int:
    """Layers until the square of the second largest split, lambda_2^t, has lost e^decay against lambda_1^t."""
    return int(np.ceil(decay / np.log(split_rate(1, n) / split_rate(2, n))))


def _deep_variables(deep: list[Trial]) -> dict[str, xr.Variable]:
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


FORMS: tuple[tuple[str, Bound, str], ...] = (("printed", "theorem", "as printed"), ("sharp", "sharp", "best possible"))


def _bounds(sizes: np.ndarray) -> dict[str, xr.Variable]:
    variables = {}
    for name, which, words in FORMS:
        ratio = np.array([ratio_bound(n, which) for n in sizes.tolist()])
        angle = np.degrees([angle_bound(n, which) for n in sizes.tolist()])
        variables[f"{name}_ratio"] = variable("bound_points", ratio, f"bound on the smaller ratio of norms, {words}")
        variables[f"{name}_angle"] = variable(
            "bound_points", angle, f"bound on the larger angle to an extreme, {words}", "degree"
        )
    return variables


SIDES = {"A": 0, "B": -1, "C": 1, "D": -2}  # places among the n - 1 splits
SHARES_OF_DEPTH = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)
DEFINITIONS = {"(2, n-2)": 1.0, "(1, 1, n-2)": 0.0}  # whether C and D are rows of a split of their own
PARTED = {
    "first_layer": "first layer in which a row parts the point from all others",
    "first_layer_bound": "bound on it by the point's gap to the next one",
    "first_layer_bound_of_largest_gap": "the bound with the largest gap of the batch for the point's own",
}
RATIOS = {
    "ratio": "(A + C) / (B + D)",
    "lowest": "lower end of the interval that holds this ratio in every later layer",
    "highest": "upper end of the interval that holds this ratio in every later layer",
    "lowest_unfed": "lower end of the interval without what three-cluster rows feed",
    "highest_unfed": "upper end of the interval without what three-cluster rows feed",
    "ratio_without_B": "(A + C) over the rows (n-2, 2) alone",
}


def split_amplitudes(settings: SplitAmplitudes, stream: Stream) -> xr.Dataset:
    """Squares of the rows by split: when each is positive, and (A + C)/(B + D) with depth (Appendix E)."""
    places = [(n, b) for n in settings.points for b in range(settings.batches)]
    rows: list[dict[str, np.ndarray]] = []
    progress = Progress("split_amplitudes", len(places))
    for done, (n, b) in enumerate(places):
        x = _batch(n, b, stream)
        rows.append(_shares(x, settings.enumerated) | _parted(x) | _ratios(x, settings.decay))
        progress.step(done + 1)
    values = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    by_side = {
        "enumerated": f"share in the squares of all two-cluster rows of layer {settings.enumerated}, by enumeration",
        "by_algorithm": "the same share from the exact algorithm",
        "by_other_end": "the share of the split as far from the other end, from the exact algorithm",
        "zero_layers": "layers from t_0 on in which no row has this split",
    }
    dims = ("case", "definition", "step")
    return dataset(
        {name: variable(("case", "side"), values[name], words) for name, words in by_side.items()}
        | {name: variable(("case", "extreme"), values[name], words) for name, words in PARTED.items()}
        | {name: variable(dims, values[name], words) for name, words in RATIOS.items()}
        | {
            "interior_angle": variable("case", values["interior_angle"], "largest interior angle, last step", "degree"),
            "interior_angle_early": variable(
                "case", values["interior_angle_early"], "largest interior angle, first step", "degree"
            ),
        },
        {
            "case": index("case", len(places), "batch"),
            "points": variable("case", np.array([n for n, _ in places]), "data points in the batch"),
            "kind": variable("case", np.array([_kind(b) for _, b in places]), "how the batch was made"),
            "side": variable("side", np.array(list(SIDES)), "split: 1, n, (1, 2) or (n-1, n) against the rest"),
            "extreme": variable("extreme", np.array(["first", "last"]), "smallest or largest point"),
            "definition": variable("definition", np.array(list(DEFINITIONS)), "rows counted in C and D"),
            "step": index("step", len(SHARES_OF_DEPTH), "layer, from the first on with A, B, C and D positive"),
            "layer": variable(("case", "step"), values["layer"], "layer of the step"),
        },
        title="Squares of the rows of the simplified model by split",
    )


def _shares(x: np.ndarray, layer: int) -> dict[str, np.ndarray]:
    """Shares of A, B, C and D among the squares of all two-cluster rows of one layer; all 0 where there is none."""
    n, places = len(x), list(SIDES.values())
    X = enumerate_tree(x, layer)
    X = (X / max(X.max(), 1)).astype(float)
    largest, lower = X.max(axis=1, keepdims=True), (X > 0).sum(axis=1)
    split = np.where(X[:, 0] > 0, lower, n - lower)
    two = ((X == 0) | (largest == X)).all(axis=1) & (lower > 0) & (lower < n)
    counted = np.bincount(split[two] - 1, weights=largest[two, 0] ** 2, minlength=n - 1)
    exact = ClusterTree(x).step(layer).split_squares()
    shares = [squares / squares.sum() if squares.any() else squares for squares in (counted, exact)]
    return {"enumerated": shares[0][places], "by_algorithm": shares[1][places], "by_other_end": shares[1][::-1][places]}


def _parted(x: np.ndarray) -> dict[str, np.ndarray]:
    """Names of `PARTED` for the smallest and the largest point."""
    n, gaps, mean = len(x), np.diff(x), float(np.maximum(x - x.mean(), 0).mean())
    tree, first = ClusterTree(x), np.zeros(2, int)
    while not first.all():
        tree.step()
        first = np.where((first == 0) & (np.array(tree.amplitudes()) > 0), tree.depth, first)
    return {
        "first_layer": first,
        "first_layer_bound": np.array([parted_depth_bound(gap, mean, n) for gap in gaps[[0, -1]].tolist()]),
        "first_layer_bound_of_largest_gap": np.full(2, parted_depth_bound(float(gaps.max()), mean, n)),
    }


def _ratios(x: np.ndarray, decay: float) -> dict[str, np.ndarray]:
    """When A, B, C and D become positive, and the names of `RATIOS` from the first layer on in which all are."""
    n, places = len(x), list(SIDES.values())
    tree = ClusterTree(x)
    tree.step(max(tree.stable_depth, 1))
    zero_layers = np.zeros(len(places), int)
    while not tree.split_squares()[places].all():
        zero_layers += tree.split_squares()[places] == 0
        tree.step()
    first, layers, early = tree.depth, _layers(n, decay), _interior_angle(tree)
    wanted = [first + round(share * layers) for share in SHARES_OF_DEPTH]
    values = np.empty((len(RATIOS), len(DEFINITIONS), len(wanted)))
    for step, layer in enumerate(wanted):
        tree.step(layer - tree.depth)
        A, B, *C_and_D = tree.split_squares()[places]
        for d, counted in enumerate(DEFINITIONS.values()):
            C, D = (counted * square for square in C_and_D)
            fed, unfed = (later_amplitude_ratios(A, B, C, D, wide, n) for wide in (tree.wide_square(), 0.0))
            values[:, d, step] = (A + C) / (B + D), *fed, *unfed, (A + C) / C_and_D[1]
    return dict(zip(RATIOS, values, strict=True)) | {  # type: ignore[return-value]  # arrays
        "zero_layers": zero_layers,
        "layer": np.array(wanted),
        "interior_angle": _interior_angle(tree),
        "interior_angle_early": early,
    }


def _interior_angle(tree: ClusterTree) -> float:
    """Largest angle between two points other than the extremes, degree."""
    return float(np.degrees(tree.angles()[1:-1, 1:-1].max()))


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
