"""Every training job killed (SIGKILL) right after a checkpoint: resumed, its result is the uninterrupted one's."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.conftest import ROOT, SMOKE
from tests.faults.test_places import full_disk

from repdyn.__main__ import main
from repdyn.pipeline.ask import dryrun

pytestmark = pytest.mark.pipeline
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
        "discretised": {"dimension": 4, "points": 20, "width": 8, "inner": [3, 2], "steps": 20},
    },
    "universality": {
        "architectures": SHORT | {"rows": ["default", "tanh", "dropout"]},
        "default_network": SHORT | {"units": 10},
        "default_ensemble": SHORT | {"units": 10},
        "printed_data": SHORT,
        "final_distances": SHORT | {"epochs": 300},
        "adam_runs": {"seeds": 2, "epochs": 40},
        "xor": {"looks": 4, "runs": {name: {"units": 10, "epochs": 20} for name in (*XOR, *XOR_ADAM)}},
        "blobs": {"positions": 4, "looks": 3, "runs": {"high": {"units": 10, "epochs": 20}}},
        "image_training": {"runs": {name: {"units": 10, "epochs": 4} for name in ("sgd", "adam")}, "passes": [0, 1, 4]}
        | {"parameters_at": [0, 4]},
    },
    "across_papers": {
        "two_points": {"width": 8, "steps": 40, "moments": 6},
        "digits": {"steps": 12, "moments": 5},
        "odd_batch": {"width": 8, "depth": 4, "steps": 4, "batch": 9},
    },
}
KILLS = {
    "leaky_resnets/trained-block0": 7,
    "leaky_resnets/discretised-block0": 3,
    "leaky_resnets/near_critical": 9,
    "universality/default_network": 5,
    "universality/table_1_networks": 5,
    "universality/xor_and_images": 25,
    "universality/blobs": 12,
    "across_papers/training": 7,
}
"""Job -> checkpoint after which it is killed: in the middle, of a job of several functions in a later one."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the images made."""
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def planned(place):
    """The workflow's own commands at small settings, by job."""
    overlay = place / "small.yaml"
    overlay.write_text(yaml.safe_dump(SMALL))
    jobs = {job.name: job for job in dryrun.planned(ROOT, ["--configfile", str(ROOT / SMOKE), str(overlay)])}
    (images,) = jobs["images"].outputs
    job = json.dumps({"source": "digits", "mnist_folder": None, "mnist_mirrors": []})
    assert main(["images", "--job", job, "--output", str(place / images)]) == 0
    return jobs


def without(words, *names):
    """A command without some of its options of one value."""
    left = list(words)
    for name in names:
        del left[left.index(name) : left.index(name) + 2]
    return left


def run(place, number, *commands, **more):
    script = Path(__file__).with_name("interrupted.py")
    words = [sys.executable, str(script), str(number), json.dumps(commands)]
    return subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=300, **more)


def test_every_job_with_checkpoints_is_killed_here(planned):
    kept = {name for name, job in planned.items() if "--checkpoints" in job.arguments}
    elsewhere = {name for name in kept if name.startswith("bn_decomposed/training-")}  # test_interruptions
    assert kept - elsewhere == set(KILLS)


@pytest.mark.parametrize("name", KILLS)
def test_a_killed_job_goes_on_and_equals_the_uninterrupted_one(place, planned, name):
    job = planned[name]
    command = without(job.arguments, "--cost")
    whole = [word.replace("results/", "whole/") if word in job.outputs else word for word in command]
    killed = run(place, KILLS[name], command)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list((place / f"{job.log}.checkpoints").glob("*/*.npz"))
    again = run(place, 0, command, without(whole, "--checkpoints"))
    assert again.returncode == 0, again.stderr
    assert "resuming: " in again.stderr
    for output in job.outputs:
        assert (place / output).read_bytes() == (place / output.replace("results/", "whole/")).read_bytes()
    assert not (place / f"{job.log}.checkpoints").exists()


def on_a_full_disk(place, job, logs, size):
    """The command of a job that can write no file above a size, once it has failed with one line."""
    command = [word.replace("logs/", logs) for word in without(job.arguments, "--cost")]
    done = run(place, 0, command, preexec_fn=full_disk(size))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr.splitlines()[-1]
    return command


def test_a_disk_that_fills_at_the_result(place, planned):
    """The job keeps what it had; with room the same command goes on from there."""
    job = planned["leaky_resnets/trained-block0"]
    command = on_a_full_disk(place, job, "full/", 20_000)
    (kept,) = (place / f"{job.log.replace('logs/', 'full/')}.checkpoints").iterdir()
    trials = [file.stat().st_size for file in kept.iterdir()]
    assert all(0 < size <= 20_000 for size in trials)
    again = run(place, 0, command)
    assert again.returncode == 0, again.stderr
    assert f"resuming: {len(trials)} finished trials in {kept.relative_to(place)}" in again.stderr
    assert not kept.exists()


def test_a_disk_that_fills_at_a_checkpoint(place, planned):
    """Nothing half-written stays."""
    on_a_full_disk(place, planned["leaky_resnets/trained-block0"], "small/", 2000)
    assert [file for file in (place / "small").rglob("*") if file.is_file()] == []
