"""Panels that several figures of the study share: directions of neurons, curves with guides."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, PURPLE, RED, band, half_width

CIRCLE = np.linspace(0, 2 * np.pi, 200)


def rose(panel: Axes, cell: xr.Dataset) -> None:
    """Neurons as dots on the unit circle (hue: sign of a, alpha: |a|) around a histogram of their directions."""
    angle, a = cell["angle"].values, cell["a"].values
    edges = np.radians(np.arange(-180, 181, 15))
    share = np.histogram(angle, edges)[0] / angle.size
    for low, high, part in zip(edges[:-1], edges[1:], share, strict=True):
        arc = np.linspace(low, high, 8)
        height = 0.85 * min(np.sqrt(part / 0.3), 1.0)
        panel.fill(np.r_[0, height * np.cos(arc)], np.r_[0, height * np.sin(arc)], color="0.75", linewidth=0)
    strength = np.clip(0.15 + 0.85 * np.abs(a) / max(np.abs(a).max(), 1e-12), 0, 1)
    for side, sign, colour in ((1.0, 1, BLUE), (1.12, -1, RED)):
        mine = np.sign(a) == sign
        where = side * np.cos(angle[mine]), side * np.sin(angle[mine])
        panel.scatter(*where, s=4, color=colour, alpha=strength[mine], linewidths=0)
    panel.plot(np.cos(CIRCLE) / np.sqrt(5), np.sin(CIRCLE), color=BLACK, linewidth=0.4)
    bare(panel, 1.2)


def compass(panel: Axes, cell: xr.Dataset) -> None:
    """Lines from the centre to the directions of small (blue) and large (purple) neurons."""
    for colour, length, radius in zip((PURPLE, BLUE), (1.0, 0.75), cell["radius"].values[::-1], strict=True):
        angle = cell["angle"].sel(radius=radius).values
        tips = length * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        lines = np.stack([np.zeros_like(tips), tips], axis=1)
        panel.add_collection(LineCollection(lines, colors=colour, linewidths=0.7, alpha=0.6))
    panel.plot(np.cos(CIRCLE), np.sin(CIRCLE), color=BLACK, linewidth=0.4)
    bare(panel, 1.08)


def bare(panel: Axes, limit: float) -> None:
    """A square panel without axes."""
    panel.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set_visible(False)


def directions_panel(panel: Axes, angle: xr.DataArray, over: str, colour: str, dash: str, label: str) -> None:
    """Median and middle half of an angle over iterations."""
    angle = angle.transpose("iteration", over)
    low, middle, high = np.quantile(angle.values, (0.25, 0.5, 0.75), axis=1)
    panel.plot(angle["iteration"], middle, dash, color=colour, label=label)
    band(panel, angle["iteration"], low, high, color=colour)


def slope_guide(panel: Axes, x: np.ndarray, first: float, slope: float) -> None:
    """A thin line of the given slope in doubly logarithmic axes."""
    panel.plot(x, first * (x / x[0]) ** slope, color=BLACK, linewidth=0.6)


def bound_panel(panel: Axes, row: xr.Dataset) -> None:
    """Squared distances from one time to the later ones, with both bounds."""
    later, origin = row["later"].values, float(row["time"])
    panel.plot(later, row["bound"], color=BLUE, label="corrected bound")
    panel.plot(later, row["coupled"], ":", color=BLACK, label="coupling of the proof")
    panel.plot(later, row["w2"], "o", color=BLACK, label="exact W2 squared")
    panel.plot(later, row["bound_printed"], "--", color=RED, label="printed bound")
    smallest = np.nanmin(np.abs(row["bound_printed"].values))
    panel.set(yscale="log", xlabel="later time t'", xlim=(origin, later[-1] * 1.02), ylim=(smallest / 2, None))


def loss_panel(panel: Axes, starts: xr.Dataset) -> None:
    """Loss over that of f = 0 for several starts, in doubly logarithmic axes."""
    for colour, dash, k in zip(CYCLE, ("-", "--", "-.", ":") * 2, range(starts.sizes["start"]), strict=False):
        one = starts.isel(start=k)
        panel.plot(
            one["time"][1:], (one["loss"] / one["zero_loss"])[1:], dash, color=colour, label=str(one["start"].item())
        )
    panel.set(xscale="log", yscale="log", xlabel="mean-field time")
    panel.legend(fontsize=6.3, loc="lower left")


def arrows_panel(panel: Axes, first_step: xr.Dataset, step: float) -> None:
    """Tangent first steps from circles whose lengths lie around the critical one."""
    cell = first_step.isel(start=0).sel(model="BN", step=step)
    radii = [r for r in cell["radius"].values if 0.05 <= r <= 1.0]
    count = cell.sizes["neuron"] // 2
    angle = 2 * np.pi * (np.arange(count) + 0.5) / count
    for colour, r in zip((RED, ORANGE, BLUE), radii, strict=False):
        panel.plot(r * np.cos(fine := np.linspace(0, 2 * np.pi, 200)), r * np.sin(fine), color=colour, linewidth=0.8)
        grown = cell["norm"].sel(radius=r, iteration=1).values[:count]
        side = np.where(np.sin(2 * angle) > 0, -1.0, 1.0)
        for k in range(0, count, max(1, count // 12)):
            tangent = side[k] * np.sqrt(max(grown[k] ** 2 - r**2, 0.0))
            x, y = r * np.cos(angle[k]), r * np.sin(angle[k])
            dx, dy = -tangent * np.sin(angle[k]), tangent * np.cos(angle[k])
            panel.annotate("", (x + dx, y + dy), (x, y), arrowprops={"arrowstyle": "->", "color": colour, "lw": 0.8})
    panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel="b1", ylabel="b2")


def turns_panel(panel: Axes, first_step: xr.Dataset, step: float) -> None:
    """Median (thick) and largest (thin) turn per iteration for several initial lengths."""
    quantiles = first_step["turn_quantile"].isel(start=0).sel(model="BN", step=step)
    for colour, dash, r in zip(
        (RED, ORANGE, GREEN, BLUE), ("-", "--", "-.", ":"), (1e-3, 1e-2, 1e-1, 1.0), strict=True
    ):
        near = quantiles.sel(radius=r, method="nearest")
        label = f"r = {float(near['radius']):g}"
        panel.plot(near["later"], near.sel(quantile=0.5), dash, color=colour, label=label)
        panel.plot(near["later"], near.sel(quantile=1.0), dash, color=colour, linewidth=0.6)
    panel.set(yscale="log", ylim=(1e-6, 200), xlabel="iteration", ylabel="turn per iteration (degree)")
    panel.legend(loc="lower right", fontsize=6.5, ncols=2)


def widths_panel(
    panel: Axes, distances: xr.Dataset, start: str, target: str, name: str, colours: tuple[tuple[str, str, float], ...]
) -> None:
    """A distance over the width at several times: means, with 95 % intervals where there are draws."""
    kind = (distances["start"] == start) & (distances["target"] == target)
    mine = distances.isel(run=np.flatnonzero(kind & (distances["width"] != distances["reference"])))
    widths = np.unique(mine["width"])
    for colour, marker, time in colours:
        groups = [mine[name].sel(time=time).values[mine["width"].values == m] for m in widths]
        mean = np.array([group.mean() for group in groups])
        half = np.array([half_width(group) for group in groups])
        panel.errorbar(widths, mean, half, fmt=f"{marker}-", color=colour, capsize=2, label=f"t = {time:g}")
    panel.set(xscale="log", yscale="log")
    numbered(panel.xaxis, widths)
    if name == "distance":
        numbered(panel.yaxis, (0.05, 0.1, 0.2, 0.5))
        slope_guide(panel, widths, 0.5, -0.5)


def numbered(axis: Axis, values: Iterable[float]) -> None:
    """Ticks of a logarithmic axis at the given values, written out."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
