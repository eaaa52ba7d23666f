"""Figures of exact statements: geodesic laboratory, Theorem 4, cost of identity, critical discrete networks."""

from __future__ import annotations

from typing import cast

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, ORANGE, PURPLE, RED, band, describe, label_panels, legend_below, new
from repdyn.leaky_resnets.figures.shared import DEPTH, ticks_at


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
    axes[1, 0].set(title="Hamiltonian, conserved", xlabel="position $p$", ylabel=r"$-2 \mathcal{H} / \tilde L$")
    _kinetic_against_extra(axes[1, 1], lab)
    inside = lab["cost"].isel(effective_depth=-1).sel(p=0.5, method="nearest")
    label_panels(axes)
    return describe(
        figure,
        title="Geodesic laboratory: exact trajectories through a bottleneck",
        caption=f"Hamiltonian flow from a perturbed fixed point of rank {k} at $p = 1/2$ to both ends, no training; "
        rf"{lab.sizes['seed']} bottlenecks, no bias, COI and kinetic energy with $\gamma_p$ = "
        rf"{float(lab['gamma_0']):g} $\|K_p\|_{{op}}$. (a), (b) Medians. (c) Median and range. (d) All positions with "
        r"a positive abscissa; line of slope 1. Theorem 4 allows a distance of $2 \sqrt{\gamma} \|B\|$ in the roots, "
        rf"the plateau on the left. At $p = 1/2$ and $\tilde L$ = {depths[-1]:g} the stable COI lies below $k$, from "
        rf"{float(inside.min()):.2f} to {float(inside.max()):.2f}. That the kick at $p = 1/2$ falls with $\tilde L$ is "
        "chosen.",
        alt="As the effective depth grows, the cost of identity stays near its least value on more and more of the"
        " path, where the speed falls by decades, while at one end the speed keeps pace with the effective depth; the"
        " kinetic energy is proportional to the extra cost.",
    )


def _kinetic_against_extra(panel: Axes, lab: xr.Dataset) -> None:
    depths = lab["effective_depth"].values
    for depth, color in zip(depths, _shades(len(depths)), strict=True):
        path = lab.sel(effective_depth=depth)
        extra, kinetic = path["cost"] - path["scaled_hamiltonian"], path["speed"] ** 2 / depth**2
        shown = (extra > 0).values
        panel.loglog(extra.values[shown], kinetic.values[shown], ".", markersize=1.2, color=color, rasterized=True)
    ends = np.array([1e-3, 1e3])
    panel.loglog(ends, ends, color=BLACK, linewidth=0.8)
    panel.set(title="kinetic energy and extra COI", xlabel=r"stable COI + $2 \mathcal{H} / \tilde L$")
    panel.set_ylabel(r"$\|\partial_p A\|^2 / \tilde L^2$")
    panel.set(xlim=(1e-3, 1e3), ylim=(1e-3, 1e3))


def theorem4(random_geodesics: xr.Dataset, scalar_geodesics: xr.Dataset, geodesics: xr.Dataset) -> Figure:
    """Theorem 4: how tight its bounds are, as printed and corrected, and where the printed one is false."""
    figure, axes = new(1, 3, height=3.0)
    _random_bounds(axes[0, 0], random_geodesics)
    _scalar_region(figure, axes[0, 1], scalar_geodesics)
    _laboratory_bounds(axes[0, 2], geodesics)
    label_panels(axes)
    random, scalar = random_geodesics, scalar_geodesics
    count = int((random["middle"] < random["lower_printed"]).sum())
    share, below = float((scalar["middle"] < scalar["lower_printed"]).mean()), int((random["middle"] < 0).sum())
    most = float((scalar["middle"] / scalar["lower"]).max())
    return describe(
        figure,
        title="Theorem 4: how far the energy is from the least cost of identity, printed and corrected bounds",
        caption=f"(a) Of {random['middle'].size} random exact trajectories with and without bias those whose "
        f"quantity, $-2 \\mathcal{{H}} / \\tilde L$ less the least COI, is negative ({below}), sorted: the quantity "
        f"over the lower bound, at most 1 obeys it; cut at 1e-4. Filled: the printed bound is violated ({count} "
        "times). (b) Scalar geodesics in closed form, $\\gamma = \\min A^2$, $\\tilde L$ = "
        f"{float(scalar['effective_depth']):g}: the same over the printed bound, which is false inside the line "
        f"({share:.0%} of the grid); over the corrected bound it is at most {most:.2f}. Cross: the example in the "
        "text. (c) Through a bottleneck: place between the corrected lower (-1) and the upper bound (1), with "
        f"$\\gamma_p$; median and range of {geodesics.sizes['seed']} bottlenecks.",
        alt="The corrected bounds hold on all trajectories; the printed lower bound is violated by a few random ones"
        " and in a whole region of scalar geodesics with c below one.",
    )


def _random_bounds(panel: Axes, random: xr.Dataset) -> None:
    below = (random["middle"] < 0).values
    corrected = (random["middle"] / random["lower"]).values[below]
    printed = (random["middle"] / random["lower_printed"]).values[below]
    order = np.argsort(corrected)
    rank, violated = np.arange(len(order)), printed[order] > 1
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.semilogy(rank, printed[order], "o", color=RED, markersize=2.5, markerfacecolor="none", label="printed")
    look = {"markersize": 5, "markeredgecolor": BLACK, "markeredgewidth": 0.6, "alpha": 0.6}
    panel.semilogy(rank[violated], printed[order][violated], "o", color=RED, label="printed, violated", **look)
    panel.semilogy(rank, corrected[order], color=BLUE, label="corrected")
    panel.set(title="random trajectories", xlabel="trajectory, sorted", ylabel="quantity / lower bound")
    panel.set_ylim(1e-4, 5)
    legend_below(panel)


def _scalar_region(figure: Figure, panel: Axes, scalar: xr.Dataset) -> None:
    ratio = np.clip((scalar["middle"] / scalar["lower_printed"]).T.values, 0, 2)
    u, c = scalar["u"].values, scalar["c"].values
    shown = panel.pcolormesh(u, c, ratio, cmap="RdBu_r", vmin=0, vmax=2, rasterized=True)
    panel.contour(u, c, ratio, levels=[1.0], colors=BLACK, linewidths=1)
    panel.plot(-1, 0.01, "x", color=BLACK, markersize=6)
    panel.set_yscale("log")
    panel.set(title="scalar geodesics", xlabel="$u = A B$", ylabel=r"$c = \sup B^2$")
    bar = figure.colorbar(shown, ax=panel, ticks=[0, 1, 2])
    bar.ax.set_yticklabels(["0", "1", r"$\geq$2"])
    bar.ax.set_title("ratio", fontsize=7.5, fontweight="normal")


def _laboratory_bounds(panel: Axes, laboratory: xr.Dataset) -> None:
    middle, lower, upper = (laboratory[name] for name in ("middle", "lower", "upper"))
    place = xr.where(middle > 0, middle / upper, -middle / lower)
    depths = laboratory["effective_depth"].values
    for bias, marker, color, words in ((0, "o-", BLUE, "no bias"), (1, "s--", RED, "bias")):
        part = place.sel(bias=bias)
        panel.plot(depths, part.median("seed"), marker, color=color, markersize=3, label=words)
        band(panel, depths, part.min("seed").values, part.max("seed").values, color=color)
    for bound, words, shift in ((1, "upper bound", -0.12), (-1, "lower bound, corrected", 0.06)):
        panel.axhline(bound, color=BLACK, linewidth=0.8)
        panel.annotate(words, (0.98, bound + shift), xycoords=("axes fraction", "data"), ha="right", fontsize=7.5)
    panel.set(title="bottleneck", xlabel=DEPTH, ylabel="place between the bounds", ylim=(-1.15, 1.15))
    panel.set_xticks(depths)
    legend_below(panel)


def identity_cost(identity_costs: xr.Dataset, descents: xr.Dataset) -> Figure:
    """Cost of identity: Proposition 1 with the appended 1, a neuron added, and where descent ends (Section 1.4)."""
    figure, axes = new(1, 3, height=3.1)
    _bound_ratios(axes[0, 0], identity_costs)
    panel, wide = axes[0, 1], identity_costs.sel(shape="9 x 4")
    for bias, color, words in ((0, BLUE, "no bias"), (1, RED, "bias")):
        ratio = np.sort(1 + wide["scaling"].sel(bias=bias).values)
        panel.plot(np.linspace(0, 1, ratio.size), ratio, color=color, label=words)
    panel.set(title="scaling by 0.9", xlabel="share of representations", ylabel="COI of $0.9 A$ over COI of $A$")
    legend_below(panel)
    _descent_ends(axes[0, 2], descents)
    label_panels(axes)
    return describe(
        figure,
        title="Cost of identity: bound, scaling, descent",
        caption=f"(a) Feasible Gaussian representations ({identity_costs.sizes['draw']} per shape) and the least ratios"
        f" that {identity_costs.sizes['start']} searches find (triangles): COI over the bound of Proposition 1, cut at"
        " 4. (b) Scaling by 0.9, 9 neurons, 4 points, sorted: no change without bias, so no local"
        f" minimum but $A = 0$ is strict. (c) Ends of {descents.sizes['start']} descents per case ($w$ neurons, $N$"
        " points): COI less rank against negative mass, values below 1e-6 drawn there.",
        alt="With the appended row of ones the printed bound of Proposition 1 is violated and the corrected one is"
        " reached; scaling leaves the cost unchanged without bias and lowers it with bias; descent ends near"
        " non-negative representations whose cost is their rank, without bias only.",
    )


def _bound_ratios(panel: Axes, costs: xr.Dataset) -> None:
    rows = (
        ("no bias, printed", 0, "bound_printed", BLUE, False),
        ("bias, printed", 1, "bound_printed", RED, False),
        ("bias, corrected", 1, "bound_corrected", RED, True),
    )
    for at, (search, bias, bound, color, filled) in enumerate(rows):
        part = costs.sel(bias=bias)
        ratio = np.sort((part["plain_cost"] / part[bound]).values[part["feasible"].values == 1])
        spots = at + 0.28 * np.sin(2.4 * np.arange(ratio.size))  # spread, so that points do not cover each other
        panel.plot(spots, ratio, ".", markersize=2, color=color, markerfacecolor=color if filled else "none")
        panel.plot(at, float(costs["least_ratio"].sel(search=search).min()), "v", color=BLACK, markersize=5)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.set_xticks(range(3), ["no bias\nprinted", "bias\nprinted", "bias\ncorrected"])
    panel.set(title="Proposition 1", ylabel="COI / bound", ylim=(0.5, 4))


def _descent_ends(panel: Axes, descents: xr.Dataset) -> None:
    styles = zip(descents["case"].values, (BLUE, ORANGE, RED), ("o", "^", "x"), strict=True)
    for case, color, marker in styles:
        part = descents.sel(case=case)
        mass = np.maximum(part["negative_mass"], 1e-6)
        words = str(case).replace(" + ", "+").replace(", no bias", "")
        panel.plot(
            mass, part["end_cost"] - part["end_rank"], marker, color=color, markersize=2.5, alpha=0.6, label=words
        )
    panel.set_xscale("log")
    panel.axhline(0, color=BLACK, linewidth=0.8)
    panel.set(title="ends of descent", xlabel=r"negative mass $\|[A]_-\|^2 / \|A\|^2$")
    panel.set(ylabel="COI less rank", ylim=(-1.3, 2))
    legend_below(panel)


def critical_paths(critical_paths: xr.Dataset, random_geodesics: xr.Dataset) -> Figure:
    """Critical points of the discrete network: H varies as 1/L, weights grow by twice their biases (Proposition 9)."""
    figure, axes = new(1, 3, height=2.9)
    paths, L = critical_paths, critical_paths["layer_count"].values
    for bias, color, words in ((0, BLUE, "no bias"), (1, RED, "bias")):
        spread = paths["spread"].sel(bias=bias)
        axes[0, 0].loglog(L, spread.T, color=color, linewidth=0.4, alpha=0.5)
        middle = np.exp(cast("xr.DataArray", np.log(spread)).mean("seed"))
        axes[0, 0].loglog(L, middle, color=color, linewidth=2, label=words)
    axes[0, 0].loglog(L, 0.5 / L, color=BLACK, linestyle=":", label="slope $-1$")
    axes[0, 0].set(
        title=r"spread of $\mathcal{H}$", xlabel="layers $L$", ylabel=r"range of $\mathcal{H}$ over $|\mathcal{H}|$"
    )
    legend_below(axes[0, 0], columns=2)
    gain = paths["norm_gain"].sel(bias=1)
    axes[0, 1].semilogx(L, gain.T, color=PURPLE, linewidth=0.6, alpha=0.6)
    axes[0, 1].set(title="discrete networks", xlabel="layers $L$")
    axes[0, 1].set_ylabel(r"gain of $\|W\|^2$ over $\tilde L \sum \rho_\ell \|b_\ell\|^2$")
    _gains(axes[0, 2], random_geodesics)
    for panel in axes[0, :2]:
        ticks_at(panel.xaxis, L)
    for panel in axes[0, 1:]:
        panel.axhline(2, color=BLACK, linewidth=0.8)
        panel.axhline(1, color=RED, linewidth=0.8, linestyle="--")
        panel.set_ylim(0.8, 2.4)
        panel.annotate("corrected", (0.98, 2.09), xycoords=("axes fraction", "data"), ha="right", fontsize=7.5)
        panel.annotate("printed", (0.98, 1.05), xycoords=("axes fraction", "data"), ha="right", fontsize=7.5, color=RED)
    label_panels(axes)
    return describe(
        figure,
        title="Critical discrete networks, and balancedness (Proposition 9)",
        caption=f"(a) {paths.sizes['seed']} random critical paths each, thin, and geometric means: symplectic Euler"
        f" steps of the Hamiltonian flow, $w$ = {int(paths['width'])}, $N$ = {int(paths['points'])},"
        f" $\\tilde L$ = {float(paths['effective_depth']):g}. (b) The same paths with bias: gain of the squared "
        f"weights from the first"
        f" to the last layer. (c) {random_geodesics.sizes['draw']} random exact trajectories: gain from $p = 0$ to 1.",
        alt="The Hamiltonian of critical discrete networks varies in inverse proportion to the number of layers; the"
        " squared weights gain twice, not once, the integral of the squared biases times the effective depth.",
    )


def _gains(panel: Axes, random: xr.Dataset) -> None:
    part = random.sel(bias=1)
    panel.semilogx(part["effective_depth"], part["norm_gain"], "o", color=PURPLE, markersize=3)
    panel.set(title="exact trajectories", xlabel=DEPTH)
    panel.set_ylabel(r"gain of $\|W\|^2$ over $\tilde L \int \|b\|^2$")
