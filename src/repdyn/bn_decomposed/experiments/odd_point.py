"""Experiments on deep networks of Gaussian layers: the odd point, which point it is, and what the neurons respond to.

The finite widths are drawn exactly in law from the QR factor of the batch (`theory.layers.random_layer`), the
infinite one is the recursion G -> K(H G H) of the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import xarray as xr
from scipy.special import ndtr

from repdyn.base.checkpoints import Checkpoint, Trial, stacked
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import image_batch
from repdyn.bn_decomposed.settings.study import Activity, LargestNorm, OddPoint
from repdyn.bn_decomposed.theory import odd_cluster
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import propagate

SOURCES = ("images", "Gaussian")
LARGE = {"above_twentieth": 0.05, "above_tenth": 0.1, "above_fifth": 0.2}  # of the largest response
SHARES = {"active": 0.0, **LARGE, "above_half": 0.5}
WITH_RELU_ALONE: dict[str, Any] = {"recenter": True, "rescale": None, "relu": True}
WITHOUT_AND_WITH: dict[str, dict[str, Any]] = {
    "without": {"recenter": False, "rescale": "rms", "relu": True},
    "with": {"recenter": True, "rescale": "std", "relu": True},
}


def odd_point(settings: OddPoint, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Recentering and ReLU without rescaling on images and Gaussian points, layer by layer (Figure 3)."""
    shape = (len(SOURCES), len(settings.batches), settings.seeds)
    runs: list[Trial] = []
    progress = Progress("odd_point", int(np.prod(shape)))
    for source, n, seed in product(SOURCES, settings.batches, range(settings.seeds)):
        name = f"{source}, {n} points, seed {seed}"
        runs.append(
            checkpoint.get(name) or checkpoint.put(name, _deep_network(settings, source, n, seed, images, stream))
        )
        progress.step(len(runs))
    dims = ("source", "batch", "seed")
    variables = {
        name: variable((*dims, "layer"), stacked(runs, name, *shape), *words) for name, words in BY_LAYER.items()
    }
    variables |= {
        f"limit_{name}": variable(
            (*dims, "limit_layer"), stacked(runs, f"limit_{name}", *shape), f"{long_name}, infinite width", units
        )
        for name, (long_name, units) in IN_THE_LIMIT.items()
    }
    variables |= {name: variable(dims, stacked(runs, name, *shape), *words) for name, words in BY_NETWORK.items()}
    return dataset(
        variables | _fixed_points(settings.batches) | _shown([run for run in runs if "projection" in run]),
        {
            "source": variable("source", np.array(SOURCES), "what the batch is drawn from"),
            "batch": variable("batch", np.array(settings.batches), "data points in the batch"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "layer": variable("layer", np.array(settings.record), "layer"),
            "limit_layer": variable("limit_layer", np.array(settings.limit_record), "layer at infinite width"),
            "axis": index("axis", 2, "axis of the random projection"),
            "point": index("point", sum(settings.batches), "data point, batch by batch"),
            "pair": index("pair", sum(n * (n - 1) // 2 for n in settings.batches), "pair of points, batch by batch"),
            "width": variable((), settings.width, "neurons per layer"),
        },
        title="Deep networks with recentering and ReLU: a cluster and an odd point",
    )


IN_THE_LIMIT = {
    "second_to_first": ("second largest norm over the largest", "1"),
    "odd_angle": ("median angle between the point of largest norm and the others", "degree"),
    "intra_angle": ("median angle among the other points", "degree"),
}
BY_LAYER = IN_THE_LIMIT | {
    **{
        f"{name}_of_{whose}": (
            f"share of the longest point among responses above {part:g} of the {whose}'s largest",
            "1",
        )
        for whose in ("layer", "neuron")
        for name, part in LARGE.items()
    },
    "zeros_if_cluster_above": ("points at zero in neurons where W nu - mu > 0, mean", "1"),
    "zeros_if_cluster_below": ("points at zero in neurons where W nu - mu < 0, mean", "1"),
}
BY_NETWORK = {
    "fires_for_odd": ("share of the neurons of the last layer that are active for the longest point", "1"),
    "fires_for_odd_alone": ("share of these that are active for no other point", "1"),
    "other_to_odd": ("median over these of the largest other response over the longest point's", "1"),
    "cluster_active": ("mean share of the other points for which a neuron silent for the longest is active", "1"),
}


def _deep_network(settings: OddPoint, source: str, n: int, seed: int, images: xr.Dataset, stream: Stream) -> Trial:
    """What one network does to one batch, names of `BY_LAYER`, of `BY_NETWORK` and, at infinite width, `limit_...`."""
    X = _batch(source, n, settings.input_dim, images, stream.child(seed, n))
    depth, weights = settings.record[-1], stream.generator(source, seed, n, "weights")
    record = (*settings.record, depth - 1)
    *layers, before = propagate(X, settings.width, depth, weights, record=record, **WITH_RELU_ALONE)
    deep = [_geometry(layer) for layer in layers]
    limit = [_gram_geometry(G) for G in _limit(X, settings.limit_record)]
    measured = {name: [values[name] for values in deep] for name in BY_LAYER}
    measured |= {f"limit_{name}": [values[name] for values in limit] for name in IN_THE_LIMIT}
    trial = {name: np.array(values) for name, values in (measured | _responses(layers[-1])).items()}
    if (source, seed) == (SOURCES[0], 0):
        trial |= _last_layer(n, before, layers[-1], stream.generator(seed, n, "projection"))
    return trial


def _batch(source: str, n: int, input_dim: int, images: xr.Dataset, stream: Stream) -> np.ndarray:
    if source == "images":
        return image_batch(images, n, stream)
    return stream.generator("Gaussian batch").standard_normal((input_dim, n))


def _geometry(X: np.ndarray) -> dict[str, float]:
    """Names of `BY_LAYER` for one layer.

    The recentered entries of a neuron add up to zero, so W nu - mu is below zero where the longest point is positive.
    """
    squares = (X**2).sum(axis=0)
    odd = int(np.argmax(squares))
    zeros, above = (X == 0).sum(axis=1), X[:, odd] == 0
    largest = {"layer": X.max(), "neuron": X.max(axis=1, keepdims=True)}
    large = {f"{name}_of_{whose}": part * most < X for whose, most in largest.items() for name, part in LARGE.items()}
    return _scalars(np.sqrt(squares), np.degrees(pair_angles(X))) | {
        **{name: responses[:, odd].sum() / responses.sum() for name, responses in large.items()},
        "zeros_if_cluster_above": zeros[above].mean(),
        "zeros_if_cluster_below": zeros[~above].mean(),
    }


def _scalars(length: np.ndarray, angle: np.ndarray) -> dict[str, float]:
    """Names of `IN_THE_LIMIT` from the norms of the points and the angles of the pairs i < j."""
    i, j = np.triu_indices(length.size, 1)
    odd = int(np.argmax(length))
    with_odd = (i == odd) | (j == odd)
    second, first = np.sort(length)[-2:]
    return {
        "second_to_first": second / first,
        "odd_angle": np.median(angle[with_odd]),
        "intra_angle": np.median(angle[~with_odd]),
    }


def _limit(X: np.ndarray, record: tuple[int, ...]) -> list[np.ndarray]:
    """Gram matrices at infinite width after the recorded layers, each divided by its trace."""
    G = X.T @ X
    grams = []
    for layer in range(1, record[-1] + 1):
        G = expected_gram_step(G)
        G /= np.trace(G)
        if layer in record:
            grams.append(G)
    return grams


def _gram_geometry(G: np.ndarray) -> dict[str, float]:
    """Names of `IN_THE_LIMIT` from a Gram matrix; angles below 1e-6 degree are lost in round-off."""
    length = np.sqrt(np.diag(G))
    i, j = np.triu_indices(len(G), 1)
    return _scalars(length, np.degrees(np.arccos(np.clip(G[i, j] / (length[i] * length[j]), -1, 1))))


def _responses(X: np.ndarray) -> dict[str, float]:
    """Names of `BY_NETWORK`: what the neurons of a layer do for the longest point and for the others."""
    odd = int(np.argmax(np.linalg.norm(X, axis=0)))
    others = np.delete(X, odd, axis=1)
    fires = X[:, odd] > 0
    ratio = others[fires].max(axis=1) / X[fires, odd]
    return {
        "fires_for_odd": fires.mean(),
        "fires_for_odd_alone": (ratio == 0).mean(),
        "other_to_odd": np.median(ratio),
        "cluster_active": (others[~fires] > 0).mean(),
    }


def _last_layer(n: int, before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What Figure 3 draws for one batch: a random projection and the angles before and after the last layer."""
    odd = int(np.argmax(np.linalg.norm(after, axis=0)))
    i, j = np.triu_indices(n, 1)
    projected = rng.standard_normal((2, len(after))) @ after
    return {
        "projection": projected / np.linalg.norm(projected, axis=0).max(),
        "is_odd": np.arange(n) == odd,
        "point_batch": np.full(n, n),
        "before": np.degrees(pair_angles(before)),
        "after": np.degrees(pair_angles(after)),
        "with_odd": (i == odd) | (j == odd),
        "pair_batch": np.full(i.size, n),
    }


def _shown(runs: list[Trial]) -> dict[str, xr.Variable]:
    """What Figure 3 draws, names of `_last_layer`, batch by batch."""
    of_points, of_pairs = ("projection", "is_odd", "point_batch"), ("before", "after", "with_odd", "pair_batch")
    joined = {name: np.concatenate([run[name] for run in runs], axis=-1) for name in (*of_points, *of_pairs)}
    return {
        "projection": variable(
            ("axis", "point"), joined["projection"], "random projection of the last layer, the farthest at 1"
        ),
        "is_odd": variable("point", joined["is_odd"].astype(np.int8), "1 for the longest point of its batch"),
        "point_batch": variable("point", joined["point_batch"], "data points in the point's batch"),
        "before": variable("pair", joined["before"], "angle of a pair before the last layer", "degree"),
        "after": variable("pair", joined["after"], "angle of a pair after the last layer", "degree"),
        "with_odd": variable("pair", joined["with_odd"].astype(np.int8), "1 if the pair holds the longest point"),
        "pair_batch": variable("pair", joined["pair_batch"], "data points in the pair's batch"),
    }


def _fixed_points(batches: tuple[int, ...]) -> dict[str, xr.Variable]:
    points = [odd_cluster.odd_fixed_point(n) for n in batches]
    ratio = [np.nan if point is None else point.norm_ratio / (point.n - 1) for point in points]
    width = [np.nan if point is None else np.degrees(point.intra_angle) for point in points]
    leading = [np.degrees(odd_cluster.cluster_width(n)) for n in batches]
    variables = {
        "resting_ratio": variable("batch", ratio, "second over first norm at the fixed point of infinite width"),
        "resting_intra_angle": variable("batch", width, "cluster angle at the fixed point of infinite width", "degree"),
        "leading_width": variable("batch", leading, "its leading term 3 pi / n", "degree"),
    }
    for name in ("resting_ratio", "resting_intra_angle"):
        variables[name].attrs["missing"] = "no fixed point with an odd point at this batch size"
    return variables


def largest_norm(settings: LargestNorm, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Index of the point that ends as the odd one, of the longest input and of the one farthest from the mean."""
    kinds = _kinds(settings)
    finite: list[Trial] = []
    infinite: list[Trial] = []
    progress = Progress("largest_norm", settings.runs)
    for run in range(settings.runs):
        draw = partial(_kind_batches, settings, images, stream.child(run))
        for width in settings.widths:
            name, weights = f"width {width}, run {run}", partial(stream.generator, run, width, "weights")
            finite.append(
                checkpoint.get(name) or checkpoint.put(name, _odd_points(draw(), width, settings.depth, weights))
            )
        name = f"infinite width, run {run}"
        infinite.append(checkpoint.get(name) or checkpoint.put(name, _odd_limits(draw(), settings.limit_depth)))
        progress.step(run + 1)
    at_width = {name: stacked(finite, name, settings.runs, -1).transpose(2, 1, 0) for name in finite[0]}
    at_infinity = {name: stacked(infinite, name).T for name in infinite[0]}
    words = {
        "odd": "index of the point of largest norm in the last layer",
        "second_to_first": "second largest norm over the largest in the last layer",
        "limit_odd": "index of the odd point at infinite width",
        "limit_second_to_first": "second norm over first, infinite width",
        "longest": "index of the input of largest norm",
        "farthest": "index of the input farthest from the mean",
        "nearest": "index of the input nearest to the mean",
    }
    return dataset(
        {name: variable(("kind", "width", "run"), values, words[name]) for name, values in at_width.items()}
        | {name: variable(("kind", "run"), values, words[name]) for name, values in at_infinity.items()},
        {
            "kind": variable("kind", np.array(list(kinds)), "what the batch is drawn from"),
            "width": variable("width", np.array(settings.widths), "neurons per layer"),
            "run": index("run", settings.runs, "draw of batch and weights"),
            "point_count": variable((), settings.batch, "data points in the batch"),
            "depth": variable((), settings.depth, "layers at finite width"),
            "limit_depth": variable((), settings.limit_depth, "layers at infinite width"),
        },
        title="Which input becomes the odd point",
    )


def _kinds(settings: LargestNorm) -> dict[str, tuple[str, float, int]]:
    """Batches by name: source, length of the first point among unit vectors, dimension."""
    top = settings.dims[-1]
    return (
        {f"Gaussian, k = {k}": ("Gaussian", 0.0, k) for k in settings.dims}
        | {f"unit norms, one of {factor:g}": ("unit", factor, top) for factor in settings.factors}
        | {"images": ("images", 0.0, 0)}
    )


def _kind_batch(kind: tuple[str, float, int], n: int, images: xr.Dataset, stream: Stream) -> np.ndarray:
    source, factor, k = kind
    if source == "images":
        return image_batch(images, n, stream)
    X = stream.generator("Gaussian batch", k).standard_normal((k, n))
    if source == "unit":
        X /= np.linalg.norm(X, axis=0)
        X[:, 0] *= factor
    return X


def _kind_batches(settings: LargestNorm, images: xr.Dataset, stream: Stream) -> list[np.ndarray]:
    """A batch of every kind."""
    return [_kind_batch(kind, settings.batch, images, stream) for kind in _kinds(settings).values()]


def _odd_points(
    batches: list[np.ndarray], width: int, depth: int, weights: Callable[[], np.random.Generator]
) -> dict[str, np.ndarray]:
    """The odd point of every batch after networks of the same weights, and the second norm over its own."""
    layers = [propagate(X, width, depth, weights(), **WITH_RELU_ALONE) for X in batches]
    odd, ratio = zip(*(_odd_of((layer**2).sum(axis=0)) for layer in layers), strict=True)  # type: ignore[operator]  # no record
    return {"odd": np.array(odd, np.int16), "second_to_first": np.array(ratio)}


def _odd_limits(batches: list[np.ndarray], depth: int) -> dict[str, np.ndarray]:
    """The same at infinite width, and which point of every batch is the longest, the farthest from the mean, ..."""
    odd, ratio = zip(*(_odd_of(np.diag(_limit(X, (depth,))[0])) for X in batches), strict=True)
    distances = [((X - X.mean(axis=1, keepdims=True)) ** 2).sum(axis=0) for X in batches]
    return {
        "limit_odd": np.array(odd, np.int16),
        "limit_second_to_first": np.array(ratio),
        "longest": np.array([np.argmax((X**2).sum(axis=0)) for X in batches], np.int16),
        "farthest": np.array([np.argmax(distance) for distance in distances], np.int16),
        "nearest": np.array([np.argmin(distance) for distance in distances], np.int16),
    }


def _odd_of(squares: np.ndarray) -> tuple[int, float]:
    second, first = np.sort(squares)[-2:]
    return int(np.argmax(squares)), float(np.sqrt(second / first))


def activity(settings: Activity, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Share of the inputs to which each neuron of the last layer responds, without and with recentering (Figure 6)."""
    shape = (len(WITHOUT_AND_WITH), settings.seeds, settings.width)
    shares = {name: np.empty(shape) for name in SHARES}
    response = np.empty((shape[0], settings.batch))
    progress = Progress("activity", settings.seeds)
    for seed, (v, (name, components)) in product(range(settings.seeds), enumerate(WITHOUT_AND_WITH.items())):
        X = image_batch(images, settings.batch, stream.child(seed))
        weights = stream.generator(seed, "weights")
        X = cast("np.ndarray", propagate(X, settings.width, settings.depth, weights, **components))
        top = X.max(axis=1, keepdims=True)
        for share, fraction in SHARES.items():
            shares[share][v, seed] = ((fraction * top < X) & (X > 0)).mean(axis=1)
        if seed == 0:
            active = np.argsort(shares["active"][v, 0], kind="stable")  # ties: the same neuron on every CPU
            neuron = active[-1] if name == "without" else active[active.size // 2]
            response[v] = X[neuron] / X[neuron].max()
        progress.step(seed + 1)
    edges, expected, above = _expected_activity(settings.batch)
    dims = ("recentering", "seed", "neuron")
    return dataset(
        {
            name: variable(dims, shares[name], f"share of inputs with a response {words}")
            for name, words in {
                "active": "above zero",
                "above_twentieth": "above a twentieth of the neuron's largest",
                "above_tenth": "above a tenth of the neuron's largest",
                "above_fifth": "above a fifth of the neuron's largest",
                "above_half": "above half of the neuron's largest",
            }.items()
        }
        | {
            "response": variable(
                ("recentering", "point"),
                response,
                "response in units of its largest: the most active neuron; the median one",
            ),
            "expected": variable(("recentering", "bin"), expected, "expected share of neurons in the bin"),
            "expected_above_90": variable((), above, "expected share of neurons active on over 90 %, no recentering"),
        },
        {
            "recentering": variable("recentering", np.array(list(WITHOUT_AND_WITH)), "rescaling by RMS, or RC + RS"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "neuron": index("neuron", settings.width, "neuron of the last layer"),
            "point": index("point", settings.batch, "data point"),
            "bin": variable("bin", edges[:-1], "lower edge of a bin of the active share"),
            "depth": variable((), settings.depth, "layers"),
        },
        title="How many inputs a neuron responds to",
    )


def _expected_activity(n: int, bins: int = 50) -> tuple[np.ndarray, np.ndarray, float]:
    """Bins of the active share and the expected share of neurons in each, without and with recentering.

    Without recentering a neuron sees sqrt(c) g + sqrt(1-c) e_i at the fixed cosine c, with recentering equivalent
    points of sum zero, where the active share is close to normal about one half.
    """
    edges = np.linspace(0, 1, bins + 1)
    c = odd_cluster.rms_fixed_point(np.inf)
    tail = np.array([1, *(odd_cluster.active_fraction_tail(c, edge) for edge in edges[1:-1]), 0])
    about_half = np.diff(ndtr((edges - 0.5) / odd_cluster.active_fraction_deviation(n)))
    return edges, np.stack([-np.diff(tail), about_half]), odd_cluster.active_fraction_tail(c, 0.9)
