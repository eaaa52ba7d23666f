"""Trials of every experiment of a finished run: they differ from each other, and none depends on how many there are."""

import json

import numpy as np
import pytest
import xarray as xr

from repdyn.base import datasets
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.kinds import simulate

pytestmark = pytest.mark.slow
TRIALS = ("seed", "trial", "draw", "network")  # dimensions along which everything but the random numbers is the same
COUNTS = {"seeds": "seed", "trials": "trial", "draws": "draw"}  # a setting and the dimension that it counts
LEAST = 2  # trials that settings accept
TOGETHER = [  # all draws wait row by row, or come as one array, from one stream
    "experiments.full_rank:rows_to_full_rank: y",
    "experiments.well_posedness:well_posedness: change",
    "experiments.well_posedness:well_posedness: distance",
]
WITHIN = "parameters_of"  # a setting that counts some of the trials


def simulations(run):
    """Members of the run's jobs that made a dataset."""
    return [
        member
        for record in records.of_run("smoke", run)
        for member in record["job"]["members"]
        if record["job"]["kind"] == "simulate"
    ]


def test_trials_differ_from_each_other(smoke_run):
    """One seed for all trials, or one trial copied, is a variable that is equal in the first two."""
    seen, equal = 0, []
    for file in sorted((smoke_run / "results/smoke").rglob("data/**/*.nc")):
        data = datasets.read(file)
        for dim in (name for name in TRIALS if data.sizes.get(name, 0) > 1):
            varying = [
                name for name, variable in data.data_vars.items() if dim in variable.dims and variable.dtype.kind == "f"
            ]
            alike = [name for name in varying if data[name].isel({dim: 0}).equals(data[name].isel({dim: 1}))]
            seen += bool(varying)
            if varying and len(alike) == len(varying):
                equal.append(f"{file.name}: {dim}")
    assert seen > 30
    assert equal == []


def test_a_trial_does_not_depend_on_how_many_there_are(smoke_run, tmp_path):
    """All trials but the last, run without it, have the numbers that they had with it, to the last bit."""
    tried, other = [], []
    (tmp_path / "run").symlink_to(smoke_run / "results/smoke")
    for member in simulations(smoke_run):
        for count, dim in COUNTS.items():
            most = member["settings"].get("settings", {}).get(count)
            many = datasets.read(smoke_run / "results/smoke" / member["outputs"][0])
            if not isinstance(most, int) or most <= LEAST or many.sizes.get(dim) != most:
                continue
            fewer = without_the_last(member, count, tmp_path / f"{len(tried)}.nc")
            tried.append(member["function"])
            other += [
                f"{member['function']}: {name}"
                for name, variable in fewer.data_vars.items()
                if dim in variable.dims and not equal(variable, many[name].isel({dim: slice(most - 1)}))
            ]
    assert len(tried) >= 8, tried
    assert other == TOGETHER


def without_the_last(member, count, output):
    """The dataset of one trial less."""
    settings = member["settings"]["settings"]
    lower = {count: settings[count] - 1}
    if WITHIN in settings:
        lower[WITHIN] = min(settings[WITHIN], lower[count])
    fewer = {"settings": member["settings"] | {"settings": settings | lower}}
    simulate.run(json.loads(json.dumps(member | fewer | {"outputs": [str(output)]})), output.parent / "run", None)
    with xr.open_dataset(output) as data:
        return data.load()


def equal(first, other):
    return np.array_equal(first.values, other.values, equal_nan=first.dtype.kind == "f")
