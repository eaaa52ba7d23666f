"""Builds the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repdyn.pipeline.report import build


def run(member: Mapping[str, Any], results: Path, _checkpoints: Path | None) -> None:
    """Writes the report from the run's ledger, evidence, manifest, figures and tables."""
    folders = {study: Path(folder) for study, folder in member["folders"].items()}
    source = build.Checkout(Path(member["workflow"]), member["made"], folders)
    files = [results / path for path in member["inputs"]]
    build.build(results, files, (results / member["outputs"][0]).parent, source)
