"""The set-up a stranger meets: one lock for pip and conda, the README's commands, clean style."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from tests.conftest import ROOT

from repdyn.pipeline.config.configuration import STUDIES, load
from repdyn.pipeline.run.declare.workflow import RunJobs

CONDA_NAMES = {"pytorch-cpu": "torch", "pytorch-gpu": "torch", "matplotlib-base": "matplotlib"}
NOT_IN_JOBS = {"snakemake"}  # conda environments are for jobs, Snakemake stands outside


def pins() -> dict[str, str]:
    lines = (ROOT / "envs/constraints.txt").read_text().splitlines()
    return {
        name.lower().replace("_", "-"): version
        for name, version in (line.split("==") for line in lines if "==" in line)
    }


def requirements(extra: str | None = None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return [re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower() for requirement in wanted]


def test_lock_names_every_dependency_without_local_tags():
    extras = [name for extra in ("cluster", "docs", "test", "benchmarks") for name in requirements(extra)]
    wanted = {*requirements(), *extras} - {"repdyn"}  # names its own extras
    assert wanted <= set(pins())
    assert not [version for version in pins().values() if "+" in version], (
        "a local build tag cannot be installed elsewhere"
    )


def test_installed_versions_are_the_locked_ones():
    from importlib.metadata import version

    different = {name: version(name) for name in requirements() if version(name).split("+")[0] != pins()[name]}
    assert different == {}, "the tests judge the locked versions; install with -c envs/constraints.txt"


@pytest.mark.parametrize("file", ["repdyn.yaml", "repdyn-cuda.yaml"])
def test_conda_environments_equal_the_lock(file):
    listed = yaml.safe_load((ROOT / "envs" / file).read_text())["dependencies"]
    versions = dict(entry.split("=") for entry in listed if not entry.startswith("python="))
    versions = {CONDA_NAMES.get(name, name): version for name, version in versions.items()}
    wanted = {name: pins()[name].split(".post")[0] for name in requirements() if name not in NOT_IN_JOBS}
    assert versions == wanted


def test_the_container_holds_the_checkout_and_the_lock():
    text = (ROOT / "envs/Dockerfile").read_text()
    copied = [path for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for path in line.split()]
    assert {"src", "pyproject.toml", "Snakefile"} <= set(copied)
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert "pip install --no-cache-dir -c envs/constraints.txt -e ." in text
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", text, re.MULTILINE)
    assert f"python={python}" in yaml.safe_load((ROOT / "envs/repdyn.yaml").read_text())["dependencies"]


def test_jobs_with_a_device_get_what_training_needs(tmp_path):
    """An experiment says by its signature that it trains."""
    jobs = RunJobs(load([ROOT / "config.yaml"]), ROOT / "src", tmp_path / "versions.json")
    jobs.other("images", "images", outputs=["data/images.nc"])
    rules = {rule.name: rule for study in STUDIES for rule in jobs.data(study)}
    with_device = {job.name for job in jobs.jobs.values() if any("device" in member for member in job.members)}
    assert {re.sub(r"-\w+$", "", name).replace("/", "_") for name in with_device} == {
        name for name, rule in rules.items() if rule.trains
    }
    assert {rule.runtime for rule in rules.values() if rule.trains} == {480}
    assert "DEVICE_ENVIRONMENT if made.trains" in (ROOT / "src/repdyn/pipeline/rules/studies.smk").read_text()


def test_ci_runs_the_readme_command():
    commands = re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("snakemake --cores 8 all")
    assert commands[1].endswith("pytest")
    assert "README.md" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["snakefmt", "--check", "-l", "120", "Snakefile", "workflow/Snakefile", "src/repdyn/pipeline/rules"],
    ],
    ids=["ruff", "ruff format", "snakefmt"],
)
def test_style_is_clean(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflow_lints_clean():
    command = [sys.executable, "-m", "snakemake", "--lint", "--configfile", "workflow/scales/smoke.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
