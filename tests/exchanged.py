"""Which variable of a dataset could stand for another one that a claim reads without a change of any verdict."""

import itertools
from collections.abc import Sequence

import numpy as np
import xarray as xr

from repdyn.base.claims import Claim
from repdyn.base.errors import RepdynError

World = Sequence[xr.Dataset]


def unnoticed(claim: Claim, worlds: Sequence[World]) -> list[str]:
    """Pairs "other for name" of the same shape that leave the verdicts in all worlds as they are.

    Variables that change no verdict where they have no numbers are not read, or only told.
    """
    right, found = _statuses(claim, worlds), []
    for place, data in enumerate(worlds[0]):
        read = [name for name in data.data_vars if _statuses(claim, _with(worlds, place, name, None)) != right]
        for name, other in itertools.product(read, data.data_vars):
            one, two = data[name], data[other]
            if name == other or (one.dims, one.shape, one.dtype.kind) != (two.dims, two.shape, two.dtype.kind):
                continue
            if _statuses(claim, _with(worlds, place, name, other)) == right:
                found.append(f"{other} for {name}")
    return found


def _statuses(claim: Claim, worlds: Sequence[World]) -> list[str]:
    found = []
    for world in worlds:
        try:
            found.append(claim(*world).status)
        except (RepdynError, ValueError, KeyError) as error:
            found.append(type(error).__name__)
    return found


def _with(worlds: Sequence[World], place: int, name: str, other: str | None) -> list[World]:
    """The worlds with another variable under a name, or with none."""
    changed = []
    for world in worlds:
        data = world[place]
        taken = data[other].variable if other else np.nan * data[name].astype(float)
        changed.append([*world[:place], data.assign({name: taken}), *world[place + 1 :]])
    return changed
