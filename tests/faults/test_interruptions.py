"""Jobs and Snakemake killed in the middle of training, stale locks, two runs at once: nothing is lost but time."""

import json
import shutil

import pytest
from tests.conftest import HANGING, SMOKE, copy_checkout, snakemake
from tests.faults.processes import job, jobs, kill, start, until

pytestmark = pytest.mark.slow
RATES = {"bn": [0.1], "default": [0.1], "he": [0.1]}
TRAINING = json.dumps({"depths": [16], "epochs": 10, "rank_points": 64, "rates": RATES, "seeds": 8, "width": 32})
NAME = "bn_decomposed/data/training/bn.nc"


def arguments(run: str) -> list[str]:
    """Snakemake's arguments for one training job under a run's name."""
    config = [f"run={{name: {run}}}", f"bn_decomposed={{training: {TRAINING}}}"]
    return ["--cores", "1", "--configfile", SMOKE, "--config", *config, "--", f"results/{run}/{NAME}"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the images made and the same training finished without interruption."""
    folder = copy_checkout(tmp_path_factory.mktemp("interrupted") / "checkout")
    done = snakemake(folder, *arguments("whole"))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def finished_trials(checkout) -> int | None:
    """Finished trials of the training; None before there is one."""
    return len(list((checkout / ".cache/trials/bn_decomposed/training").glob("*/[!.]*.npz"))) or None


@pytest.fixture(autouse=True)
def _no_trials(checkout):
    """Removes the trials of other runs, which would be read."""
    shutil.rmtree(checkout / ".cache/trials", ignore_errors=True)


def test_result_is_identical_after_killed_job_and_killed_snakemake(checkout):
    """Bit for bit, in three attempts; the lock of the killed Snakemake is reported, with the remedy."""
    output, log = checkout / "results/killed" / NAME, checkout / "logs/killed/bn_decomposed/training-bn.log"
    running = start(checkout, *arguments("killed"))
    until(lambda: finished_trials(checkout), "no finished trial")
    kill(job(checkout, "logs/killed/bn_decomposed/training-bn"))
    messages, _ = running.communicate(timeout=HANGING)
    assert running.returncode != 0, messages
    assert not output.exists()
    kept = finished_trials(checkout)

    running = start(checkout, *arguments("killed"))
    until(lambda: (finished_trials(checkout) or 0) > kept or None, "no further trial")
    kill(running.pid)  # a crash of the machine takes both
    kill(job(checkout, "logs/killed/bn_decomposed/training-bn"))
    running.communicate(timeout=HANGING)
    assert not output.exists()

    refused = snakemake(checkout, *arguments("killed"))
    assert refused.returncode != 0
    assert "--unlock" in refused.stdout + refused.stderr
    assert snakemake(checkout, "--unlock", *arguments("killed")).returncode == 0
    done = snakemake(checkout, *arguments("killed"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "finished trials: " in log.read_text()
    assert output.read_bytes() == (checkout / "results/whole" / NAME).read_bytes()


def test_second_concurrent_run_is_locked_out(checkout):
    """Under one name the second is rejected and the first completes; under two names both complete."""
    first = start(checkout, *arguments("twice"))
    job(checkout, "logs/twice/bn_decomposed/training-bn")
    refused = snakemake(checkout, *arguments("twice"))
    assert refused.returncode != 0
    assert "lock" in (refused.stdout + refused.stderr).lower()
    assert len(jobs(checkout, "logs/twice/bn_decomposed/training-bn")) <= 1
    beside = snakemake(checkout, *[word.replace(NAME, "data/images.nc") for word in arguments("beside")])
    assert beside.returncode == 0, beside.stdout + beside.stderr
    messages, _ = first.communicate(timeout=HANGING)
    assert first.returncode == 0, messages
    assert (checkout / "results/twice" / NAME).read_bytes() == (checkout / "results/whole" / NAME).read_bytes()
