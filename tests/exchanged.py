"""Which variable of a dataset could stand for another one that a claim reads without a change of any verdict."""

import itertools
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr

from repdyn.base.claims import Claim
from repdyn.base.errors import RepdynError

World = Sequence[xr.Dataset]


def unnoticed(claim: Claim, worlds: Sequence[World]) -> list[str]:
    """Pairs "other for name" of the same shape that leave the verdicts in all worlds as they are.

    Variables that change no verdict where they have no numbers are not read, or only told.
    """
    found, pairs = [], [(world, _status(claim, world)) for world in worlds]

    def is_unnoticed(place: int, name: str, other: str | None) -> bool:
        for number, (world, status) in enumerate(pairs):
            if _status(claim, _with(world, place, name, other)) != status:
                pairs.insert(0, pairs.pop(number))  # soonest next time
                return False
        return True

    asked = _asked(claim, worlds[0])
    for place, data in enumerate(worlds[0]):
        read = [name for name in data.data_vars if name in asked and not is_unnoticed(place, name, None)]
        for name, other in itertools.product(read, data.data_vars):
            one, two = data[name], data[other]
            alike = (one.dims, one.shape, one.dtype.kind) == (two.dims, two.shape, two.dtype.kind)
            if name != other and alike and is_unnoticed(place, name, other):
                found.append(f"{other} for {name}")
    return found


def _asked(claim: Claim, world: World) -> set[object]:
    """What a claim takes out of its datasets, by name."""
    found, take = set(), xr.Dataset.__getitem__

    def noted(data: xr.Dataset, key: Any) -> Any:
        found.update([key] if isinstance(key, str) else [])
        return take(data, key)

    with patch.object(xr.Dataset, "__getitem__", noted):
        _status(claim, world)
    return found


def _status(claim: Claim, world: World) -> str:
    try:
        return claim(*world).status
    except (RepdynError, ValueError, KeyError, ArithmeticError) as error:
        return type(error).__name__


def _with(world: World, place: int, name: str, other: str | None) -> World:
    """A world with another variable under a name, or with none."""
    data = world[place]
    taken = data[other].variable if other else xr.full_like(data[name], np.nan, dtype=float)
    return [*world[:place], data.assign({name: taken}), *world[place + 1 :]]
