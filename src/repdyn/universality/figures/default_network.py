"""Figures of the default network: final distances, depth, alternatives, closed form (Figures 5, 10, 11; new)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis

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
    new,
    plain_numbers,
)
from repdyn.universality.figures.dynamics import COLORS, NAMES, WORDS, require_converged
from repdyn.universality.theory.published import FIT_LOSSES

CHANGES = {  # what equation (51) alters
    "factor two": "$dy/dt$ doubled",
    "square": "$w^2$ for $w$ in $dh/dt$",
    "factor two in h": "$dh/dt$ doubled",
    "minus removed": "plus for the last minus in $dw/dt$",
    "term removed": "no second term in $dy/dt$",
}
MANY = 50  # times: a narrow panel has no room for three labels a decade beyond


def _number(axis: Axis, shown: np.ndarray) -> None:
    """Ticks of a logarithmic axis: written out over one decade or two, powers of ten beyond."""
    if shown.size and shown.max() < MANY * shown.min():
        plain_numbers(axis)
    else:
        axis.set_minor_formatter("")


def _correlation(value: xr.DataArray) -> str:
    """Two digits; a dash where too few cells have one."""
    return f"{float(value):.2f}" if np.isfinite(value) else "\N{EN DASH}"


@figure(
    title="Figure 5: final distances of trained networks against equation (10)",
    caption="Each dot is a trial at one pair of distances; trials that did not converge are left out. Rates: geometric "
    "mean of the fits at $dx = 1$, $dy^2 = 0.5$. Line: equality. $r$: correlation of the logarithms over cells with "
    "$dy > 0$, beside that of $dy$ alone. The paper's text gives no levels and no correlation; it has one trial at "
    "each of 5 x 5 pairs, $dx$ from 0.5 to 1.5 and $dy$ from 0 to 1, the networks of Table 1, which have 500 units, "
    "and rates from the mean of 50 fits at $dx = 0.5$, $dy = 1$.",
    alt="Final distances of the network against those of equation (10), one panel per network, with the line of "
    "equality; color: target distance.",
)
def fig5_final_distances(final_predictions: xr.Dataset) -> Drawn:
    """Final distances over the grid against equation (10)."""
    names = final_predictions["network"].values.tolist()
    columns = min(len(names), 3)
    fig, axes = new(-(-len(names) // columns), columns, height=2.1)
    for panel, name in zip(axes.flat, names, strict=False):
        row = final_predictions.sel(network=name)
        good = row["good"].values.astype(bool)
        dy = np.broadcast_to(row["dy"].values[None, :, None], good.shape)
        shown = panel.scatter(
            row["theory"].values[good], row["measured"].values[good], c=dy[good], s=9, cmap=color_map("viridis")
        )
        ends = (
            np.array([row["theory"].values[good].min(), row["theory"].values[good].max()]) if good.any() else [0.1, 1]
        )
        panel.plot(ends, ends, color=BLACK, linewidth=0.8)
        panel.set(xscale="log", yscale="log")
        for axis, values in ((panel.xaxis, row["theory"]), (panel.yaxis, row["measured"])):
            _number(axis, values.values[good])
        panel.set_title(
            f"{WORDS.get(name, name)}: r {_correlation(row['correlation'])}\n"
            f"(dy alone {_correlation(row['correlation_dy'])}), {int(row['trials'])} trials",
            fontsize=7.5,
        )
    for panel in axes.flat[len(names) :]:
        panel.axis("off")
    for panel in axes[:, 0]:
        panel.set_ylabel("final $h$, network")
    for panel in axes.flat[len(names) - columns : len(names)]:
        panel.set_xlabel("final $h$, eq. (10)")
    color_bar(fig, shown, ax=axes, label="target distance dy", shrink=0.7)
    return Drawn(
        fig,
        {
            "dx": final_predictions["dx"].values,
            "dy": final_predictions["dy"].values,
            "trials of each network at each pair of distances": final_predictions.sizes["seed"],
            "trials that did not converge, by panel": final_predictions["dropped"].values,
            "units per layer, by panel": final_predictions["units"].values,
        },
    )


@figure(
    title="Figure 10: fit and effective rates of the default network over its layers",
    caption="Median over trials, band from the lower to the upper quartile, every layer of the same runs of the "
    "default network; the two rates in the same colors. Dotted: the layer halfway, which all other figures show. The "
    "paper's vertical axis is not to scale. Its text: the theory is accurate only in the second half of the network, "
    "where the rate of the encoder rises with depth and that of the decoder falls. Table 1 prints 500 units per layer.",
    alt="Fit loss, explained variance and both fitted rates against the hidden layer, medians with bands.",
)
def fig10_depth(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Drawn:
    """Fit loss, explained variance and rates over the hidden layers, all from the same runs."""
    require_converged(default_network_fits)
    fig, axes = new(1, 3, height=2.4)
    for fits, color, style in ((default_network_fits, BLUE, "-o"), (default_ensemble_fits, ORANGE, "--s")):
        word = f"{int(fits['units'])} units, {int(fits['converged'].isel(layer=0).sum())} trials"
        _over_layers(axes[0, 0], fits["fit_loss"], color, style, word)
        _over_layers(axes[0, 1], fits["r2"].mean("curve"), color, style, word)
        for rate in ("eta_h", "eta_y"):
            _over_layers(axes[0, 2], fits[rate], color, style, word)
    for rate, words, below in (("eta_h", "$1/\\tau_h$", -14), ("eta_y", "$1/\\tau_y$", 7)):
        last = default_network_fits[rate].median("seed")
        end = min(15, last.size - 1)
        axes[0, 2].annotate(words, (end, float(last[end])), (0, below), textcoords="offset points")
    axes[0, 0].set(yscale="log", ylabel="squared fit loss (49), epochs", title="fit loss")
    axes[0, 1].set(ylabel="$R^2$, mean of $h, y, w$", title="explained variance", ylim=(-0.5, 1.05))
    axes[0, 2].set(yscale="log", ylabel="fitted rate, 1/epoch", title="effective rates")
    for panel in axes[0]:
        panel.set_xlabel("hidden layer")
        half = int(default_network_fits["halfway"])
        panel.axvline(half, color="0.7", linewidth=0.8, linestyle=":", label="layer halfway")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    explained = default_network_fits["r2"].mean("curve").median("seed")
    return Drawn(
        fig,
        {
            "units per layer": [int(fits["units"]) for fits in (default_network_fits, default_ensemble_fits)],
            "layer halfway": half,
            "mean explained variance before it": float(explained.isel(layer=slice(None, half)).mean()),
            "mean explained variance from it on": float(explained.isel(layer=slice(half, None)).mean()),
        },
    )


def _over_layers(panel: Axes, values: xr.DataArray, color: str, style: str, label: str) -> None:
    low, middle, high = np.nanquantile(values.transpose("layer", "seed").values, [0.25, 0.5, 0.75], axis=1)
    panel.plot(values["layer"], middle, style, color=color, markersize=2.5, linewidth=1, label=label)
    band(panel, values["layer"].values, low, high, color=color)


@figure(
    title="Figure 11: best fits of the theory and of the altered dynamics",
    caption="One trial of the default network in the hidden layer halfway and the best fit (dashed) of the theory and "
    "of the dynamics altered as in (51), with its squared fit loss above each panel. The paper's square is shown as "
    "printed, $w^2$, and as its public code has it, $dh/dt$ doubled. Table 1 prints 500 units per layer.",
    alt="Three curves of one network over the epochs in each panel, with the best fit of the theory or of one altered "
    "dynamics dashed.",
)
def fig11_alternatives(default_network: xr.Dataset, default_network_fits: xr.Dataset) -> Drawn:
    """The theory and the altered dynamics, each at its own best rates."""
    require_converged(default_network_fits)
    names = default_network_fits["alternative"].values.tolist()
    fig, axes = new(2, 3, height=2.1, sharex=True, sharey=True)
    seed = int(default_network_fits["shown"])
    run = default_network.sel(layer=int(default_network["halfway"])).isel(seed=max(seed, 0))
    for panel, name in zip(axes.flat, names, strict=True):
        for curve, color in COLORS.items():
            panel.plot(run["epoch"], run[curve], color=color, label=NAMES[curve])
            fitted = default_network_fits["alternative_theory"].sel(alternative=name, curve=curve)
            panel.plot(
                run["epoch"], fitted, "--", color=BLACK, linewidth=0.9, label="best fit" if curve == "w" else None
            )
        loss = float(default_network_fits["alternative_loss"].sel(alternative=name).isel(seed=max(seed, 0)))
        panel.set_title(f"{CHANGES.get(name, name)}\nfit loss {loss:#.3g}", fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("epoch")
    for panel in axes[:, 0]:
        panel.set_ylabel("$h$, $y$ and $w$")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return Drawn(
        fig,
        {
            "units per layer": int(default_network_fits["units"]),
            "hidden layer": int(default_network_fits["halfway"]),
            **{f"published squared fit loss, {name}": loss for name, loss in FIT_LOSSES.items()},
        },
    )


@figure(
    title="Published fit losses of the theory and of altered dynamics among those of our trials",
    caption="One dot per trial of the default network, each the global minimum over both rates; ring: the least loss "
    "on the line of rates from which the public search starts; orange-red: the single number that is published.",
    alt="Fit losses of the theory and of each altered dynamics, one dot per trial, with the published numbers as "
    "bars, for two widths of the network.",
)
def n6_fit_losses(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Drawn:
    """The published fit losses beside those of our trials."""
    fig, axes = new(1, 2, height=2.6, sharey=True)
    ensembles = (default_network_fits, default_ensemble_fits)
    for panel, fits in zip(axes[0], ensembles, strict=True):
        names = fits["alternative"].values.tolist()
        for place, name in enumerate(names):
            loss = fits["alternative_loss"].sel(alternative=name).values
            known = loss[np.isfinite(loss)]
            offset = np.linspace(-0.15, 0.15, known.size) if known.size > 1 else np.zeros(known.size)
            on_line = fits["alternative_loss_on_line"].sel(alternative=name).values[np.isfinite(loss)]
            labels = ("our trials", "our trials, on the line") if place == 0 else (None, None)
            panel.plot(place + offset, known, "o", color=BLUE, markersize=3, label=labels[0])
            panel.plot(
                place + offset, on_line, "o", color=BLUE, markerfacecolor="none", markersize=3.5, label=labels[1]
            )
            if name in FIT_LOSSES:
                label = "published" if place == 0 else None
                panel.plot(place, FIT_LOSSES[name], "_", color=RED, markersize=16, markeredgewidth=2, label=label)
        panel.set_xticks(range(len(names)), [name.replace(" in ", "\nin ") for name in names], rotation=35, ha="right")
        panel.set_title(f"{int(fits['units'])} units, {int(fits['converged'].isel(layer=0).sum())} trials")
        panel.set_yscale("log")
    axes[0, 0].set_ylabel("squared fit loss (49), epochs")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    ours = [fits["alternative_loss"].sel(alternative="theory") for fits in ensembles]
    return Drawn(
        fig,
        {
            "published squared fit loss of the theory": FIT_LOSSES["theory"],
            "least of our trials, by panel": [float(loss.min()) for loss in ours],
            "largest of our trials, by panel": [float(loss.max()) for loss in ours],
        },
    )


@figure(
    title="The closed form of the theory and a trained network",
    caption="Left: one trial of the default network and the closed form (dashed). Right: $y/h$, linear in $h$ by "
    "equation (24) of the theory. For one output Cauchy-Schwarz is an equality, $(y - w)^2 = y \\|y_2 - y_1\\|^2$.",
    alt="Curves of one network over the epochs with the closed form dashed; ratio of y and h against h of the "
    "network and of the theory.",
)
def n5_closed_form(default_network_fits: xr.Dataset) -> Drawn:
    """The closed form against a network, and what the theory conserves."""
    require_converged(default_network_fits)
    fig, axes = new(1, 2, height=2.4)
    fits, epoch = default_network_fits, default_network_fits["epoch"]
    for name, color in COLORS.items():
        both = fits["shown_curves"].sel(curve=name)
        axes[0, 0].plot(epoch, both.sel(source="network"), color=color, label=NAMES[name])
        axes[0, 0].plot(epoch, both.sel(source="theory"), "--", color=BLACK, linewidth=0.9)
    h = fits["shown_curves"].sel(curve="h")
    for source, style, color in (("network", "-", BLUE), ("theory", "--", BLACK)):
        axes[0, 1].plot(h.sel(source=source), fits["ratio"].sel(source=source), style, color=color, label=source)
    axes[0, 0].set(xlabel="epoch", ylabel="$h$, $y$, $w$", title="closed form (dashed)")
    axes[0, 1].set(xlabel="$h$", ylabel="$y/h$", title="$y/h$ against $h$")
    axes[0, 0].legend(loc="center right", bbox_to_anchor=(1, 0.6))
    axes[0, 1].legend(loc="upper left")
    r2 = fits["r2"].sel(layer=int(fits["halfway"])).isel(seed=int(fits["shown"]))
    return Drawn(
        fig,
        {
            "units per layer": int(fits["units"]),
            "R2 of h, y, w": r2.sel(curve=list(COLORS)).values,
            "largest deviation from Cauchy-Schwarz's equality": float(np.abs(fits["residual"]).max()),
        },
    )
