"""A network through its depth: angles, odd point, ranks, costs, collapse and sectors, with what the theories expect."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import band, describe, label_panels, new, style
from repdyn.base.wording import counted, number
from repdyn.diagnostics.figures.shared import (
    SHADE,
    THEORY,
    legend_of_all,
    line,
    moments,
    name_layers,
    over_seeds,
    seeds_text,
    shade_task_rank,
)

EXPECTED = "theory: fixed points (a, b)"


def draw_depth(profile: xr.Dataset) -> Figure:
    """Angles, odd point, ranks and cost of identity layer by layer; with labels collapse and sectors.

    Args:
        profile: dataset of `measure`, or of `Recorder.dataset`.

    Returns:
        Figure in the common style, to be saved by `savefig` or `base.figures.save`.
    """
    with style():
        classes = "nc1" in profile and "sectors" in profile
        figure, axes = new(3 if classes else 2, 2, height=2.15)
        flat = axes.ravel()
        _angle_panel(flat[0], profile)
        _odd_panel(flat[1], profile)
        _rank_panel(flat[2], profile)
        _cost_panel(flat[3], profile)
        if classes:
            _collapse_panel(flat[4], profile)
            _sector_panel(flat[5], profile)
        for panel in flat:
            name_layers(panel, profile["layer"].values.tolist())
        for panel in flat[:-2]:
            panel.set_xticklabels([])
        legend_of_all(figure, [flat[2], *flat])  # the moments first
        label_panels(axes)
        return _described_depth(figure, profile)


def _spread(data: xr.Dataset) -> str:
    """What the bands in the colors of the moments are."""
    classes = ", range of classes (f)" if "sectors" in data else ""
    return f"5 to 95 % of pairs (a){classes}" + (", else range of seeds" if data.sizes.get("seed", 1) > 1 else "")


def _ranks(data: xr.Dataset) -> str:
    """What the shaded bands are."""
    return ("rank of the targets (c), " if "task_rank" in data else "") + "nuclear to numerical rank (d)"


def _ranks_over_training(data: xr.Dataset) -> str:
    """In how many layers training raises the effective rank; of one moment the ranks at both ends."""
    ranks = [over_seeds(moment["centered_effective_rank"]) for *_, moment in moments(data)]
    if len(ranks) == 1:
        return f"effective rank {number(ranks[0][0])} in the first layer, {number(ranks[0][-1])} in the last"
    return f"training raises the effective rank of {counted(ranks[1] - ranks[0])} layers"


def _angle_panel(panel: Axes, data: xr.Dataset) -> None:
    shown = moments(data)
    for label, color, dash, moment in shown:
        degrees = cast("xr.DataArray", np.degrees(moment["angle"]))
        middle, low, high = (degrees.sel(quantile=q) for q in (0.5, 0.05, 0.95))
        spread = _spread(data) if label == shown[-1][0] else None
        x = np.arange(low.sizes["layer"])
        band(panel, x, over_seeds(low).values, over_seeds(high).values, color=color, label=spread)
        line(panel, middle, label, color, dash)
    expected = np.degrees(float(data["expected_angle"].max()))
    panel.axhline(expected, **THEORY, label=EXPECTED)
    panel.set_title("angles between points")
    panel.set_ylabel("angle (degree)")


def _odd_panel(panel: Axes, data: xr.Dataset) -> None:
    for label, color, dash, moment in moments(data):
        line(panel, moment["norm_ratio"], label, color, dash)
    if np.isfinite(expected := float(data["expected_norm_ratio"].max())):
        panel.axhline(expected, **THEORY, label=EXPECTED)
    panel.set_yscale("log")
    panel.set_title("odd point")
    panel.set_ylabel("largest / second norm")


def _rank_panel(panel: Axes, data: xr.Dataset) -> None:
    for label, color, dash, moment in moments(data):
        line(panel, moment["centered_effective_rank"], label, color, dash)
    shade_task_rank(panel, data, _ranks(data))
    panel.set_yscale("log", base=2)
    panel.set_title("effective rank, centered")
    panel.set_ylabel("effective rank")


def _cost_panel(panel: Axes, data: xr.Dataset) -> None:
    for label, color, dash, moment in moments(data):
        line(panel, moment["stable_cost_of_identity"], label, color, dash)
    last = over_seeds(moments(data)[-1][-1][["nuclear_rank", "numerical_rank"]])
    x = np.arange(data.sizes["layer"])
    panel.fill_between(x, last["nuclear_rank"], last["numerical_rank"], **SHADE, label=_ranks(data))
    panel.set_yscale("log")
    panel.set_title("stable cost of identity")
    panel.set_ylabel("cost, in dimensions")


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


def _described_depth(figure: Figure, data: xr.Dataset) -> Figure:
    odd = "; dashed: the fixed point with one odd point" if np.isfinite(data["expected_norm_ratio"].max()) else ""
    targets = "; band: rank of the targets" if "task_rank" in data else ""
    return describe(
        figure,
        title=f"Through depth: {_ranks_over_training(data)}",
        caption=f"{data.attrs['title']}: {data.sizes['point']} points, normalized by {data.attrs['normalized_by']}"
        f"{seeds_text(data)}. (a) Angles between points, median and 5 to 95 % of the pairs; dashed: the symmetric "
        "fixed point of wide networks with batch normalization and ReLU. (b) Largest norm over the second"
        f"{odd}. (c) Effective rank without the mean{targets}. "
        f"(d) Stable cost of identity at $\\gamma$ = {data.attrs['gamma']:g} $\\|K\\|$; band: nuclear to numerical "
        "rank at the last moment."
        + (
            " (e) $\\operatorname{Tr}(\\Sigma_W \\Sigma_B^+) / K$ (NC1) and largest deviation of the class means from "
            "a simplex (NC2). "
            "(f) Units that are at most zero on all points of a class: mean over classes, band: range of the classes."
            if "nc1" in data and "sectors" in data
            else ""
        ),
        alt="Panels of angles, norms, ranks and costs against the layers of a network"
        + (", before and after training." if "time" in data.attrs else "."),
    )
