"""Distances between representations of digits against predictions: equation (50) and simpler ones; numpy alone.

The prediction of the theory for a pair is A_low = sqrt(rho) ||x_i - x_j|| ||y_i - y_j||, equation (11), with rho = 1:
zero within a class. Equation (50) weighs it with all points of the data set. Correlations do not see the scale rho.

Paper: van Rossem & Saxe (2024), Section 4.6, Appendix B.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from repdyn.universality.methods.representations import Array, pearson, squared_distances

ROUNDED = 1e-9  # relative excess of a side that counts as a violation
CHUNK = 2000  # points per block of columns, 160 MB at 10 000 points
TARGETS_APART = np.sqrt(2.0)  # distance of two one-hot targets
PREDICTIONS = ("weighed (50)", "class mean", "pair alone", "labels alone")
PARTS = ("all entries", "between classes")


def standardized(images: xr.Dataset) -> tuple[NDArray, NDArray]:
    """Images as rows with overall mean 0 and variance 1, shape (points, pixels), and their labels."""
    flat = images["image"].values.reshape(images.sizes["point"], -1)
    return (flat - flat.mean()) / flat.std(), images["label"].values.astype(np.int64)


def low_weight_distances(x: ArrayLike, labels: ArrayLike, columns: slice = slice(None)) -> Array:
    """A_low of equation (11) at rho = 1 for one-hot targets, shape (points, columns)."""
    x, labels = np.asarray(x, float), np.asarray(labels)
    apart = labels[:, None] != labels[None, columns]
    return np.sqrt(squared_distances(x, x[columns])) * TARGETS_APART * apart


def _blocks(x: ArrayLike, labels: ArrayLike) -> Iterator[tuple[slice, Array]]:
    for begin in range(0, len(np.asarray(x)), CHUNK):
        columns = slice(begin, begin + CHUNK)
        yield columns, low_weight_distances(x, labels, columns)


def weighed_by_all(x: ArrayLike, labels: ArrayLike, first: int, scales: Iterable[float], normalize: bool) -> Array:
    """Equation (50) for the first points, weighed with all: sum_kl e^{-A_ik/s} e^{-A_lj/s} A_kl.

    Args:
        x: inputs, shape (points, inputs).
        labels: class of every point, shape (points,).
        first: number of points to predict for.
        scales: length scales s; (50) as printed has s = 1.
        normalize: divide by the sums of the weights, so that the result is a weighted mean of A.

    Returns:
        Predictions, shape (scales, first, first).
    """
    scales = list(scales)
    near = low_weight_distances(x, labels, slice(0, first)).T
    weights = [np.exp(-near / scale) for scale in scales]
    predictions = np.zeros((len(scales), first, first))
    for columns, block in _blocks(x, labels):
        for total, weight in zip(predictions, weights, strict=True):
            total += (weight @ block) @ weight[:, columns].T
    if normalize:
        sums = [weight.sum(axis=1) for weight in weights]
        predictions /= np.stack([np.outer(norm, norm) for norm in sums])
    return predictions


def class_sums(x: ArrayLike, labels: ArrayLike) -> tuple[Array, Array]:
    """Sum of A over all pairs of two classes, shape (classes, classes), and the sizes of the classes.

    A is that of equation (50).
    """
    labels = np.asarray(labels)
    member = np.eye(labels.max() + 1)[labels]
    sums = np.zeros((member.shape[1], member.shape[1]))
    for columns, block in _blocks(x, labels):
        sums += member.T @ block @ member[columns]
    return sums, member.sum(axis=0)


def smallest_between(x: ArrayLike, labels: ArrayLike) -> float:
    """Least A of two points of different classes.

    A is that of equation (50).
    """
    return float(min(block[block > 0].min() for _, block in _blocks(x, labels)))


def triangle_violations(squared: ArrayLike) -> float:
    """Share of the inequalities d_jk <= d_ij + d_ik that distances violate, over all triples and their three sides.

    Ours: what distances in a common space never do.

    Args:
        squared: squared distances of all pairs, symmetric, shape (points, points), three points or more.

    Raises:
        ValueError: fewer than three points.
    """
    distance = np.sqrt(np.asarray(squared, float))
    n = len(distance)
    if n < 3:
        raise ValueError(f"got {n} points, expected three or more: a triangle has three corners")
    slack = ROUNDED * distance.max()
    violated = 0
    for row in distance:  # the corner i between the sides to j and k
        sides = row[:, None] + row[None]
        violated += int(np.triu(distance > sides + slack, 1).sum())
    return violated / (n * (n - 1) * (n - 2) / 2)


def correlations(prediction: ArrayLike, measured: ArrayLike, labels: ArrayLike) -> Array:
    """Pearson correlation over all entries, diagonal and both triangles, as the paper's, and between classes only.

    The coefficient of Figure 9.
    """
    apart = np.asarray(labels)[:, None] != np.asarray(labels)[None]
    prediction, measured = np.asarray(prediction, float), np.asarray(measured, float)
    return np.array([pearson(prediction, measured), pearson(prediction[apart], measured[apart])])


def resampled_correlations(
    prediction: ArrayLike, measured: ArrayLike, labels: ArrayLike, resamples: int, generator: np.random.Generator
) -> Array:
    """Bootstrap over pairs of classes, the independent units of the comparison; shape (parts, resamples).

    Whole blocks of the matrix are drawn with replacement: blocks within classes among themselves, pairs of classes
    among themselves, each pair with both its blocks.

    Ours: the paper gives no uncertainty.

    Args:
        prediction: predicted distances, shape (points, points).
        measured: measured distances, same shape.
        labels: class of every point, shape (points,).
        resamples: number of draws.
        generator: source of the draws.
    """
    prediction, measured, labels = np.asarray(prediction, float), np.asarray(measured, float), np.asarray(labels)
    classes, place = np.unique(labels, return_inverse=True)
    member = np.eye(len(classes))[place]
    moments = [np.ones_like(measured), prediction, measured, prediction**2, measured**2, prediction * measured]
    blocks = np.stack([member.T @ values @ member for values in moments], axis=-1)
    upper = np.triu_indices(len(classes), 1)
    within, between = blocks[np.diag_indices(len(classes))], blocks[upper] + blocks[upper[::-1]]
    drawn = [_drawn(len(part), resamples, generator) @ part for part in (within, between)]
    return np.stack([_correlation(drawn[0] + drawn[1]), _correlation(drawn[1])])


def _drawn(count: int, resamples: int, generator: np.random.Generator) -> Array:
    return generator.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)


def _correlation(moments: Array) -> Array:
    """Correlation from (count, sum a, sum b, sum a^2, sum b^2, sum ab), shape (..., 6)."""
    n, a, b, aa, bb, ab = np.moveaxis(moments, -1, 0)
    spread = (n * aa - a**2) * (n * bb - b**2)
    floor = 1e-12 * n**2 * aa * bb
    scale = np.sqrt(np.maximum(spread, 0))
    return np.divide(n * ab - a * b, scale, out=np.full_like(n, np.nan), where=spread > floor)
