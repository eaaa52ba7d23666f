"""Every figure that the measures of one network allow."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.held_out import draw_held_out
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training

DEPTH = {"angle", "centered_effective_rank", "stable_cost_of_identity"}
TRAINING = {"effective_rank", "stable_cost_of_identity"}


def draw_all(dataset: xr.Dataset) -> dict[str, Figure]:
    """The figures by the names of their files; those whose measures are missing are left out.

    Args:
        dataset: of `measure`, or of `Recorder.dataset`.
    """
    there, figures = set(dataset), {}
    if there >= DEPTH:
        figures["through_depth"] = draw_depth(dataset)
    if there >= TRAINING and "time" in dataset.attrs and dataset.sizes[dataset.attrs["time"]] > 1:
        figures["through_training"] = draw_training(dataset)
    if "point_held_out" in dataset.dims:
        figures["held_out"] = draw_held_out(dataset)
    if there & {"kinetic_energy", "radial_fraction"}:
        figures["residual_stream"] = draw_stream(dataset)
    return figures
