"""Every experiment with small settings equals its recording, variable by variable.

After an intended change of a dataset: `python -m tests.small`, and review the diff; after a change of settings or
rules: `python -m tests.small declared`.
"""

import json

import numpy as np
import pytest
from tests.drawn import alike, difference, golden, read
from tests.shapes import files, followed, shape
from tests.small import maker, members, text_of

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
    """Also, every argument of its job is recorded, its shape is that on which figures, tables and claims are tested,
    and random draws differ: a stream without the draw in its key counts one as several.
    """
    study = file.split("/")[0]
    wanted, lines = golden(study, "experiments")[file], text_of(file, folder)
    same = len(wanted) == len(lines) and all(map(alike, lines, wanted))
    assert same, difference(wanted, lines)
    data, (_, member), recorded = datasets.read(folder / file), maker(file), read(study)
    assert json.loads(data.attrs["settings"]) == {key: member[key] for key in ("seed", "settings", "arguments")}
    origin = (data.attrs["study"], data.attrs["experiment"], data.attrs["seed"])
    assert origin == (study, member["function"], member["seed"])
    assert file not in recorded or followed(recorded[file], shape(data)) == recorded[file], "python -m tests.shapes"
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
