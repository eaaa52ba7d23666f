"""Invalid settings, blocked folders, full disks, damaged data: one line with what to do, no partial files."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake
from tests.pipeline import jobs_for_tests

from repdyn.pipeline.run.declare.jobs import Job

pytestmark = pytest.mark.slow
IMAGES = {"source": "digits", "split": "test", "mnist_folder": None, "mnist_mirrors": [], "code": "c", "inputs": {}}
DATA = "bn_decomposed/data/orthogonality_gap.nc"
FIGURES = "logs/smoke/bn_decomposed/figures_random_networks.job.json"
SMALL = ["--config", "bn_decomposed={orthogonality_gap: {widths: [8], depth: 20, seeds: 2}}"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with one small dataset."""
    folder = copy_checkout(tmp_path_factory.mktemp("faults") / "checkout")
    done = small(folder, f"results/smoke/{DATA}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def small(folder, target, **run):
    """Snakemake for one target with small settings."""
    return snakemake(folder, "--cores", "1", "--configfile", SMOKE, *SMALL, "--", target, **run)


def full_disk(bytes_left: int):
    """A limit on the size of any file, which a process meets as it would a full disk."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))

    return limit


def job(file, cwd, **run):
    """Runs a job by its file; no bytecode is written, which a full disk would leave truncated in the checkout."""
    command, quiet = [sys.executable, "-m", "repdyn", "run", str(file)], os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=cwd, env=quiet, capture_output=True, text=True, **run)


def fails_in_one_line(done, *words):
    """A job that ended with one line on stderr which has all the words."""
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert [word for word in words if word not in done.stderr] == []


# Settings


def test_invalid_configuration_stops_before_any_job(checkout, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(
        "run:\n  name: broken\ndata: {source: mnist, mnist_folder: /nowhere}\n"
        "bn_decomposed:\n  ablation:\n    widht: 64\n    depth: 1e-3\n"
    )
    done = snakemake(checkout, "--cores", "1", "--configfile", str(overlay), "--", "all")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert [word for word in ("mine.yaml:6", '"widht"', '"width"', "mine.yaml:7", "0.001") if word not in output] == []
    assert not (checkout / "results/broken").exists()


# Folders


@pytest.mark.parametrize("blocked", ["results", "logs"])
def test_file_instead_of_a_folder_is_reported(checkout, tmp_path, blocked):
    (tmp_path / blocked).write_text("in the way")
    elsewhere = ["--snakefile", str(checkout / "Snakefile"), "--directory", str(tmp_path)]
    overlay = ["--configfile", str(checkout / SMOKE), *SMALL]
    done = snakemake(tmp_path, *elsewhere, "--cores", "1", *overlay, "--", f"results/smoke/{DATA}")
    assert done.returncode != 0
    assert blocked in done.stdout + done.stderr
    assert (tmp_path / blocked).read_text() == "in the way"


# Full disks


@pytest.mark.parametrize("bytes_left", [0, 60_000])
def test_full_disk_is_reported_in_one_line_without_partial_files(tmp_path, bytes_left):
    file = jobs_for_tests.write(tmp_path, IMAGES | {"outputs": ["data/images.nc"]}, kind="images", name="images")
    fails_in_one_line(job(file, tmp_path, preexec_fn=full_disk(bytes_left)), "cannot be written")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_run_resumes_after_a_full_disk(checkout):
    """The job fails, its message is in the output, and the next run with free space completes."""
    output = checkout / "results/smoke/data/images.nc"
    done = small(checkout, "results/smoke/data/images.nc", preexec_fn=full_disk(40_000))
    assert done.returncode != 0
    assert "cannot be written" in done.stdout + done.stderr
    assert not output.exists()
    done = small(checkout, "results/smoke/data/images.nc")
    assert done.returncode == 0, done.stdout + done.stderr
    assert output.is_file()


def test_disk_full_while_the_workflow_is_read(checkout):
    """A job file is larger than the limit, Snakemake's own files are not: reported before any job."""
    done = snakemake(
        checkout,
        *("--cores", "1", "--configfile", SMOKE, "--config", "run={name: small}", "--", "results/small/data/images.nc"),
        preexec_fn=full_disk(20_000),
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "File too large" in output
    assert "Traceback" not in output


# Damaged data


def figure_of_the_gap(checkout):
    members = json.loads((checkout / FIGURES).read_text())["members"]
    return next(member for member in members if member["function"].endswith(":orthogonality_gap"))


def test_run_completes_after_truncated_data_are_deleted(checkout):
    data = checkout / "results/smoke" / DATA
    whole = data.read_bytes()
    file = checkout / "logs/smoke/bn_decomposed/alone.job.json"
    file.write_text(Job("smoke", "bn_decomposed/alone", "draw", [figure_of_the_gap(checkout)]).text())
    for length in (0, -100, 100):
        data.write_bytes(whole[:length])
        fails_in_one_line(job(file, checkout), DATA, "delete it")
    data.unlink()
    assert small(checkout, f"results/smoke/{DATA}").returncode == 0
    assert data.read_bytes() == whole
