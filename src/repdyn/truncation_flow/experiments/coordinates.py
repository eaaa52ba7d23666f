"""Coordinates that several experiments share."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import variable
from repdyn.truncation_flow.theory.inputs import Array


def index(name: str, size: int, long_name: str) -> xr.Variable:
    """A coordinate 0 .. size - 1."""
    return variable(name, np.arange(size), long_name)


def times_variable(times: Array) -> xr.Variable:
    """The time coordinate."""
    return variable("time", times, "flow time s")
