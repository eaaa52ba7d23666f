"""Figures of the simplified model of recentering and ReLU: one tree, and the limits of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Drawn,
    figure,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)

POINT_COLORS = (BLUE, SKY, BLACK, ORANGE, RED, GREEN, PURPLE)
POINT_MARKERS = "o^sDvP*"
GRAY = "#666666"  # one odd point
ROUNDING = 1e-9  # of a limit that reaches the best possible bound
SIZES = ((BLUE, "-"), (RED, "--"), (GREEN, ":"), (ORANGE, "-."), (PURPLE, (0, (5, 1, 1, 1, 1, 1))), (BLACK, "-"))


@figure(
    title="Figures 4, 7 and 8, computed: a tree of rows and the clusters in each",
    caption="All rows of the first layers of the simplified model from one batch. Every line is one row, from zero to "
    "its largest entry; a mark is a data point, points in one cluster are stacked; the tick is the mean. Solid green "
    r"edges, +: $\mathrm{ReLU}(x - \bar x)$; dashed purple edges, -: $\mathrm{ReLU}(\bar x - x)$. Figure 7 is about "
    "the rows of two clusters, Figure 8 about those of three. Right: the sum over a layer of (clusters - 2). The paper "
    "draws part of the first three layers of such a tree for five points; it does not state the values.",
    alt="A binary tree of rows of marked points, one level per layer; edges to the left and to the right are the "
    "two transformations.",
)
def fig4_tree(tree_example: xr.Dataset) -> Drawn:
    """Figures 4, 7 and 8: the tree of one batch, clusters counted in every row."""
    layers = int(tree_example["layer"].max())
    drawn, axes = new(1, 1, height=1.3 * (layers + 1))
    panel = axes[0, 0]
    places = _places(tree_example)
    for node in tree_example["node"].values.tolist():
        parent = int(tree_example["parent"][node])
        if parent >= 0:
            _edge(panel, places[parent], places[node], positive=node % 2 == 1)
        width = (0.9, 0.9, 0.65, 0.4)[int(tree_example["layer"][node]) - layers - 1]
        _row(panel, tree_example.sel(node=node), places[node], width)
    _excess(panel, tree_example)
    _point_legend(panel, tree_example["point"].values)
    panel.set(xlim=(-0.45, 2**layers + 0.95), ylim=(-layers - 0.42, 0.4))
    panel.axis("off")
    return Drawn(drawn, {"values of the batch": tree_example["value"].sel(node=0), "layers": layers})


def _places(tree: xr.Dataset) -> np.ndarray:
    """Center of every node: leaves side by side, a parent above the middle of its children."""
    layer = tree["layer"].values
    rank = np.concatenate([np.arange(count) for count in np.bincount(layer)])
    width = 2.0 ** (layer.max() - layer)
    return np.stack([(rank + 0.5) * width, -layer.astype(float)], axis=1)


def _edge(panel: Axes, above: np.ndarray, below: np.ndarray, *, positive: bool) -> None:
    start, end = above - (0, 0.4), below - (0, -0.24)
    color, dash = (GREEN, "-") if positive else (PURPLE, "--")
    panel.plot(*np.transpose((start, end)), color=color, linestyle=dash, linewidth=1.2)
    middle = (start + end) / 2
    sign = "+" if positive else "\N{MINUS SIGN}"
    style: dict[str, Any] = {
        "color": color,
        "fontsize": 11,
        "fontweight": "bold",
        "ha": "right" if positive else "left",
        "va": "bottom",
    }
    panel.annotate(sign, (middle[0], middle[1]), (-3 if positive else 3, 0), textcoords="offset points", **style)


def _row(panel: Axes, row: xr.Dataset, place: np.ndarray, half: float) -> None:
    values = row["value"].values
    low, span = min(values.min(), 0.0), np.ptp(np.append(values, 0.0))
    x = place[0] - half + 2 * half * (values - low) / span
    base = place[1] - 0.1
    panel.plot((place[0] - half, place[0] + half), (base, base), color=BLACK, linewidth=0.7, zorder=1)
    mean = place[0] - half + 2 * half * (float(row["mean"]) - low) / span
    panel.plot((mean, mean), (base - 0.12, base + 0.07), color=BLACK, linewidth=1.6, zorder=2)
    height = dict.fromkeys(values.tolist(), 0)
    for point, (value, where) in enumerate(zip(values.tolist(), x, strict=True)):
        panel.plot(
            where,
            base + 0.075 * height[value],
            POINT_MARKERS[point],
            color=POINT_COLORS[point],
            markersize=4.8,
            markeredgecolor="white",
            markeredgewidth=0.3,
            zorder=3,
            clip_on=False,
        )
        height[value] += 1
    panel.text(place[0], base - 0.22, f"{int(row['clusters'])} clusters", fontsize=7.5, ha="center", va="center")


def _excess(panel: Axes, tree: xr.Dataset) -> None:
    layer, clusters = tree["layer"].values, tree["clusters"].values
    right = 2.0 ** layer.max() + 0.5
    panel.text(right, 0.27, "sum of\nclusters \N{MINUS SIGN} 2", fontsize=7.5, ha="center", va="center")
    for t in np.unique(layer).tolist():
        total = int((clusters[layer == t] - 2).sum())
        panel.text(right, -t - 0.1, f"{total}", fontsize=11, fontweight="bold", ha="center", va="center")
        panel.text(-0.45, -t - 0.1, f"layer {t}", fontsize=7.5, rotation=90, ha="center", va="center")


def _point_legend(panel: Axes, points: np.ndarray) -> None:
    for place, point in enumerate(points.tolist()):
        panel.plot([], [], POINT_MARKERS[place], color=POINT_COLORS[place], linestyle="none", label=f"point {point}")
    panel.plot([], [], "|", color=BLACK, markeredgewidth=1.6, markersize=8, linestyle="none", label="mean")
    panel.legend(loc="upper left", bbox_to_anchor=(0.04, 1), ncols=2, handletextpad=0.2, borderaxespad=0)


@figure(
    title="Theorem 11: limits of the simplified model against its bounds",
    caption="Limits of the simplified model for batches of $n$ points (one symmetric, one with a far point, the others "
    "Gaussian), for the better of the two extremes, the least and the greatest point. (a) Norm of the cluster over "
    "that of the extreme; (b) angle between them. Black: medians, bars: range of all batches. Orange-red, dashed: "
    r"bounds as printed, $3/(n-2)$ and 90 degrees $- \sqrt 2 \pi/(n-2)$, the second below 0 at $n = 4$; blue: the best "
    r"possible, $\sqrt{2/((n-1)^2 + 1)}$ and its angle. (c) Angles between neighboring interior points of one Gaussian "
    r"batch; dashed black: decay as $(\lambda_m/\lambda_1)^{t/2}$ of the split of $m$ from $n - m$ points between "
    r"them, $\lambda_m = (m^2 + (n-m)^2)/n^2$, through the last angle shown. (d) Norm of the shorter extreme over that "
    "of the longer in the limit, Gaussian batches: medians and 10-90 % ranges. At 1 two orthogonal points leave the "
    "cluster alike; a single odd point, as in Figure 3, would be at $1/(n-1)$ (gray dashes).",
    alt="Four panels: norms and angles of the limits against batch size with the bounds as printed and the best "
    "possible ones; interior angles against depth with predicted slopes; norm of the shorter over the longer extreme "
    "against batch size.",
)
def thm11_limits(tree_limits: xr.Dataset, interior_angles: xr.Dataset) -> Drawn:
    """Theorem 11: limits of many batches beside printed and sharp bounds, and how the cluster forms."""
    drawn, axes = new(2, 2, height=2.8)
    points = tree_limits["points"].values
    ratio = np.minimum(tree_limits["ratio_first"].values, tree_limits["ratio_last"].values)
    angle = np.maximum(tree_limits["angle_first"].values, tree_limits["angle_last"].values)
    _against_bounds(axes[0, 0], points, ratio, tree_limits["printed_ratio"], tree_limits["sharp_ratio"])
    _against_bounds(axes[0, 1], points, angle, tree_limits["printed_angle"], tree_limits["sharp_angle"])
    axes[0, 0].set(title="norm of the cluster", yscale="log", ylabel="norm over that of the extreme")
    plain_numbers(axes[0, 0].yaxis)
    axes[0, 1].set(title="angle to the cluster", ylabel="angle between them (degree)")
    axes[0, 1].set(ylim=(0, 95), yticks=(0, 30, 60, 90))
    rates = _collapse(axes[1, 0], interior_angles)
    _second_extreme(axes[1, 1], tree_limits)
    for panel, columns in zip(axes.ravel(), (2, 2, 3, 2), strict=True):
        legend_below(panel, columns=columns)
    label_panels(axes)
    facts = {
        "batches": points.size,
        "limits within the bounds as printed": _within(tree_limits, ratio, angle, "printed"),
        "limits within the best possible bounds": _within(tree_limits, ratio, angle, "sharp"),
        "points of the batch in (c)": interior_angles.sizes["first"],
        "measured over predicted rate of decay, least and greatest": [min(rates), max(rates)],
        "median of shorter over longer extreme": _extremes(tree_limits)[1].median(),
    }
    return Drawn(drawn, facts)


def _within(limits: xr.Dataset, ratio: np.ndarray, angle: np.ndarray, bound: str) -> int:
    """How many limits lie inside both bounds of their batch size, up to rounding."""
    bounds = limits.sel(bound_points=xr.DataArray(limits["points"].values, dims="case"))
    ratios, angles = bounds[f"{bound}_ratio"].values, bounds[f"{bound}_angle"].values
    return int(((ratio <= ratios * (1 + ROUNDING)) & (angle * (1 + ROUNDING) >= angles)).sum())


def _extremes(limits: xr.Dataset) -> tuple[np.ndarray, xr.DataArray]:
    """Batch sizes, and norms of the shorter over the longer extreme, of the Gaussian batches."""
    gaussian = np.flatnonzero(limits["kind"].values == "gaussian")
    return limits["points"].values[gaussian], limits["extremes"].isel(case=gaussian)


def _against_bounds(
    panel: Axes, points: np.ndarray, values: np.ndarray, printed: xr.DataArray, sharp: xr.DataArray
) -> None:
    panel.plot(printed["bound_points"], printed, color=RED, linestyle="--", label="bound as printed")
    panel.plot(sharp["bound_points"], sharp, color=BLUE, label="best possible bound")
    _ranges(panel, points, values, (0, 0.5, 1), "batches")


def _ranges(panel: Axes, points: np.ndarray, values: np.ndarray, shares: tuple[float, ...], label: str) -> None:
    """Median and range between two quantiles for each batch size, on a logarithmic axis of sizes."""
    sizes = np.unique(points)
    low, middle, high = np.transpose([np.quantile(values[points == n], shares) for n in sizes])
    bars = (middle - low, high - middle)
    panel.errorbar(sizes, middle, bars, fmt="o", color=BLACK, capsize=2, elinewidth=1.2, label=label)
    panel.set(xscale="log", xlabel="data points in the batch $n$", xlim=(0.88 * sizes.min(), 1.12 * sizes.max()))
    panel.set_xticks(sizes, [f"{n}" for n in sizes])
    panel.minorticks_off()


def _collapse(panel: Axes, interior_angles: xr.Dataset) -> list[float]:
    """Plots the angles of neighbors; their measured over their predicted rates of decay."""
    angle, n = interior_angles["angle"], interior_angles.sizes["first"]
    shown = angle.sel(layer=slice(8, max(100, n**2)))  # the rates of neighboring splits differ by 4/n^2
    layer = shown["layer"].values
    late = layer >= layer[-1] / 2
    rates = []
    for m, (color, dash) in zip(range(2, n // 2 + 1), SIZES, strict=False):
        pair = shown.sel(first=m, second=m + 1).values
        panel.plot(layer, pair, color=color, linestyle=dash, label=f"points {m}, {m + 1}")
        factor = float(interior_angles["kept"].sel(split=m))
        decay = pair[-1] * factor ** (layer[late] - layer[-1])
        rates.append(float(np.log(pair[-1] / pair[late][0]) / np.log(factor) / (layer[-1] - layer[late][0])))
        panel.plot(layer[late], decay, color=BLACK, linewidth=0.9, linestyle=(0, (4, 4)))
    if rates:
        panel.lines[-1].set_label("predicted decay")
    panel.set(yscale="log", xlim=(0, layer[-1]), title="collapse of the interior points")
    panel.set(xlabel="layer $t$", ylabel="angle between neighbors (degree)")
    return rates


def _second_extreme(panel: Axes, tree_limits: xr.Dataset) -> None:
    points, extremes = _extremes(tree_limits)
    n = np.linspace(points.min(), points.max(), 200)
    panel.plot(n, 1 / (n - 1), color=GRAY, linestyle="--", linewidth=1, label="one odd point")
    _ranges(panel, points, extremes.values, (0.1, 0.5, 0.9), "Gaussian batches")
    panel.set(ylim=(0, 1), title="both extremes")
    panel.set_ylabel("shorter over longer extreme")
