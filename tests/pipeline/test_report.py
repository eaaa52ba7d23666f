"""The report: hostile words stay words, every link leads somewhere, nothing comes from outside, pages stay small."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from tests.conftest import ROOT
from tests.pipeline.test_single_file import unpacked

from repdyn.base import figures, tables
from repdyn.base.errors import DataError
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline import kept_runs
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.report import build as building
from repdyn.pipeline.report import contents, views
from repdyn.pipeline.report.build import Checkout, build
from repdyn.pipeline.report.errata import CONFIRMING, errata, severities
from repdyn.pipeline.report.texts import MEANINGS
from repdyn.pipeline.run.kinds import site
from repdyn.pipeline.run.kinds.ledger import SCALES
from repdyn.pipeline.run.kinds.manifest import build as build_manifest

EVIL = """<script>alert("1")</script> & 'quoted' "double" </td></figure>{{ 7 * 7 }} --> ω"""
STUDY = "x_study"
CLAIM = {
    "study": STUDY,
    "id": "x-thm1",
    "where": "Theorem 1",
    "kind": "identity",
    "origin": "paper",
    "statement": "A statement on $a$.",
    "verdict": "holds as corrected",
    "correction": "Another.",
    "possible_ocr_error": "True",
    "kind_of_slip": "result changes",
    "message": "One is wrong",
    "cause": "Because of it (x-exists).",
    "consequence": "Two changes.",
    "words": "for every $a > 0$ the sum",
    "line": "31",
    "assumes": "a is small",
    "formula": r"a = \frac{1}{2}",
    "corrected_formula": r"a = \frac{1}{3}",
    "printed_measured": "largest deviation 3",
    "printed_expected": "2",
    "printed_margin": "0.25",
    "measured": "2.5",
    "expected": "2",
    "margin": "5",
    "tolerance_reason": "tolerance 0.5: half a unit",
    "n": "24",
    "interval_low": "",
    "interval_high": "",
    "false_alarm": "0.001",
    "control": "the wrong sign",
    "control_outcome": "rejected",
    "control_margin": "0.08",
    "uncontrolled_parts": "",
    "datasets": "loss training images",
    "code": "repdyn.x_study.claims:two",
    "code_version": "c0de",
    "note": "",
    "expected_verdict": "holds as corrected",
    "change": "",
}
PART = {
    "study": STUDY,
    "id": "x-thm1",
    "form": "corrected",
    "part": "left side",
    "label": "what it measured",
    "reading": "",
    "outcome": "passes",
    "value": "2.5",
    "interval_low": "2.25",
    "interval_high": "2.75",
    "region_low": "2",
    "region_high": "3",
    "measured": "2.5 rad, 99.9 % interval [2.25, 2.75]",
    "expected": "two and a half",
    "margin": "5",
    "tolerance_reason": "tolerance 0.5: half a unit",
    "n": "24",
    "false_alarm": "0.001",
    "control": "the wrong sign",
    "control_kind": "wrong formula",
    "control_change": "recomputed",
    "control_outcome": "rejected",
    "control_margin": "0.08",
}
PRINTED = PART | {"form": "printed", "outcome": "fails", "measured": "largest deviation 3", "value": "3"}
PRINTED |= {"region_low": "0", "region_high": "1e-09", "interval_low": "", "interval_high": "", "control": ""}
TEXTS = ("where", "kind", "statement", "words", "assumes", "correction", "tolerance_reason", "control", "code", "note")
TEXTS += ("message", "cause", "consequence")
HOSTILE = CLAIM | dict.fromkeys(TEXTS, EVIL) | {"id": "x-evil", "change": "new claim", "datasets": "loss"}
HOSTILE |= dict.fromkeys(("formula", "corrected_formula"), EVIL + r"\evil")
HOSTILE_PART = PART | {"id": "x-evil"}
HOSTILE_PART |= dict.fromkeys(("part", "label", "measured", "expected", "control", "tolerance_reason"), EVIL)
EMPTY = dict.fromkeys(
    (
        "correction",
        "formula",
        "corrected_formula",
        "margin",
        "datasets",
        "control",
        "kind_of_slip",
        "assumes",
        "message",
    ),
    "",
)
UNTESTED = CLAIM | EMPTY | {"id": "x-exists", "verdict": "not testable", "code": "repdyn.base.files:sha256"}
UNTESTED |= {"possible_ocr_error": "False"}
PUBLISHED = UNTESTED | {"id": "x-number", "kind": "published number", "verdict": "not reproducible as stated"}
PUBLISHED |= {"note": "No width is stated.", "where": "Figure 1"}
OURS = CLAIM | EMPTY | {"id": "x-ours", "origin": "ours", "verdict": "does not hold", "words": "", "line": ""}
CLAIMS = [CLAIM, HOSTILE, UNTESTED, PUBLISHED, OURS]
EVIDENCE = [PRINTED, PART, HOSTILE_PART, PART | {"id": "x-number", "form": "printed"}]
PAGE = f"""# Page

In short.

## Derivations

The derivation of <a id="x-thm1">`x-thm1`</a>: $a = 1/3$. {EVIL}
"""
OUTPUTS = {
    "x_study/figures": ["x_study/figures/fig1.svg", "x_study/figures/fig2.svg"],
    "x_study/training-bn": ["x_study/data/training/bn.nc"],
    "x_study/claims": ["x_study/claims.csv"],
}
ORIGIN = {"code": "repdyn.base.files:sha256", "code_version": "c0de", "datasets": ["loss"]}
FINDINGS = """summary:
  claims: Losses $a^2$ fall.
  breaks: One <b> rises.
  survives: The others fall.
x-thm1:
  figure: x_study/fig1
  show: top
  verdict: holds as corrected
  headline: A headline <b>
  sentence: A sentence on $a^2$.
"""
SOURCES = """x_study: {chosen: "by us"}
x_study.width: {stated: 1000, where: "Table 1 <b>"}
"""


class Page(HTMLParser):
    """Elements of a page with their attributes, and its visible text."""

    def __init__(self, text):
        super().__init__()
        self.source = text
        self.elements, self.text, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.text.append(data)

    def of(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]

    def values(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def draw(stem, title):
    figure, axes = figures.new()
    axes[0, 0].plot(np.arange(5), np.arange(5) ** 2)
    axes[0, 0].set_title(EVIL.replace("$", ""))
    figures.save(figures.describe(figure, title=title, caption=EVIL, alt=EVIL), stem, ORIGIN)


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def make_run(root, claims, *, run="mine", parts=EVIDENCE):
    """A results folder as the pipeline leaves it before the report; its files of figures and tables."""
    data = ("data/loss.nc", "data/training/bn.nc", "data/training/he.nc")
    for name in (*(f"{STUDY}/{file}" for file in data), "data/images.nc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        attributes = {"title": EVIL, "experiment": "experiments:x", "code_version": "c0de", "paper": "A. Author, X."}
        attributes["settings"] = "{}"
        xr.Dataset(attrs=attributes).to_netcdf(root / name)
    draw(root / STUDY / "figures" / "fig1", "Figure 1: " + EVIL)
    draw(root / STUDY / "figures" / "fig2", "Figure 2")
    columns = {EVIL: ["none", "NA", EVIL], "value": [0.123456, np.nan, 2e-9], "count": [1, 20, 300]}
    frame = pd.DataFrame(columns | {"kept": [True, False, True]})
    tables.save(tables.Table(frame, title=EVIL, caption=EVIL, digits=3), root / STUDY / "tables" / "t1", ORIGIN)
    write_rows(root / "claims.csv", claims)
    write_rows(root / "evidence.csv", parts)
    files = sorted(path for path in root.rglob("*.*") if path.parent != root)
    logs = root.parent / "logs" / run
    logs.mkdir(parents=True)
    cost = {"cpu_seconds": 90.0, "wall_seconds": 1.5, "peak_memory_mb": 80.0, "job": {"threads": 1}}
    record = cost | {"outputs": {path.as_posix(): "digest" for path in files}}
    (logs / "x_study").mkdir()
    (logs / "x_study/figures.log.cost.json").write_text(json.dumps(record))
    config = {"run": {"name": run, "seed": 1}, "data": {"source": EVIL}, STUDY: {"width": 7, "depth": [2, 3]}}
    content = [path.relative_to(root).as_posix() for path in files]
    build_manifest(content, root, logs, root, config, root / "manifest.json")
    return [path for path in files if path.parent.name in ("figures", "tables")]


def make_source(folder):
    """A checkout as far as the report reads it."""
    texts = {f"docs/{STUDY}.md": PAGE, "x/decided/findings.yaml": FINDINGS}
    for name, text in (texts | {"workflow/settings_sources.yaml": SOURCES}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Checkout(folder, OUTPUTS, {STUDY: folder / "x"})


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    files = make_run(root, CLAIMS)
    build(root, files, root / "report", make_source(root / "checkout"))
    return root / "report"


@pytest.fixture(scope="module")
def pages(report):
    """Path inside the report -> page, the single file apart."""
    files = sorted(report.rglob("*.html"))
    by_path = {path.relative_to(report).as_posix(): Page(path.read_text(encoding="utf-8")) for path in files}
    del by_path["single.html"]
    return by_path


def test_the_pages_of_a_run(pages):
    claims = {f"claims/{claim['id']}.html" for claim in CLAIMS}
    ends = {"index.html", "ledger.html", "errata.html", "concepts.html", "glossary.html", "provenance.html"}
    own = {"studies/x_study.html", "studies/x_study-notes.html", "settings/x_study.html", "errata/x_study.html"}
    assert set(pages) == claims | own | ends


# Hostile words


def test_words_stay_words(pages):
    """Every script element is a file of the report; what was written in a claim is read as it was written."""
    for path, page in pages.items():
        assert all(script["src"].startswith(("assets/", "../assets/")) for script in page.of("script")), path
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")], path
        assert path == "provenance.html" or "49" not in re.findall(r"\b49\b", page.words), path  # it tells the time
    shown = pages["claims/x-evil.html"].words
    evil = " ".join(EVIL.split())
    for name in ("where", "statement", "correction", "note"):
        assert shown.count(" ".join(HOSTILE[name].split())) >= 4, name
    assert evil in pages["studies/x_study.html"].words
    assert [image["alt"] for image in pages["studies/x_study.html"].of("img")][:2] == [EVIL, EVIL]


def test_every_element_is_closed(report):
    """A caption that closed an element, or opened one, would leave the page unbalanced."""
    for path in report.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"<script>.*?</script>", "<script></script>", text, flags=re.DOTALL)
        for tag in (
            "table",
            "tr",
            "td",
            "th",
            "figure",
            "section",
            "details",
            "dl",
            "div",
            "ul",
            "li",
            "script",
            "nav",
        ):
            opened, closed = (len(re.findall(pattern, text)) for pattern in (rf"<{tag}[\s>]", rf"</{tag}>"))
            assert opened == closed, (path.name, tag)


# Links


def test_every_link_leads_to_a_file_and_an_anchor(report, pages):
    count = 0
    for path, page in pages.items():
        for link in page.values("href") + page.values("src") + page.values("action"):
            file, _, anchor = unquote(link).partition("#")
            if link.startswith(("data:,", "https:")):
                continue
            target = (report / path).parent / file if file else report / path
            assert target.is_file(), (path, link)
            inside = PurePosixPath(target.resolve().relative_to(report.resolve().parent)).as_posix()
            if anchor and "=" not in anchor:
                assert anchor in pages[inside.removeprefix("report/")].values("id"), (path, link)
            count += 1
    assert count > 150


def test_ids_are_unique_in_a_page(pages):
    for path, page in pages.items():
        ids = page.values("id")
        assert len(ids) == len(set(ids)), path


def test_a_claim_leads_to_figures_data_code_rule_and_derivation(pages):
    page = pages["claims/x-thm1.html"]
    links = page.values("href")
    names = ("x_study/data/loss.nc", "x_study/data/training/bn.nc", "x_study/data/training/he.nc", "data/images.nc")
    assert {link for link in links if link.endswith(".nc")} == {f"../../{name}" for name in names}
    assert "../studies/x_study.html#fig1" in links
    assert "../studies/x_study-notes.html#claim-x-thm1" in links
    assert "../provenance.html#job-x_study/claims" in links
    assert "The derivation of x-thm1" in page.words
    assert "snakemake --cores 1 results/mine/x_study/claims.csv" in page.words
    assert "hashlib.file_digest" in pages["claims/x-exists.html"].words


def test_a_claim_leads_to_the_one_before_and_the_one_after(pages):
    ids = [claim["id"] for claim in CLAIMS]
    for before, id, after in zip([None, *ids], ids, [*ids[1:], None], strict=False):
        links = {link["rel"]: link["href"] for link in pages[f"claims/{id}.html"].of("a") if "rel" in link}
        assert links == {
            rel: f"{other}.html" for rel, other in (("prev", before), ("next", after)) if other is not None
        }, id


def test_claims_of_a_figures_own_number_come_first(pages):
    figure = pages["studies/x_study.html"].source.split('id="fig1"', 1)[1].split("</figure>", 1)[0]
    assert re.findall(r"claims/(x-[a-z0-9]+)\.html", figure)[0] in ("x-thm1", "x-evil")
    assert contents.same_number("Figure 1: words", "Introduction, Figure 1(b)")
    assert not contents.same_number("Figure 1: words", "Figure 11")
    assert not contents.same_number("Figure 1: words", "Table 1")
    assert contents.same_number("Tables 1, Table 12: words", "Figure 3, fig. 4 and table 12")


def test_the_figure_of_a_claims_own_number_comes_first(tmp_path):
    claims = [CLAIM | {"id": f"x-{number}", "where": f"Section 2, Fig. {number}(a)"} for number in (1, 2)]
    files = make_run(tmp_path / "mine", claims)
    build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    for number, order in ((1, ["fig1", "fig2"]), (2, ["fig2", "fig1"])):
        page = Page((tmp_path / f"mine/report/claims/x-{number}.html").read_text())
        shown = [link.split("#")[1] for link in page.values("href") if "x_study.html#fig" in link]
        assert list(dict.fromkeys(shown)) == order


def test_nothing_comes_from_outside(report):
    """The pictures, too, refer to nothing but themselves."""
    for path in [*report.rglob("*.html"), *report.rglob("*.css"), *report.rglob("*.js")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        text = re.sub(r'"data:image/svg(?:[^"\\]|\\.)*"', "", text)  # the pictures follow
        assert not re.search(r"https?://(?!example)|@import|url\((?!\"data:)", text), path
    pictures = sorted(report.glob("figures/**/*.svg"))
    assert len(pictures) == 2
    for picture in pictures:
        assert not re.search(r"""(?:href|src)=["'](?!#|data:)|<script""", picture.read_text())


# Size and content of the folder


def test_pages_are_small(pages):
    for path, page in pages.items():
        assert len(page.source) < 400_000, path
        assert len(page.elements) < 12_000, path


def test_stale_pages_vanish_and_bytes_are_equal(tmp_path):
    root = tmp_path / "mine"
    files = make_run(root, CLAIMS)
    source = make_source(tmp_path / "checkout")
    build(root, files, root / "report", source)
    first = {path.relative_to(root): path.read_bytes() for path in (root / "report").rglob("*.*")}
    (root / "report/claims/x-old.html").write_text("old")
    build(root, files, root / "report", source)
    second = {path.relative_to(root): path.read_bytes() for path in (root / "report").rglob("*.*")}
    assert first == second
    assert not list(root.glob(".*"))


def test_the_job_of_the_report_builds_it(tmp_path):
    root = tmp_path / "mine"
    files = make_run(root, CLAIMS)
    build(root, files, root / "by hand", make_source(tmp_path / "checkout"))
    others = ("claims.csv", "manifest.json", f"{STUDY}/data/loss.nc", f"{STUDY}/notes.json")
    (root / STUDY / "notes.json").write_text("{}")
    inputs = [*others, *(path.relative_to(root).as_posix() for path in files)]
    outputs = [f"report/{part}" for part in ("index.html", "claims")]
    member = {"workflow": str(tmp_path / "checkout"), "made": OUTPUTS, "inputs": dict.fromkeys(inputs)}
    member["folders"] = {STUDY: str(tmp_path / "checkout/x")}
    site.run(member | {"outputs": outputs}, root, None)
    site_files, wanted = (
        {path.relative_to(root / name): path.read_bytes() for path in (root / name).rglob("*.*")}
        for name in ("report", "by hand")
    )
    assert site_files == wanted


def test_the_numbers_behind_a_figure_are_one_click_away(report, pages):
    study = pages[f"studies/{STUDY}.html"]
    links = [link for link in study.values("href") if link.endswith("/figures/fig1.csv")]
    assert set(links) == {f"../../{STUDY}/figures/fig1.csv"}
    assert (report.parent / STUDY / "figures/fig1.csv").read_text().startswith("panel,x_axis,")
    assert "Numbers as CSV" in " ".join(study.text)


def test_a_large_vector_graphic_is_shown_as_its_bitmap(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "LARGEST_PICTURE", 10)
    files = make_run(tmp_path / "mine", [CLAIM])
    build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    pictures = [path.name for path in (tmp_path / "mine/report/figures").rglob("*.*")]
    assert sorted(pictures) == ["fig1.png", "fig2.png"]


def test_the_largest_vector_graphic_that_is_shown_has_a_megabyte(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    for name, size in (("fig1", 1_000_000), ("fig2", 1_000_001)):
        with (tmp_path / "mine" / STUDY / f"figures/{name}.svg").open("a") as file:
            file.write("\n" * (size - file.tell()))
    build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    pictures = [path.name for path in (tmp_path / "mine/report/figures").rglob("*.*")]
    assert sorted(pictures) == ["fig1.svg", "fig2.png"]


def test_a_file_that_is_no_dataset_is_an_error_of_one_line(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    (tmp_path / "mine" / STUDY / "data/loss.nc").write_bytes(b"data")
    with pytest.raises(DataError, match=r"loss\.nc: not a dataset of this pipeline"):
        build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())


def test_the_single_file_holds_every_page_and_picture(report, pages):
    text = (report / "single.html").read_text(encoding="utf-8")
    single = Page(text)
    assert {template["data-page"] for template in single.of("template")} == set(pages)
    opened = Page("\n".join(unpacked(letters) for letters in re.findall(r"<template[^>]*>([^<]*)</template>", text)))
    links = [*single.values("href"), *opened.values("href")]
    assert not [link for link in links if not link.startswith(("#", "data:,"))]
    wanted = set(opened.values("data-picture"))
    assert wanted == {"figures/x_study/fig1.svg", "figures/x_study/fig2.svg"}
    pictures = json.loads(re.search(r"pictures: (\{.*?\}) \};", text)[1])
    for name in wanted:
        assert unpacked(pictures[name]) == (report / name).read_text(encoding="utf-8")
    targets = {link[2:].split("#")[0] for link in links if link.startswith("#/")}
    assert targets <= set(pages)


# What is told


def test_a_study_without_a_story_opens_with_its_first_figure(pages):
    page = pages["studies/x_study.html"]
    (summary,) = re.findall(r'<div class="summary">.*?</div>', page.source, re.DOTALL)
    assert '<a href="../figures/x_study/fig1.svg"><img src="../figures/x_study/fig1.svg"' in summary
    assert '<a href="#fig1">Caption, data and code</a>' in summary
    assert page.source.index(summary) < page.source.index('class="tally"')


def test_the_search_knows_every_word_of_a_claim_and_the_figures(report):
    script = (report / "assets/search.js").read_text(encoding="utf-8")
    assert "</" not in script
    texts, hits = (json.loads(text) for text in re.findall(r"repdyn\.\w+ = (\{.*?\n\});\n", script, re.DOTALL))
    assert list(hits) == list(texts)
    figures = {f"studies/x_study.html#{name}" for name in ("fig1", "fig2")}
    assert set(hits) == {claim["id"] for claim in CLAIMS} | figures
    assert hits["x-thm1"]["page"] == "claims/x-thm1.html"
    assert "<math" in hits["x-thm1"]["says"]
    assert hits["x-thm1"]["title"] == "x_study, Theorem 1: holds as corrected"
    assert {hits[name]["picture"] for name in figures} == {"figures/x_study/fig1.svg", "figures/x_study/fig2.svg"}
    assert not [hit for hit in hits.values() if "<script" in hit["says"] + hit["title"]]
    assert all((report / hit["page"].split("#")[0]).is_file() for hit in hits.values())
    assert EVIL in texts["studies/x_study.html#fig2"]
    assert all(HOSTILE[name] in texts["x-evil"] for name in ("where", "statement", "note"))


def test_the_first_page_shows_findings_with_both_forms(pages):
    page = pages["index.html"]
    assert "A headline <b>" in page.words
    assert page.source.count("<math") >= 4  # both forms, the sentence, the summary
    assert [image["src"] for image in page.of("img")] == ["figures/x_study/fig1.svg"]
    assert "unlike the sentence" not in page.words


def test_the_first_page_opens_with_each_paper_in_three_sentences(pages):
    page = pages["index.html"]
    (table,) = re.findall(r'<table class="papers">.*?</table>', page.source, re.DOTALL)
    assert page.source.index(table) < page.source.index('class="findings"')
    assert 'href="studies/x_study.html"' in table
    words = Page(table).words
    assert [says in words for says in ("Losses", "One <b> rises.", "The others fall.")] == [True] * 3
    assert [cell["data-label"] for cell in Page(table).of("td")] == ["Claims", "Breaks", "Survives"]


def test_the_first_pages_title_says_what_the_report_is(pages):
    source = pages["index.html"].source
    assert "<title>x_study, put to numerical tests · repdyn, run mine</title>" in source
    assert '<meta property="og:title" content="x_study, put to numerical tests">' in source
    assert '<meta property="og:description" content="4 statements: 0 hold as printed, 2 hold once' in source


def test_a_card_says_when_the_run_has_another_verdict(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM | {"verdict": "holds"}])
    build(tmp_path / "mine", files, tmp_path / "mine/report", make_source(tmp_path / "checkout"))
    assert "in this run, unlike the sentence above" in Page((tmp_path / "mine/report/index.html").read_text()).words


def test_the_papers_statements_and_ours_are_counted_apart(pages):
    words = pages["index.html"].words
    assert "4 statements of the paper are in the ledger" in words, "the one study here is of one paper"
    assert "0 hold as printed, 2 hold once corrected, 0 do not hold, 2 stay open" in words
    assert "1 of all 5 are statements of our own" in words


def test_a_study_of_our_own_statements_alone_is_no_paper(tmp_path):
    """Its datasets name a paper, too."""
    ours = [OURS | {"id": "y-ours", "study": "y_study"}, OURS | {"id": "z-ours", "study": "z_study"}]
    files = make_run(tmp_path / "mine", [*CLAIMS, *ours])
    build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    words = Page((tmp_path / "mine/report/index.html").read_text()).words
    assert "One paper, put to numerical tests 4 statements of the paper are" in words


def test_a_statement_that_depends_on_its_reading_is_not_counted_as_open():
    verdicts = ["holds", *["depends on the reading"] * 2, "not testable", "not decidable at this scale"]
    tally = views.tally([CLAIM | {"verdict": verdict} for verdict in verdicts])
    assert tally.endswith(", 0 do not hold, 2 depend on how the words are read, 2 stay open")


def test_errata_are_the_papers_own_and_possible_ocr_errors_stand_apart(pages, report):
    words = pages["errata/x_study.html"].words
    assert "x-ours" not in words
    assert words.index("Possibly OCR errors") < words.index("x-thm1")
    assert "Measured: largest deviation 3, required: at most 10 −9 ; correct form: 2.5 rad" in words
    assert r"a = \frac{1}{3}" in (report / "errata/x_study.tex").read_text()


def test_errata_hold_what_a_larger_scale_confirms_the_most_severe_first():
    slips = {"x-1": "misprint", "x-2": "conclusion fails", "x-3": "missing hypothesis", "x-4": "result changes"}
    claims = [CLAIM | {"id": id, "kind_of_slip": slip, "possible_ocr_error": "False"} for id, slip in slips.items()]
    claims += [CLAIM | {"id": "x-ocr"}, OURS, CLAIM | {"id": "x-5", "verdict": "depends on the reading"}]
    full = {"full": dict.fromkeys([*slips, "x-ocr", "x-5"], "holds as corrected") | {"x-4": "holds"}}
    found = errata(claims, "default", full | {"smoke": {}})
    assert [row["id"] for row in found.rows] == ["x-2", "x-3", "x-1", "x-ocr"]
    assert [group.heading for group in found.groups][::3] == ["Conclusions that fail", "Possibly OCR errors"]
    assert [row["id"] for row in found.awaiting] == ["x-4"]
    for run, larger in (("full", full), ("default", {"smoke": {}})):  # confirms itself; nothing to hold it against
        assert [row["id"] for row in errata(claims, run, larger).rows] == ["x-2", "x-4", "x-3", "x-1", "x-ocr"]
    assert severities(claims)[0] == ("conclusion fails", 1)
    assert dict(severities(claims))["result changes"] == 2  # the OCR error among them, ours and the open one not


def test_a_scale_with_the_seed_of_the_default_confirms_nothing():
    claims = [CLAIM | {"id": id, "possible_ocr_error": "False"} for id in ("x-both", "x-full", "x-paper", "x-none")]
    refuted, undecided = "does not hold", "not decidable at this scale"
    larger = {
        "full": {"x-both": refuted, "x-full": refuted, "x-paper": undecided, "x-none": undecided},
        "paper": {"x-both": refuted, "x-paper": refuted},
    }
    found = errata(claims, "default", larger)
    assert {row["id"] for row in found.rows} == {"x-both", "x-full"}
    assert [row["id"] for row in found.awaiting] == ["x-paper", "x-none"]


def test_scales_that_confirm_have_a_seed_of_their_own():
    default = load([ROOT / "config.yaml"]).run.seed
    seeds = {name: load([ROOT / "config.yaml", ROOT / f"workflow/scales/{name}.yaml"]).run.seed for name in SCALES}
    assert {name for name, seed in seeds.items() if seed != default} == set(CONFIRMING)


def test_a_claims_page_quotes_the_paper(pages):
    words = pages["claims/x-thm1.html"].words
    assert "the sum” Theorem 1, line 31 of the text at hand" in words
    assert "Assumed there: a is small" in words
    assert "result changes" in words
    assert "line" not in pages["claims/x-ours.html"].words.split("Evidence")[0]


def test_published_numbers_show_measured_next_to_required(pages):
    section = pages["studies/x_study.html"].source.split('id="published"', 1)[1]
    words = Page("<p " + section).words
    for part in ("Figure 1", "two and a half", "2.5 rad", "99.9 % interval 2.25 to 2.75", "2 to 3", "passes"):
        assert part in words


def test_a_tables_numbers_have_its_digits(pages):
    table = pages["studies/x_study.html"].source.split('id="t1"', 1)[1].split("</table>", 1)[0]
    cells = [Page(cell).words for cell in re.findall(r"<td[^>]*>(.*?)</td>", table)]
    assert [cells[place::4] for place in (1, 2, 3)] == [
        ["0.123", "", "2 × 10 −9"],
        ["1", "20", "300"],
        ["True", "False", "True"],
    ]


def test_a_claims_page_shows_it_in_the_reference_runs(tmp_path):
    root, checkout = tmp_path / "mine", tmp_path / "checkout"
    files = make_run(root, CLAIMS)
    source = make_source(checkout)
    for scale in ("default", "smoke"):
        kept_runs.keep(root, checkout / "reference" / scale)
    kept = pd.read_csv(checkout / "reference/smoke/claims.csv", keep_default_na=False, dtype=str).set_index("id")
    kept.loc["x-thm1", ["verdict", "n", "note"]] = ["not decidable at this scale", "7", "Needs more."]
    kept.loc["x-exists", "note"] = "Said elsewhere."
    kept.drop("x-ours").to_csv(checkout / "reference/smoke/claims.csv")
    (checkout / "reference/exceptions.yaml").write_text("x-exists: It changes with size.\n")
    chosen = "after_looking: [{chosen: The region, claims: [x-thm1]}]\n"
    (checkout / "x/decided/chosen_after_looking.yaml").write_text(chosen)
    build(root, files, root / "report", source)
    pages = {id: (root / f"report/claims/{id}.html").read_text() for id in ("x-thm1", "x-exists", "x-ours")}
    rows = {}
    for id, text in pages.items():
        table = text.split('<table class="scales">')[1].split("</table>")[0]
        rows[id] = [
            [Page(cell).words for cell in re.findall(r"<td.*?</td>", row)] for row in re.findall("<tr>.*", table)[1:]
        ]
    assert rows["x-thm1"] == [
        ["smoke", "not decidable at this scale", "7", "Needs more."],
        ["default", "holds as corrected", "24", ""],
    ]
    assert rows["x-exists"] == [[scale, "not testable", "24", ""] for scale in ("smoke", "default")]
    assert [row[0] for row in rows["x-ours"]] == ["default"]
    remarks = ("Chosen after looking at the default scale: The region.", "It changes with size.")
    assert [[words in Page(text).words for words in remarks] for text in pages.values()] == [
        [True, False],
        [False, True],
        [False, False],
    ]


def test_jobs_without_a_record_are_told_beside_the_others(pages):
    jobs = [row["id"] for row in pages["provenance.html"].of("tr") if row.get("id", "").startswith("job-")]
    assert sorted(jobs) == ["job-x_study/claims", "job-x_study/figures", "job-x_study/training-bn"]
    assert pages["provenance.html"].words.count("no record") == 2
    assert "1 recorded jobs took 1.5 core-minutes" in pages["provenance.html"].words


def test_costs_are_summed_by_study_and_what_serves_all_comes_last():
    jobs = [("report", 30.0, 400.0), ("x_study/b", 90.0, 80.0), ("a_study/a", 6.0, 70.0), ("x_study/a", 60.0, 90.0)]
    jobs += [("images", 12.0, 30.0), ("x_study/c", 3.0, 60.0)]
    records = [{"log": log, "cpu_seconds": seconds, "peak_memory_mb": peak} for log, seconds, peak in jobs]
    assert views.costs(records, {"x_study": "Study X"}) == [
        ("a_study", 1, 0.1, 70.0),
        ("Study X", 3, 2.55, 90.0),
        ("all studies", 2, 0.7, 400.0),
    ]


def test_settings_are_stated_or_chosen(pages):
    words = pages["settings/x_study.html"].words
    assert "width 7 stated (Table 1 <b>): 1000" in words
    assert "depth [2, 3] chosen (by us)" in words
    assert "1 of this run differ from what the paper states" in pages["studies/x_study.html"].words


def test_every_verdict_is_counted_and_explained(pages):
    page = pages["ledger.html"]
    wanted = {claim["verdict"] for claim in CLAIMS}
    pressed = [button["data-verdict"] for button in page.of("button") if "data-verdict" in button]
    assert pressed == [status for status in STATUSES if status in wanted]
    assert all(meaning in page.words for meaning in MEANINGS.values())
    assert set(MEANINGS) == set(STATUSES)
    rows = [attributes["id"] for attributes in page.of("tr") if "data-verdict" in attributes]
    assert rows == [claim["id"] for claim in CLAIMS]


def test_a_verdict_that_changed_is_told_at_the_top(pages):
    words = pages["index.html"].words
    assert "1 verdict differs from the accepted ones" in words
    assert "x-evil (new claim)" in words


@pytest.mark.parametrize(("run", "notice"), [("smoke", "warning"), ("default", "remark"), ("paper", "")])
def test_the_scale_is_told(tmp_path, run, notice):
    files = make_run(tmp_path / run, [CLAIM], run=run)
    build(tmp_path / run, files, tmp_path / run / "report", Checkout())
    page = Page((tmp_path / run / "report/index.html").read_text(encoding="utf-8"))
    classes = [name for name in page.values("class") if name in ("warning", "remark")]
    assert classes == ([notice] if notice else [])


def test_captions_and_labels_for_snakemakes_own_report(report):
    from docutils.core import publish_parts
    from jinja2 import Template

    folder = report / "captions"
    captions = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.rst"))
    assert captions == [f"{STUDY}/figures/fig1.rst", f"{STUDY}/figures/fig2.rst", f"{STUDY}/tables/t1.rst"]
    shown = publish_parts(Template((folder / captions[0]).read_text()).render(), writer="html")["body"]
    assert Page(shown).words == " ".join(f"Figure 1: {EVIL} {EVIL}".split())
    assert "<script" not in shown
    labels = json.loads((folder / "labels.json").read_text())
    assert labels[f"{STUDY}/figures/fig1"] == {
        "figure": "Figure 1",
        "title": re.sub("[{}]", "", EVIL),  # Snakemake takes braces for wildcards
        "claims": "2 holds as corrected",
    }
    assert labels[f"{STUDY}/figures/fig2"]["title"] == "Figure 2"


def test_styles_and_scripts_lie_where_pages_read_them():
    assert {path.suffix for path in building.PAGE.iterdir() if path.is_file()} == {".j2", ".woff2", ".txt"}
