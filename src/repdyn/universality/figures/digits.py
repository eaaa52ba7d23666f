"""Figures of perceptrons on images of digits (Figures 4, 9, 14 and 18, N4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    band,
    describe,
    half_width,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)
from repdyn.universality.theory.published import CORRELATIONS

CURVES = {"h": (BLUE, "$h$"), "y": (ORANGE, "$y$"), "w": (GREEN, "$w$")}
KINDS = {"dissimilar": "digits 0 and 1", "similar": "digits 3 and 8", "same": "two images of 0"}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5}
LOOKS = {"weighed (50)": (BLUE, "o"), "class mean": (SKY, "s"), "pair alone": (ORANGE, "D"), "labels alone": (RED, "^")}


def fig4_digit_pairs(digit_pairs: xr.Dataset) -> Figure:
    """Figure 4: h, y, w of three pairs within the training of all digits, with the fitted theory."""
    figure, axes = new(2, 3, height=1.7, sharex=True)
    epoch = digit_pairs["epoch"].values
    for column, (kind, words) in enumerate(KINDS.items()):
        fits = digit_pairs.sel(kind=kind)
        for curve, (color, label) in CURVES.items():
            panel = axes[0 if curve == "h" else 1, column]
            panel.plot(epoch, fits["measured"].sel(curve=curve), color=color, label=f"{label}, network")
            for weighting, style, words_ in (
                ("equation (49)", "--", "theory (49)"),
                ("by variance", ":", "by variance"),
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
    figure.legend(handles, names, loc="outside lower center", ncols=3, columnspacing=1.0)
    medians = digit_pairs["r2"].sel(weighting="equation (49)").median(["trial", "pair"])
    shown = "; ".join(
        f"{words} {', '.join(_short(x) for x in medians.sel(kind=kind).values)}" for kind, words in KINDS.items()
    )
    return describe(
        figure,
        title="Figure 4: pairs of digits within a whole data set",
        caption=f"First drawn pair of each kind in one network with four hidden layers of {int(digit_pairs['units'])} "
        f"units trained on {int(digit_pairs['point_count'])} images ({digit_pairs['source'].item()}); dashed, the "
        "theory with two rates fitted by equation (49), which $h$ dominates; dotted, with every curve over its "
        "variance; $R^2$ of $h, y, w$ for (49). At equal targets $w = y$. Squared representational distance $h$ above, "
        "squared output distance $y$ and alignment $w$ below. Median explained variance of $h, y, w$ over "
        f"{digit_pairs.sizes['trial']} networks and {digit_pairs.sizes['pair']} pairs: {shown}.",
        alt="For a zero and a one the theory follows the rise of h and roughly y and w; for a three and an eight y and "
        "w are missed; for two zeros the distance grows although the theory lets it fall.",
    )


def _short(value: float) -> str:
    return f"{value:.2f}" if value > -10 else "<-10"


def fig9_structure(representational_structure: xr.Dataset) -> Figure:
    """Figure 9: measured distances beside (50) and beside the unweighed prediction."""
    data = representational_structure
    panels = (
        (data["measured"].sel(run="sgd"), "network"),
        (data["predicted"].sel(prediction="weighed (50)"), "theory, weighed (50)"),
        (data["predicted"].sel(prediction="pair alone"), "theory (10), pair alone"),
    )
    return _matrices(
        data,
        panels,
        "sgd",
        "Figure 9: representational structure of digits",
        "Three matrices of distances sorted by digit. The network's has dark blocks on the diagonal and texture between"
        " them; the weighed prediction is a flat mosaic, one color per pair of digits; the unweighed one has texture.",
    )


def fig18_structure_adam(representational_structure: xr.Dataset) -> Figure:
    """Figure 18: the same with Adam."""
    data = representational_structure
    panels = (
        (data["measured"].sel(run="adam"), "network, Adam"),
        (data["predicted"].sel(prediction="weighed (50)"), "theory, weighed (50)"),
    )
    return _matrices(
        data,
        panels,
        "adam",
        "Figure 18: representational structure of digits with Adam",
        "The network's distances under Adam, darker blocks on the diagonal than in Figure 9, beside the flat mosaic of "
        "the weighed prediction.",
    )


def _matrices(data: xr.Dataset, panels: tuple, run: str, title: str, alt: str) -> Figure:
    figure, axes = new(1, len(panels), height=2.6, width=2.3 * len(panels))
    labels = data["label"].values
    edges = np.flatnonzero(np.diff(labels)) + 0.5
    middles = [np.flatnonzero(labels == digit).mean() for digit in np.unique(labels)]
    for panel, (matrix, words) in zip(axes[0], panels, strict=True):
        panel.imshow(matrix.values / matrix.values.max(), cmap="cividis", vmin=0, vmax=1)
        for edge in edges:
            panel.axhline(edge, color="w", linewidth=0.3)
            panel.axvline(edge, color="w", linewidth=0.3)
        panel.set_xticks(middles, np.unique(labels))
        panel.set_yticks(middles, np.unique(labels))
        panel.tick_params(length=0)
        panel.set(title=words, xlabel="digit")
    axes[0, 0].set_ylabel("digit")
    figure.colorbar(axes[0, -1].images[0], ax=axes[0, :].tolist(), label="squared distance over largest", shrink=0.8)
    total, between = (
        float(data["correlation_of_mean"].sel(run=run, prediction="weighed (50)", part=part)) for part in CORRELATIONS
    )
    published = " (the paper: 0.703 and 0.512)" if run == "sgd" else ""
    return describe(
        figure,
        title=title,
        caption=f"Squared distances between the representations of {data.sizes['row']} images "
        f"({data['source'].item()}), sorted by digit, mean over {data.sizes['trial']} networks trained on "
        f"{int(data['point_count'])} images; each matrix over its largest entry. Correlation with (50) over all "
        f"entries {total:.3f}, between classes {between:.3f}{published}. (50) takes {int(data['table_values'])} "
        "values: it depends on the two labels alone.",
        alt=alt,
    )


def n4_correlations(representational_structure: xr.Dataset) -> Figure:
    """N4: the correlations with (50) beside simpler predictions, other length scales and untrained networks."""
    data = representational_structure
    figure, axes = new(2, 2, height=2.1)
    for panel, part in zip(axes[0], data["part"].values.tolist(), strict=True):
        _predictions(panel, data, part)
    _scales(axes[1, 0], data)
    _progress(axes[1, 1], data)
    label_panels(axes)
    return describe(
        figure,
        title="N4: what the correlations of Figure 9 are worth",
        caption="(a, b) Correlation of distances between representations with four predictions: equation (50), means "
        "of $A_\\text{low}$ over pairs of classes, $A_\\text{low}$ of each pair, and whether labels differ (constant "
        "between classes). "
        f"Small dots: {data.sizes['trial']} networks; large: their mean distances, with the 95 % interval over redrawn "
        "pairs of classes; dotted: the paper's numbers. (c) The weighing with normalized weights at other length "
        "scales, in units of the mean prediction; thin lines: $A_\\text{low}$ of each pair. (d) Correlation during "
        "training, "
        f"mean and 95 % interval over networks. Images: {data['source'].item()}, {int(data['point_count'])} for "
        "training.",
        alt="All predictions give correlations of 0.6 to 0.7 over all entries, labels alone 0.6; between classes 0.5 "
        "to 0.6 with intervals of 0.3. Untrained networks start at four fifths of the value over all entries and at "
        "about half of it between classes.",
    )


def _predictions(panel: Axes, data: xr.Dataset, part: str) -> None:
    for place, prediction in enumerate(data["prediction"].values.tolist()[::-1]):
        cell = data.sel(run="sgd", prediction=prediction, part=part)
        if not np.isfinite(cell["correlation"].values).all():
            panel.annotate("constant", (0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=7.5)
            continue
        color, marker = LOOKS[prediction]
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
        panel.semilogx(data["scale"], values, color=color, linestyle=style, marker=".", label=part)
        alone = float(data["correlation_of_mean"].sel(run="sgd", part=part, prediction="pair alone"))
        panel.axhline(alone, color=color, linestyle=style, linewidth=0.6)
    panel.set(title="length scale of the weighing", xlabel="scale over mean prediction", ylabel="correlation")
    legend_below(panel)


def _progress(panel: Axes, data: xr.Dataset) -> None:
    for prediction in ("weighed (50)", "pair alone"):
        color = LOOKS[prediction][0]
        for part, style in (("all entries", "-"), ("between classes", "--")):
            draws = data["correlation_by_look"].sel(prediction=prediction, part=part)
            middle, half = draws.mean("trial").values, half_width(draws.transpose("look", "trial").values)
            panel.plot(data["look"], middle, color=color, linestyle=style, marker=".", label=f"{prediction}, {part}")
            band(panel, data["look"].values, middle - half, middle + half, color=color)
    panel.set(title="during training", xlabel="passes over the data", ylabel="correlation")
    legend_below(panel)


def fig14_taylor(taylor_ratios: xr.Dataset) -> Figure:
    """Figure 14: first over second order by distance, encoder and decoder, at several times."""
    figure, axes = new(1, 2, height=2.6)
    looks, colors = taylor_ratios["look"].values, (BLACK, SKY, ORANGE, BLUE, RED)
    for panel, kind in zip(axes[0], taylor_ratios["map"].values.tolist(), strict=True):
        for look, pass_ in enumerate(looks):
            ratios = taylor_ratios.isel(look=look)
            x = (ratios["distance"] / ratios["distance"].mean("bin")).mean("network").values
            logs = np.log10(ratios["ratio"].sel(map=kind).transpose("bin", "network").values)
            middle, half = logs.mean(axis=1), half_width(logs)
            words = "before training" if pass_ == 0 else f"after {pass_} pass{'es' if pass_ > 1 else ''}"
            panel.semilogy(x, 10**middle, color=colors[look], marker=".", label=words)
            band(panel, x, 10 ** (middle - half), 10 ** (middle + half), color=colors[look])
        panel.axhline(1, color=BLACK, linewidth=0.6)
        plain_numbers(panel.yaxis)
        panel.set(title=f"{kind}", xlabel="representational distance over its mean", ylabel="first over second order")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    label_panels(axes)
    progress = ", ".join(f"{x:.3g}" for x in taylor_ratios["progress"].values)
    return describe(
        figure,
        title="Figure 14: first over second order of the Taylor expansions",
        caption=f"Median ratio in {taylor_ratios.sizes['bin']} bins of equal count, {int(taylor_ratios['pairs'])} "
        f"random pairs of images ({taylor_ratios['source'].item()}) per network, mean and 95 % interval over "
        f"{taylor_ratios.sizes['network']} networks; {taylor_ratios['nonlinearity'].item()}. Second order from the "
        f"curvature between the two images, which sees kinks. Rate times steps at the times shown: {progress}; the "
        "paper's 1 and 30 epochs are 4.7 and 141.",
        alt="Encoder: curves are nearly flat at all times, rising a little early and falling a little late. Decoder: "
        "flat before and early in training, clearly falling with distance after it.",
    )
