"""Pages of studies: parts, structured items, facts of a run's ledger."""

import json

import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline.report import page_md

FINDING = "{figure: x/f, show: all, verdict: holds, headline: H, sentence: S}"
MISTAKES = [  # items, parts of the message
    ("summry: {}", ':2: unknown key "summry"; did you mean "summary"?'),
    ("summary: {claims: A., breaks: B.}", ':2: summary: missing key "survives": text'),
    ("summary: {claims: A, breaks: B., survives: C.}", ':2: summary.claims: "A" is not text of the form'),
    ("concept:\n  question: Q", ':2: concept: missing key "formula": non-empty text'),
    (f"findings: {{x-1: {FINDING.replace('all', 'left')}}}", ':2: findings.x-1.show: "left" is not one of all, top,'),
    (f"findings:\n  x-1: {FINDING.replace('holds', 'hold')}", ':3: findings.x-1.verdict: "hold" is not one of holds,'),
    ("terms: {a: {term: A, say: B}}", ':2: terms.a: unknown key "say"; did you mean "says"?'),
    ("chosen_after_looking:\n- {chosen: A, claims: x-1}", ':3: chosen_after_looking[0].claims: "x-1" is not a list of'),
]


@pytest.fixture
def page(tmp_path):
    def write(text):
        (tmp_path / "page.md").write_text(text)
        return page_md.read(tmp_path / "page.md")

    return write


def test_page_has_items_title_story_and_notes(page):
    read = page("---\nterms: {a: {term: A, says: B}}\n---\n# T\n\nS\n\n## More\n\n# Notes\n\nN\n\n# N2\n")
    assert (read.title, read.story.split(), read.notes.split()) == ("T", ["S", "##", "More"], ["N", "#", "N2"])
    assert page_md.terms({"x": read}, {"b": ("0", "")}) == {"b": ("0", ""), "a": ("A", "B")}
    assert (page("# T\nS").items, page("S").title) == (page_md.Items(), "")


def test_invalid_items_are_reported_with_line_key_value_and_choices(page):
    wrong = {}
    for items, message in MISTAKES:
        with pytest.raises(ConfigError) as caught:
            page(f"---\n{items}\n---\n# T\n")
        if message not in str(caught.value):
            wrong[items] = str(caught.value)
    assert wrong == {}


def test_term_is_explained_once(page):
    read = page("---\nterms: {a: {term: A, says: B}}\n---\n")
    with pytest.raises(ConfigError, match=r"page\.md: terms\.a"):
        page_md.terms({"x": read, "y": read}, {})


def test_facts_have_four_digits_and_missing_facts_are_question_marks():
    ledger = {"x-1": {"facts": json.dumps({"a b": 0.123456, "n": 1234, "none": None})}, "x-2": {}}
    text = "{{x-1: a b}} {{x-1: n}} {{x-1: none}} {{x-1: c}} {{x-2: a}} {{x-3: a}} $\\frac{{a}}{b}$"
    assert page_md.with_facts(text, ledger) == "0.1235 1234 ? ? ? ? $\\frac{{a}}{b}$"
