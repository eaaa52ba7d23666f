"""The manifest of a run: outputs, inputs, versions and costs.

`content` has only digests and is equal for equal runs anywhere; times, hosts, commits and costs are separate.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from repdyn.base.files import sha256, write_json
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.machine.environment import kernels, processor, versions


def run(member: Member, results: Path, _trials: object) -> None:
    """Writes the manifest of a run: digests of all its files, verdicts, versions, machine, costs."""
    logs = Path(member["logs"])
    build(member["inputs"], results, logs, Path(member["workflow"]), member["config"], results / member["outputs"][0])


def build(
    files: Iterable[str], root: Path, logs: Path, workflow: Path, config: dict[str, object], output: Path
) -> None:
    """Writes the manifest of a run.

    Args:
        files: every result file of the run, relative to `root`; verdicts come from its ledger.
        root: the run's results folder.
        logs: the run's log folder, with the records of jobs (`*.cost.json`).
        workflow: folder of the workflow, for its commit.
        config: the run's validated configuration.
        output: JSON file.

    Raises:
        DataError: its ledger is invalid.
    """
    from repdyn.base import datasets
    from repdyn.pipeline.run.kinds import (
        ledger,  # these import pandas, and the Snakefile imports this module at every start
    )

    names = sorted(files)
    made = costs(logs, [root / name for name in names])
    claims = ledger.read(root / "claims.csv") if "claims.csv" in names else None
    write_json(
        output,
        {
            "content": {name: sha256(root / name) for name in names},
            "verdicts": None if claims is None else dict(zip(claims["id"], claims["verdict"], strict=True)),
            "configuration": config,
            "versions": made_with(made, [datasets.versions_of(root / name) for name in names if name.endswith(".nc")]),
            "machine": {
                "system": platform.platform(),
                "processor": processor(),
                "cores": os.cpu_count(),
                "kernels": kernels(),
            },
            "commit": _commit(workflow),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "costs": made,
        },
    )


def costs(logs: Path, files: Iterable[Path]) -> list[records.Record]:
    """The records of the jobs that created the files, the most expensive first."""
    by_path = records.by_output(records.read(logs))
    by_job = {record["log"]: record for path in files if (record := by_path.get(path.as_posix()))}
    return sorted(by_job.values(), key=lambda record: -float(record["cpu_seconds"]))


def made_with(costs: Iterable[records.Record], told: Iterable[Mapping[str, str]] = ()) -> dict[str, str]:
    """Package -> the version with which the files were created; all of them if jobs or datasets differ.

    Args:
        costs: the records of the jobs.
        told: versions that each dataset itself records, without local parts.
    """
    by_package: dict[str, dict[str, None]] = {}
    for record in costs:
        for name, own in record.get("versions", {}).items():
            by_package.setdefault(name, {})[own] = None
    for name, own in (pair for versions_of_one in told for pair in versions_of_one.items()):
        known = by_package.setdefault(name, {})
        if own not in {version.split("+")[0] for version in known}:
            known[own] = None
    return {name: " and ".join(sorted(own)) for name, own in by_package.items()} or versions()


def _commit(workflow: Path) -> str:
    """The checkout's commit, with "+ edits" if files differ; else "not a git checkout"."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=workflow, capture_output=True, text=True, check=True).stdout.strip()

    try:
        commit, edits = git("rev-parse", "HEAD"), git("status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"
    return commit + (" + edits" if edits else "")
