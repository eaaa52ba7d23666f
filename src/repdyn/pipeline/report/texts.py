"""What the report says of its own: meanings of verdicts, remarks on scales.

And the names of its files and folders, which the workflow reads as well.
"""

from __future__ import annotations

FILES = ("index.html", "ledger.html", "errata.html", "glossary.html", "provenance.html", "single.html")
FOLDERS = ("assets", "captions", "claims", "errata", "figures", "settings", "studies")
MEANINGS = {
    "holds": "The statement as printed passed its check.",
    "holds as corrected": "The printed form was refuted and the corrected form passed; both are shown with numbers.",
    "does not hold": "Refuted, and no small correction repairs it.",
    "depends on the reading": "Of the readings that its words allow, some pass and others fail; the page shows which.",
    "not reproducible as stated": "The paper leaves out settings; the note says what was tried.",
    "not testable": "No finite computation decides it (existence, subsequences); the note says why.",
    "not decidable at this scale": "This run does not decide it; the note says what is missing.",
}
WARNINGS = {
    "smoke": "Sizes are cut to seconds: figures show the form, not the result, and sampled claims may be undecided.",
    "default": "Sized for a laptop. Each caption gives its own sizes, each study lists what differs from its paper.",
    "full": "Sizes that the papers state, ours where they state none, and as many trials as decide each claim.",
}
