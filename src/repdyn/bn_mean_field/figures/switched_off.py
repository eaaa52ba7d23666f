"""What batch normalization does without its anisotropic speed, and without moving its inner weights."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    describe,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)
from repdyn.base.wording import outcome, span

SAME = 0.05  # difference of shares of neurons that counts as none
NETWORKS = (
    ("BN", BLUE, "o"),
    ("BN, equal speeds", ORANGE, "x"),
    ("BN, two lengths", PURPLE, "^"),
    ("vanilla", RED, "s"),
)


def parts_switched_off(feature_learning: xr.Dataset, concentration: xr.Dataset) -> Figure:
    """Iterations to learn a single index over the step, and shares of neurons near x1, with and without the effect."""
    figure, axes = new(1, 2, height=2.9)
    _draw_iterations(axes[0, 0], feature_learning)
    _draw_shares(axes[0, 1], concentration)
    for panel in axes[0]:
        legend_below(panel)
    label_panels(axes)
    task, threshold = str(feature_learning["task"].values[0]), float(feature_learning["threshold"][0])
    return describe(
        figure,
        title=f"Section 4.1: without the anisotropic speed BN learns {_learns(feature_learning)} than vanilla, and "
        f"{_gathers(concentration)} near $x_1$",
        caption="BN, the same with speeds that do not depend on the direction, with lengths 1 and 10, and no BN. "
        f"(a) Iterations until the loss is {threshold:g} of that of $f = 0$, {task}, each of "
        f"{feature_learning.sizes['start']} starts at its own steps; with b frozen the least "
        f"loss over all $a$ is {span(feature_learning['frozen'].isel(task=0))} of it. (b) Share of "
        "neurons within 15 degrees of $x_1$ for linear targets at several angles to $x_1$, mean over "
        f"{concentration.sizes['start']} starts; as many: within {SAME:.0%} of all neurons at the end, for every "
        "target. Fewer iterations: at each start's best step.",
        alt="Iterations needed against the step, one color per network; share of neurons near x1 over the iterations, "
        "with and without equal speeds, for targets at several angles.",
    )


def _learns(feature_learning: xr.Dataset) -> str:
    """Whether BN with equal speeds needs fewer iterations than no BN, each start at its best step."""
    speed = (1 / feature_learning["needed"].isel(task=0, threshold=0)).max("step").median("start")
    gain = speed.sel(network="BN, equal speeds") - speed.sel(network="vanilla")
    return outcome(gain, "in fewer iterations", "in no fewer iterations", "in no known fewer iterations")


def _gathers(concentration: xr.Dataset) -> str:
    """Whether the shares of neurons near x1 at the end are the same with and without equal speeds."""
    last = concentration["axis_angle"].isel(iteration=-1)
    near = (last < 15).where(last.notnull()).mean(("neuron", "start"))
    apart = np.abs(near.sel(network="BN, equal speeds") - near.sel(network="BN"))
    return outcome(SAME - apart, "as many neurons end", "not as many neurons end", "an unknown number of neurons ends")


def _draw_iterations(panel: Axes, feature_learning: xr.Dataset) -> None:
    steps = feature_learning["tried"].transpose("start", "step").values.ravel()
    cells = feature_learning["needed"].isel(task=0, threshold=0).transpose("network", "start", "step")
    for name, color, marker in NETWORKS:
        needed = cells.sel(network=name).values.ravel()
        learned = np.isfinite(needed)
        panel.plot(steps[learned], needed[learned], marker, color=color, markersize=1.5, alpha=0.5, label=name)
    panel.set(xscale="log", yscale="log", xlabel="mean-field step $h$", ylabel="iterations")
    panel.xaxis.set_minor_formatter("")
    plain_numbers(panel.yaxis)
    panel.set_title("learning a single index")


def _draw_shares(panel: Axes, concentration: xr.Dataset) -> None:
    near = (concentration["axis_angle"] < 15).mean(("neuron", "start"))
    for angle, color in zip(near["angle"].values.tolist(), (BLUE, GREEN, RED), strict=False):
        for name, dash in (("BN", "-"), ("BN, equal speeds", "--")):
            curve = near.sel(angle=angle, network=name)
            panel.plot(near["iteration"], curve, dash, color=color, label=f"{name}, target at {angle:g} degrees")
    panel.set(xlabel="iteration", ylabel="share near $x_1$", ylim=(0, 1))
    panel.set_title("neurons near $x_1$")
