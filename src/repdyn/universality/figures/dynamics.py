"""Figures of the dynamics on two points: schematic, Table 1 networks, gains, losses, Adam (Figures 1, 2, 3, 12, 15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import BLACK, BLUE, GREEN, RED, describe, legend_below, new
from repdyn.base.wording import counted, number, outcome, which
from repdyn.universality.figures.printed import other_two_point_settings, size_of_default
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

COLORS = {"h": BLUE, "y": RED, "w": GREEN}
NAMES = {"h": "$h = \\|dh\\|^2$", "y": "$y = \\|dy\\|^2$", "w": "$w$"}
EXPLAINED = 0.8  # R^2 from which the theory explains a curve, in titles
LOSSES = (1e-5, 1.0)  # limits of the axis: below lies the end of training
WORDS = {"very_high": "very high", "relu": "ReLU", "elu": "ELU", "low": "small", "default": "default"}


def require_converged(fits: xr.Dataset) -> None:
    """What figures of a shown trial need.

    Raises:
        NotEnoughDataError: no trial has converged.
    """
    if int(fits["shown"]) < 0:
        raise NotEnoughDataError(f"a converged trial of the default network of {int(fits['units'])} units")


def _moved(h: xr.DataArray) -> str:
    """Whether the two points end further apart in the hidden layer than they start, and from where to where."""
    start, end = h.isel(epoch=0), h.isel(epoch=-1)
    way = outcome(end - start, "move apart", "come together", "move in an unknown way")
    return f"{way} in the hidden layer, $h$ from {number(start)} to {number(end)}"


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
        title=f"Figure 1: two points {_moved(network.sel(curve='h'))}",
        caption="Distances of the two points in input, hidden and output space of one default network of "
        f"{int(default_network_fits['units'])} units per layer (trial {int(default_network_fits['shown'])}), hidden "
        f"layer {int(default_network_fits['halfway'])}, at three epochs. Circles are the points, crosses their "
        "targets; $w$ is the scalar product of the output difference with its error. The paper's Figure 1 is an "
        "overview of the same variables; it states no network, settings or numbers.",
        alt="Two points in input, hidden and output space at three epochs of training, with the targets as crosses.",
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
        title=f"Figure 2: the theory explains {EXPLAINED:.0%} of {_explained(architecture_fits, rows)} networks",
        caption="Squared representational distance $h$, squared output distance $y$ and alignment $w$ of one converged "
        f"trial per network ({architecture_fits.sizes['seed']} trials each, {_dropped(architecture_fits, rows)} did "
        "not converge), and the theory with two fitted rates (dashed). Above each panel: $R^2$ of $h, y, w$ of the "
        "shown trial. The paper's figure prints no levels and no $R^2$; its text: the curves match the theory in all. "
        f"{other_two_point_settings(architectures, {name: WORDS.get(name, name) for name in rows})}",
        alt="Distances h and y and alignment w over the epochs, one panel per network, with the fitted theory dashed.",
    )


def _shown_r2(fits: xr.Dataset, network: str) -> np.ndarray:
    """Explained variances of h, y, w in the shown trial; NaN where none has converged."""
    own = fits.sel(network=network)
    seed = int(own["shown"])
    return np.full(len(COLORS), np.nan) if seed < 0 else np.asarray(own["r2"].isel(seed=seed).sel(curve=list(COLORS)))


def _explained(fits: xr.Dataset, rows: list[str]) -> str:
    """In how many networks the theory explains each curve of the shown trial."""
    margins = np.transpose([_shown_r2(fits, name) - EXPLAINED for name in rows])
    h, y, w = (f"${name}$ in {counted(own)}" for name, own in zip(COLORS, margins, strict=True))
    return f"{h}, of {y} and of {w}"


def _explained_gains(runs: xr.Dataset, fits: xr.Dataset, rows: list[str]) -> str:
    """At which gains the theory explains all curves of the shown trial."""
    gains = {name: f"{float(runs['gain'].sel(network=name)):g}" for name in rows}
    return which({f"gain {gains[name]}": _shown_r2(fits, name) - EXPLAINED for name in rows})


def _bottom(axes: np.ndarray, used: int) -> None:
    """Epochs under the lowest panel of each column; panels that are not used vanish."""
    for place, panel in enumerate(axes.flat):
        if place >= used:
            panel.axis("off")
        elif place + axes.shape[1] >= used:
            panel.tick_params(labelbottom=True)
            panel.set_xlabel("epoch")


def _dropped(fits: xr.Dataset, rows: list[str]) -> str:
    chosen = fits["converged"].sel(network=rows)
    counts = [f"{int((chosen.sel(network=name) == 0).sum())} of {WORDS.get(name, name)}" for name in rows]
    return ", ".join(word for word in counts if not word.startswith("0 ")) or "none"


def fig3_initial_weights(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 3: dynamics and loss for growing initial weights."""
    rows = [name for name in FIGURE_3 if name in architecture_fits["network"].values]
    figure, axes = new(2, len(rows), height=2.0, sharex="col", sharey="row")
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
            panel.axvline(half, color="0.6", linewidth=0.8, linestyle=":")
        top.set_title(f"gain {float(runs['gain']):g}\n{_r2(fits.isel(seed=seed))}", fontsize=7.5)
    axes[0, 0].set_ylabel("$h, y, w$")
    axes[1, 0].set_ylabel("training loss")
    _legend(figure, axes[0])
    return describe(
        figure,
        title=f"Figure 3: the theory explains {EXPLAINED:.0%} of each of $h, y, w$ for "
        f"{_explained_gains(architectures, architecture_fits, rows)}",
        caption=f"One converged trial per gain of the default network, with the learning rates of Table 1. Top: "
        "$h, y, w$ and the theory (dashed), $R^2$ of $h, y, w$ above. Bottom: the loss on a logarithmic axis and "
        "equation (9) with a third fitted rate (dashed); gray line: the plateau's loss $dy^2/8$ with the outputs "
        "together at the mean target. Dotted: the epoch at which $y$ is half of $dy^2$: "
        f"{_half_way(architecture_fits, rows)}. Share of fits whose rates lie at the border of the search, so that no "
        f"rates fit, by gain: {_at_bound(architecture_fits, rows)}. The paper's figure has the same five gains and "
        "prints no levels. Its text: plateaus at small weights disappear at larger ones, and the theory breaks down at "
        f"very high ones. {other_two_point_settings(architectures, {name: WORDS.get(name, name) for name in rows})}",
        alt="Distances and alignment above and the loss below, over the epochs, one column per gain, with the fitted "
        "theory dashed.",
    )


def _half_way(fits: xr.Dataset, rows: list[str]) -> str:
    shown = [(fits.sel(network=name), int(fits["shown"].sel(network=name))) for name in rows]
    return ", ".join("none" if seed < 0 else f"{float(own['half'][seed]):.0f}" for own, seed in shown)


def _losses(panel: Axes, run: xr.Dataset, theory: xr.DataArray) -> None:
    """Loss of the network and equation (9) on a logarithmic axis, and the level of the plateau, D^2 / 8."""
    panel.axhline(float(run["dy2"]) / 8, color="0.8", linewidth=3, zorder=0, label="plateau, $dy^2/8$")
    panel.plot(run["epoch"], run["loss"], color=BLUE, label="network")
    positive = theory.where(theory > 0)
    panel.plot(run["epoch"], positive, "--", color=BLACK, linewidth=0.9, label="theory, eq. (9)")
    panel.set(yscale="log", ylim=LOSSES)


def _at_bound(fits: xr.Dataset, rows: list[str]) -> str:
    return ", ".join(f"{float(fits['at_bound'].sel(network=name).mean()):.0%}" for name in rows)


def fig12_training_loss(architectures: xr.Dataset, architecture_fits: xr.Dataset) -> Figure:
    """Figure 12: training losses and equation (9), best explained networks first."""
    rows = _best_first(architecture_fits)
    figure, axes = new(max(-(-len(rows) // 3), 2), 4, height=1.4, width_ratios=[1, 1, 1, 1.25])
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
    _unexplained(figure.add_subplot(axes[0, 3].get_gridspec()[:, 3]), architecture_fits, rows)
    drawn = [panel for panel in small.flat if panel.lines]
    if drawn:
        figure.legend(*drawn[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return describe(
        figure,
        title=f"Figure 12: equation (9) leaves {_largest_share(architecture_fits, rows)} of the fall from the plateau "
        "unexplained, by network",
        caption="Left: training loss of the trials of Figure 2 on a logarithmic axis and equation (9) with the rates "
        "fitted there and one more for the mean output (dashed). Gray: $dy^2/8$, the loss with the mean output on "
        "its target and the two outputs together. Right: share of the loss's variance that (9) leaves unexplained, "
        f"$1 - R^2$; each of the trials that converged (up to {architecture_fits.sizes['seed']}), bars their "
        "medians; blue, filled: whole loss; orange-red, open: loss less the mean output's part, the fall from the "
        "plateau. Networks are sorted by the latter. The paper's figure prints no levels; its text says that (9) can "
        "be fitted to the loss of all these networks. "
        f"{other_two_point_settings(architectures, {name: WORDS.get(name, name) for name in rows})}",
        alt=f"Training losses of {len(rows)} networks on logarithmic axes with equation (9) dashed; beside them the "
        "unexplained shares of the whole loss and of the fall from the plateau, by network.",
    )


def _largest_share(fits: xr.Dataset, rows: list[str]) -> str:
    """From the least to the largest median share of the fall that (9) leaves unexplained."""
    shares = [1 - _kept(fits["pair_r2"].sel(network=name)) for name in rows]
    medians = [float(np.median(share)) for share in shares if share.size]
    return f"{min(medians):.1%} to {max(medians):.1%}" if medians else "an unknown share"


def _best_first(fits: xr.Dataset) -> list[str]:
    """Networks of Figure 2 by the part of the loss beyond the mean output that (9) explains; unfitted ones last."""
    rows = [name for name in FIGURE_2 if name in fits["network"].values]
    share = {name: 1 - _kept(fits["pair_r2"].sel(network=name)) for name in rows}
    return sorted(rows, key=lambda name: np.median(share[name]) if share[name].size else np.inf)


def _kept(values: xr.DataArray) -> np.ndarray:
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
            ("loss_r2", "whole loss", BLUE, BLUE, -0.17),
            ("pair_r2", "fall from the plateau", RED, "none", 0.17),
        ):
            share = 1 - _kept(fits[variable].sel(network=name))
            if share.size:
                label = words if place == 0 else None
                y = np.full(share.size, place + shift)
                panel.plot(share, y, "o", color=color, markerfacecolor=face, markersize=3, alpha=0.7, label=label)
                panel.plot(np.median(share), place + shift, "|", color=BLACK, markersize=7, markeredgewidth=1.5)
    panel.set(xscale="log", ylim=(len(rows) - 0.5, -0.5), xlabel="unexplained, $1 - R^2$", title="by network")
    panel.set_yticks(range(len(rows)), [WORDS.get(name, name) for name in rows])
    legend_below(panel)


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
    medians = _medians_of_w(groups)
    order = outcome(
        [medians["descent"] - median for name, median in medians.items() if name != "descent"],
        "worse with Adam than with descent",
        "no worse with Adam at some rate",
        "to an unknown degree",
    )
    return describe(
        figure,
        title=f"Figure 15: the theory explains $w$ {order}",
        caption=f"The default network ({int(adam_runs['units'])} units) trained by Adam at {len(rates)} "
        f"{'rate' if len(rates) == 1 else 'rates'}, one trial each, and the theory (dashed). Right: $R^2$ of all "
        f"{adam_fits.sizes['seed']} trials, and of the same initial weights under gradient descent; values below "
        f"-0.5 are drawn at -0.5. Median $R^2$ of $w$: {_fits_of_w(groups)}. The paper states neither rate nor "
        f"$R^2$; its text: the fit is not very good, especially early. {size_of_default(int(adam_runs['units']))} "
        f"The paper prints no length with Adam, the run here is {int(adam_runs['epoch'][-1]) + 1} epochs.",
        alt="Curves under Adam at each rate with the fitted theory dashed; beside them the explained variances of h, y "
        f"and w with Adam and with gradient descent. The theory explains w {order}.",
    )


def _medians_of_w(groups: Mapping[str, xr.DataArray]) -> dict[str, float]:
    """Median R^2 of w over the trials of every group."""
    return {name: values.sel(curve="w").median().item() for name, values in groups.items()}


def _fits_of_w(groups: Mapping[str, xr.DataArray]) -> str:
    return ", ".join(f"{number(median)} ({name})" for name, median in _medians_of_w(groups).items())
