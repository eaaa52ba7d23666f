"""Every training job killed (SIGKILL) right after a checkpoint: resumed, its result is the uninterrupted one's."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.conftest import HANGING, SMOKE
from tests.dag.declared import copy_sources, declared
from tests.faults.test_places import full_disk

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study

pytestmark = pytest.mark.slow
NARROW = {"dimension": 4, "points": 20, "width": 8, "hidden": 6}
SHORT = {"seeds": 2, "epochs": 2400, "every": 400}
XOR = ("low_as_printed", "low", "intermediate", "high", "two_layers", "relu_low")
XOR_ADAM = ("adam_low", "adam_intermediate", "adam_high", "adam_two_layers")
SMALL = {
    "run": {"name": "killed", "device": "cpu"},
    "leaky_resnets": {
        "trained": NARROW | {"first_steps": 10, "effective_depths": [2, 3, 4], "layers": 6, "steps": 15, "seeds": 2},
        "paper_settings": NARROW | {"layers": 8, "records": [10, 20, 30], "descent_steps": 5},
        "criticality": NARROW | {"first_steps": 10, "layers": 5, "refinement_steps": 15, "steps": [5, 10, 20]},
        "discretized": {"dimension": 4, "points": 20, "width": 8, "inner": [3, 2], "steps": 20},
    },
    "universality": {
        "architectures": SHORT | {"rows": ["default", "tanh", "dropout"]},
        "default_network": SHORT | {"units": 10},
        "default_ensemble": SHORT | {"units": 10},
        "printed_data": SHORT,
        "final_distances": SHORT | {"rows": ["default", "tanh"], "epochs": 300, "every": 100},
        "adam_runs": {"seeds": 2, "epochs": 40},
        "xor": {"looks": 4, "runs": {name: {"units": 10, "epochs": 20} for name in (*XOR, *XOR_ADAM)}},
        "blobs": {"positions": 4, "looks": 3, "runs": {"high": {"units": 10, "epochs": 20}}},
        "image_training": {"runs": {name: {"units": 10, "steps": 100} for name in ("sgd", "adam")}}
        | {"stored_steps": [0, 25, 100], "parameters_at": [0, 100]},
    },
    "across_papers": {
        "two_points": {"width": 8, "steps": 40, "moments": 6},
        "digits": {"steps": 12, "moments": 5},
        "odd_batch": {"width": 8, "depth": 4, "steps": 4, "batch": 9},
    },
}
KILLS = {
    "bn_decomposed/ablation": 2,
    "bn_decomposed/random_networks": 17,
    "bn_decomposed/point_neurons": 7,
    "bn_decomposed/gaussian_layers": 11,
    "bn_decomposed/full_rank": 9,
    "bn_decomposed/tree_limits": 7,
    "bn_decomposed/odd_point": 4,
    "bn_decomposed/largest_norm": 4,
    "bn_mean_field/propagation": 9,
    "bn_mean_field/propagation_distances": 9,
    "bn_mean_field/descent": 9,
    "bn_mean_field/features": 9,
    "leaky_resnets/exact": 20,
    "truncation_flow/general_flow": 2,
    "leaky_resnets/trained-block0": 7,
    "leaky_resnets/discretized-block0": 3,
    "leaky_resnets/near_critical": 9,
    "leaky_resnets/measures": 9,
    "universality/default_network": 5,
    "universality/table_1_networks": 5,
    "universality/final_distances": 9,
    "universality/fits": 3,
    "universality/xor_and_images": 25,
    "universality/blobs": 12,
    "across_papers/training": 7,
}
"""Job -> checkpoint after which it is killed: in the middle, of a job of several functions in a later one."""


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


def run(folder, number, *files, **more):
    script = Path(__file__).with_name("interrupted.py")
    words = [sys.executable, str(script), str(number), *files]
    own = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        words, cwd=folder, env=os.environ | own, capture_output=True, text=True, timeout=HANGING, **more
    )


def prepare(folder, jobs, name):
    """Makes what a job reads, by the jobs that make it."""
    for other, made in jobs.outputs.items():
        if {*made} & {*jobs.inputs[name]} and not all((folder / path).is_file() for path in made):
            prepare(folder, jobs, other)
            done = run(folder, 0, job_file(other))
            assert done.returncode == 0, done.stderr


def test_every_job_with_checkpoints_is_killed_here(place):
    _, jobs = place
    functions = {f.root: f.parameters for study in STUDIES for f in read_study(study).experiments.values()}
    kept = set()
    for name, text in jobs.texts.items():
        members = [member for member in json.loads(text)["members"] if "paper" in member]
        if any("checkpoint" in functions[f"repdyn.{m['study']}.{m['function']}"] for m in members):
            kept.add(name)
    elsewhere = {name for name in kept if name.startswith("bn_decomposed/training-")}  # test_interruptions
    assert kept - elsewhere == set(KILLS)


@pytest.mark.parametrize("name", KILLS)
def test_a_killed_job_resumes_and_equals_the_uninterrupted_one(place, name):
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
    shutil.rmtree(folder / f"logs/killed/{name}.log.kept")
    shutil.rmtree(folder / ".cache/trials")
    whole = run(folder, 0, job_file(name))
    assert whole.returncode == 0, whole.stderr
    assert "finished trials: " not in whole.stderr
    assert [output.read_bytes() for output in outputs] == resumed


def on_a_full_disk(folder, size):
    """A job that can write no file above a size, once it has failed with one line."""
    done = run(folder, 0, job_file("leaky_resnets/trained-block0"), preexec_fn=full_disk(size))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr.splitlines()[-1]
    return kept_trials(folder, "leaky_resnets/trained")


def test_a_disk_too_full_for_compiled_code(place):
    folder, jobs = place
    for path in jobs.outputs["leaky_resnets/trained-block0"]:
        (folder / path).unlink(missing_ok=True)
    shutil.rmtree(folder / "logs/killed/leaky_resnets/trained-block0.log.kept", ignore_errors=True)
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    on_a_full_disk(folder, 20_000)


def test_a_disk_that_fills_at_the_result(place):
    """The job keeps what it had; with room the same command resumes."""
    folder, jobs = place
    compiled = run(folder, 0, job_file("leaky_resnets/trained-block0"))  # compiled code is larger than the disk
    assert compiled.returncode == 0, compiled.stderr
    for path in jobs.outputs["leaky_resnets/trained-block0"]:
        (folder / path).unlink(missing_ok=True)
    shutil.rmtree(folder / "logs/killed/leaky_resnets/trained-block0.log.kept", ignore_errors=True)
    shutil.rmtree(folder / ".cache/trials", ignore_errors=True)
    trials = [file.stat().st_size for file in on_a_full_disk(folder, 20_000)]
    assert trials
    assert all(0 < size <= 20_000 for size in trials)
    again = run(folder, 0, job_file("leaky_resnets/trained-block0"))
    assert again.returncode == 0, again.stderr
    assert f"finished trials: {len(trials)} read" in again.stderr
