"""Figures of the odd point, of the neurons' activity and of Theorem 14; numbers come from the datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.bn_decomposed.theory.odd_cluster import FEWEST_WITH_ODD_POINT
from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Drawn,
    band,
    figure,
    label_panels,
    legend_below,
    new,
)

SHADES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"), (PURPLE, ":", "D"))
THIN = (0, (1, 2))
RECENTERING = (("without", "without recentering", RED, "-"), ("with", "with recentering", BLUE, "--"))
GRAY = "#666666"  # what the paper says
TOUCHING = 0.2  # in the logarithm of batch sizes: labels closer than this touch
WEAK = 0.1  # of a neuron's largest response


@figure(
    title="Figure 3: the point of largest norm and the others, by layer and batch size",
    caption="Recentering and ReLU without rescaling, batches of images. (a) Random projection of one batch after the "
    "last layer, the point of largest norm in orange-red; black cross: the origin. (b) Angles of the pairs of one "
    "batch per size $n$ after that layer: medians and 5-95 % ranges of the pairs with this point (orange-red) and of "
    "the others (blue); pale: before that layer. Solid black: fixed point of infinite width; shaded: sizes at which no "
    'odd point can rest. Gray dashes: the paper\'s words, an "orthogonal direction" and "collapse to one point". (c) '
    "Second largest over largest norm and (d) median angle between the other points against depth. Solid lines and "
    "bands: median and range of the draws of batch and weights; dashed lines: the same batches at infinite width, "
    "median; dotted: in (c) the fixed point of infinite width, in (d) $540/n$ degrees, where an odd point can rest. "
    "The paper states no data, batch size, width or depth.",
    alt="A batch in the plane with the point of largest norm marked; angles of pairs with this point and of the "
    "others against batch size; ratio of norms and angle in the cluster against depth, one line per batch size.",
)
def fig3_odd_point(odd_point: xr.Dataset) -> Drawn:
    """Figure 3: one cluster and one odd point; how they form with depth, at finite and infinite width."""
    drawn, axes = new(2, 2, height=2.75)
    n = int(odd_point["batch"][-1])
    _projection(axes[0, 0], odd_point, n)
    _angles_of_last_layer(axes[0, 1], odd_point)
    batches = _shown_batches(odd_point["batch"].values)
    shown = odd_point.sel(batch=batches)
    _with_depth(axes[1, 0], shown, "second_to_first", shown["resting_ratio"])
    axes[1, 0].set(title="norm of the odd point", ylabel="2nd largest over largest norm")
    _with_depth(axes[1, 1], shown, "intra_angle", shown["leading_width"].where(shown["resting_ratio"].notnull()))
    axes[1, 1].set(title="width of the cluster", ylabel="angle in the cluster (degree)")
    axes[1, 1].set_yticks([5, 10, 20, 40, 80], ["5", "10", "20", "40", "80"])
    axes[1, 1].minorticks_off()
    drawn.legend(*axes[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    label_panels(axes)
    last = odd_point.sel(source="images").isel(layer=-1).median("seed")
    facts = {
        "width": int(odd_point["width"]),
        "layers": int(odd_point["layer"][-1]),
        "draws": odd_point.sizes["seed"],
        "batch sizes": odd_point["batch"],
        "angle of the odd point to the others by batch size, median (degree)": last["odd_angle"],
        "angle in the cluster times batch size, median (degree)": last["intra_angle"] * last["batch"],
    }
    return Drawn(drawn, facts)


def _shown_batches(batches: np.ndarray) -> np.ndarray:
    """The three largest batches and, before them, the largest in which no odd point can rest, if there is one."""
    small = batches[batches < FEWEST_WITH_ODD_POINT][-1:]
    return np.concatenate([small, batches[batches >= FEWEST_WITH_ODD_POINT][-3:]])


def _projection(panel: Axes, odd_point: xr.Dataset, n: int) -> None:
    points = odd_point.isel(point=np.flatnonzero(odd_point["point_batch"] == n))
    x, y = points["projection"].values
    odd = points["is_odd"].values.astype(bool)
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
    """The other points and the origin in an enlarged inset, in the quarter opposite to the odd point."""
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
    for level, label, place in ((90, "paper: 90°", "bottom"), (0, "paper: one point, 0°", "top")):
        panel.axhline(level, color=GRAY, linewidth=1, linestyle="--", zorder=1)
        up = 3 if place == "bottom" else -3
        panel.annotate(
            label, (n.min() * 0.85, level), (0, up), textcoords="offset points", color=GRAY, size=7.5, va=place
        )
    resting = odd_point["resting_intra_angle"].values[rests]
    panel.plot(n[rests], resting, color=BLACK, linewidth=0.9, label="at infinite width")
    for odd, color, marker, label in ((1, RED, "D", "with the odd point"), (0, BLUE, "o", "others")):
        batch_of_pair = odd_point["pair_batch"].where(odd_point["with_odd"] == odd).values
        sizes = n[np.isin(n, batch_of_pair)]
        for name, shift, alpha in (("before", 0.94, 0.35), ("after", 1.06, 1.0)):
            angles = [np.quantile(odd_point[name].values[batch_of_pair == size], (0.05, 0.5, 0.95)) for size in sizes]
            low, middle, high = np.transpose(angles)
            panel.errorbar(
                shift * sizes, middle, (middle - low, high - middle), fmt=marker, color=color, alpha=alpha,
                elinewidth=1.2, label=label if name == "after" else None,
            )  # fmt: skip
    panel.set(xscale="log", xlim=(n.min() * 0.8, n.max() * 1.25), ylim=(-14, 104), yticks=(0, 30, 60, 90))
    apart = np.append(True, np.diff(np.log(n)) > TOUCHING)
    panel.set_xticks(n, [f"{size}" if labeled else "" for size, labeled in zip(n, apart, strict=True)])
    panel.minorticks_off()
    panel.set_title("angles after the last layer")
    panel.set_xlabel("data points in the batch $n$")
    panel.set_ylabel("angle of a pair (degree)")
    legend_below(panel, columns=3)


def _with_depth(panel: Axes, odd_point: xr.Dataset, name: str, rest: xr.DataArray) -> None:
    images = odd_point.sel(source="images")
    for (color, _, _), n in zip(SHADES, odd_point["batch"].values, strict=False):
        draws, limit = images[name].sel(batch=n), images[f"limit_{name}"].sel(batch=n)
        panel.plot(draws["layer"], draws.median("seed"), color=color, label=f"$n$ = {n}")
        band(panel, draws["layer"].values, draws.min("seed").values, draws.max("seed").values, color=color)
        words = f"$n$ = {n}, infinite width"
        panel.plot(limit["limit_layer"], limit.median("seed"), color=color, linestyle="--", linewidth=1, label=words)
        if np.isfinite(level := float(rest.sel(batch=n))):
            panel.axhline(level, color=color, linewidth=0.9, linestyle=THIN)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("layer")


@figure(
    title="Figure 6: to how many inputs neurons respond, without and with recentering",
    caption="Batches of images after deep layers with ReLU and rescaling, by the root mean square where the mean is "
    "not subtracted. (a) Responses of the neuron that is active for the most inputs, without recentering; (b) of the "
    "median neuron, with it. Gray: below a tenth of the neuron's largest. (c) All neurons of all draws of batch and "
    "weights, sorted by the share of inputs that each is active for; the vertical axis is logarithmic. Filled: "
    "measured; lines: predicted at the fixed points of infinite width. The paper shows (a) and (b), says of (a) "
    '"significant response for a large number of inputs", of (b) "negligible for most of the inputs", and states no '
    "numbers, data, batch, width or depth.",
    alt="Histograms of one neuron's responses without and with recentering, and of the share of inputs that each "
    "neuron is active for.",
)
def fig6_activity(activity: xr.Dataset) -> Drawn:
    """Figure 6: to how many inputs one neuron responds, and over all neurons, without and with recentering."""
    drawn, axes = new(1, 3, height=2.7)
    for panel, (name, title, color, _) in zip(axes[0], RECENTERING, strict=False):
        _responses(panel, activity["response"].sel(recentering=name).values, color)
        panel.set_title(title)
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 0].set(ylabel="share of inputs", ylim=(0, 0.8), yticks=(0, 0.2, 0.4, 0.6, 0.8))
    _active_shares(axes[0, 2], activity)
    label_panels(axes)
    facts: dict[str, object] = {
        "images in a batch": activity.sizes["point"],
        "layers": int(activity["depth"]),
        "width": activity.sizes["neuron"],
        "draws": activity.sizes["seed"],
    }
    ends = activity["active"].quantile((0.05, 0.95), ("seed", "neuron"))
    for name, label, *_ in RECENTERING:
        facts[f"share of inputs a neuron is active for, 5 % and 95 % quantile, {label}"] = ends.sel(recentering=name)
    return Drawn(drawn, facts)


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
    for name, label, color, dash in RECENTERING:
        draws = activity["active"].sel(recentering=name).values
        share = np.histogram(draws, edges)[0] / draws.size
        panel.stairs(share, edges, fill=True, color=color, alpha=0.35)
        panel.stairs(activity["expected"].sel(recentering=name), edges, color=color, linestyle=dash, label=label)
    panel.set(yscale="log", xlim=(0, 1), ylim=(1e-3, 1), title="all neurons")
    panel.set_yticks([0.001, 0.01, 0.1, 1], ["0.001", "0.01", "0.1", "1"])
    panel.minorticks_off()
    panel.set_xlabel("share of inputs it is active for")
    panel.set_ylabel("share of neurons")
    legend_below(panel)


@figure(
    title="Theorem 14: the factor of one layer on the size of a cluster, and angles at rest",
    caption="(a) Expected mean square distance within the cluster after a layer over before, above 1 where the "
    r"cluster widens, at the $\sigma$ that keeps $\|x_1\|$, against the root mean square distance from the mean in "
    "units of $1/n^2$; mean over random clusters. Markers: size of the cluster at the fixed point of infinite width. "
    "Shaded: the sizes of Theorem 14. (b) Angles at rest at infinite width against the batch size: lines from the "
    r"reduced map, circles from iterating the $n \times n$ map from an odd start; below 7 points (shaded) no odd "
    "point rests.",
    alt="Left: factor of a cluster's mean square size against its size, one line per batch size, with a line at "
    "one. Right: angles at rest of the cluster and of the odd point against batch size, with a line of 540/n.",
)
def thm14_contraction(contraction: xr.Dataset, fixed_point: xr.Dataset) -> Drawn:
    """Theorem 14: what a layer does to clusters of all sizes, and where they come to rest."""
    drawn, axes = new(1, 2, height=3.4)
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
    factor = contraction["factor"]
    differences = (factor.max("draw") - factor.min("draw")) / factor.mean("draw")
    facts = {
        "clusters per batch size": contraction.sizes["draw"],
        "largest relative difference between factors of clusters": differences.max(),
        "batch sizes": contraction["batch"],
        "factor of the narrowest clusters by batch size": factor.mean("draw").isel(spread=0),
        "factor of the widest clusters by batch size": factor.mean("draw").isel(spread=-1),
    }
    return Drawn(drawn, facts)


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
