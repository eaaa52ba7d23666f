"""Figures 1 and 3 on trained networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.base.datasets import require
from repdyn.leaky_resnets.figures.shared import DEPTH, ENERGY, LEAST, MAP_STYLES, limits, spectrum_lines, ticks_at
from repdyn.leaky_resnets.methods.selection import DECAYED, PAPER_SIZES, at_paper_depth, of_maps, training
from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Drawn,
    band,
    figure,
    half_width,
    label_panels,
    new,
    plain_numbers,
)

CRITICAL = 0.1  # relative distance from a critical point above which a point is hollow
STABLE_ENERGY = r"$-2 \mathcal{H}_\gamma / \tilde L$"


@figure(
    title="Figure 1a: cost of identity and energies against the effective depth",
    caption="Means over seeds, one column per kind of linear maps. Top: least cost of identity (COI, first "
    r"$\gamma_0$) and least stable rank $\|A\|_*^2 / \|A\|_F^2$ over layers. Bottom: median over layers, bars from the "
    r"least to the largest layer, as in the paper; hollow where $\|W - \tilde L B S^T\| / \|W\|$ exceeds "
    rf"{CRITICAL:g}, so that the point is no geodesic. Stable forms with $\gamma_p = \gamma_0 \|K_p\|_{{op}}$. Dotted: "
    "$k^*$ of the teacher. Shaded: the side from which the paper's curves come to it, the COI from above, all energies "
    f"from below. Each effective depth is trained from the one before. {PAPER_SIZES}",
    alt="Two rows of panels, one column per kind of linear maps, against the effective depth: above, least cost of "
    "identity and least stable rank; below, the energies; a line at the rank of the teacher.",
)
def fig1a_hamiltonian(chain_measures: xr.Dataset) -> Drawn:
    """Estimates of the rank against the effective depth, by linear maps (Figure 1a)."""
    kinds = chain_measures["maps"].values
    fig, axes = new(2, len(kinds), height=2.35, sharex=True, sharey="row", gridspec_kw={"height_ratios": [1, 1.4]})
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
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    label_panels(axes)
    deepest = chain_measures.isel(effective_depth=-1, gamma=0).mean("seed")
    return Drawn(
        fig,
        {
            **training(chain_measures),
            "rank of the teacher": int(chain_measures["rank"]),
            "gamma_0": chain_measures["gamma"],
            "mean least COI at the largest effective depth, by column": deepest["least_cost"],
            "mean energy at the largest effective depth, by column": deepest["median_hamiltonian"],
        },
    )


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
    style: dict[str, Any] = {"color": BLUE, "markersize": 5, "zorder": 5}
    panel.plot(depth[~hollow], middle[~hollow], "o", **style)
    panel.plot(depth[hollow], middle[hollow], "o", markerfacecolor="white", label=f"{ENERGY}, not critical", **style)
    styles = (("-", SKY, "s"), ("--", PURPLE, "D"), (":", ORANGE, "p"))
    for gamma, (line, color, marker) in zip(chains["gamma"].values, styles, strict=False):
        stable, words = chains["median_stable"].sel(gamma=gamma).mean("seed"), f"stable, $\\gamma_0$ = {gamma:g}"
        panel.plot(depth, stable, color=color, linestyle=line, marker=marker, markersize=3, label=words)
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


def _gap(net: xr.Dataset, name: str) -> float:
    """Median along the network of the last of the first singular values over the first of the others."""
    last, rank = net[name].values, int(net["rank"])
    if rank >= last.shape[1]:
        return np.nan
    return float(np.median(last[:, rank - 1] / np.maximum(last[:, rank], LEAST)))


@figure(
    title="Figure 1b: spectra of representations and weights along a network",
    caption="One network, the one of median energy, learned and decayed maps. Blue: the first $k^*$ singular values; "
    r"gray: the others. The paper, $\tilde L$ = 7, $L$ = 20, too: a clear gap after $k^*$ = 3 values. "
    f"{PAPER_SIZES}",
    alt="Singular values along the network in four panels: representations and weights, above and below, as they are "
    "and centered; the first ones, as many as the rank of the teacher, in blue, the others in gray.",
)
def fig1b_spectra(chain_measures: xr.Dataset) -> Drawn:
    """Singular values of representations and weights along p (Figure 1b)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    net = _shown(chain_measures)
    fig, axes = new(2, 2, height=2.2, sharex=True)
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
    return Drawn(
        fig,
        {
            "seed": int(net["seed"]),
            "effective depth": net["effective_depth"],
            "layers": net.sizes["layer"],
            "rank of the teacher": int(net["rank"]),
            "singular value at the rank over the next, representations, median over p": _gap(net, "spectrum"),
            "singular value at the rank over the next, weights, median over p": _gap(net, "weight_spectrum"),
        },
    )


def _ranges(chains: xr.Dataset) -> dict[str, xr.DataArray]:
    """How far energies vary over the layers, medians over the seeds, as facts."""
    names = {"hamiltonian": "Hamiltonian", "cost": "cost of identity", "kinetic": "kinetic energy"}
    return {
        f"range of the {words} over layers, median over seeds": (
            chains[name].max("layer") - chains[name].min("layer")
        ).median()
        for name, words in names.items()
    }


def _shown(chain_measures: xr.Dataset) -> xr.Dataset:
    """The network of median -2 H / Lt with learned maps at the effective depth next to the paper's."""
    nets = at_paper_depth(of_maps(chain_measures))
    energy = nets["median_hamiltonian"].values
    order = np.argsort(energy)[: max(np.isfinite(energy).sum(), 1)]  # NaN, of networks that have diverged, come last
    return nets.isel(seed=order[len(order) // 2])


@figure(
    title="Figure 1c: the Hamiltonian and its parts along the network",
    caption=r"Learned and decayed maps, $\gamma_p = \gamma_0 \|K_p\|_{op}$. (a), (b) Median and range over seeds; "
    "dotted: $k^*$. (c) All layers of all seeds with positive abscissa; dotted: equal, the paper says proportional. "
    r"The paper, $\tilde L$ = 7, says of the Hamiltonian: not exactly constant, but varies much less than its "
    f"components. {PAPER_SIZES}",
    alt="Cost of identity, kinetic energy and both Hamiltonians along the network, on a logarithmic axis and near the "
    "rank; kinetic energy against extra cost with a line of equality.",
)
def fig1c_energies(chain_measures: xr.Dataset) -> Drawn:
    """Energies along p and the kinetic energy against the extra cost of identity (Figure 1c)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    chains = at_paper_depth(of_maps(chain_measures)).isel(gamma=0)
    p = (np.arange(chains.sizes["layer"]) + 0.5) / chains.sizes["layer"]
    fig, axes = new(1, 3, height=2.5)
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
        panel.axhline(rank, color=BLACK, linestyle=":", linewidth=1, label=f"$k^*$ = {rank}")
        panel.set(title=title, xlabel="position $p$", ylabel=r"energy, units of $\tilde L / 2$")
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(0.1, None)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    axes[0, 1].set_ylim(0, 4 * rank)
    _kinetic_against_extra(axes[0, 2], chains)
    label_panels(axes)
    return Drawn(
        fig,
        {
            **training(chains),
            "effective depth": chains["effective_depth"],
            "rank of the teacher": rank,
            "gamma_0": chains["gamma"],
            **_ranges(chains),
        },
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


def _growth(values: xr.DataArray) -> xr.DataArray:
    """By which factor the mean changes from the least to the greatest effective depth."""
    mean = values.mean("seed")
    return mean.isel(effective_depth=-1) / mean.isel(effective_depth=0)


@figure(
    title="Figure 3: path lengths and norms of $B_p$ and $B_p S_p^T$ against the effective depth",
    caption=r"Means over seeds with 95 % intervals. Path length over $\sqrt{N}$; median over layers in (d); stable "
    r"norm with $\gamma_p = \gamma_0 \|K_p\|_{op}$. From the first point of the decayed maps, dotted: in proportion to "
    r"$\tilde L$; "
    r'dashed: constant, as the paper says of path lengths, $B_p$ and $B_p S_p^T$ ("relatively constant"). '
    f"{PAPER_SIZES}",
    alt="Path length, stable norm, largest norm of B and norm of B S^T against the effective depth, one line per kind "
    "of linear maps, with lines in proportion to the depth and constant.",
)
def fig3_bounded(chain_measures: xr.Dataset) -> Drawn:
    """Path lengths, |B| and |B S^T| against the effective depth (Figure 3)."""
    require(chain_measures, "chain_measures", maps=(DECAYED,))
    fig, axes = new(1, 4, height=2.5)
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
                depth, draws.mean(axis=1), half_width(draws), **MAP_STYLES[maps], label=maps, capsize=2, linewidth=1.2
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
    *lines, decayed, free, fixed = zip(*axes[0, 0].get_legend_handles_labels(), strict=True)
    fig.legend(*zip(decayed, free, fixed, *lines, strict=True), loc="outside upper center", ncols=5)
    label_panels(axes)
    return Drawn(
        fig,
        {
            **training(chain_measures),
            "gamma_0": chain_measures["gamma"][0],
            **{
                f"mean at the largest over that at the smallest effective depth, {name}, by maps": _growth(
                    values.sel(maps=kinds)
                )
                for name, (_, values) in zip(("path length", "stable norm", "B", "B S^T"), shown, strict=True)
            },
        },
    )
