"""Figures of the odd point, of the neurons' activity and of Theorem 14; numbers come from the datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, band, describe, label_panels, legend_below, new
from repdyn.base.wording import number, outcome, span
from repdyn.bn_decomposed.theory.odd_cluster import FEWEST_WITH_ODD_POINT

SHADES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"), (PURPLE, ":", "D"))
THIN = (0, (1, 2))
RECENTERING = (("without", "without recentering", RED, "-"), ("with", "with recentering", BLUE, "--"))
GRAY = "#666666"  # what the paper says
TOUCHING = 0.2  # in the logarithm of batch sizes: labels closer than this touch
RIGHT = 10.0  # degrees from 90: nearly a right angle
APART = 1.0  # degrees between points that are not one
WEAK = 0.1  # of a neuron's largest response


def fig3_odd_point(odd_point: xr.Dataset) -> Figure:
    """Figure 3: one cluster and one odd point; how they form with depth, at finite and infinite width."""
    figure, axes = new(2, 2, height=2.75)
    n = int(odd_point["batch"][-1])
    _projection(axes[0, 0], odd_point, n)
    _angles_of_last_layer(axes[0, 1], odd_point)
    batches = _shown_batches(odd_point["batch"].values)
    shown = odd_point.sel(batch=batches)
    _with_depth(axes[1, 0], shown, "second_to_first", shown["resting_ratio"])
    ratios = _of_images(odd_point, "second_to_first")
    shrinks = ratios.isel(layer=0) - ratios.isel(layer=-1)
    axes[1, 0].set_title(
        outcome(
            shrinks, "its norm outgrows the others", "its norm does not outgrow all others", "norm of the odd point"
        )
    )
    axes[1, 0].set_ylabel("2nd largest over largest norm")
    _with_depth(axes[1, 1], shown, "intra_angle", shown["leading_width"].where(shown["resting_ratio"].notnull()))
    odd = span(_of_images(odd_point, "odd_angle").isel(layer=-1), ".0f")
    axes[1, 1].set_title(f"the others end at {_widths_of_cluster(odd_point)}$/n$ degrees")
    axes[1, 1].set_ylabel("angle in the cluster (degree)")
    axes[1, 1].set_yticks([5, 10, 20, 40, 80], ["5", "10", "20", "40", "80"])
    axes[1, 1].minorticks_off()
    figure.legend(*axes[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    label_panels(axes)
    return describe(
        figure,
        title=f"Figure 3: one odd point ends at {_right_angle(odd_point)} to the others, which {_apart(odd_point)}",
        caption=_caption_of_figure_3(odd_point, batches, n),
        alt="A batch in the plane with the point of largest norm marked; angles of pairs with this point and of the "
        "others against batch size; ratio of norms and angle in the cluster against depth, one line per batch size. "
        f"The odd point ends at {odd} degrees to the others.",
    )


def _of_images(odd_point: xr.Dataset, name: str) -> xr.DataArray:
    """Medians over the draws by layer, of the batches of images in which an odd point can rest."""
    large = odd_point["batch"].values >= FEWEST_WITH_ODD_POINT
    return odd_point[name].sel(source="images").isel(batch=np.flatnonzero(large)).median("seed")


def _right_angle(odd_point: xr.Dataset) -> str:
    """At what angle to the others the odd point ends."""
    off = np.abs(_of_images(odd_point, "odd_angle").isel(layer=-1) - 90)
    return outcome(RIGHT - off, "nearly a right angle", "other than a right angle", "an unknown angle")


def _apart(odd_point: xr.Dataset) -> str:
    """Whether the other points stay apart at every batch size."""
    width = _of_images(odd_point, "intra_angle").isel(layer=-1)
    return outcome(width - APART, "do not become one point", "become one point at some size", "end unknown")


def _widths_of_cluster(odd_point: xr.Dataset) -> str:
    """Median angles between the other points after the last layer, in units of a degree over the batch size."""
    last = _of_images(odd_point, "intra_angle").isel(layer=-1)
    return span(last * last["batch"], ".0f")


def _caption_of_figure_3(odd_point: xr.Dataset, batches: np.ndarray, n: int) -> str:
    last = int(odd_point["layer"][-1])
    return (
        f"Recentering and ReLU without rescaling, batches of images, width {int(odd_point['width'])}. (a) "
        f"Random projection of one batch of {n} after layer {last}, the point of largest norm in orange-red; black "
        "cross: the origin. (b) Angles of the pairs of one batch per size $n$ after that layer: medians and 5-95 % "
        "ranges of the pairs with this point (orange-red) and of the others (blue); pale: before that layer. Solid "
        "black: fixed point of infinite width; shaded: sizes at which no odd point can rest. Gray dashes: the paper's "
        'words, an "orthogonal direction" and "collapse to one point". (c) Second largest over largest norm and (d) '
        "median angle between the other points against depth. Solid lines and bands: median and range of "
        f"{odd_point.sizes['seed']} draws of batch and weights; dashed lines: the same batches at infinite width, "
        "median; dotted: in (c) the fixed point of infinite width, in (d) $540/n$ degrees, where an odd point can "
        f"rest. Of the batches of {_listed(odd_point['batch'].values)} points (c) and (d) show those of "
        f"{_listed(batches)}. Nearly a right angle: within {RIGHT:g} degrees; one point: within "
        f"{APART:g}. The paper states no data, batch size, width or depth."
    )


def _shown_batches(batches: np.ndarray) -> np.ndarray:
    """The three largest batches and, before them, the largest in which no odd point can rest, if there is one."""
    small = batches[batches < FEWEST_WITH_ODD_POINT][-1:]
    return np.concatenate([small, batches[batches >= FEWEST_WITH_ODD_POINT][-3:]])


def _listed(values: np.ndarray) -> str:
    return ", ".join(str(value) for value in values.tolist())


def _projection(panel: Axes, odd_point: xr.Dataset, n: int) -> None:
    mine = odd_point.isel(point=np.flatnonzero(odd_point["point_batch"] == n))
    x, y = mine["projection"].values
    odd = mine["is_odd"].values.astype(bool)
    across, up = float(np.sign(x[odd][0])), float(np.sign(y[odd][0]))
    panel.scatter(x[~odd], y[~odd], s=10, color=BLUE, alpha=0.6, linewidths=0)
    panel.scatter(x[odd], y[odd], s=30, color=RED, marker="D")
    panel.plot(0, 0, "+", color=BLACK, markersize=9, markeredgewidth=0.7)
    panel.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    panel.set_aspect("equal")
    panel.set_title(f"a batch of {n} points")
    panel.set_xlabel("random direction 1")
    panel.set_ylabel("random direction 2")
    at, beside = (x[odd][0], y[odd][0]), (0, 6 if up < 0 else -6)
    place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "bottom" if up < 0 else "top"}
    panel.annotate("odd point", at, beside, **place, color=RED, fontsize=7.5)
    _enlarged(panel, x[~odd], y[~odd], (0.6 if across < 0 else 0.06, 0.06 if up > 0 else 0.58))


def _enlarged(panel: Axes, x: np.ndarray, y: np.ndarray, corner: tuple[float, float]) -> None:
    """The other points and the origin in a window of their own, in the quarter opposite to the odd point."""
    side = 0.34
    inset = panel.inset_axes((*corner, side, side))
    inset.scatter(x, y, s=5, color=BLUE, alpha=0.6, linewidths=0)
    inset.plot(0, 0, "+", color=BLACK, markersize=7, markeredgewidth=0.7)
    half = 1.2 * max(np.abs(x).max(), np.abs(y).max())
    inset.set(xlim=(-half, half), ylim=(-half, half), xticks=(), yticks=())
    for spine in inset.spines.values():
        spine.set(visible=True, linewidth=0.6)
    inset.set_title(
        f"{x.size} others, x {side * panel.get_xlim()[1] / half:.0f}",
        fontsize=7.5,
        fontweight="normal",
        color=BLUE,
        pad=2,
    )


def _angles_of_last_layer(panel: Axes, odd_point: xr.Dataset) -> None:
    n = odd_point["batch"].values
    rests = np.isfinite(odd_point["resting_intra_angle"].values)
    panel.axvspan(n.min() * 0.8, FEWEST_WITH_ODD_POINT - 0.5, color=BLACK, alpha=0.08, linewidth=0)
    for level, words, place in ((90, "paper: 90°", "bottom"), (0, "paper: one point, 0°", "top")):
        panel.axhline(level, color=GRAY, linewidth=1, linestyle="--", zorder=1)
        up = 3 if place == "bottom" else -3
        panel.annotate(
            words, (n.min() * 0.85, level), (0, up), textcoords="offset points", color=GRAY, size=7.5, va=place
        )
    panel.plot(n[rests], odd_point["resting_intra_angle"].values[rests], color=BLACK, linewidth=0.9)
    for odd, color, marker, words in ((1, RED, "D", "with the odd point"), (0, BLUE, "o", "others")):
        mine = odd_point["pair_batch"].where(odd_point["with_odd"] == odd).values
        sizes = n[np.isin(n, mine)]
        for name, shift, alpha in (("before", 0.94, 0.35), ("after", 1.06, 1.0)):
            angles = [np.quantile(odd_point[name].values[mine == size], (0.05, 0.5, 0.95)) for size in sizes]
            low, middle, high = np.transpose(angles)
            panel.errorbar(
                shift * sizes, middle, (middle - low, high - middle), fmt=marker, color=color, alpha=alpha,
                elinewidth=1.2, label=words if name == "after" else None,
            )  # fmt: skip
    panel.set(xscale="log", xlim=(n.min() * 0.8, n.max() * 1.25), ylim=(-14, 104), yticks=(0, 30, 60, 90))
    apart = np.append(True, np.diff(np.log(n)) > TOUCHING)
    panel.set_xticks(n, [f"{size}" if written else "" for size, written in zip(n, apart, strict=True)])
    panel.minorticks_off()
    many = odd_point["pair_batch"].values >= FEWEST_WITH_ODD_POINT
    angles_of_odd = odd_point["after"].values[many & (odd_point["with_odd"].values == 1)]
    panel.set_title(f"the odd point at {number(np.median(angles_of_odd), '.0f')} degrees")
    panel.set_xlabel("data points in the batch $n$")
    panel.set_ylabel("angle of a pair (degree)")
    legend_below(panel, columns=2)


def _with_depth(panel: Axes, odd_point: xr.Dataset, name: str, rest: xr.DataArray) -> None:
    images = odd_point.sel(source="images")
    for (color, _, _), n in zip(SHADES, odd_point["batch"].values, strict=False):
        draws, limit = images[name].sel(batch=n), images[f"limit_{name}"].sel(batch=n)
        panel.plot(draws["layer"], draws.median("seed"), color=color, label=f"$n$ = {n}")
        band(panel, draws["layer"].values, draws.min("seed").values, draws.max("seed").values, color=color)
        panel.plot(limit["limit_layer"], limit.median("seed"), color=color, linestyle="--", linewidth=1)
        if np.isfinite(level := float(rest.sel(batch=n))):
            panel.axhline(level, color=color, linewidth=0.9, linestyle=THIN)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("layer")


def fig6_activity(activity: xr.Dataset) -> Figure:
    """Figure 6: to how many inputs one neuron responds, and over all neurons, without and with recentering."""
    figure, axes = new(1, 3, height=2.7)
    for panel, (name, words, color, _) in zip(axes[0], RECENTERING, strict=False):
        _responses(panel, activity["response"].sel(recentering=name).values, color)
        panel.set_title(words)
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 0].set(ylabel="share of inputs", ylim=(0, 0.8), yticks=(0, 0.2, 0.4, 0.6, 0.8))
    _active_shares(axes[0, 2], activity)
    label_panels(axes)
    n, width, depth = activity.sizes["point"], activity.sizes["neuron"], int(activity["depth"])
    return describe(
        figure,
        title=f"Figure 6: {_evenness(activity)}",
        caption=f"Batches of {n} images after {depth} layers of width {width} with ReLU and rescaling, by the root "
        "mean square where the mean is not subtracted. (a) Responses of the neuron that is active for the most inputs, "
        "without recentering; (b) of the median neuron, with it. Gray: below a tenth of the neuron's largest. (c) All "
        f"neurons of {activity.sizes['seed']} draws of batch and weights, sorted by the share of inputs that each is "
        f"active for, in bins of {float(activity['bin'][1] - activity['bin'][0]):g}; the vertical axis is logarithmic. "
        "Filled: measured; lines: predicted at the fixed points of infinite width; shares of the middle nine in ten "
        f"neurons: {_middle_shares(activity)}. The paper shows (a) and (b), says "
        'of (a) "significant response for a large number of inputs", of (b) "negligible for most of the inputs", and '
        "states no numbers, data, batch, width or depth.",
        alt="Histograms of one neuron's responses without and with recentering, and of the share of inputs that each "
        f"neuron is active for; {_evenness(activity)}.",
    )


def _evenness(activity: xr.Dataset) -> str:
    """Whether the shares of inputs of the middle nine in ten neurons lie closer together with recentering."""
    low, high = activity["active"].quantile((0.05, 0.95), ("seed", "neuron"))
    width = high - low
    return outcome(
        width.sel(recentering="without") - width.sel(recentering="with"),
        "recentering evens out how many inputs neurons are active for",
        "recentering does not even out how many inputs neurons are active for",
        "how many inputs neurons are active for is not known",
    )


def _middle_shares(activity: xr.Dataset) -> str:
    """From the 5 % to the 95 % quantile over all neurons, without and with recentering."""
    ends = activity["active"].quantile((0.05, 0.95), ("seed", "neuron"))
    return ", ".join(f"{span(ends.sel(recentering=name), '.0%')} {words}" for name, words, *_ in RECENTERING)


def _responses(panel: Axes, response: np.ndarray, color: str) -> None:
    weights = np.full(response.size, 1 / response.size)
    panel.axvspan(0, WEAK, color=BLACK, alpha=0.12, linewidth=0)
    panel.hist(response, 25, range=(0, 1), weights=weights, color=color)
    panel.text(
        0.97, 0.95, f"zero for {np.mean(response == 0):.0%} of inputs,\nbelow {WEAK:g} for "
        f"{np.mean(response <= WEAK):.0%}", transform=panel.transAxes, ha="right", va="top", fontsize=7.5,
    )  # fmt: skip
    panel.set(xlabel="response / its largest", xlim=(0, 1))


def _active_shares(panel: Axes, activity: xr.Dataset) -> None:
    edges = np.append(activity["bin"].values, 1)
    for name, words, color, dash in RECENTERING:
        draws = activity["active"].sel(recentering=name).values
        share = np.histogram(draws, edges)[0] / draws.size
        panel.stairs(share, edges, fill=True, color=color, alpha=0.35)
        panel.stairs(activity["expected"].sel(recentering=name), edges, color=color, linestyle=dash, label=words)
    panel.set(yscale="log", xlim=(0, 1), ylim=(1e-3, 1), title="all neurons")
    panel.set_yticks([0.001, 0.01, 0.1, 1], ["0.001", "0.01", "0.1", "1"])
    panel.minorticks_off()
    panel.set_xlabel("share of inputs it is active for")
    panel.set_ylabel("share of neurons")
    legend_below(panel)


def _widths(contraction: xr.Dataset) -> str:
    """Whether a layer widens every narrow cluster and narrows every widest one, by its mean factors."""
    factor, narrow = contraction["factor"].mean("draw"), contraction["spread"] <= 1
    small = outcome(factor.where(narrow) - 1, "widens", "does not widen", "may widen")
    large = outcome(1 - factor.isel(spread=-1), "narrows", "does not narrow", "may narrow")
    return f"{small} clusters of its sizes, {large} the widest"


def thm14_contraction(contraction: xr.Dataset, fixed_point: xr.Dataset) -> Figure:
    """Theorem 14: narrow clusters widen, wide ones contract; where they come to rest."""
    figure, axes = new(1, 2, height=3.4)
    panel = axes[0, 0]
    for (color, dash, marker), n in zip(SHADES, contraction["batch"].values, strict=False):
        batch = contraction.sel(batch=n)
        factor = batch["factor"].mean("draw")
        panel.plot(batch["spread"], factor, color=color, linestyle=dash, label=f"$n$ = {n}")
        rest = float(batch["resting_spread"])
        level = np.interp(np.log(rest), np.log(batch["spread"]), factor)
        panel.plot(rest, level, color=color, marker=marker, markersize=5)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.set_xscale("log")
    panel.axvspan(0.8 * float(contraction["spread"][0]), 1, color=BLACK, alpha=0.08, linewidth=0)
    panel.set_xlim(0.8 * float(contraction["spread"][0]), 1.2 * float(contraction["spread"][-1]))
    panel.set_title("one layer from Definition 12")
    panel.set_xlabel(r"size of the cluster $\times\ n^2$")
    panel.set_ylabel("factor of its mean square size")
    legend_below(panel, columns=2)
    _fixed_points(axes[0, 1], fixed_point)
    label_panels(axes)
    return describe(
        figure,
        title=f"Theorem 14: a layer {_widths(contraction)}",
        caption="(a) Expected mean square distance within the cluster after a layer over before, above 1 where the "
        r"cluster widens, at the $\sigma$ that keeps $\|x_1\|$, against the root mean square distance from the mean in "
        f"units of $1/n^2$; mean of {contraction.sizes['draw']} clusters, whose factors differ by up to "
        f"{number(_differences(contraction['factor']), '.1%')}. Markers: size of the cluster at the fixed point of "
        "infinite width. Shaded: the sizes of Theorem 14, "
        "at which the cluster widens. (b) Angles at rest at infinite width against the batch size: lines from the "
        r"reduced map, circles from iterating the $n \times n$ map from an odd start; below 7 points (shaded) no odd "
        "point rests.",
        alt="Left: factor of a cluster's mean square size against its size, one line per batch size, with a line at "
        "one. Right: angles at rest of the cluster and of the odd point against batch size, with a line of 540/n.",
    )


def _differences(factor: xr.DataArray) -> float:
    """Largest less least over the draws, over their mean, at most."""
    return float(((factor.max("draw") - factor.min("draw")) / factor.mean("draw")).max())


def _fixed_points(panel: Axes, fixed_point: xr.Dataset) -> None:
    n = fixed_point["batch"].values
    many = n >= FEWEST_WITH_ODD_POINT
    panel.axvspan(n.min() * 0.9, 6.5, color=BLACK, alpha=0.08, linewidth=0)
    panel.plot(n, fixed_point["odd_angle"], color=RED, label="odd point to cluster")
    panel.plot(n, fixed_point["simplex_angle"], color=GREEN, linestyle="--", label="equal points")
    panel.plot(n, fixed_point["odd_intra_angle"], color=BLUE, linestyle="-.", label="within the cluster")
    panel.plot(n[many], 540 / n[many], color=BLACK, linestyle=THIN, linewidth=1, label="$540/n$")
    panel.plot(n, fixed_point["iterated_intra_angle"], "o", color=BLACK, markerfacecolor="none", label="iterated")
    panel.plot(n, fixed_point["iterated_odd_angle"], "o", color=BLACK, markerfacecolor="none")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks([3, 7, 20, 50, 200], ["3", "7", "20", "50", "200"])
    panel.set_yticks([3, 10, 30, 90], ["3", "10", "30", "90"])
    panel.minorticks_off()
    panel.set_xlim(n.min() * 0.9, n.max() * 1.1)
    panel.set_ylim(bottom=2)
    panel.set_title("angles at rest")
    panel.set_xlabel("data points in the batch $n$")
    panel.set_ylabel("angle (degree)")
    legend_below(panel, columns=2)
