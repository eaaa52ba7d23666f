"""Broken settings, blocked folders, killed jobs: nothing half-written stays, the next run completes."""

import resource
import subprocess
import sys

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake
from tests.pipeline import jobs_for_tests

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("faults") / "checkout")


def test_broken_configuration_stops_before_any_job_and_names_all_problems(checkout, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("run:\n  name: broken\nbn_decomposed:\n  ablation:\n    widht: 64\n    depth: 1e-3\n")
    done = snakemake(checkout, "--cores", "1", "--configfile", str(overlay), "--", "all")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert 'unknown key "widht"; did you mean "width"?' in output
    assert "depth: 0.001 is not an integer" in output
    assert "mine.yaml:5" in output
    assert "mine.yaml:6" in output
    assert not (checkout / "results/broken").exists()


def make_images(checkout, name, folder):
    data = f"data={{source: mnist, mnist_folder: {folder}}}"
    return snakemake(
        checkout, "--cores", "1", "--config", data, f"run={{name: {name}}}", "--", f"results/{name}/data/images.nc"
    )


def test_a_missing_mnist_folder_is_named_before_any_job(checkout):
    done = make_images(checkout, "nomnist", "/nowhere")
    assert done.returncode != 0
    assert "/nowhere does not exist" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not (checkout / "results/nomnist").exists()


def test_damaged_mnist_files_are_named_in_the_summary(checkout, tmp_path):
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (tmp_path / name).write_text("no images")
    done = make_images(checkout, "damaged", tmp_path)
    assert done.returncode != 0
    _, _, summary = done.stderr.partition(" jobs failed:\n")
    assert summary.splitlines()[0].startswith(f"  error: {tmp_path}")
    assert summary.splitlines()[1] == "    images: logs/damaged/images.log"
    assert "run the same command again" in summary
    assert "Traceback" not in (checkout / "logs/damaged/images.log").read_text()
    assert not (checkout / "results/damaged/data/images.nc").exists()


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
    file = jobs_for_tests.write(tmp_path, jobs_for_tests.gap(outputs=["blocked/gap.nc"]))
    (tmp_path / "results/mine").mkdir(parents=True)
    (tmp_path / "results/mine/blocked").write_text("a file")
    command = [sys.executable, "-m", "repdyn", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "blocked" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("limit", [0, 200], ids=["no file", "no whole dataset"])
def test_a_limit_on_the_size_of_files_is_one_line(tmp_path, limit):
    file = jobs_for_tests.write(tmp_path, jobs_for_tests.gap(outputs=["gap.nc"]))
    done = subprocess.run(
        [sys.executable, "-m", "repdyn", "run", str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "results/mine/gap.nc").exists()


def test_a_limit_on_the_size_of_files_while_the_workflow_is_read(checkout):
    """A job file is larger than the limit, Snakemake's own files are not: told before any job."""
    done = snakemake(
        checkout,
        *("--cores", "1", "--configfile", SMOKE, "--config", "run={name: small}", "--", "results/small/data/images.nc"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "File too large" in output
    assert "Traceback" not in output
