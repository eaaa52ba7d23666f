"""A network through its training: ranks, costs, collapse and loss, one line per layer."""

from __future__ import annotations

from itertools import cycle

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLUE, GREEN, band, describe, label_panels, legend_below, new, plain_numbers, style
from repdyn.diagnostics.figures.shared import over_seeds, seeds_text, shade_task_rank, time_axis, time_of

DASHES = ("-", "--", "-.", ":")  # so that neighbors of like color differ


def draw_training(recorded: xr.Dataset) -> Figure:
    """Ranks, collapse and loss against training, one line per layer.

    Args:
        recorded: dataset of `Recorder.dataset`.

    Raises:
        ValueError: the dataset has one moment only.
    """
    time = time_of(recorded)
    with style():
        panels = {"effective_rank": "effective rank", "stable_cost_of_identity": "stable cost of identity"}
        panels |= {"nc1": "NC1: collapse within classes"} if "nc1" in recorded else {}
        wide = len(panels) + ("loss" in recorded)
        figure, axes = new(2 if wide > 2 else 1, 2, height=2.1)
        flat = axes.ravel()
        for panel in flat[wide:]:
            panel.set_visible(False)
        colors = mpl.colormaps["viridis"](np.linspace(0, 0.95, recorded.sizes["layer"]))
        looks = list(zip(recorded["layer"].values, colors, cycle(DASHES), strict=False))
        for panel, (name, title) in zip(flat, panels.items(), strict=False):
            values = over_seeds(recorded[name])
            for layer, color, dash in looks:
                panel.plot(recorded[time], values.sel(layer=layer), color=color, linestyle=dash, label=layer)
            if name == "effective_rank":
                panel.set_yscale("log", base=2)
            else:
                panel.set_yscale("log")
                plain_numbers(panel.yaxis)
            panel.set_title(title)
        shade_task_rank(flat[0], recorded)
        if "loss" in recorded:
            _loss_panel(flat[wide - 1], recorded, time)
        for panel in flat[:wide]:
            time_axis(panel, recorded[time], time)
        figure.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, handlelength=2.5)
        label_panels(flat[:wide])
    return describe(
        figure,
        title="A network through its training, as the papers measure it",
        caption=f"{recorded.attrs['title']}, measured at {recorded.sizes[time]} moments{seeds_text(recorded)}. One "
        "line per layer, dark to light from input to output; band: rank of the task."
        + (" Last panel: loss against the targets." if "loss" in recorded else ""),
        alt="Lines of rank, cost of identity and collapse per layer against training.",
    )


def _loss_panel(panel: Axes, recorded: xr.Dataset, time: str) -> None:
    names = [name for name in ("loss", "accuracy") if name in recorded]
    for name, color in zip(names, (BLUE, GREEN), strict=False):
        values = recorded[name]
        if "seed" in values.dims:
            band(panel, recorded[time].values, values.min("seed").values, values.max("seed").values, color=color)
            values = values.mean("seed")
        panel.plot(recorded[time], values, color=color, linestyle="-" if name == "loss" else "--", label=name)
    panel.set_yscale("log")
    panel.set_title(" and ".join(names))
    legend_below(panel, columns=2)
