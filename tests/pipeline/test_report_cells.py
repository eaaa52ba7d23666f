"""Every cell of the report's tables stands under its own heading: a run in which no two values are alike."""

import json
import re

import pytest
from tests.pipeline.test_report import CLAIM, EVIL, PART, STUDY, Page, make_run, make_source

from repdyn.pipeline.report.build import build

MARGINS = {"printed_margin": "0.25", "margin": "5.5", "control_margin": "0.03"}
ONE = CLAIM | MARGINS | {"where": "Theorem 41", "statement": "It is said.", "change": "was: holds"}
ONE |= {"correction": "It is right.", "note": "It is noted.", "possible_ocr_error": "False", "datasets": "loss"}
TWO = ONE | {"id": "x-2", "where": "Figure 42", "kind": "bound", "origin": "ours", "verdict": "does not hold"}
TWO |= {"kind_of_slip": "conclusion fails", "margin": "0.125", "correction": "", "change": ""}
THREE = TWO | {"id": "y-3", "study": "y_study", "where": "Lemma 43"}
SIDE = PART | {"part": "the side", "expected": "as asked", "measured": "7.5 rad, 99.9 % interval [7.25, 7.75]"}
SIDE |= {"value": "7.5", "interval_low": "7.25", "interval_high": "7.75", "region_low": "6.5", "region_high": "8.5"}
SIDE |= {"margin": "5.5", "control": "a wrong sign", "control_outcome": "undecided", "control_margin": "0.03"}
PRINTED = SIDE | {"form": "printed", "outcome": "fails", "measured": "largest deviation 9", "value": "9", "control": ""}
PRINTED |= {"interval_low": "", "interval_high": "", "margin": "0.25"}


def rows_of(text, caption):
    """Cells of the rows below the head of the first table after some words, as words."""
    body = text.split(caption, 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    return [[Page(cell).words for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    files = make_run(root, [ONE, TWO, THREE], parts=[PRINTED, SIDE])
    build(root, files, root / "report", make_source(root / "checkout"))
    return root


def text_of(run, page):
    return (run / "report" / page).read_text(encoding="utf-8")


def test_a_row_of_the_ledger_is_of_its_claim(run):
    text = text_of(run, "ledger.html")
    assert rows_of(text, 'id="ledger"') == [
        ["x-thm1 Theorem 41", "It is said.", "holds as corrected result changes was: holds", "5.5"],
        ["x-2 ours Figure 42", "It is said.", "does not hold conclusion fails", "0.125"],
        ["y-3 ours Lemma 43", "It is said.", "does not hold conclusion fails", "0.125"],
    ]
    told = [
        {name.removeprefix("data-"): value for name, value in row.items() if name.startswith("data-")}
        for row in Page(text).of("tr")
        if "data-verdict" in row
    ]
    names = {"study": "study", "verdict": "verdict", "kind": "kind", "origin": "origin", "margin": "margin"}
    names |= {"slip": "kind_of_slip"}
    assert told == [{name: claim[column] for name, column in names.items()} for claim in (ONE, TWO, THREE)]


def test_evidence_stands_under_its_headings_and_its_control_below_it(run):
    text = text_of(run, "claims/x-thm1.html")
    (asked, control), printed = rows_of(text, "<caption>Correct form"), rows_of(text, "<caption>As printed")
    assert asked == ["the side as asked", "7.5 rad 99.9 % interval 7.25 to 7.75", "", "6.5 to 8.5", "passes margin 5.5"]
    assert control == ["control , wrong formula", "a wrong sign", "undecided margin 0.03"]
    assert printed == [["the side as asked", "9 largest deviation", "", "6.5 to 8.5", "fails margin 0.25"]]


def test_claims_of_a_study_and_what_it_sets_and_reads(run):
    text = text_of(run, f"studies/{STUDY}.html")
    assert rows_of(text, 'id="claims"') == [
        ["Theorem 41", "It is said.", "holds as corrected result changes"],
        ["Figure 42 ours", "It is said.", "does not hold conclusion fails"],
    ]
    assert rows_of(text, 'id="settings"') == [["x_study.width", "7", "1000", "Table 1 <b>"]]
    digests = json.loads((run / "manifest.json").read_text())["content"]
    data = {row[0]: row[2:] for row in rows_of(text, 'id="data"')}
    assert set(data) == {"loss.nc", "training/bn.nc", "training/he.nc"}
    for file, (made, code, digest) in data.items():
        job = " , job x_study/training-bn" if file == "training/bn.nc" else ""
        assert (made, code) == (f"experiments:x{job}", "c0de")
        assert digest == digests[f"{STUDY}/data/{file}"][:12]


def test_costs_of_a_job_and_of_a_study(run):
    text = text_of(run, "provenance.html")
    assert rows_of(text, 'aria-label="Jobs"')[0] == ["x_study/figures", "90.0", "1.5", "80.0", "1"]
    assert rows_of(text, 'aria-label="Cost by study"') == [["x_study", "1", "1.50", "80"]]


def test_an_erratum_has_the_printed_form_first_and_the_correct_one_second(run):
    printed, correct = text_of(run, f"errata/{STUDY}.html").split('class="version kept"')
    assert "Printed “for every a > 0 the sum” line 31 of the text at hand It is said." in Page(printed).words
    words = Page("<div " + correct).words
    assert words.startswith("Correct It is right.")
    assert "Assumed there: a is small Measured: largest deviation 9, required: 6.5 to 8.5; correct form:" in words


def test_the_index_counts_each_verdict_under_its_name(run):
    text = text_of(run, "index.html")
    assert rows_of(text, 'aria-label="Verdicts by study"') == [
        ["x_study A. Author, X.", "", "1", "1", "2"],
        ["y_study", "", "", "1", "1"],
        ["all", "", "1", "2", "3"],
    ]
    counted = re.findall(r'data-status="([^"]+)"><a href="[^"]*verdict=([^"]*)">', text)
    assert [name.replace(" ", "%20") for name, _ in counted] == [link for _, link in counted]
    corrected, refuted = "holds as corrected", "does not hold"
    assert [name for name, _ in counted] == [corrected, refuted, refuted, corrected, refuted]


def test_texts_of_a_table_stay_what_they_are(run):
    rows = rows_of(text_of(run, f"studies/{STUDY}.html"), 'id="t1"')
    assert [row[0] for row in rows] == ["none", "NA", " ".join(EVIL.split())]


def test_a_figure_leads_to_its_files_its_data_and_the_job_that_made_them(run):
    text = text_of(run, f"studies/{STUDY}.html").split('id="fig2"', 1)[1].split("</figure>", 1)[0]
    words = Page("<p " + text).words
    files = ", ".join(f"fig2.{suffix}" for suffix in ("svg", "png", "csv"))
    assert f"Files: {files.replace(',', ' ,')} . Data: loss.nc . Made by the job x_study/figures ." in words
    assert 'href="../provenance.html#job-x_study/figures"' in text
