"""Analyses of perceptrons trained on digits: structure (Figures 9, 18), pairs (Figure 4), Taylor terms (Figure 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.universality.methods import structure
from repdyn.universality.methods.perceptron import Perceptron, from_flat
from repdyn.universality.methods.representations import squared_distances, taylor_terms
from repdyn.universality.methods.structure import standardized
from repdyn.universality.settings.data_sets import RepresentationalStructure, TaylorRatios

INK = 255.0  # the authors' notebook takes raw pixels, 0 to 255
MAPS = ("encoder", "decoder")


def representational_structure(
    settings: RepresentationalStructure, stream: Stream, images: xr.Dataset, image_training: dict[str, xr.Dataset]
) -> xr.Dataset:
    """Distances of the first images' representations against (50), simpler predictions and other length scales."""
    raw, labels = INK * images["image"].values.reshape(images.sizes["point"], -1), images["label"].values
    first = image_training["sgd"].sizes["image"]
    order = np.argsort(labels[:first], kind="stable")
    shown = labels[:first][order]
    by_name, audit = _predictions(raw, labels, first)
    predicted = [by_name[name][np.ix_(order, order)] for name in structure.PREDICTIONS]
    scaled = _scaled(raw, labels, first, settings.length_scales)[:, order][:, :, order]
    measured = {run: _distances(data)[..., order, :][..., order] for run, data in image_training.items()}
    mean = {run: values[-1].mean(axis=0) for run, values in measured.items()}
    untrained = measured["sgd"][0].mean(axis=0)
    violations = [structure.triangle_violations(values) for values in predicted]
    accuracy = [data["accuracy"].values[-1] for data in image_training.values()]
    variables = {
        "measured": variable(
            ("run", "row", "column"), list(mean.values()), "squared distance after training, mean over networks"
        ),
        "predicted": variable(("prediction", "row", "column"), predicted, "prediction, own scale"),
        "triangle_violations": variable(
            "prediction", violations, "share of triangle inequalities that the predicted distances violate"
        ),
        "accuracy": variable(("run", "trial"), accuracy, "training accuracy at the end"),
    }
    variables |= _correlation_variables(predicted, scaled, measured, mean, untrained, shown) | audit
    variables |= _resampled_variables(predicted, mean, untrained, shown, settings, stream)
    for name, array in variables.items():
        if np.isnan(array.values).any():
            array.attrs["missing"] = (
                f"{name}: labels alone are constant between classes, so they correlate with nothing"
            )
    return dataset(
        variables,
        _structure_coords(settings, image_training["sgd"], list(mean), shown),
        title="Distances of digits' representations against predictions",
    )


def _correlation_variables(
    predicted: Sequence[NDArray],
    scaled: NDArray,
    measured: Mapping[str, NDArray],
    mean: Mapping[str, NDArray],
    untrained: NDArray,
    labels: NDArray,
) -> dict[str, xr.Variable]:
    """Correlations of single networks, of the mean over networks, during training, and by length scale."""
    last, of_mean = np.stack([values[-1] for values in measured.values()]), np.stack(list(mean.values()))
    return {
        "correlation": variable(
            ("run", "prediction", "part", "trial"),
            np.moveaxis(_correlations(predicted, last, labels), 1, -1),
            "correlation, one network",
        ),
        "correlation_by_look": variable(
            ("look", "prediction", "part", "trial"),
            np.moveaxis(_correlations(predicted, measured["sgd"], labels), 1, -1),
            "correlation during gradient descent, one network",
        ),
        "correlation_of_mean": variable(
            ("prediction", "run", "part"),
            np.moveaxis(_correlations(predicted, of_mean, labels), 0, 1),
            "correlation, mean over networks",
        ),
        "correlation_of_mean_untrained": variable(
            ("prediction", "part"),
            _correlations(predicted, untrained, labels),
            "correlation, mean over networks before training",
        ),
        "correlation_by_scale": variable(
            ("scale", "run", "part"),
            np.moveaxis(_correlations(scaled, of_mean, labels), 0, 1),
            "correlation of the normalized weighing, mean over networks",
        ),
    }


def _correlations(predicted: NDArray | Sequence[NDArray], measured: NDArray, labels: NDArray) -> NDArray:
    """Correlations of measured distances (..., image, image) with predictions, shape (..., prediction, part)."""
    places = np.ndindex(measured.shape[:-2])
    correlations = [structure.correlations(values, measured[place], labels) for place in places for values in predicted]
    return np.reshape(correlations, (*measured.shape[:-2], len(predicted), len(structure.PARTS)))


def _resampled_variables(
    predicted: Sequence[NDArray],
    mean: Mapping[str, NDArray],
    untrained: NDArray,
    labels: NDArray,
    settings: RepresentationalStructure,
    stream: Stream,
) -> dict[str, xr.Variable]:
    """Correlations of the mean over networks after training and before it, pairs of classes redrawn."""

    def redrawn(run: str, distances: NDArray) -> list[NDArray]:
        return [
            structure.resampled_correlations(
                values, distances, labels, settings.resamples, stream.generator("classes", run)
            )
            for values in predicted
        ]

    return {
        "resampled": variable(
            ("run", "prediction", "part", "resample"),
            [redrawn(run, distances) for run, distances in mean.items()],
            "correlation of the mean, pairs of classes redrawn",
        ),
        "resampled_untrained": variable(
            ("prediction", "part", "resample"),
            redrawn("sgd", untrained),
            "correlation of the mean before training, pairs of classes redrawn",
        ),
    }


def _distances(data: xr.Dataset) -> NDArray:
    """Squared distances of the stored representations, shape (look, trial, image, image)."""
    return np.array([[squared_distances(h) for h in look] for look in data["representation"].values])


def _predictions(raw: NDArray, labels: NDArray, first: int) -> tuple[dict[str, NDArray], dict[str, xr.Variable]]:
    """Predictions for the first images, and the check that (50) is a table of labels."""
    weighed = structure.weighed_by_all(raw, labels, first, [1.0], normalize=False)[0]
    sums, sizes = structure.class_sums(raw, labels)
    ours = labels[:first]
    table = sums[np.ix_(ours, ours)]
    predicted = {
        "weighed (50)": weighed,
        "class mean": (sums / np.outer(sizes, sizes))[np.ix_(ours, ours)],
        "pair alone": structure.low_weight_distances(raw, labels, slice(0, first))[:first],
        "labels alone": (ours[:, None] != ours[None]).astype(float),
    }
    scale = table.max()
    means = predicted["class mean"]
    audit = {
        "mean_table_error": variable(
            (), np.abs(weighed / scale - means / means.max()).max(), "largest (50) minus table of class means, relative"
        ),
        "table_error": variable((), np.abs(weighed - table).max() / scale, "largest (50) minus label table, relative"),
        "table_values": variable((), len(np.unique(np.round(table / scale, 12))), "different values in the table"),
        "least_exponent": variable((), structure.smallest_between(raw, labels), "least A between two classes"),
        "pair_spread": variable(
            (), _within_blocks(predicted["pair alone"], ours), "spread of A_low within pairs of classes, relative"
        ),
    }
    return predicted, audit


def _within_blocks(values: NDArray, labels: NDArray) -> float:
    """Mean over pairs of classes of the standard deviation of the block over its mean."""
    spreads = []
    for label in np.unique(labels):
        for other in np.unique(labels[labels > label]):
            block = values[np.ix_(labels == label, labels == other)]
            spreads.append(block.std() / block.mean())
    return float(np.mean(spreads))


def _scaled(raw: NDArray, labels: NDArray, first: int, scales: tuple[float, ...]) -> NDArray:
    """Normalized weighing at length scales in units of the mean prediction between different images."""
    near = structure.low_weight_distances(raw, labels, slice(0, first))
    unit = near.sum() / (near > 0).sum()
    return structure.weighed_by_all(raw, labels, first, [scale * unit for scale in scales], normalize=True)


def _structure_coords(
    settings: RepresentationalStructure, training: xr.Dataset, runs: list[str], shown: NDArray
) -> dict[str, xr.Variable]:
    return {
        "run": variable("run", np.array(runs), "optimizer"),
        "prediction": variable("prediction", np.array(structure.PREDICTIONS), "prediction"),
        "part": variable("part", np.array(structure.PARTS), "entries of the matrix"),
        "trial": index("trial", training.sizes["trial"], "draw of weights and order of the images"),
        "row": index("row", len(shown), "image, sorted by label"),
        "column": index("column", len(shown), "image, sorted by label"),
        "resample": index("resample", settings.resamples, "bootstrap draw"),
        "scale": variable("scale", np.array(settings.length_scales), "length scale over the mean prediction"),
        "look": variable("look", training["look"].values, "passes over the data in gradient descent", "epoch"),
        "label": variable("row", shown, "digit shown"),
        "point_count": variable((), int(training["point_count"]), "images in (50) and in the training"),
        "source": variable((), str(training["source"].values), "source of the images"),
    }


def taylor_ratios(
    settings: TaylorRatios, stream: Stream, images: xr.Dataset, image_training: dict[str, xr.Dataset]
) -> xr.Dataset:
    """First against second order of encoder and decoder around midpoints of random pairs, by distance."""
    points, data = standardized(images)[0], image_training["sgd"]
    shape = (data.sizes["pass"], data.sizes["network"], len(MAPS))
    ratio, distance = np.empty((*shape, settings.bins)), np.empty((*shape[:2], settings.bins))
    nonlinearity, halfway = str(data["nonlinearity"].values), int(data["hidden"]) // 2
    for network in range(shape[1]):
        chosen = _different(len(points), settings.pairs, stream.generator(network))
        for look in range(shape[0]):
            trained = from_flat(data["parameters"].values[look, network], data["size"].values.tolist(), nonlinearity)
            apart, terms = _terms(trained, halfway, *points[chosen.T])
            for place, chosen_bin in enumerate(np.array_split(np.argsort(apart), settings.bins)):
                distance[look, network, place] = apart[chosen_bin].mean()
                ratio[look, network, :, place] = np.median(terms[:, 0, chosen_bin] / terms[:, 1, chosen_bin], axis=1)
    progress = data["pass"].values * float(data["rate"] * data["steps"])
    return dataset(
        {
            "ratio": variable(
                ("look", "network", "map", "bin"), ratio, "median norm of the first over that of the second order"
            ),
            "distance": variable(("look", "network", "bin"), distance, "mean representational distance in the bin"),
        },
        {
            "look": variable("look", data["pass"].values, "passes over the data", "epoch"),
            "network": index("network", shape[1], "trial"),
            "map": variable("map", np.array(MAPS), "map around the midpoint of two images"),
            "bin": index("bin", settings.bins, "bin of equal count by representational distance"),
            "pairs": variable((), settings.pairs, "pairs per network"),
            "progress": variable("look", progress, "rate times steps"),
            "nonlinearity": variable((), nonlinearity, "nonlinearity"),
            "source": variable((), str(data["source"].values), "source of the images"),
        },
        title="First over second order of encoder and decoder by representational distance",
    )


def _different(count: int, pairs: int, generator: np.random.Generator) -> NDArray:
    """Random pairs of different points, shape (pairs, 2)."""
    first = generator.integers(0, count, pairs)
    return np.column_stack([first, (first + generator.integers(1, count, pairs)) % count])


def _terms(trained: Perceptron, hidden: int, a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Representational distances and the terms of both maps, shapes (pairs,) and (maps, 2, pairs)."""
    encoder, decoder = trained.split(hidden)
    inside = encoder(a), encoder(b)
    terms = [
        taylor_terms(network, network.derivative, *ends) for network, ends in ((encoder, (a, b)), (decoder, inside))
    ]
    return np.linalg.norm(inside[0] - inside[1], axis=1), np.maximum(np.array(terms), np.finfo(float).tiny)
