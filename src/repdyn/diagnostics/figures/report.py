"""The figures of the report: the small convolutional network, plotted as any measured network is."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training


def through_depth(convolutional_network: xr.Dataset) -> Figure:
    """All diagnostics layer by layer, before and after training."""
    return draw_depth(convolutional_network)


def through_training(convolutional_network: xr.Dataset) -> Figure:
    """Ranks, costs and collapse of every layer, loss and accuracy."""
    return draw_training(convolutional_network)


def residual_stream(convolutional_network: xr.Dataset) -> Figure:
    """Energies along the residual blocks, radial gradient fractions."""
    return draw_stream(convolutional_network)


def pairs_and_theory(convolutional_network: xr.Dataset, two_points: xr.Dataset) -> Figure:
    """Pairs of points and the fitted effective theory."""
    return draw_pairs(convolutional_network, two_points)
