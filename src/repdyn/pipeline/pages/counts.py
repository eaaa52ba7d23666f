"""The count of claims on the first page of docs, from the claims and their accepted verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from repdyn.base.claims import SLIPS, Claim
from repdyn.base.verdicts import DECIDED, DEPENDS, REFUTED, UNDECIDED
from repdyn.pipeline.pages.listed import table
from repdyn.pipeline.run.kinds.ledger import Accepted

LARGER = {
    "full": "The full scale, with MNIST and [fresh draws](fresh_draws.md),",
    "paper": "The scale of the papers' own sizes, run for some of the studies,",
}
LONG = {"slip in a proof": "slips in a proof that change nothing", "missing hypothesis": "hypotheses are missing"}
LONG |= {"conclusion fails": "conclusions fail", "result changes": "results change", "misprint": "misprints"}


def text(
    studies: Mapping[str, Sequence[Claim]], accepted: Accepted, references: Mapping[str, Mapping[str, str]]
) -> str:
    """The count in a few sentences and a table.

    Args:
        studies: study -> its claims.
        accepted: claim -> its entry among the accepted verdicts.
        references: reference run -> claim -> verdict.
    """
    verdicts = {
        id: UNDECIDED if "default" in entry["undecided_at"] else str(entry["verdict"]) for id, entry in accepted.items()
    }
    papers = {study: [claim for claim in claims if claim.origin == "paper"] for study, claims in studies.items()}
    own = [claim for claims in papers.values() for claim in claims]
    counts = Counter(verdicts.get(claim.id, "") for claim in own)
    slips = _slips(own, verdicts)
    ours = sum(len(claims) for claims in studies.values()) - len(own)
    severe = ", ".join(f"{slips[slip]} {LONG[slip]}" for slip in reversed(SLIPS) if slips[slip])
    words = (
        f"The ledger has {len(own)} statements of the papers at the default scale: {counts['holds']} hold as printed, "
        f"{counts['holds as corrected']} hold once corrected, {counts['does not hold']} do not hold, "
        f"{counts[DEPENDS]} depend on how their words are read, and {_open(counts)} stay open (settings missing, "
        f"beyond any finite test, or undecided). Of the {sum(slips.values())} refuted: {severe}. "
        f"Counted apart are {ours} statements of ours."
    )
    for scale in LARGER:
        if {"default", scale} <= set(references):
            words += "\n\n" + confirmed(references["default"], references[scale], LARGER[scale])
    head = ("study", "statements", "hold", "once corrected", "do not hold", "depend", "open", *reversed(SLIPS))
    rows = [_row(study, claims, verdicts) for study, claims in papers.items() if claims]
    return "\n".join([words, "", table(head, rows)])


def confirmed(default: Mapping[str, str], full: Mapping[str, str], scale: str = LARGER["full"]) -> str:
    """Comparison of a larger scale with the default scale's verdicts, in two sentences."""
    shared = [id for id in default if id in full]
    decided = [id for id in shared if default[id] != UNDECIDED]
    open_before = [id for id in shared if default[id] == UNDECIDED]
    same = sum(full[id] == default[id] for id in decided)
    opened = [id for id in decided if full[id] == UNDECIDED]
    refutations = sum(default[id] in REFUTED for id in opened)
    contradicted = len(decided) - same - len(opened)
    newly = sum(full[id] != UNDECIDED for id in open_before)
    return (
        f"{scale} judged {len(shared)} statements in their current wording. Of the {len(decided)} that the default "
        f"scale decides it confirms {same}, leaves {len(opened)} open ({refutations} of them refutations) and "
        f"contradicts {contradicted}; of the {len(open_before)} that the default scale leaves open it decides {newly}."
    )


def _slips(claims: Sequence[Claim], verdicts: Mapping[str, str]) -> Counter[str]:
    return Counter(claim.kind_of_slip for claim in claims if verdicts.get(claim.id) in REFUTED)


def _open(counts: Mapping[str, int]) -> int:
    return sum(count for verdict, count in counts.items() if verdict not in (*DECIDED, DEPENDS))


def _row(study: str, claims: Sequence[Claim], verdicts: Mapping[str, str]) -> tuple[str, ...]:
    counts = Counter(verdicts.get(claim.id, "") for claim in claims)
    slips = _slips(claims, verdicts)
    numbers = (len(claims), *(counts[status] for status in (*DECIDED, DEPENDS)), _open(counts))
    return (
        f"[{study}](../src/repdyn/{study}/page.md)",
        *map(str, numbers),
        *(str(slips[slip] or "") for slip in reversed(SLIPS)),
    )
