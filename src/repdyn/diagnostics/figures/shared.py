"""What the figures of a measured network share: which moments they show, lines with bands, names of layers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from repdyn.diagnostics.methods.arguments import check_kind
from repdyn.plotting.figures import BLACK, BLUE, ORANGE, SKY, band

MOST_TICKS = 16
THEORY: dict[str, Any] = {"color": BLACK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
SHADE: dict[str, Any] = {"color": SKY, "alpha": 0.25, "linewidth": 0}

Measured = TypeVar("Measured", xr.DataArray, xr.Dataset)


def moments(data: xr.Dataset) -> list[tuple[str, str, str, xr.Dataset]]:
    """Label, color, dash and dataset of the moments to show: the only one, or the first and the last."""
    time = data.attrs.get("time")
    if time is None:
        return [("measured", BLUE, "-", data)]
    first, last = data.isel({time: 0}), data.isel({time: -1})
    return [
        (f"{time} {float(data[time][0]):g}", ORANGE, "--", first),
        (f"{time} {float(data[time][-1]):g}", BLUE, "-", last),
    ]


def over_seeds(values: Measured) -> Measured:
    """Mean over seeds where there are any."""
    return values.mean("seed") if "seed" in values.dims else values


def line(panel: Axes, values: xr.DataArray, label: str, color: str, dash: str, marker: str = "o") -> None:
    """Mean over seeds against depth, with their range."""
    x = np.arange(values.sizes["layer"])
    if "seed" in values.dims:
        values = values.transpose("layer", "seed")
        band(panel, x, values.min("seed").values, values.max("seed").values, color=color)
    panel.plot(x, over_seeds(values).values, color=color, linestyle=dash, marker=marker, markersize=3, label=label)


def shade_task_rank(panel: Axes, data: xr.Dataset, label: str = "rank of the targets") -> None:
    """The ranks of the targets, without their mean and whole, as a band of half a dimension or more."""
    if "task_rank" in data:
        low, high = (float(data[name].min()) for name in ("centered_task_rank", "task_rank"))
        panel.axhspan(low, max(high, low + 0.5), **SHADE, label=label)


def legend_of_all(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend under the figure with an entry per label, whichever panel has it."""
    entries: dict[str, Artist] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=2)


def layer_ticks(names: Sequence[str]) -> tuple[range, Sequence[str]]:
    """Places and names of ticks: every layer, every second or third one where there are many."""
    every = -(-len(names) // MOST_TICKS)
    return range(0, len(names), every), [literal(name) for name in names[::every]]


def literal(name: str) -> str:
    """A user's name as it is, since matplotlib takes what is between dollars for a formula."""
    return name.replace("$", r"\$")


def layer_names(layers: xr.DataArray) -> list[str]:
    """Names of layers; one that ends in a number with the kind of its module, as "8 ReLU"."""
    kinds = json.loads(layers.attrs.get("kinds", "{}"))
    names = layers.values.tolist()
    return [f"{name} {kinds[name]}" if name in kinds and name.rpartition(".")[2].isdigit() else name for name in names]


def name_layers(panel: Axes, names: Sequence[str]) -> None:
    """Names of layers along the x axis."""
    panel.set_xticks(*layer_ticks(names), rotation=60, ha="right", rotation_mode="anchor")


def run_facts(data: xr.Dataset) -> dict[str, object]:
    """Which dataset a figure is of, and its points and seeds."""
    counts = {f"{dim}s": data.sizes[dim] for dim in ("point", "seed") if dim in data.sizes}
    return {"dataset": data.attrs["title"], **counts}


def check_measured(dataset: object, names: Collection[str]) -> None:
    """Refuses a dataset without what a figure shows.

    Raises:
        ValueError: the diagnostics that are missing.
    """
    check_kind("the dataset", dataset, xr.Dataset, "that of measure or of Recorder.dataset")
    if lacking := [name for name in names if name not in cast("xr.Dataset", dataset)]:
        raise ValueError(f"the dataset has no {', '.join(lacking)}; measure what the figure shows")


def time_of(recorded: xr.Dataset) -> str:
    """Name of the dimension of training.

    Raises:
        ValueError: the dataset has one moment only.
    """
    if "time" not in recorded.attrs:
        raise ValueError("the dataset has one moment only; record several with a Recorder")
    return recorded.attrs["time"]


def time_axis(panel: Axes, times: xr.DataArray, name: str) -> None:
    """Logarithmic from the first moment after the start where the moments spread widely, with room for the start."""
    positive = times.values[times.values > 0]
    if positive.size > 1 and positive[-1] > 30 * positive[0]:
        panel.set_xscale("symlog", linthresh=float(positive[0]))
        decades = int(np.log10(positive[-1] / positive[0])) + 1
        panel.set_xticks([0, *(float(positive[0]) * 10.0 ** np.arange(decades))])
        panel.xaxis.set_minor_locator(NullLocator())
    margin = 0.05 * float(positive[0]) if positive.size else 0.5
    panel.set_xlim(min(0.0, float(times.values[0])) - margin, float(times.values[-1]) * 1.02)
    panel.set_xlabel(name)


def dots_over_time(panel: Axes, data: xr.Dataset, values: xr.DataArray, dash: str = "-", **style: Any) -> None:
    """A number at each moment, mean over seeds, or at the only one."""
    time = data.attrs.get("time")
    x = data[time] if time else np.zeros(1)
    panel.plot(x, np.atleast_1d(over_seeds(values)), dash, marker="o", markersize=3, **style)
    if time:
        time_axis(panel, data[time], time)
    else:
        panel.set_xticks([])
