"""What batch normalization does without its anisotropic speed, and without moving its inner weights."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Drawn,
    figure,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)

NETWORKS = (
    ("BN", BLUE, "o"),
    ("BN, equal speeds", ORANGE, "x"),
    ("BN, two lengths", PURPLE, "^"),
    ("vanilla", RED, "s"),
)


@figure(
    title="Section 4.1: BN without its anisotropic speed: iterations to learn, and neurons near $x_1$",
    caption="BN, the same with speeds that do not depend on the direction, with lengths 1 and 10, and no BN. (a) "
    "Iterations until a single index is learned, at steps drawn for each start; losses are over that of $f = 0$. (b) "
    "Share of neurons within 15 degrees of $x_1$ for linear targets at several angles to $x_1$, mean over starts.",
    alt="Iterations needed against the step, one color per network; share of neurons near x1 over the iterations, "
    "with and without equal speeds, for targets at several angles.",
)
def parts_switched_off(feature_learning: xr.Dataset, concentration: xr.Dataset) -> Drawn:
    """Iterations to learn a single index over the step, and shares of neurons near x1, with and without the effect."""
    fig, axes = new(1, 2, height=2.9)
    _draw_iterations(axes[0, 0], feature_learning)
    _draw_shares(axes[0, 1], concentration)
    for panel in axes[0]:
        legend_below(panel)
    label_panels(axes)
    last = _near_axis(concentration).isel(iteration=-1)
    return Drawn(
        fig,
        {
            "task of (a)": str(feature_learning["task"].values[0]),
            "learned: loss at most": float(feature_learning["threshold"][0]),
            "least loss with b frozen (median)": float(feature_learning["frozen"].isel(task=0).median()),
            "starts in (a) and (b)": np.array([feature_learning.sizes["start"], concentration.sizes["start"]]),
            "share near $x_1$ at the end, BN, by target": last.sel(network="BN").values,
            "share near $x_1$ at the end, equal speeds, by target": last.sel(network="BN, equal speeds").values,
        },
    )


def _near_axis(concentration: xr.Dataset) -> xr.DataArray:
    """Share of neurons within 15 degrees of the x1 axis, over all starts."""
    return (concentration["axis_angle"] < 15).mean(("neuron", "start"))


def _draw_iterations(panel: Axes, feature_learning: xr.Dataset) -> None:
    steps = feature_learning["tried"].transpose("start", "step").values.ravel()
    cells = feature_learning["needed"].isel(task=0, threshold=0).transpose("network", "start", "step")
    for name, color, marker in NETWORKS:
        needed = cells.sel(network=name).values.ravel()
        learned = np.isfinite(needed)
        panel.plot(steps[learned], needed[learned], marker, color=color, markersize=2.5, alpha=0.6, label=name)
    panel.set(xscale="log", yscale="log", xlabel="mean-field step $h$", ylabel="iterations")
    panel.xaxis.set_minor_formatter("")
    plain_numbers(panel.yaxis)
    panel.set_title("learning a single index")


def _draw_shares(panel: Axes, concentration: xr.Dataset) -> None:
    near = _near_axis(concentration)
    for angle, color in zip(near["angle"].values.tolist(), (BLUE, GREEN, RED), strict=False):
        for name, dash in (("BN", "-"), ("BN, equal speeds", "--")):
            curve = near.sel(angle=angle, network=name)
            panel.plot(near["iteration"], curve, dash, color=color, label=f"{name}, target at {angle:g} degrees")
    panel.set(xlabel="iteration", ylabel="share near $x_1$", ylim=(0, 1))
    panel.set_title("neurons near $x_1$")
