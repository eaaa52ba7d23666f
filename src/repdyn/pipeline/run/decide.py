"""Decides every claim of a study, runs every control, and writes the study's part of the ledger and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from repdyn.base import claims
from repdyn.base.files import write_text
from repdyn.pipeline.run.loading import load_function
from repdyn.pipeline.run.members import read_inputs


def run(member: Mapping[str, Any], results: Path, _checkpoints: Path | None) -> None:
    """Decides one study's claims, in the order in which they are written."""
    study, data = member["study"], read_inputs(member, results)
    decisions = []
    for id, check in member["claims"].items():
        claim = load_function(study, check["function"])
        decisions.append((check["code"], claims.decide_claim(claim, data)))
        if claim.id != id:
            raise claims.RepdynError(f"{check['function']} decides {claim.id}, the job file says {id}; run snakemake")
    ledger, evidence = (results / path for path in member["outputs"])
    _write(ledger, ({"study": study} | decision.ledger | {"code_version": code} for code, decision in decisions))
    _write(evidence, ({"study": study} | row for _, decision in decisions for row in decision.evidence))


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(file, pd.DataFrame(list(rows)).to_csv(index=False, lineterminator="\n"))
