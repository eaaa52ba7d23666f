"""Pairs of points through training, with the fitted two-point theory."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, GREEN, RED, describe, label_panels, new, style
from repdyn.diagnostics.figures.shared import time_axis, time_of


def draw_pairs(recorded: xr.Dataset, fitted: xr.Dataset, most: int = 3) -> Figure:
    """Distances h, y and alignment w of pairs through training, with the fitted effective theory.

    Args:
        recorded: dataset of `Recorder.dataset`.
        fitted: dataset of `effective_theory.fit`.
        most: pairs to show, the first ones.
    """
    time = time_of(recorded)
    pairs = fitted["pair"].values[:most]
    first = fitted.isel(seed=0) if "seed" in fitted.dims else fitted
    shown = {"h": "representations, h", "y": "outputs, y", "w": "alignment, w"}
    with style():
        figure, axes = new(len(pairs), 3, height=1.75, sharex=True)
        for row, pair in zip(axes, pairs, strict=True):
            single = first.sel(pair=pair)
            for panel, (name, title), color in zip(row, shown.items(), (BLUE, RED, GREEN), strict=True):
                panel.plot(single[time], single[f"{name}_measured"], "o", color=color, markersize=3.5, label="network")
                theory = single[f"{name}_theory"]
                panel.plot(single["moment"], theory, color=BLACK, linestyle="--", label="effective theory")
                explained = f"$R^2$ = {float(single['explained'].sel(curve=name)):.2f}"
                panel.set_title(f"{title}\n{explained}" if pair == pairs[0] else explained)
                time_axis(panel, fitted[time], time)
            row[0].set_ylabel(f"points {pair}")
        for panel in axes[:-1].ravel():
            panel.set_xlabel("")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        label_panels(axes[0])
    return describe(
        figure,
        title="Pairs of points through training, and the effective theory",
        caption=f"{recorded.attrs['title']}: squared distance of representations in layer {fitted.attrs['layer']}, "
        "squared distance of outputs and alignment $w = y - dy \\cdot (y_2 - y_1)$ of pairs"
        f"{' of the first seed' if 'seed' in fitted.dims else ''}; dashed: solution of the two-point theory from the "
        "measured start with two fitted rates per pair.",
        alt="Dots of distances against training with a dashed curve of the fitted theory.",
    )
