"""Geometry of representations: scaling, collapse, correlations of distances, Taylor terms; numpy alone.

Paper: van Rossem & Saxe (2024), Sections 4.4 to 4.6, Appendices B.4 and C.4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arrays import Array

Map = Callable[[Array], Array]
SMACOF_ITERATIONS, SMACOF_TOLERANCE = 300, 1e-6


def squared_distances(a: ArrayLike, b: ArrayLike | None = None) -> Array:
    """||a_i - b_j||^2 of all pairs of rows, shape (rows of a, rows of b); never below 0; `b` is `a` by default."""
    a = np.asarray(a, float)
    b = a if b is None else np.asarray(b, float)
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T, 0.0)


def classical_mds(h: ArrayLike, components: int = 3) -> tuple[Array, float]:
    """Classical multidimensional scaling of Euclidean distances, which is the principal components of h.

    A scaling as in Figures 8, 13 and 17, which do not say which.

    Args:
        h: representations, shape (points, units).
        components: dimensions of the picture.

    Returns:
        Coordinates, shape (points, components), the largest spread first, each with its largest entry positive; the
        share of all squared distances that they show.

    Raises:
        ValueError: fewer points than components + 1.
    """
    h = np.asarray(h, float)
    if len(h) <= components:
        raise ValueError(f"got {len(h)} points for {components} components, expected more points than components")
    centered = h - h.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    shown = left[:, :components] * sizes[:components]
    shown *= np.sign(shown[np.abs(shown).argmax(axis=0), np.arange(shown.shape[1])])
    shown = np.pad(shown, ((0, 0), (0, components - shown.shape[1])))  # fewer units than components
    return shown, float((sizes[:components] ** 2).sum() / max((sizes**2).sum(), np.finfo(float).tiny))


def smacof(h: ArrayLike, start: ArrayLike) -> Array:
    """Metric multidimensional scaling by majorization from a given start, arguments fixed.

    A scaling as in Figures 8, 13 and 17, which do not say which.

    Args:
        h: representations, shape (points, units).
        start: coordinates to begin with, shape (points, components).
    """
    from sklearn.manifold import smacof as majorize

    distances = np.sqrt(squared_distances(h))
    np.fill_diagonal(distances, 0.0)
    coordinates, _ = majorize(
        (distances + distances.T) / 2,
        n_components=np.shape(start)[1],
        init=np.asarray(start, float),
        n_init=1,
        max_iter=SMACOF_ITERATIONS,
        eps=SMACOF_TOLERANCE,
        random_state=0,  # draws nothing, since the start is given
        normalized_stress=False,
    )
    return coordinates


def collapse_index(h: ArrayLike, relevant: ArrayLike, irrelevant: ArrayLike) -> float:
    """C: variance of h between values of the irrelevant feature over that between values of the relevant one.

    C = <||E[h | irrelevant] - E[h]||^2> / <||E[h | relevant] - E[h]||^2> on a full grid of both features: 1 for a
    square, 0 where the irrelevant direction has collapsed.

    Ours: a number for what Figure 8 shows.

    Args:
        h: representations, shape (points, units).
        relevant: feature that is the target, shape (points,).
        irrelevant: the other feature, shape (points,).

    Raises:
        ValueError: h does not vary with the relevant feature.
    """
    h = np.asarray(h, float)
    along, across = _spread(h, np.asarray(relevant)), _spread(h, np.asarray(irrelevant))
    if not along > 0:
        raise ValueError("h does not vary with the relevant feature, so no ratio exists; train the network first")
    return across / along


def between_contexts(h: ArrayLike, target: ArrayLike, context: ArrayLike) -> float:
    """Squared distance of the two contexts' mean representations at equal target, over the variance along the target.

    Averages over targets; 0 where both contexts share one line.

    Ours: a number for what Figures 8 and 13 show.

    Args:
        h: representations, shape (points, units).
        target: target of each point, shape (points,).
        context: 0 or 1, shape (points,).
    """
    h, target, context = np.asarray(h, float), np.asarray(target), np.asarray(context)
    means = [_means(h[context == c], target[context == c]) for c in (0, 1)]
    along = np.mean([_spread(h[context == c], target[context == c]) for c in (0, 1)])
    return float(((means[0] - means[1]) ** 2).sum(axis=1).mean() / along)


def _means(h: Array, feature: NDArray) -> Array:
    """Mean of h for each value of a feature, shape (values, units)."""
    values, place, counts = np.unique(np.round(feature, 12), return_inverse=True, return_counts=True)
    sums = np.zeros((len(values), h.shape[1]))
    np.add.at(sums, place, h)
    return sums / counts[:, None]


def _spread(h: Array, feature: NDArray) -> float:
    means = _means(h, feature)
    return float(((means - h.mean(axis=0)) ** 2).sum(axis=1).mean())


def taylor_terms(encode: Map, derivative: Callable[[Array, Array], Array], a: ArrayLike, b: ArrayLike) -> Array:
    """First and second order of a map around the midpoint m of pairs, equation (5): D = (a - b)/2.

    h(m + D) = h(m) + J(m) D + second + ...; the second order is (h(a) + h(b))/2 - h(m), exact up to fourth order for a
    smooth map and the only one that sees kinks.

    Args:
        encode: map on rows, (pairs, inputs) to (pairs, units).
        derivative: (points, directions) to J(points) directions, shapes as `encode`.
        a: first points, shape (pairs, inputs).
        b: second points, same shape.

    Returns:
        Norms of both terms, shape (2, pairs).

    Raises:
        ValueError: shapes that differ.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"got points of shapes {a.shape} and {b.shape}, expected two equal shapes (pairs, inputs)")
    middle = (a + b) / 2
    first = derivative(middle, (a - b) / 2)
    second = (encode(a) + encode(b)) / 2 - encode(middle)
    return np.stack([np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)])


def pearson(a: ArrayLike, b: ArrayLike) -> float:
    """Correlation of all entries; NaN where one side is constant."""
    first, second = np.ravel(a).astype(float), np.ravel(b).astype(float)
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 1e-12 * max(len(first), 1) else float("nan")
