"""What lies between a trained network and a geodesic; balancedness; the paper's own settings."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.leaky_resnets.figures.shared import (
    DEPTH,
    ENERGY,
    LEAST,
    MAP_STYLES,
    extremes,
    geometric_mean,
    spectrum_lines,
    ticks_at,
)
from repdyn.leaky_resnets.methods.selection import by_label
from repdyn.plotting.figures import BLACK, BLUE, ORANGE, RED, SKY, Drawn, figure, label_panels, legend_below, new

SMOOTH = 2e-4 * np.sqrt(1 / (2 * np.pi))  # share of a normal density within 1e-4 of its root mean square


@figure(
    title="Distance of trained networks from critical points: kinks, the step, the length of training",
    caption="(a), (b) Geometric means over seeds with 95 % intervals; an entry is on a kink within 1e-4 of its layer's "
    "root mean square, where only a subgradient can vanish; dotted: the share under a normal density. (c) Each line a "
    "network, of which every layer is halved and trained again; dotted: in proportion to $1/L$. (d) Runs of several "
    "lengths from one first fit; thin lines: seeds, thick: their means.",
    alt="Distance from critical points and share of entries on a kink against the effective depth, one line per kind "
    "of linear maps; range of the Hamiltonian against the number of layers; Hamiltonian against the length of "
    "training.",
)
def distance_to_critical(
    chain_measures: xr.Dataset, refinement_measures: xr.Dataset, convergence_measures: xr.Dataset
) -> Drawn:
    """Distance from critical points, kinks, the step, the length of training (ours)."""
    fig, axes = new(2, 2, height=2.3)
    depth = chain_measures["effective_depth"].values
    for name, panel in (("relative_distance", axes[0, 0]), ("kinks", axes[0, 1])):
        for maps in chain_measures["maps"].values:
            draws = chain_measures[name].sel(maps=maps).transpose("effective_depth", "seed").values
            middle, bars = geometric_mean(np.maximum(draws, LEAST))
            panel.errorbar(depth, middle, bars, **MAP_STYLES[maps], label=maps, capsize=2, linewidth=1.2)
        panel.set(xlabel=DEPTH, yscale="log")
    axes[0, 0].set(title="distance from a critical point", ylabel=r"$\|W - \tilde L B S^T\| / \|W\|$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    axes[0, 1].axhline(SMOOTH, color=BLACK, linestyle=":", linewidth=1)
    axes[0, 1].set(title="entries of $A$ on a kink", ylabel="share")
    _refined(axes[1, 0], refinement_measures)
    _longer(axes[1, 1], convergence_measures)
    label_panels(axes)
    energy = convergence_measures["median_hamiltonian"].mean("seed").sortby("steps")
    drift = energy.isel(steps=-1, drop=True) - energy.isel(steps=0, drop=True)
    kinks = geometric_mean(np.maximum(chain_measures["kinks"].transpose(..., "seed").values, LEAST))[0] / SMOOTH
    return Drawn(
        fig,
        {
            "seeds in (a) and (b)": chain_measures.sizes["seed"],
            "share of entries on a kink over that of a normal density (least, largest)": extremes(kinks),
            "networks in (c)": refinement_measures.sizes["seed"],
            "effective depth in (c)": refinement_measures["effective_depth"],
            "seeds in (d)": convergence_measures.sizes["seed"],
            **by_label("change of the mean energy with training", drift),
        },
    )


def _refined(panel: Axes, refined: xr.Dataset) -> None:
    ranges, L = refined["hamiltonian_range"].transpose("layers", "seed").values, refined["layers"].values
    panel.loglog(L, ranges, color=BLUE, linewidth=0.8, marker="o", markersize=3)
    panel.loglog(L, ranges.mean(axis=1)[0] * L[0] / L, color=BLACK, linestyle=":", linewidth=1)
    panel.set(title=r"range of $-2 \mathcal{H} / \tilde L$ over layers")
    panel.set(xlabel="number of layers $L$", ylabel="largest less least")
    ticks_at(panel.xaxis, L)
    panel.minorticks_off()


def _longer(panel: Axes, runs: xr.Dataset) -> None:
    steps, H = runs["steps"].values, runs["median_hamiltonian"]
    for maps in runs["maps"].values:
        draws = H.sel(maps=maps).transpose("steps", "seed").values
        panel.plot(steps, draws, color=MAP_STYLES[maps]["color"], linewidth=0.5, alpha=0.5)
        panel.plot(steps, draws.mean(axis=1), **MAP_STYLES[maps], label=maps)
    panel.set(title="length of training", xlabel="Adam steps", ylabel=ENERGY, xscale="log")
    ticks_at(panel.xaxis, steps)


@figure(
    title="Balancedness: growth of the squared weights along trained networks (Proposition 9)",
    caption="Networks refined along one path, learned and decayed maps. (a) Seed 0. (b) Each line a network: the "
    "proposition prints the factor 1, its proof corrected gives 2.",
    alt="Squared weights along one network with the curves of factor two and of factor one; factors measured against "
    "the number of layers.",
)
def balancedness(refinement_measures: xr.Dataset) -> Drawn:
    """|W_p|^2 against once and twice Lt times the integral of |b|^2 (Proposition 9, ours)."""
    fig, axes = new(1, 2, height=2.6)
    finest = refinement_measures.isel(layers=-1, seed=0)
    L = int(finest["layers"])
    p = (np.arange(L) + 0.5) / L
    for name, color, style, words in (
        ("weight_sq", BLACK, "-", r"$\|W_p\|^2$"),
        ("balance", BLUE, "--", r"corrected, $2 \tilde L \int \|b\|^2$"),
        ("balance_printed", RED, ":", r"printed, $\tilde L \int \|b\|^2$"),
    ):
        axes[0, 0].plot(p, finest[name].values[:L], color=color, linestyle=style, label=words)
    axes[0, 0].set(title="one network, most layers", xlabel="position $p$", ylabel="squared weights")
    legend_below(axes[0, 0], columns=2)
    _factors(axes[0, 1], refinement_measures)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "networks": refinement_measures.sizes["seed"],
            "effective depth": refinement_measures["effective_depth"],
            "numbers of layers": refinement_measures["layers"],
            "mean factors at these numbers of layers": refinement_measures["balance_factor"].mean("seed"),
        },
    )


def _factors(panel: Axes, refined: xr.Dataset) -> None:
    L, factors = refined["layers"].values, refined["balance_factor"].transpose("layers", "seed").values
    panel.plot(L, factors, color=BLUE, linewidth=0.8, marker="o", markersize=3)
    for value, words in ((2, "corrected"), (1, "printed")):
        panel.axhline(value, color=BLACK, linestyle=":", linewidth=1)
        panel.text(1.02, value, words, transform=panel.get_yaxis_transform(), va="center", fontsize=7.5)
    panel.set(title="factor", xlabel="number of layers $L$", xscale="log")
    panel.set(ylabel=r"gain of $\|W\|^2$ over $\tilde L \int \|b\|^2$", ylim=(0.8, 2.3))
    ticks_at(panel.xaxis, L)


@figure(
    title="The paper's own settings: training, spectra and energies (Figures 1b and 1c)",
    caption="One network with the paper's penalty, Adam at a rate that falls to 0, then gradient descent (hollow, a "
    "point per rate). Blue in (b), (c): the first $k^*$ singular values; gray: the others. (d) Dotted: $k^*$; the cost "
    r"of identity is cut at the top; $\gamma_p = \gamma_0 \|K_p\|_{op}$.",
    alt="Distance from a critical point, training and test error against steps; singular values of representations and "
    "weights, cost of identity and both Hamiltonians along the network.",
)
def paper_settings(paper_measures: xr.Dataset) -> Drawn:
    """The paper's own settings: convergence, spectra, energies (Figures 1b, 1c)."""
    net = paper_measures.isel(maps=0, seed=0)
    adam = net.isel(stop=np.flatnonzero(net["descent_rate"].values == 0))
    last, rank = net.isel(stop=-1), int(net["rank"])
    fig, axes = new(2, 2, height=2.3)
    steps = adam["steps"].values
    ends = net.isel(stop=np.flatnonzero(net["descent_rate"].values > 0))
    shown = (
        ("relative_distance", BLUE, "o", r"$\|W - \tilde L B S^T\| / \|W\|$"),
        ("test_error", ORANGE, "s", "test error / variance"),
        ("train_error", RED, "^", "training error / variance"),
    )
    for name, color, marker, words in shown:
        axes[0, 0].semilogy(steps, adam[name], color=color, marker=marker, label=words)
        axes[0, 0].semilogy(ends["steps"], ends[name], color=color, marker=marker, markerfacecolor="none", ls="none")
    axes[0, 0].set(title="training", xlabel="steps", ylabel="ratio")
    legend_below(axes[0, 0], columns=2)
    p = last["p"].values
    middle = (p[1:] + p[:-1]) / 2
    spectrum_lines(axes[0, 1], p, last["centered_spectrum"].values, rank)
    axes[0, 1].set(title=r"$A_p$ without its mean", xlabel="position $p$", ylabel=r"singular value / $\sqrt{N}$")
    spectrum_lines(axes[1, 0], middle, last["weight_spectrum"].values, rank)
    axes[1, 0].set(title=r"$W_p / \tilde L$", xlabel="position $p$", ylabel="singular value")
    energies = (("cost", RED, "cost of identity"), ("stable_hamiltonian", SKY, r"$-2 \mathcal{H}_\gamma / \tilde L$"))
    for name, color, words in energies:
        axes[1, 1].plot(middle, last[name].isel(gamma=0).values, color=color, label=words)
    axes[1, 1].plot(middle, last["hamiltonian"].values, color=BLUE, linestyle="--", label=ENERGY)
    axes[1, 1].axhline(rank, color=BLACK, linestyle=":", linewidth=1, label=f"$k^*$ = {rank}")
    axes[1, 1].set(
        title="energies at the end", xlabel="position $p$", ylabel=r"units of $\tilde L / 2$", ylim=(-14, 16)
    )
    legend_below(axes[1, 1], columns=2)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "linear maps": str(net["maps"].values),
            "effective depth": net["effective_depth"],
            "layers": net.sizes["layer"],
            "rank of the teacher": rank,
            "gamma_0": net["gamma"][0],
            "Adam steps": int(steps[-1]),
            "relative distance from a critical point at the end": last["relative_distance"],
        },
    )
