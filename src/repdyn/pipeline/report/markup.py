"""Markup of the report: formulas from LaTeX to MathML, the studies' pages from Markdown to HTML; read offline.

Only what is understood becomes markup. A formula that does not convert is shown as it was written; of the HTML in a
page only the anchors of claims (`<a id="...">`) live, the rest is shown as text; pictures and links to files beside the
page are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

MATHML = "http://www.w3.org/1998/Math/MathML"
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
ELEMENTS = {*CHILDREN, "math", "mi", "mn", "mo", "mtext", "mspace", "mrow", "msqrt", "mtable", "mtr", "mtd", "mstyle"}
ATTRIBUTES = {"display", "form", "fence", "stretchy", "separator", "accent", "accentunder", "largeop", "movablelimits"}
ATTRIBUTES |= {
    "displaystyle",
    "scriptlevel",
    "mathvariant",
    "width",
    "height",
    "minsize",
    "maxsize",
    "linethickness",
    "columnalign",
}
BREAKS = re.compile(r"\\quad(?![A-Za-z])|(?=\\(?:Rightarrow|Leftrightarrow)(?![A-Za-z]))")
NORMS = re.compile(r"\\[lr](?:V|v)ert(?![A-Za-z])")
ANCHOR = re.compile(r'<a id="([A-Za-z0-9._-]+)">|</a>')
DOLLARS = re.compile(r"\$(?!\s)([^$]+?)(?<![\s\\])\$(?!\d)")
BOLD = str.maketrans(
    {str(digit): chr(0x1D7CE + digit) for digit in range(10)}
)  # numbers: browsers ignore their variant
EQUALS = {r"\lVert": r"\|", r"\rVert": r"\|", r"\lvert": "|", r"\rvert": "|"}  # what the converter misplaces

Tokens = Sequence[Token]

ElementTree.register_namespace("", MATHML)


def mathml(latex: str) -> Markup:
    """The formula as MathML; as code, where it holds something that does not convert to plain MathML.

    A formula of several statements is several elements, so that a line may break between them.
    """
    made = [_converted(piece) for piece in BREAKS.split(latex)]
    return Markup("<code>{}</code>").format(latex) if None in made else Markup(" ").join(made)


def _converted(latex: str) -> Markup | None:
    try:
        tree = ElementTree.fromstring(convert(NORMS.sub(lambda mark: EQUALS[mark[0]], latex)))
    except Exception:  # the converter has no common error class, and answers odd input with IndexError and others
        return None
    if "\\" in "".join(tree.itertext()) or not all(_is_known(element) for element in tree.iter()):
        return None
    for number in tree.iter(f"{{{MATHML}}}mn"):
        if number.attrib.pop("mathvariant", "") == "bold":
            number.text = (number.text or "").translate(BOLD)
    return Markup(ElementTree.tostring(tree, encoding="unicode").replace(f' xmlns="{MATHML}"', "", 1))


def _is_known(element: ElementTree.Element) -> bool:
    space, _, name = str(element.tag).rpartition("}")
    complete = len(element) == CHILDREN.get(name, len(element))
    return space == "{" + MATHML and name in ELEMENTS and complete and ATTRIBUTES.issuperset(element.attrib)


@dataclass(frozen=True)
class Section:
    """A part of a page that the report shows by itself: the heading above it, its own, its HTML."""

    parent: str
    title: str
    html: Markup


@dataclass(frozen=True)
class Page:
    """A study's page as the report shows it.

    Attributes:
        settings: the sections whose heading speaks of settings.
        html: the rest.
        claims: ids of the claims that have an anchor, here or in the settings.
    """

    settings: list[Section]
    html: Markup
    claims: frozenset[str]


def page(text: str, study: str, claims: Collection[str]) -> Page:
    """A study's Markdown page in the report's terms.

    Args:
        text: Markdown with tables, `$...$` formulas and `<a id="claim-id">` anchors.
        study: the study, which the ids of the page begin with.
        claims: ids of the ledger; a code span that is one becomes a link to its row.

    Returns:
        The page. Anchors of claims have the id `doc-<claim>`, headings `doc-<study>-<words>`.
    """
    reader = _reader(study, claims)
    settings, rest = _split(text)
    shown = [Section(parent, title, Markup(reader.render(body))) for parent, title, body in settings]
    found = {match[1] for match in ANCHOR.finditer(text)}
    return Page(shown, Markup(reader.render(rest)), frozenset(found & set(claims)))


def _split(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Sections with "settings" in their heading as (heading above, heading, text), and the text without them."""
    lines, found, kept = text.split("\n"), [], []
    headings = [(*_heading(line), place) for place, line in _outside_fences(lines) if _heading(line)]
    ends = [*(place for _, _, place in headings[1:]), len(lines)]
    above: dict[int, str] = {}
    inside = 0  # level of the settings section that is being read
    kept += lines[: headings[0][2]] if headings else lines
    for (level, title, start), end in zip(headings, ends, strict=False):
        above = {depth: words for depth, words in above.items() if depth < level} | {level: title}
        inside = inside if inside and level > inside else level if level > 1 and "settings" in title.lower() else 0
        if inside == level:
            found.append((above.get(level - 1, "") if level > 2 else "", title, "\n".join(lines[start + 1 : end])))
        elif inside:
            found[-1] = (*found[-1][:2], found[-1][2] + "\n" + "\n".join(lines[start:end]))
        else:
            kept += lines[start:end]
    return found, "\n".join(kept)


def _outside_fences(lines: list[str]) -> list[tuple[int, str]]:
    fenced, found = False, []
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced:
            found.append((place, line))
    return found


def _heading(line: str) -> tuple[int, str] | None:
    match = re.match(r"(#{1,6}) +(.*)", line)
    return (len(match[1]), re.sub(r"<[^>]*>|`", "", match[2]).strip()) if match else None


class _Renderer(RendererHTML):
    """Markdown to HTML for one page; each method renders the token of its name, and no way leads out of the report."""

    study: str
    claims: Collection[str]

    def __init__(self, parser: object = None) -> None:
        super().__init__(parser)
        self._seen: Counter[str] = Counter()

    def formula(self, tokens: Tokens, place: int, *_: object) -> str:
        return mathml(tokens[place].content)

    def html_inline(self, tokens: Tokens, place: int, *_: object) -> str:
        """An anchor of a claim leads back to the claim's row in the ledger."""
        match = ANCHOR.fullmatch(tokens[place].content)
        if not match:
            return escape(tokens[place].content)
        if match[1] is None:
            return "</a>"
        return f'<a class="anchor" id="doc-{match[1]}" href="#{match[1]}">' if match[1] in self.claims else "<a>"

    def html_block(self, tokens: Tokens, place: int, *_: object) -> str:
        return Markup("<p>{}</p>\n").format(tokens[place].content)

    def image(self, tokens: Tokens, place: int, *_: object) -> str:
        return escape(tokens[place].content)

    def code_inline(self, tokens: Tokens, place: int, *_: object) -> str:
        text = tokens[place].content
        code = Markup("<code>{}</code>").format(text)
        linked = place and (tokens[place - 1].type == "link_open" or tokens[place - 1].content.startswith("<a "))
        return code if linked or text not in self.claims else f'<a href="#{text}">{code}</a>'

    def link_open(self, tokens: Tokens, place: int, *_: object) -> str:
        """Links to the net stay; those to files beside the page lead nowhere in the report and become text."""
        address = str(tokens[place].attrs.get("href", ""))
        return Markup('<a href="{}">').format(address) if address.startswith("https://") else "<a>"

    def heading_open(self, tokens: Tokens, place: int, *_: object) -> str:
        words = re.sub(r"<[^>]*>", "", tokens[place + 1].content)
        slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
        self._seen[slug] += 1
        number = f"-{self._seen[slug]}" if self._seen[slug] > 1 else ""
        return f'<{_shifted(tokens[place])} id="doc-{self.study}-{slug}{number}">'

    def heading_close(self, tokens: Tokens, place: int, *_: object) -> str:
        return f"</{_shifted(tokens[place])}>\n"

    def table_open(self, *_: object) -> str:
        return '<div class="scroll"><table>\n'

    def table_close(self, *_: object) -> str:
        return "</table></div>\n"


def _reader(study: str, claims: Collection[str]) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable("table")
    reader.inline.ruler.before("escape", "formula", _formula)
    reader.renderer.study, reader.renderer.claims = study, claims
    return reader


def _formula(state: StateInline, silent: bool) -> bool:
    """`$...$`, no space inside the dollars and no digit behind, so that sums of money stay text."""
    match = DOLLARS.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        state.push("formula", "math", 0).content = match[1]
    state.pos = match.end()
    return True


def _shifted(token: Token) -> str:
    """The heading's level in the report, where the page's title stands at level 3."""
    return f"h{min(int(token.tag[1:]) + 2, 6)}"
