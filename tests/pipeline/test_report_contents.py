"""Contents of a run: which files are behind a dataset, which figures show a claim and in which order, what is drawn."""

from pathlib import Path

import pytest
from tests.pipeline.test_report import CLAIM, PART

from repdyn.pipeline.report import captions, views
from repdyn.pipeline.report.contents import Contents, Product
from repdyn.pipeline.report.evidence import drawing
from repdyn.pipeline.report.notes import Notes

KINDS = ("figures", "tables", "figures", "tables", "figures")
DATA = ("x_study/data/loss.nc", "x_study/data/loss_at_end.nc", "x_study/data/loss/bn.nc", "x_study/data/loss/he.nc")
SHARED = ("y_study/data/loss.nc", "y_study/data/images.nc", "data/images.nc", "data/images_more.nc")


def figure(name, *datasets, title="", kind="figures", study="x_study"):
    about = {"caption": "", "alt": "", "files": (), "picture": "", "source": Path(), "size": (1, 1)}
    about |= {"columns": (), "rows": (), "code": "", "code_version": "", "job": ""}
    return Product(study=study, kind=kind, name=name, title=title or name, datasets=datasets, **about)


def run(*products, claims=(), content=()):
    manifest = {"configuration": {"run": {"name": "mine"}}, "content": dict.fromkeys(content, "digest")}
    claims = [CLAIM | {"id": f"x-{place}"} | claim for place, claim in enumerate(claims)]
    return Contents(claims, {claim["id"]: [PART] for claim in claims}, manifest, products, {}, Path())


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["loss"], [DATA[0], *DATA[2:]]),
        (["loss_at_end"], [DATA[1]]),
        (["los", "data", ""], []),
        (["loss_at_end", "images"], [DATA[1], SHARED[2]]),
        ([], []),
    ],
)
def test_files_of_a_dataset_are_its_own_its_variants_and_what_all_studies_share(names, files):
    assert run(content=[*DATA, *SHARED]).files_of("x_study", names) == files


def test_figures_of_a_claim_are_of_its_own_place_first_then_those_of_few_claims():
    """And of its own study, and of datasets that it reads."""
    few = [{"datasets": "loss rare", "where": "Table 1"}, {"datasets": "loss", "where": "Theorem 1"}]
    claims = [{"datasets": "loss rare own", "where": "Section 2, Figure 3(b)"}, *few, {"datasets": "other"}]
    products = [
        figure("often", "loss", "other"),
        figure("seldom", "rare"),
        figure("own", "other", "loss", title="Fig. 3: Losses"),
        figure("unread", "other"),
        figure("elsewhere", "loss", study="y_study"),
        figure("table", "loss", kind="tables"),
    ]
    contents = run(*products, claims=claims)
    assert [shown.name for shown in contents.figures_of(contents.ledger[0])] == ["own", "seldom", "often"]
    assert [claim["id"] for claim in contents.claims_on(products[2])] == ["x-0", "x-1", "x-2", "x-3"]
    assert [claim["id"] for claim in contents.claims_on(products[1])] == ["x-0", "x-1"]
    assert [claim["id"] for claim in contents.claims_on(figure("t", "loss", title="Table 1: x"))] == [
        "x-1",
        "x-0",
        "x-2",
    ]


@pytest.mark.parametrize(("number", "leads"), [(12, True), (13, False)])
def test_a_figure_of_more_than_twelve_claims_leads_none_of_them_unless_a_person_chose_it(number, leads):
    contents = run(figure("overview", "loss"), figure("other", "x"), claims=[{"datasets": "loss"}] * number)
    shown = views.claim(contents.ledger[0], contents, Notes())
    assert (shown["leading"] == contents.products[0]) is leads
    assert shown["figures"] == ([] if leads else [contents.products[0]])
    chosen = views.claim(contents.ledger[0], contents, Notes(), contents.products[1])
    assert (chosen["leading"], chosen["figures"]) == (contents.products[1], [contents.products[0]])


def test_labels_count_the_verdicts_of_a_figures_claims_the_most_frequent_first():
    verdicts = ["does not hold", "holds", "holds", "not testable"]
    claims = [{"datasets": "loss", "verdict": verdict} for verdict in verdicts]
    contents = run(figure("fig", "loss", title="Table 2: $a_{1}$"), figure("none", "x", kind="tables"), claims=claims)
    shown = [captions._labels(product, contents) for product in contents.products]
    assert shown == [
        {"figure": "Table 2", "title": "a_1", "claims": "2 holds, 1 does not hold, 1 not testable"},
        {"table": "new", "title": "none", "claims": "none"},
    ]


def test_studies_are_those_with_claims_and_then_those_with_figures_or_tables_each_once():
    products = [figure(name, study=f"{name}_study", kind=kind) for name, kind in zip("mzqam", KINDS, strict=True)]
    claims = [{"study": f"{name}_study"} for name in "zxzy"]
    contents = run(*products, claims=claims)
    assert contents.studies == [f"{name}_study" for name in "zxymqa"]
    assert [claim["id"] for claim in contents.claims_of("z_study")] == ["x-0", "x-2"]
    for kind, names in (("figures", {"m": 2, "q": 1}), ("tables", {"z": 1, "a": 1})):
        found = {name: len(contents.products_of(f"{name}_study", kind)) for name in "mzqa"}
        assert {name: count for name, count in found.items() if count} == names


@pytest.mark.parametrize(
    ("papers", "named"), [(["", "A. Author, X.", "B. Other, Y."], "A. Author, X."), (["", ""], ""), ([], "")]
)
def test_the_paper_of_a_study_is_the_first_that_one_of_its_datasets_names(papers, named):
    contents = run()
    contents.__dict__["data"] = {"x_study": [{"paper": paper} for paper in papers], "y_study": [{"paper": "Z"}]}
    assert contents.paper("x_study") == named


@pytest.mark.parametrize("name", ["value", "interval_low", "interval_high"])
@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_nothing_is_drawn_where_one_of_the_numbers_is_not_finite(name, number):
    """Of networks that have diverged."""
    assert drawing(PART)
    assert drawing(PART | {name: number}) == ""
