"""One finished run at smoke scale, shared by all tests that look at results; they run in one worker (`pipeline`)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SMOKE = "workflow/scales/smoke.yaml"
TRAVELS = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src", "docs", "README.md")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """Tests that use the finished run share a worker, so that the run is made once."""
    for item in items:
        if "smoke_run" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("pipeline"))


def copy_checkout(target: Path) -> Path:
    """A copy of everything the pipeline needs, without results."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in TRAVELS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignored)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


def snakemake(
    folder: Path,
    *arguments: str,
    prefix: tuple[str, ...] = (),
    python: str = sys.executable,
    variables: dict[str, str] | None = None,
    **run,
) -> subprocess.CompletedProcess:
    """Runs Snakemake in a folder as a user would, output captured; `variables` are set in its environment.

    A GPU is hidden, so that results do not depend on whether the machine has one.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    environment |= {"CUDA_VISIBLE_DEVICES": ""} | (variables or {})
    command = [*prefix, python, "-m", "snakemake", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, **run)


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory) -> Path:
    """A checkout with a finished smoke run, made with two cores."""
    folder = copy_checkout(tmp_path_factory.mktemp("smoke") / "checkout")
    done = snakemake(folder, "--cores", "2", "--configfile", SMOKE, "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
