"""The report's search index: claims, figures, study pages, concepts and terms, with the text shown for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from repdyn.base.markup import words
from repdyn.pipeline.report.contents import Contents
from repdyn.pipeline.report.page_md import Page

SEARCHED = (
    *("id", "where", "kind", "words", "statement", "correction", "facts", "why", "formula", "corrected_formula"),
    *("control", "code"),
)


class Hit(NamedTuple):
    """A result: the text that is searched, and what is shown: kind, page, HTML of statement and title, picture."""

    searched: str
    shown: dict[str, str]


def hits(
    contents: Contents, pages: Mapping[str, Page], titles: Mapping[str, str], terms: Mapping[str, tuple[str, str]]
) -> dict[str, Hit]:
    """Every claim by its id, then figures, terms, study pages and concepts by their addresses.

    Args:
        contents: the run.
        pages: study -> its page.
        titles: study -> its title.
        terms: slug -> term and what it means.
    """
    found: dict[str, Hit] = {}
    for row in contents.ledger:
        title = titles[row["study"]]
        parts = [*(row[name] for name in SEARCHED), title, row["study"]]
        parts += [figure.title for figure in contents.figures_of(row)[:3]]
        shown = {"kind": "claim", "page": f"claims/{row['id']}.html", "says": words(row["statement"])}
        shown["title"] = words(f"{title}, {row['where']}: {row['verdict']}")
        found[row["id"]] = Hit(" ".join(filter(None, parts)), shown)
    for figure in (product for product in contents.products if product.kind == "figures"):
        title = titles[figure.study]
        searched = " ".join((figure.name, figure.title, figure.caption, figure.alt, title, figure.study))
        shown = {"kind": "figure", "page": figure.page, "says": words(figure.title), "title": words(title)}
        found[figure.page] = Hit(searched, shown | {"picture": figure.picture})

    def add(address: str, says: str, title: str, searched: str) -> None:
        found[address] = Hit(searched, {"kind": "page", "page": address, "says": words(says), "title": title})

    for slug, (term, says) in terms.items():
        add(f"glossary.html#{slug}", f"{term}: {says}", "Glossary", f"{term} {says}")
    for study, page in pages.items():
        if study not in titles:
            continue
        title = titles[study]
        add(f"studies/{study}.html", page.title or title, "Study", f"{page.title} {title} {page.story}")
        if concept := page.items.concept:
            searched = f"{title} {concept.question} {concept.says}"
            add(f"concepts.html#{study}", concept.question, f"Concepts, {title}", searched)
    return found
