"""The note of a claim on synthetic datasets, for tests that recompute its numbers."""

from functools import cache

import xarray as xr
from tests.drawn import NARROW, given, makers, read


@cache
def _shapes(study: str) -> dict[str, dict]:
    return read(study)


def data_of(study: str, id: str, *, narrow: bool = False) -> dict[str, xr.Dataset]:
    """Datasets of a claim with recorded shapes and synthetic numbers; narrow ones leave few claims open."""
    made = given(study, makers(study, "claims")[id], _shapes(study), NARROW if narrow else 1.0)
    return {name: data.copy(deep=True) for name, data in made.items() if isinstance(data, xr.Dataset)}
