"""Experiments on the geometry of batches in deep random networks: settings in, one dataset out.

Layers are drawn exactly in law from the QR factor of the batch (`theory.layers.random_layer`). Configurations that
are compared with each other share batch and weights: their name is no part of the random stream's key.
"""

from __future__ import annotations

from itertools import product
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.ranks import RANK_TOLERANCE
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import Ablation, FixedPoint, LayerAngles, OrthogonalityGap, RecenteringDepth
from repdyn.bn_decomposed.theory import geometry as measures
from repdyn.bn_decomposed.theory import odd_cluster
from repdyn.bn_decomposed.theory.geometry import geometry, pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import Rescale, bn_components, propagate

RESCALES: tuple[Rescale, ...] = (None, "std", "rms")
MOST_LAYERS = 50_000  # of the iteration to a fixed point
NORMALIZATIONS: dict[str, tuple[bool, Rescale]] = {"rms": (False, "rms"), "std": (False, "std"), "full": (True, "std")}
UNTYPICAL = {  # name: response over the neuron's largest, share of the inputs above it
    "active on 90 percent": (0.0, 0.9),
    "active on 75 percent": (0.0, 0.75),
    "above a tenth on half": (0.1, 0.5),
    "above a tenth on two thirds": (0.1, 2 / 3),
}
SCALARS = {
    "odd_angle": ("median angle between the point of largest norm and the others", "degree"),
    "intra_angle": ("median angle among the other points", "degree"),
    "second_to_first": ("second largest norm over the largest", "1"),
    "numerical_rank": (f"singular values above {RANK_TOLERANCE:g} of the largest", "1"),
    "stable_rank": ("squared Frobenius over squared spectral norm", "1"),
    "effective_rank": ("exponential of the entropy of the normalized singular values", "1"),
    "orthogonality_gap": ("Frobenius distance of the normalized Gram matrix from I/n", "1"),
}
RESTS = {
    "odd_intra_angle": ("cluster angle beside an odd point, reduced map", "degree"),
    "odd_angle": ("angle of the odd point to the cluster, reduced map", "degree"),
    "odd_norm_ratio": ("(n-1) times cluster norm over odd norm, reduced map", "1"),
    "simplex_angle": ("angle of n equivalent points with recentering, arccos kappa(-1/(n-1))", "degree"),
    "rms_angle": ("angle of n equivalent points with rescaling by RMS alone", "degree"),
    "iterated_intra_angle": ("angle between points 2 and 3 after iterating the n x n map from an odd start", "degree"),
    "iterated_odd_angle": ("angle between points 1 and 2 after iterating the n x n map from an odd start", "degree"),
    "iterated_norm_ratio": ("(n-1) times cluster norm over odd norm after iterating the n x n map", "1"),
    "odd_multiplier": ("derivative of the reduced map in the cosine at the odd fixed point", "1"),
    "simplex_multiplier": ("derivative of the reduced map in the cosine at the simplex", "1"),
}


def ablation(settings: Ablation, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """All combinations of recentering, rescaling and ReLU on batches of images, layer by layer (Figure 1)."""
    runs: list[Trial] = []
    progress = Progress("ablation", settings.seeds)
    for seed in range(settings.seeds):
        name = f"seed {seed}"
        runs.append(checkpoint.get(name) or checkpoint.put(name, _combinations(settings, images, stream.child(seed))))
        progress.step(len(runs))
    of_seeds = {name: np.stack([run[name] for run in runs], axis=3) for name in runs[0]}
    return _ablation_dataset(settings, of_seeds)


def _combinations(settings: Ablation, images: xr.Dataset, stream: Stream) -> Trial:
    """Geometry of one batch in networks with every combination, shapes (recenter, rescale, relu, layer, ...)."""
    shape = (2, len(RESCALES), 2, len(settings.record))
    X = image_batch(images, settings.batch, stream)
    first, second = np.triu_indices(settings.batch, 1)
    angles = np.empty((*shape, first.size))
    with_odd = np.empty(angles.shape, np.int8)
    scalars = {name: np.empty(shape) for name in SCALARS}
    for (r, recenter), (s, rescale), (a, relu) in product(
        enumerate((False, True)), enumerate(RESCALES), enumerate((False, True))
    ):
        layers = propagate(
            X,
            settings.width,
            settings.depth,
            stream.generator("weights"),
            recenter=recenter,
            rescale=rescale,
            relu=relu,
            record=settings.record,
        )
        for t, layer in enumerate(layers):
            measured = geometry(layer)
            angles[r, s, a, t] = np.degrees(measured.angles)
            with_odd[r, s, a, t] = (first == measured.odd_index) | (second == measured.odd_index)
            for name, (_, units) in SCALARS.items():
                value = getattr(measured, name)
                scalars[name][r, s, a, t] = np.degrees(value) if units == "degree" else value
    return scalars | {"angle": angles, "with_odd": with_odd}


def _ablation_dataset(settings: Ablation, of_seeds: dict[str, np.ndarray]) -> xr.Dataset:
    dims = ("recenter", "rescale", "relu", "seed", "layer")
    return dataset(
        {
            "angle": variable((*dims, "pair"), of_seeds["angle"], "angle between two data points", "degree"),
            "with_odd": variable(
                (*dims, "pair"), of_seeds["with_odd"], "1 if the pair holds the point of largest norm"
            ),
        }
        | {name: variable(dims, of_seeds[name], long_name, units) for name, (long_name, units) in SCALARS.items()},
        {
            "recenter": variable("recenter", np.array([0, 1]), "recentering: 0 off, 1 on"),
            "rescale": variable("rescale", np.array([name or "none" for name in RESCALES]), "rescaling of each neuron"),
            "relu": variable("relu", np.array([0, 1]), "ReLU: 0 off, 1 on"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "layer": variable("layer", np.array(settings.record), "layer, 0 is the input"),
            "pair": index("pair", of_seeds["angle"].shape[-1], "pair of data points"),
            "point_count": variable((), settings.batch, "data points in the batch"),
            "width": variable((), settings.width, "neurons per layer"),
        },
        title="Geometry of image batches in random networks, each component of batch normalization on and off",
    )


def recentering_depth(settings: RecenteringDepth, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Recentering in all layers against the first alone, same weights, linear and with ReLU (Section II)."""
    stream = stream.of("recentring_depth")  # the name that recorded networks were drawn under
    difference = np.empty((2, settings.seeds, settings.depth))
    for (a, relu), seed in product(enumerate((False, True)), range(settings.seeds)):
        rng = stream.generator(seed, "weights")
        everywhere = first = image_batch(images, settings.batch, stream.child(seed))
        for layer in range(settings.depth):
            W = rng.standard_normal((settings.width, first.shape[0])) * np.sqrt(2 / first.shape[0])
            everywhere = bn_components(everywhere, W, True, None, relu)
            first = bn_components(first, W, layer == 0, None, relu)
            difference[a, seed, layer] = np.linalg.norm(everywhere - first) / np.linalg.norm(first)
    return dataset(
        {
            "difference": variable(
                ("relu", "seed", "layer"), difference, "relative difference of the two representations"
            )
        },
        {
            "relu": variable("relu", np.array([0, 1]), "ReLU: 0 off, 1 on"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "layer": variable("layer", np.arange(1, settings.depth + 1), "layer"),
            "width": variable((), settings.width, "neurons per layer"),
        },
        title="Recentering in every layer against recentering in the first layer alone",
    )


def orthogonality_gap(settings: OrthogonalityGap, stream: Stream) -> xr.Dataset:
    """Linear networks with rescaling alone: distance from orthonormality with depth and width (related work)."""
    layers = np.arange(settings.depth + 1)
    gap = np.empty((2, len(settings.widths), settings.seeds, layers.size))
    for (s, rescale), (w, width), seed in product(
        enumerate(RESCALES[:0:-1]), enumerate(settings.widths), range(settings.seeds)
    ):
        X = stream.generator(seed, "batch").standard_normal((settings.input_dim, settings.batch))
        weights = stream.generator(seed, width, "weights")
        gap[s, w, seed] = _gaps_with_depth(X, width, settings.depth, weights, rescale)
    return dataset(
        {
            "gap": variable(
                ("rescale", "width", "seed", "layer"), gap, "Frobenius distance of the normalized Gram matrix from I/n"
            )
        },
        {
            "rescale": variable("rescale", np.array(["rms", "std"]), "rescaling of each neuron, without recentering"),
            "width": variable("width", np.array(settings.widths), "neurons per layer"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "layer": variable("layer", layers, "layer, 0 is the input"),
            "point_count": variable((), settings.batch, "data points in the batch"),
        },
        title="Orthogonality gap of linear networks with rescaling alone",
    )


def _gaps_with_depth(X: np.ndarray, width: int, depth: int, rng: np.random.Generator, rescale: Rescale) -> np.ndarray:
    """Orthogonality gap at layers 0..depth; a batch within 1e-9 of a single direction has collapsed and stays so."""
    collapsed = np.sqrt(1 - 1 / X.shape[1])
    gaps = np.full(depth + 1, measures.orthogonality_gap(X))
    for layer in range(1, depth + 1):
        if collapsed - gaps[layer - 1] < 1e-9:
            gaps[layer:] = gaps[layer - 1]
            break
        X = cast("np.ndarray", propagate(X, width, 1, rng, recenter=False, rescale=rescale, relu=False))
        gaps[layer] = measures.orthogonality_gap(X)
    return gaps


def layer_angles(settings: LayerAngles, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Angles of all pairs before and after the last layer, with and without recentering (Figure 5)."""
    pairs = [n * (n - 1) // 2 for n in settings.batches]
    shape = (len(NORMALIZATIONS), settings.seeds)
    angles = {which: [np.empty((*shape, count)) for count in pairs] for which in ("before", "after")}
    left_out = np.empty((3, len(UNTYPICAL), len(pairs), settings.seeds))
    untypical_share = np.empty(left_out.shape[1:])
    progress = Progress("layer_angles", settings.seeds)
    for seed in range(settings.seeds):
        for b, n in enumerate(settings.batches):
            name = f"seed {seed}, {n} points"
            trial = checkpoint.get(name) or checkpoint.put(name, _last_layers(settings, images, n, seed, stream))
            for which, of_batches in angles.items():
                of_batches[b][:, seed] = trial[which]
            left_out[..., b, seed], untypical_share[:, b, seed] = trial["left_out"], trial["untypical_share"]
        progress.step(seed + 1)
    mean = np.stack([angle.mean(axis=-1) for angle in angles["after"]], axis=1)
    before, after = (np.concatenate(parts, axis=-1) for parts in angles.values())
    dims = ("normalization", "seed", "pair")
    return dataset(
        {
            "before": variable(dims, before, f"angle of a pair after layer {settings.depth - 1}", "degree"),
            "after": variable(dims, after, f"angle of a pair after layer {settings.depth}", "degree"),
            "mean_angle": variable(
                ("normalization", "batch", "seed"), mean, "mean angle over the pairs of a batch", "degree"
            ),
            **_untypical_variables(left_out, untypical_share),
        },
        {
            "normalization": variable(
                "normalization", np.array(list(NORMALIZATIONS)), "rms, std: rescaling without recentering; full: both"
            ),
            "batch": variable("batch", np.array(settings.batches), "data points in the batch"),
            "seed": index("seed", settings.seeds, "draw of batch and weights"),
            "left_out": variable("left_out", np.array(["none", "untypical", "random"]), "neurons left out"),
            "untypical": variable("untypical", np.array(list(UNTYPICAL)), "which neurons have an untypical histogram"),
            "pair": index("pair", sum(pairs), "pair of data points, batch by batch"),
            "pair_batch": variable("pair", np.repeat(settings.batches, pairs), "data points in the pair's batch"),
            "width": variable((), settings.width, "neurons per layer"),
            "depth": variable((), settings.depth, "layers"),
        },
        title="Angles between data points before and after the last layer",
    )


def _last_layers(settings: LayerAngles, images: xr.Dataset, n: int, seed: int, stream: Stream) -> Trial:
    """Angles of pairs before and after the last layer, shape (normalizations, pairs), and without some neurons."""
    X = image_batch(images, n, stream.child(seed, n))
    both = {}
    for normalization, (recenter, rescale) in NORMALIZATIONS.items():
        both[normalization] = propagate(
            X,
            settings.width,
            settings.depth,
            stream.generator(seed, n, "weights"),
            recenter=recenter,
            rescale=rescale,
            relu=True,
            record=(settings.depth - 1, settings.depth),
        )
    before, after = (np.degrees([pair_angles(layers[k]) for layers in both.values()]) for k in range(2))
    left_out, share = _without_untypical(both["rms"][1], stream.generator(seed, n, "neurons left out"))
    return {"before": before, "after": after, "left_out": left_out, "untypical_share": share}


def _untypical_variables(left_out: np.ndarray, share: np.ndarray) -> dict[str, xr.Variable]:
    """Mean angles without some neurons, and how many of them are untypical; with rescaling by rms."""
    dims, words = ("untypical", "batch", "seed"), "mean angle without some neurons, rms"
    angle = variable(("left_out", *dims), left_out, words, "degree")
    angle.attrs["missing"] = "no neuron that is left responds to some point"
    return {
        "angle_without": angle,
        "untypical_share": variable(dims, share, "share of the neurons with an untypical histogram, rms"),
    }


def _without_untypical(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mean angles of a layer: all neurons, without the untypical ones, without as many at random; their share.

    Returns:
        Angles in degrees, shape (3, definitions of untypical), NaN where no neuron that is left responds to some point,
        and shares, shape (definitions,).
    """
    angles, shares = np.empty((3, len(UNTYPICAL))), np.empty(len(UNTYPICAL))
    order = rng.permutation(len(X))
    for place, (response, inputs) in enumerate(UNTYPICAL.values()):
        typical = (response * X.max(axis=1, keepdims=True) < X).mean(axis=1) <= inputs
        for row, kept in enumerate((order >= 0, typical, order < typical.sum())):
            silent = not X[kept].any(axis=0).all()
            angles[row, place] = np.nan if silent else np.degrees(pair_angles(X[kept]).mean())
        shares[place] = 1 - typical.mean()
    return angles, shares


def fixed_point(settings: FixedPoint) -> xr.Dataset:
    """Where the expected Gram matrix comes to rest, by formula and by iterating the n x n map (Figure 5, F1)."""
    rests = {name: np.full(len(settings.batches), np.nan) for name in RESTS}
    progress = Progress("fixed_point", len(settings.batches))
    for b, n in enumerate(settings.batches):
        if (odd := odd_cluster.odd_fixed_point(n)) is not None:
            rests["odd_intra_angle"][b], rests["odd_angle"][b] = np.degrees((odd.intra_angle, odd.odd_angle))
            rests["odd_norm_ratio"][b], rests["odd_multiplier"][b] = odd.norm_ratio, odd.multiplier
        rests["simplex_multiplier"][b] = abs(odd_cluster.odd_map_multiplier(np.arccos(-1 / (n - 1)), n))
        rests["simplex_angle"][b] = np.degrees(odd_cluster.simplex_angle(n))
        rests["rms_angle"][b] = np.degrees(np.arccos(odd_cluster.rms_fixed_point(n)))
        G = _iterate(_definition_12(n, spread=0.5 * odd_cluster.cluster_width(n)))
        rests["iterated_intra_angle"][b] = np.degrees(np.arccos(G[1, 2] / G[1, 1]))
        rests["iterated_odd_angle"][b] = np.degrees(np.arccos(G[0, 1] / np.sqrt(G[0, 0] * G[1, 1])))
        rests["iterated_norm_ratio"][b] = (n - 1) * np.sqrt(G[1, 1] / G[0, 0])
        progress.step(b + 1)
    variables = {name: variable("batch", rests[name], *RESTS[name]) for name in RESTS}
    for name in ("odd_intra_angle", "odd_angle", "odd_norm_ratio", "odd_multiplier"):
        variables[name].attrs["missing"] = "no fixed point with an odd point at this batch size"
    return dataset(
        variables,
        {"batch": variable("batch", np.array(settings.batches), "data points in the batch")},
        title="Fixed points of the expected Gram matrix at infinite width",
    )


def _definition_12(n: int, spread: float) -> np.ndarray:
    """Gram matrix of Definition 12 with a cluster of angular width `spread`: an odd point of norm 1, orthogonal to
    n - 1 points of norm 1/(n-1).
    """
    G = np.full((n, n), np.cos(spread) / (n - 1) ** 2)
    np.fill_diagonal(G, 1 / (n - 1) ** 2)
    G[0, :] = G[:, 0] = 0.0
    G[0, 0] = 1.0
    return G


def _iterate(G: np.ndarray) -> np.ndarray:
    """Applies recentering + ReLU at infinite width until the normalized Gram matrix changes by less than 1e-13."""
    for _ in range(MOST_LAYERS):
        following = expected_gram_step(G)
        following /= np.trace(following)
        if np.abs(following - G).max() < 1e-13:
            return following
        G = following
    raise RuntimeError(f"the Gram matrix of {len(G)} points still moves after {MOST_LAYERS} layers")


def image_batch(images: xr.Dataset, size: int, stream: Stream) -> np.ndarray:
    """A batch of distinct images as columns, shape (pixels, size), drawn from the stream's branch "batch".

    Raises:
        ValueError: the source holds fewer images than the batch wants.
    """
    if size > images.sizes["point"]:
        raise ValueError(f"a batch of {size} was asked for, but the image source holds {images.sizes['point']} images")
    chosen = np.sort(stream.generator("batch").choice(images.sizes["point"], size, replace=False))
    return images["image"].values[chosen].reshape(size, -1).T
