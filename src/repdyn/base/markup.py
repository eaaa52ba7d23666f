r"""What HTML pages share: LaTeX to MathML, text with `$...$`, typeset numbers, the style sheet, embedded pictures.

Only supported formulas become markup. Others are shown verbatim, and text is escaped.
"""

from __future__ import annotations

import base64
import re
import string
from functools import cache
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup, escape

STYLE = Path(__file__).with_name("site.css")
TYPES = {".svg": "svg+xml", ".png": "png"}
LINES = re.compile(r"\s*\n\s*")
UNCHANGED = " " + string.punctuation.translate(str.maketrans("", "", "%#<>\\"))  # in an address of a picture
MATHML = "http://www.w3.org/1998/Math/MathML"
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
ELEMENTS = {*CHILDREN, "math", "mi", "mn", "mo", "mtext", "mspace", "mrow", "msqrt", "mtable", "mtr", "mtd", "mstyle"}
ATTRIBUTES = {"display", "form", "fence", "stretchy", "separator", "accent", "accentunder", "largeop", "movablelimits"}
ATTRIBUTES |= {"displaystyle", "scriptlevel", "mathvariant", "width", "height", "minsize", "maxsize", "linethickness"}
ATTRIBUTES |= {"columnalign"}
BREAKS = re.compile(r"\\quad(?![A-Za-z])|(?=\\(?:Rightarrow|Leftrightarrow)(?![A-Za-z]))")
NORMS = re.compile(r"\\[lr](?:V|v)ert(?![A-Za-z])")
EQUALS = {r"\lVert": r"\|", r"\rVert": r"\|", r"\lvert": "|", r"\rvert": "|"}  # commands that the converter misplaces
DOLLARS = re.compile(r"\$(?!\s)([^$]+?)(?<![\s\\])\$(?!\d)")  # not amounts of money
BOLD = str.maketrans({str(digit): chr(0x1D7CE + digit) for digit in range(10)})  # browsers ignore a number's variant
EMPHASIS, BETWEEN = re.compile(r"\*+"), re.compile(r"(?<=\w)\*+(?=\w)")
POWER = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?)e([-+]?)0*(\d+)(?![\w.])")
MINUS = re.compile(r"(?<![\w.)\]])-(?=\d)")

ELEMENT = f"{{{MATHML}}}"
LIMITS = ("lim", "max", "min", "sup", "inf")  # browsers know their spaces
SPACE = "0.17em"
SIGNS, RELATIONS = ("\N{MINUS SIGN}", "+", "\N{PLUS-MINUS SIGN}"), tuple("=,;<>(\u2264\u2265\u2208\u21d2\u21d4")
UNDERLINE, MACRON = "\N{HORIZONTAL BAR}", "\N{MACRON}"

ElementTree.register_namespace("", MATHML)


@cache
def mathml(latex: str, *, display: bool = False) -> Markup:
    """The formula as MathML, or as code if it does not convert to plain MathML.

    A formula of several statements is several elements, so that a line may break between them.
    """
    pieces = BREAKS.split(latex)
    elements = [element for piece in pieces if (element := _element(piece, display)) is not None]
    return Markup(" ").join(elements) if len(elements) == len(pieces) else Markup("<code>{}</code>").format(latex)


def words(text: str) -> Markup:
    """Escaped text with `$...$` typeset and numbers such as 1e-9 and -2 as in print."""
    pieces = enumerate(DOLLARS.split(text))  # words and formulas in turn
    return Markup("").join(mathml(piece) if place % 2 else numbers(piece) for place, piece in pieces)


def quoted(text: str) -> str:
    """Words of a paper without the asterisks of emphasis that its scan has outside formulas."""
    pieces = enumerate(DOLLARS.split(text))
    return "".join(f"${piece}$" if place % 2 else EMPHASIS.sub("", BETWEEN.sub(" ", piece)) for place, piece in pieces)


def numbers(text: str) -> Markup:
    """Escaped text with numbers as in print: 1e-09 as a power of ten, true minus signs."""
    shown = str(escape(text)).replace("+-", "\N{PLUS-MINUS SIGN}")
    return Markup(POWER.sub(_power, MINUS.sub("\N{MINUS SIGN}", shown)))


def plain(text: str) -> str:
    """Text without markup (titles, search): formulas as written, without dollars."""
    return DOLLARS.sub(lambda formula: formula[1], text)


def data_address(file: Path) -> str:
    """A picture, `.svg` or `.png`, as a data URL; vector graphics as text, which is a third shorter."""
    kind = f"data:image/{TYPES[file.suffix]}"
    if file.suffix == ".svg":
        return f"{kind},{quote(LINES.sub(' ', file.read_text(encoding='utf-8')), safe=UNCHANGED)}"
    return f"{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def _power(number: re.Match[str]) -> str:
    factor = "" if number[1] in ("1", "+1") else f"{number[1]} × "
    sign = "\N{MINUS SIGN}" if number[2] in ("-", "\N{MINUS SIGN}") else ""
    return f"{factor}10<sup>{sign}{number[3]}</sup>"


def _element(latex: str, display: bool) -> Markup | None:
    try:
        source = NORMS.sub(lambda mark: EQUALS[mark[0]], latex)
        tree = ElementTree.fromstring(convert(source, display="block" if display else "inline"))
    except Exception:  # the converter has no common error class and raises IndexError and others for odd input
        return None
    if "\\" in "".join(tree.itertext()) or not all(_is_known(element) for element in tree.iter()):
        return None
    _space(tree)
    for number in tree.iter(f"{ELEMENT}mn"):
        if number.attrib.pop("mathvariant", "") == "bold":
            number.text = (number.text or "").translate(BOLD)
    return Markup(ElementTree.tostring(tree, encoding="unicode").replace(f' xmlns="{MATHML}"', "", 1))


def _space(tree: ElementTree.Element) -> None:
    """Spacing: none after bars and signs, none between a function and a bracket, some before a letter."""
    for parent in list(tree.iter()):
        for place, child in reversed(list(enumerate(parent))):
            is_sign = child.text in SIGNS and place and parent[place - 1].text in RELATIONS
            if child.tag == f"{ELEMENT}mo" and (child.text == "|" or is_sign):
                child.set("form", "prefix")
            elif child.text == UNDERLINE:
                child.text = MACRON  # as wide as a letter
            elif child.tag == f"{ELEMENT}mo" and _is_name(child) and child.text not in LIMITS:
                child.tag = f"{ELEMENT}mi"
            base = child[0] if child.tag in (f"{ELEMENT}msub", f"{ELEMENT}msup") else child
            after = parent[place + 1].tag if place + 1 < len(parent) else f"{ELEMENT}mo"
            is_line = parent.tag in (f"{ELEMENT}mrow", f"{ELEMENT}math")
            if is_line and base.tag == f"{ELEMENT}mi" and _is_name(base) and after != f"{ELEMENT}mo":
                parent.insert(place + 1, ElementTree.Element(f"{ELEMENT}mspace", width=SPACE))


def _is_name(element: ElementTree.Element) -> bool:
    return element.text is not None and len(element.text) > 1 and element.text.isalpha()


def _is_known(element: ElementTree.Element) -> bool:
    space, _, name = str(element.tag).rpartition("}")
    complete = len(element) == CHILDREN.get(name, len(element))
    return space == "{" + MATHML and name in ELEMENTS and complete and ATTRIBUTES.issuperset(element.attrib)
