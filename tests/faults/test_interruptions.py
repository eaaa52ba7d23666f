"""Jobs and Snakemake killed in the middle of training, stale locks, two runs at once: nothing is lost but time."""

import json
import shutil

import pytest
from tests.conftest import HANGING, SMOKE, copy_checkout, snakemake
from tests.faults.processes import job, jobs, kill, start, until
from tests.pipeline import jobs_for_tests

from repdyn.base.checkpoints import Store
from repdyn.base.errors import RepdynError
from repdyn.pipeline.run.kinds import simulate as training

pytestmark = pytest.mark.slow
RATES = {"bn": [0.1], "default": [0.1], "he": [0.1]}
TRAINING = json.dumps({"depths": [16], "epochs": 10, "rank_points": 64, "rates": RATES, "seeds": 8, "width": 32})
NAME = "bn_decomposed/data/training/bn.nc"
SETTINGS = {"batch": 64, "depths": [1], "epochs": 5, "rank_points": 64, "rates": RATES, "seeds": 3, "width": 16}


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


def simulate(checkout, tmp_path, output, **changes):
    """A few seconds of training from its job file; the checkpoints' folder is `kept`."""
    member = jobs_for_tests.member(
        function="experiments:training",
        settings={"settings": SETTINGS},
        arguments={"mode": "bn"},
        device="cpu",
        outputs=[output],
    )
    results = tmp_path / "results/mine"
    (results / "data").mkdir(parents=True, exist_ok=True)
    shutil.copy(checkout / "results/whole/data/images.nc", results / "data/images.nc")
    return training.run(member | changes, results, Store(tmp_path / "kept"))


def test_damaged_checkpoints_are_reported_and_computed_again(checkout, tmp_path, capsys):
    simulate(checkout, tmp_path, "a.nc")
    first, *_ = kept = sorted((tmp_path / "kept").glob("*/*/*/*.npz"))
    whole, result = first.read_bytes(), (tmp_path / "results/mine/a.nc").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no archive", b""):
        first.write_bytes(damaged)
        capsys.readouterr()
        simulate(checkout, tmp_path, "a.nc")
        messages = capsys.readouterr().err
        assert f"{first} cannot be read" in messages
        assert f"finished trials: {len(kept) - 1} read" in messages
        assert (tmp_path / "results/mine/a.nc").read_bytes() == result


def test_file_instead_of_the_trial_cache_is_reported(checkout, tmp_path):
    (tmp_path / "kept").write_text("in the way")
    with pytest.raises(RepdynError, match="kept"):
        simulate(checkout, tmp_path, "a.nc")
    assert not (tmp_path / "results/mine/a.nc").exists()


def test_changed_job_reads_no_old_trials(checkout, tmp_path, capsys):
    simulate(checkout, tmp_path, "a.nc")
    for change in ({"seed": 6}, {"code": "another"}, {"arguments": {"mode": "he"}}):
        capsys.readouterr()
        simulate(checkout, tmp_path, "a.nc", **change)
        assert "finished trials: " not in capsys.readouterr().err
