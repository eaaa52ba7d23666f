"""Figures of the default network: final distances, depth, alternatives, closed form (Figures 5, 10, 11; new)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, ORANGE, RED, band, color_bar, color_map, describe, new, plain_numbers
from repdyn.base.wording import UNKNOWN, counted, number, outcome
from repdyn.universality.figures.dynamics import COLORS, EXPLAINED, NAMES, WORDS, require_converged
from repdyn.universality.figures.printed import size_of_default
from repdyn.universality.theory.published import FIT_LOSSES

MANY = 50  # times: a narrow panel has no room for three labels a decade beyond


def _number(axis: Axis, drawn: np.ndarray) -> None:
    """Ticks of a logarithmic axis: written out over one decade or two, powers of ten beyond."""
    if drawn.size and drawn.max() < MANY * drawn.min():
        plain_numbers(axis)
    else:
        axis.set_minor_formatter("")


def _more_told(predictions: xr.Dataset) -> str:
    """In how many networks equation (10) correlates at least as much with the final distances as the target's does."""
    return counted(predictions["correlation"] - predictions["correlation_dy"])


def fig5_final_distances(final_predictions: xr.Dataset) -> Figure:
    """Figure 5: final distances over the grid against equation (10)."""
    names = final_predictions["network"].values.tolist()
    columns = min(len(names), 3)
    figure, axes = new(-(-len(names) // columns), columns, height=2.1)
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
        for axis, drawn in ((panel.xaxis, row["theory"]), (panel.yaxis, row["measured"])):
            _number(axis, drawn.values[good])
        panel.set_title(
            f"{WORDS.get(name, name)}: r {float(row['correlation']):.2f}\n"
            f"(dy alone {float(row['correlation_dy']):.2f}), {int(row['trials'])} trials",
            fontsize=7.5,
        )
    for panel in axes.flat[len(names) :]:
        panel.axis("off")
    for panel in axes[:, 0]:
        panel.set_ylabel("final $h$, network")
    for panel in axes.flat[len(names) - columns : len(names)]:
        panel.set_xlabel("final $h$, eq. (10)")
    color_bar(figure, shown, ax=axes, label="target distance dy", shrink=0.7)
    dropped = int(final_predictions["dropped"].sum())
    widths = ", ".join(map(str, sorted(set(final_predictions["units"].values.tolist()))))
    return describe(
        figure,
        title=f"Figure 5: equation (10) tells more than $dy$ alone in {_more_told(final_predictions)} networks",
        caption=f"Each dot is a trial of {widths} units at one of {final_predictions.sizes['dx']} x "
        f"{final_predictions.sizes['dy']} pairs of distances ({final_predictions.sizes['seed']} trials each); "
        f"{dropped} trials did not converge and are left out. Rates: geometric mean of the fits at $dx = 1$, "
        "$dy^2 = 0.5$. Line: equality. $r$: correlation of the logarithms over cells with $dy > 0$, beside that of "
        "$dy$ alone. The paper's text gives no levels and no correlation; it has one trial at each of 5 x 5 pairs, "
        "$dx$ from 0.5 to 1.5 and $dy$ from 0 to 1, the networks of Table 1, which have 500 units, and rates from the "
        "mean of 50 fits at $dx = 0.5$, $dy = 1$. Grid here: $dx$ from "
        f"{_ends(final_predictions['dx'])}, $dy$ from {_ends(final_predictions['dy'])}.",
        alt="Final distances of the network against those of equation (10), one panel per network, with the line of "
        "equality; color: target distance.",
    )


def _ends(values: xr.DataArray) -> str:
    return f"{float(values.min()):g} to {float(values.max()):g}"


def _second_half(fits: xr.Dataset) -> str:
    """Whether the median explained variance is on average larger from the layer halfway on than before it."""
    explained, half = fits["r2"].mean("curve").median("seed"), int(fits["halfway"])
    more = explained.isel(layer=slice(half, None)).mean() - explained.isel(layer=slice(None, half)).mean()
    return outcome(more, "more in", "no more in", "an unknown share of")


def fig10_depth(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Figure:
    """Figure 10: fit loss, explained variance and rates over the hidden layers, all from the same runs."""
    require_converged(default_network_fits)
    figure, axes = new(1, 3, height=2.4)
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
        panel.axvline(int(default_network_fits["halfway"]), color="0.7", linewidth=0.8, linestyle=":")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return describe(
        figure,
        title=f"Figure 10: the theory explains {_second_half(default_network_fits)} the second half of the layers",
        caption="Median over trials, band from the lower to the upper quartile, every layer of the same runs of the "
        "default network; the two rates in the same colors. Dotted: the layer halfway, where all other figures look. "
        "The paper's vertical axis is not to scale. Its text: the theory is accurate only in the second half of the "
        "network, where the rate of the encoder rises with depth and that of the decoder falls. "
        f"{size_of_default(*(int(fits['units']) for fits in (default_network_fits, default_ensemble_fits)))}",
        alt="Fit loss, explained variance and both fitted rates against the hidden layer, medians with bands.",
    )


def _over_layers(panel: Axes, values: xr.DataArray, color: str, style: str, label: str) -> None:
    drawn = values.transpose("layer", "seed")
    low, middle, high = np.nanquantile(drawn.values, [0.25, 0.5, 0.75], axis=1)
    panel.plot(drawn["layer"], middle, style, color=color, markersize=2.5, linewidth=1, label=label)
    band(panel, drawn["layer"].values, low, high, color=color)


def fig11_alternatives(default_network: xr.Dataset, default_network_fits: xr.Dataset) -> Figure:
    """Figure 11: the theory and the altered dynamics, each at its own best rates."""
    require_converged(default_network_fits)
    names = default_network_fits["alternative"].values.tolist()
    figure, axes = new(2, 3, height=1.9, sharex=True, sharey=True)
    seed = int(default_network_fits["shown"])
    run = default_network.sel(layer=int(default_network["halfway"])).isel(seed=max(seed, 0))
    for panel, name in zip(axes.flat, names, strict=True):
        for curve, color in COLORS.items():
            panel.plot(run["epoch"], run[curve], color=color, label=NAMES[curve])
            fitted = default_network_fits["alternative_theory"].sel(alternative=name, curve=curve)
            panel.plot(run["epoch"], fitted, "--", color=BLACK, linewidth=0.9, label="fit" if curve == "w" else None)
        loss = float(default_network_fits["alternative_loss"].sel(alternative=name).isel(seed=max(seed, 0)))
        panel.set_title(f"{name}: loss {loss:.3g}", fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("epoch")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    order, words = _against_altered(default_network_fits, max(seed, 0))
    return describe(
        figure,
        title=f"Figure 11: {order}",
        caption=f"One trial of the default network ({int(default_network_fits['units'])} units, hidden layer "
        f"{int(default_network_fits['halfway'])}) and the best fit (dashed) of the theory and of the dynamics altered "
        f"as in (51), with its squared fit loss: {words}. The square is shown as printed and as a factor 2 in the same "
        f"line. The paper prints {_published()}. {size_of_default(int(default_network_fits['units']))}",
        alt="Three curves of one network over the epochs in each panel, with the best fit of the theory or of one "
        f"altered dynamics dashed: {order}.",
    )


def _against_altered(fits: xr.Dataset, seed: int) -> tuple[str, str]:
    """Whether the theory fits a trial better than the best of the altered dynamics, and the losses of both."""
    losses = fits["alternative_loss"].isel(seed=seed)
    theory, altered = losses.sel(alternative="theory"), losses.drop_sel(alternative="theory").dropna("alternative")
    best = altered.sortby(altered)[:1]
    order = outcome(
        best - float(theory),
        "the theory fits better than the altered dynamics",
        "an altered dynamics fits better than the theory",
        "theory and altered dynamics are not compared",
    )
    words = ", ".join(
        f"{number(loss, '.3g')} ({name})" for name, loss in zip(best["alternative"].values, best, strict=True)
    )
    return order, f"{number(theory, '.3g')} (theory), at best {words or UNKNOWN} of the altered ones"


def _published() -> str:
    return ", ".join(f"{loss:g} ({name})" for name, loss in FIT_LOSSES.items())


def _within_ours(fits: xr.Dataset) -> str:
    """How many of the published losses lie between the least and the largest of our trials."""
    ours = fits["alternative_loss"]
    low, high = (end.values for end in (ours.min("seed"), ours.max("seed")))
    published = np.array([FIT_LOSSES.get(str(name), np.nan) for name in fits["alternative"].values])
    return counted(np.minimum(published - low, high - published))


def n6_fit_losses(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Figure:
    """The published fit losses among those of our trials."""
    figure, axes = new(1, 2, height=2.6, sharey=True)
    ensembles = (default_network_fits, default_ensemble_fits)
    for panel, fits in zip(axes[0], ensembles, strict=True):
        names = fits["alternative"].values.tolist()
        for place, name in enumerate(names):
            loss = fits["alternative_loss"].sel(alternative=name).values
            kept = loss[np.isfinite(loss)]
            offset = np.linspace(-0.15, 0.15, kept.size) if kept.size > 1 else np.zeros(kept.size)
            panel.plot(place + offset, kept, "o", color=BLUE, markersize=3, label="our trials" if place == 0 else None)
            if name in FIT_LOSSES:
                label = "published" if place == 0 else None
                panel.plot(place, FIT_LOSSES[name], "_", color=RED, markersize=16, markeredgewidth=2, label=label)
        panel.set_xticks(range(len(names)), [name.replace(" in ", "\nin ") for name in names], rotation=35, ha="right")
        panel.set_title(f"{int(fits['units'])} units, {int(fits['converged'].isel(layer=0).sum())} trials")
        panel.set_yscale("log")
    axes[0, 0].set_ylabel("squared fit loss (49), epochs")
    axes[0, 0].legend()
    return describe(
        figure,
        title="Published fit losses within our range: "
        + ", ".join(f"{_within_ours(fits)} at {int(fits['units'])} units" for fits in ensembles),
        caption="One dot per trial of the default network, each the global minimum over both rates; orange-red: the "
        "single number that the paper gives.",
        alt="Fit losses of the theory and of each altered dynamics, one dot per trial, with the published numbers as "
        "bars, for two widths of the network.",
    )


def n5_closed_form(default_network_fits: xr.Dataset) -> Figure:
    """The closed form against a network, and what the theory conserves."""
    require_converged(default_network_fits)
    figure, axes = new(1, 2, height=2.4)
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
    residual = float(np.abs(fits["residual"]).max())
    return describe(
        figure,
        title=f"The closed form of the theory {_follows(fits)}",
        caption=f"Trial {int(fits['shown'])} of the default network ({int(fits['units'])} units). Right: $y/h$, "
        "linear in $h$ by equation (24) of the theory. For one output Cauchy-Schwarz is an equality, "
        rf"$(y - w)^2 = y \|y_2 - y_1\|^2$; network and theory keep it to {residual:.0e}.",
        alt="Curves of one network over the epochs with the closed form dashed; ratio of y and h against h of the "
        "network and of the theory.",
    )


def _follows(fits: xr.Dataset) -> str:
    """Whether the theory explains every curve of the shown trial."""
    r2 = fits["r2"].sel(layer=int(fits["halfway"])).isel(seed=int(fits["shown"]))
    return outcome(
        r2 - EXPLAINED,
        f"explains {EXPLAINED:.0%} of each of $h, y, w$ of a trained network",
        f"explains less than {EXPLAINED:.0%} of $h$, $y$ or $w$ of a trained network",
        "is not compared with a network",
    )
