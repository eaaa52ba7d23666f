"""Pairs of points through training, with the fitted two-point theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.diagnostics.figures.shared import check_measured, run_facts, time_axis, time_of
from repdyn.plotting.figures import BLACK, BLUE, GREEN, RED, Drawn, figure, label_panels, new, style

CURVES = {"h": ("representations, h", BLUE), "y": ("outputs, y", RED), "w": ("alignment, w", GREEN)}
WORDS = {
    "title": "Pairs of points through training and the fitted two-point theory",
    "caption": "Dots: squared distance h of representations in one layer, squared distance y of outputs and alignment "
    "$w = y - dy \\cdot (y_2 - y_1)$ of pairs of the first seed, from the best to the worst explained one; dashed: "
    "solution of the two-point theory from the measured start with two fitted rates per pair. Right: $R^2$ of all "
    "pairs and seeds, bars: medians; 1: the theory is exact, 0 or less: no better than the mean of the points.",
    "alt": "Dots of distances against training with a dashed curve of the fitted theory, and what it explains.",
}


@figure(**WORDS)
def draw_pairs(recorded: xr.Dataset, fitted: xr.Dataset, most: int = 3) -> Drawn:
    """Distances h, y and alignment w of pairs through training, with what the fitted effective theory explains.

    Args:
        recorded: dataset of `Recorder.dataset`.
        fitted: dataset of `effective_theory.fit`.
        most: pairs to show, from the best to the worst explained one.
    """
    check_measured(fitted, ("explained",))
    time = time_of(recorded)
    first = fitted.isel(seed=0) if "seed" in fitted.dims else fitted
    pairs = _from_best_to_worst(first, most)
    with style():
        drawn, axes = new(len(pairs), 4, height=1.75, sharex="col", gridspec_kw={"width_ratios": [1, 1, 1, 0.8]})
        for row, pair in zip(axes, pairs, strict=True):
            _pair_row(row[:3], first.sel(pair=pair), time)
            row[0].set_ylabel(f"points {pair}")
        for panel, (title, _) in zip(axes[0], CURVES.values(), strict=False):
            panel.set_title(f"{title}\n{panel.get_title()}")
        for panel in axes[:-1, :3].ravel():
            panel.set_xlabel("")
        for panel in axes[:, 3]:
            panel.remove()
        medians = _explained_panel(drawn.add_subplot(axes[0, 0].get_gridspec()[:, 3]), fitted)
        drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        label_panels(axes[0, :3])
    facts = {f"median $R^2$ of {name}": value for name, value in medians.items()}
    return Drawn(drawn, run_facts(recorded) | {"layer": fitted.attrs["layer"]} | facts)


def _from_best_to_worst(fitted: xr.Dataset, most: int) -> list[str]:
    """Names of so many pairs, evenly from the best to the worst explained one."""
    explained = np.nan_to_num(fitted["explained"].mean("curve").values, nan=-np.inf)
    order = np.argsort(-explained, kind="stable")
    ranks = np.linspace(0, order.size - 1, min(most, order.size)).round().astype(int)
    return fitted["pair"].values[order[ranks]].tolist()


def _pair_row(row: np.ndarray, pair: xr.Dataset, time: str) -> None:
    """Measured points and the fitted curve of one pair; the last point is whole at the edge."""
    for panel, (name, (_, color)) in zip(row, CURVES.items(), strict=True):
        dots: dict[str, Any] = {"color": color, "markersize": 3.5, "clip_on": False, "zorder": 3}
        panel.plot(pair[time], pair[f"{name}_measured"], "o", label="network", **dots)
        panel.plot(pair["moment"], pair[f"{name}_theory"], color=BLACK, linestyle="--", label="effective theory")
        panel.set_title(f"$R^2$ = {float(pair['explained'].sel(curve=name)):.2f}")
        time_axis(panel, pair[time], time)


def _explained_panel(panel: Axes, fitted: xr.Dataset) -> dict[str, float]:
    """R^2 of all pairs by curve, moved sideways, with medians, which it returns."""
    medians = {}
    for place, (name, (_, color)) in enumerate(CURVES.items()):
        values = fitted["explained"].sel(curve=name).values.ravel()
        spots = place + 0.25 * np.sin(2.4 * np.arange(values.size))
        panel.plot(spots, values, "o", color=color, markersize=3, markerfacecolor="none", markeredgewidth=0.8)
        medians[name] = float(np.nanmedian(values)) if np.isfinite(values).any() else np.nan
        panel.plot([place - 0.35, place + 0.35], [medians[name]] * 2, color=color, linewidth=2)
    for level in (0, 1):
        panel.axhline(level, color=BLACK, linewidth=0.7, linestyle="-" if level else ":")
    panel.set_xticks(range(len(CURVES)), list(CURVES))
    panel.set_title("$R^2$ of all pairs")
    return medians
