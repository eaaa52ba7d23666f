"""What the claims need of a run besides sizes: flow times that are long enough, arrivals that were seen."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.errors import NotEnoughDataError


def reaches(data: xr.Dataset, name: str, time: float) -> None:
    """States that a dataset must hold the flow up to a time.

    Raises:
        NotEnoughDataError: its last time is earlier.
    """
    last = float(data["time"].max())
    if last < time:
        raise NotEnoughDataError(f"{name}: flow times up to {time:g}, has {last:g}")


def finite(data: xr.Dataset, name: str, *variables: str) -> None:
    """States that variables must be finite: what they measure was seen within the horizon.

    Raises:
        NotEnoughDataError: an entry is NaN or infinite.
    """
    for variable in variables:
        if not np.isfinite(data[variable]).all():
            raise NotEnoughDataError(f"{name}: {data[variable].attrs['long_name']}; raise the last time")
