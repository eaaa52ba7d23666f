"""Theorems 4 and 5: distance to the mean-field limit, the proof's inequalities, the global minimum."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.base.datasets import require_finite
from repdyn.bn_mean_field.figures.axes import numbered, slope_guide
from repdyn.plotting.figures import BLACK, BLUE, CYCLE, RED, Drawn, figure, half_width, label_panels, legend_below, new

STARTS = ("low discrepancy", "i.i.d.")
TARGETS = ("equal signs", "opposite signs")


@figure(
    title="Theorem 4: distances of particle systems to the mean-field flow over the width",
    caption=r"Exact 2-Wasserstein distance on $\mathcal M$ (network simplex, geodesic cost) between $m$ particles "
    "and a wide reference at several mean-field times. Start: $a$ and direction uniform. (b), (e): mean over draws "
    "with 95 % interval of the mean. (c), (f): gap of the loss, low discrepancy. Teachers of opposite signs (below) "
    "make the flow pass near unstable directions, which amplifies differences of the start, so that at late times one "
    "width can lie far above its neighbors. "
    "The theorem gives no rate.",
    alt="Distances and loss gaps against the width on logarithmic axes, one line per time, for two targets and two "
    "kinds of start; thin: slope minus one half.",
)
def mean_field_limit(propagation_distances: xr.Dataset) -> Drawn:
    """W2 to the mean-field limit over the width, and loss gaps, for two targets."""
    fig, axes = new(2, 3, height=2.3)
    colors = tuple(zip(CYCLE, "os^v", propagation_distances["time"].values, strict=False))
    for row, target in zip(axes, TARGETS, strict=True):
        for panel, start in zip(row, STARTS, strict=False):
            _widths_panel(panel, propagation_distances, start, target, "distance", colors)
            panel.set_title(f"{start} starts")
        _widths_panel(row[2], propagation_distances, "low discrepancy", target, "loss_gap", colors)
        row[2].set_title("low discrepancy")
        row[0].set_ylabel(f"{target}: $W_2$ to the reference")
        row[2].set_ylabel("loss gap")
    for panel in axes[1]:
        panel.set_xlabel("neurons $m$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "particles of the reference, low discrepancy": int(propagation_distances["reference"]),
            "particles of the reference, i.i.d. starts": int(propagation_distances["random_reference"]),
            "draws of i.i.d. starts": int(propagation_distances["seed"].max()) + 1,
        },
    )


def _of_kind(distances: xr.Dataset, start: str, target: str) -> xr.Dataset:
    """Runs of a start and a target, without the reference."""
    kind = (distances["start"] == start) & (distances["target"] == target)
    return distances.isel(run=np.flatnonzero(kind & (distances["width"] != distances["reference"])))


@figure(
    title="Theorem 4, proof: the display on equicontinuity, as printed and corrected",
    caption="One BN flow. (a), (b) Squared distance between the measures at two times: exact transport (dots) and "
    "the coupling of the proof (line), against the corrected bound $(t'-t)(L(t)-L(t'))$ and the printed $(t'-t) "
    "L(t')$. (c) Mean squared speed over the rate at which the loss falls, 1 in the paper, in the norm of the "
    "metric and in the Euclidean norm of the printed display.",
    alt="Squared distances against the later time from two times, with the corrected and the printed bound; ratios "
    "of speed and dissipation in both norms.",
)
def equicontinuity_bounds(equicontinuity: xr.Dataset) -> Drawn:
    """The display on equicontinuity: squared distances, corrected and printed bound; dissipation."""
    fig, axes = new(1, 3, height=2.9)
    transported = np.flatnonzero(equicontinuity["w2"].notnull().any("later"))
    for panel, k in zip(axes[0], transported[:2], strict=False):
        _bound_panel(panel, equicontinuity.isel(time=k))
        panel.set_title(f"from $t$ = {float(equicontinuity['time'][k]):.3g}")
    axes[0, 0].set_ylabel("squared distance")
    legend_below(axes[0, 0], columns=2)
    frame = equicontinuity["frame"].values
    for name, color, dash, words in (
        ("rate_metric", BLUE, "-", "norm of $G$"),
        ("rate_euclidean", RED, "--", "Euclidean norm, as printed"),
    ):
        axes[0, 2].plot(frame, equicontinuity[name] / equicontinuity["rate"], dash, color=color, label=words)
    axes[0, 2].set(xlabel="mean-field time", ylabel="mean squared speed\nover $-dL/dt$", title="dissipation")
    legend_below(axes[0, 2])
    label_panels(axes)
    metric, euclidean = (equicontinuity[f"rate_{norm}"] / equicontinuity["rate"] for norm in ("metric", "euclidean"))
    return Drawn(
        fig,
        {
            "particles": int(equicontinuity["width"]),
            "speed over dissipation, norm of the metric (least, greatest)": _extremes(metric),
            "speed over dissipation, Euclidean norm (least, greatest)": _extremes(euclidean),
        },
    )


@figure(
    title="Theorem 5: losses along flows from starts that separate and from others",
    caption=r"Loss over that of $f = 0$ along exact BN flows, $\Sigma$ = diag(5, 1), targets of 1 to 3 neurons, "
    r"minimum 0; ReLU unless erf is written. Blue: starts that separate, $\{a = 0\} \times$ circle and $\{a = \pm "
    r"1\} \times$ circle; orange-red: starts that do not. (a) Along the flow. (b) At the end. The theorem says that "
    "separation is sufficient, not that it is necessary.",
    alt="Loss along the flows on logarithmic axes, separating starts and others in two colors, and the loss at the "
    "end of each flow.",
)
def global_minimum(minimization: xr.Dataset) -> Drawn:
    """Theorem 5: losses from separating starts and from counter-examples."""
    require_finite(minimization["relative_loss"].isel(frame=-1), "a flow that has not diverged")
    fig, axes = new(1, 2, height=3.1)
    _loss_panel(axes[0, 0], minimization)
    _ends_panel(axes[0, 1], minimization)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "time at the end (least)": float(minimization["time"].min("start").isel(frame=-1)),
            "loss at the end, separating starts (least, greatest)": _extremes(_left(minimization, 1)),
            "loss at the end, other starts (least, greatest)": _extremes(_left(minimization, 0)),
        },
    )


def _extremes(values: xr.DataArray) -> np.ndarray:
    """The least and the greatest finite value; empty where there is none."""
    finite = values.values[np.isfinite(values.values)]
    return np.array([finite.min(), finite.max()]) if finite.size else finite


def _left(starts: xr.Dataset, separates: int) -> xr.DataArray:
    """Last losses over that of f = 0 of starts of a kind."""
    return starts["relative_loss"].isel(frame=-1, start=np.flatnonzero(starts["separates"] == separates))


def _widths_panel(
    panel: Axes, distances: xr.Dataset, start: str, target: str, name: str, colors: tuple[tuple[str, str, float], ...]
) -> None:
    """A distance over the width at several times: means, with 95 % intervals where there are draws."""
    mine = _of_kind(distances, start, target)
    widths = np.unique(mine["width"])
    for color, marker, time in colors:
        groups = [mine[name].sel(time=time).values[mine["width"].values == m] for m in widths]
        mean = np.array([group.mean() for group in groups])
        half = np.array([half_width(group) for group in groups])
        panel.errorbar(widths, mean, half, fmt=f"{marker}-", color=color, capsize=2, label=f"$t$ = {time:g}")
    panel.set(xscale="log", yscale="log")
    numbered(panel.xaxis, widths)
    if name == "distance":
        numbered(panel.yaxis, (0.05, 0.1, 0.2, 0.5))
        slope_guide(panel, widths, 0.5, -0.5)


def _bound_panel(panel: Axes, row: xr.Dataset) -> None:
    """Squared distances from one time to the later ones, with both bounds."""
    later, origin = row["later"].values, float(row["time"])
    panel.plot(later, row["bound"], color=BLUE, label="corrected bound")
    panel.plot(later, row["coupled"], ":", color=BLACK, label="coupling of the proof")
    panel.plot(later, row["w2"], "o", color=BLACK, label="exact $W_2^2$")
    panel.plot(later, row["bound_printed"], "--", color=RED, label="printed bound")
    smallest = np.nanmin(np.abs(row["bound_printed"].values))
    panel.set(yscale="log", xlabel="later time t'", xlim=(origin, later[-1] * 1.02), ylim=(smallest / 2, None))


SEPARATES = ((1, BLUE, "-", "o", "separates"), (0, RED, "--", "s", "does not separate"))


def _loss_panel(panel: Axes, starts: xr.Dataset) -> None:
    """Loss over that of f = 0 along all flows, in doubly logarithmic axes."""
    for flag, color, dash, _, words in SEPARATES:
        kind = starts.isel(start=np.flatnonzero(starts["separates"] == flag)).transpose("frame", "start")
        lines = panel.plot(kind["time"][1:], kind["relative_loss"][1:], dash, color=color, linewidth=1.1)
        if lines:
            lines[0].set_label(words)
    panel.set(xscale="log", yscale="log", xlabel="mean-field time", ylabel="loss / loss of $f = 0$")
    panel.set_title("along the flow")
    legend_below(panel, columns=2)


def _ends_panel(panel: Axes, starts: xr.Dataset) -> None:
    """The loss at the end of every flow in a row of its own, on one logarithmic axis."""
    names = [str(name) for name in starts["start"].values]
    last = starts["relative_loss"].isel(frame=-1)
    for flag, color, _, marker, _ in SEPARATES:
        rows = np.flatnonzero(starts["separates"] == flag)
        panel.plot(last.isel(start=rows), rows, marker, color=color)
    panel.set_yticks(range(len(names)), [name.replace("+-", "\N{PLUS-MINUS SIGN}") for name in names])
    panel.set(xscale="log", xlabel="loss at the end / loss of $f = 0$", ylim=(len(names) - 0.5, -0.5))
    panel.margins(x=0.08)
    panel.grid(axis="y", linewidth=0.4, color="0.9")
    panel.set_title("at the end")
