"""Figures of clusters in input space: truncation in the plane and in three dimensions, collapse, own clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon

from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    Drawn,
    figure,
    label_panels,
    new,
    plain_numbers,
)

EDGE = 6.0  # length of the edges of a cone, as plotted
RIGHT = 90.0  # degrees
SEPARATED = 1e-9  # a smaller margin is round-off
TRIANGLES: dict[str, tuple[str, dict[str, Any]]] = {
    "triangle_bound": ("upper bound", {"color": BLACK, "marker": "_", "markersize": 7}),
    "triangle_margin": ("search", {"color": BLUE, "marker": "o", "markersize": 4}),
    "triangle_margin_procrustes": (
        "Procrustes alone",
        {"color": ORANGE, "marker": "s", "markersize": 4, "markerfacecolor": "none"},
    ),
}
CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "own": ("own cluster truncated", {"color": ORANGE, "linewidth": 5, "alpha": 0.5}),
    "others": ("other clusters untouched", {"color": BLUE, "marker": "o", "markersize": 3, "linewidth": 1}),
    "images": (
        "images untouched",
        {"color": GREEN, "marker": "^", "markersize": 6, "linewidth": 1, "linestyle": "--", "markerfacecolor": "none"},
    ),
}
ENLARGED = (1, 3, 4)  # snapshots of cluster 1
PLANE_OF_MEANS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # for Q = 3, orthogonal to (1, 1, 1)


@figure(
    title="Truncation of clusters in the plane",
    caption="Two clusters (orange-red: cluster 1, blue: cluster 2) under the truncation map of cluster 1. (a) The "
    "data, with the cone of points that stay at the start (shaded) and the path that its apex will take (black). "
    "(b)-(d) Cluster 1 enlarged, after a quarter of the time of full truncation, after all of it, and at the end: "
    r"pale: data; full orange-red: images; thin lines join them; shaded: cone; black: path of its apex $-\beta$; "
    "green star: pulled-back label.",
    alt="Four panels: two clusters with a cone, and one of them enlarged at three times, its points joined to their "
    "images.",
)
def truncation_in_the_plane(truncation_in_the_plane: xr.Dataset) -> Drawn:
    """Cluster 1 is pushed onto the boundary of its cone and into the apex; cluster 2 stays (Q = 2)."""
    data = truncation_in_the_plane.sel(dimension=2)
    fig, axes = new(2, 2, height=2.9)
    _pictures(axes, data, np.eye(2), cone=True)
    for panel in axes.ravel():
        panel.set(xlabel="input coordinate 1", ylabel="input coordinate 2")
    return Drawn(
        fig,
        {
            "points per cluster": data.sizes["point"],
            "size of cluster 1 at the end over the start": _size_left(data),
            "distance of its apex from the label, end over start": _way_left(data),
            "largest move of cluster 2": _largest_move(data),
        },
    )


def _size_left(data: xr.Dataset) -> float:
    """Size of cluster 1 at the end over that at the start."""
    data = _without_padding(data)
    first, last = (_size(data[name].sel(cluster=0)) for name in ("data", "image"))
    return float(last.isel(snapshot=-1) / first)


def _way_left(data: xr.Dataset) -> float:
    """Distance of the apex of cluster 1 from its label at the end, over that at the start."""
    data = _without_padding(data)
    gap = ((data["apex"] - data["label"]) ** 2).sum("column", skipna=False) ** 0.5
    return float(gap.isel(time=-1) / gap.isel(time=0))


def _largest_move(data: xr.Dataset) -> float:
    """Largest distance by which the map of cluster 1 moves a coordinate of cluster 2, over all snapshots."""
    data = _without_padding(data)
    return float(abs(data["image"] - data["data"]).sel(cluster=1).max())


def _without_padding(data: xr.Dataset) -> xr.Dataset:
    """The columns of a dimension; those beyond it are NaN."""
    return data.isel(column=slice(0, int(data["dimension"])))


def _size(points: xr.DataArray) -> xr.DataArray:
    """Root mean square distance from the mean."""
    return ((points - points.mean("point")) ** 2).sum("column", skipna=False).mean("point") ** 0.5


def _pictures(axes: np.ndarray, data: xr.Dataset, frame: np.ndarray, *, cone: bool) -> None:
    """All clusters at the start, then cluster 1 enlarged at three times."""
    overview, *enlarged = axes.ravel()
    start = data.isel(snapshot=0)
    if cone:
        _cone(overview, start)
    _clusters(overview, start, frame)
    path, mine = _plane(data["apex"], frame), _plane(start["data"].sel(cluster=0), frame)
    label = _plane(start["label"], frame)
    overview.plot(*path, color=BLACK, linewidth=1)
    overview.plot(*label, "*", color=GREEN, markersize=9, zorder=5)
    overview.set_title("the data")
    everything = _plane(start["data"].isel(cluster=slice(0, frame.shape[1])), frame).reshape(2, -1)
    _window(overview, np.column_stack((everything, path)), 0.12)
    for panel, place in zip(enlarged, ENLARGED, strict=True):
        snapshot = data.isel(snapshot=place)
        if cone:
            _cone(panel, snapshot)
        _snapshot(panel, snapshot, frame)
        panel.set_title(f"cluster 1 at $s$ = {float(snapshot['moment']):.2g}")
        _window(panel, np.column_stack((mine, path, label)), 0.1)
    label_panels(axes)


def _window(panel: Axes, points: np.ndarray, margin: float) -> None:
    """A square around the points, shape (2, ...), with room of a share of their extent."""
    low, high = points.min(axis=1), points.max(axis=1)
    middle, half = (low + high) / 2, (0.5 + margin) * (high - low).max()
    panel.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    panel.set_aspect("equal")
    panel.locator_params(nbins=5)


def _plane(points: xr.DataArray, frame: np.ndarray) -> np.ndarray:
    """Points in the plane of a frame of shape (2, Q), shape (2, ...)."""
    return np.moveaxis(points.values[..., : frame.shape[1]] @ frame.T, -1, 0)


def _cone(panel: Axes, snapshot: xr.Dataset) -> None:
    apex = snapshot["apex"].sel(time=snapshot["moment"], method="nearest").values[:2]
    edges = apex + EDGE * snapshot["cone"].values[:2, :2]
    corner = apex + EDGE * snapshot["cone"].values[:2, :2].sum(axis=0)
    panel.add_patch(Polygon([apex, edges[0], corner, edges[1]], color=SKY, alpha=0.18, linewidth=0))


@figure(
    title="Truncation of clusters in three dimensions",
    caption="Three clusters around $e_1, e_2, e_3$ (orange-red, blue, orange), projected on the plane through the "
    "means. (a) The data and the path that the apex of cluster 1 will take (black). (b)-(d) Cluster 1 enlarged, "
    "after a quarter of the time of full truncation, after all of it, and at the end: pale: data; full orange-red: "
    "images; thin lines join them; black: path of the apex; green star: pulled-back label.",
    alt="Four panels: three clusters at the corners of a triangle, and one of them enlarged at three times, its "
    "points joined to their images.",
)
def truncation_in_three_dimensions(truncation_in_the_plane: xr.Dataset) -> Drawn:
    """The same for Q = 3, seen along the axis (1, 1, 1): the plane through the three means."""
    data = truncation_in_the_plane.sel(dimension=3)
    fig, axes = new(2, 2, height=2.9)
    _pictures(axes, data, PLANE_OF_MEANS, cone=False)
    for panel in axes.ravel():
        panel.set(xlabel="along $e_1 - e_2$", ylabel="along $e_1 + e_2 - 2 e_3$")
    return Drawn(
        fig,
        {
            "points per cluster": data.sizes["point"],
            "size of cluster 1 at the end over the start": _size_left(data),
            "distance of its apex from the label, end over start": _way_left(data),
        },
    )


def _clusters(panel: Axes, snapshot: xr.Dataset, frame: np.ndarray) -> None:
    Q = frame.shape[1]
    for cluster, color in zip(range(Q), (RED, BLUE, ORANGE), strict=False):
        across, up = _plane(snapshot["data"].sel(cluster=cluster), frame)
        panel.scatter(across, up, s=8, color=color, alpha=0.6, linewidth=0)


def _snapshot(panel: Axes, snapshot: xr.Dataset, frame: np.ndarray) -> None:
    """Data and images of cluster 1, path of its apex and its label in the plane of a frame of shape (2, Q)."""
    reached = int(np.searchsorted(snapshot["time"], snapshot["moment"]))
    data, image = (_plane(snapshot[name].sel(cluster=0), frame) for name in ("data", "image"))
    moves = np.stack((data, image)).transpose(2, 0, 1)
    panel.add_collection(LineCollection(list(moves), color=RED, alpha=0.3, linewidth=0.5))
    panel.scatter(data[0], data[1], s=9, color=RED, alpha=0.3, linewidth=0)
    panel.plot(*_plane(snapshot["apex"][: reached + 1], frame), color=BLACK, linewidth=1)
    panel.scatter(image[0], image[1], s=12, color=RED, linewidth=0, zorder=3)
    panel.plot(*_plane(snapshot["label"], frame), "*", color=GREEN, markersize=9, zorder=5)


@figure(
    title="Neural collapse by truncation: cost, variance within clusters and margin over flow time",
    caption="Simplex clusters. (a) Cost of all clusters; dotted: $e^{-2s}$, the decay after full truncation. (b) "
    "Variance within clusters over variance of their means, not drawn where it is zero. (c) Smallest distance to a "
    "loss of separation; the clusters are separated where it is above zero.",
    alt="Cost, ratio of variances within and between clusters and margin of separation over flow time on "
    "logarithmic axes, one line per dimension.",
)
def neural_collapse(neural_collapse: xr.Dataset) -> Drawn:
    """Cost, collapse and margin for every dimension."""
    fig, axes = new(1, 3, height=2.5)
    time = neural_collapse["time"].values
    shown = (("cost", "Euclidean cost"), ("ratio", "variance within / between"), ("margin", "margin of separation"))
    for panel, (name, title) in zip(axes[0], shown, strict=True):
        for color, Q in zip(CYCLE, neural_collapse["dimension"].values, strict=False):
            values = neural_collapse[name].sel(dimension=Q).values
            panel.semilogy(
                time, np.where(values > 1e-26, values, np.nan), color=color, label=f"$Q$ = {Q}", linewidth=1.1
            )
        panel.set(xlabel="flow time $s$", title=title)
    start = float(neural_collapse["cost"].isel(time=0).max())
    axes[0, 0].plot(time[time > 3], 30 * start * np.exp(-2 * time[time > 3]), color=BLACK, linestyle=":", linewidth=1)
    axes[0, 0].annotate("$e^{-2s}$", (5.6, 30 * start * np.exp(-11)), fontsize=7.5)
    axes[0, 1].set_ylim(1e-8, None)
    plain_numbers(axes[0, 2].yaxis)
    columns = neural_collapse.sizes["dimension"]
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "points per cluster": int(neural_collapse["points"]),
            "radius over the largest separable one": float(neural_collapse["fill"]),
            "variance within over between at the end (largest)": float(neural_collapse["ratio"].isel(time=-1).max()),
            "least margin": float(neural_collapse["margin"].min()),
        },
    )


@figure(
    title="Separation by aligned weights: margins of triangles, growing clusters and digits",
    caption="Smallest distance to failure of the conditions of separation by aligned weights; below zero none is "
    "found. (a) Clusters of one point: isosceles and random triangles of means against their widest angle. A thin "
    "line joins the marks of a triangle: margin after the search, by Procrustes alone, and an upper bound, which is "
    "zero from 90 degrees on (dotted). (b), (c) The three conditions after the search: margins for other clusters "
    "untouched (thin, dots) and own cluster truncated (wide, pale) agree but for round-off where one line lies in "
    "the other. (b) Growing clusters. (c) Digits in the discriminant plane and one further direction, moved toward "
    "their class means.",
    alt="Margins of triangles against their widest angle, after the search, by Procrustes alone and bounded above; "
    "margins against the width of clusters and against the scale of digits.",
)
def own_clusters(own_clusters: xr.Dataset) -> Drawn:
    """Largest margins of separation: triangles of means, clusters of growing width, digits."""
    fig, axes = new(2, 2, height=2.5)
    for panel in axes[0]:
        panel.remove()
    triangles = fig.add_subplot(axes[0, 0].get_gridspec()[0, :])
    _triangles(triangles, own_clusters)
    for panel, name, axis, title, label in (
        (axes[1, 0], "margin", "width", "three synthetic clusters", "cluster radius"),
        (axes[1, 1], "digit_margin", "shrink", "digits in space", "distance to class mean, scaled by"),
    ):
        for condition, (words, style) in CONDITIONS.items():
            panel.plot(own_clusters[axis], own_clusters[name].sel(condition=condition), label=words, **style)
        panel.axhline(0, color=BLACK, linewidth=0.8)
        panel.set(xlabel=label, title=title, ylabel="smallest margin")
    fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    label_panels(np.array([triangles, *axes[1]]))
    angles, margins = own_clusters["triangle_angle"].values, own_clusters["triangle_margin"].values
    acute = angles < RIGHT - 1e-6  # an angle by arccos
    return Drawn(
        fig,
        {
            "acute triangles: separated, all": np.array([(margins[acute] > SEPARATED).sum(), acute.sum()]),
            "other triangles: separated, all": np.array([(margins[~acute] > SEPARATED).sum(), (~acute).sum()]),
            "digits": int(own_clusters["digit_points"]),
            "variance of the digits in the space of (c) (share)": float(own_clusters["digit_explained"]),
            "largest scale of the digits at which all conditions hold": _largest_separable_scale(own_clusters),
        },
    )


def _largest_separable_scale(own_clusters: xr.Dataset) -> float:
    """Largest scale of the digits at which every condition has a positive margin; minus infinity if there is none."""
    separable = (own_clusters["digit_margin"] > SEPARATED).all("condition").values
    return float(own_clusters["shrink"].values[separable].max(initial=-np.inf))


def _triangles(panel: Axes, own_clusters: xr.Dataset) -> None:
    """Bound, margin after the search and margin by Procrustes of every triangle, over its widest angle."""
    angles = own_clusters["triangle_angle"].values
    values = [own_clusters[name].values for name in TRIANGLES]
    panel.vlines(angles, np.minimum.reduce(values), np.maximum.reduce(values), color="0.75", linewidth=0.8, zorder=1)
    for drawn, (words, style) in zip(values, TRIANGLES.values(), strict=True):
        panel.plot(angles, drawn, linestyle="", label=words, **style)
    panel.axhline(0, color=BLACK, linewidth=0.8, zorder=1)
    panel.axvline(RIGHT, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
    panel.set(xlabel="widest angle, degrees", ylabel="smallest margin", title="triangles of means")
    panel.legend(loc="upper right")
