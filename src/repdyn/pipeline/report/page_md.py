"""A study's page, `page.md`: structured items as YAML between lines of three hyphens, its story, then its derivations.

    ---
    paper: {authors: ..., title: ..., link: https://..., note: ...}
    summary: {claims: ..., breaks: ..., survives: ...}
    findings: {claim id: {figure: study/name, show: all, verdict: ..., headline: ..., sentence: ..., formula: ...}}
    concept: {question: ..., formula: LaTeX, says: ..., figure: name}
    terms: {name in links: {term: ..., says: ...}}
    chosen_after_looking: [{chosen: ..., claims: [id, ...]}]
    ---
    # Title
    Markdown: the story in a minute, then its sections; `stories` explains links to figures, claims and terms
    # Derivations and details
    Markdown: the notes of the report; the anchor `<a id="claim-id">` heads a claim's derivation

All of it is optional. `{{claim-id: fact}}` inserts a fact of the run's ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from repdyn.base.errors import ConfigError
from repdyn.base.facts import shown_fact
from repdyn.base.settings import Settings
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.config.messages import complaints
from repdyn.pipeline.report.contents import Row

FENCE = "---\n"
FACT = re.compile(r"\{\{([\w-]+): ([^{}]+)\}\}")
UNKNOWN = "?"

Text = Annotated[str, Field(min_length=1)]
Sentence = Annotated[str, Field(pattern=r"^.*\.$", max_length=160)]
"""Five papers fit one screen."""


def _status(verdict: str) -> str:
    if verdict not in STATUSES:
        raise ValueError(verdict)
    return verdict


Status = Annotated[str, AfterValidator(_status), Field(json_schema_extra={"enum": list(STATUSES)})]


class Paper(Settings):
    """The paper: authors, title, address, and what a reader must know of the copy that was audited."""

    authors: Text
    title: Text
    link: Annotated[str, Field(pattern=r"^https://\S+$")]
    note: str = ""


class Summary(Settings):
    """The paper in three sentences, for the report's first page."""

    claims: Sentence
    breaks: Sentence
    survives: Sentence


class Finding(Settings):
    """A summary box: a figure, the part of it that is shown, text, and the verdict that it is about.

    `formula` is what is true, for a claim whose verdict leaves the ledger without a corrected form.
    """

    figure: Text
    show: Literal["all", "top", "bottom"]
    verdict: Status
    headline: Text
    sentence: Text
    formula: str = ""


class Concept(Settings):
    """The theory for students: a question, a formula, its symbols and what to look for, a figure."""

    question: Text
    formula: Text
    says: Text
    figure: Text


class Term(Settings):
    """A term and what it means."""

    term: Text
    says: Text


class Choice(Settings):
    """A choice made after numbers had been seen, and the ids of the claims that it affects."""

    chosen: Text
    claims: list[str]


class Items(Settings):
    """The structured items of a page."""

    paper: Paper | None = None
    summary: Summary | None = None
    findings: dict[str, Finding] = Field(default_factory=dict)
    concept: Concept | None = None
    terms: dict[str, Term] = Field(default_factory=dict)
    chosen_after_looking: list[Choice] = Field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """A study's page.

    Attributes:
        path: its file.
        items: its structured items.
        title: the first heading.
        story: Markdown up to the next heading of the first level.
        notes: Markdown after that heading.
    """

    path: Path
    items: Items
    title: str
    story: str
    notes: str


def pages(folders: Mapping[str, Path] | None = None) -> dict[str, Page]:
    """The pages of the studies that have one; `folders` are those of studies, None for all chosen ones."""
    return {study: read(path) for study, path in studies.files(studies.PAGE, folders).items()}


def read(path: Path) -> Page:
    """The page in a file.

    Raises:
        ConfigError: an item is missing, unknown or has an invalid value; one line each.
    """
    text = path.read_text(encoding="utf-8")
    items, body = Items(), text
    if text.startswith(FENCE):
        body = text.removeprefix(FENCE).partition(f"\n{FENCE}")[2]
        items = _items(path)
    title, *parts = re.split(r"^# (.*)\n", body, maxsplit=2, flags=re.MULTILINE)[1:] or ("", body)
    return Page(path, items, title, parts[0], parts[2] if len(parts) > 2 else "")


def _items(path: Path) -> Items:
    values, positions = yaml_positions.read(path, 0, end=FENCE)
    try:
        return Items.model_validate(values)
    except ValidationError as error:
        problems = complaints(error, values, positions, Items.model_json_schema())
        raise ConfigError("\n".join(map(str, problems))) from error


def terms(pages: Mapping[str, Page], own: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The terms of all pages: name in links -> the term and its meaning, in alphabetical order.

    Args:
        pages: study -> its page.
        own: terms of the report itself.

    Raises:
        ConfigError: a term is explained twice.
    """
    found = dict(own)
    for page in pages.values():
        for name, term in page.items.terms.items():
            if name in found:
                raise ConfigError(f"{page.path}: terms.{name}: also explained by another study or the report")
            found[name] = (term.term, term.says)
    return dict(sorted(found.items(), key=lambda item: item[1][0].lower()))


def chosen_by_claim(pages: Iterable[Page]) -> dict[str, list[str]]:
    """Claim -> choices made for it after numbers had been seen."""
    texts: dict[str, list[str]] = {}
    for page in pages:
        for choice in page.items.chosen_after_looking:
            for id in choice.claims:
                texts.setdefault(id, []).append(choice.chosen)
    return texts


def with_facts(text: str, ledger: Mapping[str, Row]) -> str:
    """A text with its facts filled in; missing ones are question marks."""
    return FACT.sub(lambda named: _fact(ledger.get(named[1], {}), named[2]), text)


def _fact(row: Row, name: str) -> str:
    value = json.loads(row.get("facts") or "{}").get(name)
    return UNKNOWN if value is None else shown_fact(value)
