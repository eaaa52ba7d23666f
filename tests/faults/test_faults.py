"""Broken settings, blocked folders, killed jobs: nothing half-written stays, the next run completes."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("faults") / "checkout")


def test_broken_configuration_stops_before_any_job_and_names_all_problems(checkout, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("run:\n  name: broken\nbn_decomposed:\n  ablation:\n    widht: 64\n    depth: 1e-3\n")
    done = snakemake(checkout, "--cores", "1", "--configfile", str(overlay), "--", "all")
    told = done.stdout + done.stderr
    assert done.returncode != 0
    assert 'unknown key "widht"; did you mean "width"?' in told
    assert '"1e-3"' in told
    assert "mine.yaml:5" in told
    assert "mine.yaml:6" in told
    assert not (checkout / "results/broken").exists()


def test_missing_mnist_folder_is_named(checkout):
    done = snakemake(
        checkout,
        "--cores",
        "1",
        "--config",
        "data={source: mnist, mnist_folder: /nowhere}",
        "run={name: nomnist}",
        "--",
        "results/nomnist/data/images.nc",
    )
    assert done.returncode != 0
    assert "/nowhere" in done.stdout + done.stderr
    assert "Traceback" not in (checkout / "logs/nomnist/images.log").read_text()
    assert not (checkout / "results/nomnist/data/images.nc").exists()


def test_a_file_in_the_place_of_the_results_folder(checkout, tmp_path):
    (tmp_path / "results").write_text("in the way")
    done = snakemake(
        tmp_path,
        "--snakefile",
        str(checkout / "Snakefile"),
        "--directory",
        str(tmp_path),
        "--cores",
        "1",
        "--configfile",
        str(checkout / SMOKE),
        "--",
        "results/smoke/data/images.nc",
    )
    assert done.returncode != 0
    assert "results" in done.stdout + done.stderr
    assert (tmp_path / "results").read_text() == "in the way"


def test_the_command_line_cannot_write_where_a_file_stands(tmp_path):
    (tmp_path / "blocked").write_text("a file")
    command = [
        sys.executable,
        "-m",
        "repdyn",
        "images",
        "--job",
        '{"source": "digits", "mnist_folder": null, "mnist_mirrors": []}',
        "--output",
    ]
    done = subprocess.run(
        [*command, str(tmp_path / "blocked" / "images.nc")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "blocked" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_killed_job_leaves_nothing_and_the_next_run_completes(checkout):
    """SIGKILL to the simulating process in the middle; Snakemake reports it; the same command then completes."""
    target = "results/slow/bn_decomposed/data/ablation.nc"
    settings = "bn_decomposed={ablation: {seeds: 400, width: 512}}"
    arguments = ["--cores", "1", "--configfile", SMOKE, "--config", "run={name: slow}", settings, "--", target]
    running = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    job = wait_for_process(running.pid, "experiments:ablation")
    time.sleep(1.0)
    os.kill(job, signal.SIGKILL)
    told, _ = running.communicate(timeout=60)
    assert running.returncode != 0, told
    folder = (checkout / target).parent
    assert [path.name for path in folder.iterdir() if path.name != "images.nc"] == [] if folder.exists() else True
    quick = [argument.replace("seeds: 400", "seeds: 2") for argument in arguments]
    done = snakemake(checkout, *quick)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (checkout / target).is_file()


def wait_for_process(parent: int, words: str, seconds: float = 60) -> int:
    """Process id of the Python process below `parent` whose command line holds `words`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            pid, _, command = line.strip().partition(" ")
            if words in command and "-m repdyn" in command and "bash" not in command and int(pid) != parent:
                return int(pid)
        time.sleep(0.1)
    raise AssertionError(f"no process with {words!r} within {seconds} s")
