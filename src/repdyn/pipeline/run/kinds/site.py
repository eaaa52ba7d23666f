"""Builds the report of a run."""

from __future__ import annotations

from pathlib import Path

from repdyn.pipeline import studies
from repdyn.pipeline.report import build
from repdyn.pipeline.run.declare.jobs import Member


def run(member: Member, results: Path, _trials: object) -> None:
    """Writes the report from the run's ledger, evidence, manifest, figures and tables."""
    source = build.Checkout(Path(member["workflow"]), member["made"], studies.folders())
    files = [results / path for path in member["inputs"]]
    build.build(results, files, (results / member["outputs"][0]).parent, source)
