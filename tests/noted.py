"""The note of a claim on synthetic datasets, for tests that recompute its numbers."""

import warnings
from functools import cache

import xarray as xr
from tests.drawn import NARROW, given, makers, read

from repdyn.pipeline.run.execute.loading import load_function


@cache
def _shapes(study: str) -> dict[str, dict]:
    return read(study)


def data_of(study: str, id: str, *, narrow: bool = False) -> dict[str, xr.Dataset]:
    """Datasets of a claim with recorded shapes and synthetic numbers; narrow ones leave few claims open."""
    made = given(study, makers(study, "claims")[id], _shapes(study), NARROW if narrow else 1.0)
    return {name: data.copy(deep=True) for name, data in made.items() if isinstance(data, xr.Dataset)}


def note_of(study: str, id: str, data: dict[str, xr.Dataset]) -> str:
    """What the check of a claim says of these datasets beside its verdict."""
    called = load_function(study, makers(study, "claims")[id].path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return called(*(data[name] for name in called.data)).note
