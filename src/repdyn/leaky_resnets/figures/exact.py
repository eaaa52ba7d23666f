"""Figures of exact statements: geodesic laboratory, Theorem 4, cost of identity, critical discrete networks."""

from __future__ import annotations

from typing import Any, cast

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    ORANGE,
    RED,
    band,
    color_bar,
    color_map,
    describe,
    label_panels,
    legend_below,
    new,
)
from repdyn.base.wording import number, outcome, span
from repdyn.leaky_resnets.figures.shared import DEPTH, ticks_at

BIAS = ("no bias", "bias")
WIDE = "9 x 4"
"""Shape with more neurons than points."""
NEARLY_NONE = 1e-3
CONSERVED = 1e-3  # share of its mean by which a conserved Hamiltonian may vary
CELLS = 2000  # of a map: more make a large file
ROUNDING = 1e-9  # of a gap that reaches its bound


def _shades(count: int) -> np.ndarray:
    """Light to dark blue, told apart in gray too."""
    return mpl.colormaps["viridis_r"](np.linspace(0.15, 1.0, count))


def geodesic_laboratory(geodesics: xr.Dataset) -> Figure:
    """Exact trajectories through a bottleneck: separation of time scales without training (Section 2)."""
    figure, axes = new(2, 2, height=2.35)
    lab, p, k = geodesics.sel(bias=0), geodesics["p"].values, int(geodesics["rank"])
    depths = lab["effective_depth"].values
    for depth, color in zip(depths, _shades(len(depths)), strict=True):
        path, words = lab.sel(effective_depth=depth), f"$\\tilde L$ = {depth:g}"
        axes[0, 0].semilogy(p, path["cost"].median("seed"), color=color, label=words)
        axes[0, 1].semilogy(p, path["plain_speed"].median("seed") / depth, color=color, label=words)
        H = path["scaled_hamiltonian"]
        axes[1, 0].plot(p, H.median("seed"), color=color)
        band(axes[1, 0], p, H.min("seed").values, H.max("seed").values, color=color)
    axes[0, 0].axhline(k, color=BLACK, linestyle=":", linewidth=1)
    axes[0, 0].set(title="cost of identity", xlabel="position $p$", ylabel="stable COI")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    ticks_at(axes[0, 0].yaxis, (3, 5, 10, 20, 50))
    axes[0, 1].set(title="speed", xlabel="position $p$", ylabel=r"$\|\partial_p A\| / (\tilde L \|A\|)$")
    axes[1, 0].axhline(k, color=BLACK, linestyle=":", linewidth=1)
    axes[1, 0].annotate(f"rank $k$ = {k}", (0.02, k), (0, 3), textcoords="offset points", fontsize=7.5)
    axes[1, 0].margins(y=0.12)  # room for these words under the title
    axes[1, 0].set(title=_conservation(lab), xlabel="position $p$", ylabel=r"$-2 \mathcal{H} / \tilde L$")
    _kinetic_against_extra(axes[1, 1], lab)
    inside = lab["cost"].isel(effective_depth=-1).sel(p=0.5, method="nearest")
    label_panels(axes)
    return describe(
        figure,
        title=f"Exact trajectories through a bottleneck: {_conservation(lab)}",
        caption=f"Hamiltonian flow from a perturbed fixed point of rank {k} at $p = 1/2$ to both ends, no training; "
        rf"{lab.sizes['seed']} bottlenecks, no bias, COI and kinetic energy with $\gamma_p$ = "
        rf"{float(lab['gamma_0']):g} $\|K_p\|_{{op}}$. (a), (b) Medians. (c) Median and range. (d) All positions with "
        r"a positive abscissa; line of slope 1. Theorem 4 allows a distance of $2 \sqrt{\gamma} \|B\|$ in the roots, "
        rf"the plateau on the left. At $p = 1/2$ and $\tilde L$ = {depths[-1]:g} the stable COI is "
        rf"{span(inside, '.2f')}. That the kick at $p = 1/2$ falls with $\tilde L$ is chosen.",
        alt="Cost of identity, speed and Hamiltonian along the path, one line per effective depth, and kinetic energy "
        "against extra cost with a line of slope one.",
    )


def _conservation(lab: xr.Dataset) -> str:
    """What the Hamiltonian does along the trajectories."""
    H = lab["scaled_hamiltonian"]
    variation = (H.max("p") - H.min("p")) / np.abs(H.mean("p"))
    varies = f"the Hamiltonian varies by up to {number(variation.max(), '.0%')}"
    return outcome(
        CONSERVED - variation, "the Hamiltonian is conserved", varies, "the Hamiltonian's variation is not known"
    )


def _kinetic_against_extra(panel: Axes, lab: xr.Dataset) -> None:
    depths = lab["effective_depth"].values
    for depth, color in zip(depths, _shades(len(depths)), strict=True):
        path = lab.sel(effective_depth=depth)
        extra, kinetic = path["cost"] - path["scaled_hamiltonian"], path["speed"] ** 2 / depth**2
        shown = (extra > 0).values
        panel.loglog(extra.values[shown], kinetic.values[shown], ".", markersize=1.2, color=color)
    ends = np.array([1e-3, 1e3])
    panel.loglog(ends, ends, color=BLACK, linewidth=0.8)
    panel.set(title="kinetic energy and extra COI", xlabel=r"stable COI + $2 \mathcal{H} / \tilde L$")
    panel.set_ylabel(r"$\|\partial_p A\|^2 / \tilde L^2$")
    panel.set(xlim=(1e-3, 1e3), ylim=(1e-3, 1e3))


def theorem4(random_geodesics: xr.Dataset, scalar_geodesics: xr.Dataset, geodesics: xr.Dataset) -> Figure:
    """Theorem 4: how tight its bounds are, as printed and corrected, and where the printed one is false."""
    figure, axes = new(1, 3, height=2.9)
    _random_bounds(axes[0, 0], random_geodesics)
    _scalar_region(figure, axes[0, 1], scalar_geodesics)
    _laboratory_bounds(axes[0, 2], geodesics)
    label_panels(axes)
    random, scalar = random_geodesics, scalar_geodesics
    count = int((random["middle"] < random["lower_printed"]).sum())
    share, below = float((scalar["middle"] < scalar["lower_printed"]).mean()), int((random["middle"] < 0).sum())
    most = float((scalar["middle"] / scalar["lower"]).max())
    bounds = _lower_bounds(random, scalar, geodesics)
    return describe(
        figure,
        title=f"Theorem 4: {bounds}",
        caption="Theorem 4 bounds the gap, $-2 \\mathcal{H} / \\tilde L$ less the least COI, from both sides; above 1 "
        f"the gap breaks a bound. (a) The {below} of {random['middle'].size} random exact trajectories, with and "
        "without bias, that have a negative gap, over both lower bounds; shaded: the printed bound is broken "
        f"({count} times, filled). (b) Scalar geodesics in closed form, $\\gamma = \\min A^2$, $\\tilde L$ = "
        f"{float(scalar['effective_depth']):g}: inside the black line the printed bound is broken ({share:.0%} of the "
        f"grid, of which one point in {_cell_step(scalar['middle'].size) ** 2} is colored); the gap over the corrected "
        f"bound is at most {most:.2f}. Cross: the example in the text. (c) Through a bottleneck, with $\\gamma_p$: "
        f"a positive gap over the upper, a negative one over the corrected lower bound; lines: medians, "
        f"bands: range of {geodesics.sizes['seed']} bottlenecks.",
        alt="The gap over its bounds: of random trajectories, as a map of scalar geodesics and through a bottleneck; "
        f"{bounds}.",
    )


def _lower_bounds(*trajectories: xr.Dataset) -> str:
    """What becomes of both lower bounds, up to rounding, on all trajectories for which they are known."""
    printed, corrected = (
        [
            (data["middle"] - data[name] + ROUNDING * np.abs(data[name])).values.ravel()
            for data in trajectories
            if name in data
        ]
        for name in ("lower_printed", "lower")
    )
    first = outcome(np.concatenate(printed), "holds here", "is false", "is not known here")
    second = outcome(np.concatenate(corrected), "holds", "is false, too", "is not known here")
    return f"the printed lower bound {first}, the corrected one {second}"


def _random_bounds(panel: Axes, random: xr.Dataset) -> None:
    below = (random["middle"] < 0).values
    corrected = (random["middle"] / random["lower"]).values[below]
    printed = (random["middle"] / random["lower_printed"]).values[below]
    violated = printed > 1
    top = 1.08 * max([1.0, *printed[np.isfinite(printed)]])
    panel.axvspan(1, top, color=RED, alpha=0.15, linewidth=0)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    look: dict[str, Any] = {"markersize": 3.5, "markeredgewidth": 0.8}
    for shown, color, fill, words in (
        (~violated, BLUE, "none", "obeyed"),
        (violated, RED, RED, "printed bound broken"),
    ):
        panel.plot(printed[shown], corrected[shown], "o", color=color, markerfacecolor=fill, label=words, **look)
    panel.set(title="random trajectories", xlabel="gap / printed bound", ylabel="gap / corrected bound")
    panel.set(xlim=(-0.03 * top, top), ylim=(-0.03, 1.1))
    legend_below(panel)


def _cell_step(size: int) -> int:
    """Every which point of a grid of so many is drawn in both directions."""
    return int(np.ceil(np.sqrt(size / CELLS)))


def _scalar_region(figure: Figure, panel: Axes, scalar: xr.Dataset) -> None:
    ratio = np.clip((scalar["middle"] / scalar["lower_printed"]).T.values, 0, 2)
    u, c = scalar["u"].values, scalar["c"].values
    step = _cell_step(ratio.size)
    shown = panel.pcolormesh(
        u[::step],
        c[::step],
        ratio[::step, ::step],
        cmap=color_map("RdBu_r"),
        vmin=0,
        vmax=2,
        edgecolors="face",
        linewidth=0.3,
    )
    panel.contour(u, c, ratio, levels=[1.0], colors=BLACK, linewidths=1)
    panel.plot(-1, 0.01, "x", color=BLACK, markersize=6)
    panel.text(0.03, 0.04, "printed bound\nbroken", transform=panel.transAxes, fontsize=7.5)
    panel.set_yscale("log")
    panel.set(title="scalar geodesics", xlabel="$u = A B$", ylabel=r"$c = \sup B^2$")
    bar = color_bar(
        figure, shown, ax=panel, ticks=[0, 1, 2], location="bottom", extend="min", label="gap / printed bound"
    )
    bar.ax.axvline(1, color=BLACK, linewidth=1)


def _laboratory_bounds(panel: Axes, laboratory: xr.Dataset) -> None:
    middle = laboratory["middle"]
    used = middle / xr.where(middle > 0, laboratory["upper"], laboratory["lower"])
    depths = laboratory["effective_depth"].values
    for bias, marker, color, words in ((0, "o-", BLUE, "no bias"), (1, "s--", ORANGE, "bias")):
        part = used.sel(bias=bias)
        panel.plot(depths, part.median("seed"), marker, color=color, markersize=3, label=words)
        band(panel, depths, part.min("seed").values, part.max("seed").values, color=color)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.set(title="bottleneck", xlabel=DEPTH, ylabel="gap / corrected bound", ylim=(0, 1.1))
    panel.set_xticks(depths)
    legend_below(panel)


def identity_cost(identity_costs: xr.Dataset, descents: xr.Dataset) -> Figure:
    """Cost of identity: Proposition 1 with the appended 1, a neuron added, and where descent ends (Section 1.4)."""
    figure, axes = new(1, 3, height=2.3)
    _bound_ratios(axes[0, 0], identity_costs)
    _scaled_costs(axes[0, 1], identity_costs.sel(shape=WIDE))
    _descent_ends(axes[0, 2], descents)
    label_panels(axes)
    apart = np.abs(identity_costs["scaling"].sel(shape=WIDE, bias=0)).max()
    near = float((descents["negative_mass"] < NEARLY_NONE).mean())
    least = {words: identity_costs["least_ratio"].sel(search=f"{words}, printed").min() for words in BIAS}
    ratios = ", ".join(f"{number(ratio, '.2f')} ({words})" for words, ratio in least.items())
    return describe(
        figure,
        title=f"Proposition 1: the printed bound {_printed_bounds(least)}",
        caption="Points: one representation each, moved up and down so that they do not cover each other; blue: no "
        "bias, orange-red: bias (an appended 1); black lines: what is printed. (a) Bound of Proposition 1 over COI, "
        f"feasible Gaussian representations ({identity_costs.sizes['draw']} per shape); triangles: the largest ratios "
        f"that {identity_costs.sizes['start']} searches find; above 1 the bound is broken; the "
        f"least COI over the printed bound is {ratios}. (b) COI of $0.9 A$ over "
        f"COI of $A$, {WIDE} (neurons x points): without bias within {number(apart, '.0e')} of 1; where it is 1 no "
        f"local minimum but $A = 0$ is strict. (c) Ends of {descents.sizes['start']} descents per case ($w$ neurons, "
        f"$N$ points), COI less the rank of $A$; {near:.0%} of them have a negative mass $\\|[A]_-\\|^2 / \\|A\\|^2$ "
        f"below {NEARLY_NONE:g}.",
        alt="Rows of points with and without a bias: bound over cost of identity, cost of a scaled over that of the "
        f"representation, cost less rank at the ends of descents. The printed bound {_printed_bounds(least)}.",
    )


def _printed_bounds(least: dict[str, xr.DataArray]) -> str:
    """Whether the printed bound holds with and without a bias, by the least cost over it that searches find."""
    with_bias, without = (
        outcome(least[words] - 1 + ROUNDING, "holds", "fails", "is not known") for words in reversed(BIAS)
    )
    return f"{with_bias} with a bias, {without} without"


def _spread_row(panel: Axes, row: int, values: np.ndarray, color: str) -> None:
    """A row of points, moved up and down so that equal ones do not cover each other."""
    spots = row + 0.3 * np.sin(2.4 * np.arange(values.size))
    panel.plot(np.sort(values.ravel()), spots, "o", markersize=1.8, color=color, markeredgewidth=0)


def _name_rows(panel: Axes, names: list[str], printed: float) -> None:
    panel.axvline(printed, color=BLACK, linewidth=0.8, zorder=0)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)


def _bound_ratios(panel: Axes, costs: xr.Dataset) -> None:
    rows = ((0, "printed", BLUE), (1, "printed", RED), (1, "corrected", RED))
    for row, (bias, bound, color) in enumerate(rows):
        part = costs.sel(bias=bias)
        ratio = part[f"bound_{bound}"] / part["plain_cost"]
        _spread_row(panel, row, ratio.values[part["feasible"].values == 1], color)
        least = costs["least_ratio"].sel(search=f"{BIAS[bias]}, {bound}").min()
        panel.plot(1 / float(least), row, "^", color=BLACK, markersize=5)
    _name_rows(panel, [f"{BIAS[bias]},\n{bound}" for bias, bound, _ in rows], 1)
    panel.set(title="Proposition 1", xlabel="bound / COI", xlim=(-0.05, None))


def _scaled_costs(panel: Axes, costs: xr.Dataset) -> None:
    for bias, color in enumerate((BLUE, RED)):
        _spread_row(panel, bias, 1 + costs["scaling"].sel(bias=bias).values, color)
    _name_rows(panel, list(BIAS), 1)
    panel.set(title="scaling by 0.9", xlabel="COI of $0.9 A$ / COI of $A$")


def _descent_ends(panel: Axes, descents: xr.Dataset) -> None:
    cases = [str(case) for case in descents["case"].values]
    for row, case in enumerate(cases):
        part = descents.sel(case=case)
        _spread_row(panel, row, (part["end_cost"] - part["end_rank"]).values, BLUE if "no bias" in case else RED)
    _name_rows(panel, [",\n".join(case.rsplit(", ", 1)) for case in cases], 0)
    largest = float((descents["end_cost"] - descents["end_rank"]).max())
    panel.set_xscale("symlog", linthresh=1)
    panel.set_xlim(-1.5, 2 * max(1.0, largest))
    panel.set(
        title="ends of descent", xlabel="COI less rank", xticks=[-1, 0, 1, 10], xticklabels=["-1", "0", "1", "10"]
    )


def critical_paths(critical_paths: xr.Dataset, random_geodesics: xr.Dataset) -> Figure:
    """Critical points of the discrete network: H varies as 1/L, weights grow by twice their biases (Proposition 9)."""
    figure, axes = new(1, 3, height=2.9)
    paths, L = critical_paths, critical_paths["layer_count"].values
    looks = (("-", BLUE, "no bias"), ("--", ORANGE, "bias"))
    for bias, (dash, color, words) in enumerate(looks):
        _over_layers(axes[0, 0], paths["spread"].sel(bias=bias), dash, color, words)
    slope = span([_slope(paths["spread"].sel(bias=bias)) for bias in (0, 1)], ".1f")
    axes[0, 0].set(title=rf"$\mathcal{{H}}$: slope {slope}", ylabel=r"range of $\mathcal{H}$ / $|\mathcal{H}|$")
    gain = paths["norm_gain"].sel(bias=1)
    last = gain.isel(layer_count=-1).mean("seed")
    for factor, (dash, color, words) in zip(
        (2, 1), (("-", BLUE, "corrected, 2"), ("--", RED, "printed, 1")), strict=True
    ):
        _over_layers(axes[0, 1], cast("xr.DataArray", np.abs(gain - factor)), dash, color, words)
    axes[0, 1].set(title="gain, networks", ylabel="|gain less its factor|")
    for panel in axes[0, :2]:
        panel.loglog(L, 4 / L, color=BLACK, linestyle=":", linewidth=1, label="slope $-1$")
        panel.set_xlabel("layers $L$")
        ticks_at(panel.xaxis, L)
        legend_below(panel, columns=2)
    _gains(axes[0, 2], random_geodesics)
    label_panels(axes)
    return describe(
        figure,
        title=f"More layers conserve $\\mathcal{{H}}$ {_better(paths['spread'])}; "
        f"Proposition 9's gain is {_nearer(last)}",
        caption=f"(a), (b) {paths.sizes['seed']} random critical paths each: symplectic Euler steps of the Hamiltonian "
        f"flow, $w$ = {int(paths['width'])}, $N$ = {int(paths['points'])}, $\\tilde L$ = "
        f"{float(paths['effective_depth']):g}; lines: geometric means, bands: range over the paths. (b) Gain: growth "
        "of $\\|W\\|^2$ from the first to the last layer over $\\tilde L \\sum \\rho_\\ell \\|b_\\ell\\|^2$, "
        f"networks with bias, {number(last, '.3g')} at $L$ = {int(L[-1])}; the proposition prints the factor 1, its "
        "proof corrected gives 2. (c) "
        f"{random_geodesics.sizes['draw']} random exact trajectories: growth of $\\|W_p\\|^2$ from $p = 0$ to 1 over "
        "$\\tilde L \\int \\|b\\|^2$.",
        alt="Against the number of layers, on logarithmic axes: the range of the Hamiltonian, and the distance of the "
        f"gain from 2 and from 1; gains of exact paths. The gain is {_nearer(last)}.",
    )


def _better(spread: xr.DataArray) -> str:
    """Whether the Hamiltonian varies less with the most layers than with the fewest, geometric means."""
    logs = cast("xr.DataArray", np.log(spread)).mean("seed")
    return outcome(logs.isel(layer_count=0) - logs.isel(layer_count=-1), "better", "no better", "?")


def _nearer(gain: xr.DataArray) -> str:
    return outcome(abs(gain - 1) - abs(gain - 2), "nearer 2 than 1", "nearer 1 than 2", "not known")


def _slope(values: xr.DataArray) -> float:
    """Slope of the geometric mean over seeds against the number of layers, on logarithmic axes."""
    logs = cast("xr.DataArray", np.log(values)).mean("seed")
    known = np.isfinite(logs.values)
    if known.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(logs["layer_count"].values[known]), logs.values[known], 1)[0])


def _over_layers(panel: Axes, values: xr.DataArray, dash: str, color: str, words: str) -> None:
    """Geometric mean and range over seeds against the number of layers."""
    values, L = values.transpose("layer_count", "seed"), values["layer_count"].values
    middle = np.exp(cast("xr.DataArray", np.log(values)).mean("seed"))
    panel.loglog(L, middle, dash, color=color, linewidth=1.8, label=words)
    band(panel, L, values.min("seed").values, values.max("seed").values, color=color)


def _gains(panel: Axes, random: xr.Dataset) -> None:
    part = random.sel(bias=1)
    panel.semilogx(part["effective_depth"], part["norm_gain"], "o", color=BLUE, markersize=3)
    for factor, color, dash, words in ((2, BLUE, "-", "corrected"), (1, RED, "--", "printed")):
        panel.axhline(factor, color=color, linewidth=0.8, linestyle=dash)
        panel.annotate(
            words, (0.98, factor + 0.05), xycoords=("axes fraction", "data"), ha="right", fontsize=7.5, color=color
        )
    panel.set(title="gain, exact paths", xlabel=DEPTH, ylabel="gain", ylim=(0, 2.4))
