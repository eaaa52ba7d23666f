"""Formulas and pages of the report: what is understood is typeset, the rest stays text, corrections have a place."""

import re

import pytest
from tests.conftest import ROOT

from repdyn.base.claims import REFUTED, claims_of
from repdyn.pipeline.config.configuration import Config
from repdyn.pipeline.reference.pages import claims_anything
from repdyn.pipeline.report.markup import DOLLARS, mathml, page
from repdyn.pipeline.run.ledger import read_expected
from repdyn.pipeline.run.loading import load_rooms

STUDIES = [name for name in Config.model_fields if claims_anything(name)]
CLAIMS = {study: claims_of(*load_rooms(study, "claims")) for study in STUDIES}
IDS = {claim.id for claims in CLAIMS.values() for claim in claims}
PAGES = sorted((ROOT / "docs").glob("*.md"))

# Formulas


def test_a_formula_becomes_mathml():
    made = mathml(r"\frac{a}{b} \le \sqrt{x_1}")
    assert made.startswith("<math")
    assert "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>" in made
    assert "http" not in made


def test_a_line_may_break_between_statements_and_before_an_arrow():
    assert mathml(r"a = b, \quad c = d \Rightarrow e = f").count("<math") == 3
    assert mathml(r"\quaduple").startswith("<code>")  # a longer command is another command


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
def test_what_is_no_plain_formula_is_shown_as_written(latex):
    made = mathml(latex)
    assert made.startswith("<code>")
    assert re.sub(r"&(?:lt|gt|amp|#34|#39);", "", made).count("<") == 2


def test_letters_that_look_like_markup_are_letters():
    assert "<script" not in mathml("<script>alert(1)</script>")


def test_bold_numbers_are_bold_characters():
    assert "<mn>\U0001d7cf</mn>" in mathml(r"\mathbf{1}^T")
    assert "<mn>1</mn>" in mathml("1")


def test_norms_do_not_swallow_what_stands_before_them():
    assert mathml(r"\lVert x_1' \rVert^2") == mathml(r"\| x_1' \|^2")


@pytest.mark.parametrize("claim", [one for claims in CLAIMS.values() for one in claims], ids=lambda one: one.id)
def test_every_formula_of_a_claim_is_typeset(claim):
    for formula in filter(None, (claim.formula, claim.corrected_formula)):
        assert "<code>" not in mathml(formula), formula
    assert not claim.formula or claim.formula != claim.corrected_formula


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_formula_of_the_documentation_is_typeset(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [match[1] for match in DOLLARS.finditer(text) if "<code>" in mathml(match[1])] == []


# Pages


@pytest.mark.parametrize("study", STUDIES)
def test_every_correction_has_an_anchor_in_the_documentation(study):
    """`<a id="claim-id">` at the head of the derivation: the errata of the report and docs/claims.md lead there."""
    accepted = read_expected(ROOT / "workflow" / "expected_verdicts.yaml")
    refuted = {one.id for one in CLAIMS[study] if accepted.get(one.id, {}).get("verdict") in REFUTED}
    text = (ROOT / "docs" / f"{study}.md").read_text(encoding="utf-8")
    anchors = re.findall(r'<a id="([^"]+)">', text)
    assert refuted - set(anchors) == set()
    assert set(anchors) - IDS == set(), "an anchor is no claim's id"
    assert len(anchors) == len(set(anchors))
    assert set(page(text, study, IDS).claims) == set(anchors)


TEXT = """# Title

Words `x-one` and `other`, $a_1$ and $5 or $6.

## Method
See <a id="x-one">`x-one`</a>, [beside](other.md), [net](https://example.org), ![picture](http://evil/p.png).

| a | b |
|---|---|
| <b>1</b> | `x-one` |

```
# no heading
```

### Settings found
Ours.

#### Deeper
Also.

### Last
<script>alert(1)</script>

### Last
Again <img src=x onerror=alert(1)> and <a id="y" onclick="z">.
"""


@pytest.fixture(scope="module")
def made():
    return page(TEXT, "x", {"x-one"})


def test_an_anchor_of_a_claim_leads_back_to_its_row(made):
    assert '<a class="anchor" id="doc-x-one" href="#x-one"><code>x-one</code></a>' in made.html
    assert made.claims == {"x-one"}


def test_ids_of_claims_are_links_and_other_code_is_code(made):
    assert made.html.count('<a href="#x-one"><code>x-one</code></a>') == 2
    assert "<code>other</code>" in made.html


def test_formulas_and_money(made):
    assert "<math" in made.html
    assert "$5 or $6" in made.html


def test_only_links_to_the_net_stay_links(made):
    assert '<a href="https://example.org">net</a>' in made.html
    assert "<a>beside</a>" in made.html
    assert "other.md" not in made.html
    assert "evil" not in made.html


def test_markup_of_the_page_is_text(made):
    tags = set(re.findall(r"</?([a-z0-9]+)", made.html))
    assert {"script", "img", "b"} & tags == set()
    assert "&lt;script&gt;" in made.html
    assert "&lt;img src=x" in made.html


def test_headings_are_shifted_and_have_ids_of_their_own(made):
    assert '<h3 id="doc-x-title">' in made.html
    assert '<h5 id="doc-x-last">' in made.html
    assert '<h5 id="doc-x-last-2">' in made.html
    assert "doc-x-no-heading" not in made.html


def test_settings_stand_apart_with_what_is_below_them(made):
    (part,) = made.settings
    assert (part.parent, part.title) == ("Method", "Settings found")
    assert "Ours." in part.html
    assert '<h6 id="doc-x-deeper">' in part.html
    assert "Ours." not in made.html


def test_a_page_without_headings_is_whole():
    made = page("Only words.\n", "x", ())
    assert (made.settings, made.html) == ([], "<p>Only words.</p>\n")
    assert page("", "x", ()).html == ""
