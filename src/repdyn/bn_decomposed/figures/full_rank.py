"""Figures on the rank of ReLU(W X): Theorem 3 against what is measured."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Drawn, figure, label_panels, new

MARKS = {
    "circle": (BLUE, "o", "circle"),
    "Gaussian k=2": (RED, "s", "Gaussian, $k = 2$"),
    "Gaussian k=3": (GREEN, "^", "Gaussian, $k = 3$"),
    "recentered": (ORANGE, "D", "recentered, $k = 2$"),
}


@figure(
    title=r"Theorem 3: rows until $\mathrm{ReLU}(W X)$ has full rank, against its bounds",
    caption=r"(a) Mean number of rows over the draws of the weights for each batch against the bound $n/\gamma$, "
    r"$\gamma$ exact. Batches: equally spaced points on the circle, Gaussian points in $k$ dimensions, and Gaussian "
    "points off the origin after recentering (Corollary 4). (b), (c) Probability that $d$ rows do not give full rank, "
    "on the smallest and the largest circle: simulated (shown down to one draw), the exact tail of $n$ independent "
    "geometric variables by which the proof bounds it, and (7a), (7b), "
    r"which begin at $\alpha = 1$, $d = n/\gamma$; the paper asks for $\alpha > 2$.",
    alt="Left, mean number of rows of each batch against the bound, with the line of equality. Right, on two "
    "circles, the simulated probability, the geometric tail and both closed forms against the number of rows.",
)
def thm3_full_rank(rows_to_full_rank: xr.Dataset) -> Drawn:
    """Theorem 3 against simulation: the mean number of rows, and the tail on the smallest and largest circle."""
    drawn, axes = new(1, 3, height=3.0, width_ratios=(1.25, 1, 1))
    _means(axes[0, 0], rows_to_full_rank)
    circles = rows_to_full_rank.isel(batch=rows_to_full_rank["kind"].values == "circle")
    for panel, end in zip(axes[0, 1:], (0, -1), strict=True):
        _tail(panel, circles.isel(batch=end), rows_to_full_rank["tail_bound"].isel(circle_points=end))
    axes[0, 1].set_ylabel(r"$P(\mathrm{rank} < n)$")
    label_panels(axes)
    (marks, kinds), (lines, forms) = (panel.get_legend_handles_labels() for panel in axes[0, :2])
    handles, labels = marks + lines, kinds + forms
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # a legend fills column by column: marks above, lines below
    drawn.legend([handles[i] for i in order], [labels[i] for i in order], loc="outside upper center", ncols=4)
    rows, draws = rows_to_full_rank["y"], rows_to_full_rank.sizes["draw"]
    ratio = rows.mean("draw") / rows_to_full_rank["bound"]
    facts = {
        "draws of the weights": draws,
        "batches": rows_to_full_rank.sizes["batch"],
        "mean over bound, least and greatest": [float(ratio.min()), float(ratio.max())],
        "largest standard error over mean": (rows.std("draw") / rows.mean("draw")).max() / np.sqrt(draws),
    }
    return Drawn(drawn, facts)


def _means(panel: Axes, rows: xr.Dataset) -> None:
    bound, mean = rows["bound"], rows["y"].mean("draw")
    for kind, (color, marker, label) in MARKS.items():
        chosen = rows["kind"].values == kind
        panel.plot(
            bound[chosen], mean[chosen], linestyle="none", marker=marker, color=color, label=label, markersize=3.5
        )
    ends = np.array([3.0, 1.4 * float(mean.max())])
    panel.plot(ends, ends, color=BLACK, linewidth=0.8)
    panel.annotate("mean = bound", (ends[1], ends[1]), xytext=(3, -3), textcoords="offset points", fontsize=7.5)
    panel.set(xscale="log", yscale="log", xlabel=r"bound $n/\gamma$ (rows)", ylabel="measured mean of $y$ (rows)")
    ticks = [3, 10, 30, 100, 300]
    panel.set_yticks(ticks, labels=[str(y) for y in ticks])
    panel.set_yticks([], minor=True)
    panel.set_ylim(2.5, 1.3 * ends[1])
    panel.set_title("mean")


def _tail(panel: Axes, circle: xr.Dataset, bounds: xr.DataArray) -> None:
    n, gamma, y = int(circle["n"]), float(circle["gamma"]), circle["y"].values
    rows = np.arange(n - 1, int(y.max()))
    panel.plot(rows, [(y > d).mean() for d in rows], color=BLACK, drawstyle="steps-post", label="simulated tail")
    beyond = bounds.sel(alpha=bounds["alpha"] >= 1)
    for form, curve, color, dash in (
        ("geometric", bounds, PURPLE, "-."),
        ("7a", beyond, SKY, "-"),
        ("7b", beyond, SKY, "--"),
    ):
        label = "geometric sum" if form == "geometric" else f"bound ({form})"
        panel.plot(curve["alpha"] * n / gamma, curve.sel(form=form), color=color, linestyle=dash, label=label)
    panel.axvline(2 * n / gamma, color=BLACK, linewidth=0.7, linestyle=(0, (1, 3)))
    panel.set(xscale="log", yscale="log", xlabel="rows $d$", xlim=(n - 1, 3 * n / gamma), ylim=(0.4 / y.size, 2))
    panel.text(1.9 * n / gamma, 0.5 / y.size, r"$\alpha = 2$", fontsize=7.5, ha="right", va="bottom")
    ticks = [d for d in (3, 10, 30, 100, 300, 1000, 3000) if n - 1 <= d <= 3 * n / gamma]
    panel.set_xticks(ticks, labels=[str(d) for d in ticks])
    panel.set_xticks([], minor=True)
    panel.set_title(f"tail, circle, $n$ = {n}")
