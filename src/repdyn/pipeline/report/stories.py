"""A study's story: the paper's question, its theory's predictions, what breaks, what is right, what survives.

It is the first part of `page.md`: a summary of a few paragraphs, then sections. In it

    ![](loss_by_depth)            a figure of the study, alone in its paragraph
    ![](explorer)                 the study's interactive figure, alone in its paragraph
    [rises](claim:x-thm1)         a claim, colored by this run's verdict
    [collapse](term:collapse)     a term that some page explains
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from markdown_it.token import Token
from markupsafe import Markup

from repdyn.base.errors import ConfigError
from repdyn.base.markup import plain, words
from repdyn.pipeline.config.messages import not_one_of
from repdyn.pipeline.report.contents import Product, Row
from repdyn.pipeline.report.notes import EMPTY, Renderer, reader
from repdyn.pipeline.report.page_md import Page, with_facts

EXPLORER = "explorer"
Known = TypeVar("Known")


@dataclass(frozen=True)
class Story:
    """A story as shown on the page of its study.

    Attributes:
        lead: the text before the first section.
        before: the sections up to the interactive figure, or all of them if it has no place.
        after: the sections after it.
        headings: id and title of every section.
    """

    lead: Markup = EMPTY
    before: Markup = EMPTY
    after: Markup = EMPTY
    headings: list[tuple[str, str]] = field(default_factory=list)


def story(
    page: Page, claims: Mapping[str, Row], figures: Mapping[str, Product], terms: Mapping[str, tuple[str, str]]
) -> Story:
    """The story of a page.

    Args:
        page: the study's page.
        claims: id -> row of the ledger.
        figures: the study's figures by name.
        terms: name in links -> term and what it means.

    Raises:
        ConfigError: the story refers to an unknown claim, figure or term.
    """
    renderer = _Renderer(page.path, claims, figures, terms)
    markdown = reader(renderer)
    tokens = markdown.parse(with_facts(page.story, claims))
    first = next((place for place, token in enumerate(tokens) if token.type == "heading_open"), len(tokens))
    break_ = next((place for place, token in enumerate(tokens) if _picture(token) == EXPLORER), len(tokens) + 1)
    parts = tokens[:first], tokens[first : break_ - 1], tokens[break_ + 2 :]
    lead, before, after = (Markup(renderer.render(part, markdown.options, {})) for part in parts)
    return Story(lead, before, after, list(renderer.headings))


def _picture(token: Token) -> str:
    """Name of a picture that is a paragraph by itself; empty for any other token."""
    children = token.children or []
    alone = token.type == "inline" and len(children) == 1 and children[0].type == "image"
    return str(children[0].attrs["src"]) if alone else ""


class _Renderer(Renderer):
    """Renders a story with links to claims and terms and with figures."""

    anchors = "story-"

    def __init__(
        self, path: Path, rows: Mapping[str, Row], figures: Mapping[str, Product], terms: Mapping[str, tuple[str, str]]
    ) -> None:
        super().__init__(rows, {})
        self.path, self.rows, self.figures, self.terms = path, rows, figures, terms

    def paragraph_open(self, tokens: Sequence[Token], place: int, *_: object) -> str:
        return "" if tokens[place].hidden or _picture(tokens[place + 1]) else "<p>"

    def paragraph_close(self, tokens: Sequence[Token], place: int, *_: object) -> str:
        return "" if tokens[place].hidden or _picture(tokens[place - 1]) else "</p>\n"

    def image(self, tokens: Sequence[Token], place: int, *_: object) -> str:
        """A figure of the study, linked to its file, with its title, linked to caption, data and code."""
        figure = self._known("figure", str(tokens[place].attrs["src"]), self.figures)
        return Markup(
            '<figure class="inline"><a href="../{picture}"><img src="../{picture}" alt="{alt}" '
            'width="{width}" height="{height}" loading="lazy"></a>'
            '<figcaption><b>{title}.</b> <a href="../{page}">Caption, data and code</a></figcaption></figure>\n'
        ).format(
            page=figure.page,
            picture=figure.picture,
            alt=plain(figure.alt),
            width=figure.size[0],
            height=figure.size[1],
            title=words(figure.title.rstrip(".")),
        )

    def link_open(self, tokens: Sequence[Token], place: int, *rest: object) -> str:
        kind, _, name = str(tokens[place].attrs["href"]).partition(":")
        if kind == "claim":
            row = self._known(kind, name, self.rows)
            verdict = row["verdict"]
            return Markup('<a class="claim {}" href="../claims/{}.html" title="{}: {}">').format(
                verdict.replace(" ", "-"), name, verdict, plain(row["statement"])
            )
        if kind == "term":
            term, says = self._known(kind, name, self.terms)
            return Markup('<a class="term" href="../glossary.html#{}" title="{}: {}">').format(
                name, plain(term), plain(says)
            )
        return super().link_open(tokens, place, *rest)

    def _known(self, kind: str, name: str, known: Mapping[str, Known]) -> Known:
        if name not in known:
            raise ConfigError(f"{self.path}: {kind}: {not_one_of(name, known)}")
        return known[name]
