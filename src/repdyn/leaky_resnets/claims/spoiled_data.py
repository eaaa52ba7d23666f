"""Changes of data that controls of several claims make."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from repdyn.base.controls import false_world, replace_variables

Change = Callable[[xr.Dataset], xr.Dataset]
FIRST_LAYER = false_world(
    "spectra of the first layer",
    replace_variables(separation_place="first_separation_place", separation_step="first_separation_step"),
)


def in_dataset(position: int, change: Change) -> Callable[..., tuple[xr.Dataset, ...]]:
    """The change in one of the datasets that a claim reads; the others stay as they are."""

    def changed(*datasets: xr.Dataset) -> tuple[xr.Dataset, ...]:
        return tuple(change(data) if at == position else data for at, data in enumerate(datasets))

    return changed


def reversed_along(dim: str) -> Change:
    """The networks of the smallest coordinate under the name of the largest, and so on."""

    def reverse(measures: xr.Dataset) -> xr.Dataset:
        labels = measures[dim].values
        return measures.sel({dim: labels[::-1]}).assign_coords({dim: labels})

    return reverse


def in_place_of(dim: str, replaced: str, taken: str) -> Change:
    """What belongs to one label in the place of what belongs to another; the label that is taken stays as it is."""

    def change(measures: xr.Dataset) -> xr.Dataset:
        labels = measures[dim].values
        order = [taken if label == replaced else label for label in labels]
        return measures.sel({dim: order}).assign_coords({dim: labels})

    return change
