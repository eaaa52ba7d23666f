"""Errata of a paper as a document that can be sent: Typst source, and the PDF where Typst is installed.

Formulas go from LaTeX by way of MathML, as on the pages, to Typst's mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from xml.etree import ElementTree

from repdyn.base.markup import DOLLARS, mathml, quoted
from repdyn.pipeline.report.contents import Row
from repdyn.pipeline.report.errata import Errata, Script

SPECIAL = re.compile(r"([\\#$*_`<>@\[\]~=/+\-\"'])")  # in Typst's text
IN_FORMULAS = re.compile(r"([\\#$_^&/\"'`~(),;:\[\]{}])")  # in its formulas, where commas part arguments
CLAIM = re.compile(r"\b[a-z]+(?:-\w+)+")
ACCENTS = {"~": "tilde", "˜": "tilde", "^": "hat", "ˆ": "hat", "¯": "macron", "‾": "macron", "―": "macron"}
ACCENTS |= {"˙": "dot", "→": "arrow", "\N{COMBINING TILDE}": "tilde"}
VARIANTS = {"bold": "bold", "double-struck": "bb", "script": "cal", "fraktur": "frak", "normal": "upright"}
HEAD = """#set document(title: "{title}", date: none)
#set page(margin: 2.2cm, numbering: "1")
#set text(font: "New Computer Modern", size: 10.5pt, lang: "en")
#set par(justify: true)
#show raw: set text(size: 7.6pt)
#show raw.where(block: true): block.with(fill: luma(245), inset: 8pt, width: 100%)
#show heading.where(level: 3): set text(size: 10.5pt)

= Errata: {name}

{paper}

Statements that the numbers refute as printed, the most severe first. Each script needs numpy alone and shows the
`truth`, what is `printed` of it, and the `correct` value.
"""
LONGEST_LINE = 97  # of a script; longer ones would be broken


def document(title: str, paper: str, errata: Errata, scripts: Mapping[str, Script], ledger: Mapping[str, Row]) -> str:
    """The source: what is printed, why it cannot be, what is right, and a script that shows it, for each entry.

    Args:
        title: short title of the study.
        paper: authors and title of the paper.
        errata: the confirmed entries by severity.
        scripts: claim -> its script.
        ledger: claim -> its row, with the place in the paper, which its authors know, unlike our ids.
    """
    parts = [HEAD.format(title=title.replace('"', "'"), name=text(title), paper=text(paper))]
    for group in errata.groups:
        parts += [f"== {text(group.heading)}\n", f"{text(group.remark)}\n"]
        for row in group.rows:
            shown = {key: CLAIM.sub(lambda id: ledger.get(id[0], {"where": id[0]})["where"], row[key]) for key in row}
            parts.append(_entry(shown, scripts.get(row["id"])))
    return "\n".join(parts)


def pdf(source: str) -> bytes | None:
    """The document as PDF; None where the optional package typst is not installed."""
    if not is_installed():
        return None
    import typst

    return bytes(typst.compile(source.encode()))


def is_installed() -> bool:
    """Whether documents can be made."""
    return find_spec("typst") is not None


def _entry(claim: Row, script: Script | None) -> str:
    words = f" “{text(quoted(claim['words']))}” (line {claim['line']} of our copy)." if claim["words"] else ""
    lines = [f"=== {text(claim['where'])}: {text(claim['message'])}", ""]
    lines += [f"*Printed.* {text(claim['statement'])}{words}", *_formula(claim["formula"])]
    if claim["assumes"]:
        lines += [f"*Assumed there:* {text(claim['assumes'])}.", ""]
    lines += [f"*Why it cannot be.* {text(claim['cause'])}", ""]
    name = "Correct" if claim["verdict"] == "holds as corrected" else "What is true"
    lines += [f"*{name}.* {text(claim['correction'] or claim['why'])}", *_formula(claim["corrected_formula"])]
    lines += [f"*Measured:* {text(claim['printed_measured'])}; required: {text(claim['printed_expected'])}.", ""]
    if script:
        lines += [text(script.says), "", f"```python\n{script.code}```", ""]
    return "\n".join(lines)


def _formula(latex: str) -> list[str]:
    return ["", f"$ {formula(latex)} $", ""] if latex else [""]


def text(words: str) -> str:
    """Text with formulas between dollars."""
    pieces = enumerate(DOLLARS.split(words))  # words and formulas in turn
    return "".join(f"${formula(piece)}$" if place % 2 else SPECIAL.sub(r"\\\1", piece) for place, piece in pieces)


def formula(latex: str) -> str:
    """A formula in Typst's notation; as letters if it does not convert."""
    tree = ElementTree.fromstring(f"<formulas>{mathml(latex)}</formulas>")
    if tree.find("code") is not None:
        return _quoted(latex)
    return " quad ".join(_math(part) for part in tree)


def _quoted(letters: str) -> str:
    return '"' + letters.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _math(element: ElementTree.Element) -> str:
    name, parts = element.tag.rpartition("}")[2], list(map(_math, element))
    if name in ("mi", "mn", "mo"):
        return _letters(element, name)
    if name == "mtext":
        return _quoted((element.text or "").replace("\N{NO-BREAK SPACE}", " "))
    if name == "mspace":
        return "quad" if element.get("width", "").startswith(("1", "2")) else "thin"
    if name == "mfrac":
        return f"frac({parts[0]}, {parts[1]})"
    if name == "msqrt":
        return f"sqrt({' '.join(parts)})"
    if name == "mroot":
        return f"root({parts[1]}, {parts[0]})"
    if name in ("mover", "munder") and (accent := ACCENTS.get(element[1].text or "")):
        return f"accent({parts[0]}, {accent})" if name == "mover" else f"underline({parts[0]})"
    if name in ("msub", "munder"):
        return f"attach({parts[0]}, b: {parts[1]})"
    if name in ("msup", "mover"):
        return f"attach({parts[0]}, t: {parts[1]})"
    if name in ("msubsup", "munderover"):
        return f"attach({parts[0]}, b: {parts[1]}, t: {parts[2]})"
    if name == "mtable":
        return f"mat(delim: #none, {'; '.join(parts)})"
    if name == "mtr":
        return ", ".join(part or '""' for part in parts)
    inside = " ".join(filter(None, parts)) or '""'
    stretched = len(element) > 1 and all(end.get("stretchy") == "true" for end in (element[0], element[-1]))
    return f"lr({inside})" if stretched else inside


def _letters(element: ElementTree.Element, name: str) -> str:
    letters = (element.text or "").strip()
    if not letters:
        return ""
    variant = VARIANTS.get(element.get("mathvariant", ""))
    shown = " ".join(IN_FORMULAS.sub(r"\\\1", one) for one in (letters if name == "mo" else [letters]))
    if len(letters) > 1 and letters.isalpha():
        shown = f"op({_quoted(letters)})"
    if letters in ("|", "‖", "∥"):
        return f'class("normal", {shown})'  # a norm, not a relation
    return f"{variant}({shown})" if variant and len(letters) == 1 else shown
