"""Figures of "Batch Normalization Decomposed", the paper's and those it lacks; numbers come from the datasets."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    ORANGE,
    RED,
    band,
    describe,
    half_width,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)

REGIMES = (  # recentering, rescaling, and the words above the column
    (0, "none", "nothing"),
    (0, "std", "RS by std, eq. (2)"),
    (0, "rms", "RS by RMS"),
    (1, "none", "RC"),
    (1, "std", "RC + RS"),
)


def fig1_ablation(ablation: xr.Dataset) -> Figure:
    """Figure 1 as data: what recentering, rescaling and ReLU each do to the angles of a batch."""
    figure, axes = new(2, len(REGIMES), height=1.9, sharex=True)
    last = ablation.isel(layer=-1)
    for row, relu in enumerate((0, 1)):
        for column, (recenter, rescale, words) in enumerate(REGIMES):
            _angle_histogram(axes[row, column], last.sel(recenter=recenter, rescale=rescale, relu=relu))
            if row == 0:
                axes[row, column].set_title(words)
    axes[0, 0].set_ylabel("linear", fontweight="bold")
    axes[1, 0].set_ylabel("ReLU", fontweight="bold")
    for panel in axes.ravel():
        panel.set_ylim(top=1.35 * panel.get_ylim()[1])
    figure.supxlabel("angle of a pair (degree)", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    seeds, n, width, depth = (
        ablation.sizes["seed"],
        int(ablation["point_count"]),
        int(ablation["width"]),
        int(ablation["layer"][-1]),
    )
    return describe(
        figure,
        title="Figure 1 as data: each component of batch normalization on and off",
        caption=f"Angles of all pairs of a batch of {n} images after {depth} layers of width {width} at "
        f"initialization, pooled over {seeds} draws of batch and weights. RC: recentering; RS: rescaling, by the "
        "standard deviation of eq. (2) or by the root mean square. Vermilion: pairs that hold the point of largest "
        "norm. Numbers: medians over the draws of effective rank and of second largest over largest norm. Four "
        "regimes: orthogonal points (RS by RMS, linear), the simplex (RC + RS), collapse (RS by std without RC), and "
        "one odd point orthogonal to a cluster (RC with ReLU alone).",
        alt="Ten histograms of pair angles. Only recentering with ReLU and no rescaling splits the angles into a small "
        "cluster and pairs at 90 degrees that all hold one point.",
    )


def _angle_histogram(panel: Axes, cell: xr.Dataset) -> None:
    odd, angles = cell["with_odd"].values.astype(bool), cell["angle"].values
    names = ["other pairs", "with the longest point"]
    panel.hist([angles[~odd], angles[odd]], range(0, 181, 6), stacked=True, color=[BLUE, RED], label=names)
    panel.set_xticks([0, 90, 180])
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    rank, ratio = (float(cell[name].median()) for name in ("effective_rank", "second_to_first"))
    text = f"eff. rank {rank:.1f}\n2nd/1st norm {ratio:.2f}"
    panel.text(0.97, 0.95, text, transform=panel.transAxes, ha="right", va="top", fontsize=7.5)


def orthogonality_gap(orthogonality_gap: xr.Dataset) -> Figure:
    """Rescaling alone in a linear network: orthonormal with the RMS, collapsed with the sigma of eq. (2)."""
    figure, axes = new(1, 2, sharey=True)
    gap = orthogonality_gap["gap"]
    for panel, (rescale, words) in zip(axes[0], (("rms", "RS by RMS"), ("std", "RS by std, eq. (2)")), strict=True):
        looks = zip(cycle(CYCLE), cycle(("-", "--", ":", "-.")), gap["width"].values, strict=False)
        for color, dash, width in looks:
            draws = gap.sel(rescale=rescale, width=width)
            panel.plot(gap["layer"], draws.median("seed"), color=color, linestyle=dash, label=f"width {width}")
            band(panel, gap["layer"].values, draws.min("seed").values, draws.max("seed").values, color=color)
        panel.set_title(words)
        panel.set_xlabel("layer")
        panel.set_yscale("log")
    n = int(orthogonality_gap["point_count"])
    for panel in axes[0]:
        panel.axhline(np.sqrt(1 - 1 / n), color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)))
    axes[0, 0].set_ylabel("orthogonality gap")
    axes[0, 1].text(
        0.98,
        0.88,
        "dotted: all points on one line",
        transform=axes[0, 1].transAxes,
        ha="right",
        va="top",
        fontsize=7.5,
    )
    axes[0, 0].legend()
    label_panels(axes)
    return describe(
        figure,
        title="Rescaling alone: orthonormal or collapsed, by what the scale is measured from",
        caption=f"Distance of the normalized Gram matrix of {n} Gaussian points from $I/n$ through linear layers with "
        "rescaling and no recentering. (a) Dividing each neuron by its root mean square makes the batch orthonormal up "
        "to a gap that falls with the square root of the width. (b) Dividing by the standard deviation of eq. (2), "
        f"which is measured from the mean, does the opposite. Lines: medians, bands: range of {gap.sizes['seed']} "
        "draws of batch and weights.",
        alt="Two panels of gap against layer. Left, the gap falls and settles lower for wider layers; right, it "
        "rises to its largest value.",
    )


def fig5_layer_angles(layer_angles: xr.Dataset, fixed_point: xr.Dataset) -> Figure:
    """Figure 5: angles before and after the last layer without and with recentering, and what sets them."""
    figure, axes = new(2, 2, height=2.7)
    batches = layer_angles["batch"].values
    panels = (
        ("rms", "no recentering, RS by RMS"),
        ("std", "no recentering, RS by std, eq. (2)"),
        ("full", "batch normalization (RC + RS)"),
    )
    for panel, (kind, words) in zip(axes.ravel(), panels, strict=False):
        looks = zip(cycle((RED, BLUE, GREEN, ORANGE)), cycle("o.^s*"), batches, strict=False)
        for color, marker, n in reversed(list(looks)):
            pairs = layer_angles.sel(normalization=kind).isel(
                pair=np.flatnonzero(layer_angles["pair_batch"] == n), seed=slice(0, 4)
            )
            panel.scatter(
                pairs["before"],
                pairs["after"],
                s=5,
                color=color,
                marker=marker,
                alpha=0.35,
                linewidths=0,
                label=f"$n$ = {n}",
                rasterized=True,
            )
        panel.plot((0, 90), (0, 90), color=BLACK, linewidth=0.7)
        panel.set(xlim=(0, 90), ylim=(0, 90), xticks=(0, 30, 60, 90), yticks=(0, 30, 60, 90))
        panel.set_title(words)
        panel.set_xlabel(f"angle after layer {int(layer_angles['depth']) - 1} (degree)")
        panel.set_ylabel(f"after layer {int(layer_angles['depth'])} (degree)")
    _mark(axes[0, 0], fixed_point["rms_angle"], batches)
    _mark(axes[1, 0], fixed_point["simplex_angle"], batches)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=2.5)
    _angle_against_batch(axes[1, 1], layer_angles, fixed_point)
    label_panels(axes)
    return describe(
        figure,
        title="Figure 5: the angles 60 and 75 degrees, and where they come from",
        caption=f"(a)-(c) Angles of all pairs before and after layer {int(layer_angles['depth'])} (width "
        f"{int(layer_angles['width'])}, ReLU), 4 draws shown; diagonal: unchanged; horizontal lines: fixed points at "
        "infinite width for these batch sizes. About 60 degrees needs rescaling by the root mean square; with the "
        r"$\sigma$ of eq. (2) the batch collapses. (d) Mean angle against batch size $n$: points with 95 % intervals "
        f"of the mean over {layer_angles.sizes['seed']} draws of batch and weights, curves: exact fixed points. 75 "
        r"degrees is the value at $n = 9$; it falls to $\arccos(1/\pi)$ = 71.4 degrees.",
        alt="Three scatter plots of pair angles and one curve: with recentering the angle falls from 84 degrees for "
        "three points to 71 degrees for many, passing 75 at nine.",
    )


def _mark(panel: Axes, curve: xr.DataArray, batches: np.ndarray) -> None:
    for n in np.intersect1d(batches, curve["batch"]):
        panel.axhline(float(curve.sel(batch=n)), color=BLACK, linewidth=0.8, linestyle="--")


def _angle_against_batch(panel: Axes, layer_angles: xr.Dataset, fixed_point: xr.Dataset) -> None:
    for name, kind, color, dash, words in (
        ("simplex_angle", "full", BLUE, "-", "RC + RS"),
        ("rms_angle", "rms", RED, "--", "RS by RMS"),
    ):
        panel.plot(fixed_point["batch"], fixed_point[name], color=color, linestyle=dash, label=words)
        draws = layer_angles["mean_angle"].sel(normalization=kind)
        half = half_width(draws.transpose("batch", "seed"))
        panel.errorbar(draws["batch"], draws.mean("seed"), half, fmt="o", color=color, capsize=2)
    for level in (60, 75):
        panel.axhline(level, color=BLACK, linewidth=0.6, linestyle=(0, (1, 3)))
    panel.set_xscale("log")
    plain_numbers(panel.xaxis)
    panel.set_title("angle at rest")
    panel.set_xlabel("data points in the batch $n$")
    panel.set_ylabel("angle (degree)")
    legend_below(panel, columns=2)
