"""The manifest: what a run made, from what, with what and at what cost.

`content` holds digests only and is equal for equal runs anywhere; clocks, hosts, commits and costs stand beside it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repdyn.base.files import sha256, write_json

PACKAGES = (
    "numpy",
    "scipy",
    "xarray",
    "netCDF4",
    "pandas",
    "matplotlib",
    "scikit-learn",
    "torch",
    "numba",
    "pydantic",
    "snakemake",
)


def build(files: Iterable[Path], root: Path, logs: Path, workflow: Path, config: str, output: Path) -> None:
    """Writes the manifest of a run.

    Args:
        files: every result file of the run.
        root: the run's results folder; paths in the manifest are relative to it.
        logs: the run's log folder, where jobs leave their timing records (`*.cost.json`).
        workflow: folder of the workflow, for its commit.
        config: the run's validated configuration as JSON text.
        output: JSON file.
    """
    content = {path.relative_to(root).as_posix(): sha256(path) for path in sorted(map(Path, files))}
    write_json(
        output,
        {
            "content": content,
            "configuration": json.loads(config),
            "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
            "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
            "commit": _commit(workflow),
            "command": " ".join(sys.argv),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "costs": costs(logs),
        },
    )


def costs(logs: Path) -> list[dict[str, object]]:
    """The timing records that the jobs of a run left, the dearest first."""
    records = [json.loads(path.read_text()) for path in sorted(logs.rglob("*.cost.json"))]
    return sorted(records, key=lambda record: -record["cpu_seconds"])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")),
        "unknown",
    )


def _commit(workflow: Path) -> str:
    """The checkout's commit, with "+ edits" if files differ; "not a git checkout" elsewhere."""
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=workflow, capture_output=True, text=True, check=True
        ).stdout.strip()
        edits = subprocess.run(
            ["git", "status", "--porcelain"], cwd=workflow, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"
    return commit + (" + edits" if edits else "")
