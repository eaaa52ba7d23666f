"""Figures of the dynamics on two points: schematic, Table 1 networks, gains, losses, Adam (Figures 1, 2, 3, 12, 15)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.plotting.figures import BLACK, BLUE, GREEN, PURPLE, RED, Drawn, figure, legend_below, new
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

COLORS = {"h": BLUE, "y": RED, "w": GREEN}
NAMES = {"h": "$h = \\|dh\\|^2$", "y": "$y = \\|dy\\|^2$", "w": "$w$"}
LOSSES = (1e-5, 1.0)  # limits of the axis: below lies the end of training
WORDS = {"very_high": "very high", "relu": "ReLU", "elu": "ELU", "low": "small", "default": "default"}


def require_converged(fits: xr.Dataset) -> None:
    """What figures of a shown trial need.

    Raises:
        NotEnoughDataError: no trial has converged.
    """
    if int(fits["shown"]) < 0:
        raise NotEnoughDataError(f"a converged trial of the default network of {int(fits['units'])} units")


@figure(
    title="Figure 1: two points in input, hidden and output space during training",
    caption="Distances of the two points in input, hidden and output space of one default network, in the hidden layer "
    "halfway, at three epochs. Circles are the points, crosses their targets; $w$ is the scalar product of the output "
    "difference with its error. The paper's Figure 1 is an overview of the same variables; it states no network, "
    "settings or numbers.",
    alt="Two points in input, hidden and output space at three epochs of training, with the targets as crosses.",
)
def fig1_two_points(default_network_fits: xr.Dataset) -> Drawn:
    """The variables of the theory at three moments of a trained network, to scale."""
    require_converged(default_network_fits)
    fig, axes = new(1, 3, height=2.3, sharex=True, sharey=True)
    network = default_network_fits["shown_curves"].sel(source="network")
    y = network.sel(curve="y").values
    moments = {"start": 0, "half way up": int(np.argmax(y > y[-1] / 4)), "end": len(y) - 1}
    for panel, (word, frame) in zip(axes[0], moments.items(), strict=True):
        h, y_now, w = network.isel(epoch=frame).values
        _moment(panel, float(np.sqrt(h)), float(np.sqrt(max(y_now, 0))), float(np.sqrt(y[-1])))
        epoch = int(default_network_fits["epoch"][frame])
        panel.set_title(f"{word}, epoch {epoch}")
        numbers = "\n".join((f"$h$ = {_short(h)}", f"$y$ = {_short(y_now)}", f"$w$ = {_short(w)}"))
        panel.text(0.98, 0.98, numbers, ha="right", va="top", transform=panel.transAxes, fontsize=7.5)
    axes[0, 0].set_yticks([2, 1, 0], ["inputs", "hidden", "outputs"])
    for panel in axes[0]:
        panel.set_xlabel("distance, to scale")
    h = network.sel(curve="h").values
    return Drawn(
        fig,
        {
            "units per layer": int(default_network_fits["units"]),
            "hidden layer": int(default_network_fits["halfway"]),
            "h at the start": h[0],
            "h at the end": h[-1],
        },
    )


def _short(value: float) -> str:
    """Two digits; numbers below 1e-6 as 0."""
    return "0" if abs(value) < 1e-6 else f"{value:.2g}"


def _moment(panel: Axes, dh: float, dy: float, target: float) -> None:
    for height, size, color in ((2, 1.0, BLACK), (1, dh, BLUE), (0, dy, RED)):
        panel.plot([-size / 2, size / 2], [height, height], "-o", color=color, markersize=6)
    panel.plot([-target / 2, target / 2], [0, 0], "x", color=BLACK, markersize=6)
    for side in (-0.5, 0.5):
        panel.annotate("", (side * dh, 1.08), (side, 1.92), arrowprops={"arrowstyle": "->", "color": "0.6"})
        panel.annotate("", (side * dy, 0.08), (side * dh, 0.92), arrowprops={"arrowstyle": "->", "color": "0.6"})
    panel.set_ylim(-0.4, 3.2)


def _curves(panel: Axes, run: xr.Dataset, theory: xr.DataArray) -> None:
    """Network solid, theory dashed."""
    for name, color in COLORS.items():
        panel.plot(run["epoch"], run[name], color=color, label=NAMES[name])
    for curve in theory.transpose("curve", ...):
        panel.plot(run["epoch"], curve, "--", color=BLACK, linewidth=0.9, label="theory")


def _legend(fig: Figure, panels: Iterable[Axes]) -> None:
    """Names the curves, by the first panel that has some."""
    filled = [panel for panel in panels if panel.lines]
    if not filled:
        raise NotEnoughDataError("a converged trial of one of the networks")
    named = {words: line for panel in filled for line, words in zip(*panel.get_legend_handles_labels(), strict=True)}
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=4)


def _r2(fits: xr.Dataset) -> str:
    """Explained variances of the shown trial, in the title of a panel."""
    values = [f"{value:.2f}" if value > -1 else "< $-$1" for value in fits["r2"].values]
    h, y, w = (f"${name}$ {value}" for name, value in zip(COLORS, values, strict=True))
    return f"$R^2$ {h},\n{y}, {w}"


@figure(
    title="Figure 2: representational dynamics of the networks of Table 1 and the effective theory",
    caption="Squared representational distance $h$, squared output distance $y$ and alignment $w$ of one converged "
    "trial per network, and the theory with two fitted rates (dashed). Above each panel: $R^2$ of $h, y, w$ of the "
    "shown trial. The paper's figure prints no levels and no $R^2$; its text: the curves match the theory in all. The "
    "table of settings compares Table 1 of the paper with what is used here.",
    alt="Distances h and y and alignment w over the epochs, one panel per network, with the fitted theory dashed.",
)
def fig2_architectures(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Drawn:
    """h, y, w of every network of Table 1 against the theory."""
    rows = [name for name in FIGURE_2 if name in architecture_fits["network"].values]
    fig, axes = new(3, 4, height=1.75, sharex=True)
    for panel, name in zip(axes.flat, rows, strict=False):
        fits = architecture_fits.sel(network=name)
        if (seed := int(fits["shown"])) < 0:
            panel.text(0.5, 0.5, "none converged", ha="center", transform=panel.transAxes)
        else:
            _curves(panel, architectures.sel(network=name).isel(seed=seed), fits["theory"])
        fit = fits.isel(seed=max(seed, 0))
        panel.set_title(f"{WORDS.get(name, name)}\n{_r2(fit)}", fontsize=7.5)
    _bottom(axes, len(rows))
    _legend(fig, axes.flat)
    return Drawn(fig, _trials(architectures, architecture_fits, rows))


def _trials(runs: xr.Dataset, fits: xr.Dataset, rows: list[str]) -> dict[str, object]:
    """Facts of the networks that are shown: how many there are, and on which points."""
    shown = runs.sel(network=rows)
    return {
        "trials of each network": fits.sizes["seed"],
        "trials that did not converge, by panel": (fits["converged"].sel(network=rows) == 0).sum("seed").values,
        "units per layer, by panel": shown["units"].values,
        "dx2 of the two points": float(shown["dx2"][0]),
        "dy2 of the two points": float(shown["dy2"][0]),
    }


def _bottom(axes: np.ndarray, used: int) -> None:
    """Epochs under the lowest panel of each column; panels that are not used vanish."""
    for place, panel in enumerate(axes.flat):
        if place >= used:
            panel.axis("off")
        elif place + axes.shape[1] >= used:
            panel.tick_params(labelbottom=True)
            panel.set_xlabel("epoch")


@figure(
    title="Figure 3: dynamics and training loss for growing initial weights",
    caption="One converged trial per gain of the default network, with the learning rates of Table 1. Top: $h, y, w$ "
    "and the theory (dashed), $R^2$ of $h, y, w$ above. Bottom: the loss on a logarithmic axis and equation (9) with a "
    "third fitted rate (dashed); gray line: the plateau's loss $dy^2/8$ with the outputs together at the mean target. "
    "Dotted: the epoch at which $y$ is half of $dy^2$. The paper's figure has the same five gains and prints no "
    "levels. Its text: plateaus at small weights disappear at larger ones, and the theory breaks down at very high "
    "ones. The table of settings compares Table 1 of the paper with what is used here.",
    alt="Distances and alignment above and the loss below, over the epochs, one column per gain, with the fitted "
    "theory dashed.",
)
def fig3_initial_weights(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Drawn:
    """Dynamics and loss for growing initial weights."""
    rows = [name for name in FIGURE_3 if name in architecture_fits["network"].values]
    fig, axes = new(2, len(rows), height=2.0, sharex="col")
    for panel in axes[1, 1:]:
        panel.sharey(axes[1, 0])
        panel.tick_params(labelleft=False)
    for column, name in enumerate(rows):
        fits, runs = architecture_fits.sel(network=name), architectures.sel(network=name)
        top, bottom = axes[:, column]
        top.set_title(f"gain {float(runs['gain']):g}")
        bottom.set_xlabel("epoch")
        if (seed := int(fits["shown"])) < 0:
            continue
        run, half = runs.isel(seed=seed), float(fits["half"][seed])
        _curves(top, run, fits["theory"])
        _losses(bottom, run, fits["theory_loss"])
        for panel in (top, bottom):
            panel.axvline(half, color="0.6", linewidth=0.8, linestyle=":", label="$y = dy^2/2$")
        top.set_title(f"gain {float(runs['gain']):g}\n{_r2(fits.isel(seed=seed))}", fontsize=7.5)
    axes[0, 0].set_ylabel("$h, y, w$")
    axes[1, 0].set_ylabel("training loss")
    _legend(fig, axes.ravel())
    return Drawn(
        fig,
        _trials(architectures, architecture_fits, rows)
        | {
            "share of fits at the border of the search, by panel": [_at_bound(architecture_fits, name) for name in rows]
        },
    )


def _losses(panel: Axes, run: xr.Dataset, theory: xr.DataArray) -> None:
    """Loss of the network and equation (9) on a logarithmic axis, and the level of the plateau, D^2 / 8."""
    panel.axhline(float(run["dy2"]) / 8, color="0.8", linewidth=3, zorder=0, label="plateau, $dy^2/8$")
    panel.plot(run["epoch"], run["loss"], color=PURPLE, label="training loss")
    positive = theory.where(theory > 0)
    panel.plot(run["epoch"], positive, "--", color=BLACK, linewidth=0.9, label="theory")
    panel.set(yscale="log", ylim=LOSSES)


def _at_bound(fits: xr.Dataset, network: str) -> float:
    """Share of fits that no rates fit."""
    return float(fits["at_bound"].sel(network=network).mean())


@figure(
    title="Figure 12: training loss and equation (9)",
    caption="Left: training loss of the trials of Figure 2 on a logarithmic axis and equation (9) with the rates "
    "fitted there and one more for the mean output (dashed). Gray: $dy^2/8$, the loss with the mean output on "
    "its target and the two outputs together. Right: share of the loss's variance that (9) leaves "
    "unexplained, $1 - R^2$; each of the trials that converged, bars their medians; purple, filled: whole loss; "
    "orange-red, open: loss less the mean output's part, the fall from the plateau. Networks are sorted by "
    "the latter. The paper's figure prints no levels; its text says that (9) can be fitted to the loss of all "
    "these networks. The table of settings compares Table 1 of the paper with what is used here.",
    alt="Training losses on logarithmic axes with equation (9) dashed, one panel per network; beside them the "
    "unexplained shares of the whole loss and of the fall from the plateau, by network.",
)
def fig12_training_loss(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Drawn:
    """Training losses and equation (9), best explained networks first."""
    rows = _best_first(architecture_fits)
    fig, axes = new(max(-(-len(rows) // 3), 2), 4, height=1.4, width_ratios=[1, 1, 1, 1.25])
    for panel in axes[:, 3]:
        panel.remove()
    small = axes[:, :3]
    for panel, name in zip(small.flat, rows, strict=False):
        fits = architecture_fits.sel(network=name)
        panel.set(yscale="log", ylim=LOSSES, xlim=(0, float(architectures["epoch"][-1])))
        panel.set_title(WORDS.get(name, name), fontsize=8)
        if (seed := int(fits["shown"])) < 0:
            panel.text(0.5, 0.5, "none converged", ha="center", transform=panel.transAxes)
            continue
        run = architectures.sel(network=name).isel(seed=seed)
        _losses(panel, run, fits["theory_loss"])
    _outer_labels(small, len(rows))
    _unexplained(fig.add_subplot(axes[0, 3].get_gridspec()[:, 3]), architecture_fits, rows)
    filled = [panel for panel in small.flat if panel.lines]
    if filled:
        fig.legend(*filled[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    shares = [1 - _finite(architecture_fits["pair_r2"].sel(network=name)) for name in rows]
    medians = [float(np.median(share)) if share.size else np.nan for share in shares]
    return Drawn(
        fig,
        _trials(architectures, architecture_fits, rows)
        | {"median unexplained share of the fall from the plateau, by panel": medians},
    )


def _best_first(fits: xr.Dataset) -> list[str]:
    """Networks of Figure 2 by the part of the loss beyond the mean output that (9) explains; unfitted ones last."""
    rows = [name for name in FIGURE_2 if name in fits["network"].values]
    share = {name: 1 - _finite(fits["pair_r2"].sel(network=name)) for name in rows}
    return sorted(rows, key=lambda name: np.median(share[name]) if share[name].size else np.inf)


def _finite(values: xr.DataArray) -> np.ndarray:
    return values.values[np.isfinite(values.values)]


def _outer_labels(axes: np.ndarray, used: int) -> None:
    """Numbers and names on the left and below only: all panels have the same axes."""
    for place, panel in enumerate(axes.flat):
        if place >= used:
            panel.axis("off")
            continue
        lowest = place + axes.shape[1] >= used
        panel.tick_params(labelbottom=lowest, labelleft=place % axes.shape[1] == 0)
        if place >= axes.size - axes.shape[1]:
            panel.set_xlabel("epoch")
        if place % axes.shape[1] == 0:
            panel.set_ylabel("loss")


def _unexplained(panel: Axes, fits: xr.Dataset, rows: list[str]) -> None:
    for place, name in enumerate(rows):
        for variable, words, color, face, shift in (
            ("loss_r2", "whole loss", PURPLE, PURPLE, -0.17),
            ("pair_r2", "fall from the plateau", RED, "none", 0.17),
        ):
            share = 1 - _finite(fits[variable].sel(network=name))
            if share.size:
                label = words if place == 0 else None
                y = np.full(share.size, place + shift)
                panel.plot(share, y, "o", color=color, markerfacecolor=face, markersize=3, alpha=0.7, label=label)
                panel.plot(np.median(share), place + shift, "|", color=BLACK, markersize=7, markeredgewidth=1.5)
    panel.set(xscale="log", ylim=(len(rows) - 0.5, -0.5), xlabel="unexplained, $1 - R^2$", title="by network")
    panel.set_yticks(range(len(rows)), [WORDS.get(name, name) for name in rows])
    legend_below(panel)


@figure(
    title="Figure 15: the default network trained by Adam and the effective theory",
    caption="The default network trained by Adam, one trial at each rate, and the theory (dashed). Right: $R^2$ of all "
    "trials, and of the same initial weights under gradient descent; values below -0.5 are shown at -0.5. The paper "
    "states neither rate, length nor $R^2$; its text: the fit is not very good, especially early. Table 1 prints 500 "
    "units per layer.",
    alt="Curves under Adam at each rate with the fitted theory dashed; beside them the explained variances of h, y and "
    "w with Adam and with gradient descent.",
)
def fig15_adam(adam_runs: xr.Dataset, adam_fits: xr.Dataset, architecture_fits: xr.Dataset) -> Drawn:
    """The default network trained by Adam, and how much worse the fits are than by gradient descent."""
    require(architecture_fits, "architecture_fits", network=("default",))
    rates = adam_fits["rate"].values.tolist()
    fig, axes = new(1, len(rates) + 1, height=2.3)
    for panel, rate in zip(axes[0], rates, strict=False):
        fits = adam_fits.sel(rate=rate)
        panel.set_xlabel("epoch")
        if (seed := int(fits["shown"])) >= 0:
            _curves(panel, adam_runs.sel(rate=rate).isel(seed=seed), fits["theory"])
            panel.set_title(f"Adam, rate {float(rate):g}\n{_r2(fits.isel(seed=seed))}", fontsize=7.5)
    axes[0, 0].set_ylabel("$h, y, w$")
    last, width = axes[0, -1], 0.8 / (len(rates) + 1)
    groups = {f"Adam {float(rate):g}": adam_fits["r2"].sel(rate=rate) for rate in rates}
    groups |= {"descent": architecture_fits["r2"].sel(network="default")}
    for place, (word, values) in enumerate(groups.items()):
        marks = np.clip(values.transpose("curve", "seed").values, -0.5, 1)
        x = np.arange(3)[:, None] + (place - len(rates) / 2) * width + np.zeros(marks.shape)
        color = BLACK if word == "descent" else (BLUE, RED, GREEN)[place % 3]
        last.plot(x.ravel(), marks.ravel(), "x" if word == "descent" else "o", color=color, markersize=2.5, label=word)
    last.set_xticks(np.arange(3), ["$h$", "$y$", "$w$"])
    last.set_ylabel("$R^2$, one mark per trial")
    last.legend(handletextpad=0.2, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _legend(fig, axes[0, :-1])
    return Drawn(
        fig,
        {
            "trials": adam_fits.sizes["seed"],
            "units per layer": int(adam_runs["units"]),
            "epochs": int(adam_runs["epoch"][-1]) + 1,
            **{f"median R2 of w, {name}": values.sel(curve="w").median().item() for name, values in groups.items()},
        },
    )
