"""Figures of "Batch Normalization Decomposed", the paper's and those it lacks; numbers come from the datasets."""

from __future__ import annotations

from itertools import cycle
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    RED,
    Drawn,
    band,
    figure,
    half_width,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)

REGIMES = (  # recentering, rescaling, and the title of the column
    (0, "none", "neither"),
    (0, "std", "RS by std"),
    (0, "rms", "RS by RMS"),
    (1, "none", "RC"),
    (1, "std", "RC + RS"),
)

NORMALIZATIONS = {  # color and label; RC: recentering, RS: rescaling
    "std": (GREEN, "RS by std"),
    "rms": (RED, "RS by RMS"),
    "full": (BLUE, "RC + RS"),
}
PAPER = {"rms": 60.0, "full": 75.0}  # degrees, caption of Figure 5
GRAY = "#666666"  # what the paper says


@figure(
    title="Figure 1 as data: angles of a batch by combination of the components",
    caption="Angles of all pairs of a batch of images after the last layer at initialization, pooled over the draws "
    "of batch and weights, each panel scaled to its highest bar. RC: recentering; RS: rescaling, by the standard "
    "deviation of eq. (2) or by the root mean square. Orange-red: pairs that hold the point of largest norm. Numbers: "
    "medians over the draws of effective rank and of second largest over largest norm. Orthogonal points have all "
    "pairs at 90 degrees, a simplex all at one angle above it, a collapsed batch all at 0 or 180; an odd point has "
    "its pairs at 90 and a small ratio of norms. The paper's Figure 1 is a diagram of the components without numbers.",
    alt="Ten histograms of pair angles, linear above and ReLU below, one column per normalization; pairs that hold "
    "the longest point in orange-red.",
)
def fig1_ablation(ablation: xr.Dataset) -> Drawn:
    """Figure 1 as data: what recentering, rescaling and ReLU each do to the angles of a batch."""
    drawn, axes = new(2, len(REGIMES), height=1.9, sharex=True)
    last = ablation.isel(layer=-1)
    for row, relu in enumerate((0, 1)):
        for column, (recenter, rescale, title) in enumerate(REGIMES):
            _angle_histogram(axes[row, column], last.sel(recenter=recenter, rescale=rescale, relu=relu))
            if row == 0:
                axes[row, column].set_title(title)
    axes[0, 0].set_ylabel("linear network")
    axes[1, 0].set_ylabel("ReLU network")
    for panel in axes.ravel():
        panel.set_ylim(top=1.35 * panel.get_ylim()[1])
    rescaling = "rescaling by the standard deviation (std) or root mean square (RMS)"
    drawn.supxlabel(f"angle of a pair (degree); RC: recentering, RS: {rescaling}", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=2)
    facts = {
        "images in a batch": int(ablation["point_count"]),
        "layers": int(ablation["layer"][-1]),
        "width": int(ablation["width"]),
        "draws": ablation.sizes["seed"],
    }
    return Drawn(drawn, facts)


def _angle_histogram(panel: Axes, cell: xr.Dataset) -> None:
    odd, angles = cell["with_odd"].values.astype(bool), cell["angle"].values
    names = ["other pairs of points", "pairs with the longest point"]
    panel.hist([angles[~odd], angles[odd]], range(0, 181, 6), stacked=True, color=[BLUE, RED], label=names)
    panel.set_xticks([0, 90, 180])
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    rank, ratio = (float(cell[name].median()) for name in ("effective_rank", "second_to_first"))
    text = f"effective rank {rank:.1f}\nnorms 2nd/1st {ratio:.2f}"
    panel.text(0.97, 0.95, text, transform=panel.transAxes, ha="right", va="top", fontsize=7.5)


@figure(
    title="Rescaling alone in linear networks: the orthogonality gap by layer",
    caption="Distance of the normalized Gram matrix of Gaussian points from $I/n$ through linear layers with rescaling "
    "and no recentering: 0 where the batch is orthonormal. (a) Dividing each neuron by its root mean square. (b) "
    "Dividing by the standard deviation of eq. (2), which is measured from the mean. Lines: medians, bands: range of "
    "the draws of batch and weights; dotted: the gap of points that all lie on one line.",
    alt="Two panels of gap against layer, one line per width; dotted: the largest value.",
)
def orthogonality_gap(orthogonality_gap: xr.Dataset) -> Drawn:
    """Rescaling alone in a linear network, by the RMS and by the sigma of eq. (2)."""
    drawn, axes = new(1, 2, sharey=True)
    gap = orthogonality_gap["gap"]
    for panel, (rescale, title) in zip(axes[0], (("rms", "RS by RMS"), ("std", "RS by std, eq. (2)")), strict=True):
        styles = zip(cycle(CYCLE), cycle(("-", "--", ":", "-.")), gap["width"].values, strict=False)
        for color, dash, width in styles:
            draws = gap.sel(rescale=rescale, width=width)
            panel.plot(gap["layer"], draws.median("seed"), color=color, linestyle=dash, label=f"width {width}")
            band(panel, gap["layer"].values, draws.min("seed").values, draws.max("seed").values, color=color)
        panel.set_title(title)
        panel.set_xlabel("layer")
        panel.set_yscale("log")
    n = int(orthogonality_gap["point_count"])
    for panel in axes[0]:
        words = "all points on one line"
        panel.axhline(np.sqrt(1 - 1 / n), color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)), label=words)
    axes[0, 0].set_ylabel("orthogonality gap")
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    label_panels(axes)
    last = gap.isel(layer=-1).median("seed")
    facts = {
        "points": n,
        "layers": int(gap["layer"][-1]),
        "draws": gap.sizes["seed"],
        "widths": gap["width"],
        "median gap after the last layer by width, root mean square": last.sel(rescale="rms"),
        "median gap after the last layer by width, standard deviation": last.sel(rescale="std"),
    }
    return Drawn(drawn, facts)


@figure(
    title="Figure 5: angles after a deep layer without and with recentering",
    caption="(a), (b) Angles of all pairs of a batch, all draws, before and after the last layer (ReLU), without "
    "recentering and with all of batch normalization (RC: recentering, RS: rescaling); black diagonal: unchanged. The "
    "batch size shown is that whose mean angle with recentering is nearest to the paper's. (c) The angles after this "
    "layer: medians and 5-95 % ranges over all pairs and draws, for every batch size. (d) Mean angle against batch "
    "size: points with 95 % intervals of the mean over the draws of batch and weights, lines: exact fixed points of "
    r"infinite width, which tend to $\arccos(1/\pi)$ = 71.4 degrees with recentering and to 58.75 without. Gray "
    "dashes: the paper's values, 60 and 75 degrees, which it calls approximate and shows after layer 30; it states no "
    r"data, batch size or width, and defines $\sigma$ by eq. (2).",
    alt="Two scatter plots of pair angles before and after a layer; ranges of the angles by normalization and "
    "batch size; mean angles against batch size with curves of infinite width; lines at the paper's 60 and 75 "
    "degrees.",
)
def fig5_layer_angles(layer_angles: xr.Dataset, fixed_point: xr.Dataset) -> Drawn:
    """Figure 5: angles before and after the last layer without and with recentering, and what sets them."""
    drawn, axes = new(2, 2, height=2.8)
    n = _batch_of_the_paper(layer_angles)
    pairs = layer_angles.isel(pair=np.flatnonzero(layer_angles["pair_batch"] == n))
    window = _window(pairs.sel(normalization=list(PAPER)))
    for panel, (kind, level) in zip(axes[0], PAPER.items(), strict=True):
        angles = pairs.sel(normalization=kind)
        color, label = NORMALIZATIONS[kind]
        panel.plot(window, window, color=BLACK, linewidth=0.7)
        _across(panel, level, "left" if level > np.mean(window) else "right")
        dots = {"color": color, "alpha": 0.5, "linewidths": 0}
        panel.scatter(angles["before"], angles["after"], s=6, **dots)
        panel.set(xlim=window, ylim=window, title=f"{label}, $n$ = {n}")
        panel.set_xlabel(f"angle after layer {int(layer_angles['depth']) - 1} (degree)")
        panel.set_ylabel(f"after layer {int(layer_angles['depth'])} (degree)")
    _angles_by_normalization(axes[1, 0], layer_angles)
    _angle_against_batch(axes[1, 1], layer_angles, fixed_point)
    label_panels(axes)
    means = layer_angles["mean_angle"].mean("seed")
    facts: dict[str, object] = {
        "width": int(layer_angles["width"]),
        "draws": layer_angles.sizes["seed"],
        "batch sizes": layer_angles["batch"],
    }
    for kind, (_, label) in NORMALIZATIONS.items():
        facts[f"mean angle by batch size, {label} (degree)"] = means.sel(normalization=kind)
    return Drawn(drawn, facts)


def _batch_of_the_paper(layer_angles: xr.Dataset) -> int:
    """The batch size whose mean angle with batch normalization is nearest to the paper's."""
    means = layer_angles["mean_angle"].sel(normalization="full").mean("seed").values
    return int(layer_angles["batch"][np.argmin(np.abs(means - PAPER["full"]))])


def _window(pairs: xr.Dataset) -> tuple[float, float]:
    """Multiples of 10 degrees around all angles before and after."""
    angles = np.append(pairs["before"], pairs["after"])
    return 10 * np.floor(angles.min() / 10), 10 * np.ceil(angles.max() / 10)


def _beside(panel: Axes, level: float) -> None:
    """A value of the paper: a gray dashed line, labeled right of the panel."""
    panel.axhline(level, color=GRAY, linewidth=1, linestyle="--", zorder=1)
    frame = panel.get_yaxis_transform()
    panel.annotate(f"paper:\n{level:g}°", (1.02, level), xycoords=frame, ha="left", va="center", color=GRAY, size=7.5)


def _across(panel: Axes, level: float, side: Literal["left", "right"]) -> None:
    """A value of the paper: a gray dashed line, labeled above one end."""
    panel.axhline(level, color=GRAY, linewidth=1, linestyle="--", zorder=1)
    frame = panel.get_yaxis_transform()
    place = (0.02 if side == "left" else 0.98, level)
    panel.annotate(
        f"paper: {level:g}°", place, (0, 2.5), xycoords=frame, textcoords="offset points", ha=side, color=GRAY, size=7.5
    )


def _angles_by_normalization(panel: Axes, layer_angles: xr.Dataset) -> None:
    batches = layer_angles["batch"].values
    places = []
    for row, (kind, (color, label)) in enumerate(NORMALIZATIONS.items()):
        for place, n in enumerate(batches):
            angles = layer_angles["after"].sel(normalization=kind, pair=layer_angles["pair_batch"] == n)
            low, middle, high = np.quantile(angles, (0.05, 0.5, 0.95))
            height = row + 0.6 * (place + 0.5) / batches.size - 0.3
            places.append((height, f"{label}, $n$ = {n}"))
            panel.plot((low, high), (height, height), color=color, linewidth=3, alpha=0.5, solid_capstyle="butt")
            panel.plot(middle, height, "o", color=color)
    frame = panel.get_xaxis_transform()
    for level, side in zip(PAPER.values(), ("right", "left"), strict=True):
        panel.axvline(level, color=GRAY, linewidth=1, linestyle="--", zorder=1)
        panel.annotate(
            f"paper: {level:g}°", (level, 1), (0, 2.5), xycoords=frame, textcoords="offset points", ha=side, color=GRAY,
            size=7.5,
        )  # fmt: skip
    panel.set_title("all pairs")
    panel.set_yticks(*zip(*places, strict=True))
    panel.set(xlim=(0, 90), xticks=(0, 30, 60, 90), ylim=(len(NORMALIZATIONS) - 0.4, -0.6))
    panel.set_xlabel(f"angle after layer {int(layer_angles['depth'])} (degree)")


def _angle_against_batch(panel: Axes, layer_angles: xr.Dataset, fixed_point: xr.Dataset) -> None:
    for name, kind, color, dash, label in (
        ("simplex_angle", "full", BLUE, "-", "RC + RS"),
        ("rms_angle", "rms", RED, "-.", "RS by RMS"),
    ):
        panel.plot(fixed_point["batch"], fixed_point[name], color=color, linestyle=dash, label=label)
        draws = layer_angles["mean_angle"].sel(normalization=kind)
        half = half_width(draws.transpose("batch", "seed"))
        panel.errorbar(draws["batch"], draws.mean("seed"), half, fmt="o", color=color, capsize=2)
    for level in PAPER.values():
        _beside(panel, level)
    panel.set_xscale("log")
    plain_numbers(panel.xaxis)
    panel.set_title("angle at rest")
    panel.set_xlabel("data points in the batch $n$")
    panel.set_ylabel("angle (degree)")
    legend_below(panel, columns=2)
