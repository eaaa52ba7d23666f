"""Summary boxes on the report's first page: selected findings, with the run's verdicts.

A box's text comes from `page.md`, all else from the ledger. If the run's verdict differs, the box says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from repdyn.pipeline.report.contents import Contents, Product, Row
from repdyn.pipeline.report.page_md import Page, with_facts


@dataclass(frozen=True)
class Card:
    """A claim of the run, a figure, a headline and a sentence.

    Attributes:
        claim: the claim's row of the ledger.
        figure: the figure, None if the run has none of that name.
        show: the part of the figure that is shown: all, top or bottom.
        headline: the finding in a few words.
        sentence: what it means.
        corrected: the correct form in LaTeX, of the ledger or of the page; "" without one.
        is_current: whether the run's verdict is the one that headline and sentence are about.
    """

    claim: Row
    figure: Product | None
    show: str
    headline: str
    sentence: str
    corrected: str
    is_current: bool


def cards(pages: Mapping[str, Page], contents: Contents) -> list[Card]:
    """Summary boxes of the selected claims that the run decided."""
    claims = contents.rows
    figures = {f"{product.study}/{product.name}": product for product in contents.products if product.kind == "figures"}
    return [
        Card(
            claim=claims[id],
            figure=figures.get(finding.figure),
            show=finding.show,
            headline=with_facts(finding.headline, claims),
            sentence=with_facts(finding.sentence, claims),
            corrected=claims[id]["corrected_formula"] or finding.formula,
            is_current=claims[id]["verdict"] == finding.verdict,
        )
        for page in pages.values()
        for id, finding in page.items.findings.items()
        if id in claims
    ]
