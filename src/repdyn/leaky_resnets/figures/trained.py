"""Figures 1 and 3 on trained networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.datasets import require
from repdyn.base.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    band,
    describe,
    half_width,
    label_panels,
    new,
    plain_numbers,
)
from repdyn.base.wording import UNKNOWN, number, outcome, span, which
from repdyn.leaky_resnets.figures.shared import DEPTH, ENERGY, LEAST, LOOKS, limits, spectrum_lines, ticks_at
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps, penalty_and_steps

NEAR = 0.5  # from the rank, of mean cost and energy
CRITICAL = 0.1  # relative distance from a critical point above which a point is drawn hollow
STABLE_ENERGY = r"$-2 \mathcal{H}_\gamma / \tilde L$"


def size_of(measures: xr.Dataset) -> str:
    """What the captions say about n and size."""
    return f"{measures.sizes['seed']} seeds, $L$ = {measures.sizes['layer']} layers"


def fig1a_hamiltonian(chain_measures: xr.Dataset) -> Figure:
    """Estimates of the rank against the effective depth, by linear maps (Figure 1a)."""
    kinds = chain_measures["maps"].values
    figure, axes = new(2, len(kinds), height=2.35, sharex=True, sharey="row", gridspec_kw={"height_ratios": [1, 1.4]})
    for (above, below), maps in zip(axes.T, kinds, strict=True):
        _costs_of_depth(above, chain_measures.sel(maps=maps))
        _energies_of_depth(below, chain_measures.sel(maps=maps))
        above.set_title(str(maps).replace(", ", ",\n"))
        below.set_xlabel(DEPTH)
    axes[0, 0].set(yscale="log", ylabel="COI, stable rank")
    plain_numbers(axes[0, 0].yaxis)
    axes[1, 0].set_ylabel("energy")
    _shade_paper_sides(axes, int(chain_measures["rank"]))
    handles = {words: handle for row in axes for handle, words in zip(*row[0].get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    label_panels(axes)
    gammas = ", ".join(f"{gamma:g}" for gamma in chain_measures["gamma"].values)
    return describe(
        figure,
        title=f"Figure 1a: cost and energy ended near the rank with {_near_rank(chain_measures)}",
        caption=f"{size_of(chain_measures)}; means over seeds, one column per kind of linear maps. Top: least cost of "
        "identity (COI, first $\\gamma_0$) and least stable rank $\\|A\\|_*^2 / \\|A\\|_F^2$ over layers. Bottom: "
        "median over layers, bars from the least to the largest layer, as in the paper; hollow where "
        f"$\\|W - \\tilde L B S^T\\| / \\|W\\|$ exceeds {CRITICAL:g}, so that the point is no geodesic. Stable forms "
        f"with $\\gamma_0$ = {gammas}, $\\gamma_p = \\gamma_0 \\|K_p\\|_{{op}}$. Dotted: $k^*$ of the teacher, "
        f"{int(chain_measures['rank'])} (the paper: 3). Shaded: the side from which the paper's curves come to it, the "
        f"COI from above, all energies from below. {_at_greatest_depth(chain_measures)}; near: both means within "
        f"{NEAR:g} of the rank. {penalty_and_steps(chain_measures)}",
        alt="Two rows of panels, one column per kind of linear maps, against the effective depth: above, least cost of "
        "identity and least stable rank; below, the energies; a line at the rank of the teacher.",
    )


def _deepest(chains: xr.Dataset) -> dict[str, tuple[xr.DataArray, xr.DataArray]]:
    """Mean least cost of identity and median energy at the greatest effective depth, by kind of maps."""
    deep = chains.isel(effective_depth=-1, gamma=0).mean("seed")
    kinds = chains["maps"].values
    return {maps: (deep["least_cost"].sel(maps=maps), deep["median_hamiltonian"].sel(maps=maps)) for maps in kinds}


def _near_rank(chains: xr.Dataset) -> str:
    """With which maps both the cost and the energy end near the rank of the teacher."""
    rank = int(chains["rank"])
    return which({maps: [NEAR - abs(float(mean) - rank) for mean in means] for maps, means in _deepest(chains).items()})


def _at_greatest_depth(chains: xr.Dataset) -> str:
    ends = (f"{number(cost, '.1f')}, {number(H, '.1f')} ({maps})" for maps, (cost, H) in _deepest(chains).items())
    depth = float(chains["effective_depth"][-1])
    return f"At $\\tilde L$ = {depth:g} the least COI and the median energy are {'; '.join(ends)}"


def _costs_of_depth(panel: Axes, chains: xr.Dataset) -> None:
    depth = chains["effective_depth"].values
    panel.plot(depth, chains["least_cost"].isel(gamma=0).mean("seed"), color=RED, marker="^", label="least COI")
    rank = chains["stable_rank"].min("node").mean("seed")
    panel.plot(depth, rank, color=GREEN, marker="v", linestyle="-.", label="least stable rank")


def _energies_of_depth(panel: Axes, chains: xr.Dataset) -> None:
    depth, H = chains["effective_depth"].values, chains["hamiltonian"]
    middle = chains["median_hamiltonian"].mean("seed").values
    low, high = (middle - H.min("layer").mean("seed").values, H.max("layer").mean("seed").values - middle)
    panel.errorbar(depth, middle, (low, high), color=BLUE, capsize=2, zorder=4, label=ENERGY)
    hollow = chains["relative_distance"].mean("seed").values > CRITICAL
    look: dict[str, Any] = {"color": BLUE, "markersize": 5, "zorder": 5}
    panel.plot(depth[~hollow], middle[~hollow], "o", **look)
    panel.plot(depth[hollow], middle[hollow], "o", markerfacecolor="white", label=f"{ENERGY}, not critical", **look)
    for gamma, style in zip(chains["gamma"].values, ("-", "--", ":"), strict=False):
        stable, words = chains["median_stable"].sel(gamma=gamma).mean("seed"), f"stable, $\\gamma_0$ = {gamma:g}"
        panel.plot(depth, stable, color=SKY, linestyle=style, marker="s", markersize=3, label=words)
    panel.set_xticks(depth)


def _shade_paper_sides(axes: np.ndarray, rank: int) -> None:
    """The line k* in every panel and, shaded, where the paper's curves lie: costs above it, energies below."""
    for row, is_above in zip(axes, (True, False), strict=True):
        low, high = row[0].get_ylim()
        for panel in row:
            panel.axhline(rank, color=BLACK, linestyle=":", linewidth=1, label=f"$k^*$ = {rank}")
            ends = (rank, max(high, rank)) if is_above else (min(low, rank), rank)
            panel.axhspan(*ends, color="0.93", linewidth=0, zorder=0, label="side of the paper's curves")
        limits(row[0], low, high)


def _gap(net: xr.Dataset, name: str) -> str:
    """Median along the network of the last of the first singular values over the first of the others."""
    last, rank = net[name].values, int(net["rank"])
    if rank >= last.shape[1]:
        return UNKNOWN
    return number(np.median(last[:, rank - 1] / np.maximum(last[:, rank], LEAST)))


def fig1b_spectra(chain_measures: xr.Dataset) -> Figure:
    """Singular values of representations and weights along p (Figure 1b)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    net = _shown(chain_measures)
    figure, axes = new(2, 2, height=2.2, sharex=True)
    middle = (net["p"].values[1:] + net["p"].values[:-1]) / 2
    shown = (
        ("spectrum", net["p"].values, "representations $A_p$", r"singular value / $\sqrt{N}$"),
        ("centered_spectrum", net["p"].values, "$A_p$ without its mean over points", ""),
        ("weight_spectrum", middle, r"weights $W_p / \tilde L$", "singular value"),
        ("centered_weight_spectrum", middle, r"$W_p / \tilde L$ without the mean activation", ""),
    )
    for panel, (name, p, title, label) in zip(axes.ravel(), shown, strict=True):
        spectrum_lines(panel, p, net[name].values, int(net["rank"]))
        panel.set(title=title, ylabel=label)
    for panel in axes[1]:
        panel.set_xlabel("position $p$")
    label_panels(axes)
    return describe(
        figure,
        title=f"Figure 1b: singular value {int(net['rank'])} is {_gap(net, 'spectrum')} times the next in $A_p$, "
        f"{_gap(net, 'weight_spectrum')} times in $W_p$",
        caption=f"One network, the one of median energy (seed {int(net['seed'])}), $\\tilde L$ = "
        f"{float(net['effective_depth']):g}, $L$ = {net.sizes['layer']}, learned and decayed maps. Blue: the first "
        f"$k^*$ = {int(net['rank'])} singular values; gray: the others. The paper, $\\tilde L$ = 7, $L$ = 20, too: a "
        f"clear gap after $k^*$ = 3 values. In the title: medians over $p$. {penalty_and_steps(chain_measures)}",
        alt="Singular values along the network in four panels: representations and weights, above and below, as they "
        "are and centered; the first ones, as many as the rank of the teacher, in blue, the others in gray.",
    )


def _ranges(chains: xr.Dataset) -> dict[str, xr.DataArray]:
    """How far energies vary over the layers, medians over the seeds."""
    names = {"hamiltonian": "Hamiltonian", "cost": "cost of identity", "kinetic": "kinetic energy"}
    return {words: (chains[name].max("layer") - chains[name].min("layer")).median() for name, words in names.items()}


def _constancy(H: xr.DataArray, *parts: xr.DataArray) -> str:
    """Whether the Hamiltonian's range over the layers is less than that of each part."""
    return outcome(
        [float(part - H) for part in parts],
        "over layers the Hamiltonian varies less than its parts",
        "over layers the Hamiltonian varies more than a part of it",
        "how the Hamiltonian varies over layers is not known",
    )


def _shown(chain_measures: xr.Dataset) -> xr.Dataset:
    """The network of median -2 H / Lt with learned maps at the effective depth next to the paper's."""
    nets = at_paper_depth(of_maps(chain_measures))
    energy = nets["median_hamiltonian"].values
    order = np.argsort(energy)[: max(np.isfinite(energy).sum(), 1)]  # NaN, of networks that have diverged, come last
    return nets.isel(seed=order[len(order) // 2])


def fig1c_energies(chain_measures: xr.Dataset) -> Figure:
    """Energies along p and the kinetic energy against the extra cost of identity (Figure 1c)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    chains = at_paper_depth(of_maps(chain_measures)).isel(gamma=0)
    p = (np.arange(chains.sizes["layer"]) + 0.5) / chains.sizes["layer"]
    figure, axes = new(1, 3, height=2.5)
    shown = (
        ("cost", RED, "-", "cost of identity"),
        ("kinetic", ORANGE, "--", "kinetic energy"),
        ("stable_hamiltonian", SKY, "-.", STABLE_ENERGY),
        ("hamiltonian", BLUE, "-", ENERGY),
    )
    for name, color, style, words in shown:
        for panel in axes[0, :2]:
            values = chains[name].transpose("seed", "layer").values
            panel.plot(p, np.median(values, axis=0), color=color, linestyle=style, label=words)
            band(panel, p, values.min(axis=0), values.max(axis=0), color=color)
    rank = int(chains["rank"])
    for panel, title in zip(axes[0, :2], ("energies", "the same, near $k^*$"), strict=True):
        panel.axhline(rank, color=BLACK, linestyle=":", linewidth=1)
        panel.set(title=title, xlabel="position $p$", ylabel=r"energy, units of $\tilde L / 2$")
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(0.1, None)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    axes[0, 1].set_ylim(0, 4 * rank)
    _kinetic_against_extra(axes[0, 2], chains)
    label_panels(axes)
    ranges = _ranges(chains)
    sizes = ", ".join(f"{words} {number(size)}" for words, size in ranges.items())
    return describe(
        figure,
        title=f"Figure 1c: {_constancy(*ranges.values())}",
        caption=f"{size_of(chains)}, $\\tilde L$ = {float(chains['effective_depth']):g}, learned and decayed maps, "
        f"$\\gamma_p$ = {float(chains['gamma']):g} $\\|K_p\\|_{{op}}$. (a), (b) Median and range over seeds; dotted: "
        f"$k^*$ = {rank}. (c) All layers of all seeds with positive abscissa; dotted: equal, the paper says "
        f"proportional. Largest less least over the layers, medians over seeds: {sizes}. The paper, $\\tilde L$ = 7, "
        f"says: not exactly constant, but varies much less than its components. {penalty_and_steps(chain_measures)}",
        alt="Cost of identity, kinetic energy and both Hamiltonians along the network, on a logarithmic axis and near "
        f"the rank; kinetic energy against extra cost with a line of equality; {_constancy(*ranges.values())}.",
    )


def _kinetic_against_extra(panel: Axes, chains: xr.Dataset) -> None:
    extra = (chains["cost"] - chains["median_hamiltonian"]).values.ravel()
    kinetic = chains["kinetic"].values.ravel()
    shown = extra > 0
    panel.loglog(extra[shown], kinetic[shown], ".", color=BLUE, markersize=2.5, alpha=0.6)
    if shown.any():
        ends = np.array([extra[shown].min(), extra[shown].max()])
        panel.loglog(ends, ends, color=BLACK, linestyle=":", linewidth=1)
    panel.set(title="proportion", xlabel=r"extra cost COI + $2 \mathcal{H} / \tilde L$", ylabel="kinetic energy")


def _growth(shown: dict[str, xr.DataArray], kinds: list[str]) -> dict[str, xr.DataArray]:
    """By which factors every mean changes from the least to the greatest effective depth, by kind of maps."""
    means = {words: values.sel(maps=kinds).mean("seed") for words, values in shown.items()}
    return {words: mean.isel(effective_depth=-1) / mean.isel(effective_depth=0) for words, mean in means.items()}


def fig3_bounded(chain_measures: xr.Dataset) -> Figure:
    """Path lengths, |B| and |B S^T| against the effective depth (Figure 3)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    figure, axes = new(1, 4, height=2.5)
    depth = chain_measures["effective_depth"].values
    shown = (
        ("path length", chain_measures["length"]),
        ("stable norm", chain_measures["stable_length"].isel(gamma=0)),
        (r"largest $\|B_p\|$", chain_measures["largest_momentum"]),
        (r"$\|B_p S_p^T\|$", chain_measures["median_alignment"]),
    )
    kinds = [maps for maps in chain_measures["maps"].values if "no bias" not in maps]
    for panel, (title, values) in zip(axes[0], shown, strict=True):
        for maps in kinds:
            draws = values.sel(maps=maps).transpose("effective_depth", "seed").values
            panel.errorbar(
                depth, draws.mean(axis=1), half_width(draws), **LOOKS[maps], label=maps, capsize=2, linewidth=1.2
            )
        start = float(values.isel(effective_depth=0).sel(maps=DECAYED).mean())
        line, words = start * depth / depth[0], r"in proportion to $\tilde L$"
        panel.plot(depth, line, color=BLACK, linestyle=":", linewidth=1, label=words)
        panel.plot(
            depth, np.full(depth.size, start), color=BLACK, linestyle="--", linewidth=1, label="constant (paper)"
        )
        panel.set(title=title, xlabel=DEPTH, xscale="log", yscale="log")
        ticks_at(panel.xaxis, depth)
        ticks_at(panel.yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100, 200))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    label_panels(axes)
    factors = _growth(dict(shown), kinds)
    grown = which({words: factor - 1 for words, factor in factors.items()})
    sizes = ", ".join(f"{words} {span(factor)}" for words, factor in factors.items())
    return describe(
        figure,
        title=f"Figure 3: {grown} grew for all maps",
        caption=f"{size_of(chain_measures)}; means over seeds with 95 % intervals. Path length over $\\sqrt{{N}}$; "
        f"median over layers in (d); stable norm with $\\gamma_p$ = {float(chain_measures['gamma'][0]):g} "
        "$\\|K_p\\|_{op}$. From the first point of the decayed maps, dotted: in proportion to $\\tilde L$; dashed: "
        'constant, as the paper says of path lengths, $B_p$ and $B_p S_p^T$ ("relatively constant"). Means at '
        f"$\\tilde L$ = {depth[-1]:g} over those at {depth[0]:g}, by maps: {sizes}; grew: above 1. "
        f"{penalty_and_steps(chain_measures)}",
        alt="Path length, stable norm, largest norm of B and norm of B S^T against the effective depth, one line per "
        f"kind of linear maps, with lines in proportion to the depth and constant: {grown} grew for all maps.",
    )
