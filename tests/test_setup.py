"""Installation and project files: one lock for pip and conda, consistent metadata, a container recipe, clean style."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.util import find_spec

import pytest
import yaml
from tests.conftest import ROOT, snakemake

from repdyn.pipeline.config import yaml_positions

CONDA_NAMES = {"pytorch-cpu": "torch", "pytorch-gpu": "torch", "matplotlib-base": "matplotlib"}
NOT_IN_JOBS = {"snakemake"}  # conda environments are for jobs, Snakemake runs outside
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "envs/Dockerfile").read_text(encoding="utf-8")


def pins() -> dict[str, str]:
    lines = (ROOT / "envs/constraints.txt").read_text().splitlines()
    return {
        name.lower().replace("_", "-"): version
        for name, version in (line.split("==") for line in lines if "==" in line)
    }


def requirements(extra: str | None = None) -> list[str]:
    wanted = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower() for requirement in wanted]


def test_lock_has_every_dependency_at_the_installed_version():
    extras = [name for extra in ("cluster", "docs", "test", "benchmarks") for name in requirements(extra)]
    assert {*requirements(), *extras} - {"repdyn"} <= set(pins())
    assert not [version for version in pins().values() if "+" in version]  # a local build is not in package indexes
    different = {name: version(name) for name in requirements() if version(name).split("+")[0] != pins()[name]}
    assert different == {}, "install with -c envs/constraints.txt"


@pytest.mark.parametrize("file", ["repdyn.yaml", "repdyn-cuda.yaml"])
def test_conda_environments_agree_with_the_lock(file):
    listed = yaml.safe_load((ROOT / "envs" / file).read_text())["dependencies"]
    versions = dict(entry.split("=") for entry in listed if not entry.startswith("python="))
    versions = {CONDA_NAMES.get(name, name): version for name, version in versions.items()}
    wanted = {name: pins()[name].split(".post")[0] for name in requirements() if name not in NOT_IN_JOBS}
    assert versions == wanted


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["snakefmt", "--check", "-l", "120", "Snakefile", "workflow/Snakefile", "src/repdyn/pipeline/rules"],
        ["snakemake", "--lint", "--configfile", "workflow/scales/smoke.yaml"],
    ],
    ids=["ruff", "ruff format", "snakefmt", "snakemake"],
)
def test_style_is_clean(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_metadata_agree_in_all_files():
    citation = yaml_positions.values(ROOT / "CITATION.cff")
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    codemeta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    authors = [author["name"] for author in PROJECT["authors"]]
    assert {str(citation["version"]), zenodo["version"], codemeta["version"]} == {PROJECT["version"]}
    assert {citation["license"], zenodo["license"], codemeta["license"].rpartition("/")[2]} == {PROJECT["license"]}
    assert zenodo["title"] == codemeta["name"] == citation["title"]
    for people in (citation["authors"], zenodo["creators"], codemeta["author"]):
        assert [author["name"] for author in people] == authors
    assert zenodo["description"] == codemeta["description"] == PROJECT["description"]
    assert zenodo["keywords"] == codemeta["keywords"] == PROJECT["keywords"]
    assert codemeta["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    assert f"## {PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_snakemake_workflow_catalog_requirements_are_met():
    """Its page on adding workflows: two words in the README, a Snakefile, configuration explained, usage in a file."""
    usage = yaml_positions.values(ROOT / ".snakemake-workflow-catalog.yml")["usage"]
    rules = "\n".join(path.read_text() for path in (ROOT / "src/repdyn/pipeline/rules").glob("*.smk"))
    blocks = [rule for rule in re.split(r"^ *rule\b.*:$", rules, flags=re.MULTILINE) if "shell:" in rule]
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer"}
    assert blocks
    assert all("conda:" in rule and "container:" in rule for rule in blocks)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert (ROOT / "workflow/Snakefile").is_file()
    assert set(yaml_positions.values(ROOT / "config/config.yaml")) == {"run"}
    assert "config.yaml" in (ROOT / "config/README.md").read_text(encoding="utf-8")


def steps(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.+)$", RECIPE, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("setuptools") is None, reason="the build backend is not installed here")
def test_container_recipe_installs_the_lock_and_plans_a_whole_run(tmp_path):
    """Step by step in a clean folder; what is installed here are the versions of the lock, so nothing is fetched."""
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", RECIPE, re.MULTILINE)
    assert f"python={python}" in yaml.safe_load((ROOT / "envs/repdyn.yaml").read_text())["dependencies"]
    image, ignored = tmp_path / "image", shutil.ignore_patterns("__pycache__", "*.egg-info")
    image.mkdir()
    for step in steps("COPY"):
        *paths, place = step.split()
        for path in paths:
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, image / place, ignore=ignored)
            else:
                shutil.copy2(ROOT / path, image / place)
    (install,), (command,) = steps("RUN"), steps("CMD")
    words = [sys.executable, "-m", *shlex.split(install), "--dry-run", "--no-index", "--no-build-isolation"]
    done = subprocess.run(words, cwd=image, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (would,) = re.findall(r"^Would install (.+)$", done.stdout, re.MULTILINE)
    assert re.fullmatch(r"repdyn-[\d.]+", would)
    program, *options = json.loads(command)
    assert program == "snakemake"
    done = snakemake(image, "--dry-run", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    table = re.search(r"^Job stats:\n.*?\n-+.*?\n(.*?)\n\n", done.stdout + done.stderr, re.MULTILINE | re.DOTALL)[1]
    rules = {line.split()[0] for line in table.splitlines()}
    assert {
        "all",
        "data_images",
        "universality_claims",
        "across_papers_claims",
        "claims",
        "manifest",
        "report",
    } <= rules
