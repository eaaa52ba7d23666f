"""Figures of the XOR task: distances between representations against the theory (Figures 6 and 16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLUE, ORANGE, describe, new
from repdyn.universality.methods.selection import learned

POINTS = ("00", "10", "01", "11")
PANELS = {
    "low": "20 layers, small",
    "intermediate": "20 layers, middle",
    "high": "20 layers, large",
    "two_layers": "2 layers, small",
}


def fig6_xor(xor_structure: xr.Dataset) -> Figure:
    """Figure 6: distances after training by gradient descent."""
    return _matrices(
        xor_structure,
        list(PANELS),
        "Figure 6: representational structure in the XOR task",
        "Rows and columns of each matrix are the four data points. At small weights in 20 layers equal targets lie "
        "together in theory and network; at large weights distances are those at the start; the two-layer network "
        "merges one pair only, the theory two.",
    )


def fig16_xor_adam(xor_structure: xr.Dataset) -> Figure:
    """Figure 16: distances after training with Adam."""
    return _matrices(
        xor_structure,
        [f"adam_{run}" for run in PANELS],
        "Figure 16: representational structure in the XOR task with Adam",
        "As Figure 6 with Adam: equal targets merge at small weights in 20 layers, half so at middle ones, not at large"
        " ones; the two-layer network merges no pair.",
    )


def _matrices(data: xr.Dataset, runs: list[str], title: str, alt: str) -> Figure:
    figure, axes = new(2, 5, height=1.6)
    _task(axes[0, 0])
    axes[1, 0].axis("off")
    axes[1, 0].legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", handletextpad=0.2)
    counts = []
    for column, (run, words) in enumerate(zip(runs, PANELS.values(), strict=True), start=1):
        nets = learned(data, run)
        counts.append(f"{nets.sizes['trial']} ({words})")
        for row, (name, side) in enumerate((("theory", "theory (10)"), ("distance", "network"))):
            _matrix(axes[row, column], nets[name].mean("trial").values if nets.sizes["trial"] else np.zeros((4, 4)))
            if column == 1:
                axes[row, column].set_ylabel(side)
        axes[0, column].set_title(f"{words}\ngain {float(nets['gain']):g}")
    units = ", ".join(f"{int(data['units'].sel(run=run))}" for run in runs)
    return describe(
        figure,
        title=title,
        caption="Left: the task, color is the target. Right: distances between the representations of the four points "
        f"in the hidden layer halfway, mean over the networks that have learned: {', '.join(counts)}; units per layer "
        f"{units} (the paper has 500). Above, equation (10) with each network's own start and the ratio of rates "
        f"{float(data['rho']):.2g} fitted to two points; below, the networks. Each matrix has its own color scale from "
        "0 to its largest entry; the numbers are distances.",
        alt=alt,
    )


def _task(panel: Axes) -> None:
    x, y = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    for target, color, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        chosen = (x != y) == bool(target)
        panel.scatter(x[chosen], y[chosen], color=color, marker=marker, s=36, label=f"target {target}", clip_on=False)
    panel.set(xticks=[0, 1], yticks=[0, 1], xlabel="input 1", ylabel="input 2", aspect="equal", title="XOR")
    panel.set(xlim=(-0.35, 1.35), ylim=(-0.35, 1.35))


def _matrix(panel: Axes, values: np.ndarray) -> None:
    top = values.max() or 1.0
    panel.imshow(values, cmap="cividis", vmin=0, vmax=top)
    panel.set_xticks(range(4), POINTS)
    panel.set_yticks(range(4), POINTS)
    panel.tick_params(length=0)
    for i, j in np.ndindex(4, 4):
        if i != j:
            dark = values[i, j] < 0.55 * top
            words = _short(float(values[i, j]))
            panel.text(j, i, words, ha="center", va="center", fontsize=7.5, color="w" if dark else "k")


def _short(value: float) -> str:
    """Two significant digits in little room."""
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}".lstrip("0")
