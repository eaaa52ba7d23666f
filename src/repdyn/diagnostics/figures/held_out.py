"""Points that a network was trained on and held-out ones: loss and accuracy, rank and collapse."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

from repdyn.diagnostics.figures.shared import (
    dots_over_time,
    layer_names,
    legend_of_all,
    line,
    moments,
    name_layers,
    over_seeds,
    run_facts,
)
from repdyn.diagnostics.methods.catalog import HELD_OUT
from repdyn.plotting.figures import BLUE, ORANGE, Drawn, figure, label_panels, new, style

STYLES = (("", "the points", BLUE, "-"), (HELD_OUT, "held-out points", ORANGE, "--"))
OVER_TIME = {"loss": "loss", "accuracy": "accuracy"}
THROUGH_DEPTH = {"effective_rank": "effective rank", "within_over_between": "within over between classes"}


@figure(
    title="Points that a network was trained on and held-out points",
    caption="Solid: the points; dashed: held-out points. Loss and accuracy at each moment; effective rank and variance "
    "within over between classes of each layer at the last moment, in the order of depth.",
    alt="Loss, accuracy, rank and collapse of the points as solid lines and of held-out points as dashed ones.",
)
def draw_held_out(dataset: xr.Dataset) -> Drawn:
    """Loss and accuracy through training, rank and collapse through depth, of held-out points in dashes.

    Args:
        dataset: of `measure` with `held_out`, where loss and accuracy are two dots each, or of such a `Recorder`, whose
            layers are those of its last moment.

    Raises:
        ValueError: nothing of held-out points was measured.
    """
    whole = [name for name in OVER_TIME if f"{name}{HELD_OUT}" in dataset]
    layers = [name for name in THROUGH_DEPTH if f"{name}{HELD_OUT}" in dataset]
    if not (names := whole + layers):
        raise ValueError("the dataset has no held-out points; give held_out=(inputs, labels) when measuring")
    with style():
        drawn, axes = new(-(-len(names) // 2), 2, height=2.3)
        flat = axes.ravel()
        for panel in flat[len(names) :]:
            panel.set_visible(False)
        for panel, name in zip(flat, names, strict=False):
            (_whole_panel if name in whole else _layers_panel)(panel, dataset, name)
        legend_of_all(drawn, flat[: len(names)])
        label_panels(flat[: len(names)])
    facts: dict[str, float] = {"held-out points": dataset.sizes[f"point{HELD_OUT}"]}
    if f"accuracy{HELD_OUT}" in dataset:
        last = over_seeds(moments(dataset)[-1][-1])
        facts |= {f"accuracy of {label}": float(last[f"accuracy{suffix}"]) for suffix, label, *_ in STYLES}
    return Drawn(drawn, run_facts(dataset) | facts)


def _whole_panel(panel: Axes, dataset: xr.Dataset, name: str) -> None:
    """A number of the network through training, or at its one moment."""
    for suffix, label, color, dash in STYLES:
        dots_over_time(panel, dataset, dataset[f"{name}{suffix}"], dash, color=color, label=label)
    panel.set_title(OVER_TIME[name])


def _layers_panel(panel: Axes, dataset: xr.Dataset, name: str) -> None:
    """A number of each layer at the last moment."""
    *_, moment = moments(dataset)[-1]
    for suffix, label, color, dash in STYLES:
        line(panel, moment[f"{name}{suffix}"], label, color, dash)
    name_layers(panel, layer_names(dataset["layer"]))
    panel.set_title(THROUGH_DEPTH[name])
