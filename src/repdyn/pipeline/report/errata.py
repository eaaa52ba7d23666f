"""Errata of a paper: refuted statements that are confirmed, sorted by severity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.claims import SLIPS
from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import studies
from repdyn.pipeline.report.contents import Row

CONFIRMING = ("full",)  # scales with a fresh seed, unused when settings were chosen
SCRIPT = re.compile(r"^## ([\w-]+)\n\n(.*?)\n```python\n(.*?)```", re.MULTILINE | re.DOTALL)
SHOW = 'print(truth, printed, correct, sep="\\n")\n'
CONSEQUENCES = {
    "conclusion fails": "Conclusions that fail",
    "result changes": "Results that change",
    "missing hypothesis": "Hypotheses that are missing",
    "slip in a proof": "Slips in proofs; the statement remains true",
    "misprint": "Misprints",
}


@dataclass(frozen=True)
class Group:
    """Entries of one severity."""

    heading: str
    remark: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Errata:
    """What may be sent to a paper's authors.

    Attributes:
        groups: confirmed entries, the most severe first, possible OCR errors last.
        awaiting: refuted in this run, not yet confirmed at a larger scale.
    """

    groups: Sequence[Group]
    awaiting: Sequence[Row]

    @property
    def rows(self) -> list[Row]:
        """All confirmed entries in their order."""
        return [row for group in self.groups for row in group.rows]


def is_refuted(claim: Row) -> bool:
    """Whether the numbers refute a statement that the paper makes."""
    return claim["verdict"] in REFUTED and claim["origin"] != "ours"


def errata(claims: Sequence[Row], run: str, larger: Mapping[str, Mapping[str, str]]) -> Errata:
    """The errata of one paper.

    Args:
        claims: its rows of the ledger.
        run: name of their run.
        larger: scale -> claim -> verdict, of the reference runs; those in `CONFIRMING` confirm. Without these, and in
            such a run, the run confirms itself.
    """
    confirming = [larger[name] for name in CONFIRMING if name in larger and name != run]
    itself = run in CONFIRMING or not confirming
    refuted = [claim for claim in claims if is_refuted(claim)]
    sure = [row for row in refuted if itself or any(known.get(row["id"]) in REFUTED for known in confirming)]
    printed = [row for row in sure if row["possible_ocr_error"] != "True"]
    groups = [
        Group(CONSEQUENCES.get(slip, "Others"), "", [row for row in printed if row["kind_of_slip"] == slip])
        for slip in (*reversed(SLIPS), "")
    ]
    remark = "Our copy of the paper was read from a scan; the errors below may come from the scan."
    groups.append(Group("Possibly OCR errors", remark, [row for row in sure if row["possible_ocr_error"] == "True"]))
    return Errata([group for group in groups if group.rows], [row for row in refuted if row not in sure])


def severities(claims: Sequence[Row]) -> list[tuple[str, int]]:
    """How many refuted statements of the papers have each severity, the most severe first."""
    refuted = [claim for claim in claims if is_refuted(claim)]
    return [(slip, sum(row["kind_of_slip"] == slip for row in refuted)) for slip in reversed(SLIPS)]


@dataclass(frozen=True)
class Script:
    """A few lines that show what is wrong, with numpy alone: `truth`, `printed` and `correct`, in a line each."""

    says: str
    code: str


def scripts(folders: Mapping[str, Path] | None = None) -> dict[str, Script]:
    """Claim -> its script, of the files `errata.md` of studies."""
    files = studies.files(studies.ERRATA, folders).values()
    found = [SCRIPT.findall(path.read_text(encoding="utf-8")) for path in files]
    return {id: Script(" ".join(says.split()), code + SHOW) for parts in found for id, says, code in parts}
