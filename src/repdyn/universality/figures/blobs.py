"""Figures of blobs with two features (Figures 7, 8, 13 and 17)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from repdyn.plotting.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, Drawn, color_bar, color_map, figure, new
from repdyn.universality.methods.selection import learned

OURS = "not in the paper"
MARKS = ((GREEN, "o"), (RED, "s"))  # of both contexts
MEASURES = ("collapse", "between")
NAMES = {"high": "large", "low": "small", "very_low": "very small"}
MESHES = (
    "Left: representations in the hidden layer halfway, one network each. Classical scaling or scaling by "
    "majorization of their distances to three dimensions, then each context seen along its two features: horizontal, "
    "how its points move with the feature that is its target; vertical, with the other; both over the length along "
    "the target, to scale. Blue lines join points of one irrelevant feature, orange ones those of one relevant "
    "feature: a square is a mesh, a collapsed context a line. Above: what the paper's text says of its figure, which "
    "prints no numbers. Right, each of the networks that have learned: $C$, variance along the irrelevant over that "
    "along the relevant feature (bars: geometric mean over both contexts), and squared distance of the contexts at "
    "equal target over the variance along it (bars: geometric mean); gray lines at 1, a square and lines as far apart "
    "as their spread. The table of settings compares Table 2 of the paper with what is used here."
)
MESHES_ALT = (
    "Meshes of both contexts, one column per size of the weights; beside them the collapse and the distance of the "
    "contexts of each network."
)


@figure(
    title="Figure 7: the data set of blobs",
    caption="Images of blobs on a square grid of places in two contexts, with the context appended as a one-hot code. "
    "Left: every few blobs; middle and right: the target of each point shown in later figures. The paper has "
    "2 x 30 x 30 points of 5 x 5 pixels and states neither the width of the blobs nor the range of their places.",
    alt="A grid of blurred spots moving from left to right and from bottom to top, and two squares of points whose "
    "color runs along x in one context and along y in the other.",
)
def fig7_blobs(blob_structure: xr.Dataset) -> Drawn:
    """Images of the data set and the target of each point."""
    gallery = blob_structure["gallery"].values
    fig, axes = new(1, 3, height=2.3)
    size = gallery.shape[2]
    tiles = np.full((gallery.shape[0] * (size + 1) - 1, gallery.shape[1] * (size + 1) - 1), np.nan)
    for x, y in np.ndindex(*gallery.shape[:2]):
        tiles[y * (size + 1) : y * (size + 1) + size, x * (size + 1) : x * (size + 1) + size] = gallery[x, y].T
    panel = axes[0, 0]
    panel.pcolormesh(tiles, cmap=color_map("cividis"), edgecolors="face", linewidth=0.3)
    panel.spines[:].set_visible(False)
    panel.set(
        aspect="equal",
        xticks=[],
        yticks=[],
        xlabel="feature 1 (x-position)",
        ylabel="feature 2 (y-position)",
        title="blobs",
    )
    feature, context = blob_structure["feature"].values, blob_structure["context"].values
    for c, words in enumerate(("context 1: target is x", "context 2: target is y")):
        chosen = context == c
        shown = axes[0, c + 1].scatter(*feature[chosen].T, c=feature[chosen, c], s=5, cmap=color_map("viridis"))
        axes[0, c + 1].set(xlabel="feature 1", ylabel="feature 2", aspect="equal", title=words)
    bar = color_bar(fig, shown, ax=axes[0, 1:].tolist(), shrink=0.8)
    bar.ax.set_title("target", fontweight="normal")
    return Drawn(
        fig,
        {
            "data points": int(blob_structure["point_count"]),
            "pixels along a side": size,
            "distance of inputs that differ in the context": float(blob_structure["input_between"]),
            "largest distance of inputs that differ in one feature": float(blob_structure["input_along"]),
        },
    )


@figure(
    title="Figures 8 and 13: representations of blobs at large, small and very small initial weights",
    caption=MESHES,
    alt=MESHES_ALT,
)
def fig8_blob_structure(blob_structure: xr.Dataset) -> Drawn:
    """Each context's representation at three sizes of the weights, and how collapsed it is."""
    runs = {"high": "paper: squares", "low": "paper: two lines", "very_low": "paper: one line"}
    return _pictures(blob_structure, runs)


@figure(
    title="Figure 17: representations of blobs after training with Adam, and with leaky ReLU",
    caption=MESHES,
    alt=MESHES_ALT,
)
def fig17_blob_structure_adam(blob_structure: xr.Dataset) -> Drawn:
    """The same with Adam and with leaky ReLU at two sizes of the weights."""
    runs = {"adam_high": "paper: squares", "adam_low": "paper: lines", "leaky_high": OURS, "leaky_low": OURS}
    return _pictures(blob_structure, runs)


def _pictures(data: xr.Dataset, runs: dict[str, str]) -> Drawn:
    fig, axes = new(2, len(runs) + 1, height=2.05, width_ratios=[*[1] * len(runs), 0.45 * len(runs)])
    context = data["context"].values
    for column, (run, published) in enumerate(runs.items()):
        networks = data.sel(run=run)
        for row, panel in enumerate(axes[:, column]):
            shown = context == row
            _mesh(panel, networks["picture"].values[shown], data["feature"].values[shown], relevant=row)
        name = _label(run).replace(", ", "\n")
        axes[0, column].set_title(f"{name}, gain {float(networks['gain']):g}\n{published}", fontsize=7.5)
        axes[1, column].set_xlabel("relevant feature")
    for row, name in enumerate(("x", "y")):
        axes[row, 0].set_ylabel(f"context {row + 1}: target is {name}\nirrelevant feature")
    _indices(axes[:, -1], data, list(runs))
    fig.legend(handles=_legend_handles(), loc="outside lower center", ncols=4, columnspacing=1.2)
    typical = data.sel(run=list(runs))
    return Drawn(
        fig,
        {
            "networks of each kind": data.sizes["trial"],
            "networks that have learned, by column": [learned(data, run).sizes["trial"] for run in runs],
            "geometric mean of C, by column": typical["typical_collapse"].values,
            "geometric mean of the contexts' squared distance (variance along the target), by column": typical[
                "typical_between"
            ].values,
            "units per layer": int(data["units"]),
            "data points": int(data["point_count"]),
        },
    )


def _label(run: str) -> str:
    kind, _, scale = run.partition("_")
    return f"{'Adam' if kind == 'adam' else 'leaky ReLU'}, {NAMES[scale]}" if kind in ("adam", "leaky") else NAMES[run]


def _seen_along_features(points: np.ndarray, feature: np.ndarray, relevant: int) -> np.ndarray:
    """Points of one context in the plane of its two features, the relevant one first and of length 1.

    Args:
        points: coordinates of the scaling, shape (points, 3).
        feature: both features, shape (points, 2).
        relevant: which of them is the target.

    Returns:
        Shape (points, 2).
    """
    centered = points - points.mean(axis=0)
    slopes = np.linalg.lstsq(feature - feature.mean(axis=0), centered, rcond=None)[0]
    along, across = slopes[relevant], slopes[1 - relevant]
    axes, _ = np.linalg.qr(np.stack([along, across], axis=1))
    axes *= np.sign(np.sum(axes * np.stack([along, across], axis=1), axis=0))
    seen = centered @ axes
    return np.asarray(seen / (np.ptp(seen[:, 0]) or 1.0))


def _mesh(panel: Axes, points: np.ndarray, feature: np.ndarray, relevant: int) -> None:
    """Lines through the points along each feature; a gap is an empty panel."""
    panel.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.6, 0.6), ylim=(-0.6, 0.6))
    if not np.isfinite(points).all():
        return
    seen = _seen_along_features(points, feature, relevant)
    for fixed, color in ((relevant, ORANGE), (1 - relevant, BLUE)):
        lines = []
        for value in np.unique(feature[:, fixed]):
            members = np.flatnonzero(feature[:, fixed] == value)
            lines.append(seen[members[np.argsort(feature[members, 1 - fixed])]])
        panel.add_collection(LineCollection(lines, colors=color, linewidths=0.6))
    limit = max(0.6, 1.05 * np.abs(seen).max())
    panel.set(xlim=(-limit, limit), ylim=(-limit, limit))


def _indices(panels: np.ndarray, data: xr.Dataset, runs: list[str]) -> None:
    """Collapse of every network and context, above, and distance of the contexts, below."""
    for place, run in enumerate(runs):
        nets = learned(data, run)
        for shift, (context, (color, marker)) in zip((-0.18, 0.18), enumerate(MARKS), strict=True):
            values = nets["collapse"].isel(context_of=context).values
            x = np.full(values.size, place + shift)
            panels[0].plot(x, values, marker, color=color, markersize=3.5, alpha=0.7)
        x = np.full(nets.sizes["trial"], float(place))
        panels[1].plot(x, nets["between"].values, "D", color=PURPLE, markersize=3.5, alpha=0.7)
        for panel, name in zip(panels, MEASURES, strict=True):
            panel.plot(place, float(nets[f"typical_{name}"]), "_", color=BLACK, markersize=20, markeredgewidth=1.5)
    for panel, words in zip(panels, ("collapse $C$", "contexts, over variance"), strict=True):
        panel.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        panel.set(yscale="log", ylabel=words, xlim=(-0.5, len(runs) - 0.5))
        panel.set_xticks(range(len(runs)), [_label(run).replace(" ", "\n") for run in runs])
    panels[0].set_title("collapse", fontsize=7.5)
    panels[1].set_title("distance of contexts", fontsize=7.5)


def _legend_handles() -> list[Line2D]:
    """What lines of the meshes and marks of the networks are."""
    lines = [
        Line2D([], [], color=BLUE, label="along the relevant feature"),
        Line2D([], [], color=ORANGE, label="along the irrelevant one"),
    ]
    marks = [
        Line2D([], [], color=color, marker=marker, linestyle="", label=f"context {context}")
        for context, (color, marker) in enumerate(MARKS, start=1)
    ]
    return lines + marks
