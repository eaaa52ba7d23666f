"""Figure 2: layer steps, test errors, spectra of weights, paths."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, GREEN, RED, describe, half_width, label_panels, new
from repdyn.leaky_resnets.figures.trained import GREY, LEARNED

SCHEMES = {"equidistant": (BLUE, "o"), "irregular": (GREEN, "s"), "adaptive": (RED, "^")}


def fig2a_test_error(scheme_measures: xr.Dataset) -> Figure:
    """Test error against the number of layers, and paired differences (Figure 2a)."""
    kinds = scheme_measures["maps"].values
    figure, axes = new(2, len(kinds), height=2.2, sharex=True)
    for column, maps in enumerate(kinds):
        errors = scheme_measures["test_error_by_layers"].sel(maps=maps)
        _errors(axes[0, column], errors)
        _paired(axes[1, column], errors)
        axes[0, column].set_title(str(maps))
        axes[1, column].set_title("paired")
        axes[1, column].set_xlabel("number of layers L")
    axes[0, 0].set_ylabel("test error / variance")
    axes[1, 0].set_ylabel("over equidistant")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    label_panels(axes)
    return describe(
        figure,
        title="Test error by scheme of layer steps (Figure 2a)",
        caption=f"Lt = {float(scheme_measures['effective_depth']):g}, {scheme_measures.sizes['seed']} seeds; schemes "
        "share data and initial weights. Top: seeds thin, means thick. Bottom: ratio to equidistant steps in the same "
        "seed, points; geometric mean with its 95 % interval.",
        alt="The three schemes' mean test errors lie on top of each other except at four layers; the ratios scatter "
        "around one without a consistent sign.",
        claims=("lrn-fig2a",),
    )


def _errors(panel: Axes, errors: xr.DataArray) -> None:
    L = errors["layers"].values
    for scheme, (colour, marker) in SCHEMES.items():
        draws = errors.sel(scheme=scheme).transpose("layers", "seed").values
        panel.plot(L, draws, color=colour, linewidth=0.4, alpha=0.4)
        panel.plot(L, draws.mean(axis=1), color=colour, marker=marker, linewidth=1.8, label=scheme)
    panel.set_xscale("log")
    panel.set_xticks(L, [str(n) for n in L])
    panel.minorticks_off()


def _paired(panel: Axes, errors: xr.DataArray) -> None:
    L = errors["layers"].values
    for shift, scheme in ((0.97, "irregular"), (1.03, "adaptive")):
        colour, marker = SCHEMES[scheme]
        ratios = (errors.sel(scheme=scheme) / errors.sel(scheme="equidistant")).transpose("layers", "seed").values
        panel.plot(L * shift, ratios, ".", color=colour, markersize=3, alpha=0.5)
        logs = np.log(ratios)
        middle, half = np.exp(logs.mean(axis=1)), half_width(logs)
        bars = (middle - middle * np.exp(-half), middle * np.exp(half) - middle)
        panel.errorbar(L * shift, middle, bars, color=colour, marker=marker, linestyle="none", capsize=3)
    panel.axhline(1, color=BLACK, linestyle=":", linewidth=1)
    panel.set_ylim(0.6, 1.6)


def fig2b_weight_spectra(staged_measures: xr.Dataset) -> Figure:
    """Spectra of the weights of adaptive networks along p (Figure 2b)."""
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
            colour = BLUE if index < narrow else RED if index < wide else GREY
            panel.plot(middle, values[:, index], color=colour, linewidth=1.3 if index < wide else 0.7)
        panel.axvline(0.3, color=BLACK, linestyle=":", linewidth=1)
        panel.set_title(str(teacher))
    for panel in axes[1]:
        panel.set_xlabel("position p")
    for panel in axes[:, 0]:
        panel.set_ylabel("singular value of W_p / Lt")
    axes[0, 0].set_ylim(0, None)
    label_panels(axes)
    return describe(
        figure,
        title="Weights of adaptive networks: is there a 6-dimensional stage? (Figure 2b)",
        caption=f"One network per panel, seed 0, L = {staged_measures.sizes['layer']}, Lt = "
        f"{float(staged_measures['effective_depth']):g}, learned and decayed maps. Blue: first {narrow} singular "
        f"values; red: up to {wide}; grey: further ones. Grey vertical lines: p_l. Dotted: p = 0.3. The test in "
        f"lrn-fig2b uses all {staged_measures.sizes['seed']} seeds.",
        alt="Singular values fall off evenly at p = 0.3 in all four panels, with no gap after the sixth.",
        claims=("lrn-fig2b", "lrn-fig2b-steps"),
    )


def fig2c_paths(scheme_measures: xr.Dataset) -> Figure:
    """Paths of the representations on their first two principal axes (Figure 2c)."""
    figure, axes = new(1, 3, height=2.4)
    learned = scheme_measures.sel(maps=LEARNED)
    for panel, (scheme, (colour, marker)) in zip(axes[0], SCHEMES.items(), strict=True):
        plane = learned["plane"].sel(scheme=scheme).isel(seed=0).transpose("node", "axis").values
        plane = plane * np.sign(plane[0] - plane[-1])
        panel.plot(*plane.T, color=colour, marker=marker, markersize=3.5)
        for node, words in ((0, "p = 0"), (-1, "p = 1")):
            panel.annotate(words, plane[node], xytext=(4, 5), textcoords="offset points", fontsize=7)
        panel.set(title=scheme, xlabel="first principal axis")
        panel.margins(0.18)
    axes[0, 0].set_ylabel("second principal axis")
    label_panels(axes)
    steps = {scheme: _relative_spread(learned["plane"].sel(scheme=scheme)) for scheme in SCHEMES}
    told = ", ".join(f"{scheme} {value:.2f}" for scheme, value in steps.items())
    return describe(
        figure,
        title="Paths in two dimensions (Figure 2c)",
        caption=f"A_l over sqrt(N) on the two principal axes of each path, seed 0, L = {learned.sizes['layer']}, "
        f"learned and decayed maps; they hold {float(learned['plane_share'].mean()):.0%} of the variance. Standard "
        f"deviation over mean of the steps' lengths in the plane, mean over {learned.sizes['seed']} seeds: {told}.",
        alt="All three paths bend once; adaptive steps are of more equal length than equidistant ones.",
        claims=("lrn-fig2c",),
    )


def _relative_spread(plane: xr.DataArray) -> float:
    steps = np.linalg.norm(np.diff(plane.transpose("seed", "node", "axis").values, axis=1), axis=-1)
    return float(np.mean(steps.std(axis=1) / steps.mean(axis=1)))
