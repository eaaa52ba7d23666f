"""Decides every claim of a study, runs every control, and writes the study's ledger and evidence."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from repdyn.base.decisions import decide_claim
from repdyn.base.errors import RepdynError
from repdyn.base.sampled import at_look
from repdyn.base.tables import write_csv
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import read_inputs


def run(member: Member, results: Path, _trials: object) -> None:
    """Decides one study's claims, in the order in which they are written."""
    study, data = member["study"], read_inputs(member, results)
    decisions = []
    for id, check in member["claims"].items():
        claim = load_function(study, check["function"])
        with at_look(check.get("look", 1)):
            decisions.append((check, decide_claim(claim, data)))
        if claim.id != id:
            raise RepdynError(f"{check['function']} decides {claim.id}, the job file says {id}; run snakemake")
    ledger, evidence = (results / path for path in member["outputs"])
    rows = [
        {"study": study}
        | decision.ledger
        | {"code": f"{package_of(study)}.{check['function']}", "code_version": check["code"]}
        for check, decision in decisions
    ]
    parts = [{"study": study} | row for _, decision in decisions for row in decision.evidence]
    write_csv(ledger, pd.DataFrame(rows))
    write_csv(evidence, pd.DataFrame(parts))
