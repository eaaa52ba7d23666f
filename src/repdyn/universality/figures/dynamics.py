"""Figures of the dynamics on two points: schematic, Table 1 networks, gains, losses, Adam (Figures 1, 2, 3, 12, 15)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import BLACK, BLUE, GREEN, RED, describe, new
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

COLORS = {"h": BLUE, "y": RED, "w": GREEN}
NAMES = {"h": "$h = \\|dh\\|^2$", "y": "$y = \\|dy\\|^2$", "w": "$w$"}
WORDS = {"very_high": "very high", "relu": "ReLU", "elu": "ELU", "low": "small", "default": "default"}


def require_converged(fits: xr.Dataset) -> None:
    """What figures of a shown trial need.

    Raises:
        NotEnoughDataError: no trial has converged.
    """
    if int(fits["shown"]) < 0:
        raise NotEnoughDataError(f"a converged trial of the default network of {int(fits['units'])} units")


def fig1_two_points(default_network_fits: xr.Dataset) -> Figure:
    """Figure 1: the variables of the theory at three moments of a trained network, drawn to scale."""
    require_converged(default_network_fits)
    figure, axes = new(1, 3, height=2.3, sharex=True, sharey=True)
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
    return describe(
        figure,
        title="Figure 1: the interaction of two points",
        caption="Distances of the two points in input, hidden and output space of one default network of "
        f"{int(default_network_fits['units'])} units per layer (trial {int(default_network_fits['shown'])}), hidden "
        f"layer {int(default_network_fits['halfway'])}, at three epochs. Circles are the points, crosses their "
        "targets; $w$ is the scalar product of the output difference with its error.",
        alt="Two inputs a unit apart; their hidden representations and outputs coincide at first, then move apart "
        "until the outputs lie on their targets.",
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
        panel.plot(run["epoch"], run[name], color=color, label=f"{NAMES[name]}, network")
        panel.plot(
            run["epoch"], theory.sel(curve=name), "--", color=BLACK, linewidth=0.9, label=f"{NAMES[name]}, theory"
        )


def _legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """Names the curves, by the first panel that has some."""
    drawn = [panel for panel in panels if panel.lines]
    if not drawn:
        raise NotEnoughDataError("a converged trial of one of the networks")
    handles, labels = drawn[0].get_legend_handles_labels()
    chosen = [*range(0, len(labels), 2), 1]
    texts = [labels[i].split(", network")[0] for i in chosen[:-1]] + ["theory"]
    figure.legend([handles[i] for i in chosen], texts, loc="outside lower center", ncols=4)


def _r2(fits: xr.Dataset) -> str:
    """Explained variances of the shown trial, in the title of a panel."""
    values = [f"{value:.2f}" if value > -1 else "< $-$1" for value in fits["r2"].values]
    h, y, w = (f"${name}$ {value}" for name, value in zip(COLORS, values, strict=True))
    return f"$R^2$ {h},\n{y}, {w}"


def fig2_architectures(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 2: h, y, w of every network of Table 1 against the theory."""
    rows = [name for name in FIGURE_2 if name in architecture_fits["network"].values]
    figure, axes = new(3, 4, height=1.75, sharex=True)
    for panel, name in zip(axes.flat, rows, strict=False):
        fits = architecture_fits.sel(network=name)
        if (seed := int(fits["shown"])) < 0:
            panel.text(0.5, 0.5, "none converged", ha="center", transform=panel.transAxes)
        else:
            _curves(panel, architectures.sel(network=name).isel(seed=seed), fits["theory"])
        fit = fits.isel(seed=max(seed, 0))
        panel.set_title(f"{WORDS.get(name, name)}\n{_r2(fit)}", fontsize=7.5)
    _bottom(axes, len(rows))
    _legend(figure, axes.flat)
    return describe(
        figure,
        title="Figure 2: the same dynamics in different networks",
        caption="Squared representational distance $h$, squared output distance $y$ and alignment $w$ of one converged "
        f"trial per network ({_widths(architectures, rows)} units; {architecture_fits.sizes['seed']} trials each, "
        f"{_dropped(architecture_fits, rows)} did not converge), and the theory with two fitted rates (dashed). Above "
        "each panel: $R^2$ of $h, y, w$ of the shown trial.",
        alt="In every network h and y rise from a plateau in one step. The theory follows it closely for leaky ReLU, "
        "ReLU, narrow and shallow networks, and too slowly for linear, tanh, ELU, swish and convolution; under dropout "
        "y stays below it. w dips and returns, where the theory dips too early and too wide.",
    )


def _bottom(axes: np.ndarray, used: int) -> None:
    """Epochs under the lowest panel of each column; panels that are not used vanish."""
    for place, panel in enumerate(axes.flat):
        if place >= used:
            panel.axis("off")
        elif place + axes.shape[1] >= used:
            panel.tick_params(labelbottom=True)
            panel.set_xlabel("epoch")


def _widths(runs: xr.Dataset, rows: list[str]) -> str:
    widths = sorted({int(runs["units"].sel(network=name)) for name in rows})
    return ", ".join(map(str, widths))


def _dropped(fits: xr.Dataset, rows: list[str]) -> str:
    chosen = fits["converged"].sel(network=rows)
    counts = [f"{int((chosen.sel(network=name) == 0).sum())} of {WORDS.get(name, name)}" for name in rows]
    return ", ".join(word for word in counts if not word.startswith("0 ")) or "none"


def fig3_initial_weights(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 3: dynamics and loss for growing initial weights."""
    rows = [name for name in FIGURE_3 if name in architecture_fits["network"].values]
    figure, axes = new(2, len(rows), height=1.9, sharex="col")
    for column, name in enumerate(rows):
        fits, runs = architecture_fits.sel(network=name), architectures.sel(network=name)
        top, bottom = axes[:, column]
        top.set_title(f"gain {float(runs['gain']):g}", fontsize=7.5)
        bottom.set_xlabel("epoch")
        if (seed := int(fits["shown"])) < 0:
            continue
        run = runs.isel(seed=seed)
        _curves(top, run, fits["theory"])
        bottom.plot(run["epoch"], run["loss"], color=BLUE)
        bottom.plot(run["epoch"], fits["theory_loss"], "--", color=BLACK, linewidth=0.9)
        top.set_title(f"gain {float(runs['gain']):g}\n{_r2(fits.isel(seed=seed))}", fontsize=7.5)
    axes[0, 0].set_ylabel("$h, y, w$")
    axes[1, 0].set_ylabel("training loss")
    _legend(figure, axes[0])
    return describe(
        figure,
        title="Figure 3: plateau and decay at growing initial weights",
        caption=f"One converged trial per gain of the default network ({_widths(architectures, rows)} units), with the "
        "learning rates of Table 1. Top: $h, y, w$ and the theory (dashed), $R^2$ of $h, y, w$ above. Bottom: the loss "
        "and equation (9) with a third fitted rate. Share of fits whose rates lie at the border of the search, so that "
        f"no rates fit, by gain: {_at_bound(architecture_fits, rows)}.",
        alt="At small gains a long plateau ends in a step that the theory follows; at gain 1.3 and 1.4 the distance h "
        "starts large and falls, where the theory stays flat at 1.3 and draws a wide U at 1.4.",
    )


def _at_bound(fits: xr.Dataset, rows: list[str]) -> str:
    return ", ".join(f"{float(fits['at_bound'].sel(network=name).mean()):.0%}" for name in rows)


def fig12_training_loss(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 12: training losses and equation (9)."""
    rows = [name for name in FIGURE_2 if name in architecture_fits["network"].values]
    figure, axes = new(3, 4, height=1.5, sharex=True)
    cast("ConstrainedLayoutEngine", figure.get_layout_engine()).set(w_pad=0.08)  # inches: half of an axis's last number
    for panel, name in zip(axes.flat, rows, strict=False):
        fits = architecture_fits.sel(network=name)
        panel.set_title(WORDS.get(name, name), fontsize=7.5)
        if (seed := int(fits["shown"])) < 0:
            panel.text(0.5, 0.5, "none converged", ha="center", transform=panel.transAxes)
            continue
        run = architectures.sel(network=name).isel(seed=seed)
        panel.plot(run["epoch"], run["loss"], color=BLUE, label="network")
        panel.plot(run["epoch"], fits["theory_loss"], "--", color=BLACK, linewidth=0.9, label="theory, eq. (9)")
        panel.set_title(f"{WORDS.get(name, name)}, $R^2$ {float(fits['loss_r2'][seed]):.3f}", fontsize=7.5)
    _bottom(axes, len(rows))
    for panel in axes[:, 0]:
        panel.set_ylabel("training loss")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return describe(
        figure,
        title="Figure 12: training loss in different networks",
        caption=f"Training loss of the trials of Figure 2 ({_widths(architectures, rows)} units) and equation (9) with "
        "the rates fitted there and one more for the mean output.",
        alt="The loss falls to a plateau, stays and falls again in one step, and equation (9) follows it closely.",
    )


def fig15_adam(adam_runs: xr.Dataset, adam_fits: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 15: the default network trained by Adam, and how much worse the fits are than by gradient descent."""
    require(architecture_fits, "architecture_fits", network=("default",))
    rates = adam_fits["rate"].values.tolist()
    figure, axes = new(1, len(rates) + 1, height=2.3)
    for panel, rate in zip(axes[0], rates, strict=False):
        fits = adam_fits.sel(rate=rate)
        panel.set_xlabel("epoch")
        if (seed := int(fits["shown"])) >= 0:
            _curves(panel, adam_runs.sel(rate=rate).isel(seed=seed), fits["theory"])
            panel.set_title(f"Adam, rate {float(rate):g}\n{_r2(fits.isel(seed=seed))}", fontsize=7.5)
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
    _legend(figure, axes[0, :-1])
    return describe(
        figure,
        title="Figure 15: Adam",
        caption=f"The default network ({int(adam_runs['units'])} units) trained by Adam at {len(rates)} "
        f"{'rate' if len(rates) == 1 else 'rates'}, one trial each, and the theory (dashed). Right: $R^2$ of all "
        f"{adam_fits.sizes['seed']} trials, and of the same initial weights under gradient descent; values below -0.5 "
        "are drawn at -0.5.",
        alt="Under Adam the theory misses the early part of the curves; the explained variance of w is near zero, "
        "against 0.9 under gradient descent.",
    )
