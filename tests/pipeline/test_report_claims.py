"""A claim's page: a correct form where there is one, what would decide an open claim, a title that fits its passage."""

from pathlib import Path

import pandas as pd
import pytest
from tests.conftest import ROOT
from tests.pipeline.test_report import CLAIM, PART, PRINTED, Page, make_run, make_source

from repdyn.base.claims import claims_of
from repdyn.base.tables import read_cells, rows
from repdyn.base.verdicts import REFUTED, UNDECIDED
from repdyn.pipeline import studies
from repdyn.pipeline.ask import decide
from repdyn.pipeline.report import views
from repdyn.pipeline.report.build import build
from repdyn.pipeline.report.contents import Contents
from repdyn.pipeline.report.notes import Notes
from repdyn.pipeline.run.execute.loading import load_modules

REFERENCE = ROOT / "reference/default"
WITHOUT_CORRECTION = ("bnd-fig1-ablation", "bnd-fig3", "bnd-infwidth", "bnd-remark-largest", "bnd-rs-orth")
OPEN = CLAIM | {"study": "leaky_resnets", "verdict": UNDECIDED, "correction": "", "datasets": "paper_measures"}
CONFIGURATION = {"run": {"name": "mine"}, "leaky_resnets": {"paper_settings": {"seeds": 3}}}
CROSSING = PART | {"form": "printed", "part": "", "outcome": "undecided", "value": "1", "n": "100"}
CROSSING |= {"region_low": "0", "region_high": "inf", "interval_low": "-0.1", "interval_high": "2.1"}


def view(claim, *parts):
    """What the page of a claim shows, with these rows of evidence."""
    evidence = {claim["id"]: list(parts)}
    return views.claim(
        claim, Contents([claim], evidence, {"configuration": CONFIGURATION, "content": {}}, [], {}, Path()), Notes()
    )


def reference():
    """Id -> the claim's row of the reference run's ledger with its correction, and its rows of numbers as evidence."""
    verdicts = read_cells(REFERENCE / "claims.csv").set_index("id")["verdict"]
    numbers = pd.DataFrame(rows(read_cells(REFERENCE / "numbers.csv"))).groupby("id")
    declared = [
        claim
        for study in studies.declared()
        if study != "diagnostics"
        for claim in claims_of(*load_modules(study, "claims"))
    ]
    for claim in declared:
        if claim.id in verdicts.index and claim.id in numbers.groups:
            correction = claim.correction if verdicts[claim.id] in REFUTED else ""
            row = CLAIM | {"id": claim.id, "verdict": verdicts[claim.id], "correction": correction}
            yield row, [PART | part for part in numbers.get_group(claim.id).to_dict("records")]


# The correct form


def test_a_correct_form_is_shown_where_the_claim_has_a_correction_or_is_open():
    shown = {row["id"]: (row, views.forms(row, parts)[1]) for row, parts in reference()}
    assert len(shown) > 300
    wrong = [
        id for id, (row, parts) in shown.items() if parts and not row["correction"] and row["verdict"] != UNDECIDED
    ]
    assert wrong == []
    assert all(shown[id][1] == [] for id in WITHOUT_CORRECTION)
    corrected = [id for id, (row, _) in shown.items() if row["verdict"] == "holds as corrected"]
    assert len(corrected) > 60
    assert [id for id in corrected if not shown[id][1]] == []


def test_a_claim_without_a_correction_shows_the_printed_form_and_its_curves_alone():
    readings = [PRINTED | {"reading": f"window: {k}", "outcome": "fails"} for k in range(3)]
    readings += [PART | {"reading": f"window: {k}"} for k in range(3)]
    parts = [PRINTED | {"outcome": "depends"}, PART, *readings]
    with_it, without = (
        view(CLAIM | {"verdict": verdict, "correction": words}, *parts)
        for verdict, words in (("holds as corrected", "Another."), ("depends on the reading", ""))
    )
    assert [len(shown["corrected_parts"]) for shown in (with_it, without)] == [1, 0]
    assert [{curve.form for curve in shown["curves"]} for shown in (with_it, without)] == [
        {"printed", "corrected"},
        {"printed"},
    ]


def test_a_control_that_no_part_shows_is_told_in_a_sentence():
    """Of a sentence read in several ways the readings stand in curves, and its controls with the hidden form."""
    tried = CLAIM | {"control": "first layer; first layer; no mean", "control_outcome": "rejected"}
    reading = PART | {"form": "printed", "reading": "size: 3"}
    told = "Negative control, tried on a corrected form that is not shown: first layer; no mean. It was rejected."
    assert view(tried, reading)["control"] == told
    assert view(tried | {"control": ""}, reading)["control"] == ""
    shown = PART | {"form": "printed", "control": "first layer", "control_outcome": "rejected"}
    assert view(tried, shown)["control"] == ""
    without = PART | {"form": "printed", "control": ""}
    assert view(tried, without, shown, without)["control"] == ""
    assert view(tried, without, reading, without)["control"] == told


# What would decide it


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "2 times as many trials."),
        (
            {"interval_low": "-6", "interval_high": "8"},
            "More trials do not: a border case: not even 64 times as many trials.",
        ),
        (
            {"interval_low": "", "interval_high": ""},
            "More trials do not: 2.5 rad, 99.9 % interval [2.25, 2.75]; tolerance 0.5: half a unit.",
        ),
    ],
)
def test_an_open_claims_page_says_what_would_decide_it(change, words):
    part = CROSSING | change
    assert view(OPEN, part)["wants"] == words
    assert view(OPEN | {"verdict": "holds"}, part)["wants"] == ""


def test_the_page_and_the_command_have_one_reason(tmp_path, monkeypatch):
    """The page of a report, and the reason that `repdyn decide` prints for the same run."""
    monkeypatch.chdir(tmp_path)
    claims = [
        OPEN | {"id": "x-few", "note": "Needs more: paper_measures: 5 along seed, has 3."},
        OPEN | {"id": "x-open"},
    ]
    root = tmp_path / "results/mine"
    files = make_run(root, claims, parts=[CROSSING | {"id": "x-open", "study": "leaky_resnets"}])
    manifest = root / "manifest.json"
    text = manifest.read_text().replace(
        '"configuration": {', '"configuration": {"leaky_resnets": {"paper_settings": {"seeds": 3}},'
    )
    manifest.write_text(text)
    build(root, files, root / "report", make_source(tmp_path / "checkout"))
    monkeypatch.setattr(decide, "_costs", lambda _: {})
    needs = {need.id: need for need in decide.needs("mine")}
    assert {id: need.reason for id, need in needs.items()} == {
        "x-few": "5 along seed, has 3",
        "x-open": "2 times as many trials",
    }
    for id, need in needs.items():
        page = Page((root / f"report/claims/{id}.html").read_text(encoding="utf-8"))
        assert f"What would decide it? {need.says}" in page.words
    assert needs["x-few"].says == "Enough trials for an interval: 5 along seed, has 3."


# The title of its passage in the notes


@pytest.mark.parametrize(
    ("kind", "n", "formula", "title"),
    [
        ("identity", "0", "", "Derivation"),
        ("limit", "64", "a", "Derivation"),
        ("scaling", "0", "", "Derivation"),
        ("qualitative", "0", "a", "Derivation"),
        ("scaling", "15", "", "What was measured, and why"),
        ("qualitative", "12", "", "What was measured, and why"),
        ("comparison", "8", "a", "What was measured, and why"),
        ("causal", "", "", "What was measured, and why"),
    ],
)
def test_a_passage_is_named_by_what_it_is(kind, n, formula, title):
    assert views.passage_title(CLAIM | {"kind": kind, "n": n, "formula": formula}) == title


# Published numbers


def test_a_published_number_is_shown_by_its_corrected_form(tmp_path):
    number = CLAIM | {"kind": "published number", "verdict": "holds as corrected", "correction": "Another."}
    contents = Contents(
        [number], {number["id"]: [PRINTED, PART]}, {"configuration": CONFIGURATION, "content": {}}, [], {}, tmp_path
    )
    shown = views.study(number["study"], "A study", None, contents, Notes(), {})["published"]
    assert [(row["id"], [part.outcome for part in parts]) for row, parts in shown] == [(number["id"], ["passes"])]
