"""Figures of perceptrons on images of digits (Figures 4, 9, 14 and 18, N4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

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
    color_bar,
    color_map,
    figure,
    half_width,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)
from repdyn.universality.theory.published import CORRELATIONS, EPOCH_STEPS, RATE_MNIST

CURVES = {"h": (BLUE, "$h$"), "y": (RED, "$y$"), "w": (GREEN, "$w$")}
KINDS = {"dissimilar": "digits 0 and 1", "similar": "digits 3 and 8", "same": "two images of 0"}
BRIGHTEST = 2.0  # of the color scale, in means between classes
TREND_AT = (30, 1)  # the paper's epochs at which its text sees a fall with distance
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5}
STRUCTURE = (
    "Squared distances between the representations of images, sorted by digit, mean over networks. (a) Network below "
    "the diagonal, image by image; theory, equation (50), above it, mean over the images of two digits, on whose "
    "labels alone it depends; each over its mean between classes. (b) Both, means over the images of two digits and "
    "of one; gray: from the least to the largest value of the theory between classes."
)
STRUCTURE_ALT = (
    "A matrix sorted by digit, the network's distances below the diagonal and (50) above it; beside it, both against "
    "each other."
)
MARKS = {"weighed (50)": (BLUE, "o"), "class mean": (SKY, "s"), "pair alone": (ORANGE, "D"), "labels alone": (RED, "^")}


@figure(
    title="Figure 4: dynamics of pairs of digits during the training on all, and the fitted theory",
    caption="First pair of each kind in one network with four hidden layers; dashed, the theory with two rates fitted "
    "by equation (49), which $h$ dominates; dotted, with every curve over its variance; $R^2$ of $h, y, w$ for (49). "
    "At equal targets $w = y$. Squared representational distance $h$ above, squared output distance $y$ and alignment "
    "$w$ below. The paper has one pair of a zero and a one and gives no levels; its text: the dynamics still "
    "qualitatively resemble the theory, slightly worse for more similar digits. It has four layers of 100 units "
    "(caption) or 200 (Table 2) and all 60 000 images of MNIST.",
    alt="Distances and alignment during training of a zero and a one, a three and an eight, and two zeros, with the "
    "fitted theory dashed and dotted.",
)
def fig4_digit_pairs(digit_pairs: xr.Dataset) -> Drawn:
    """h, y, w of three pairs within the training of all digits, with the fitted theory."""
    fig, axes = new(2, 3, height=1.7, sharex=True)
    epoch = digit_pairs["epoch"].values
    for column, (kind, words) in enumerate(KINDS.items()):
        fits = digit_pairs.sel(kind=kind)
        for curve, (color, label) in CURVES.items():
            panel = axes[0 if curve == "h" else 1, column]
            panel.plot(epoch, fits["measured"].sel(curve=curve), color=color, label=f"{label}, network")
            for weighting, style, words_ in (
                ("equation (49)", "--", "theory"),
                ("by variance", ":", "theory, by variance"),
            ):
                theory = fits["theory"].sel(curve=curve, weighting=weighting)
                panel.plot(epoch, theory, color=color, linestyle=style, linewidth=1.1, label=f"{label}, {words_}")
        r2 = fits["r2"].isel(trial=0, pair=0).sel(weighting="equation (49)")
        named = ", ".join(f"${curve}$ {_short(x)}" for curve, x in zip(CURVES, r2.values, strict=True))
        axes[0, column].set_title(f"{words}\n$R^2$ {named}")
        axes[1, column].axhline(0, color=BLACK, linewidth=0.6)
        axes[1, column].set_xlabel("passes over the data")
    axes[0, 0].set_ylabel("$h$")
    axes[1, 0].set_ylabel("$y$ and $w$")
    handles = [handle for row in axes for handle in row[0].get_legend_handles_labels()[0]]
    names = [name for row in axes for name in row[0].get_legend_handles_labels()[1]]
    fig.legend(handles, names, loc="outside lower center", ncols=3, columnspacing=1.0)
    medians = digit_pairs["r2"].sel(weighting="equation (49)").median(["trial", "pair"])
    return Drawn(
        fig,
        {
            "images": digit_pairs["source"].item(),
            "training images": int(digit_pairs["point_count"]),
            "units per layer": int(digit_pairs["units"]),
            "networks": digit_pairs.sizes["trial"],
            "pairs of each kind": digit_pairs.sizes["pair"],
            **{f"median R2 of h, y, w, {words}": medians.sel(kind=kind).values for kind, words in KINDS.items()},
        },
    )


def _short(value: float) -> str:
    return f"{value:.2f}" if value > -10 else "<-10"


@figure(
    title="Figure 9: distances between representations of digits, theory and network",
    caption=f"{STRUCTURE} The paper prints 0.703 and 0.512, of 50 networks on all 60 000 images of MNIST.",
    alt=STRUCTURE_ALT,
)
def fig9_structure(representational_structure: xr.Dataset) -> Drawn:
    """Measured distances against (50)."""
    return _structure(representational_structure, "sgd", "network")


@figure(
    title="Figure 18: distances between representations of digits after training with Adam, theory and network",
    caption=f"{STRUCTURE} The paper prints no correlation with Adam (Figure 9, gradient descent: 0.703 and 0.512), and "
    "neither gain nor rate; it has 50 networks on all 60 000 images of MNIST.",
    alt=STRUCTURE_ALT,
)
def fig18_structure_adam(representational_structure: xr.Dataset) -> Drawn:
    """The same with Adam."""
    return _structure(representational_structure, "adam", "network with Adam")


def _structure(data: xr.Dataset, run: str, network: str) -> Drawn:
    fig, axes = new(1, 2, height=3.3, width_ratios=[1.3, 1])
    measured, labels = data["measured"].sel(run=run).values, data["label"].values
    predicted = data["predicted"].sel(prediction="weighed (50)").values
    _mirrored(axes[0, 0], measured, predicted, labels)
    axes[0, 0].set(title=f"theory above, {network} below", xlabel="digit", ylabel="digit")
    bar = color_bar(fig, axes[0, 0].collections[0], ax=axes[0, 0], shrink=0.8, extend="max")
    bar.set_label("squared distance over mean between classes")
    _class_pairs(axes[0, 1], measured, predicted, labels)
    fig.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    axes[0, 1].set_ylabel(network)
    label_panels(axes)
    cell = data.sel(run=run, prediction="weighed (50)")
    total, between = (float(cell["correlation_of_mean"].sel(part=part)) for part in CORRELATIONS)
    low, high = np.quantile(cell["resampled"].sel(part="between classes").values, [0.025, 0.975])
    return Drawn(
        fig,
        {
            **_sizes(data),
            "correlation with (50), all entries": total,
            "correlation with (50), between classes": between,
            "its 95 % interval over redrawn pairs of classes": [low, high],
            "values that (50) takes": int(data["table_values"]),
        },
    )


def _sizes(data: xr.Dataset) -> dict[str, object]:
    """Facts of the images and networks that are shown."""
    return {
        "images": data["source"].item(),
        "training images": int(data["point_count"]),
        "images compared": data.sizes["row"],
        "networks": data.sizes["trial"],
    }


def _over_mean(matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """A matrix over its mean between classes."""
    return np.asarray(matrix / matrix[labels[:, None] != labels].mean())


def _class_means(matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean over the entries of every pair of classes, shape (classes, classes)."""
    member = labels[:, None] == np.unique(labels)
    shares = member / member.sum(axis=0)
    return np.asarray(shares.T @ matrix @ shares)


def _mirrored(panel: Axes, measured: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> None:
    """Vector cells: measured entry by entry below the diagonal, predicted by pairs of classes above."""
    n, edges = len(labels), [-0.5, *(np.flatnonzero(np.diff(labels)) + 0.5), len(labels) - 0.5]
    rows, columns = np.tril_indices(n, -1)
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    below = list(np.stack([columns, rows], axis=1)[:, None] + square)
    values = _class_means(_over_mean(predicted, labels), labels)
    first, second = np.triu_indices(len(values))
    above = [
        [(edges[j], edges[i]), (edges[j + 1], edges[i]), (edges[j + 1], edges[i + 1])]
        + ([(edges[j], edges[i + 1])] if i < j else [])
        for i, j in zip(first, second, strict=True)
    ]
    for cells, colors in ((below, _over_mean(measured, labels)[rows, columns]), (above, values[first, second])):
        patches = PolyCollection(cells, array=colors, cmap=color_map("cividis"), antialiased=False, linewidths=0)
        patches.set_clim(0, BRIGHTEST)
        panel.add_collection(patches)
    for edge in edges[1:-1]:
        panel.axhline(edge, color="w", linewidth=0.4)
        panel.axvline(edge, color="w", linewidth=0.4)
    panel.plot([-0.5, n - 0.5], [-0.5, n - 0.5], color="w", linewidth=1)
    middles = [np.flatnonzero(labels == digit).mean() for digit in np.unique(labels)]
    panel.set_xticks(middles, np.unique(labels))
    panel.set_yticks(middles, np.unique(labels))
    panel.tick_params(length=0)
    panel.set_facecolor("0.5")  # between two cells a viewer of vectors blends in what lies below
    panel.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")


def _class_pairs(panel: Axes, measured: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> None:
    """Means of both matrices over the images of two digits, and of one."""
    x, y = (_class_means(_over_mean(matrix, labels), labels) for matrix in (predicted, measured))
    pairs, same = np.triu_indices(len(x), 1), np.diag_indices(len(x))
    top = 1.05 * max(1.0, np.nan_to_num(x).max(), np.nan_to_num(y).max())
    panel.axvspan(x[pairs].min(), x[pairs].max(), color="0.9", zorder=0, label="range of the theory")
    panel.plot([0, top], [0, top], color=BLACK, linewidth=0.8, label="equal")
    panel.plot(x[pairs], y[pairs], "o", color=BLUE, markersize=3.5, alpha=0.8, label="two digits")
    panel.plot(x[same], y[same], "s", color=ORANGE, markersize=3.5, label="one digit")
    panel.set(xlim=(-0.05 * top, top), ylim=(-0.05 * top, top), aspect="equal", xlabel="theory")
    panel.set_title("pairs of digits")


@figure(
    title="Figure 9: correlations with equation (50), with simpler predictions and at other length scales",
    caption="(a, b) Correlation of distances between representations with four predictions: equation (50), means of "
    "$A_\\text{low}$ over pairs of classes, $A_\\text{low}$ of each pair, and whether labels differ (constant "
    "between classes). Small dots: networks; large: their mean distances, with the 95 % interval over redrawn pairs of "
    "classes; dotted: the paper's numbers. (c) The weighing with normalized weights at other length scales, in units "
    "of the mean prediction; thin lines: $A_\\text{low}$ of each pair. (d) Correlation during training, mean and "
    "95 % interval over networks.",
    alt="Correlations with four predictions, over all entries and between classes, with intervals; correlation against "
    "the length scale of the weighing and during training.",
)
def n4_correlations(representational_structure: xr.Dataset) -> Drawn:
    """The correlations with (50) beside simpler predictions, other length scales and untrained networks."""
    data = representational_structure
    fig, axes = new(2, 2, height=2.1)
    for panel, part in zip(axes[0], data["part"].values.tolist(), strict=True):
        _predictions(panel, data, part)
    _scales(axes[1, 0], data)
    _progress(axes[1, 1], data)
    label_panels(axes)
    levels = data["correlation_of_mean"].sel(run="sgd")
    gain = levels.sel(prediction="weighed (50)") - levels.sel(prediction="pair alone")
    gains = {f"correlation gained by weighing, {part}": float(gain.sel(part=part)) for part in CORRELATIONS}
    return Drawn(fig, _sizes(data) | gains)


def _predictions(panel: Axes, data: xr.Dataset, part: str) -> None:
    for place, prediction in enumerate(data["prediction"].values.tolist()[::-1]):
        cell = data.sel(run="sgd", prediction=prediction, part=part)
        if not np.isfinite(cell["correlation"].values).all():
            panel.annotate("constant", (0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=7.5)
            continue
        color, marker = MARKS[prediction]
        low, high = np.quantile(cell["resampled"].values, [0.025, 0.975])
        panel.plot([low, high], [place, place], color=color, linewidth=1.2)
        panel.plot(float(cell["correlation_of_mean"]), place, color=color, marker=marker, markersize=6)
        single = cell["correlation"].values
        panel.plot(single, np.full(single.size, place + 0.28), ".", color=color, markersize=3)
    panel.axvline(CORRELATIONS[part], color=BLACK, linestyle=":", linewidth=1)
    panel.annotate(
        f"paper {CORRELATIONS[part]}", (CORRELATIONS[part], data.sizes["prediction"] - 0.45), (3, 0), **BESIDE
    )
    panel.set_yticks(range(data.sizes["prediction"]), data["prediction"].values[::-1])
    panel.set(title=part, xlabel="correlation", ylim=(-0.5, data.sizes["prediction"] - 0.2))


def _scales(panel: Axes, data: xr.Dataset) -> None:
    for part, color, style in (("all entries", BLUE, "-"), ("between classes", PURPLE, "--")):
        values = data["correlation_by_scale"].sel(run="sgd", part=part)
        panel.semilogx(data["scale"], values, color=color, linestyle=style, marker=".", label=f"weighed, {part}")
        alone = float(data["correlation_of_mean"].sel(run="sgd", part=part, prediction="pair alone"))
        panel.axhline(alone, color=color, linestyle=style, linewidth=0.6, label=f"pair alone, {part}")
    panel.set(title="length scale of the weighing", xlabel="scale over mean prediction", ylabel="correlation")
    legend_below(panel)


def _progress(panel: Axes, data: xr.Dataset) -> None:
    for prediction in ("weighed (50)", "pair alone"):
        color = MARKS[prediction][0]
        for part, style in (("all entries", "-"), ("between classes", "--")):
            draws = data["correlation_by_look"].sel(prediction=prediction, part=part)
            middle, half = draws.mean("trial").values, half_width(draws.transpose("look", "trial").values)
            panel.plot(data["look"], middle, color=color, linestyle=style, marker=".", label=f"{prediction}, {part}")
            band(panel, data["look"].values, middle - half, middle + half, color=color)
    panel.set(title="during training", xlabel="passes over the data", ylabel="correlation")
    legend_below(panel)


@figure(
    title="Figure 14: ratio of the Taylor orders of encoder and decoder by distance",
    caption="Median ratio of the first over the second order of the Taylor expansion in bins of equal count of the "
    "representational distance, over random pairs of images of each network; the paper has 1000 pairs in 10 bins. "
    "Geometric mean and 95 % interval over networks. Gray: level of the nearest pairs; written: farthest over nearest "
    "bin, with its 95 % interval, below 1 where the ratio falls. Above: the time in the paper's epochs, compared by "
    "learning rate times steps, and what the paper's text says of its figure at that time; it prints no levels. Second "
    "order from the curvature between the two images, which sees kinks.",
    alt="Ratio of Taylor orders against distance, encoder above and decoder below, one column per time of training; "
    "gray: level of the nearest pairs.",
)
def fig14_taylor(taylor_ratios: xr.Dataset) -> Drawn:
    """First over second order by distance, encoder above, decoder below, at several times."""
    data, looks = taylor_ratios, range(taylor_ratios.sizes["look"])
    fig, axes = new(2, data.sizes["look"], height=1.8, sharex=True, sharey="row")
    epochs = data["progress"].values / (RATE_MNIST * EPOCH_STEPS)
    for row, (kind, color) in zip(axes, (("encoder", BLUE), ("decoder", RED)), strict=True):
        for look, panel in zip(looks, row, strict=True):
            _ratio_by_distance(panel, data.isel(look=look), kind, color)
            if kind == "encoder":
                panel.set_title(f"{_epochs(epochs[look])}\n{_published_trend(epochs, look)}", fontsize=7.5)
        row[0].set_ylabel(f"{kind}: ratio")
        low, high = row[0].get_ylim()
        row[0].set_ylim(low * (low / high) ** 0.25, high)  # room for the numbers
        if high < 100 * low:  # else powers of ten, which do not cover each other
            plain_numbers(row[0].yaxis)
    for panel in axes[1]:
        panel.set_xlabel("distance over mean")
    return Drawn(
        fig,
        {
            "images": data["source"].item(),
            "nonlinearity": data["nonlinearity"].item(),
            "networks": data.sizes["network"],
            "pairs per network": int(data["pairs"]),
            "passes over the images, by column": data["look"].values,
        },
    )


def _ratio_by_distance(panel: Axes, data: xr.Dataset, kind: str, color: str) -> None:
    x = (data["distance"] / data["distance"].mean("bin")).mean("network").values
    logs = np.log10(data["ratio"].sel(map=kind).transpose("bin", "network").values)
    middle, half = logs.mean(axis=1), half_width(logs)
    panel.axhline(10 ** middle[0], color="0.7", linewidth=1)
    panel.semilogy(x, 10**middle, color=color, marker=".")
    band(panel, x, 10 ** (middle - half), 10 ** (middle + half), color=color)
    mean, width = _change(logs)
    low, high = 10 ** (mean - width), 10 ** (mean + width)
    panel.text(0.04, 0.03, f"x {10**mean:.2f} ({low:.2f} to {high:.2f})", fontsize=7.5, transform=panel.transAxes)


def _change(logs: np.ndarray) -> tuple[float, float]:
    """Logarithm of the farthest over the nearest bin: mean over networks, half-width of its 95 % interval."""
    change = logs[-1] - logs[0]
    return float(change.mean()), float(half_width(change))


def _epochs(epochs: float) -> str:
    return "before training" if epochs == 0 else f"{epochs:{'.0f' if epochs >= 10 else '.2g'}} epochs"


def _published_trend(epochs: np.ndarray, look: int) -> str:
    """What the paper says at the look that comes nearest to the time it speaks of."""
    if look == 0:
        return "paper: no trend"
    for time in TREND_AT:
        if look == max(int(np.abs(epochs - time).argmin()), 1):
            return f"paper at {time}: falls"
    return "not in the paper"
