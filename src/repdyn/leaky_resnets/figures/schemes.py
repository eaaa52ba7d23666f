"""Figure 2: layer steps, test errors, spectra of weights, paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from repdyn.base.datasets import require
from repdyn.leaky_resnets.figures.shared import GRAY, extremes, geometric_mean, limits, ticks_at
from repdyn.leaky_resnets.methods.measures import LARGE
from repdyn.leaky_resnets.methods.selection import DECAYED, PAPER_SIZES, STAGE, by_label, of_maps, size_and_distance
from repdyn.plotting.figures import BLACK, BLUE, GREEN, RED, Drawn, figure, half_width, label_panels, legend_below, new

SCHEMES = {"equidistant": (BLUE, "o"), "irregular": (GREEN, "s"), "adaptive": (RED, "^")}


@figure(
    title="Figure 2a: test error by layer steps against the number of layers",
    caption="Schemes share data and initial weights; they are side by side at each $L$. Left: means over seeds with 95 "
    "% intervals. Right: ratio to equidistant steps in the same seed, small points; geometric means with 95 % "
    f"intervals. Shaded: below 1 at all $L$, the paper's small but consistent advantage. {PAPER_SIZES}",
    alt="Mean test errors of the three schemes against the number of layers, and ratios to equidistant steps around a "
    "line at one.",
)
def fig2a_test_error(scheme_measures: xr.Dataset) -> Drawn:
    """Test error against the number of layers, and paired differences (Figure 2a)."""
    kinds = scheme_measures["maps"].values
    fig, axes = new(len(kinds), 2, height=2.6, gridspec_kw={"width_ratios": [1, 1.6]})
    for (left, right), maps in zip(axes, kinds, strict=True):
        _errors(left, scheme_measures["test_error_by_layers"].sel(maps=maps))
        _paired(right, scheme_measures["test_ratio_by_layers"].sel(maps=maps))
        left.set(title=str(maps), ylabel="test error / variance", xlabel="number of layers $L$")
        right.set(title="over equidistant steps", ylabel="ratio of test errors", xlabel="number of layers $L$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    label_panels(axes)
    means = geometric_mean(scheme_measures["test_ratio_by_layers"].transpose(..., "seed").values)[0]
    return Drawn(
        fig,
        {
            "seeds": scheme_measures.sizes["seed"],
            "effective depth": scheme_measures["effective_depth"],
            "mean ratio of test errors (least, largest)": extremes(means),
            **size_and_distance(scheme_measures),
        },
    )


def _errors(panel: Axes, errors: xr.DataArray) -> None:
    L = errors["layers"].values
    for shift, (scheme, (color, marker)) in zip((0.93, 1, 1.07), SCHEMES.items(), strict=True):
        draws = errors.sel(scheme=scheme).transpose("layers", "seed").values
        style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none", "capsize": 2}
        panel.errorbar(L * shift, draws.mean(axis=1), half_width(draws), label=scheme, **style)
    panel.set_xscale("log")
    panel.set_ylim(0, None)
    ticks_at(panel.xaxis, L)


def _paired(panel: Axes, ratios: xr.DataArray) -> None:
    L = ratios["layers"].values
    for shift, scheme in ((0.96, "irregular"), (1.04, "adaptive")):
        color, marker = SCHEMES[scheme]
        values = ratios.sel(scheme=scheme).transpose("layers", "seed").values
        panel.plot(L * shift * 1.025, values, ".", color=color, markersize=3, alpha=0.5)
        middle, bars = geometric_mean(values)
        panel.errorbar(L * shift, middle, bars, color=color, marker=marker, linestyle="none", capsize=2)
    panel.set_xscale("log")
    ticks_at(panel.xaxis, L)
    panel.margins(y=0.1)
    low, high = panel.get_ylim()
    panel.axhline(1, color=BLACK, linestyle=":", linewidth=1)
    panel.axhspan(min(low, 1), 1, color="0.93", linewidth=0, zorder=0)
    panel.annotate("the paper: below 1", (0.99, 0.02), xycoords="axes fraction", ha="right", fontsize=7.5)
    limits(panel, low, high)


@figure(
    title="Figure 2b: spectra of the weights of networks with adaptive steps",
    caption="Singular values of the weights, one network per panel, seed 0, learned and decayed maps. Dotted: where "
    "the paper sees roughly 6 dimensions; short black line: a quarter of the largest there, above which a value is "
    "large. Distance from rest: relative distance of the weights from a critical point; both numbers are means over "
    "seeds. Teachers: random ResNets as in the paper, and fully connected; penalties: the paper's and a stronger one. "
    f"{PAPER_SIZES}",
    alt="Singular values of the weights along the network in four panels, by teacher and penalty, with a mark of a "
    "quarter of the largest at p = 0.3.",
)
def fig2b_weight_spectra(staged_measures: xr.Dataset) -> Drawn:
    """Spectra of the weights of adaptive networks along p (Figure 2b)."""
    require(staged_measures, "staged_measures", part=2)
    wide, narrow = (int(n) for n in staged_measures["inner"].values[:2])
    fig, axes = new(2, 2, height=2.4, sharex=True, sharey=True)
    dimension = staged_measures["stage_dimension"].mean("seed")
    for panel, teacher in zip(axes.ravel(), staged_measures["teacher"].values, strict=True):
        networks = staged_measures.sel(teacher=teacher)
        _stages(panel, networks.isel(seed=0), wide, narrow)
        count, distance = (float(networks[name].mean()) for name in ("stage_dimension", "relative_distance"))
        panel.set_title(f"{teacher}\n{count:.1f} large values, distance from rest {distance:.2g}")
    for panel in axes[1]:
        panel.set_xlabel("position $p$")
    for panel in axes[:, 0]:
        panel.set_ylabel(r"singular value of $W_p / \tilde L$")
    axes[0, 0].set_ylim(0, None)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, columnspacing=1.2)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "seeds": staged_measures.sizes["seed"],
            "layers": staged_measures.sizes["layer"],
            "effective depth": staged_measures["effective_depth"],
            "singular values above a quarter of the largest at the dotted line, means by panel": dimension,
            **size_and_distance(staged_measures),
        },
    )


def _stages(panel: Axes, net: xr.Dataset, wide: int, narrow: int) -> None:
    """Singular values along p, in colors up to the two inner dimensions; the mark of a quarter at the stage."""
    p, values = net["p"].values, net["weight_spectrum"].transpose("layer", "value").values
    middle = (p[1:] + p[:-1]) / 2
    for node, position in enumerate(p):
        panel.axvline(position, color="0.88", linewidth=0.6, zorder=0, label=r"steps $p_\ell$" if node == 0 else None)
    groups = ((wide, None, GRAY, "others"), (narrow, wide, RED, f"to {wide}th"), (0, narrow, BLUE, f"first {narrow}"))
    for first, last, color, words in groups:
        lines = panel.plot(middle, values[:, first:last], color=color, linewidth=0.7 if color == GRAY else 1.3)
        lines[0].set_label(words)
    panel.axvline(STAGE, color=BLACK, linestyle=":", linewidth=1, label=f"$p$ = {STAGE:g}")
    quarter = LARGE * float(values[np.abs(middle - STAGE).argmin(), 0])
    ends = [STAGE - 0.05, STAGE + 0.05]
    panel.plot(ends, [quarter, quarter], color=BLACK, linewidth=1.6, label="a quarter")


@figure(
    title="Figure 2c: paths of the representations by layer steps",
    caption=r"(a)-(c) $A_\ell / \sqrt{N}$ on the two principal axes of each path, seed 0, learned and decayed maps. "
    "(d) Means over seeds. The paper: adaptive steps spread out better, more of them at the beginning and also at the "
    f"end. {PAPER_SIZES}",
    alt="The path of one network in the plane for each of three schemes, and the lengths of their steps along the "
    "path.",
)
def fig2c_paths(scheme_measures: xr.Dataset) -> Drawn:
    """Paths of the representations on their first two principal axes (Figure 2c)."""
    fig, axes = new(2, 2, height=2.2)
    require(scheme_measures, "scheme_measures", maps=(DECAYED,))
    learned = of_maps(scheme_measures)
    for panel, (scheme, (color, marker)) in zip(axes.ravel(), SCHEMES.items(), strict=False):
        plane = learned["plane"].sel(scheme=scheme).isel(seed=0).transpose("node", "axis").values
        signs = [plane[0, 0] - plane[-1, 0], plane[len(plane) // 2, 1] - plane[[0, -1], 1].mean()]
        plane = plane * np.where(np.array(signs) < 0, -1, 1)
        panel.plot(*plane.T, color=color, marker=marker, markersize=3.5)
        for node, words, beside in ((0, "$p = 0$", (4, 5)), (-1, "$p = 1$", (6, -4))):
            panel.annotate(words, plane[node], xytext=beside, textcoords="offset points", fontsize=7.5)
        panel.set(title=scheme, xlabel="first principal axis", ylabel="second axis")
        panel.margins(0.18)
        panel.set_aspect("equal")
    _step_lengths(axes[1, 1], learned)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "seeds": learned.sizes["seed"],
            "layers": learned.sizes["layer"],
            "share of the variance on the two axes": float(learned["plane_share"].mean()),
            **by_label("standard deviation over mean of the lengths", learned["plane_unevenness"].mean("seed")),
        },
    )


def _step_lengths(panel: Axes, learned: xr.Dataset) -> None:
    """Lengths of the steps in the plane over their mean, mean over seeds."""
    for scheme, (color, marker) in SCHEMES.items():
        relative = learned["plane_step"].sel(scheme=scheme).mean("seed").values
        panel.plot(np.arange(1, relative.size + 1), relative, color=color, marker=marker, markersize=3, label=scheme)
    panel.axhline(1, color=BLACK, linestyle=":", linewidth=1)
    panel.set(title="lengths of the steps", xlabel=r"layer $\ell$", ylabel="length / mean", ylim=(0, None))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(panel, columns=3)
