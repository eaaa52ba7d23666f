"""Figures of clusters in input space: truncation in the plane and in three dimensions, collapse, own clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED, SKY, describe, label_panels, new
from repdyn.base.wording import number, outcome

REACH = 6.0
RIGHT = 90.0  # degrees
SEPARATED = 1e-9  # a smaller margin is round-off
POINT, REACHED = 1e-6, 0.01  # shares of its size and of the way to its label that are left of a cluster
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


def truncation_in_the_plane(truncation_in_the_plane: xr.Dataset) -> Figure:
    """Cluster 1 is pushed onto the boundary of its cone and into the apex; cluster 2 stays (Q = 2)."""
    data = truncation_in_the_plane.sel(dimension=2)
    figure, axes = new(2, 2, height=2.9)
    _pictures(axes, data, np.eye(2), cone=True)
    for panel in axes.ravel():
        panel.set(xlabel="input coordinate 1", ylabel="input coordinate 2")
    return describe(
        figure,
        title=f"Truncation in the plane: {_shrinks(data)}; {_stays(data)}",
        caption=f"Two clusters of {data.sizes['point']} points (orange-red: cluster 1, blue: cluster 2) under the "
        "truncation map of cluster 1. (a) The data, with the cone of points that stay at the start (shaded) and the "
        "path that its apex will take (black). (b)-(d) Cluster 1 enlarged, at three times: pale: data; full "
        r"orange-red: images; thin lines join them; shaded: cone; black: path of its apex $-\beta$; green star: "
        "pulled-back label. " + _times(data),
        alt="Four panels: two clusters with a cone, and one of them enlarged at three times, its points joined to "
        f"their images: {_shrinks(data)}; {_stays(data)}.",
    )


def _shrinks(data: xr.Dataset) -> str:
    """What becomes of cluster 1 and of its apex, at the last time drawn."""
    data = _without_padding(data)
    first, last = (_size(data[name].sel(cluster=0)) for name in ("data", "image"))
    left = last.isel(snapshot=-1) / first
    gap = ((data["apex"] - data["label"]) ** 2).sum("column", skipna=False) ** 0.5
    missed = float(gap.isel(time=-1) / gap.isel(time=0))
    size = outcome(
        POINT - left, "shrinks to one point", f"keeps {float(left):.0%} of its size", "comes to an unknown size"
    )
    way = outcome(
        REACHED - missed, "runs to its label", f"stops with {missed:.0%} of the way to its label left",
        "moves by an unknown way",
    )  # fmt: skip
    return f"cluster 1 {size}, {'which' if 'point' in size else 'and its apex'} {way}"


def _without_padding(data: xr.Dataset) -> xr.Dataset:
    """The columns of a dimension; those beyond it are NaN."""
    return data.isel(column=slice(0, int(data["dimension"])))


def _size(points: xr.DataArray) -> xr.DataArray:
    """Root mean square distance from the mean."""
    return ((points - points.mean("point")) ** 2).sum("column", skipna=False).mean("point") ** 0.5


def _stays(data: xr.Dataset) -> str:
    """What the map of cluster 1 does to cluster 2, over all snapshots."""
    data = _without_padding(data)
    moved = abs(data["image"] - data["data"]).sel(cluster=1)
    most = f"cluster 2 moves by up to {float(moved.max()):.2g}"
    return outcome(SEPARATED - moved, "cluster 2 stays", most, "what cluster 2 does is unknown")


def _times(data: xr.Dataset) -> str:
    moments = [f"{float(moment):.2g}" for moment in data["moment"].values[list(ENLARGED)]]
    return f"$s$ = {moments[0]} and {moments[1]} are a quarter and all of the time of full truncation."


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
    edges = apex + REACH * snapshot["cone"].values[:2, :2]
    corner = apex + REACH * snapshot["cone"].values[:2, :2].sum(axis=0)
    panel.add_patch(Polygon([apex, edges[0], corner, edges[1]], color=SKY, alpha=0.18, linewidth=0))


def truncation_in_three_dimensions(truncation_in_the_plane: xr.Dataset) -> Figure:
    """The same for Q = 3, seen along the axis (1, 1, 1): the plane through the three means."""
    data = truncation_in_the_plane.sel(dimension=3)
    figure, axes = new(2, 2, height=2.9)
    _pictures(axes, data, PLANE_OF_MEANS, cone=False)
    for panel in axes.ravel():
        panel.set(xlabel="along $e_1 - e_2$", ylabel="along $e_1 + e_2 - 2 e_3$")
    return describe(
        figure,
        title=f"Truncation in three dimensions: {_shrinks(data)}",
        caption=f"Three clusters of {data.sizes['point']} points around $e_1, e_2, e_3$ (orange-red, blue, orange), "
        "projected on the plane through the means. (a) The data and the path that the apex of cluster 1 will take "
        "(black). (b)-(d) Cluster 1 enlarged, at three times: pale: data; full orange-red: images; thin lines join "
        "them; black: path of the apex; green star: pulled-back label. " + _times(data),
        alt="Four panels: three clusters at the corners of a triangle, and one of them enlarged at three times, its "
        f"points joined to their images: {_shrinks(data)}.",
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


def neural_collapse(neural_collapse: xr.Dataset) -> Figure:
    """Cost, collapse and margin for every dimension."""
    figure, axes = new(1, 3, height=2.5)
    time = neural_collapse["time"].values
    shown = (
        ("cost", "Euclidean cost"),
        ("ratio", "variance within / between"),
        ("margin", "margin of separation"),
    )
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
    columns = neural_collapse.sizes["dimension"]
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    label_panels(axes)
    return describe(
        figure,
        title=f"Neural collapse by truncation: {_collapsed(neural_collapse)}",
        caption=f"Simplex clusters of {int(neural_collapse['points'])} points, radius "
        f"{float(neural_collapse['fill']):g} of the largest separable one. (a) Cost of all clusters; "
        "dotted: $e^{-2s}$, the decay after full truncation. (b) Variance within clusters over variance of their "
        "means, "
        "not drawn where it is zero. (c) Smallest distance to a loss of separation, which must stay above zero.",
        alt="Cost, ratio of variances within and between clusters and margin of separation over flow time on "
        "logarithmic axes, one line per dimension.",
    )


def _collapsed(neural_collapse: xr.Dataset) -> str:
    """Whether no variance within clusters is left at the end, and whether they were separated all the time."""
    left = neural_collapse["ratio"].isel(time=-1)
    shrunk = f"of the variance within clusters {number(left.max())} of that between is left"
    shrinking = outcome(
        POINT**2 - left, "every cluster becomes one point", shrunk, "what becomes of clusters is not known"
    )
    margin = neural_collapse["margin"].min("time")
    apart = outcome(margin - SEPARATED, "all stay separated", "not all stay separated", "their separation is not known")
    return f"{shrinking}, {apart}"


def own_clusters(own_clusters: xr.Dataset) -> Figure:
    """Largest margins of separation: triangles of means, clusters of growing width, digits."""
    figure, axes = new(2, 2, height=2.5)
    for panel in axes[0]:
        panel.remove()
    triangles = figure.add_subplot(axes[0, 0].get_gridspec()[0, :])
    _triangles(triangles, own_clusters)
    for panel, name, axis, title, label in (
        (axes[1, 0], "margin", "width", "three synthetic clusters", "cluster radius"),
        (axes[1, 1], "digit_margin", "shrink", "digits in space", "distance to class mean, scaled by"),
    ):
        for condition, (words, look) in CONDITIONS.items():
            panel.plot(own_clusters[axis], own_clusters[name].sel(condition=condition), label=words, **look)
        panel.axhline(0, color=BLACK, linewidth=0.8)
        panel.set(xlabel=label, title=title, ylabel="smallest margin")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    label_panels(np.array([triangles, *axes[1]]))
    angles, margins = own_clusters["triangle_angle"].values, own_clusters["triangle_margin"].values
    acute = angles < RIGHT - 1e-6  # an angle by arccos
    return describe(
        figure,
        title=f"Aligned weights separate {int((margins[acute] > SEPARATED).sum())} of {int(acute.sum())} acute "
        f"triangles of means and {int((margins[~acute] > SEPARATED).sum())} of {int((~acute).sum())} others",
        caption="Smallest distance to failure of the conditions of separation by aligned weights; below zero none is "
        "found. (a) Clusters of one point: isosceles and random triangles of means against their widest angle. A thin "
        "line joins the marks of a triangle: margin after the search, by Procrustes alone, and an upper bound, which "
        "is zero from 90 degrees on (dotted). (b), (c) The three conditions after the search: margins for other "
        "clusters untouched (thin, dots) and own cluster truncated (wide, pale) agree but for round-off where one "
        "line lies in the other. (b) Growing clusters. (c) "
        f"{int(own_clusters['digit_points'])} digits in the discriminant plane and one further direction "
        f"({float(own_clusters['digit_explained']):.0%} of the variance), moved toward their class means; all "
        f"conditions hold {_separable(own_clusters)}.",
        alt="Margins of triangles against their widest angle, after the search, by Procrustes alone and bounded above; "
        "margins against the width of clusters and against the scale of digits.",
    )


def _triangles(panel: Axes, own_clusters: xr.Dataset) -> None:
    """Bound, margin after the search and margin by Procrustes of every triangle, over its widest angle."""
    angles = own_clusters["triangle_angle"].values
    values = [own_clusters[name].values for name in TRIANGLES]
    panel.vlines(angles, np.minimum.reduce(values), np.maximum.reduce(values), color="0.75", linewidth=0.8, zorder=1)
    for drawn, (words, look) in zip(values, TRIANGLES.values(), strict=True):
        panel.plot(angles, drawn, linestyle="", label=words, **look)
    panel.axhline(0, color=BLACK, linewidth=0.8, zorder=1)
    panel.axvline(RIGHT, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
    panel.set(xlabel="widest angle, degrees", ylabel="smallest margin", title="triangles of means")
    panel.legend(loc="upper right")


def _separable(own_clusters: xr.Dataset) -> str:
    """Up to which scale of the digits every condition has a positive margin."""
    held = (own_clusters["digit_margin"] > SEPARATED).all("condition").values
    scales = own_clusters["shrink"].values[held]
    return f"up to a scale of {scales.max():g}" if scales.size else "at no scale drawn"
