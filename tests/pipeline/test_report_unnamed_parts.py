"""Parts of a check without a name: where what is asked is one word or two, a phrase says what was measured."""

import csv
from collections.abc import Iterable, Mapping

import pytest
from tests.conftest import ROOT
from tests.pipeline.test_report import CLAIM, PART, Page, make_run, make_source

from repdyn.pipeline import studies
from repdyn.pipeline.report import labels
from repdyn.pipeline.report.build import build

FEWEST = 3  # words


def in_few_words(rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Claims of rows of evidence with a part whose row on the page would have one word or two."""
    bare = (row for row in rows if not row["part"] and not row["reading"])
    return {row["id"] for row in bare if len(row["expected"].split()) < FEWEST}


def test_rows_of_one_word_or_two_are_found():
    rows = [
        PART,
        PART | {"id": "x-short", "part": "", "expected": "no change"},
        PART | {"id": "x-long", "part": "", "expected": "no change of it"},
        PART | {"id": "x-reading", "part": "", "expected": "equal", "reading": "large"},
    ]
    assert in_few_words(rows) == {"x-short"}


@pytest.mark.slow
def test_no_row_of_the_evidence_has_one_word_or_two(smoke_run):
    with (smoke_run / "results/smoke/evidence.csv").open(newline="", encoding="utf-8") as file:
        short = in_few_words(csv.DictReader(file))
    phrases = labels.read_all(studies.files(studies.LABELS))
    assert len(short) > 20
    assert sorted(id for id in short if "" not in phrases.get(id, {})) == []


def test_phrases_of_parts_without_a_name_belong_to_such_parts():
    with (ROOT / "reference/default/numbers.csv").open(newline="", encoding="utf-8") as file:
        unnamed = {row["id"] for row in csv.DictReader(file) if not row["part"]}
    phrases = labels.read_all(studies.files(studies.LABELS))
    own = {id for id, entry in phrases.items() if "" in entry}
    assert len(own) > 30
    assert own - unnamed == set()


def test_the_phrase_stands_before_what_is_asked(tmp_path):
    root, source = tmp_path / "mine", make_source(tmp_path / "checkout")
    parts = [PART | {"part": "", "expected": "no change"}, PART | {"part": "right", "expected": "no change"}]
    files = make_run(root, [CLAIM], parts=parts)
    (tmp_path / "checkout/x" / studies.LABELS).write_text('x-thm1: {"": "largest change <b> of it"}\n')
    build(root, files, root / "report", source)
    page = Page((root / "report/claims/x-thm1.html").read_text(encoding="utf-8"))
    assert "largest change <b> of it no change" in page.words
    assert "right no change" in page.words
