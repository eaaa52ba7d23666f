"""The time coordinate that the flows of several experiments share."""

from __future__ import annotations

import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import variable


def times_variable(times: Array) -> xr.Variable:
    """Flow times s as a coordinate, shape (T,)."""
    return variable("time", times, "flow time s")
