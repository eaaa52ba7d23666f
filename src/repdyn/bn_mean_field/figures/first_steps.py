"""Figure 3 of Ma and Ying, computed: lengths and turns in the first steps of descent."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.base.datasets import require_finite
from repdyn.plotting.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, Drawn, band, figure, label_panels, new

LINES = ((1e-3, RED, "-"), (1e-2, ORANGE, "--"), (1e-1, GREEN, "-."), (1.0, BLUE, ":"))
"""Initial lengths of the neurons shown, with color and line style."""


@figure(
    title="Figure 3 of Ma and Ying, computed: lengths and turns of neurons in the first steps of descent",
    caption=r"$y = x_1$, $\Sigma$ = diag(5, 1), mean-field step $h$; the paper's Figure 3 is a sketch without "
    "settings or numbers. (a) Length after one step with and without BN: medians, bands of 5 to 95 % of the "
    r"neurons, and the law $\sqrt{r^2 + (h g/r)^2}$ at the median gradient $g$; it falls in $r$ only below $r^* = "
    r"\sqrt{h g}$ (shaded), the paper says everywhere. (b) First steps of some neurons from circles of three lengths "
    "$r$, the paper's sketch. (c), (d) Turn per iteration by initial length, both signs of $a$; shaded: from the "
    "second iteration on, where the paper has all neurons stable.",
    alt="Length after one step against the initial length, with the law of BN; first steps as arrows from three "
    "circles; turns per iteration of the median neuron and of the one that turns most.",
)
def fig3_first_step(first_step: xr.Dataset) -> Drawn:
    """Figure 3, computed: norms after one step over the initial length, and turns per iteration."""
    fig, axes = new(2, 2, height=2.9)
    step = float(first_step["step"][-1])
    start = first_step.isel(start=0).sel(step=step)
    require_finite(start["norm"].sel(iteration=1), "first steps that have not diverged")
    require_finite(start["turn_quantile"].sel(model="BN"), "turns of networks that have not diverged")
    _lengths_panel(axes[0, 0], start, step)
    _arrows_panel(axes[0, 1], start)
    for panel, quantile, words in ((axes[1, 0], 0.5, "median"), (axes[1, 1], 1.0, "largest")):
        _turns_panel(panel, start, quantile)
        panel.set_title(f"turns, {words} neuron")
    top = max(panel.get_ylim()[1] for panel in axes[1])
    for panel in axes[1]:
        panel.set_ylim(min(panel.get_ylim()[0] for panel in axes[1]), top)
    fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "neurons": first_step.sizes["neuron"],
            "mean-field step h": step,
            "critical length r* at the median gradient": float(np.sqrt(step * start["gradient"].median())),
        },
    )


def _lengths_panel(panel: Axes, start: xr.Dataset, step: float) -> None:
    """Lengths after one step over the initial length, with the law of a gradient in the tangent space."""
    r = start["radius"].values
    for color, marker, model in ((BLUE, "o", "BN"), (RED, "^", "vanilla")):
        norm = start["norm"].sel(model=model, iteration=1).transpose("radius", "neuron")
        panel.plot(r, norm.median("neuron"), marker, color=color, label=model)
        low, high = (norm.quantile(share, "neuron").values for share in (0.05, 0.95))
        band(panel, r, low, high, color=color, label="5 to 95 %" if model == "BN" else None)
    g, fine = float(start["gradient"].median()), np.geomspace(r[0], r[-1], 200)
    panel.plot(fine, np.hypot(fine, step * g / fine), color=BLACK, linewidth=0.9, label="law of BN")
    panel.set(xscale="log", yscale="log", xlabel="initial length $r$", ylabel="length after one step")
    left, right = panel.get_xlim()
    if left < np.sqrt(step * g):
        panel.axvspan(left, np.sqrt(step * g), color="0.93", linewidth=0, zorder=0, label="$r < r^*$")
    panel.set_xlim(left, right)
    panel.legend(loc="upper right")
    panel.set_title("length")


def _arrows_panel(panel: Axes, start: xr.Dataset) -> None:
    """Tangent first steps from circles whose lengths lie around the critical one."""
    cell = start.sel(model="BN")
    radii = [r for r in cell["radius"].values if 0.05 <= r <= 1.0]
    count = cell.sizes["neuron"] // 2
    angle = 2 * np.pi * (np.arange(count) + 0.5) / count
    for color, r in zip((GREEN, PURPLE, BLUE), radii, strict=False):
        fine = np.linspace(0, 2 * np.pi, 200)
        panel.plot(r * np.cos(fine), r * np.sin(fine), color=color, linewidth=0.8, label=f"$r$ = {r:g}")
        grown = cell["norm"].sel(radius=r, iteration=1).values[:count]
        side = np.where(np.sin(2 * angle) > 0, -1.0, 1.0)
        for k in range(0, count, max(1, count // 8)):
            tangent = side[k] * np.sqrt(max(grown[k] ** 2 - r**2, 0.0))
            x, y = r * np.cos(angle[k]), r * np.sin(angle[k])
            dx, dy = -tangent * np.sin(angle[k]), tangent * np.cos(angle[k])
            panel.annotate("", (x + dx, y + dy), (x, y), arrowprops={"arrowstyle": "->", "color": color, "lw": 1.2})
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), title="circle and first\nsteps (arrows)", title_fontsize=7.5)
    panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel="$b_1$", ylabel="$b_2$", title="first steps")


def _turns_panel(panel: Axes, start: xr.Dataset, quantile: float) -> None:
    """A quantile over the neurons of the turn per iteration, for several initial lengths."""
    turns = start["turn_quantile"].sel(model="BN", quantile=quantile)
    for r, color, dash in LINES:
        near = turns.sel(radius=r, method="nearest")
        panel.plot(near["later"], near, dash, color=color, label=f"$r$ = {float(near['radius']):g}")
    later = turns["later"].values
    panel.axvspan(2, max(2, later[-1]), color="0.93", linewidth=0, zorder=0, label="stable (paper)")
    panel.set(yscale="log", xlabel="iteration", ylabel="turn per iteration (degree)")
    panel.set_xlim(later[0] - 0.5, later[-1] + 0.5)
