"""Flow times of several experiments: their coordinate, when something first holds, how fast something decays."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.datasets import variable


def times_variable(times: Array) -> xr.Variable:
    """Flow times s as a coordinate, shape (T,)."""
    return variable("time", times, "flow time s")


def first_time(times: Array, holds: NDArray[np.bool_]) -> float:
    """First of the times at which `holds` is true, shape (T,); infinite if there is none."""
    return float(times[np.argmax(holds)]) if np.any(holds) else np.inf


def decay_rate(times: Array, values: Array) -> float:
    """Rate -d log(values)/ds by least squares."""
    return -float(np.polyfit(times, np.log(values), 1)[0])
