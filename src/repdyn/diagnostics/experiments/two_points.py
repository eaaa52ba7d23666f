"""The two-point theory on what the diagnostics recorded."""

from __future__ import annotations

import xarray as xr

from repdyn.diagnostics.methods import effective_theory
from repdyn.diagnostics.settings import TwoPoints


def two_points(settings: TwoPoints, convolutional_network: xr.Dataset) -> xr.Dataset:
    """The two-point effective theory fitted to every pair and seed of the recorded network."""
    return effective_theory.fit(convolutional_network, settings.layer)
