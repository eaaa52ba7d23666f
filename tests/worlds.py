"""Controls of claims on synthetic datasets, for tests that recompute their changes."""

from functools import cache

import xarray as xr
from tests.drawn import given, makers
from tests.titled import shapes

from repdyn.pipeline.run.execute.loading import load_function

FEW = ("seed", "pair", "run", "draw", "trial", "neuron", "block", "wait_draw", "resample", "epoch", "frame")


def data_of(study, id):
    """Datasets of a claim with recorded shapes and synthetic numbers, which tests may change."""
    made = given(study, makers(study, "claims")[id], shapes(study))
    return {name: data.copy(deep=True) for name, data in made.items() if isinstance(data, xr.Dataset)}


@cache
def claim_of(study, id):
    return load_function(study, makers(study, "claims")[id].path)


@cache
def own_data(study, id):
    """Read-only synthetic datasets of a claim with at most five draws of each kind."""
    drawn = data_of(study, id)
    return {name: data.isel({dim: slice(5) for dim in FEW if dim in data.dims}) for name, data in drawn.items()}


def world(study, id, part="", given=None):
    """Datasets of a claim, unchanged and as changed by the control of one of its parts."""
    claim, given = claim_of(study, id), given or own_data(study, id)
    before = tuple(given[name] for name in claim.data)
    kept = [data if isinstance(data, dict) else data.copy(deep=True) for data in before]
    after = claim.controls[part].data(*before)
    for own, old in zip(before, kept, strict=True):
        assert isinstance(own, dict) or own.identical(old), "a control leaves the data that it takes as they are"
    return before, after if isinstance(after, tuple) else (after,)


def changed(before, after):
    """Names of the variables and coordinates that a control changes."""
    return {str(name) for name in before.variables if not before[name].variable.equals(after[name].variable)}
