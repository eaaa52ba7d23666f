"""Sphinx makes these pages and the reference of the public library, read from the docstrings, into a site.

In the repository's folder, with the extra `docs` installed: `sphinx-build -W -b html docs build/docs`.
"""

import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import logging

from repdyn.base.markup import mathml

project = "repdyn"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
templates_path = ["templates"]
exclude_patterns = ["templates"]
html_theme = "furo"
html_title = "repdyn"
html_math_renderer = "mathml"
html_copy_source = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 6
smartquotes = False  # docstrings quote values
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike")}
napoleon_use_ivar = True
viewcode_follow_imported_members = False  # fields of tuples would lead to Python's own

PAGE = re.compile(r"\]\((?!http)([^)#]+)\.md[^)]*\)")
CODE = r"``.*?``|`[^`]*`|^ *>>>.*?(?:\n *\n|\Z)|(?<=::\n\n)(?: {4}[^\n]*\n|\n)+"
CODE_OR_MARK = re.compile(rf"({CODE})|(\||(?<=[\w\])])_(?![\w`]))", re.DOTALL | re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')
STUDY = re.compile(r"\]\((?:\.\./)+src/repdyn/(\w+)/page\.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def studies(app: Sphinx, _config: object) -> None:
    """Copies `page.md` of every study to `studies/<study>.md`, without its front matter, with links from there."""
    docs = Path(app.srcdir)
    folder = docs / "studies"
    folder.mkdir(exist_ok=True)
    for page in sorted(docs.parent.glob("src/repdyn/*/page.md")):
        text = page.read_text(encoding="utf-8")
        body = text.removeprefix("---\n").partition("\n---\n")[2] if text.startswith("---\n") else text
        anchors = set(ANCHOR.findall(body))

        def link(found: re.Match[str], page: Path = page, anchors: set[str] = anchors) -> str:
            picture, words, file, anchor = found.groups()
            kind, _, name = file.partition(":")
            if picture:
                return f"*Figure `{file}`: in the report.*" if file != "explorer" else "*In the report.*"
            if kind == "claim":
                return f"[{words}]({f'/studies/{page.parent.name}.md#{name}' if name in anchors else '/claims.md'})"
            if kind == "term":
                return f"[{words}](/glossary.md#{name})"
            if kind in ("http", "https") or not file:
                return found[0]
            return f"[{words}]({os.path.relpath(os.path.normpath(page.parent / file), folder)}{anchor or ''})"

        copy = folder / f"{page.parent.name}.md"
        shown = LINK.sub(link, body)
        if not copy.is_file() or copy.read_text(encoding="utf-8") != shown:  # an older one stays: nothing is made again
            copy.write_text(shown, encoding="utf-8")


def links_to_studies(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Links to the studies' pages lead to their copies."""
    source[0] = STUDY.sub(r"](/studies/\1.md", source[0])


def contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Gives the first page a table of contents: what each of its sections leads to first, under the section's name."""
    if page != "index":
        return
    seen: set[str] = set()
    for section in source[0].split("\n## ")[1:]:
        new = [name for name in dict.fromkeys(PAGE.findall(section)) if name not in seen]
        seen.update(new)
        if new:
            caption = section.partition("\n")[0]
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(new) + "\n```\n"


def formulas_as_they_are(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list) -> None:
    """Docstrings have |x| for a norm and pi_ for a projection, which would be marks of reStructuredText."""
    lines[:] = CODE_OR_MARK.sub(lambda found: found[1] or "\\" + found[2], "\n".join(lines)).split("\n")


def references(app: Sphinx, document: nodes.document) -> None:
    """Links may lead to `<a id="...">`, as on a forge, which MyST takes for text.

    A name in a signature is that of its own module, or in full: no `n` of a shape leads to some attribute `n`.
    """
    for link in document.findall(pending_xref):
        link.attributes.pop("refspecific", None)
    page = app.env.docname
    slugs = app.env.metadata[page].setdefault("myst_slugs", {})
    for node in document.findall(nodes.raw):
        for id in ANCHOR.findall(node.astext()):
            slugs[id] = (node.line, id, "")


def formula(translator, node: nodes.Element) -> None:
    """Formulas are MathML, as in the report, so that a page needs no network."""
    display = isinstance(node, nodes.math_block)
    written = str(mathml(node.astext(), display=display))
    if written.startswith("<code>"):
        logging.getLogger(__name__).warning("no MathML for %s", node.astext(), location=node)
    translator.body.append(f"<div>{written}</div>" if display else written)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Adds the above."""
    app.connect("config-inited", studies)
    app.connect("source-read", links_to_studies, priority=400)  # before the table of contents
    app.connect("source-read", contents)
    app.connect("doctree-read", references)
    app.connect("autodoc-process-docstring", formulas_as_they_are, priority=400)  # before napoleon
    app.add_html_math_renderer("mathml", inline_renderers=(formula, None), block_renderers=(formula, None))
