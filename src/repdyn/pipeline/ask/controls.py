"""The controls of a finished run: which only shift a recorded number, which are not rejected, which parts have none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.controls import UNCHANGED, WEAK
from repdyn.base.errors import DataError
from repdyn.base.tables import rows
from repdyn.pipeline.run.kinds import ledger


@dataclass(frozen=True)
class Audit:
    """Counts of the kinds of change, and the problems, one line each."""

    kinds: dict[str, int]
    faults: list[str]


def examine(results: Path) -> Audit:
    """Reads the controls from a run's evidence.

    Raises:
        DataError: the run has no ledger, or no evidence of some claims with a control.
    """
    claims = rows(ledger.read(results / "claims.csv", ("id", "uncontrolled_parts", "control_outcome")))
    columns = ("id", "part", "control", "control_kind", "control_change")
    evidence = rows(ledger.read(results / "evidence.csv", columns))
    controlled = [row for row in evidence if row["control_kind"]]
    known = {row["id"] for row in controlled}
    if lost := [row["id"] for row in claims if row["control_outcome"] and row["id"] not in known]:
        raise DataError(f"{results / 'evidence.csv'}: lacks the controls of {lost[0]}; finish the run again")
    faults = [
        f"{', '.join(filter(None, (row['id'], row['part'])))}: {row['control_change']} ({row['control']})"
        for row in controlled
        if row["control_change"] in (UNCHANGED, *WEAK)
    ]
    faults += [
        f"{row['id']}: no control changes the outcome of {row['uncontrolled_parts']}"
        for row in claims
        if row["uncontrolled_parts"]
    ]
    faults += [
        f"{row['id']}: a control does not change the outcome"
        for row in claims
        if row["control_outcome"] == "not rejected"
    ]
    kinds = Counter(f"{row['control_kind']}, {row['control_change'] or 'undecided'}" for row in controlled)
    return Audit(dict(kinds), faults)


def show(audit: Audit) -> str:
    """The audit as text."""
    lines = [f"{count:5}  {kind}" for kind, count in sorted(audit.kinds.items())]
    return "\n".join([*lines, *audit.faults, f"{len(audit.faults)} faults"])
