"""Full disks, files in place of folders, damaged data: one line that says what to do, nothing half-written."""

import json
import os
import resource
import shutil
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
SMALL = ["--config", "bn_decomposed={orthogonality_gap: {widths: [8], depth: 20, seeds: 2}}"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with one small dataset made."""
    folder = copy_checkout(tmp_path_factory.mktemp("places") / "checkout")
    done = small(folder, f"results/smoke/{DATA}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def small(folder, target, *options, **run):
    """Snakemake for one target with small settings."""
    return snakemake(folder, *options, "--cores", "1", "--configfile", SMOKE, *SMALL, "--", target, **run)


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


@pytest.mark.parametrize("bytes_left", [0, 5_000, 60_000])
def test_a_full_disk_is_told_in_one_line_and_nothing_half_written_stays(tmp_path, bytes_left):
    file = jobs_for_tests.write(tmp_path, IMAGES | {"outputs": ["data/images.nc"]}, kind="images", name="images")
    done = job(file, tmp_path, preexec_fn=full_disk(bytes_left))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_a_disk_that_fills_during_a_figure(checkout):
    file = "logs/smoke/bn_decomposed/figures_random_networks.job.json"
    drawn = checkout / "results/smoke/bn_decomposed/figures"
    member = json.loads((checkout / file).read_text())["members"]
    (figure,) = [part for part in member if part["function"].endswith(":orthogonality_gap")]
    alone = jobs_for_tests.write(checkout, figure, kind="draw", name="bn_decomposed/alone")
    shutil.copytree(checkout / "results/smoke/bn_decomposed/data", checkout / "results/mine/bn_decomposed/data")
    drawn = checkout / "results/mine/bn_decomposed/figures"
    done = job(alone, checkout, preexec_fn=full_disk(3_000))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr
    assert [path.name for path in drawn.iterdir() if path.stat().st_size >= 3_000] == []
    assert job(alone, checkout).returncode == 0
    assert all((drawn / f"orthogonality_gap.{suffix}").stat().st_size for suffix in ("svg", "png", "csv", "json"))


def test_a_full_disk_under_snakemake_and_the_same_command_after_it(checkout):
    """The job fails, its message stands in the output, the next run with room completes."""
    output = checkout / "results/smoke/data/images.nc"
    done = small(checkout, "results/smoke/data/images.nc", preexec_fn=full_disk(40_000))
    assert done.returncode != 0
    assert "cannot be written" in done.stdout + done.stderr
    assert not output.exists()
    done = small(checkout, "results/smoke/data/images.nc")
    assert done.returncode == 0, done.stdout + done.stderr
    assert output.is_file()


def test_a_file_in_the_place_of_the_logs(checkout, tmp_path):
    (tmp_path / "logs").write_text("in the way")
    elsewhere = ["--snakefile", str(checkout / "Snakefile"), "--directory", str(tmp_path)]
    overlay = ["--configfile", str(checkout / SMOKE), *SMALL]
    done = snakemake(tmp_path, *elsewhere, "--cores", "1", *overlay, "--", f"results/smoke/{DATA}")
    assert done.returncode != 0
    assert "logs" in done.stdout + done.stderr
    assert (tmp_path / "logs").read_text() == "in the way"


@pytest.mark.parametrize("damage", [0, 100, -100])
def test_truncated_data_is_told_with_the_way_out(checkout, damage):
    """The job that reads it fails in one line; deleted as that line says, the same command completes."""
    data = checkout / "results/smoke" / DATA
    whole = data.read_bytes()
    data.write_bytes(whole[:damage])
    (figure,) = [
        part
        for part in json.loads((checkout / "logs/smoke/bn_decomposed/figures_random_networks.job.json").read_text())[
            "members"
        ]
        if part["function"].endswith(":orthogonality_gap")
    ]
    file = checkout / "logs/smoke/bn_decomposed/alone.job.json"
    file.write_text(Job("smoke", "bn_decomposed/alone", "draw", [figure]).text())
    done = job(file, checkout)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{DATA}: not a readable netCDF file" in done.stderr
    assert "delete it and run the same command again" in done.stderr
    data.unlink()
    if damage == 100:
        assert small(checkout, f"results/smoke/{DATA}").returncode == 0
        assert data.read_bytes() == whole
    data.write_bytes(whole)


def test_data_of_another_program_is_refused(tmp_path):
    import xarray as xr

    path = tmp_path / "results/mine" / DATA
    path.parent.mkdir(parents=True)
    xr.Dataset({"a": ("i", [1.0])}).to_netcdf(path)
    figure = jobs_for_tests.gap(
        function="figures:orthogonality_gap", outputs=["bn_decomposed/figures/orthogonality_gap.svg"]
    )
    member = figure | {"inputs": {"orthogonality_gap": DATA}}
    done = job(jobs_for_tests.write(tmp_path, member, kind="draw"), tmp_path)
    assert done.returncode == 1
    assert "not a dataset of this pipeline" in done.stderr
    assert not list(tmp_path.rglob("*.svg"))
