"""The figures of the report: the small convolutional network, plotted as any measured network is."""

from __future__ import annotations

import xarray as xr

from repdyn.diagnostics.figures import depth, pairs, stream, training
from repdyn.plotting.figures import DescribedFigure, Drawn, figure


@figure(**depth.WORDS)
def through_depth(convolutional_network: xr.Dataset) -> Drawn:
    """All diagnostics layer by layer, before and after training."""
    return _with_facts(depth.draw_depth(convolutional_network))


@figure(**training.WORDS)
def through_training(convolutional_network: xr.Dataset) -> Drawn:
    """Ranks, costs and collapse of every layer, loss and accuracy."""
    return _with_facts(training.draw_training(convolutional_network))


@figure(**stream.WORDS)
def residual_stream(convolutional_network: xr.Dataset) -> Drawn:
    """Energies along the residual blocks, radial gradient fractions."""
    return _with_facts(stream.draw_stream(convolutional_network))


@figure(**pairs.WORDS)
def pairs_and_theory(convolutional_network: xr.Dataset, two_points: xr.Dataset) -> Drawn:
    """Pairs of points and the fitted effective theory."""
    return _with_facts(pairs.draw_pairs(convolutional_network, two_points))


def _with_facts(described: DescribedFigure) -> Drawn:
    return Drawn(described, described.repdyn["facts"])
