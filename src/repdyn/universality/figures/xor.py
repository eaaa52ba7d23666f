"""Figures of the XOR task: distances between representations against the theory (Figures 6 and 16)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import BLUE, ORANGE, Drawn, color_bar, color_map, figure, new
from repdyn.universality.methods.selection import MERGED, learned

POINTS = ("00", "10", "01", "11")
BY_TARGET = (0, 3, 1, 2)  # pairs of equal target side by side: merged pairs are dark blocks on the diagonal
COLORS = (BLUE, ORANGE)  # of targets 0 and 1
PANELS = {
    "low": "20 layers, small",
    "intermediate": "20 layers, middle",
    "high": "20 layers, large",
    "two_layers": "2 layers, small",
}
PUBLISHED = ("2 pairs merge", "as theory", "none merges", "1 pair merges")  # of Figure 6, Section 4.4
PUBLISHED_ADAM = ("as theory", "as theory", "as theory", "not as theory")  # of Figure 16
MATRICES = (
    "Left: the task. Right: distances between the representations of the four points in the hidden layer halfway, "
    "points with equal targets side by side (the color of their names is the target's), so that a merged pair is a "
    "dark block on the diagonal. Theory and network of a column share the color scale below them; the numbers are "
    "distances, means over the networks that have learned. Theory: (10) with each network's start and the ratio of "
    "rates fitted to two points. Below each column: what the paper's text says of its figure, which prints no "
    "numbers. The table of settings compares Table 2 of the paper with what is used here."
)
MATRICES_ALT = "Matrices of the distances between four points, theory above network, one column per kind of network."


@figure(title="Figure 6: distances of the points of XOR after training", caption=MATRICES, alt=MATRICES_ALT)
def fig6_xor(xor_structure: xr.Dataset) -> Drawn:
    """Distances after training by gradient descent."""
    return _matrices(xor_structure, PANELS, PUBLISHED)


@figure(title="Figure 16: distances of the points of XOR after training with Adam", caption=MATRICES, alt=MATRICES_ALT)
def fig16_xor_adam(xor_structure: xr.Dataset) -> Drawn:
    """Distances after training with Adam."""
    return _matrices(xor_structure, {f"adam_{run}": words for run, words in PANELS.items()}, PUBLISHED_ADAM)


def _matrices(data: xr.Dataset, runs: dict[str, str], published: tuple[str, ...]) -> Drawn:
    fig, axes = new(2, 5, height=1.95)
    _task(axes[0, 0])
    axes[1, 0].axis("off")
    axes[1, 0].legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", handletextpad=0.2)
    for column, (run, words) in enumerate(runs.items(), start=1):
        nets = learned(data, run)
        both = [
            nets[name].mean("trial").values if nets.sizes["trial"] else np.zeros((4, 4))
            for name in ("theory", "distance")
        ]
        top = float(np.nanmax(both)) or 1.0
        for panel, values in zip(axes[:, column], both, strict=True):
            _matrix(panel, values[np.ix_(BY_TARGET, BY_TARGET)], top)
        color_bar(fig, axes[1, column].collections[0], ax=axes[:, column], location="bottom", shrink=0.85, pad=0.03)
        axes[0, column].set_title(f"{words}\ngain {float(nets['gain']):g}")
        axes[1, column].set_xlabel(f"paper: {published[column - 1]}", fontsize=7.5)
    for panel, side in zip(axes[:, 1], ("theory", "network"), strict=True):
        panel.set_ylabel(side)
    return Drawn(
        fig,
        {
            "networks of each kind": data.sizes["trial"],
            "networks that have learned, by column": [learned(data, run).sizes["trial"] for run in runs],
            f"pairs of equal target closer than {MERGED:g} of the others (median), by column": _merged(data, runs),
            "ratio of rates fitted to two points": float(data["rho"]),
            "units per layer": int(data["units"].max()),
        },
    )


def _merged(data: xr.Dataset, runs: Iterable[str]) -> list[float]:
    """How many pairs of equal target the networks of each run merge, by the median of those that have learned."""
    medians = [learned(data, run)["merged"].median("trial").values for run in runs]
    return [float((pairs < MERGED).sum()) if np.isfinite(pairs).all() else np.nan for pairs in medians]


def _task(panel: Axes) -> None:
    x, y = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    for target, color, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        chosen = (x != y) == bool(target)
        panel.scatter(x[chosen], y[chosen], color=color, marker=marker, s=36, label=f"target {target}", clip_on=False)
    panel.set(xticks=[0, 1], yticks=[0, 1], xlabel="input 1", ylabel="input 2", aspect="equal", title="XOR")
    panel.set(xlim=(-0.35, 1.35), ylim=(-0.35, 1.35))


def _matrix(panel: Axes, values: np.ndarray, top: float) -> None:
    """Vector cells with their numbers; white lines part the targets."""
    panel.pcolormesh(values, cmap=color_map("cividis"), vmin=0, vmax=top)
    names = [POINTS[point] for point in BY_TARGET]
    panel.set_xticks(np.arange(4) + 0.5, names)
    panel.set_yticks(np.arange(4) + 0.5, names)
    panel.set(aspect="equal", ylim=(4, 0))
    panel.tick_params(length=0)
    for axis in (panel.xaxis, panel.yaxis):
        for place, label in enumerate(axis.get_ticklabels()):
            label.set_color(COLORS[place // 2])
    panel.axhline(2, color="w", linewidth=1.5)
    panel.axvline(2, color="w", linewidth=1.5)
    for i, j in np.ndindex(4, 4):
        if i != j:
            dark = values[i, j] < 0.55 * top
            words = _short(float(values[i, j]))
            panel.text(j + 0.5, i + 0.5, words, ha="center", va="center", fontsize=7.5, color="w" if dark else "k")


def _short(value: float) -> str:
    """Two significant digits in little room."""
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}".lstrip("0")
