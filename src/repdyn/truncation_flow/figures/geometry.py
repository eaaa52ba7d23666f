"""Figures of clusters in input space: truncation in the plane and in three dimensions, collapse, own clusters."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED, SKY, describe, label_panels, legend_below, new

REACH = 6.0
PLANE_OF_MEANS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])  # for Q = 3, orthogonal to (1, 1, 1)


def truncation_in_the_plane(truncation_in_the_plane: xr.Dataset) -> Figure:
    """Cluster 1 is pushed onto the boundary of its cone and into the apex; cluster 2 stays (Q = 2)."""
    data = truncation_in_the_plane.sel(dimension=2)
    figure, axes = new(1, data.sizes["snapshot"], height=2.0, sharex=True, sharey=True)
    for panel, moment in zip(axes[0], data["snapshot"].values, strict=True):
        snapshot = data.sel(snapshot=moment)
        _cone(panel, snapshot)
        _snapshot(panel, snapshot, np.eye(2), alpha=0.25)
        panel.set_title(f"$s$ = {float(snapshot['moment']):.2g}")
    axes[0, 0].set(xlim=(-0.35, 1.4), ylim=(-0.45, 1.35), ylabel="input coordinate 2")
    for panel in axes[0]:
        panel.set_xlabel("coordinate 1")
    moments = data["moment"].values
    return describe(
        figure,
        title="Truncation in the plane",
        caption=f"Two clusters of {data.sizes['point']} points (orange-red: cluster 1, blue: cluster 2) under the "
        "truncation map of cluster 1. Pale: data; full orange-red: images of cluster 1; shaded: the cone of points "
        r"that stay; black: path of its apex $-\beta$; green star: pulled-back label. The columns are $s = 0$, a "
        f"quarter, a half and all of the time $s_1$ = {moments[3]:.2f} of full truncation, and $s$ = {moments[4]:.0f}.",
        alt="Five panels: a cone moves over one cluster, whose points are pushed onto its boundary and in the end "
        "into its apex at the label; the other cluster lies inside the cone and does not move.",
    )


def _cone(panel: Axes, snapshot: xr.Dataset) -> None:
    apex = snapshot["apex"].sel(time=snapshot["moment"], method="nearest").values[:2]
    edges = apex + REACH * snapshot["cone"].values[:2, :2]
    corner = apex + REACH * snapshot["cone"].values[:2, :2].sum(axis=0)
    panel.add_patch(Polygon([apex, edges[0], corner, edges[1]], color=SKY, alpha=0.18, linewidth=0))


def truncation_in_three_dimensions(truncation_in_the_plane: xr.Dataset) -> Figure:
    """The same for Q = 3, seen along the axis (1, 1, 1): the plane through the three means."""
    data = truncation_in_the_plane.sel(dimension=3)
    figure, axes = new(2, data.sizes["snapshot"], height=1.7, sharex="row", sharey="row")
    for column, moment in enumerate(data["snapshot"].values):
        snapshot = data.sel(snapshot=moment)
        for panel in axes[:, column]:
            _snapshot(panel, snapshot, PLANE_OF_MEANS, alpha=0.3)
        axes[0, column].set_title(f"$s$ = {float(snapshot['moment']):.2g}")
        axes[1, column].set_xlabel("along $e_1 - e_2$")
    axes[1, 0].set(xlim=(0.5, 0.85), ylim=(0.25, 0.55))
    for panel in axes[:, 0]:
        panel.set_ylabel("along $e_1 + e_2 - 2 e_3$")
    return describe(
        figure,
        title="Truncation in three dimensions",
        caption=f"Three clusters of {data.sizes['point']} points around $e_1, e_2, e_3$, projected on the plane "
        "through the means; images of cluster 1 in full orange-red, its data pale, the path of the apex black, "
        "the label a green star. Below: cluster 1 enlarged. Times as in the plane.",
        alt="Three clusters at the corners of a triangle; the images of one contract to its label, inside"
        " the triangle.",
    )


def _snapshot(panel: Axes, snapshot: xr.Dataset, frame: np.ndarray, alpha: float) -> None:
    """Data, images of cluster 1, path of its apex and its label in the plane of a frame of shape (2, Q)."""
    Q, reached = frame.shape[1], int(np.searchsorted(snapshot["time"], snapshot["moment"]))

    def plane(points: xr.DataArray) -> np.ndarray:
        return frame @ points.values[..., :Q].T

    for cluster, color in zip(range(Q), (RED, BLUE, ORANGE), strict=False):
        x, y = plane(snapshot["data"].sel(cluster=cluster))
        panel.scatter(x, y, s=5, color=color, alpha=alpha, linewidth=0)
    x, y = plane(snapshot["image"].sel(cluster=0))
    panel.scatter(x, y, s=7, color=RED, linewidth=0)
    panel.plot(*plane(snapshot["apex"][: reached + 1]), color=BLACK, linewidth=0.9)
    x, y = plane(snapshot["label"])
    panel.scatter(x, y, marker="*", s=45, color=GREEN, zorder=5, linewidth=0)
    panel.set_aspect("equal")


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
        title="Neural collapse by truncation",
        caption=f"Simplex clusters of {int(neural_collapse['points'])} points, radius "
        f"{float(neural_collapse['fill']):g} of the largest separable one. (a) Cost of all clusters; after full "
        "truncation it decays as $e^{-2s}$ (dotted). (b) Variance within clusters over variance of their means: "
        "exactly zero once all points are truncated. (c) Smallest distance to a loss of separation, which must stay "
        "above zero.",
        alt="For Q from 2 to 8 the cost falls with slope minus two on a logarithmic scale, the within-cluster variance "
        "drops to zero in finite time, and margins stay positive.",
    )


def own_clusters(own_clusters: xr.Dataset) -> Figure:
    """Largest margins of separation: triangles of means, clusters of growing width, digits."""
    figure, axes = new(1, 3, height=3.0)
    order = np.argsort(own_clusters["triangle_angle"].values, kind="stable")
    angles = own_clusters["triangle_angle"].values[order]
    for name, color, marker, words in (
        ("triangle_margin", BLUE, "o", "search"),
        ("triangle_margin_procrustes", ORANGE, "s", "Procrustes alone"),
        ("triangle_bound", BLACK, "_", "bound"),
    ):
        axes[0, 0].plot(
            angles, own_clusters[name].values[order], color=color, marker=marker, linestyle="", markersize=3.5,
            label=words,
        )  # fmt: skip
    axes[0, 0].axvline(90, color=BLACK, linewidth=0.8, linestyle=":")
    axes[0, 0].set(xlabel="widest angle, degrees", ylabel="smallest margin", title="triangles of means")
    conditions = {"others": "other clusters untouched", "own": "own cluster truncated", "images": "images untouched"}
    for panel, name, axis, title, label in (
        (axes[0, 1], "margin", "width", "three synthetic clusters", "cluster radius"),
        (axes[0, 2], "digit_margin", "shrink", "digits in space", "distance to mean, scaled by"),
    ):
        for condition, marker in zip(own_clusters["condition"].values, "os^", strict=True):
            panel.plot(
                own_clusters[axis], own_clusters[name].sel(condition=condition), marker=marker, markersize=3,
                label=conditions[str(condition)],
            )  # fmt: skip
        panel.set(xlabel=label, title=title)
    for panel in axes[0]:
        panel.axhline(0, color=BLACK, linewidth=0.8)
        legend_below(panel)
    label_panels(axes)
    digits = int(own_clusters["digit_points"])
    return describe(
        figure,
        title="Whose clusters can be separated",
        caption="Smallest distance to failure of the conditions of separation by aligned weights; below zero none is "
        "found. (a) Clusters of one point: isosceles and random triangles of means against their widest angle; from 90 "
        "degrees on (dotted) the bound says that none exists. (b), (c) The three conditions after the search, for "
        f"growing clusters and for {digits} digits in the discriminant plane and one further direction "
        f"({float(own_clusters['digit_explained']):.0%} of the variance), moved toward their class means.",
        alt="Margins found by a search are positive up to 90 degrees and negative beyond; those by Procrustes alone "
        "fail earlier. Margins fall as clusters widen; digits as they are lie far below zero.",
    )
