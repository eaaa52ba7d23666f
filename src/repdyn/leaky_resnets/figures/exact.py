"""Figures of exact statements: geodesic laboratory, Theorem 4, cost of identity, critical discrete networks."""

from __future__ import annotations

from typing import Any, cast

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.facts import slope
from repdyn.leaky_resnets.figures.shared import DEPTH, extremes, ticks_at
from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    ORANGE,
    RED,
    Drawn,
    band,
    color_bar,
    color_map,
    figure,
    label_panels,
    legend_below,
    new,
)

BIAS = ("no bias", "bias")
WIDE = "9 x 4"
"""Shape with more neurons than points."""
NEARLY_NONE = 1e-3
CELLS = 2000  # of a map: more make a large file


def _shades(count: int) -> np.ndarray:
    """Light to dark blue, distinct in gray too."""
    return mpl.colormaps["viridis_r"](np.linspace(0.15, 1.0, count))


@figure(
    title="Exact trajectories through a bottleneck: cost, speed and Hamiltonian along the path",
    caption="Hamiltonian flow from a perturbed fixed point of rank $k$ at $p = 1/2$ to both ends, no training, no "
    r"bias; COI and kinetic energy with $\gamma_p = \gamma_0 \|K_p\|_{op}$. (a), (b) Medians over bottlenecks. (c) "
    "Median and range. (d) All positions with a positive abscissa; line of slope 1. Theorem 4 allows a distance of "
    r"$2 \sqrt{\gamma} \|B\|$ in the roots, the plateau on the left. That the kick at $p = 1/2$ falls with $\tilde L$ "
    "is chosen.",
    alt="Cost of identity, speed and Hamiltonian along the path, one line per effective depth, and kinetic energy "
    "against extra cost with a line of slope one.",
)
def geodesic_laboratory(geodesics: xr.Dataset) -> Drawn:
    """Exact trajectories through a bottleneck: separation of time scales without training (Section 2)."""
    fig, axes = new(2, 2, height=2.35)
    lab, p, k = geodesics.sel(bias=0), geodesics["p"].values, int(geodesics["rank"])
    depths = lab["effective_depth"].values
    for depth, color in zip(depths, _shades(len(depths)), strict=True):
        path, words = lab.sel(effective_depth=depth), f"$\\tilde L$ = {depth:g}"
        axes[0, 0].semilogy(p, path["cost"].median("seed"), color=color, label=words)
        axes[0, 1].semilogy(p, path["plain_speed"].median("seed") / depth, color=color, label=words)
        energy = path["scaled_hamiltonian"]
        axes[1, 0].plot(p, energy.median("seed"), color=color)
        band(axes[1, 0], p, energy.min("seed").values, energy.max("seed").values, color=color)
    axes[0, 0].axhline(k, color=BLACK, linestyle=":", linewidth=1)
    axes[0, 0].set(title="cost of identity", xlabel="position $p$", ylabel="stable COI")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    ticks_at(axes[0, 0].yaxis, (3, 5, 10, 20, 50))
    axes[0, 1].set(title="speed", xlabel="position $p$", ylabel=r"$\|\partial_p A\| / (\tilde L \|A\|)$")
    axes[1, 0].axhline(k, color=BLACK, linestyle=":", linewidth=1)
    axes[1, 0].annotate(f"rank $k$ = {k}", (0.02, k), (0, 3), textcoords="offset points", fontsize=7.5)
    axes[1, 0].margins(y=0.12)  # space for these words under the title
    axes[1, 0].set(title="Hamiltonian", xlabel="position $p$", ylabel=r"$-2 \mathcal{H} / \tilde L$")
    _kinetic_against_extra(axes[1, 1], lab)
    H = lab["scaled_hamiltonian"]
    variation = (H.max("p") - H.min("p")) / np.abs(H.mean("p"))
    inside = lab["cost"].isel(effective_depth=-1).sel(p=0.5, method="nearest")
    label_panels(axes)
    return Drawn(
        fig,
        {
            "bottlenecks": lab.sizes["seed"],
            "gamma_0": lab["gamma_0"],
            "largest range of the Hamiltonian along a path, over its mean": variation.max(),
            "stable COI at p = 1/2, largest effective depth (least, largest)": extremes(inside),
        },
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


@figure(
    title="Theorem 4: the gap over its bounds, as printed and as corrected",
    caption="Theorem 4 bounds the gap, $-2 \\mathcal{H} / \\tilde L$ less the least COI, from both sides; above 1 the "
    "gap breaks a bound. (a) Random exact trajectories that have a negative gap, with and without bias, over both "
    r"lower bounds; shaded: the printed bound is broken. (b) Scalar geodesics in closed form, $\gamma = \min A^2$; "
    "color: the gap over the printed bound, at a part of the points computed; inside the black line it is broken. "
    r"Cross: the example in the text. (c) Through a bottleneck, with $\gamma_p$: a positive gap over the upper, a "
    "negative one over the corrected lower bound; lines: medians, bands: range over bottlenecks.",
    alt="The gap over its bounds: of random trajectories, as a map of scalar geodesics and through a bottleneck.",
)
def theorem4(random_geodesics: xr.Dataset, scalar_geodesics: xr.Dataset, geodesics: xr.Dataset) -> Drawn:
    """Theorem 4: how tight its bounds are, as printed and corrected, and where the printed one is false."""
    fig, axes = new(1, 3, height=2.9)
    _random_bounds(axes[0, 0], random_geodesics)
    _scalar_region(fig, axes[0, 1], scalar_geodesics)
    _laboratory_bounds(axes[0, 2], geodesics)
    label_panels(axes)
    random, scalar = random_geodesics, scalar_geodesics
    violated = (scalar["middle"] < scalar["lower_printed"]).mean()
    return Drawn(
        fig,
        {
            "random trajectories": random["middle"].size,
            "random trajectories with a negative gap": (random["middle"] < 0).sum(),
            "random trajectories that break the printed bound": (random["middle"] < random["lower_printed"]).sum(),
            "share of scalar geodesics that break the printed bound": violated,
            "largest gap over the corrected bound, scalar geodesics": (scalar["middle"] / scalar["lower"]).max(),
            "effective depth of scalar geodesics": scalar["effective_depth"],
            "bottlenecks": geodesics.sizes["seed"],
        },
    )


def _random_bounds(panel: Axes, random: xr.Dataset) -> None:
    below = (random["middle"] < 0).values
    corrected = (random["middle"] / random["lower"]).values[below]
    printed = (random["middle"] / random["lower_printed"]).values[below]
    violated = printed > 1
    top = 1.08 * max([1.0, *printed[np.isfinite(printed)]])
    panel.axvspan(1, top, color=RED, alpha=0.15, linewidth=0)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    style: dict[str, Any] = {"markersize": 3.5, "markeredgewidth": 0.8}
    for shown, color, fill, words in (
        (~violated, BLUE, "none", "obeyed"),
        (violated, RED, RED, "printed bound broken"),
    ):
        panel.plot(printed[shown], corrected[shown], "o", color=color, markerfacecolor=fill, label=words, **style)
    panel.set(title="random trajectories", xlabel="gap / printed bound", ylabel="gap / corrected bound")
    panel.set(xlim=(-0.03 * top, top), ylim=(-0.03, 1.1))
    legend_below(panel)


def _cell_step(size: int) -> int:
    """Step between the points of a grid of so many that are plotted, in both directions."""
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


@figure(
    title="Cost of identity: Proposition 1, scaling, and ends of descents",
    caption="Points: one representation each, moved up and down so that they do not cover each other; blue: no bias, "
    "orange-red: bias (an appended 1); black lines: what is printed. (a) Bound of Proposition 1 over COI, feasible "
    "Gaussian representations; triangles: the largest ratios that searches find; above 1 the bound is broken. (b) COI "
    f"of $0.9 A$ over COI of $A$, {WIDE} (neurons x points); where it is 1 no local minimum but $A = 0$ is strict. (c) "
    "Ends of descents, COI less the rank of $A$ ($w$ neurons, $N$ points).",
    alt="Rows of points with and without a bias: bound over cost of identity, cost of a scaled over that of the "
    "representation, cost less rank at the ends of descents.",
)
def identity_cost(identity_costs: xr.Dataset, descents: xr.Dataset) -> Drawn:
    """Cost of identity: Proposition 1 with the appended 1, a neuron added, and where descent ends (Section 1.4)."""
    fig, axes = new(1, 3, height=2.3)
    _bound_ratios(axes[0, 0], identity_costs)
    _scaled_costs(axes[0, 1], identity_costs.sel(shape=WIDE))
    _descent_ends(axes[0, 2], descents)
    named = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, markerscale=2)
    label_panels(axes)
    apart = np.abs(identity_costs["scaling"].sel(shape=WIDE, bias=0)).max()
    near = float((descents["negative_mass"] < NEARLY_NONE).mean())
    least = [float(identity_costs["least_ratio"].sel(search=f"{words}, printed").min()) for words in BIAS]
    return Drawn(
        fig,
        {
            "random representations of each shape": identity_costs.sizes["draw"],
            "searches for each triangle": identity_costs.sizes["start"],
            "least COI over the printed bound (no bias, bias)": least,
            "largest distance from 1 in (b), no bias": apart,
            "descents in each case": descents.sizes["start"],
            f"share of ends with a negative mass below {NEARLY_NONE:g}": near,
        },
    )


def _spread_row(panel: Axes, row: int, values: np.ndarray, color: str) -> None:
    """A row of points, moved up and down so that equal ones do not cover each other."""
    spots = row + 0.3 * np.sin(2.4 * np.arange(values.size))
    words = "bias" if color == RED else "no bias"
    panel.plot(np.sort(values.ravel()), spots, "o", markersize=1.8, color=color, markeredgewidth=0, label=words)


def _name_rows(panel: Axes, names: list[str], printed: float) -> None:
    panel.axvline(printed, color=BLACK, linewidth=0.8, zorder=0, label="printed")
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)


def _bound_ratios(panel: Axes, costs: xr.Dataset) -> None:
    rows = ((0, "printed", BLUE), (1, "printed", RED), (1, "corrected", RED))
    for row, (bias, bound, color) in enumerate(rows):
        part = costs.sel(bias=bias)
        ratio = part[f"bound_{bound}"] / part["plain_cost"]
        _spread_row(panel, row, ratio.values[part["feasible"].values == 1], color)
        least = costs["least_ratio"].sel(search=f"{BIAS[bias]}, {bound}").min()
        panel.plot(1 / float(least), row, "^", color=BLACK, markersize=5, label="largest that searches find")
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


@figure(
    title="Critical points of the discrete network: variation of the Hamiltonian and gain of Proposition 9",
    caption="(a), (b) Random critical paths: symplectic Euler steps of the Hamiltonian flow; lines: geometric means, "
    r"bands: range over the paths. (b) Gain: growth of $\|W\|^2$ from the first to the last layer over $\tilde L \sum "
    r"\rho_\ell \|b_\ell\|^2$, networks with bias; the proposition prints the factor 1, its proof corrected gives 2. "
    r"(c) Random exact trajectories: growth of $\|W_p\|^2$ from $p = 0$ to 1 over $\tilde L \int \|b\|^2$.",
    alt="Against the number of layers, on logarithmic axes: the range of the Hamiltonian, and the distance of the gain "
    "from 2 and from 1; gains of exact paths.",
)
def critical_paths(critical_paths: xr.Dataset, random_geodesics: xr.Dataset) -> Drawn:
    """Critical points of the discrete network: H varies as 1/L, weights grow by twice their biases (Proposition 9)."""
    fig, axes = new(1, 3, height=2.9)
    paths, L = critical_paths, critical_paths["layer_count"].values
    styles = (("-", BLUE, "no bias"), ("--", ORANGE, "bias"))
    for bias, (dash, color, words) in enumerate(styles):
        _over_layers(axes[0, 0], paths["spread"].sel(bias=bias), dash, color, words)
    axes[0, 0].set(title=r"variation of $\mathcal{H}$", ylabel=r"range of $\mathcal{H}$ / $|\mathcal{H}|$")
    gain = paths["norm_gain"].sel(bias=1)
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
    return Drawn(
        fig,
        {
            "critical paths": paths.sizes["seed"],
            "neurons, points": [int(paths["width"]), int(paths["points"])],
            "effective depth": paths["effective_depth"],
            "slope of the Hamiltonian's range against the number of layers (no bias, bias)": [
                slope(L, _geometric_mean(paths["spread"].sel(bias=bias))) for bias in (0, 1)
            ],
            "mean gain with most layers": gain.isel(layer_count=-1).mean("seed"),
            "random exact trajectories": random_geodesics.sizes["draw"],
        },
    )


def _geometric_mean(values: xr.DataArray) -> xr.DataArray:
    return cast("xr.DataArray", np.exp(cast("xr.DataArray", np.log(values)).mean("seed")))


def _over_layers(panel: Axes, values: xr.DataArray, dash: str, color: str, words: str) -> None:
    """Geometric mean and range over seeds against the number of layers."""
    values, L = values.transpose("layer_count", "seed"), values["layer_count"].values
    panel.loglog(L, _geometric_mean(values), dash, color=color, linewidth=1.8, label=words)
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
