"""Speeds of neurons with and without BN, at equal iteration and at equal loss."""

from __future__ import annotations

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
    band,
    figure,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)


@figure(
    title="Figure 1, continued: speeds with BN over those without, at equal iteration and at equal loss",
    caption=r"Largest tangential speed of the BN model over that of the vanilla model, $\Sigma$ = diag(5, 1), for $y "
    "= x_1$ and several steps $h$ (solid), and at the step of Figure 1 for $y = x_2$ and for isotropic data. "
    "Horizontal line: tenfold; dotted: the paper's iteration. Band: range over starts with random signs of $a$. (a) "
    "At equal iteration. (b) With the vanilla model at the iteration where it has the BN model's loss.",
    alt="Ratio of the largest speeds against the iteration in two panels, one line per step and problem; a line at "
    "tenfold.",
)
def matched_loss(speed_ratio: xr.Dataset) -> Drawn:
    """Ratio of speeds with and without BN, at equal iteration and at equal loss."""
    fig, axes = new(1, 2, sharey=True, height=2.7)
    iteration, paper_step = int(speed_ratio["look"]), float(speed_ratio["paper_step"])
    cell = speed_ratio.sel(problem="y = x1").isel(start=0)
    colors = dict(zip(speed_ratio["step"].values.tolist(), (SKY, BLUE, BLACK, GREEN), strict=False))
    for step, color in colors.items():
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(cell["iteration"], cell[name].sel(step=step), color=color, label=f"$h$ = {step:g}")
    starts = speed_ratio.sel(problem="y = x1", step=paper_step).isel(start=slice(1, None))
    others = ((ORANGE, "--", "y = x2", "$y = x_2$"), (GREEN, ":", "y = x1, Sigma = I", r"$y = x_1$, $\Sigma = I$"))
    for color, dash, problem, label in others:
        other = speed_ratio.sel(problem=problem, step=paper_step).isel(start=0)
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(other["iteration"], other[name], dash, color=color, label=label)
    for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
        low, high = starts[name].min("start").values, starts[name].max("start").values
        band(panel, starts["iteration"].values, low, high, color=BLUE, label="range over random signs")
        panel.axhline(10, color=RED, linewidth=0.8, linestyle="--", label="tenfold")
        panel.axvline(iteration, color=BLACK, linewidth=0.6, linestyle=":", label="the paper's iteration")
        panel.set(yscale="log", ylim=(0.1, 300), xlabel="iteration of the BN model")
    axes[0, 0].set_title("at equal iteration")
    axes[0, 1].set_title("at equal loss")
    axes[0, 0].set_ylabel("largest speed, BN over vanilla")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    label_panels(axes)
    at_reading = cell.sel(step=paper_step, iteration=iteration)
    return Drawn(
        fig,
        {
            "the paper's iteration": iteration,
            "step of Figure 1": paper_step,
            "ratio there at equal iteration (the paper: 10)": float(at_reading["ratio"]),
            "ratio there at equal loss": float(at_reading["matched_ratio"]),
            "starts with random signs": starts.sizes["start"],
        },
    )


NETWORKS = (
    ("BN", BLUE, "-"),
    ("vanilla", RED, "--"),
    ("vanilla, same function", ORANGE, ":"),
    ("BN, many lengths", SKY, "-."),
    ("vanilla, many lengths", PURPLE, (0, (1, 1))),
)


@figure(
    title="Sections 4.1 and 4.2: iterations to learn, and the steps that learn, with and without BN",
    caption=r"Gradient descent on $y = x_1$, $\Sigma$ = diag(5, 1). (a) Iterations until the target is learned, "
    "medians over starts of random signs. (b) Steps that learn: medians (lines) and every start's smallest and "
    "largest (ticks). Unit lengths; the vanilla network with the BN network's function at the start; lengths spread "
    "evenly in the logarithm from 1/10 to 10.",
    alt="Iterations needed against the step, one line per network, and the range of steps that learn of each.",
)
def learning_over_steps(learning_rates: xr.Dataset) -> Drawn:
    """Iterations to learn y = x1 over the step, and the steps that learn, with and without BN."""
    fig, axes = new(1, 2, height=2.7, gridspec_kw={"width_ratios": [1.4, 1]})
    starts = learning_rates.isel(start=slice(1, None))
    for place, (name, color, dash) in enumerate(NETWORKS):
        needed = starts["needed"].sel(network=name).median("start")
        axes[0, 0].plot(needed["step"], needed.where(np.isfinite(needed)), color=color, linestyle=dash, label=name)
        ends = [starts[f"{end}_step"].sel(network=name) for end in ("smallest", "largest")]
        axes[0, 1].plot([end.median() for end in ends], [-place, -place], color=color, linestyle=dash, linewidth=2)
        for end in ends:
            axes[0, 1].plot(end, np.full(end.size, -place), "|", color=color)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="mean-field step $h$", ylabel="iterations to learn $y = x_1$")
    axes[0, 0].set_title("iterations at equal step")
    axes[0, 1].set(xscale="log", xlabel="mean-field step $h$", xlim=axes[0, 0].get_xlim())
    axes[0, 1].set_yticks([-place for place in range(len(NETWORKS))], [name for name, _, _ in NETWORKS])
    axes[0, 1].set_title("steps that learn")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    label_panels(axes)
    medians = starts[["largest_step", "decades"]].median("start")
    bn, vanilla = (medians.sel(network=name) for name in ("BN", "vanilla"))
    return Drawn(
        fig,
        {
            "starts": starts.sizes["start"],
            "learned: loss over that of f = 0 at most": float(learning_rates["learned"]),
            "iterations allowed": int(learning_rates["iterations"]),
            "largest step that learns, BN over vanilla (medians)": float(bn["largest_step"] / vanilla["largest_step"]),
            "range of steps that learn, BN over vanilla (medians)": 10 ** float(bn["decades"] - vanilla["decades"]),
        },
    )


@figure(
    title="Section 4.1: where BN's neurons are fast, over the direction of the target",
    caption=r"BN model, $\Sigma$ = diag(5, 1), target $w^T x$, starts of random signs. (a) Mean speed of the neurons "
    "within 15 degrees of the $x_2$ axis, of small variance, over that within 15 degrees of the $x_1$ axis (blue), "
    "and of the neurons nearer to either axis (orange): medians, bands: range of the starts. Shaded: the paper's "
    "sentence, faster where data are small. (b), (c) Speed of every neuron over its direction, and means (line).",
    alt="Contrast of speeds against the angle of the target, and speed of every neuron against its direction for "
    "the targets x1 and x2.",
)
def speeds_over_targets(target_scan: xr.Dataset) -> Drawn:
    """Where BN's neurons are fast, over the direction of the target."""
    fig, axes = new(1, 3, height=2.6)
    _draw_contrast(axes[0, 0], target_scan)
    for panel, angle in zip(axes[0, 1:], (0.0, 90.0), strict=True):
        _draw_speeds(panel, target_scan.sel(angle=angle))
        panel.set_title(f"target at {angle:g} degrees")
    top = max(panel.get_ylim()[1] for panel in axes[0, 1:])
    for panel in axes[0, 1:]:
        panel.set_ylim(0, top)
    axes[0, 1].set_ylabel("speed")
    label_panels(axes)
    contrast = 10 ** target_scan["outer_contrast"].sortby("angle").median("seed")
    return Drawn(
        fig,
        {
            "starts": target_scan.sizes["seed"],
            "iteration": int(target_scan["look"]),
            "mean-field step": float(target_scan["step"]),
            "median speed near $x_2$ over near $x_1$, target $x_1$": float(contrast.isel(angle=0)),
            "median speed near $x_2$ over near $x_1$, target $x_2$": float(contrast.isel(angle=-1)),
        },
    )


def _draw_contrast(panel: Axes, target_scan: xr.Dataset) -> None:
    for color, marker, name, words in (
        (BLUE, "o-", "outer_contrast", "within 15 degrees"),
        (ORANGE, "^--", "contrast", "nearer to either"),
    ):
        ratios = 10 ** target_scan[name].transpose("angle", "seed")
        panel.plot(target_scan["angle"], ratios.median("seed"), marker, color=color, label=words)
        band(panel, target_scan["angle"].values, ratios.min("seed").values, ratios.max("seed").values, color=color)
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    panel.axhspan(1, max(high, 1), color="0.93", linewidth=0, zorder=0, label="paper: faster near $x_2$")
    panel.axhline(1, color=BLACK, linewidth=0.7, label="equally fast")
    panel.set_ylim(low, high)
    plain_numbers(panel.yaxis)
    panel.set(xlabel="angle of the target (degree)", ylabel="speed near $x_2$ / near $x_1$", xticks=[0, 30, 60, 90])
    panel.set_title("contrast of speeds")
    legend_below(panel)


def _draw_speeds(panel: Axes, cell: xr.Dataset) -> None:
    """Every neuron's speed over its angle to the x1 axis, and the means in 15 degrees."""
    angle, speed = cell["axis_angle"].values.ravel(), cell["speed"].values.ravel()
    panel.plot(angle, speed, ".", color=SKY, markersize=3, markeredgewidth=0, label="a neuron")
    edges = np.arange(0, 91, 15)
    place = np.clip(np.digitize(angle, edges) - 1, 0, edges.size - 2)
    means = [speed[place == number].mean() if (place == number).any() else np.nan for number in range(edges.size - 1)]
    panel.stairs(means, edges, color=BLUE, linewidth=1.6, baseline=None, label="mean in 15 degrees")
    panel.set(xlabel="angle of the neuron (degree)", xticks=[0, 30, 60, 90])
    legend_below(panel)
