"""Trainings killed (SIGKILL) right after a checkpoint: resumed, their result is the uninterrupted one's."""

import shutil
import signal

import numpy as np
import pytest
import yaml
from tests.conftest import SMOKE
from tests.dag.declared import copy_sources, declared
from tests.faults.interrupted import run
from tests.faults.test_faults import full_disk

pytestmark = pytest.mark.slow
NARROW = {"dimension": 4, "points": 20, "width": 8, "hidden": 6}
SMALL = {
    "run": {"name": "killed", "device": "cpu"},
    "leaky_resnets": {
        "trained": NARROW | {"first_steps": 10, "effective_depths": [2, 3, 4], "layers": 6, "steps": 15, "seeds": 2}
    },
    "universality": {"blobs": {"positions": 4, "looks": 3, "runs": {"high": {"units": 10, "epochs": 20}}}},
    "across_papers": {
        "two_points": {"width": 8, "steps": 40, "moments": 6},
        "digits": {"steps": 12, "moments": 5},
        "odd_batch": {"width": 8, "depth": 4, "steps": 4, "batch": 9},
    },
}
KILLS = {
    "bn_decomposed/point_neurons": 7,
    "bn_mean_field/descent": 9,
    "leaky_resnets/trained-block0": 7,
    "universality/blobs": 12,
    "across_papers/training": 7,
}
"""Job -> checkpoint after which it is killed: in the middle, of a job of several functions in a later one.

One job of each way in which experiments write checkpoints; what a checkpoint holds of each experiment, and that it is
read, is in tests/test_more_trials.py.
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A checkout whose job files are those of small settings, with the images made."""
    folder = copy_sources(tmp_path_factory.mktemp("killed") / "checkout")
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALL))
    jobs = declared(folder, SMOKE, "small.yaml")
    done = run(folder, 0, "logs/killed/images.job.json")
    assert done.returncode == 0, done.stderr
    return folder, jobs


def kept_trials(folder, name):
    """Files of the trials that a job's study has finished or begun."""
    return list((folder / ".cache/trials" / name.partition("/")[0]).glob("*/*/*.npz"))


def job_file(name):
    return f"logs/killed/{name}.job.json"


def prepare(folder, jobs, name):
    """Creates the inputs of a job by running their jobs."""
    for other, made in jobs.outputs.items():
        if {*made} & {*jobs.inputs[name]} and not all((folder / path).is_file() for path in made):
            prepare(folder, jobs, other)
            done = run(folder, 0, job_file(other))
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", KILLS)
def test_killed_job_resumes_with_identical_result(place, name):
    folder, jobs = place
    outputs = [folder / path for path in jobs.outputs[name]]
    prepare(folder, jobs, name)
    killed = run(folder, KILLS[name], job_file(name))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert kept_trials(folder, name)
    again = run(folder, 0, job_file(name))
    assert again.returncode == 0, again.stderr
    assert "finished trials: " in again.stderr
    assert not any("unfinished" in str(np.load(file)["seal"][0]) for file in kept_trials(folder, name))
    resumed = [output.read_bytes() for output in outputs]
    shutil.rmtree(folder / ".cache/trials")
    whole = run(folder, 0, job_file(name))
    assert whole.returncode == 0, whole.stderr
    assert "finished trials: " not in whole.stderr
    assert [output.read_bytes() for output in outputs] == resumed


def test_disk_full_while_writing_the_result(place):
    """The job's finished trials are cached; with free space the same command resumes."""
    folder, jobs = place
    name = "leaky_resnets/trained-block0"
    compiled = run(folder, 0, job_file(name))  # compiled code is larger than the disk
    assert compiled.returncode == 0, compiled.stderr
    for path in jobs.outputs[name]:
        (folder / path).unlink(missing_ok=True)
    shutil.rmtree(folder / ".cache/trials", ignore_errors=True)
    done = run(folder, 0, job_file(name), preexec_fn=full_disk(20_000))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr.splitlines()[-1]
    trials = [file.stat().st_size for file in kept_trials(folder, name)]
    assert trials
    assert all(0 < size <= 20_000 for size in trials)
    again = run(folder, 0, job_file(name))
    assert again.returncode == 0, again.stderr
    assert f"finished trials: {len(trials)} read" in again.stderr
