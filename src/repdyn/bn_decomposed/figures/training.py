"""Figure 2, and the initialization of the Discussion."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Drawn,
    figure,
    label_panels,
    new,
    plain_numbers,
)

STYLES = {  # color, marker, line, label, shift beside the others at one depth
    "bn": (BLUE, "o", "-", "batch normalization", 1.1),
    "default": (RED, "s", "--", "none, PyTorch's default", 1.0),
    "he": (GREEN, "^", "-.", "none, He", 0.9),
}
RING: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "markeredgewidth": 1, "clip_on": False}
TICKS = (0.1, 0.5, 0.9, 0.99, 0.999, 1)  # of accuracies
TINY = 1e-12  # a logarithm needs something
CHANCE = 0.1  # ten classes


@figure(
    title="Figure 2: training accuracy and the rank of the last hidden layer at initialization",
    caption="Fully connected ReLU networks on images after plain stochastic gradient descent; learning rates per depth "
    "as in the table. (a) Training accuracy, on an axis that is logarithmic in the share of wrong images; dotted: "
    "chance. (b) Effective rank of the last hidden layer at initialization. Markers: medians, bars: range of the draws "
    "of weights and order, side by side where depths are equal. (c) Both, accuracy as in (a): pale: draws, lines: "
    "medians from the least to the greatest depth, which has a ring. The paper says that a network may reach high "
    "training accuracy from low-rank representations, and gives no numbers; it uses the code of Daneshmand et al. "
    "(2020) and states neither data nor optimizer nor width nor depths.",
    alt="Accuracy and rank against depth, and accuracy against rank, for three initializations.",
)
def fig2_training(training: dict[str, xr.Dataset]) -> Drawn:
    """Figure 2: final training accuracy and the rank of the last hidden layer at initialization."""
    drawn, axes = new(1, 3, height=2.8, width_ratios=(1, 1, 1.25))
    depths = training["he"]["depth"].values
    for mode, (color, marker, dash, label, shift) in STYLES.items():
        data, style = training[mode], {"color": color, "marker": marker, "linestyle": dash}
        rank, final = data["effective_rank"], data["accuracy"].isel(epoch=-1)
        _with_range(axes[0, 0], shift * data["depth"], final, label=label, **style)
        _with_range(axes[0, 1], shift * data["depth"], rank, **style)
        axes[0, 2].scatter(rank, final, s=8, color=color, marker=marker, alpha=0.35, linewidths=0)
        axes[0, 2].plot(rank.median("seed"), final.median("seed"), **style)
        deepest = {"depth": -1}  # a ring, where text would cover lines
        ring = RING | {"color": color, "label": "greatest depth" if mode == "he" else None}
        axes[0, 2].plot(rank[deepest].median("seed"), final[deepest].median("seed"), "o", **ring)
    for panel in axes[0, :2]:
        panel.set(xscale="log", xlim=(0.8 * depths.min(), 1.25 * depths.max()), xlabel="hidden layers")
        panel.set_xticks(depths, [f"{depth}" for depth in depths])
        panel.minorticks_off()
    axes[0, 0].set(title="accuracy after training", ylabel="training accuracy")
    axes[0, 1].set(title="rank before training", ylabel="effective rank", yscale="log")
    axes[0, 2].set(title="accuracy against rank", ylabel="training accuracy")
    axes[0, 2].set(xlabel="effective rank at initialization", xlim=(0, None))
    plain_numbers(axes[0, 1].yaxis)
    for panel in (axes[0, 0], axes[0, 2]):
        _accuracy_axis(panel, int(training["he"]["point_count"]))
        panel.axhline(CHANCE, color=BLACK, linewidth=0.6, linestyle=(0, (1, 3)), label="chance")
    named = {
        words: mark for panel in axes[0, ::2] for mark, words in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    drawn.legend(named.values(), named.keys(), loc="outside upper center", ncols=5, columnspacing=1)
    label_panels(axes)
    shown = training["he"]
    facts: dict[str, object] = {
        "width": int(shown["width"]),
        "images": int(shown["point_count"]),
        "epochs": int(shown["epoch"][-1]),
        "batch size": int(shown["batch"]),
        "draws": shown.sizes["seed"],
    }
    for mode, (_, _, _, label, _) in STYLES.items():
        last_epoch = training[mode].median("seed").isel(depth=-1, epoch=-1)
        facts[f"median rank and accuracy at the greatest depth, {label}"] = [
            float(last_epoch["effective_rank"]),
            float(last_epoch["accuracy"]),
        ]
    return Drawn(drawn, facts)


def _accuracy_axis(panel: Axes, images: int) -> None:
    """An ordinate of accuracies, logarithmic in the share of images that is missing; half an image more has a place."""
    half = 0.5 / images

    def up(accuracy: np.ndarray) -> np.ndarray:
        return -np.log10(np.maximum(1 + half - np.asarray(accuracy, float), TINY))

    def down(height: np.ndarray) -> np.ndarray:
        return 1 + half - 10.0 ** -np.asarray(height, float)

    panel.set_yscale("function", functions=(up, down))
    panel.set_ylim(-0.4, 1 + 0.8 * half)
    ticks = [tick for tick in TICKS if tick == 1 or 1 - tick > half]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def _with_range(panel: Axes, depth: xr.DataArray, draws: xr.DataArray, **style: Any) -> None:
    low, middle, high = (draws.quantile(share, "seed").values for share in (0, 0.5, 1))
    panel.errorbar(depth.values, middle, (middle - low, high - middle), elinewidth=1, capsize=2, **style)


@figure(
    title="Discussion: one neuron per data point against He's initialization",
    caption="Two-layer networks with as many neurons as training images, zero head, full-batch gradient descent on "
    "both layers, each scheme at its best rate. Margin: threshold of neuron $i$ between its point (0) and the nearest "
    "other (1); beyond 1 neighbors fire. Each dot is one draw of the training points, bars are medians.",
    alt="Dots by initialization, one per draw, with bars at the medians.",
)
def disc_point_neurons(point_neurons: xr.Dataset) -> Drawn:
    """One neuron per data point: sparsity, steps to fit and test accuracy."""
    drawn, axes = new(1, 3, height=2.3, sharey=True)
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
    axes[0, 0].set_yticks(place, _schemes(point_neurons))
    axes[0, 0].invert_yaxis()
    label_panels(axes)
    facts = {
        "neurons and training images": int(point_neurons["points"]),
        "steps": int(point_neurons["steps_made"]),
        "draws": point_neurons.sizes["seed"],
        "initializations": _schemes(point_neurons),
        "median test accuracy by initialization": at_best_rate["test_accuracy"].median("seed"),
    }
    return Drawn(drawn, facts)


def _schemes(point_neurons: xr.Dataset) -> list[str]:
    return [str(name).replace("he", "He") for name in point_neurons["scheme"].values]
