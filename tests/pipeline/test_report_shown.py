"""What pages of the report are given: words and hits of the search, numbers of the first page, order, pictures."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import xarray as xr
from tests.pipeline.test_report import CLAIM
from tests.pipeline.test_report_contents import figure, run

from repdyn.base.errors import DataError
from repdyn.pipeline.report import contents, searching
from repdyn.pipeline.report.build import Checkout, Site
from repdyn.pipeline.report.contents import SHOWN
from repdyn.pipeline.report.errata import errata, severities
from repdyn.pipeline.report.notes import notes
from repdyn.pipeline.run.declare.graph import read_study

TITLES = {"x_study": "The first", "y_study": "The second"}
SEARCHED = ("id", "where", "kind", "words", "statement", "correction", "note", "formula", "corrected_formula")
SEARCHED += ("control", "code")
REFUTED, OCR = {"verdict": "does not hold"}, {"possible_ocr_error": "True"}


# Search


def test_a_claim_is_found_by_all_that_it_says_by_its_study_and_by_its_first_three_figures():
    told = {name: f"the {name}" for name in SEARCHED}
    products = [figure(f"f{place}", "loss", title=f"Title {place}") for place in range(4)]
    products.append(figure("t", "loss", title="Title of a table", kind="tables"))
    found = searching.texts(run(*products, claims=[{"datasets": "loss"} | told | {"note": ""}]), TITLES)["the id"]
    wanted = [text for name, text in told.items() if name != "note"]
    assert found == " ".join([*wanted, "The first", "x_study", "Title 0", "Title 1", "Title 2"])


def test_each_figure_is_found_by_its_words_and_shown_with_title_study_and_picture():
    """Three figures of two studies, tables between them."""
    places = (("f", "y_study"), ("e", "x_study"), ("g", "y_study"))
    products, texts, hits = [], {}, {}
    for name, study in places:
        about = {
            "caption": f"Caption of {name}.",
            "alt": f"Message of {name}.",
            "picture": f"figures/{study}/{name}.svg",
        }
        products += [
            figure(f"t{name}", kind="tables"),
            replace(figure(name, title=f"Title {name}", study=study), **about),
        ]
        page, title = f"studies/{study}.html#{name}", TITLES[study]
        texts[page] = f"{name} Title {name} Caption of {name}. Message of {name}. {title} {study}"
        shown = {"kind": "figure", "page": page, "says": f"Title {name}", "title": title}
        hits[page] = shown | {"picture": about["picture"]}
    assert searching.texts(run(*products), TITLES) == texts
    assert searching.hits(run(*products), TITLES) == hits


def test_each_claim_is_shown_with_its_statement_place_and_verdict():
    told = [("y_study", "It falls.", "eq. (3)", "holds"), ("x_study", "It rises.", "Lemma 1", "does not hold")]
    told.append(("y_study", "It stays.", "Figure 2", "not testable"))
    claims = [dict(zip(("study", "statement", "where", "verdict"), row, strict=True)) for row in told]
    titles = ["The second, eq. (3): holds", "The first, Lemma 1: does not hold", "The second, Figure 2: not testable"]
    assert searching.hits(run(claims=claims), TITLES) == {
        f"x-{place}": {
            "kind": "claim",
            "page": f"claims/x-{place}.html",
            "says": claim["statement"],
            "title": titles[place],
        }
        for place, claim in enumerate(claims)
    }
    found = searching.texts(run(claims=claims), TITLES)
    assert [TITLES[study] in found[f"x-{place}"] for place, (study, *_) in enumerate(told)] == [True] * 3


# First page and ledger


CLAIMS = [
    REFUTED | {"kind_of_slip": "misprint", "kind": "bound", "change": "was holds"},
    REFUTED | {"kind_of_slip": "conclusion fails", "kind": "bound", "study": "y_study"},
    REFUTED | {"kind_of_slip": "misprint", "kind": "identity", "origin": "ours", "change": "new claim"},
    {"verdict": "holds", "kind_of_slip": "", "kind": "published number"},
    {"verdict": "holds", "kind_of_slip": "result changes", "kind": "bound", "study": "y_study"},
]


@pytest.fixture
def site():
    made = run(claims=CLAIMS)
    return SimpleNamespace(
        contents=made, titles=TITLES, summaries={"x_study": {}}, animations=["a"], findings=["f"], studies=["s"]
    )


def test_the_first_page_counts_the_papers_own_statements_and_ours(site):
    shown = Site._overview(site)
    assert [claim["id"] for claim in shown["own"]] == ["x-0", "x-1", "x-3", "x-4"]
    assert (shown["ours"], shown["total"], shown["warning"]) == (1, 5, "")
    assert shown["severities"] == [("conclusion fails", 1), ("misprint", 1)]
    assert [claim["id"] for claim in shown["changes"]] == ["x-0", "x-2"]
    assert shown["said"].startswith("2 hold as printed, 0 hold once corrected, 2 do not hold")
    assert [pair for pair in shown["counts"] if pair[1]] == [("holds", 2), ("does not hold", 3)]
    assert [shown[name] for name in ("summaries", "animations", "findings", "studies")] == [
        {"x_study": {}},
        ["a"],
        ["f"],
        ["s"],
    ]


def test_the_ledger_offers_each_study_slip_and_kind_that_there_is_once(site):
    shown = Site._ledger(site)
    assert [claim["id"] for claim in shown["ledger"]] == [f"x-{place}" for place in range(5)]
    assert shown["claimed"] == ["x_study", "y_study"]
    assert shown["slips"] == ["conclusion fails", "misprint"]
    assert shown["kinds"] == ["bound", "identity", "published number"]
    assert [pair for pair in shown["counts"] if pair[1]] == [("holds", 2), ("does not hold", 3)]


def test_claims_at_the_ends_of_the_ledger_have_one_neighbor(site):
    places = [[row and row["id"] for row in Site._neighbors(site, place)] for place in (0, 2, 4)]
    assert places == [[None, "x-1"], ["x-1", "x-3"], ["x-3", None]]


def test_provenance_sums_what_was_recorded_and_names_the_jobs_that_were_not(site):
    costs = [{"log": log, "cpu_seconds": cpu, "peak_memory_mb": 1.0} for log, cpu in (("x_study/a", 5.0), ("b", 2.5))]
    site.contents.manifest["costs"] = costs
    site.contents.jobs.update({"f1": "x_study/z", "f2": "x_study/a", "f3": "x_study/c", "f4": "x_study/z"})
    shown = Site._provenance(site)
    assert (shown["total_cpu"], shown["unrecorded"]) == (7.5, ["x_study/c", "x_study/z"])


# Errata


def test_errata_of_no_severity_come_after_the_others_and_before_what_may_be_the_scans():
    rows = [REFUTED | OCR, REFUTED | {"kind_of_slip": ""}, REFUTED | {"kind_of_slip": "misprint"}]
    claims = [CLAIM | {"possible_ocr_error": "False", "id": f"x-{k}"} | row for k, row in enumerate(rows)]
    found = errata(claims, "mine", {})
    assert [group.heading for group in found.groups] == ["Misprints", "Others", "Possibly OCR errors"]
    assert [row["id"] for row in found.rows] == ["x-2", "x-1", "x-0"]
    assert [bool(group.remark) for group in found.groups] == [False, False, True]
    assert [slip for slip, _ in severities(claims)][-1] == "misprint"


# Contents


def test_figures_come_in_the_order_of_the_paper_and_those_of_no_paper_as_they_come():
    graph = read_study("bn_decomposed")
    named = [(kind, name) for kind in SHOWN for name in getattr(graph, kind)]
    known = [figure(name, kind=kind, study="bn_decomposed") for kind, name in named]
    strange = [figure("z"), figure("gone", study="bn_decomposed"), figure("a")]
    order = contents._sorted([*strange, *reversed(known)])
    assert [(product.kind, product.name) for product in order] == [*named, *((p.kind, p.name) for p in strange)]


def test_a_dataset_says_each_of_its_attributes_and_its_job(tmp_path):
    names = ("title", "experiment", "code_version", "paper", "settings")
    (tmp_path / "x_study/data/deep").mkdir(parents=True)
    files = ["x_study/data/deep/a.nc", "x_study/data/b.nc"]
    for file in files:
        xr.Dataset(attrs={name: f"{name} of {file}" for name in names}).to_netcdf(tmp_path / file)
    made = replace(run(content=[files[0], "x_study/figures/f.svg", files[1]]), root=tmp_path, jobs={files[1]: "x/b"})
    own = [{name: f"{name} of {file}" for name in names} | {"file": file, "digest": "digest"} for file in files]
    assert made.data == {"x_study": [own[0] | {"job": ""}, own[1] | {"job": "x/b"}]}


def test_files_of_a_figure_and_of_a_table_and_the_job_that_makes_their_first(tmp_path):
    jobs = {"s/figures/f.svg": "s/drawn", "s/figures/f.png": "", "s/tables/t.csv": "s/told", "s/tables/t.tex": ""}
    for name in ("figures", "tables"):
        (tmp_path / "s" / name).mkdir(parents=True)
    (tmp_path / "s/figures/f.svg").write_text('<svg width="30.6pt" height="20.2pt">')
    (tmp_path / "s/tables/t.csv").write_text("n,share\n12,0.123456\n,NA\n")
    (tmp_path / "s/figures/f.json").write_text('{"title": "T", "caption": "C", "alt": "A", "datasets": ["d"]}')
    (tmp_path / "s/tables/t.json").write_text('{"title": "U", "caption": "D", "digits": 3}')
    drawn, told = (contents._product(tmp_path / f"s/{n}.json", tmp_path, jobs) for n in ("figures/f", "tables/t"))
    assert (drawn.study, drawn.kind, drawn.name, drawn.title, drawn.caption) == ("s", "figures", "f", "T", "C")
    assert (drawn.alt, drawn.datasets, drawn.picture, drawn.size) == ("A", ("d",), "figures/s/f.svg", (31, 20))
    assert drawn.files == ("s/figures/f.svg", "s/figures/f.png", "s/figures/f.csv")
    assert (drawn.job, drawn.numbers, drawn.page) == ("s/drawn", "s/figures/f.csv", "studies/s.html#f")
    assert (told.kind, told.title, told.job, told.picture, told.size) == ("tables", "U", "s/told", "", (0, 0))
    assert told.files == ("s/tables/t.csv", "s/tables/t.tex")
    assert (told.columns, told.rows) == (["n", "share"], [["12", "0.123456"], ["", "NA"]])


def test_a_bitmap_is_as_wide_and_as_high_as_its_head_says(tmp_path):
    (tmp_path / "f.png").write_bytes(bytes(16) + (640).to_bytes(4) + (300).to_bytes(4) + bytes(8))
    assert contents._size(tmp_path / "f.png") == (640, 300)
    (tmp_path / "f.svg").write_text('<svg width="3pt">')
    with pytest.raises(DataError, match=r"f.svg: no width and height in points at its head"):
        contents._size(tmp_path / "f.svg")


# Notes


def test_a_picture_of_the_page_of_a_study_is_its_figure_with_width_and_height(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/x_study.md").write_text("![It falls.](images/f.png) ![Rows.](images/t.png) and `x-0`\n")
    shown = [replace(figure("f"), picture="figures/x_study/f.svg", size=(40, 30)), figure("t", kind="tables")]
    body = Site._notes(SimpleNamespace(contents=run(*shown, claims=[{}])), "x_study", tmp_path).body
    assert '<img src="../figures/x_study/f.svg" alt="It falls." width="40" height="30" loading="lazy">' in body
    assert "<em>Rows.</em>" in body
    assert '<a href="../claims/x-0.html"><code>x-0</code></a>' in body
    assert Site._notes(SimpleNamespace(contents=run()), "gone", tmp_path).body == ""


def test_a_list_inside_an_item_belongs_to_it():
    text = '- First <a id="one">claim</a>.\n  - inner\n  - <a id="two">last</a> inner\n- Second.\n'
    passages = notes(text, {"one", "two"}, {}).passages
    assert set(passages) == {"one", "two"}
    assert passages["one"] == passages["two"]
    assert [passages["one"].count(tag) for tag in ("<li>", "<ul>", "inner", "Second")] == [3, 2, 2, 0]


def test_the_checkout_of_a_report_is_the_working_directory_where_none_is_named():
    assert Checkout(folders={}) == Checkout(Path(), {}, {})
