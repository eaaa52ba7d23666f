"""Texts of the report: meanings of verdicts and of terms in tables, remarks on scales.

Also the names of its files and folders, which the workflow uses as well.
"""

from __future__ import annotations

import re
from collections.abc import Container

from markupsafe import Markup

from repdyn.base.markup import words

ID = re.compile(r"\(([a-z]+(?:-\w+)+)\)")
FILES = ("index.html", "ledger.html", "errata.html", "concepts.html", "glossary.html", "provenance.html", "single.html")
FOLDERS = ("assets", "captions", "claims", "errata", "figures", "settings", "studies")
MEANINGS = {
    "holds": "The statement as printed passed its check.",
    "holds as corrected": "The printed form was refuted and the corrected form passed; both are shown with numbers.",
    "does not hold": "Refuted, and no small correction fixes it.",
    "depends on the reading": "Of the readings that its words allow, some pass and others fail, as the page shows.",
    "not reproducible as stated": "The paper leaves out settings; the page says what was tried.",
    "not testable": "No finite computation decides it (existence, subsequences); the page says why.",
    "not decidable at this scale": "This run does not decide it; the page says what it would need.",
    "check failed": "The check ended with an error, which is in the log of its job; there is no verdict.",
}
PLURALS = {
    "misprint": "misprints",
    "slip in a proof": "slips in proofs",
    "missing hypothesis": "missing hypotheses",
    "result changes": "results change",
    "conclusion fails": "conclusions fail",
}
WARNINGS = {
    "smoke": "Reduced to run in seconds: figures show the form, not the result, and sampled claims may be undecided.",
    "default": "Sized for a laptop. Each caption gives its sizes, and each study lists what differs from its paper.",
    "full": "Sizes that the papers state, ours where they state none, and as many trials as decide each claim.",
}
TERMS = {
    "margin": (
        "margin",
        "How clearly a check comes out, as a ratio: tolerance over deviation, or for a sampled number how far its "
        "interval keeps from the border of the required region. Above 1 it passes, below 1 it fails.",
    ),
    "control": (
        "control",
        "Numbers on which the same check must come out the other way: of a wrong formula, of a false world, or with a "
        "cause switched off. Where it does not, the check can see nothing, and the claim stays undecided.",
    ),
    "wrong-formula": ("wrong formula", "A control that computes with a formula which is wrong on purpose."),
    "false-world": (
        "false world",
        "A control with data of a world in which the statement is false; where the claim itself does not hold, of one "
        "in which it is true.",
    ),
    "knock-out": ("knock-out", "A control in which the alleged cause is switched off, all else equal."),
    "interval": (
        "interval",
        "Where a sampled quantity lies, at a confidence that is fixed beforehand. Inside the required region it "
        "passes, outside it fails, across the border it stays undecided.",
    ),
    "reading": (
        "reading",
        "One way to take what a sentence leaves open: a window, a statistic, a threshold, a setting. Each that its "
        "words admit is tested.",
    ),
}


def linked(text: str, known: Container[str]) -> Markup:
    """Words of a claim; an id of a claim in parentheses leads to that claim's page, next to this one."""
    link = Markup('(<a href="{0}.html">{0}</a>)')
    return Markup(ID.sub(lambda id: link.format(id[1]) if id[1] in known else id[0], words(text)))
