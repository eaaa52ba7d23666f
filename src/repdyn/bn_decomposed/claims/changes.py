"""Changes that several controls make to a claim's datasets, beside those of `base.controls`."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from repdyn.base.controls import Spoil

Change = Callable[[xr.Dataset], xr.Dataset]


def in_dataset(place: int, change: Change) -> Spoil:
    """The change in one of a claim's datasets, the others as they are."""

    def changed(*datasets: xr.Dataset) -> tuple[xr.Dataset, ...]:
        return *datasets[:place], change(datasets[place]), *datasets[place + 1 :]

    return changed


def taken_for(dim: str, source: str, label: str) -> Change:
    """What belongs to `source` along a dimension taken for what belongs to `label`, which is lost."""

    def taken(data: xr.Dataset) -> xr.Dataset:
        labels = data[dim].values
        order = [source if name == label else name for name in labels.tolist()]
        return data.sel({dim: order}).assign_coords({dim: labels})

    return taken
