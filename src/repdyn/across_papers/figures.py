"""One figure per question."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.across_papers.methods.names import ENDS, middle_layer
from repdyn.bn_decomposed.theory.odd_cluster import odd_fixed_point
from repdyn.plotting.figures import BLACK, BLUE, GREEN, ORANGE, RED, SKY, Drawn, band, figure, label_panels, new

CURVES = {
    "h": ("representation_distance", "$h$, half depth", BLUE),
    "y": ("prediction_distance", "$y$, outputs", RED),
    "w": ("prediction_alignment", "$w$, alignment", GREEN),
}
ODD = 2  # largest over second norm: above it a batch has an odd point
TINY = 1e-12  # an axis needs a length, where nothing is left of h
SHADE: dict[str, Any] = {"color": SKY, "alpha": 0.3, "linewidth": 0}


@figure(
    title="Four networks on two points, with the fitted theory (question 1)",
    caption="(a-d) Two points alone: squared distance $h$ of the representations at half depth, above, on axes from "
    "zero, with the range of the network's $h$ over its mean; squared distance $y$ of the outputs and alignment $w$, "
    "below. Lines: network, dashed: theory with two fitted rates; the seed is the middle one by the ratio of $U$ with "
    "batch normalization to $U$ without. (e) Unexplained share $U$ of the variance of $h, y, w$: a curve that hardly "
    "moves can be missed by little and still have a large $U$. Filled: two points alone; open: pairs of digits in a "
    "batch; bars: medians; shaded: up to twice the plain network's median on two points.",
    alt="Curves of two points in four networks with the fitted theory dashed, and dots of the unexplained share, one "
    "per seed.",
)
def theory_fits(two_points: xr.Dataset, theory_fits: xr.Dataset) -> Drawn:
    """Question 1: two points alone with the fitted theory, and the unexplained share of every seed."""
    kinds = two_points["network"].values
    seed = _middling_seed(theory_fits)
    drawn, axes = new(3, len(kinds), height=1.75)
    for column, kind in zip(axes.T, kinds, strict=True):
        _two_point_panels(column[:2], two_points.sel(network=kind, seed=seed), theory_fits.sel(network=kind, seed=seed))
        column[0].set_title(str(kind))
    axes[0, 0].set_ylabel("$h$")
    axes[1, 0].set_ylabel("$y$ and $w$")
    handles, labels = (axes[0, 0].get_legend_handles_labels()[part] for part in (0, 1))
    for part, more in enumerate(axes[1, 0].get_legend_handles_labels()):
        (handles, labels)[part][1:1] = more[:3:2]  # y and w; the theory is named once, last
    drawn.legend(handles, labels, loc="outside lower center", ncols=4)
    for panel in axes[2]:
        panel.remove()
    wide = drawn.add_subplot(axes[0, 0].get_gridspec()[2, :])
    _share_panel(wide, theory_fits)
    label_panels(np.array([*axes[0], wide]))
    facts = {
        "seeds of two points alone": theory_fits.sizes["seed"],
        "seeds of pairs of digits": theory_fits["unexplained"].sel(data="digits").isel(network=0).notnull().sum(),
        "networks": theory_fits["network"],
        "median unexplained share of two points alone by network": theory_fits["unexplained"]
        .sel(data="two points")
        .median("seed"),
    }
    return Drawn(drawn, facts)


def _middling_seed(theory_fits: xr.Dataset) -> int:
    shares = cast("xr.DataArray", np.log2(theory_fits["unexplained"].sel(data="two points")))
    ratio = (shares.sel(network="batch norm") - shares.sel(network="plain")).values
    return int(theory_fits["seed"].values[np.argsort(ratio)[len(ratio) // 2]])


def _two_point_panels(panels: np.ndarray, data: xr.Dataset, fit: xr.Dataset) -> None:
    for name, (variable, label, color) in CURVES.items():
        panel = panels[0] if name == "h" else panels[1]
        panel.plot(data["step"], data[variable].isel(pair=0), color=color, label=label)
        theory = fit["theory"].sel(curve=name)
        panel.plot(fit["moment"], theory, color=BLACK, linestyle=(0, (3, 2)), linewidth=1, label="theory")
    h = data["representation_distance"].isel(pair=0)
    heights = np.r_[h.values, fit["theory"].sel(curve="h").values, TINY]
    panels[0].set_ylim(0, 1.15 * heights[np.isfinite(heights)].max())
    moved = float((h.max() - h.min()) / h.mean())
    label = f"range {100 * moved:.3g} %" if np.isfinite(moved) else "diverged"
    panels[0].text(0.97, 0.06, label, transform=panels[0].transAxes, ha="right", fontsize=7.5)
    panels[0].set_xticklabels([])
    panels[1].set_xlabel("step")


def _share_panel(panel: Axes, theory_fits: xr.Dataset) -> None:
    shares = theory_fits["unexplained"]
    for place, kind in enumerate(theory_fits["network"].values):
        for shift, data, name, filled in (
            (-0.18, "two points", "two points alone", True),
            (0.18, "digits", "pairs of digits", False),
        ):
            draws = shares.sel(network=kind, data=data).dropna("seed").values
            jitter = np.linspace(-0.12, 0.12, draws.size)
            style: dict[str, Any] = {"color": BLUE, "markerfacecolor": BLUE if filled else "none", "markersize": 3.5}
            label = name if place == 0 else None
            panel.plot(place + shift + jitter, draws, "o", alpha=0.8, label=label, **style)
            if draws.size:
                bar: dict[str, Any] = {"color": BLACK, "markersize": 22, "markeredgewidth": 1.5}
                panel.plot(place + shift, np.median(draws), "_", label="median" if label and filled else None, **bar)
    middle = float(shares.sel(network="plain", data="two points").median())
    if np.isfinite(middle):
        low = panel.get_ylim()[0] if middle <= 0 else middle / 50
        panel.axhspan(low, 2 * middle, label="up to twice plain's median", **SHADE)
    panel.set_yscale("log")
    if np.isfinite(shares).any():
        panel.set_ylim(bottom=float(shares.min()) / 1.5)
    panel.set_xticks(range(theory_fits.sizes["network"]), theory_fits["network"].values)
    panel.set_title("unexplained")
    panel.set_ylabel("$U$")
    panel.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0, columnspacing=1, markerscale=0.7
    )


@figure(
    title="Effective rank through four networks, before and after training on two tasks (question 2)",
    caption="Effective rank without the mean over points, layer by layer from input (in) to output (out); tasks of two "
    "ranks on the same digits. Lines: means over the seeds, bands: their range; shaded: within a factor of two of the "
    "task's rank; vertical line: half depth, where the question is decided; the facts count the seeds that have "
    "learned the task and are at rest after training.",
    alt="Rank against depth for four networks and two tasks, before and after training, with the task's rank.",
)
def bottlenecks(digits: xr.Dataset) -> Drawn:
    """Question 2: effective rank through depth, before and after training, two tasks."""
    tasks, kinds, layers = digits["task"].values, digits["network"].values, list(digits["layer"].values)
    drawn, axes = new(len(tasks), len(kinds), height=2.1, sharey=True)
    for row, task in zip(axes, tasks, strict=True):
        for panel, kind in zip(row, kinds, strict=True):
            _rank_panel(panel, digits.sel(task=task, network=kind), layers)
            panel.set_title(str(kind) if task == tasks[0] else "")
        row[0].set_ylabel(f"{task}: effective rank")
    for panel in axes[:-1].ravel():
        panel.set_xticklabels([])
    for panel in axes[-1]:
        panel.set_xlabel("layer")
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes[0])
    resting = (digits["learned"] == 1) & (digits["at_rest"] == 1)
    middle = digits["centered_effective_rank"].sel(layer=middle_layer(layers), end=ENDS[1]).where(resting).mean("seed")
    facts: dict[str, object] = {"seeds": digits.sizes["seed"], "networks": kinds}
    for task in tasks:
        facts[f"seeds at rest by network, {task}"] = resting.sel(task=task).sum("seed")
        facts[f"rank of the task, {task}"] = digits["centered_task_rank"].sel(task=task).isel(network=0)
        facts[f"mean rank at half depth of seeds at rest by network, {task}"] = middle.sel(task=task)
    return Drawn(drawn, facts)


def _rank_panel(panel: Axes, data: xr.Dataset, layers: list[str]) -> None:
    x, rank = np.arange(len(layers)), float(data["centered_task_rank"])
    panel.axhspan(rank / 2, rank * 2, label="within a factor 2 of the task's rank", **SHADE)
    panel.axvline(layers.index(middle_layer(layers)), color=BLACK, linewidth=0.6, linestyle=":", label="half depth")
    for end, color, dash in zip(ENDS, (ORANGE, BLUE), ("--", "-"), strict=True):
        draws = data["centered_effective_rank"].sel(end=end)
        band(panel, x, draws.min("seed").values, draws.max("seed").values, color=color)
        panel.plot(x, draws.mean("seed"), color=color, linestyle=dash, marker="o", markersize=2.5, label=end)
    panel.set_yscale("log", base=2)
    panel.set_xticks(x[::2], ["in", *(str(number) for number in x[2:-1:2]), *(["out"] if len(x) % 2 else [])])


@figure(
    title="Largest over second norm of a batch through five networks, before and after training (question 3)",
    caption="Largest over second largest norm of a batch of digits by layer. Thin lines: seeds, after training those "
    "that have learned (the facts count them); thick: medians. Above the solid black line, at 2, the batch has an odd "
    "point; dashed black: the ratio at its fixed point of infinite width with recentering alone, batch normalization "
    "without rescaling.",
    alt="A norm ratio against depth for five networks, before and after training, with the ratio of an odd point.",
)
def odd_points(odd_batch: xr.Dataset) -> Drawn:
    """Question 3: largest over second norm through depth, before and after training."""
    kinds, n = odd_batch["network"].values, int(odd_batch["point_count"])
    depth = [int(name.rpartition(".")[2]) + 1 for name in odd_batch["layer"].values]
    drawn, axes = new(1, len(kinds), height=2.4, sharey=True)
    for panel, kind in zip(axes[0], kinds, strict=True):
        runs = odd_batch.sel(network=kind)
        learners = np.flatnonzero(runs["learned"].values == 1)
        for end, color, dash in zip(ENDS, (ORANGE, BLUE), ("--", "-"), strict=True):
            draws = runs["norm_ratio"].sel(end=end).transpose("layer", "seed")
            draws = draws if end == ENDS[0] else draws.isel(seed=learners)
            panel.plot(depth, draws, color=color, linewidth=0.5, alpha=0.45, linestyle=dash)
            if draws.sizes["seed"]:
                panel.plot(depth, draws.median("seed"), color=color, linewidth=2, linestyle=dash, label=end)
        panel.axhline(ODD, color=BLACK, linewidth=0.8, label="odd point above")
        if fixed := odd_fixed_point(n):
            ratio = (n - 1) / fixed.norm_ratio
            panel.axhline(ratio, color=BLACK, linewidth=0.9, linestyle=(0, (4, 2)), label="fixed point, recentering")
        panel.set_yscale("log", base=2)
        panel.set_title(str(kind))
        panel.set_xlabel("layer")
    axes[0, 0].set_ylabel("largest / second norm")
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes)
    last = odd_batch["norm_ratio"].isel(layer=-1)
    facts = {
        "digits in the batch": n,
        "layers": max(depth),
        "seeds": odd_batch.sizes["seed"],
        "seeds that have learned by network": (odd_batch["learned"] == 1).sum("seed"),
        "networks": kinds,
        "median ratio in the last layer by network, before training": last.sel(end=ENDS[0]).median("seed"),
        "the same of seeds that have learned, after training": last.sel(end=ENDS[1])
        .where(odd_batch["learned"] == 1)
        .median("seed"),
    }
    return Drawn(drawn, facts)


ORDER = ("theory_fits", "bottlenecks", "odd_points")
"""The order of the paper, in which the report shows the figures."""
