"""A network through its depth: angles, odd point, ranks, costs, collapse and sectors, with what the theories expect."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.diagnostics.figures.shared import (
    SHADE,
    THEORY,
    check_measured,
    layer_names,
    legend_of_all,
    line,
    moments,
    name_layers,
    over_seeds,
    run_facts,
    shade_task_rank,
)
from repdyn.plotting.figures import Drawn, band, figure, label_panels, new, style

EXPECTED = "theory: fixed points (a, b)"
SPREAD = "5 to 95 % of pairs (a), all classes (f), else all seeds"
RANKS = "rank of the targets (c), nuclear to numerical rank (d)"

WORDS = {
    "title": "A network through its depth: angles, odd point, ranks, cost of identity, collapse of classes",
    "caption": "(a) Angles between points, median and 5 to 95 % of the pairs; dashed: the symmetric fixed point of "
    "wide networks with batch normalization and ReLU. (b) Largest norm over the second; dashed, from seven points on: "
    "the fixed point with one odd point. (c) Effective rank without the mean; band: rank of the targets, where they "
    "are given. (d) Stable cost of identity; band: nuclear to numerical rank at the last moment. With labels: (e) "
    r"$\operatorname{Tr}(\Sigma_W \Sigma_B^+) / K$ (NC1) and largest deviation of the class means from a simplex "
    "(NC2). (f) Units that are at most zero on all points of a class: mean over classes, band: range of the "
    "classes. Lines are means over seeds, other bands their range.",
    "alt": "Panels of angles, norms, ranks and costs against the layers of a network, at one moment or before and "
    "after training.",
}


NEEDED = ("angle", "centered_effective_rank", "stable_cost_of_identity")


@figure(**WORDS)
def draw_depth(profile: xr.Dataset) -> Drawn:
    """Angles, odd point, ranks and cost of identity layer by layer; with labels collapse and sectors.

    Args:
        profile: dataset of `measure`, or of `Recorder.dataset`.

    Returns:
        Figure in the common style, to be saved by `savefig` or `plotting.figures.save`.

    Raises:
        ValueError: the dataset lacks what the figure shows.
    """
    check_measured(profile, NEEDED)
    with style():
        classes = "nc1" in profile and "sectors" in profile
        drawn, axes = new(3 if classes else 2, 2, height=2.15)
        flat = axes.ravel()
        _angle_panel(flat[0], profile)
        _odd_panel(flat[1], profile)
        _rank_panel(flat[2], profile)
        _cost_panel(flat[3], profile)
        if classes:
            _collapse_panel(flat[4], profile)
            _sector_panel(flat[5], profile)
        for panel in flat:
            name_layers(panel, layer_names(profile["layer"]))
        for panel in flat[:-2]:
            panel.set_xticklabels([])
        legend_of_all(drawn, [flat[2], *flat])  # the moments first
        label_panels(axes)
    facts = run_facts(profile) | {
        "normalized by": profile.attrs["normalized_by"],
        "regularizer of the cost over |K|": profile.attrs["gamma"],
    }
    ranks = [over_seeds(moment["centered_effective_rank"]).values for *_, moment in moments(profile)]
    if len(ranks) > 1:
        facts["layers whose effective rank training raises"] = int(np.sum(ranks[1] > ranks[0]))
    return Drawn(drawn, facts)


def _angle_panel(panel: Axes, data: xr.Dataset) -> None:
    shown = moments(data)
    for label, color, dash, moment in shown:
        degrees = cast("xr.DataArray", np.degrees(moment["angle"]))
        middle, low, high = (degrees.sel(quantile=q) for q in (0.5, 0.05, 0.95))
        spread = SPREAD if label == shown[-1][0] else None
        x = np.arange(low.sizes["layer"])
        band(panel, x, over_seeds(low).values, over_seeds(high).values, color=color, label=spread)
        line(panel, middle, label, color, dash)
    expected = np.degrees(float(data["expected_angle"].max()))
    panel.axhline(expected, **THEORY, label=EXPECTED)
    panel.set_title("angles between points")
    panel.set_ylabel("angle (degree)")


def _lines(panel: Axes, data: xr.Dataset, name: str, title: str, label: str) -> None:
    """A diagnostic of the layers at each moment."""
    for moment_label, color, dash, moment in moments(data):
        line(panel, moment[name], moment_label, color, dash)
    panel.set_title(title)
    panel.set_ylabel(label)


def _odd_panel(panel: Axes, data: xr.Dataset) -> None:
    _lines(panel, data, "norm_ratio", "odd point", "largest / second norm")
    if np.isfinite(expected := float(data["expected_norm_ratio"].max())):
        panel.axhline(expected, **THEORY, label=EXPECTED)
    panel.set_yscale("log")


def _rank_panel(panel: Axes, data: xr.Dataset) -> None:
    _lines(panel, data, "centered_effective_rank", "effective rank, centered", "effective rank")
    shade_task_rank(panel, data, RANKS)
    panel.set_yscale("log", base=2)


def _cost_panel(panel: Axes, data: xr.Dataset) -> None:
    _lines(panel, data, "stable_cost_of_identity", "stable cost of identity", "cost, in dimensions")
    last = over_seeds(moments(data)[-1][-1][["nuclear_rank", "numerical_rank"]])
    x = np.arange(data.sizes["layer"])
    panel.fill_between(x, last["nuclear_rank"], last["numerical_rank"], **SHADE, label=RANKS)
    panel.set_yscale("log")


def _collapse_panel(panel: Axes, data: xr.Dataset) -> None:
    for label, color, dash, moment in moments(data):
        line(panel, moment["nc1"], label, color, dash)
        line(panel, moment["equiangle"], label, color, ":", marker="^")
    panel.set_yscale("log")
    panel.set_title("collapse of classes: NC1 dots, NC2 triangles")
    panel.set_ylabel("distance from collapse")


def _sector_panel(panel: Axes, data: xr.Dataset) -> None:
    for label, color, dash, moment in moments(data):
        share = over_seeds(moment["units_truncating_all"])
        x = np.arange(share.sizes["layer"])
        band(panel, x, share.min("class").values, share.max("class").values, color=color)
        panel.plot(x, share.mean("class").values, color=color, linestyle=dash, marker="o", markersize=3, label=label)
    panel.set_ylim(bottom=0)
    panel.set_title("units that truncate a whole class")
    panel.set_ylabel("share of units")
