"""Networks that have learned their task: the only ones that statements on trained representations speak of."""

from __future__ import annotations

import numpy as np
import xarray as xr

LEARNED = 0.04
"""Loss, over the loss of a network that gives the mean target everywhere, below which a network has learned."""
MERGED = 0.25
"""Distance of a pair of equal targets, over that of unequal ones, below which the pair has merged."""


def has_learned(loss: xr.DataArray | np.ndarray, plateau: float) -> np.ndarray:
    """1 where a network's final loss is below 1/25 of the plateau's, the loss of the mean target; else 0."""
    return (np.asarray(loss) < LEARNED * plateau).astype(np.int8)


def learned(structure: xr.Dataset, run: str) -> xr.Dataset:
    """The networks of a run (XOR, blobs) that have learned, by the variable of that name."""
    chosen = structure.sel(run=run)
    return chosen.isel(trial=np.flatnonzero(chosen["learned"].values))
