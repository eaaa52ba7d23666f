"""Every experiment with small settings equals its recording, variable by variable.

After an intended change of a dataset: `python -m tests.small`, and review the diff; after a change of settings or
rules: `python -m tests.small declared`.
"""

import json

import numpy as np
import pytest
from tests.drawn import alike, difference, golden, read
from tests.shapes import files, followed, shape
from tests.small import make, maker, members, text_of

from repdyn.base import datasets
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study

FILES = [pytest.param(file, marks=pytest.mark.slow) for study in STUDIES for file in members(study)]
"""Recordings show that something changed; the tests of each study, which know what is right, come first."""

INDEPENDENT = ("seed", "trial", "draw", "resample", "group", "configuration")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Datasets created so far, which others read."""
    return tmp_path_factory.mktemp("small")


@pytest.mark.parametrize("file", FILES)
def test_small_experiments_equal_their_recordings(file, folder):
    """Also, every argument of its job is recorded."""
    study = file.split("/")[0]
    wanted, lines = golden(study, "experiments")[file], text_of(file, folder)
    same = len(wanted) == len(lines) and all(map(alike, lines, wanted))
    assert same, difference(wanted, lines)
    says, (_, member) = datasets.read(folder / file).attrs, maker(file)
    assert json.loads(says["settings"]) == {key: member[key] for key in ("seed", "settings", "arguments")}
    assert (says["study"], says["experiment"], says["seed"]) == (study, member["function"], member["seed"])


@pytest.mark.parametrize("file", FILES)
def test_recorded_shapes_are_those_of_the_experiments(file, folder):
    """Figures, tables and claims are tested on variables, dimensions, units and types that there are."""
    recorded = read(file.split("/")[0])
    data = datasets.read(folder / file) if (folder / file).is_file() else make(file, folder)
    assert file not in recorded or followed(recorded[file], shape(data)) == recorded[file], "python -m tests.shapes"


@pytest.mark.parametrize("file", FILES)
def test_random_draws_differ(file, folder):
    """A stream without the draw in its key gives all draws the same numbers, so that one is counted as several."""
    data = datasets.read(folder / file) if (folder / file).is_file() else make(file, folder)
    for dim in set(INDEPENDENT).intersection(data.dims):
        held = [part.transpose(dim, ...).values for part in data.data_vars.values() if dim in part.dims]
        numbers = [values.reshape(len(values), -1) for values in held if values.dtype.kind == "f" and np.ptp(values)]
        if numbers:
            assert len(np.unique(np.hstack(numbers), axis=0)) == data.sizes[dim], dim


@pytest.mark.parametrize("study", STUDIES)
def test_every_used_dataset_has_a_recorded_shape(study):
    assert list(read(study)) == files(study), "python -m tests.shapes"


@pytest.mark.parametrize("study", STUDIES)
def test_every_experiment_is_recorded(study):
    assert {member["function"] for member in members(study).values()} == {
        experiment.path for experiment in read_study(study).experiments.values()
    }
    assert list(golden(study, "experiments")) == list(members(study))
    assert all(len(text) > 3 for text in golden(study, "experiments").values())
