"""`python -m repdyn init my_runs`: a folder in which the studies of this package run without a checkout."""

from __future__ import annotations

import argparse
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.files import fresh
from repdyn.pipeline.packages import PACKAGE

CARRIED = Path(__file__).parent / "carried"
"""The wheel's copy of files outside the package; `setup.py` adds it."""
CHECKOUT = PACKAGE.parents[1]


def run(words: Sequence[str]) -> None:
    """Runs the command that writes the folder."""
    parser = argparse.ArgumentParser(
        prog="repdyn init", description="Create a folder in which the studies of this package run."
    )
    parser.add_argument("folder", type=Path, help="new or empty folder")
    folder = parser.parse_args(words).folder
    write(folder)
    print(f"{folder}: written; docs/usage.md there has the commands. To begin:\n")
    print(f"  cd {folder}\n  snakemake --cores 2 --configfile workflow/scales/smoke.yaml -- all")


def write(folder: Path) -> None:
    """Writes the workflow's files into a new folder, identical to those in the repository.

    Args:
        folder: a new or empty folder.

    Raises:
        ConfigError: the folder is not empty, or this installation lacks the files.
    """
    sources = files()
    with fresh(folder):
        for name, source in sources.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)  # with the mode: a profile contains an executable


def files() -> dict[str, Path]:
    """Name in the folder -> the file to copy, from the wheel or from the checkout.

    Raises:
        ConfigError: the files are missing.
    """
    if CARRIED.is_dir():
        paths = [path for path in CARRIED.rglob("*") if path.is_file()]
        return {path.relative_to(CARRIED).as_posix(): path for path in sorted(paths)}
    project = CHECKOUT / "pyproject.toml"
    tools = tomllib.loads(project.read_text(encoding="utf-8"))["tool"] if project.is_file() else {}
    if not (patterns := tools.get("repdyn", {}).get("carried")):
        raise ConfigError(f"{PACKAGE}: neither an installed wheel nor a checkout: install repdyn again")
    found = {path for pattern in patterns for path in CHECKOUT.glob(pattern) if path.is_file()}
    return {path.relative_to(CHECKOUT).as_posix(): path for path in sorted(found)}
