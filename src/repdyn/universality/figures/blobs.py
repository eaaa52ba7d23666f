"""Figures of blobs with two features (Figures 7, 8, 13 and 17)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D, proj3d

from repdyn.base.figures import BLUE, ORANGE, WIDTH, describe, new
from repdyn.universality.methods.selection import learned

FLATTEN = 1.6  # axis between the contexts over the second longest, at most
NAMES = {"high": "large", "low": "small", "very_low": "very small"}


def fig7_blobs(blob_structure: xr.Dataset) -> Figure:
    """Figure 7: the data set."""
    gallery = blob_structure["gallery"].values
    figure, axes = new(1, 3, height=2.3)
    size = gallery.shape[2]
    tiles = np.full((gallery.shape[0] * (size + 1) - 1, gallery.shape[1] * (size + 1) - 1), np.nan)
    for x, y in np.ndindex(*gallery.shape[:2]):
        tiles[y * (size + 1) : y * (size + 1) + size, x * (size + 1) : x * (size + 1) + size] = gallery[x, y].T
    panel = axes[0, 0]
    panel.imshow(tiles, origin="lower", cmap="cividis")
    panel.spines[:].set_visible(False)
    panel.set(xticks=[], yticks=[], xlabel="feature 1 (x-position)", ylabel="feature 2 (y-position)", title="blobs")
    feature, context = blob_structure["feature"].values, blob_structure["context"].values
    for c, words in enumerate(("context 1: target is x", "context 2: target is y")):
        mine = context == c
        shown = axes[0, c + 1].scatter(*feature[mine].T, c=feature[mine, c], s=5, cmap="viridis")
        axes[0, c + 1].set(xlabel="feature 1", ylabel="feature 2", aspect="equal", title=words)
    bar = figure.colorbar(shown, ax=axes[0, 1:].tolist(), shrink=0.8)
    bar.ax.set_title("target", fontweight="normal")
    n = int(blob_structure["point_count"])
    return describe(
        figure,
        title="Figure 7: a data set with two orthogonal features",
        caption=f"{n} data points: images of blobs of {size} x {size} pixels at {int(np.sqrt(n / 2))} x "
        f"{int(np.sqrt(n / 2))} places in two contexts, with the context appended as a one-hot code. Left: every few "
        "blobs; middle and right: the target of each point shown in later figures. Two inputs that differ in the "
        f"context lie {float(blob_structure['input_between']):.2f} apart, two that differ in one feature at most "
        f"{float(blob_structure['input_along']):.2f}.",
        alt="A grid of blurred spots moving from left to right and from bottom to top, and two squares of points whose"
        " color runs along x in one context and along y in the other.",
    )


def fig8_blob_structure(blob_structure: xr.Dataset) -> Figure:
    """Figures 8 and 13: pictures of the representation at large, small and very small weights."""
    return _pictures(
        blob_structure,
        list(NAMES),
        "Figures 8 and 13: representational structure in the orthogonal feature task",
        "At large weights two squares, one per context; at small weights two lines, one per context, ordered by the"
        " feature that counts; at very small weights both lie side by side, close against their length.",
    )


def fig17_blob_structure_adam(blob_structure: xr.Dataset) -> Figure:
    """Figure 17, and the same with leaky ReLU."""
    return _pictures(
        blob_structure,
        ["adam_high", "adam_low", "leaky_high", "leaky_low"],
        "Figure 17: the orthogonal feature task with Adam, and with leaky ReLU",
        "With Adam and with leaky ReLU squares at large weights and lines at small ones; both bring the "
        "contexts' lines close together at the small weights at which tanh under gradient descent keeps them apart.",
    )


def _pictures(data: xr.Dataset, runs: list[str], title: str, alt: str) -> Figure:
    width = WIDTH * len(runs) / 4 if len(runs) < 4 else WIDTH
    figure, axes = new(3, len(runs), height=1.75, width=max(width, 5.2), subplot_kw={"projection": "3d"})
    feature, context = data["feature"].values, data["context"].values
    colorings = (
        ("context", np.array([BLUE, ORANGE])[context], None),
        ("feature 1", feature[:, 0], "viridis"),
        ("feature 2", feature[:, 1], "viridis"),
    )
    for column, run in enumerate(runs):
        own = data.sel(run=run)
        for row, (words, color, cmap) in enumerate(colorings):
            _cloud(axes[row, column], own["picture"].values, context, color, cmap)
            _name_axes(axes[row, column])
            if column == 0:
                place = {"transform": axes[row, 0].transAxes, "rotation": 90, "ha": "left", "va": "center"}
                axes[row, 0].text2D(-0.04, 0.5, f"by {words}", **place)
        axes[0, column].set_title(f"{_label(run)}\ngain {float(own['gain']):g}", pad=-2)
    return describe(figure, title=title, caption=_caption(data, runs), alt=alt)


def _label(run: str) -> str:
    kind, _, scale = run.partition("_")
    return f"{'Adam' if kind == 'adam' else 'leaky ReLU'}, {NAMES[scale]}" if kind in ("adam", "leaky") else NAMES[run]


def _caption(data: xr.Dataset, runs: list[str]) -> str:
    indices = []
    for run in runs:
        networks = learned(data, run)
        if networks.sizes["trial"]:
            typical, between = (float(networks[f"typical_{name}"]) for name in ("collapse", "between"))
            indices.append(
                f"{_label(run)}: $C$ {typical:.2g}, contexts {between:.2g}, {networks.sizes['trial']} of "
                f"{data.sizes['trial']} networks"
            )
    method = {"classical": "Classical scaling", "smacof": "Scaling by majorization"}[data["method"].item()]
    return (
        f"{method} to three dimensions of the distances between {data.sizes['point']} of {int(data['point_count'])} "
        f"representations in the hidden layer halfway of one network each ({int(data['units'])} units, four hidden "
        "layers), colored by context and by each feature. Axes 1 to 3 are the coordinates of the scaling, to scale; "
        f"only one that leads from one context to the other is flattened, to {FLATTEN:g} times the second. Collapse of "
        "the irrelevant over the relevant feature (geometric mean, $C$) and squared distance of the contexts over the "
        "variance along the target: " + "; ".join(indices) + "."
    )


def _cloud(panel: Axes3D, points: np.ndarray, context: np.ndarray, color: np.ndarray, cmap: str | None) -> None:
    """Points to scale; only an axis that leads from one context to the other is flattened. A gap is an empty box."""
    if not np.isfinite(points).all():
        panel.set(xticks=[], yticks=[], zticks=[])
        return
    x, y, z = points.T
    panel.scatter(x, y, z, c=color, cmap=cmap, s=2, linewidths=0, depthshade=False)
    spans = np.ptp(points, axis=0)
    between = abs(points[context == 0, 0].mean() - points[context == 1, 0].mean()) > spans[0] / 2
    aspect = spans.copy()
    aspect[0] = min(spans[0], FLATTEN * spans[1]) if between else spans[0]
    least = 0.12 * aspect.max()
    aspect = np.maximum(aspect, least)
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    room = np.maximum(spans, least) / 2 * 1.05
    panel.set(xlim=(middle[0] - room[0], middle[0] + room[0]), ylim=(middle[1] - room[1], middle[1] + room[1]))
    panel.set(zlim=(middle[2] - room[2], middle[2] + room[2]), xticks=[], yticks=[], zticks=[])
    panel.set_box_aspect(aspect, zoom=1.0)
    panel.view_init(elev=22, azim=-58)


def _name_axes(panel: Axes3D) -> None:
    """Names at the edges of the box that stand free."""
    (left, right), (front, back), (low, high) = panel.get_xlim(), panel.get_ylim(), panel.get_zlim()
    middles = (
        ((left + right) / 2, front, low, "1 ", "right", "top"),
        (right, (front + back) / 2, low, " 2", "left", "top"),
        (right, back, (low + high) / 2, " 3", "left", "center"),
    )
    for *place, name, ha, va in middles:
        x, y, _ = proj3d.proj_transform(*place, panel.get_proj())
        panel.text2D(x, y, name, transform=panel.transData, ha=ha, va=va)
