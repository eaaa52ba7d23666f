"""The cluster profiles on a real SLURM of two nodes, one with a simulated GPU: equal bytes, informative failures."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.conftest import ROOT, SMOKE, snakemake

pytestmark = pytest.mark.slow

NODES = Path(__file__).with_name("two_node_slurm")
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "flock")
RUN = "results/smoke"
TRAINED = f"{RUN}/bn_decomposed/data/training/he.nc"
GROUPED = tuple(f"{RUN}/bn_mean_field/data/{name}.nc" for name in ("formula_audit", "metric_audit"))
SPOILT = f"{RUN}/bn_mean_field/data/speed_ratio.nc"
FAILING = f"{RUN}/bn_mean_field/tables/stability.csv"
PARTITIONS = {"partitions": {"main": {"max_gpu": 0}, "gpu": {"max_gpu": 1}}}
AT_ONCE = ("--latency-wait", "5", "--retries", "0", "--configfile", SMOKE)


def missing() -> str:
    """Why SLURM cannot be started here; empty if it can."""
    if os.geteuid() != 0:
        return "starting a SLURM needs root"
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    absent = [name for name in NEEDED if not shutil.which(name, path=path)]
    if absent:
        return f"no {', '.join(absent)}: apt-get install slurmctld slurmd slurm-client munge"
    own = Path("/etc/slurm/slurm.conf")
    return f"this machine has a SLURM of its own: {own}" if own.exists() and not own.is_symlink() else ""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A running SLURM; it stops when its input closes, so also when this process dies."""
    if why := missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("slurm")
    with subprocess.Popen([NODES, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n", f"SLURM did not start, see {folder} and the captured stderr"
        yield


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """This environment's Python by a path without spaces, as docs/cluster.md asks."""
    environment = tmp_path_factory.mktemp("python") / "environment"
    environment.symlink_to(sys.prefix, target_is_directory=True)
    return str(environment / "bin" / Path(sys.executable).name)


@pytest.fixture(scope="module")
def checkout(smoke_run, tmp_path_factory):
    """A copy of the finished run that lacks some results and holds a truncated dataset."""
    folder = tmp_path_factory.mktemp("cluster") / "checkout"
    shutil.copytree(smoke_run, folder, copy_function=shutil.copy2, symlinks=True)
    for name in (f"{RUN}/data/images.nc", TRAINED, *GROUPED, FAILING):
        (folder / name).unlink()
    (folder / SPOILT).write_bytes((folder / SPOILT).read_bytes()[:3000])
    (folder / "partitions.yaml").write_text(yaml.safe_dump(PARTITIONS))
    return folder


@pytest.fixture(scope="module")
def by_slurm(nodes, checkout, python):
    """A GPU job, two short jobs and one that fails, through profiles/slurm: output of Snakemake, jobs of SLURM."""
    options = ("--slurm-partition-config", "partitions.yaml", "--slurm-status-command", "squeue")
    haste = ("--slurm-init-seconds-before-status-checks", "1")
    gpu = ("--set-resources", "bn_decomposed_data_training:gpu=1")
    targets = (TRAINED, *GROUPED, FAILING)
    asked = ("--profile", "profiles/slurm", *options, *haste, *AT_ONCE, *gpu, "--", *targets)
    done = snakemake(checkout, *asked, python=python)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr, cluster_jobs()


def cluster_jobs() -> list[dict[str, str]]:
    """SLURM's data on every job: partition, limits, state."""
    command = ["scontrol", "--oneliner", "show", "job"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    return [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in shown.splitlines()]


def job_of(jobs: list[dict[str, str]], rule: str) -> dict[str, str]:
    return next(job for job in jobs if rule in job["Comment"])


def same_bytes(first: Path, other: Path, *names: str) -> bool:
    return all((first / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_cluster_results_equal_the_local_run(by_slurm, checkout, smoke_run):
    assert same_bytes(checkout, smoke_run, TRAINED, *GROUPED, f"{RUN}/data/images.nc")


def test_requests_equal_the_rules_and_local_rules_run_locally(by_slurm):
    output, jobs = by_slurm
    assert len(jobs) == 3, "the training, the audits, the tables"
    trained, audits = job_of(jobs, "bn_decomposed_data_training"), job_of(jobs, "bn_mean_field_data_audits")
    assert (trained["NumCPUs"], trained["MinMemoryNode"], trained["TimeLimit"]) == ("1", "1500M", "08:00:00")
    assert (trained["TresPerJob"], trained["Partition"], trained["JobState"]) == ("gres:gpu:1", "gpu", "COMPLETED")
    assert (audits["NumCPUs"], audits["MinMemoryNode"], audits["Partition"]) == ("1", "1500M", "main")
    assert (trained["NodeList"], audits["NodeList"]) == ("second", "first")
    assert "TresPerJob" not in audits
    assert "localrule data_images" in output


def test_failing_job_shows_its_log(by_slurm, checkout):
    output, jobs = by_slurm
    assert job_of(jobs, "bn_mean_field_shown")["JobState"] == "FAILED"
    assert f"error: {SPOILT}: " in output
    assert not (checkout / FAILING).exists()


def test_generic_batch_system_works_through_commands(by_slurm, checkout, smoke_run, python):
    for name in GROUPED:
        (checkout / name).unlink()
    targets = (*GROUPED, FAILING)
    done = snakemake(checkout, "--profile", "profiles/cluster-generic", *AT_ONCE, "--", *targets, python=python)
    output = done.stdout + done.stderr
    assert done.returncode == 1
    assert same_bytes(checkout, smoke_run, *GROUPED)
    assert f"error: {SPOILT}: " in output
    logs = {path.name.rsplit("-", 1)[0] for path in (checkout / "logs/cluster").iterdir()}
    assert logs == {"bn_mean_field_data_audits", "bn_mean_field_shown_bn_mean_field_tables"}


def test_gpu_profile_requests_gpus_for_trainings_and_rejects_missing_devices():
    """--config on the command line replaces the profile's."""
    ours = ("--profile", "profiles/gpu", "--cores", "2", "-n")
    done = snakemake(ROOT, *ours, "--configfile", "workflow/scales/paper.yaml", "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    planned = re.findall(r"rule bn_decomposed_data_training:(?:\n .*)*?\n +resources: (.*)", done.stdout + done.stderr)
    assert len(planned) == 3
    assert all("gpu=1" in resources.split(", ") for resources in planned)
    done = snakemake(ROOT, *ours, "--config", "run={name: mine}", "--", "all")
    assert done.returncode != 0
    assert "gpu = 1" in done.stdout + done.stderr
    assert "run.device is cpu" in done.stdout + done.stderr
