"""Figure 2, and the initialization of the Discussion."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, band, describe, label_panels, new

LOOKS = {
    "bn": (BLUE, "o", "-", "batch normalization"),
    "default": (RED, "s", "--", "none, PyTorch's default"),
    "he": (GREEN, "^", "-.", "none, He"),
}


def fig2_training(training: dict[str, xr.Dataset]) -> Figure:
    """Figure 2: final training accuracy and the rank of the last hidden layer at initialization."""
    figure, axes = new(1, 3, height=2.5)
    for mode, (color, marker, dash, words) in LOOKS.items():
        data, depth = training[mode], training[mode]["depth"]
        final = data["accuracy"].isel(epoch=-1)
        _with_range(axes[0, 0], depth, final, color=color, marker=marker, linestyle=dash, label=words)
        _with_range(axes[0, 1], depth, data["effective_rank"], color=color, marker=marker, linestyle=dash)
        axes[0, 2].scatter(
            data["effective_rank"],
            final,
            s=6 * np.log2(2 * depth.values)[:, None] + 0 * final,
            color=color,
            marker=marker,
            alpha=0.7,
        )
    for panel in axes[0, :2]:
        panel.set_xscale("log", base=2)
        panel.set_xticks(training["he"]["depth"].values, [str(value) for value in training["he"]["depth"].values])
        panel.set_xlabel("hidden layers")
    axes[0, 1].set_yscale("log", base=2)
    axes[0, 2].set_xscale("log", base=2)
    for panel, title, label in zip(
        axes[0],
        ("accuracy after training", "rank before training", "accuracy against rank"),
        ("training accuracy", "effective rank", "training accuracy"),
        strict=True,
    ):
        panel.set_title(title)
        panel.set_ylabel(label)
    axes[0, 2].set_xlabel("effective rank at initialization")
    for panel in (axes[0, 0], axes[0, 2]):
        panel.set_ylim(0, 1.03)
        panel.axhline(0.1, color=BLACK, linewidth=0.6, linestyle=(0, (1, 3)))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    label_panels(axes)
    return _described(figure, training["he"])


def _described(figure: Figure, data: xr.Dataset) -> Figure:
    return describe(
        figure,
        title="Figure 2: training accuracy does not need a high rank at initialization",
        caption=f"Fully connected ReLU networks of width {int(data['width'])} on {int(data['point_count'])} images, "
        f"{int(data['epoch'][-1])} epochs of plain stochastic gradient descent, batches of {int(data['batch'])}; "
        "learning rates per depth as in the table. (a) Training accuracy; dotted: chance. (b) Effective rank of the "
        "last hidden layer at initialization. (c) Both; larger marks are deeper networks. Lines: medians, bands: range "
        f"of {data.sizes['seed']} draws of weights and order. He's initialization reaches high accuracy from a low "
        "rank; PyTorch's default fails when deep; batch normalization keeps a high rank. The paper states neither data "
        "nor optimizer; these settings were found.",
        alt="Accuracy and rank against depth for three initializations; without batch normalization He's stays "
        "accurate at low rank.",
    )


def _with_range(panel: Axes, depth: xr.DataArray, draws: xr.DataArray, **style: Any) -> None:
    panel.plot(depth, draws.median("seed"), **style)
    band(panel, depth.values, draws.min("seed").values, draws.max("seed").values, color=style["color"])


def disc_point_neurons(point_neurons: xr.Dataset) -> Figure:
    """One neuron per data point: orthogonal and sparse by construction, and what that buys."""
    figure, axes = new(1, 3, height=2.3, sharey=True)
    place = np.arange(point_neurons.sizes["scheme"])
    at_best_rate = point_neurons.sel(rate=point_neurons["best_rate"])
    panels = (
        ("activity", "sparsity", "positive entries at the start (share)", ORANGE),
        ("steps", "fitting", "steps to fit all training points", BLUE),
        ("test_accuracy", "generalization", "test accuracy at the end", PURPLE),
    )
    for panel, (name, title, label, color) in zip(axes[0], panels, strict=True):
        draws = at_best_rate[name].transpose("scheme", "seed").values
        panel.plot(
            draws,
            np.broadcast_to(place[:, None], draws.shape),
            "o",
            color=color,
            alpha=0.5,
            markersize=4,
            markeredgewidth=0,
        )
        panel.plot(np.median(draws, axis=1), place, "|", color=BLACK, markersize=14)
        panel.set_xlabel(label)
        panel.set_title(title)
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_yticks(place, [str(name).replace("he", "He") for name in point_neurons["scheme"].values])
    axes[0, 0].invert_yaxis()
    label_panels(axes)
    return describe(
        figure,
        title="Discussion: one neuron per data point",
        caption=f"Two-layer networks with {int(point_neurons['points'])} neurons for as many training images, zero "
        f"head, {int(point_neurons['steps_made'])} steps of full-batch gradient descent on both layers, each scheme at "
        "its best rate. Margin: threshold of neuron $i$ between its own point (0) and the nearest other (1); beyond 1 "
        f"neighbors fire. Each dot is one of {point_neurons.sizes['seed']} draws of the training points, bars are "
        "medians. One neuron per point is orthogonal and sparse as proposed, but generalizes worse than He's "
        "initialization; it catches up only when it stops being one neuron per point.",
        alt="Dots by initialization: thresholds that let one neuron fire per point have the least activity and the "
        "lowest test accuracy.",
    )
