"""The container's recipe, step by step in a clean folder: what it copies, installs and runs."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import ROOT, snakemake

RECIPE = (ROOT / "envs/Dockerfile").read_text(encoding="utf-8")


def steps(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.+)$", RECIPE, re.MULTILINE)


@pytest.fixture
def image(tmp_path) -> Path:
    """The working folder of the image."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for step in steps("COPY"):
        *paths, place = step.split()
        for path in paths:
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, tmp_path / "image" / place, ignore=ignored)
            else:
                (tmp_path / "image").mkdir(exist_ok=True)
                shutil.copy2(ROOT / path, tmp_path / "image" / place)
    return tmp_path / "image"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("setuptools") is None, reason="the build backend is not installed here")
def test_its_installation_asks_for_nothing_but_the_lock_and_its_command_plans_a_whole_run(image):
    """Nothing is fetched: what is installed here are the versions of the lock, so pip has nothing to look for."""
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
    assert {"all", "images", "universality_claims", "across_papers_claims", "ledger", "manifest", "report"} <= rules
