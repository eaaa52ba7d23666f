"""Figures of the theory itself: phase plane, distribution of the final distance, rich and lazy regime, plateau."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED, Drawn, figure, legend_below, new


@figure(
    title="Phase plane and plateau of the effective theory",
    caption="Left: flow of (25) (gray), six solutions (blue), stable node with its eigenvectors (green), saddle at "
    "$h = 0$ with its directions (orange-red). Right: error of the output difference from starts $\\alpha = v$ of "
    "falling scale.",
    alt="Flow of the effective theory in the plane of h and w with six solutions, the stable node and the saddle; "
    "error over time for starts of several scales.",
)
def n1_phase_plane(theory_maps: xr.Dataset) -> Drawn:
    """The plane (h, w) with its flow, solutions, node and saddle; and the plateau that the saddle makes."""
    fig, axes = new(1, 2, height=3.0)
    _plane(axes[0, 0], theory_maps)
    panel = axes[0, 1]
    time = theory_maps["time"].values[1:]
    for scale, color in zip(theory_maps["scale"].values, [*CYCLE, "0.5"], strict=False):
        error = theory_maps["plateau_error"].sel(start="equal", scale=scale).values[1:]
        panel.semilogx(time, error, color=color, label=f"{scale:g}")
    panel.set(xlabel="time, epochs", ylabel="squared error of dy over its start", xlim=(1, time[-1]), title="plateau")
    panel.legend(title="scale of\nthe start", title_fontsize=7.5, loc="upper left", bbox_to_anchor=(1, 1))
    return Drawn(
        fig,
        {
            "rates at the node (1/epoch)": theory_maps["node_rate"].values,
            "rates at the saddle (1/epoch)": theory_maps["saddle_rate"].values,
        },
    )


def _plane(panel: Axes, maps: xr.Dataset) -> None:
    h, w = maps["plane_h"].values, maps["plane_w"].values
    dh, dw = maps["plane_dh"].values.T, maps["plane_dw"].values.T
    flow = panel.streamplot(h, w, dh, dw, color="0.75", density=0.9, linewidth=0.6, arrowsize=0.6)
    flow.lines.set_label("flow")
    for number, path in enumerate(maps["plane_paths"].values):
        panel.plot(*path, color=BLUE, linewidth=1.1, label=None if number else "solutions")
        panel.plot(*path[:, 0], "o", color=BLUE, markersize=3)
    node, length = float(maps["node_h"]), 0.28 * (h[-1] - h[0])
    for slope, words in zip(maps["node_slope"].values, ("eigenvectors", None), strict=True):
        step = min(length, 0.5 * w[-1] / max(abs(slope), 1e-12))
        ends = [node - step, node + step], [-slope * step, slope * step]
        panel.plot(*ends, color=GREEN, linewidth=1, label=words)
    for slope, words in zip(maps["saddle_slope"].values, ("directions of the saddle", None), strict=True):
        step = min(1.6 * length, 0.9 * w[-1] / max(abs(slope), 1e-12))
        panel.plot([0, step], [0, slope * step], color=RED, linewidth=1, label=words)
    panel.plot(node, 0, "o", color=GREEN, markersize=7, label="stable node")
    panel.plot(0, 0, "s", color=RED, markersize=6, label="saddle", clip_on=False)
    panel.axhline(0, color=BLACK, linewidth=0.5)
    panel.set(xlabel="$h$", ylabel="$w$", xlim=(0, h[-1]), ylim=(w[0], w[-1]), title="phase plane")
    legend_below(panel, columns=2)


@figure(
    title="Distribution of the final distance over random initial weights: (47) as printed and as corrected",
    caption="Final distances for random initial ratios at $dx = dy = 1$ (thick) with the distribution function (47) "
    "as printed (dashed) and as corrected (thin), one panel per ratio of the time constants.",
    alt="Distribution function of the sampled final distances with the corrected and the printed one, one panel per "
    "ratio of the time constants.",
)
def n2_final_distribution(final_distribution: xr.Dataset) -> Drawn:
    """Sampled final distances against the printed and the corrected distribution function."""
    rhos = final_distribution["rho"].values
    fig, axes = new(1, len(rhos), height=2.4, sharey=True)
    for panel, rho in zip(axes[0], rhos, strict=True):
        cell = final_distribution.sel(rho=rho).isel(gain=0)
        panel.plot(cell["quantile"], cell["level"], color=BLUE, linewidth=3, alpha=0.5, label="sampled")
        panel.plot(cell["quantile"], cell["corrected"], color=BLACK, linewidth=1, label="corrected (47)")
        panel.plot(cell["quantile"], cell["printed"], "--", color=RED, linewidth=1.2, label="printed (47)")
        panel.set(xlabel="final $h$", title=f"$\\tau_y/\\tau_h$ = {rho:g}")
    axes[0, 0].set_ylabel("share of samples below")
    axes[0, 0].legend()
    shown = final_distribution.isel(gain=0)
    return Drawn(
        fig,
        {
            "samples": int(final_distribution["draws"]),
            "gain": float(shown["gain"]),
            "largest difference to (47) as printed, by panel": _largest_gap(shown, "printed"),
            "largest difference to (47) as corrected, by panel": _largest_gap(shown, "corrected"),
        },
    )


def _largest_gap(shown: xr.Dataset, kind: str) -> np.ndarray:
    """Largest difference of a distribution function to that of the samples, by ratio of the time constants."""
    return abs(shown[kind] - shown["level"]).max("level").values


@figure(
    title="Final distance from the rich to the lazy regime",
    caption="Final distance of (10) in units of $A_\\text{low}$ against the size of the initial ratios, both growing "
    "together as in (12), for three ratios of the time constants. Dotted: the printed limit $A_\\text{high}$, where "
    "it is positive.",
    alt="Final distance over A_low against the size of the start on logarithmic axes, one line per ratio of the time "
    "constants; dotted: the printed limit.",
)
def n3_rich_to_lazy(theory_maps: xr.Dataset) -> Drawn:
    """Final distance over the size of the start: structured, then random, or back to zero."""
    fig, axes = new(1, 1, height=2.8)
    panel, size = axes[0, 0], theory_maps["size"]
    for rho, color in zip(theory_maps["rho"].values, (BLUE, ORANGE, GREEN), strict=False):
        row = theory_maps.sel(rho=rho)
        panel.loglog(size, row["regime_h"] / row["regime_low"], color=color, label=f"$\\tau_y/\\tau_h$ = {rho:g}")
        printed = (row["regime_printed"] / row["regime_low"]).where(row["regime_printed"] > 1e-12 * size)  # no rounding
        words = f"printed limit $A_{{high}}$, $\\tau_y/\\tau_h$ = {rho:g}" if printed.notnull().any() else None
        panel.loglog(size, printed, ":", color=color, linewidth=1, label=words)
    panel.axhline(1, color=BLACK, linewidth=0.7)
    panel.set(xlabel="initial ratios $h_0/dx^2 = y_0/h_0$", ylabel="final $h$ over $A_{low}$", ylim=(1e-7, 1e7))
    panel.set_xlim(float(size[0]), float(size[-1]))
    panel.annotate("rich: $A_{low}$", (float(size[0]), 1), (4, 4), textcoords="offset points")
    legend_below(panel, columns=2)
    last = theory_maps.isel(size=-1)
    return Drawn(
        fig,
        {"printed limit over (10) at the largest start, by line": (last["regime_printed"] / last["regime_h"]).values},
    )
