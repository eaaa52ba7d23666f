"""How the rank of a representation is counted where its spectrum has a tail; imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.ranks import effective_rank, nuclear_rank, numerical_rank

RANKS: dict[str, Callable[[Array], float]] = {
    "effective rank": effective_rank,
    "nuclear rank": nuclear_rank,
    "values above 1 % of the largest": partial(numerical_rank, tolerance=0.01),
    "values above 5 % of the largest": partial(numerical_rank, tolerance=0.05),
    "values above 10 % of the largest": partial(numerical_rank, tolerance=0.1),
}


def counted(values: xr.DataArray, rank: Callable[[Array], float]) -> xr.DataArray:
    """The rank of every spectrum along `index`."""
    return xr.apply_ufunc(rank, values, input_core_dims=[["index"]], vectorize=True)
