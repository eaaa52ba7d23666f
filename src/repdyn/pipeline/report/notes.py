"""The second part of a study's page, derivations and details, as the report shows it: by claim and as a whole, offline.

Of the HTML in a page only the anchors of claims (`<a id="...">`) are kept; the rest is shown as text. Figures of the
run are shown; links to other files become text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from repdyn.base.markup import mathml

ANCHOR = re.compile(r'<a\s+id="([A-Za-z0-9._-]+)">|</a>')
EMPTY = Markup()
LONGEST_PASSAGE = 12  # blocks of text shown with a claim; the page has the rest

Tokens = Sequence[Token]
Picture = tuple[str, int, int]  # address inside the report, width, height
Environment = MutableMapping[str, Any]


@dataclass(frozen=True)
class Notes:
    """A study's derivations and details.

    Attributes:
        body: all of it; anchors of claims have the id `claim-<id>`, headings their words.
        headings: id and text of every heading of the second level.
        passages: claim -> its derivation, from its anchor to the next claim's or heading.
    """

    body: Markup = EMPTY
    headings: list[tuple[str, str]] = field(default_factory=list)
    passages: dict[str, Markup] = field(default_factory=dict)


def notes(text: str, claims: Collection[str], pictures: Mapping[str, Picture]) -> Notes:
    """Derivations and details as HTML for the report.

    Args:
        text: Markdown with tables, `$...$` and `$$...$$` formulas and `<a id="claim-id">` anchors.
        claims: ids of the ledger; a code span that is one becomes a link to its page.
        pictures: name of a figure -> address, width and height of its picture.
    """
    renderer = Renderer(claims, pictures)
    markdown = reader(renderer)
    tokens = markdown.parse(text)
    body = Markup(renderer.render(tokens, markdown.options, {}))
    return Notes(body, list(renderer.headings), _passages(markdown, tokens, claims))


def _words(token: Token) -> str:
    return re.sub(r"<[^>]*>|[`*$]", "", token.content).strip()


def _passages(markdown: MarkdownIt, tokens: list[Token], claims: Collection[str]) -> dict[str, Markup]:
    blocks = list(_blocks(tokens))
    anchored = [_anchors(block) & set(claims) for block in blocks]
    passages: dict[str, Markup] = {}
    for start, ids in enumerate(anchored):
        if not ids:
            continue
        end = start + 1
        while end < min(len(blocks), start + LONGEST_PASSAGE) and not anchored[end] and not _begins(blocks[end]):
            end += 1
        for id in sorted(ids):
            inside = [*_rows(blocks[start], id), *(token for block in blocks[start + 1 : end] for token in block)]
            passages[id] = Markup(markdown.renderer.render(inside, markdown.options, {"passage": True}))
    return passages


def _rows(block: list[Token], claim: str) -> list[Token]:
    """The header of a table and the rows with the claim's anchor; any other block unchanged."""
    if block[0].type != "table_open":
        return block
    body = next((place for place, token in enumerate(block) if token.type == "tbody_open"), len(block))
    starts = [place for place, token in enumerate(block) if token.type == "tr_open" and place > body]
    ends = [next(end for end in range(start, len(block)) if block[end].type == "tr_close") for start in starts]
    rows = [block[start : end + 1] for start, end in zip(starts, ends, strict=True)]
    kept = [token for row in rows if claim in _anchors(row) for token in row]
    return [*block[: body + 1], *kept, *block[ends[-1] + 1 :]] if rows else block


def _blocks(tokens: list[Token]) -> list[list[Token]]:
    """Paragraphs, tables and other blocks of the page; each item of a list as a separate list."""
    blocks: list[list[Token]] = []
    depth, start = 0, 0
    for place, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            blocks += _items(tokens[start : place + 1])
            start = place + 1
    return blocks


def _items(block: list[Token]) -> list[list[Token]]:
    if block[0].type not in ("bullet_list_open", "ordered_list_open"):
        return [block]
    level = block[0].level + 1
    starts = [place for place, token in enumerate(block) if token.type == "list_item_open" and token.level == level]
    ends = [*starts[1:], len(block) - 1]
    return [[block[0], *block[start:end], block[-1]] for start, end in zip(starts, ends, strict=True)]


def _anchors(block: Tokens) -> set[str]:
    children = [child for token in block for child in token.children or () if child.type == "html_inline"]
    return {match[1] for child in children if (match := ANCHOR.fullmatch(child.content)) and match[1]}


def _begins(block: Tokens) -> bool:
    """Whether a block starts a new topic: a heading, an item of a list or a paragraph that begins in bold."""
    if block[0].type in ("heading_open", "bullet_list_open", "ordered_list_open"):
        return True
    children = (block[1].children or []) if len(block) > 1 and block[0].type == "paragraph_open" else []
    shown = [child for child in children if child.type != "html_inline" and (child.nesting or child.content)]
    return bool(shown) and shown[0].type == "strong_open"


class Renderer(RendererHTML):
    """Markdown to HTML for one page; each method renders the token of its name, and no link leaves the report."""

    anchors = "notes-"

    def __init__(self, claims: Collection[str], pictures: Mapping[str, Picture]) -> None:
        super().__init__()
        self.claims, self.pictures = claims, pictures
        self.headings: list[tuple[str, str]] = []
        self._seen: Counter[str] = Counter()

    def html_inline(self, tokens: Tokens, place: int, _options: object, env: Environment) -> str:
        """An anchor of a claim leads to the claim's page."""
        match = ANCHOR.fullmatch(tokens[place].content)
        if not match:
            return escape(tokens[place].content)
        if match[1] is None:
            return "</a>"
        if match[1] not in self.claims:
            return "<a>"
        id = "" if env.get("passage") else f' id="claim-{match[1]}"'
        return f'<a class="anchor"{id} href="../claims/{match[1]}.html">'

    def html_block(self, tokens: Tokens, place: int, *_: object) -> str:
        """Raw HTML is shown as text."""
        return Markup("<p>{}</p>\n").format(tokens[place].content)

    def image(self, tokens: Tokens, place: int, *_: object) -> str:
        """A figure of the run; for any other picture its alternative text."""
        source = PurePosixPath(str(tokens[place].attrs.get("src", ""))).stem
        if source not in self.pictures:
            return Markup("<em>{}</em>").format(tokens[place].content)
        address, width, height = self.pictures[source]
        return Markup('<img src="../{}" alt="{}" width="{}" height="{}" loading="lazy">').format(
            address, tokens[place].content, width, height
        )

    def code_inline(self, tokens: Tokens, place: int, *_: object) -> str:
        """Code that is the id of a claim leads to the claim's page."""
        text = tokens[place].content
        code = Markup("<code>{}</code>").format(text)
        linked = place and (tokens[place - 1].type == "link_open" or tokens[place - 1].content.startswith("<a "))
        return code if linked or text not in self.claims else f'<a href="../claims/{text}.html">{code}</a>'

    def link_open(self, tokens: Tokens, place: int, *_: object) -> str:
        """External links are kept; links to files next to the page become text."""
        address = str(tokens[place].attrs.get("href", ""))
        return Markup('<a href="{}">').format(address) if address.startswith("https://") else "<a>"

    def heading_open(self, tokens: Tokens, place: int, _options: object, env: Environment) -> str:
        """A heading with an anchor, small in a passage."""
        if env.get("passage"):
            return "<h4>"
        words = _words(tokens[place + 1])
        id = self.heading_id(words)
        if tokens[place].tag == "h2":
            self.headings.append((id, words))
        return f'<{_level(tokens[place])} id="{id}">'

    def heading_id(self, words: str) -> str:
        """An anchor made of the heading's words, numbered if repeated."""
        slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
        self._seen[slug] += 1
        return self.anchors + slug + (f"-{self._seen[slug]}" if self._seen[slug] > 1 else "")

    def heading_close(self, tokens: Tokens, place: int, _options: object, env: Environment) -> str:
        """End of a heading."""
        return "</h4>\n" if env.get("passage") else f"</{_level(tokens[place])}>\n"

    def table_open(self, *_: object) -> str:
        """A table in a scrolling container."""
        return '<div class="scroll"><table>\n'

    def table_close(self, *_: object) -> str:
        """End of a table."""
        return "</table></div>\n"


def _level(token: Token) -> str:
    """Level of a heading, below the page's title."""
    return "h2" if token.tag == "h1" else token.tag


def reader(renderer: Renderer) -> MarkdownIt:
    """Markdown with tables and formulas, rendered by this renderer."""
    markdown = MarkdownIt("commonmark", {"html": True}, renderer_cls=lambda _: renderer).enable("table")
    markdown.use(
        dollarmath_plugin,
        allow_space=False,
        allow_digits=True,
        double_inline=True,
        renderer=lambda latex, options: mathml(latex.strip(), display=options["display_mode"]),
    )
    return markdown
