"""The report's search index: claims, figures, study pages, concepts and terms, with the text shown for each."""

from __future__ import annotations

from collections.abc import Mapping

from repdyn.base.markup import words
from repdyn.pipeline.report.contents import Contents, Product, Row
from repdyn.pipeline.report.page_md import Page

SEARCHED = (
    "id",
    "where",
    "kind",
    "words",
    "statement",
    "correction",
    "facts",
    "why",
    "formula",
    "corrected_formula",
    "control",
    "code",
)


def texts(contents: Contents, titles: Mapping[str, str]) -> dict[str, str]:
    """Search terms of each claim, by its id, and of each figure, by its page; `titles` are the studies'."""
    claims = {row["id"]: _words(row, titles[row["study"]], contents) for row in contents.ledger}
    return claims | {figure.page: _words_of_figure(figure, titles) for figure in _figures(contents)}


def hits(contents: Contents, titles: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """HTML shown for each result: a claim's statement, place and verdict; a figure's title, study and picture."""
    claims = {
        row["id"]: {
            "kind": "claim",
            "page": f"claims/{row['id']}.html",
            "says": words(row["statement"]),
            "title": words(f"{titles[row['study']]}, {row['where']}: {row['verdict']}"),
        }
        for row in contents.ledger
    }
    figures = {
        figure.page: {
            "kind": "figure",
            "page": figure.page,
            "says": words(figure.title),
            "title": words(titles[figure.study]),
            "picture": figure.picture,
        }
        for figure in _figures(contents)
    }
    return claims | figures


def hits_of_pages(
    pages: Mapping[str, Page], titles: Mapping[str, str], terms: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[dict[str, str], str]]:
    """HTML shown for each study page, concept and term of the glossary, by its address, and its search terms."""
    found: dict[str, tuple[dict[str, str], str]] = {}

    def add(address: str, says: str, title: str, searched: str) -> None:
        found[address] = {"kind": "page", "page": address, "says": words(says), "title": title}, searched

    for slug, (term, says) in terms.items():
        add(f"glossary.html#{slug}", f"{term}: {says}", "Glossary", f"{term} {says}")
    for study, page in pages.items():
        if study not in titles:
            continue
        add(f"studies/{study}.html", page.title or titles[study], "Study", f"{page.title} {titles[study]} {page.story}")
        if concept := page.items.concept:
            searched = f"{titles[study]} {concept.question} {concept.says}"
            add(f"concepts.html#{study}", concept.question, f"Concepts, {titles[study]}", searched)
    return found


def _figures(contents: Contents) -> list[Product]:
    return [product for product in contents.products if product.kind == "figures"]


def _words(row: Row, title: str, contents: Contents) -> str:
    parts = [row[name] for name in SEARCHED] + [title, row["study"]]
    return " ".join(filter(None, [*parts, *(figure.title for figure in contents.figures_of(row)[:3])]))


def _words_of_figure(figure: Product, titles: Mapping[str, str]) -> str:
    return " ".join((figure.name, figure.title, figure.caption, figure.alt, titles[figure.study], figure.study))
