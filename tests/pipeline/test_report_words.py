"""Words of the report that count: its headline, its verdicts in a sentence, the terms that a page explains."""

from types import SimpleNamespace

import pytest
from tests.pipeline.test_report import CLAIM, Page, make_run, make_source

from repdyn.base.claims import SLIPS
from repdyn.pipeline.report import views
from repdyn.pipeline.report.build import build
from repdyn.pipeline.report.texts import TERMS


def claims(*studies, ours=()):
    """A claim of each paper and, for the studies named besides, one of our own."""
    return [{"study": name, "origin": "paper"} for name in studies] + [
        {"study": name, "origin": "ours"} for name in ours
    ]


@pytest.mark.parametrize(
    ("rows", "headline"),
    [
        (claims("a", "a"), "The title of a, put to numerical tests"),
        (claims(ours=["a"]), "The title of a, put to numerical tests"),
        (claims("a", "b", "a"), "Two papers, put to numerical tests"),
        (claims("a", ours=["b"]), "One paper, put to numerical tests"),
        (claims("a", "b", ours=["a", "c"]), "Two papers, put to numerical tests"),
        (claims(ours=["a", "b"]), "No papers, put to numerical tests"),
        (claims(*"abcdefghi"), "Nine papers, put to numerical tests"),
        (claims(*"abcdefghij"), "10 papers, put to numerical tests"),
    ],
)
def test_the_headline_counts_papers(rows, headline):
    assert views.heading(rows, {name: f"The title of {name}" for name in "abcdefghij"}) == headline


@pytest.mark.parametrize(
    ("number", "end"),
    [(0, ""), (1, ", 1 depends on how the words are read"), (2, ", 2 depend on how the words are read")],
)
def test_statements_that_depend_are_told_where_there_are_any(number, end):
    rows = [{"verdict": "holds"}] + [{"verdict": "depends on the reading"}] * number
    assert views.tally(rows) == "1 hold as printed, 0 hold once corrected, 0 do not hold" + end
    open_too = [*rows, {"verdict": "not testable"}]
    assert views.tally(open_too).endswith(f"0 do not hold{end}, 1 stay open")


def evidence(**words):
    usual = {"control": None, "margin": "", "qualifier": "", "measured": "2.5"}
    return SimpleNamespace(**usual | words)


def control(kind):
    return {"kind": kind, "outcome": "rejected"}


@pytest.mark.parametrize(
    ("parts", "curves", "terms"),
    [
        ([evidence()], [], set()),
        ([evidence(), evidence(margin="3 times")], [], {"margin"}),
        ([evidence(), evidence(qualifier="99 % interval 1 to 2")], [], {"interval"}),
        ([evidence(measured="99 % interval [1, 2]")], [], {"interval"}),
        ([evidence()], ["a curve"], {"reading"}),
        ([evidence(), evidence(control=control("wrong formula"))], [], {"control", "wrong-formula"}),
        (
            [evidence(control=control("false world")), evidence(control=control("knock-out"), margin="1")],
            [],
            {"control", "false-world", "knock-out", "margin"},
        ),
    ],
)
def test_terms_that_the_evidence_uses_are_explained_in_their_order(parts, curves, terms):
    assert views.explained(parts, curves) == [name for name in TERMS if name in terms]
    assert terms <= set(TERMS)


def test_slips_are_counted_in_the_singular_and_the_plural(tmp_path):
    slips = [*SLIPS, *SLIPS[:3]]
    claims = [CLAIM | {"id": f"x-{place}", "kind_of_slip": slip} for place, slip in enumerate(slips)]
    root = tmp_path / "mine"
    build(root, make_run(root, claims), root / "report", make_source(tmp_path / "checkout"))
    counts = "1 conclusion fails, 1 result changes, 2 missing hypotheses, 2 slips in proofs, 2 misprints."
    study, index = (
        Page((root / "report" / name).read_text(encoding="utf-8")) for name in ("studies/x_study.html", "index.html")
    )
    assert f"Of the refuted statements: {counts}" in study.words
    assert f"to their papers: {counts}" in index.words.replace(" ,", ",").replace(" .", ".")
    assert [link["href"] for link in index.of("a") if "#slip=" in link.get("href", "")][
        -1
    ] == "ledger.html#slip=misprint"


def test_more_than_one_of_those_that_fail_do_not_fail_in_the_singular(tmp_path):
    claims = [CLAIM | {"id": f"x-{place}", "kind_of_slip": slip} for place, slip in enumerate(SLIPS[3:] * 2)]
    root = tmp_path / "mine"
    build(root, make_run(root, claims), root / "report", make_source(tmp_path / "checkout"))
    study = Page((root / "report/studies/x_study.html").read_text(encoding="utf-8"))
    assert "Of the refuted statements: 2 conclusions fail, 2 results change." in study.words
