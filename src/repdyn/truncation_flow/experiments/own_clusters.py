"""Whose clusters can be separated: triangles of means by their widest angle, synthetic clusters, digits."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.methods.construction import ball_clusters
from repdyn.truncation_flow.methods.separation import (
    cluster_separated_initial_data,
    margin_bound,
    procrustes_initial_data,
    widest_angle,
)
from repdyn.truncation_flow.settings import OwnClusters

RIDGE = 1e-2
MEANS = np.array([[3.0, 0.2, -0.5], [-0.5, 2.5, 0.4], [0.3, -0.6, 3.5]])
ANGLES = (40.0, 60.0, 75.0, 80.0, 85.0, 88.0, 90.0, 92.0, 100.0, 120.0, 150.0)  # degrees at the vertex, equal legs
RANDOM_TRIANGLES = 6
DIMENSIONS, CONFIGURATIONS = (2, 3, 4, 5, 6), 2000  # random means whose widest angle is counted
SHRINKS = np.linspace(0.0, 1.0, 11)
OPENING, LIFT = 0.3, 0.1  # of the cones of weights that are not aligned, and how far their apex leaves the plane


def own_clusters(settings: OwnClusters, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Largest margins of separation found: triangles of means, synthetic clusters of growing width, digits."""
    unit = ball_clusters(np.zeros((3, 3)), settings.points, 1.0, stream.generator("points"))
    synthetic = [list(MEANS[:, None] + r * unit) for r in settings.widths]
    margins = [cluster_separated_initial_data(X, require=False).margin for X in synthetic]
    variables = {"margin": variable(("width", "condition"), np.array(margins), "margin, synthetic", "input")}
    variables |= _digits(images, settings.classes) | _triangles(stream.generator("triangles"))
    variables["acute_share"] = variable(
        "dimension",
        np.array([_acute_share(Q, stream.generator("means", Q)) for Q in DIMENSIONS]),
        f"share of {CONFIGURATIONS} sets of Q Gaussian means without an angle of 90 degrees or more",
    )
    return dataset(
        variables,
        {
            "width": variable("width", np.array(settings.widths), "radius of the synthetic clusters", "input"),
            "shrink": variable("shrink", SHRINKS, "factor by which digits are drawn to their class mean"),
            "condition": variable("condition", np.array(["others", "own", "images"]), "condition of separation"),
            "triangle": index("triangle", len(ANGLES) + RANDOM_TRIANGLES, "triangle of means"),
            "dimension": variable("dimension", np.array(DIMENSIONS), "dimension Q"),
        },
        title="Whose clusters can be separated by aligned weights",
    )


def _digits(images: xr.Dataset, classes: tuple[int, ...]) -> dict[str, xr.Variable]:
    """Margins of digits drawn to their class means by growing factors."""
    digits, explained = digit_clusters(images, classes)
    centers = [cluster.mean(axis=0, keepdims=True) for cluster in digits]
    margins = []
    for factor in SHRINKS:
        drawn = [c + factor * (cluster - c) for c, cluster in zip(centers, digits, strict=True)]
        margins.append(cluster_separated_initial_data(drawn, require=False).margin)
    return {
        "digit_margin": variable(("shrink", "condition"), np.array(margins), "margin, digits"),
        "digit_explained": variable((), explained, "share of variance kept in Q dimensions"),
        "digit_points": variable((), sum(map(len, digits)), "digits used"),
    }


def triangle(degrees: float) -> Array:
    """Three means in R^3 with legs of length 1 and this angle at the first."""
    half = np.radians(degrees) / 2
    return np.array([[0.0, 0.0, 0.0], [np.cos(half), np.sin(half), 0.0], [np.cos(half), -np.sin(half), 0.0]])


def _triangles(generator: np.random.Generator) -> dict[str, xr.Variable]:
    """Largest margins found for clusters of one point, so for clusters as narrow as can be."""
    means = [triangle(angle) for angle in ANGLES]
    means += list(np.eye(3) + 0.3 * generator.normal(size=(RANDOM_TRIANGLES, 3, 3)))
    rows = []
    for corners in means:
        points = list(corners[:, None])
        rows.append(
            (
                widest_angle(corners).degrees,
                cluster_separated_initial_data(points, require=False).margin.smallest,
                procrustes_initial_data(points).margin.smallest,
                margin_bound(corners),
                general_margin(corners),
            )
        )
    texts = {
        "triangle_angle": ("widest angle", "degree"),
        "triangle_margin": ("largest margin found", "input"),
        "triangle_margin_procrustes": ("largest margin by Procrustes alone, without a search", "input"),
        "triangle_bound": ("bound on any margin of aligned weights", "input"),
        "triangle_margin_general": ("margin of explicit weights that are not aligned", "input"),
    }
    columns = np.array(rows).T
    return {name: variable("triangle", column, *texts[name]) for name, column in zip(texts, columns, strict=True)}


def general_margin(means: Array) -> float:
    """Smallest margin, own and other means, of cones of any opening: W_l = P D^{-1} with rows of length 1.

    The columns of D are the directions m_j - yt_l (j != l) and yt_l - m_l, P is a positive matrix; so W_l D = P > 0.
    The labels lie between the means and their barycenter, lifted a little out of the plane of the means.
    """
    Q, center = len(means), means.mean(axis=0)
    normal = np.linalg.svd(means - center)[2][-1]
    P = (1 - OPENING) * np.eye(Q) + OPENING / Q
    margins = []
    for layer, mean in enumerate(means):
        yt = mean + LIFT * (center - mean) + LIFT * normal
        D = means - yt
        D[layer] = yt - mean
        W = P @ np.linalg.inv(D.T)
        margins.append(((W / np.linalg.norm(W, axis=1, keepdims=True)) @ D.T).min())
    return float(min(margins))


def _acute_share(Q: int, generator: np.random.Generator) -> float:
    """Share of sets of Q Gaussian means in R^Q whose angles are all below 90 degrees."""
    means = generator.normal(size=(CONFIGURATIONS, Q, Q))
    acute = np.ones(CONFIGURATIONS, dtype=bool)
    for vertex in range(Q):
        arms = np.delete(means, vertex, axis=1) - means[:, vertex : vertex + 1]
        acute &= ((arms @ arms.mT) > 0).all(axis=(1, 2))
    return float(acute.mean())


def digit_clusters(images: xr.Dataset, classes: tuple[int, ...]) -> tuple[list[Array], float]:
    """Digits of Q classes in R^Q, and the share of their variance that is kept.

    Linear discriminants (between-class directions after whitening within classes) give Q - 1 coordinates, which are
    mapped so that the class means are e_1, .., e_Q; the widest direction left fills the axis (1, .., 1), with the
    spread of the others. No linear map can separate Q means in more than Q - 1 dimensions.
    """
    Q, labels = len(classes), images["label"].values
    X = [images["image"].values[labels == digit].reshape(np.sum(labels == digit), -1) for digit in classes]
    means = np.array([cluster.mean(axis=0) for cluster in X])
    center = means.mean(axis=0)
    inner = np.concatenate([cluster - mean for cluster, mean in zip(X, means, strict=True)])
    within = inner.T @ inner / len(inner) + RIDGE * np.eye(inner.shape[1])
    basis = np.linalg.qr(np.linalg.solve(within, (means - center).T)[:, : Q - 1])[0]
    widest = np.linalg.svd(inner - inner @ basis @ basis.T, full_matrices=False)[2][0]
    widest *= np.sign(widest[np.argmax(np.abs(widest))])  # the sign of a singular vector is the library's choice
    to_simplex = np.linalg.lstsq((means - center) @ basis, np.eye(Q) - 1.0 / Q, rcond=None)[0]
    spread = np.sqrt(np.mean((inner @ basis @ to_simplex) ** 2) / np.mean((inner @ widest) ** 2))
    lift = np.outer(widest, np.full(Q, spread))
    reduced = [
        1.0 / Q + (cluster - mean) @ lift + (cluster - center) @ basis @ to_simplex
        for cluster, mean in zip(X, means, strict=True)
    ]
    everything, frame = np.concatenate(X) - center, np.column_stack((basis, widest))
    return reduced, float(np.sum((everything @ frame) ** 2) / np.sum(everything**2))
