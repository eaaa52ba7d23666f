"""Figure 2: layer steps, test errors, spectra of weights, paths."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from repdyn.base.datasets import require
from repdyn.base.figures import BLACK, BLUE, GREEN, RED, describe, label_panels, legend_below, new
from repdyn.leaky_resnets.figures.shared import GRAY, geometric_mean, ticks_at
from repdyn.leaky_resnets.methods.selection import DECAYED, STAGE, of_maps, size_and_distance

SCHEMES = {"equidistant": (BLUE, "o"), "irregular": (GREEN, "s"), "adaptive": (RED, "^")}


def fig2a_test_error(scheme_measures: xr.Dataset) -> Figure:
    """Test error against the number of layers, and paired differences (Figure 2a)."""
    kinds = scheme_measures["maps"].values
    figure, axes = new(2, len(kinds), height=2.2, sharex=True)
    for column, maps in enumerate(kinds):
        _errors(axes[0, column], scheme_measures["test_error_by_layers"].sel(maps=maps))
        _paired(axes[1, column], scheme_measures["test_ratio_by_layers"].sel(maps=maps))
        axes[0, column].set_title(str(maps))
        axes[1, column].set_title("ratio to equidistant steps")
        axes[1, column].set_xlabel("number of layers $L$")
    axes[0, 0].set_ylabel("test error / variance")
    axes[1, 0].set_ylabel("over equidistant")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    label_panels(axes)
    return describe(
        figure,
        title="Test error by scheme of layer steps (Figure 2a)",
        caption=f"$\\tilde L$ = {float(scheme_measures['effective_depth']):g}, {scheme_measures.sizes['seed']} seeds; "
        "schemes share data and initial weights. Top: seeds thin, means thick. Bottom: ratio to equidistant steps in "
        f"the same seed, points; geometric mean with its 95 % interval. {size_and_distance(scheme_measures)}",
        alt="The three schemes' mean test errors lie on top of each other except at four layers; the ratios scatter "
        "around one without a consistent sign.",
    )


def _errors(panel: Axes, errors: xr.DataArray) -> None:
    L = errors["layers"].values
    for scheme, (color, marker) in SCHEMES.items():
        draws = errors.sel(scheme=scheme).transpose("layers", "seed").values
        panel.plot(L, draws, color=color, linewidth=0.4, alpha=0.4)
        panel.plot(L, draws.mean(axis=1), color=color, marker=marker, linewidth=1.8, label=scheme)
    panel.set_xscale("log")
    ticks_at(panel.xaxis, L)


def _paired(panel: Axes, ratios: xr.DataArray) -> None:
    L = ratios["layers"].values
    for shift, scheme in ((0.97, "irregular"), (1.03, "adaptive")):
        color, marker = SCHEMES[scheme]
        values = ratios.sel(scheme=scheme).transpose("layers", "seed").values
        panel.plot(L * shift, values, ".", color=color, markersize=3, alpha=0.5)
        middle, bars = geometric_mean(values)
        panel.errorbar(L * shift, middle, bars, color=color, marker=marker, linestyle="none", capsize=3)
    panel.axhline(1, color=BLACK, linestyle=":", linewidth=1)
    panel.margins(y=0.1)


def fig2b_weight_spectra(staged_measures: xr.Dataset) -> Figure:
    """Spectra of the weights of adaptive networks along p (Figure 2b)."""
    require(staged_measures, "staged_measures", part=2)
    teachers = staged_measures["teacher"].values
    wide, narrow = (int(n) for n in staged_measures["inner"].values[:2])
    figure, axes = new(2, 2, height=2.3, sharex=True, sharey=True)
    for panel, teacher in zip(axes.ravel(), teachers, strict=True):
        net = staged_measures.sel(teacher=teacher).isel(seed=0)
        p = net["p"].values
        for position in p:
            panel.axvline(position, color="0.88", linewidth=0.6, zorder=0)
        values, middle = net["weight_spectrum"].values, (p[1:] + p[:-1]) / 2
        for index in range(values.shape[1] - 1, -1, -1):
            color = BLUE if index < narrow else RED if index < wide else GRAY
            panel.plot(middle, values[:, index], color=color, linewidth=1.3 if index < wide else 0.7)
        panel.axvline(STAGE, color=BLACK, linestyle=":", linewidth=1)
        panel.set_title(str(teacher))
    for panel in axes[1]:
        panel.set_xlabel("position $p$")
    for panel in axes[:, 0]:
        panel.set_ylabel(r"singular value of $W_p / \tilde L$")
    axes[0, 0].set_ylim(0, None)
    label_panels(axes)
    dimension = staged_measures["stage_dimension"].mean("seed")
    counts = ", ".join(f"({'abcd'[k]}) {value:.1f}" for k, value in enumerate(dimension.values))
    return describe(
        figure,
        title="Weights of adaptive networks: is there a 6-dimensional stage? (Figure 2b)",
        caption=f"One network per panel, seed 0, $L$ = {staged_measures.sizes['layer']}, $\\tilde L$ = "
        f"{float(staged_measures['effective_depth']):g}, learned and decayed maps. Blue: first {narrow} singular "
        f"values; orange-red: up to {wide}; gray: further ones. Gray vertical lines: $p_\\ell$. Dotted: $p$ = "
        f"{STAGE:g}, where singular values above a quarter of the largest number {counts}, means over "
        f"{staged_measures.sizes['seed']} seeds. {size_and_distance(staged_measures)}",
        alt="At the paper's penalty singular values fall off slowly at p = 0.3, a dozen of them above a quarter of the "
        "largest; under the stronger penalty five or six are.",
    )


def fig2c_paths(scheme_measures: xr.Dataset) -> Figure:
    """Paths of the representations on their first two principal axes (Figure 2c)."""
    figure, axes = new(2, 2, height=2.2)
    require(scheme_measures, "scheme_measures", maps=(DECAYED,))
    learned = of_maps(scheme_measures)
    for panel, (scheme, (color, marker)) in zip(axes.ravel(), SCHEMES.items(), strict=False):
        plane = learned["plane"].sel(scheme=scheme).isel(seed=0).transpose("node", "axis").values
        plane = plane * np.sign([plane[0, 0] - plane[-1, 0], plane[len(plane) // 2, 1] - plane[[0, -1], 1].mean()])
        panel.plot(*plane.T, color=color, marker=marker, markersize=3.5)
        for node, words in ((0, "$p = 0$"), (-1, "$p = 1$")):
            panel.annotate(words, plane[node], xytext=(4, 5), textcoords="offset points", fontsize=7.5)
        panel.set(title=scheme, xlabel="first principal axis", ylabel="second axis")
        panel.margins(0.18)
        panel.set_aspect("equal")
    _step_lengths(axes[1, 1], learned)
    label_panels(axes)
    spreads = {scheme: float(learned["plane_unevenness"].sel(scheme=scheme).mean()) for scheme in SCHEMES}
    unevenness = ", ".join(f"{scheme} {value:.2f}" for scheme, value in spreads.items())
    return describe(
        figure,
        title="Paths in two dimensions (Figure 2c)",
        caption=f"(a)-(c) $A_\\ell / \\sqrt{{N}}$ on the two principal axes of each path, seed 0, $L$ = "
        f"{learned.sizes['layer']}, learned and decayed maps; they hold "
        f"{float(learned['plane_share'].mean()):.0%} of the variance. (d) Means over {learned.sizes['seed']} seeds; "
        f"standard deviation over mean of the lengths: {unevenness}. {size_and_distance(scheme_measures)}",
        alt="All three paths bend once and their steps shorten along them. With equidistant steps the first are twice "
        "the mean; adaptive steps are of more equal length.",
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
