"""Directions and speeds of neurons in training: Figures 1 and 2 of Ma and Ying, and their medians over time."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from repdyn.base.datasets import require_finite
from repdyn.plotting.figures import BLACK, BLUE, PURPLE, RED, Drawn, band, figure, label_panels, new

UNSTATED = (
    "Not stated in the paper and chosen here: Gaussian inputs with exact population gradients, $y = x_1$, ReLU, "
    r"squared loss, equispaced unit directions, each with $a = \pm 1$, $a$ trained, the mean-field step."
)


WEDGE = "0.75"
CIRCLE = np.linspace(0, 2 * np.pi, 200)


@figure(
    title="Figure 1 of Ma and Ying, computed: speeds and directions of neurons with and without BN",
    caption=r"$\Sigma$ = diag(5, 1). (a), (b) Tangential speed of each neuron; dashed: the largest speed of (b). "
    "Below: directions at the iterations above, those of the paper, with BN (upper row) and without; dots: neurons "
    "on the unit circle, blue $a > 0$, orange-red, plotted outside, $a < 0$, paler for small $|a|$; gray wedges: "
    r"number of neurons in 15 degrees; thin line: the ellipse $\Omega$. The figure on matched loss has the ratio of "
    f"the speeds at equal loss. {UNSTATED}",
    alt="Speed against direction with batch normalization and without it, and below each the directions of the "
    "neurons on the unit circle at several iterations.",
)
def fig1_anisotropy(anisotropy: xr.Dataset) -> Drawn:
    """Figure 1: speed over direction, and directions during training, with and without BN."""
    even = np.linspace(0, int(anisotropy["iteration"][-1]), 5)
    frames = anisotropy["iteration"].sel(iteration=even, method="nearest").values
    for model in anisotropy["model"].values:
        speed = anisotropy["largest_speed"].sel(model=model, target="y = x1")
        require_finite(speed, f"a network ({model}) that has not diverged")
    fig, speeds, roses = _speeds_above_roses(len(frames))
    shown, largest = int(anisotropy["look"]), {}
    for panel, row, model in zip(speeds, roses, anisotropy["model"].values, strict=True):
        cell = anisotropy.sel(model=model, target="y = x1")
        _draw_speed(panel, cell, shown)
        largest[model] = float(cell["largest_speed"])
        panel.set_title(f"{model}, iteration {shown}")
        row[0].set_ylabel(str(model))
        for rose, iteration in zip(row, frames, strict=True):
            _rose(rose, cell.sel(iteration=iteration))
            rose.set_title(f"iteration {iteration}", fontsize=7.5, fontweight="normal")
    speeds[0].axhline(largest["vanilla"], color=RED, linewidth=1, linestyle="--", label="largest speed of vanilla")
    speeds[0].set_ylim(0, 1.5 * largest["BN"])
    speeds[0].legend(loc="upper center")
    fig.legend(handles=_key(), loc="outside lower center", ncols=5)
    label_panels(speeds)
    return Drawn(
        fig,
        {
            "largest speed with BN over that without (the paper: 10)": largest["BN"] / largest["vanilla"],
            "iteration of (a) and (b)": shown,
            "directions": anisotropy.sizes["neuron"] // 2,
            "mean-field step": float(anisotropy["step"]),
        },
    )


def _speeds_above_roses(columns: int) -> tuple[Figure, np.ndarray, np.ndarray]:
    """Two wide panels over two rows of square ones."""
    fig, axes = new(3, columns, height=1.6, gridspec_kw={"height_ratios": [1.2, 1, 1]})
    grid = axes[0, 0].get_gridspec()
    for panel in axes[0]:
        panel.remove()
    above = grid[0, :].subgridspec(1, 2)
    return fig, np.array([fig.add_subplot(above[0, place]) for place in (0, 1)]), axes[1:]


def _draw_speed(panel: Axes, cell: xr.Dataset, iteration: int) -> None:
    angle = cell["angle"].sel(iteration=iteration).values
    order = np.argsort(angle)
    panel.plot(
        np.degrees(angle[order]), cell["speed"].values[order], "o", color=BLACK, markersize=2.2
    )  # of both signs of a
    panel.set(xticks=[-180, -90, 0, 90, 180], xlabel="direction (degree)", ylabel="speed")
    panel.set_ylim(0, 1.1 * float(cell["largest_speed"]))


@figure(
    title="Directions of neurons over time, with and without BN and by length",
    caption=r"Median (line) and middle half (band) over neurons of the angle to the axis of large variance, $\Sigma$ "
    "= diag(5, 1). (a), (b) With and without BN for two targets. (c) One BN model with neurons of two lengths, "
    "starts pooled.",
    alt="Angles to the x1 axis over the iterations in three panels: with and without BN for the target x1 and for "
    "the target x2, and for neurons of two lengths.",
)
def directions_over_time(anisotropy: xr.Dataset, magnitudes: xr.Dataset) -> Drawn:
    """Where the neurons point over time, as quantiles: both targets, and two sizes of neurons."""
    fig, axes = new(1, 3, sharey=True, height=2.4)
    for panel, target in zip(axes[0, :2], ("y = x1", "y = x2"), strict=True):
        for color, dash, model in zip((BLUE, RED), ("-", "--"), anisotropy["model"].values, strict=True):
            angle = anisotropy["axis_angle"].sel(model=model, target=target)
            _directions_panel(panel, angle, "neuron", color, dash, str(model))
        panel.set_title(f"target $y = x_{target[-1]}$")
    small, large = magnitudes["radius"].values
    pooled = magnitudes["axis_angle"].isel(start=slice(1, None)).stack(all=("start", "neuron"))
    for color, dash, radius in ((BLUE, "-", small), (PURPLE, "--", large)):
        _directions_panel(axes[0, 2], pooled.sel(radius=radius), "all", color, dash, f"length {radius:g}")
    axes[0, 2].set_title("two sizes, target $y = x_1$")
    axes[0, 0].set_ylabel("angle to the $x_1$ axis (degree)")
    for panel, corner in zip(axes[0], ("upper right", "lower right", "upper right"), strict=True):
        panel.legend(loc=corner)
        panel.set_yticks([0, 30, 60, 90])
        panel.set_xlabel("iteration")
    label_panels(axes)
    return Drawn(
        fig, {"neurons in (a) and (b)": anisotropy.sizes["neuron"], "starts in (c)": magnitudes.sizes["start"] - 1}
    )


@figure(
    title="Figure 2 of Ma and Ying, computed: directions of small and large neurons of one BN model",
    caption="Top: directions at the paper's iterations (blue, inside: small; pink, outside: tenfold larger, purple "
    "in the paper), both signs of $a$ at each direction. Below: fraction of neurons within 15 degrees of the axis "
    "of large variance; lines and bands: mean and range over starts with random signs of $a$, dotted: the start "
    f"shown above. The paper says that the small ones converge faster and gives no numbers. {UNSTATED}",
    alt="Directions of small and of large neurons at six iterations, and the fraction of each near the horizontal "
    "axis over the iterations.",
)
def fig2_magnitudes(magnitudes: xr.Dataset) -> Drawn:
    """Figure 2: directions of small and large neurons during training of one BN model."""
    frames = magnitudes["iteration"].values[np.linspace(0, magnitudes.sizes["iteration"] - 1, 6).round().astype(int)]
    fig, axes = new(3, 3, height=1.75)
    for panel, iteration in zip(axes[:2].ravel(), frames, strict=True):
        _compass(panel, magnitudes.isel(start=0).sel(iteration=iteration))
        panel.set_title(f"iteration {iteration}")
    grid = axes[2, 0].get_gridspec()
    for panel in axes[2]:
        panel.remove()
    _draw_near(fig.add_subplot(grid[2, :]), magnitudes["near"])
    near = magnitudes["near"].isel(iteration=-1, start=slice(1, None)).mean("start")
    return Drawn(
        fig,
        {
            "lengths at the start": near["radius"].values,
            "share within 15 degrees of $x_1$ at the end, by length": near.values,
            "starts with random signs": magnitudes.sizes["start"] - 1,
            "directions": magnitudes.sizes["neuron"] // 2,
            "mean-field step": float(magnitudes["step"]),
        },
    )


def _draw_near(panel: Axes, near: xr.DataArray) -> None:
    """Fraction of neurons near the x1 axis over the iterations, by initial length."""
    for color, dash, radius in zip((BLUE, PURPLE), ("-", "--"), near["radius"].values, strict=True):
        drawn = near.sel(radius=radius).isel(start=slice(1, None))
        panel.plot(near["iteration"], drawn.mean("start"), dash, color=color, label=f"length {radius:g}")
        low, high = drawn.min("start").values, drawn.max("start").values
        band(panel, near["iteration"].values, low, high, color=color)
        shown = near.sel(radius=radius, start=0)
        panel.plot(near["iteration"], shown, ":", color=color, label=f"length {radius:g}, shown above")
    panel.set(xlabel="iteration", ylabel="fraction within\n15 degrees of $x_1$", ylim=(0, 1.05))
    panel.legend(ncols=2, loc="center right")


def _rose(panel: Axes, cell: xr.Dataset) -> None:
    """Neurons as dots on the unit circle (hue: sign of a, alpha: |a|) around a histogram of their directions."""
    known = np.isfinite(cell["angle"].values) & np.isfinite(cell["a"].values)
    angle, a = cell["angle"].values[known], cell["a"].values[known]
    edges = np.radians(np.arange(-180, 181, 15))
    share = np.histogram(angle, edges)[0] / max(angle.size, 1)
    for low, high, part in zip(edges[:-1], edges[1:], share, strict=True):
        arc = np.linspace(low, high, 8)
        height = 0.85 * min(np.sqrt(part / 0.3), 1.0)
        panel.fill(np.r_[0, height * np.cos(arc)], np.r_[0, height * np.sin(arc)], color=WEDGE, linewidth=0)
    strength = np.clip(0.15 + 0.85 * np.abs(a) / max(np.abs(a).max(initial=0), 1e-12), 0, 1)
    for side, sign, color in ((1.0, 1, BLUE), (1.12, -1, RED)):
        mine = np.sign(a) == sign
        where = side * np.cos(angle[mine]), side * np.sin(angle[mine])
        panel.scatter(*where, s=6, color=color, alpha=strength[mine], linewidths=0)
    panel.plot(np.cos(CIRCLE) / np.sqrt(5), np.sin(CIRCLE), color=BLACK, linewidth=0.4)
    _bare(panel, 1.2)


def _key() -> list[Line2D | Patch]:
    """What colors and lines of the roses are."""
    dots = {"$a > 0$": BLUE, "$a < 0$, plotted outside": RED}
    return [
        Line2D([], [], color=BLACK, marker="o", markersize=2.2, linestyle="", label="neurons"),
        *(
            Line2D([], [], color=color, marker="o", markersize=3, linestyle="", label=sign)
            for sign, color in dots.items()
        ),
        Patch(facecolor=WEDGE, linewidth=0, label="neurons in 15 degrees"),
        Line2D([], [], color=BLACK, linewidth=0.4, label=r"ellipse $\Omega$"),
    ]


def _compass(panel: Axes, cell: xr.Dataset) -> None:
    """Lines to the directions of the small neurons from the center, of the large ones in a ring around them."""
    small, large = cell["radius"].values
    for color, inner, outer, radius in ((PURPLE, 0.78, 1.0, large), (BLUE, 0.0, 0.72, small)):
        angle = cell["angle"].sel(radius=radius).values
        toward = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        lines = np.stack([inner * toward, outer * toward], axis=1)
        panel.add_collection(LineCollection(list(lines), colors=color, linewidths=1.0))
    panel.plot(np.cos(CIRCLE), np.sin(CIRCLE), color=BLACK, linewidth=0.4)
    _bare(panel, 1.08)


def _bare(panel: Axes, limit: float) -> None:
    """A square panel without axes."""
    panel.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def _directions_panel(panel: Axes, angle: xr.DataArray, over: str, color: str, dash: str, label: str) -> None:
    """Median and middle half of an angle over iterations."""
    angle = angle.transpose("iteration", over)
    low, middle, high = np.quantile(angle.values, (0.25, 0.5, 0.75), axis=1)
    panel.plot(angle["iteration"], middle, dash, color=color, label=label)
    band(panel, angle["iteration"].values, low, high, color=color)
