"""A network through its training: ranks, costs, collapse and loss, one line per layer."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.diagnostics.figures.shared import (
    check_measured,
    literal,
    over_seeds,
    run_facts,
    shade_task_rank,
    time_axis,
    time_of,
)
from repdyn.plotting.figures import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    Drawn,
    band,
    figure,
    label_panels,
    legend_below,
    new,
    plain_numbers,
    style,
)

STYLES = ((RED, "-"), (BLUE, "--"), (ORANGE, "-."))  # of the layers that change most
GRAY = "0.7"

WORDS = {
    "title": "A network through its training: ranks, cost of identity, collapse, loss",
    "caption": "One line per layer; in color the layers whose measures change most from the first to the last moment "
    "(largest mean of the absolute logarithms of their ratios), gray the others; band: rank of the task. Last "
    "panel: loss, and accuracy where points have labels.",
    "alt": "Lines of rank, cost of identity and collapse per layer against training; loss and accuracy.",
}


NEEDED = ("effective_rank", "stable_cost_of_identity")


@figure(**WORDS)
def draw_training(recorded: xr.Dataset) -> Drawn:
    """Ranks, collapse and loss against training, one line per layer; in color the layers that change most.

    Args:
        recorded: dataset of `Recorder.dataset`.

    Raises:
        ValueError: the dataset has one moment only, or lacks what the figure shows.
    """
    check_measured(recorded, ())
    time = time_of(recorded)
    check_measured(recorded, NEEDED)
    with style():
        panels = {"effective_rank": "effective rank", "stable_cost_of_identity": "stable cost of identity"}
        panels |= {"nc1": "NC1: collapse within classes"} if "nc1" in recorded else {}
        wide = len(panels) + ("loss" in recorded)
        drawn, axes = new(2 if wide > 2 else 1, 2, height=2.1)
        flat = axes.ravel()
        for panel in flat[wide:]:
            panel.set_visible(False)
        most = _changed_most(recorded[list(panels)], time)
        for panel, (name, title) in zip(flat, panels.items(), strict=False):
            _layers_panel(panel, over_seeds(recorded[name]), time, most)
            if (recorded[name] > 0).any():  # of a network that has diverged no value is left for a logarithm
                panel.set_yscale("log")
                plain_numbers(panel.yaxis)
            panel.set_title(title)
        shade_task_rank(flat[0], recorded)
        if "loss" in recorded:
            _loss_panel(flat[wide - 1], recorded, time)
        for panel in flat[:wide]:
            time_axis(panel, recorded[time], time)
        drawn.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=2.5)
        label_panels(flat[:wide])
    facts = {"moments": recorded.sizes[time], "layers that change most": ", ".join(most)}
    if "loss" in recorded:
        facts["loss"] = recorded["loss"].attrs["long_name"]
    return Drawn(drawn, run_facts(recorded) | facts)


def _changed_most(measures: xr.Dataset, time: str) -> list[str]:
    """Names of the layers whose measures change most over training, the most changed one first."""
    ends = over_seeds(measures).isel({time: [0, -1]}).transpose("layer", time, ...)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = [np.abs(np.diff(np.log(ends[name].values), axis=1)).ravel() for name in measures]
    change = np.where(np.isfinite(changes), changes, 0.0).mean(axis=0)
    return measures["layer"].values[np.argsort(-change, kind="stable")][: len(STYLES)].tolist()


def _layers_panel(panel: Axes, values: xr.DataArray, time: str, most: list[str]) -> None:
    """A measure of every layer over training: gray, and in color above them the layers that change most."""
    for name, (color, dash) in zip(most, STYLES, strict=False):
        panel.plot(values[time], values.sel(layer=name), dash, color=color, zorder=3, label=literal(name))
    others = [name for name in values["layer"].values if name not in most]
    for number, name in enumerate(others):
        label = f"{len(others)} other{'s' if len(others) > 1 else ''}" if number == 0 else None
        panel.plot(values[time], values.sel(layer=name), color=GRAY, linewidth=0.8, label=label)


def _loss_panel(panel: Axes, recorded: xr.Dataset, time: str) -> None:
    names = [name for name in ("loss", "accuracy") if name in recorded]
    for name, color in zip(names, (BLUE, GREEN), strict=False):
        values = recorded[name]
        if "seed" in values.dims:
            band(panel, recorded[time].values, values.min("seed").values, values.max("seed").values, color=color)
            values = values.mean("seed")
        panel.plot(recorded[time], values, color=color, linestyle="-" if name == "loss" else "--", label=name)
    if any((recorded[name] > 0).any() for name in names):
        panel.set_yscale("log")
    panel.set_title(" and ".join(names))
    legend_below(panel, columns=2)
