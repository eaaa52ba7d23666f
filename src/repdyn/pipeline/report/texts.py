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
    "smoke": "Reduced to run in minutes: figures show the form, not the result, and sampled claims may be undecided.",
    "default": "Sized for a laptop. Each caption gives its sizes, and each study lists what differs from its paper.",
    "full": "Sizes that the papers state, or our own where they state none, and as many trials as each claim needs.",
}
TERMS = {
    "margin": (
        "margin",
        "How clearly a check is decided, as a ratio: tolerance over deviation or, for a sampled number, how far its "
        "interval stays from the boundary of the required region. Above 1 it passes, below 1 it fails.",
    ),
    "control": (
        "control",
        "Numbers for which the same check must have the opposite outcome: from a wrong formula, from data for which "
        "the statement is false, or with the cause switched off. If it does not, the check could not notice an error, "
        "and the claim stays undecided.",
    ),
    "wrong-formula": ("wrong formula", "A control that computes with a deliberately wrong formula."),
    "false-world": (
        "false world",
        "A control with data for which the statement is false; if the claim itself does not hold, with data for which "
        "it is true.",
    ),
    "knock-out": ("knock-out", "A control in which the alleged cause is switched off, all else equal."),
    "interval": (
        "interval",
        "Where a sampled quantity lies, at a confidence that is fixed beforehand. Inside the required region it "
        "passes, outside it fails, and across the boundary it stays undecided.",
    ),
    "reading": (
        "reading",
        "One way to understand what a sentence leaves open: a window, a statistic, a threshold, a setting. Every one "
        "that its words admit is tested.",
    ),
}


def linked(text: str, folder: str = "", *, known: Container[str]) -> Markup:
    """Words of a claim; an id of a claim in parentheses leads to that claim's page, in a folder from here."""
    link = Markup('(<a href="{1}{0}.html">{0}</a>)')
    return Markup(ID.sub(lambda id: link.format(id[1], folder) if id[1] in known else id[0], words(text)))
