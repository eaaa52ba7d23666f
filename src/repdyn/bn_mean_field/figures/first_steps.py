"""Figure 3 of Ma and Ying, computed: lengths and turns in the first steps of descent."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    band,
    describe,
    label_panels,
    legend_below,
    new,
)


def fig3_first_step(first_step: xr.Dataset) -> Figure:
    """Figure 3, computed: norms after one step over the initial length, and turns per iteration."""
    figure, axes = new(1, 3, height=3.0)
    step = float(first_step["step"][-1])
    start = first_step.isel(start=0).sel(step=step)
    r = start["radius"].values
    for color, marker, model in ((BLUE, "o", "BN"), (RED, "^", "vanilla")):
        norm = start["norm"].sel(model=model, iteration=1).transpose("radius", "neuron")
        axes[0, 0].plot(r, norm.median("neuron"), marker, color=color, label=f"{model}, median neuron")
        band(axes[0, 0], r, norm.quantile(0.05, "neuron").values, norm.quantile(0.95, "neuron").values, color=color)
    g, fine = float(start["gradient"].median()), np.geomspace(r[0], r[-1], 200)
    axes[0, 0].plot(fine, np.hypot(fine, step * g / fine), color=BLACK, linewidth=0.9, label="law, median $g$")
    axes[0, 0].axvline(np.sqrt(step * g), color=BLACK, linewidth=0.7, linestyle=":")
    axes[0, 0].annotate(
        "$r^*$", (np.sqrt(step * g), 1), (3, -9), xycoords=("data", "axes fraction"), textcoords="offset points"
    )
    axes[0, 0].set(xscale="log", yscale="log", xlabel="initial length $r$", ylabel="length after one step")
    axes[0, 0].set_ylim(1e-2, 1e4)
    legend_below(axes[0, 0])
    axes[0, 0].set_title("length")
    _arrows_panel(axes[0, 1], first_step, step)
    _turns_panel(axes[0, 2], first_step, step)
    label_panels(axes)
    return describe(
        figure,
        title="Figure 3, computed: first-step amplification",
        caption=rf"$y = x_1$, $\Sigma$ = diag(5, 1), {first_step.sizes['neuron']} neurons, mean-field step {step:g}. "
        r"(a) Length after one step: medians, bands of 5 to 95 % of the neurons, and $\sqrt{r^2 + (h g/r)^2}$: only "
        r"below $r^* = \sqrt{h g}$ are smaller neurons bigger afterwards. (b) First steps of some neurons on circles "
        "of three lengths (the paper's sketch). (c) Turn per iteration: median (lines) and largest (thin) neuron, both "
        "signs of $a$: the median is stable from the second iteration on, single neurons are not.",
        alt="The length after one step falls in r up to r* and grows beyond; turns of the median neuron are small "
        "after the first iteration, while the largest turn stays high.",
    )


def _arrows_panel(panel: Axes, first_step: xr.Dataset, step: float) -> None:
    """Tangent first steps from circles whose lengths lie around the critical one."""
    cell = first_step.isel(start=0).sel(model="BN", step=step)
    radii = [r for r in cell["radius"].values if 0.05 <= r <= 1.0]
    count = cell.sizes["neuron"] // 2
    angle = 2 * np.pi * (np.arange(count) + 0.5) / count
    for color, r in zip((RED, ORANGE, BLUE), radii, strict=False):
        panel.plot(r * np.cos(fine := np.linspace(0, 2 * np.pi, 200)), r * np.sin(fine), color=color, linewidth=0.8)
        grown = cell["norm"].sel(radius=r, iteration=1).values[:count]
        side = np.where(np.sin(2 * angle) > 0, -1.0, 1.0)
        for k in range(0, count, max(1, count // 12)):
            tangent = side[k] * np.sqrt(max(grown[k] ** 2 - r**2, 0.0))
            x, y = r * np.cos(angle[k]), r * np.sin(angle[k])
            dx, dy = -tangent * np.sin(angle[k]), tangent * np.cos(angle[k])
            panel.annotate("", (x + dx, y + dy), (x, y), arrowprops={"arrowstyle": "->", "color": color, "lw": 0.8})
    panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel="$b_1$", ylabel="$b_2$", title="first steps")


def _turns_panel(panel: Axes, first_step: xr.Dataset, step: float) -> None:
    """Median (thick) and largest (thin) turn per iteration for several initial lengths."""
    quantiles = first_step["turn_quantile"].isel(start=0).sel(model="BN", step=step)
    for color, dash, r in zip((RED, ORANGE, GREEN, BLUE), ("-", "--", "-.", ":"), (1e-3, 1e-2, 1e-1, 1.0), strict=True):
        near = quantiles.sel(radius=r, method="nearest")
        label = f"$r$ = {float(near['radius']):g}"
        panel.plot(near["later"], near.sel(quantile=0.5), dash, color=color, label=label)
        panel.plot(near["later"], near.sel(quantile=1.0), dash, color=color, linewidth=0.6)
    panel.set(yscale="log", ylim=(1e-6, 200), xlabel="iteration", ylabel="turn per iteration (degree)")
    legend_below(panel, columns=2)
    panel.set_title("turns")
