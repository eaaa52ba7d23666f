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


def taken_for(dim: str, source: str, label: str) -> Change:
    """What belongs to `source` along a dimension taken for what belongs to `label`, which is lost."""

    def taken(data: xr.Dataset) -> xr.Dataset:
        labels = data[dim].values
        order = [source if name == label else name for name in labels.tolist()]
        return data.sel({dim: order}).assign_coords({dim: labels})

    return taken
