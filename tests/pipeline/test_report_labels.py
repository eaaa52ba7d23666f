"""Labels of evidence: a phrase beside each of one word or two, and beside no other."""

import csv

import pytest
from tests.conftest import ROOT
from tests.pipeline.test_report import CLAIM, PART, Page, make_run, make_source

from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.report import labels
from repdyn.pipeline.report.build import build

PHRASES = labels.read_all(studies.files(studies.LABELS))
FEWEST = 3  # words of a phrase


def of_references():
    """Labels of the parts of each claim in the reference runs."""
    found = {}
    for path in sorted((ROOT / "reference").glob("*/numbers.csv")):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["id"], set()).add(row["part"])
    return found


def test_every_label_of_one_or_two_words_says_what_was_measured():
    short = {(id, label) for id, own in of_references().items() for label in own if 0 < len(label.split()) < 3}
    assert len(short) > 250
    assert sorted(short - {(id, label) for id, own in PHRASES.items() for label in own}) == []


def test_every_phrase_belongs_to_a_part_of_a_claim():
    known = of_references()
    assert [(id, label) for id, own in PHRASES.items() for label in own if label not in known.get(id, ())] == []


def test_a_phrase_is_short_and_no_second_label():
    phrases = {(id, label): phrase for id, own in PHRASES.items() for label, phrase in own.items()}
    assert {where: text for where, text in phrases.items() if not FEWEST <= len(text.split()) <= 14} == {}
    assert [where for where, text in phrases.items() if text.endswith(".") or text[:1] != text[:1].lower()] == []


def test_the_phrase_stands_beside_the_label(tmp_path):
    root, source = tmp_path / "mine", make_source(tmp_path / "checkout")
    files = make_run(root, [CLAIM], parts=[PART, PART | {"part": "right"}])
    (tmp_path / "checkout/x" / studies.LABELS).write_text('x-thm1: {left side: "angle <b> of it"}\n')
    build(root, files, root / "report", source)
    page = Page((root / "report/claims/x-thm1.html").read_text(encoding="utf-8"))
    assert "left side angle <b> of it two and a half" in page.words
    assert "right two and a half" in page.words


@pytest.mark.parametrize(
    "text", ["x: 1", "x: {a: 2}", "x: [a]", 'x: {a: ""}', 'x: {a: good, b: ""}', "x: {a: good, b: 2}"]
)
def test_a_malformed_entry_is_told(tmp_path, text):
    (tmp_path / "labels.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"labels\.yaml: x: expected a phrase for each label"):
        labels.read_all({"x": tmp_path / "labels.yaml"})
