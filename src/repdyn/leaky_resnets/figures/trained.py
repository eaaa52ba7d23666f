"""Figures 1 and 3 on trained networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.datasets import require
from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, RED, SKY, band, describe, half_width, label_panels, new
from repdyn.leaky_resnets.figures.shared import DEPTH, ENERGY, LOOKS, limits, spectrum_lines, ticks_at
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps

CRITICAL = 0.1  # relative distance from a critical point above which a point is drawn hollow
STABLE_ENERGY = r"$-2 \mathcal{H}_\gamma / \tilde L$"


def size_of(measures: xr.Dataset) -> str:
    """What the captions say about n and size."""
    return f"{measures.sizes['seed']} seeds, $L$ = {measures.sizes['layer']} layers"


def fig1a_hamiltonian(chain_measures: xr.Dataset) -> Figure:
    """Estimates of the rank against the effective depth, by linear maps (Figure 1a)."""
    kinds = chain_measures["maps"].values
    figure, axes = new(2, 2, height=2.5, sharex=True)
    for panel, maps in zip(axes.ravel(), kinds, strict=False):
        _estimates(panel, chain_measures.sel(maps=maps))
        panel.set_title(str(maps))
    for panel in axes.ravel()[len(kinds) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel(DEPTH)
    for panel in axes[:, 0]:
        panel.set_ylabel("estimate of the rank")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    label_panels(axes)
    gammas = ", ".join(f"{gamma:g}" for gamma in chain_measures["gamma"].values)
    return describe(
        figure,
        title="Hamiltonian of trained networks against the effective depth (Figure 1a)",
        caption=f"{size_of(chain_measures)}; means over seeds. Energy: median over layers, bars from the least to the "
        f"largest layer; hollow where $\\|W - \\tilde L B S^T\\| / \\|W\\|$ exceeds {CRITICAL:g}, so that the point "
        f"is no geodesic. Stable forms with $\\gamma_0$ = {gammas}, $\\gamma_p = \\gamma_0 \\|K_p\\|_{{op}}$; least "
        "cost of identity (COI, first $\\gamma_0$) and least stable rank $\\|A\\|_*^2 / \\|A\\|_F^2$ over layers, cut "
        "at the top; every panel has its own range. Dotted: $k^*$ of the teacher. Every effective depth is trained "
        "from the one before.",
        alt="With learned, decayed maps the Hamiltonians and the least cost of identity meet at three as the effective "
        "depth grows, the stable forms and the cost from above; with fixed maps the Hamiltonian rises from below zero "
        "to two or three; without bias they meet near four.",
    )


def _estimates(panel: Axes, chains: xr.Dataset) -> None:
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
    panel.plot(depth, chains["least_cost"].isel(gamma=0).mean("seed"), color=RED, marker="^", label="least COI")
    rank = chains["stable_rank"].min("node").mean("seed")
    panel.plot(depth, rank, color=GREEN, marker="v", linestyle="-.", label="least stable rank")
    panel.axhline(int(chains["rank"]), color=BLACK, linestyle=":", linewidth=1)
    bottom = min(np.fmin.reduce(middle - low), float(rank.min()))
    limits(panel, bottom - 0.3, max(2 * int(chains["rank"]), np.fmax.reduce(middle + high) + 0.3))


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
        title="Spectra along the network (Figure 1b)",
        caption=f"One network, the one of median energy (seed {int(net['seed'])}), $\\tilde L$ = "
        f"{float(net['effective_depth']):g}, $L$ = {net.sizes['layer']}, learned and decayed maps. Blue: the first "
        f"$k^*$ = {int(net['rank'])} singular values; gray: the others.",
        alt="In the middle of the network three singular values of the centered representation stand far above the "
        "rest; without centering a further direction is in between.",
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
    return describe(
        figure,
        title="The Hamiltonian varies less than its parts (Figure 1c)",
        caption=f"{size_of(chains)}, $\\tilde L$ = {float(chains['effective_depth']):g}, learned and decayed maps, "
        f"$\\gamma_p$ = {float(chains['gamma']):g} $\\|K_p\\|_{{op}}$. (a), (b) Median and range over seeds. (c) All "
        "layers of all seeds with positive abscissa; line of slope 1.",
        alt="The cost of identity and the kinetic energy fall from several hundred to a few and rise again at the end,"
        " while both Hamiltonians stay close to three; kinetic energy and extra cost lie on the line of slope one.",
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
        panel.set(title=title, xlabel=DEPTH, xscale="log", yscale="log")
        ticks_at(panel.xaxis, depth)
        ticks_at(panel.yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100, 200))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    label_panels(axes)
    return describe(
        figure,
        title="What stays bounded as the effective depth grows (Figure 3)",
        caption=f"{size_of(chain_measures)}; means over seeds with 95 % intervals. Path length over $\\sqrt{{N}}$; "
        f"median over layers in (d); stable norm with $\\gamma_p$ = {float(chain_measures['gamma'][0]):g} "
        "$\\|K_p\\|_{op}$. Dotted: in proportion to $\\tilde L$ from the first point of the decayed maps.",
        alt="The norm of B S^T is flat; path lengths and the largest |B| grow, the latter with fixed maps faster than "
        "in proportion.",
    )
