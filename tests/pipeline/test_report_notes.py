"""Notes of the report: a study's Markdown page in parts; its markup stays text, its derivations reach their claims."""

import re

import pytest
from tests.conftest import ROOT

from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import studies
from repdyn.pipeline.report.notes import notes
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

CLAIMS = {study: set(read_study(study).claims) for study in studies.files("decided/verdicts.yaml")}
IDS = {id for ids in CLAIMS.values() for id in ids}
TEXT = """# Title

Words `x-one` and `other`, $a_1$ and $5 or $6. ![Angles fall.](images/fig1.png)

## Method
See <a id="x-one">`x-one`</a>, [beside](other.md), [net](https://example.org), ![picture](http://evil/p.png).

$$
a = b
- c
$$

**Second.** Another <a id="x-two">`x-two`</a>.

- an item
- an item with <a id="x-three">`x-three`</a>

| a | b |
|---|---|
| <b>1</b> | `x-one` |
| 2 | <a id="x-four">four</a> |

```
# no heading
```

### Last
<script>alert(1)</script>

### Last
Again <img src=x onerror=alert(1)> and <a id="y" onclick="z">.
"""


@pytest.fixture(scope="module")
def page():
    return notes(TEXT, {"x-one", "x-two", "x-three", "x-four"}, {"fig1": ("figures/x/fig1.svg", 400, 300)})


def test_title_and_summary_stand_apart(page):
    assert page.title == "Title"
    assert page.summary.startswith("<p>Words")
    assert "Method" not in page.summary
    assert page.headings == [("notes-method", "Method")]


def test_an_anchor_leads_to_the_claims_page(page):
    assert '<a class="anchor" id="claim-x-one" href="../claims/x-one.html"><code>x-one</code></a>' in page.body
    assert page.body.count('<a href="../claims/x-one.html"><code>x-one</code></a>') == 2
    assert "<code>other</code>" in page.body


def test_a_claims_id_in_a_link_is_no_second_link():
    body = notes("[`x`](https://example.org) [`x`](beside.md) and `x` after *`x`*", {"x"}, {}).body
    link = '<a href="../claims/x.html"><code>x</code></a>'
    plain = ['<a href="https://example.org"><code>x</code></a>', "<a><code>x</code></a>"]
    assert body == f"<p>{plain[0]} {plain[1]} and {link} after <em>{link}</em></p>\n"


def test_a_passage_ends_where_the_next_begins(page):
    assert set(page.passages) == {"x-one", "x-two", "x-three", "x-four"}
    assert "<math" in page.passages["x-one"]
    assert "Second" not in page.passages["x-one"]
    assert "id=" not in page.passages["x-two"]
    assert page.passages["x-three"].count("<li>") == 1
    assert "an item with" in page.passages["x-three"]
    assert "four" in page.passages["x-four"]
    assert "&lt;b&gt;" not in page.passages["x-four"]


@pytest.mark.parametrize("after", ["## Next", "**Bold.** Next", "- next", '<a id="other">Next</a>'])
def test_a_passage_of_one_paragraph_is_followed_by_nothing(after):
    text = f'The <a id="one">claim</a>.\n\n{after}\n\nAnd more.\n'
    assert "ext" not in notes(text, {"one", "other"}, {}).passages["one"]


def test_a_word_in_bold_later_in_a_paragraph_begins_nothing_new():
    text = 'The <a id="one">claim</a>.\n\nNext with **bold**.\n\n**Bold.** Last.\n'
    assert re.findall("Next|Last", notes(text, {"one"}, {}).passages["one"]) == ["Next"]


def test_a_passage_has_at_most_twelve_blocks():
    text = "\n\n".join(['<a id="one">The</a> claim.', *(f"Paragraph {place}." for place in range(2, 20))])
    shown = notes(text, {"one"}, {}).passages["one"]
    assert re.findall(r"Paragraph (\d+)", shown) == [str(place) for place in range(2, 13)]


def test_an_anchor_that_is_no_claims_begins_no_passage():
    text = 'The <a id="one">claim</a>.\n\n<a id="none">Next</a>.\n'
    document = notes(text, {"one"}, {})
    assert list(document.passages) == ["one"]
    assert "<a>Next</a>" in document.passages["one"]


def test_two_claims_at_one_place_share_its_passage():
    document = notes('<a id="two">Both</a> and <a id="one">claims</a>.\n\nWhy.\n', {"one", "two"}, {})
    assert list(document.passages) == ["one", "two"]
    assert document.passages["one"] == document.passages["two"]


def test_headings_of_a_passage_have_no_id_and_a_level_of_their_own():
    document = notes('# Title\n\n## <a id="one">Part</a>\n\nWhy.\n\n# Second\n\n### Third\n', {"one"}, {})
    assert document.headings == [("notes-part", "Part")]
    assert ['<h2 id="notes-second">' in document.body, '<h3 id="notes-third">' in document.body] == [True, True]
    assert re.findall("</?h[0-9]>", document.passages["one"]) == ["<h4>", "</h4>"]
    assert ["id=" in document.passages["one"], "Why." in document.passages["one"]] == [False, True]


def test_a_passage_in_a_table_is_its_head_and_the_claims_own_row(page):
    assert [page.passages["x-four"].count(tag) for tag in ("<tr>", "</tr>", "<tbody>", "</tbody>")] == [2, 2, 1, 1]
    cells = re.findall(r"<(t[hd])>(.*?)</\1>", page.passages["x-four"])
    assert [(kind, re.sub("<[^>]*>", "", text)) for kind, text in cells] == [
        ("th", "a"),
        ("th", "b"),
        ("td", "2"),
        ("td", "four"),
    ]


def test_display_formulas_and_money(page):
    assert 'display="block"' in page.body
    assert "$5 or $6" in page.body
    assert "<math" in notes("| a |\n| - |\n| $x$ is 9 |", set(), {}).body


def test_figures_of_the_run_are_shown_and_no_other_picture(page):
    assert re.findall(r"<img src=\"([^\"]*)\" alt=\"([^\"]*)\"", page.body) == [
        ("../figures/x/fig1.svg", "Angles fall.")
    ]
    assert "evil" not in page.body


def test_only_links_to_the_net_stay_links(page):
    assert '<a href="https://example.org">net</a>' in page.body
    assert "<a>beside</a>" in page.body
    assert "other.md" not in page.body


def test_markup_of_the_page_is_text(page):
    tags = set(re.findall(r"</?([a-z0-9]+)", page.body))
    assert {"script", "b"} & tags == set()
    assert "&lt;script&gt;" in page.body
    assert "&lt;img src=x" in page.body


def test_headings_have_ids_of_their_own(page):
    assert '<h3 id="notes-last">' in page.body
    assert '<h3 id="notes-last-2">' in page.body
    assert "no-heading" not in page.body


def test_a_page_without_headings_is_whole():
    document = notes("Only words.\n", (), {})
    assert (document.title, document.summary, document.body) == ("", "<p>Only words.</p>\n", "<p>Only words.</p>\n")
    assert notes("", (), {}).body == ""


@pytest.mark.parametrize("study", CLAIMS)
def test_every_correction_has_its_derivation_in_the_documentation(study):
    """`<a id="claim-id">` at the head of the derivation: the page of the claim shows it, docs/claims.md leads there."""
    accepted = accepted_verdicts()
    refuted = {id for id in CLAIMS[study] if accepted.get(id, {}).get("verdict") in REFUTED}
    text = (ROOT / "docs" / f"{study}.md").read_text(encoding="utf-8")
    anchors = re.findall(r'<a\s+id="([^"]+)">', text)
    assert refuted - set(anchors) == set()
    assert set(anchors) - IDS == set(), "an anchor is no claim's id"
    assert len(anchors) == len(set(anchors))
    assert refuted - set(notes(text, IDS, {}).passages) == set()
