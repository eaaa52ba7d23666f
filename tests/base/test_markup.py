"""Formulas and texts of the report: supported ones are typeset, the rest remains text, no glyph is missing."""

import html
import re

import pytest
from tests.conftest import ROOT

from repdyn.base.claims import claims_of
from repdyn.base.markup import DOLLARS, mathml, quoted
from repdyn.pipeline.config import configuration
from repdyn.pipeline.pages.generate import claims_anything
from repdyn.pipeline.report.build import PAGE
from repdyn.pipeline.run.execute.loading import load_modules

STUDIES = list(filter(claims_anything, configuration.STUDIES))
CLAIMS = {study: claims_of(*load_modules(study, "claims")) for study in STUDIES}
PAGES = sorted((ROOT / "docs").glob("*.md"))

# Formulas


def test_asterisks_of_emphasis_leave_a_quotation_and_stay_in_formulas():
    assert quoted("**b** and Rank*A* of $f^*(X)$, *for some* $a > 2$") == "b and Rank A of $f^*(X)$, for some $a > 2$"


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<!-- --><b>x</b>}",
        r"\text{<!--><img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\class{evil}{x}",
        r"\style{position: fixed}{x}",
        "a < b & c",
        r"\nosuchcommand x",
        r"\frac{1}",
        r"\begin{matrix}",
        "{",
        "",
    ],
)
def test_unsupported_formula_is_shown_verbatim(latex):
    markup = mathml(latex)
    assert markup.startswith("<code>")
    assert re.sub(r"&(?:lt|gt|amp|#34|#39);", "", markup).count("<") == 2


@pytest.mark.parametrize("claim", [claim for claims in CLAIMS.values() for claim in claims], ids=lambda claim: claim.id)
def test_every_formula_of_a_claim_is_typeset(claim):
    for formula in filter(None, (claim.formula, claim.corrected_formula)):
        assert "<code>" not in mathml(formula), formula
    assert not claim.formula or claim.formula != claim.corrected_formula


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_formula_of_the_documentation_is_typeset(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [match[1] for match in DOLLARS.finditer(text) if "<code>" in mathml(match[1])] == []


# Glyphs

ITALIC = {"h": 0x210E}  # the one italic letter that stands elsewhere


def italic(letter):
    """Code point that a browser shows for a single letter in <mi>."""
    if "a" <= letter <= "z":
        return ITALIC.get(letter, 0x1D44E + ord(letter) - ord("a"))
    if "A" <= letter <= "Z":
        return 0x1D434 + ord(letter) - ord("A")
    return ord(letter)


def test_font_has_every_glyph_of_every_formula():
    from fontTools.ttLib import TTFont

    font = TTFont(PAGE / "math.woff2")
    glyphs = set(font.getBestCmap())
    assert "MATH" in font
    missing = {}
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    formulas = [match[1] for text in texts for match in DOLLARS.finditer(re.sub(r"`[^`\n]*`", "", text))]
    for claims in CLAIMS.values():
        formulas += [formula for claim in claims for formula in (claim.formula, claim.corrected_formula) if formula]
        formulas += [match[1] for claim in claims for match in DOLLARS.finditer(claim.states + claim.correction)]
    for formula in formulas:
        shown = re.sub(r"<mi>(.)</mi>", lambda letter: chr(italic(letter[1])), html.unescape(mathml(formula)))
        for letter in set(re.sub(r"<[^>]*>", "", shown)) - {" ", "\n"}:
            if ord(letter) not in glyphs:
                missing.setdefault(letter, formula)
    assert missing == {}
