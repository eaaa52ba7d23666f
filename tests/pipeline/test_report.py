"""The report: pages of studies and claims, links, escaping, one file of all, errata; from small synthetic results."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pytest
from tests.conftest import ROOT
from tests.pipeline.made_up_run import CLAIM, CLAIMS, EVIL, JOBS, PART, STUDY, make_checkout, make_run

from repdyn.base.errors import DataError
from repdyn.pipeline import studies
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.report import contents
from repdyn.pipeline.report.build import Checkout, build
from repdyn.pipeline.report.captions import read_labels
from repdyn.pipeline.report.contents import Contents, Product
from repdyn.pipeline.report.errata import CONFIRMING, errata, severities
from repdyn.pipeline.report.evidence import drawing
from repdyn.pipeline.run.kinds import site
from repdyn.pipeline.run.kinds.ledger import SCALES


class Page(HTMLParser):
    """Elements of a page with their attributes, and its visible text."""

    def __init__(self, text):
        super().__init__()
        self.source, self.elements, self.text, self.inside = text, [], [], []
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


def read_pages(report):
    """Path in the report -> page, except the single file."""
    paths = [path for path in sorted(report.rglob("*.html")) if path.name != "single.html"]
    return {path.relative_to(report).as_posix(): Page(path.read_text(encoding="utf-8")) for path in paths}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    build(root, make_run(root, CLAIMS), root / "report", make_checkout(root / "checkout"))
    return root / "report"


@pytest.fixture(scope="module")
def pages(report):
    return read_pages(report)


def test_every_study_and_claim_has_a_page_with_the_verdict(pages):
    assert {"index.html", "ledger.html", f"studies/{STUDY}.html"} <= set(pages)
    for claim in CLAIMS:
        page = pages[f"claims/{claim['id']}.html"]
        assert claim["verdict"] in page.words, claim["id"]
        assert any(f"claims/{claim['id']}.html" in link for link in pages["ledger.html"].values("href"))


def test_studys_page_has_its_story_with_figures_claims_terms_and_facts(pages):
    page = pages[f"studies/{STUDY}.html"]
    for part in (
        "In short, 0.1235 and ?: <a",
        f'<figure class="inline"><a href="../figures/{STUDY}/fig2.svg">',
        'href="../claims/x-thm1.html" title="holds as corrected: ',
        'href="../glossary.html#fall" title="fall: To rise, turned round.">',
    ):
        assert part in page.source
    assert "The derivation of" in pages["claims/x-thm1.html"].words
    for path, words in {"index": "rises", "concepts": "Which?", "glossary": "To rise, turned round."}.items():
        assert words in pages[f"{path}.html"].words


def test_texts_of_results_are_escaped(report, pages):
    """Every script element is a file of the report, every element is closed, hostile texts are shown verbatim."""
    for path, page in pages.items():
        assert all(script["src"].startswith(("assets/", "../assets/")) for script in page.of("script")), path
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")], path
        assert path == "provenance.html" or not re.search(r"\b49\b", page.words), path  # {{ 7 * 7 }}
        text = re.sub(r"<script>.*?</script>", "<script></script>", page.source, flags=re.DOTALL)
        for tag in ("table", "tr", "td", "figure", "section", "details", "dl", "div", "ul", "li", "script", "nav"):
            opened, closed = (len(re.findall(pattern, text)) for pattern in (rf"<{tag}[\s>]", rf"</{tag}>"))
            assert opened == closed, (path, tag)
        assert len(page.values("id")) == len(set(page.values("id"))), path
    evil = " ".join(EVIL.split())
    assert pages["claims/x-evil.html"].words.count(evil) >= 4
    assert evil in pages[f"studies/{STUDY}.html"].words
    search = (report / "assets/search.js").read_text(encoding="utf-8")
    assert "</" not in search
    assert "x-evil" in search


def test_links_have_existing_files_and_anchors(report, pages):
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


def test_claim_page_links_figures_datasets_and_code(report, pages):
    links = pages["claims/x-thm1.html"].values("href")
    names = ("x_study/data/loss.nc", "x_study/data/training/bn.nc", "x_study/data/training/he.nc", "data/images.nc")
    assert {link for link in links if link.endswith(".nc")} == {f"../../{name}" for name in names}
    assert f"../studies/{STUDY}.html#fig1" in links
    assert f"../../{STUDY}/figures/fig1.csv" in pages[f"studies/{STUDY}.html"].values("href")
    jobs = [row["id"] for row in pages["provenance.html"].of("tr") if row.get("id", "").startswith("job-")]
    assert sorted(jobs) == sorted(f"job-{name}" for name in JOBS)


def test_nothing_is_loaded_from_outside_and_pages_are_small(report, pages):
    for path in [*report.rglob("*.html"), *report.rglob("*.css"), *report.rglob("*.js")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        text = re.sub(r'"data:image/svg(?:[^"\\]|\\.)*"', "", text)  # the pictures follow
        assert not re.search(r"https?://(?!example)|@import|url\((?!\"data:)", text), path
    pictures = sorted(report.glob("figures/**/*.svg"))
    assert len(pictures) == 2
    for picture in pictures:
        assert not re.search(r"""(?:href|src)=["'](?!#|data:)|<script""", picture.read_text())
    assert max(len(page.source) for page in pages.values()) < 400_000


def test_study_without_texts_and_figures_has_a_page(tmp_path):
    claims = [*CLAIMS, CLAIM | {"id": "y-1", "study": "y_study", "datasets": "gone"}]
    build(tmp_path / "mine", make_run(tmp_path / "mine", claims), tmp_path / "mine/report", Checkout())
    found = read_pages(tmp_path / "mine/report")
    assert {f"studies/{STUDY}.html", "studies/y_study.html", "claims/y-1.html"} <= set(found)
    for page in found.values():
        assert page.of("h1")


def test_stale_pages_are_removed_and_the_report_is_reproducible(tmp_path, monkeypatch):
    def built(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}

    root, checkout = tmp_path / "mine", tmp_path / "checkout"
    files, source = make_run(root, CLAIMS), make_checkout(checkout)
    build(root, files, root / "report", source)
    first = built(root / "report")
    (root / "report/claims/x-old.html").write_text("old")
    build(root, files, root / "report", source)
    assert built(root / "report") == first
    assert not list(root.glob(".*"))
    others = ("claims.csv", "manifest.json", f"{STUDY}/data/loss.nc")
    inputs = [*others, *(path.relative_to(root).as_posix() for path in files)]
    member = {"workflow": str(checkout), "made": JOBS, "inputs": dict.fromkeys(inputs)}
    member |= {"outputs": ["report/index.html", "report/claims"]}
    monkeypatch.setattr(studies, "folders", lambda: source.folders)
    site.run(member, root, None)
    assert built(root / "report") == first


def test_vector_graphics_above_a_megabyte_are_shown_as_bitmaps(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    for name, size in (("fig1", 1_000_000), ("fig2", 1_000_001)):
        with (tmp_path / "mine" / STUDY / f"figures/{name}.svg").open("a") as file:
            file.write("\n" * (size - file.tell()))
    build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    pictures = [path.name for path in (tmp_path / "mine/report/figures").rglob("*.*")]
    assert sorted(pictures) == ["fig1.svg", "fig2.png"]


@pytest.mark.parametrize("content", [b"", b"[1]", b"3", b"{}", b"\xff"])
@pytest.mark.parametrize("name", ["data/loss.nc", "figures/fig1.json"])
def test_invalid_file_is_reported(name, content, tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    (tmp_path / "mine" / STUDY / name).write_bytes(content)
    with pytest.raises(DataError, match=re.escape(name)):
        build(tmp_path / "mine", files, tmp_path / "mine/report", Checkout())
    assert not list((tmp_path / "mine").glob("*report*"))


# All pages in one file


def unpacked(letters):
    packed = base64.b64decode(letters, validate=True)
    assert packed[4:8] == bytes(4)  # no clock: the same report is the same file
    return gzip.decompress(packed).decode()


def test_single_file_has_every_page_and_figure(report, pages):
    text = (report / "single.html").read_text(encoding="utf-8")
    whole = Page(text)
    assert {template["data-page"] for template in whole.of("template")} == set(pages)
    opened = Page("\n".join(unpacked(letters) for letters in re.findall(r"<template[^>]*>([^<]*)</template>", text)))
    links = [*whole.values("href"), *opened.values("href")]
    assert not [link for link in links if not link.startswith(("#", "data:,"))]
    assert {link[2:].split("#")[0] for link in links if link.startswith("#/")} <= set(pages)
    pictures = json.loads(re.search(r"pictures: (\{.*?\}) \};", text)[1])
    assert set(pictures) == set(opened.values("data-picture")) == {f"figures/{STUDY}/fig{k}.svg" for k in (1, 2)}
    for name, letters in pictures.items():
        assert unpacked(letters) == (report / name).read_text(encoding="utf-8")


def test_figures_and_tables_of_a_single_claim_are_on_its_page(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    build(tmp_path / "mine", files, tmp_path / "report", make_checkout(tmp_path))
    shown = {path: set(page.values("id")) for path, page in read_pages(tmp_path / "report").items()}
    assert {"fig1", "fig2", "t1"} <= shown[f"claims/{CLAIM['id']}.html"]
    assert not {"fig1", "fig2", "t1"} & shown[f"studies/{STUDY}.html"]


def test_captions_for_snakemakes_report_are_plain_text(report):
    from docutils.core import publish_parts
    from jinja2 import Template

    folder = report / "captions"
    captions = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.rst"))
    assert captions == [f"{STUDY}/figures/fig1.rst", f"{STUDY}/figures/fig2.rst", f"{STUDY}/tables/t1.rst"]
    shown = publish_parts(Template((folder / captions[0]).read_text()).render(), writer="html")["body"]
    assert " ".join(EVIL.split()) in Page(shown).words
    assert "<script" not in shown
    labels = json.loads((folder / "labels.json").read_text())
    assert set(labels) == {path.removesuffix(".rst") for path in captions}
    assert not re.search("[{}]", labels[f"{STUDY}/figures/fig1"]["title"])  # Snakemake takes braces for wildcards
    assert read_labels(folder / "labels.json") == labels


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"a": 1}', '{"a": {"title": 1}}', "\udc80", None])
def test_damaged_labels_are_none(content, tmp_path):
    if content is not None:
        (tmp_path / "labels.json").write_bytes(content.encode(errors="surrogateescape"))
    assert read_labels(tmp_path / "labels.json") == {}


# Selection


def figure(name, *datasets, title="", kind="figures", study=STUDY):
    about = {"caption": "", "alt": "", "facts": {}, "files": (), "picture": "", "source": Path(), "size": (1, 1)}
    about |= {"columns": (), "rows": (), "code": "", "code_version": "", "job": ""}
    return Product(study=study, kind=kind, name=name, title=title or name, datasets=datasets, **about)


def run_of(*products, claims=(), content=()):
    manifest = {"configuration": {"run": {"name": "mine"}}, "content": dict.fromkeys(content, "digest")}
    claims = [CLAIM | {"id": f"x-{place}"} | claim for place, claim in enumerate(claims)]
    return Contents(claims, {claim["id"]: [PART] for claim in claims}, manifest, products, {}, Path())


def test_figures_of_a_claim_are_first_those_of_its_place_then_those_of_few_claims():
    claims = [{"datasets": "loss rare own", "where": "Section 2, Figure 3(b)"}]
    claims += [{"datasets": "loss rare", "where": "Table 1"}, {"datasets": "loss"}, {"datasets": "other"}]
    products = [
        figure("often", "loss", "other"),
        figure("seldom", "rare"),
        figure("own", "other", "loss", title="Fig. 3: Losses"),
        figure("unread", "other"),
        figure("elsewhere", "loss", study="y_study"),
        figure("table", "loss", kind="tables"),
    ]
    run = run_of(*products, claims=claims)
    assert [product.name for product in run.figures_of(run.ledger[0])] == ["own", "seldom", "often"]
    assert [claim["id"] for claim in run.claims_on(products[1])] == ["x-0", "x-1"]
    assert contents.same_number("Tables 1, Table 12: words", "Figure 3, fig. 4 and table 12")
    assert not contents.same_number("Figure 1: words", "Figure 11")


def test_nonfinite_numbers_are_not_plotted():
    """Of networks that have diverged."""
    assert drawing(PART)
    for name in ("value", "interval_low", "interval_high"):
        assert [drawing(PART | {name: number}) for number in ("inf", "-inf", "nan")] == [{}] * 3


# Errata


def test_errata_have_confirmed_refutations_most_severe_first():
    slips = {"x-1": "misprint", "x-2": "conclusion fails", "x-3": "missing hypothesis", "x-4": "result changes"}
    claims = [CLAIM | {"id": id, "kind_of_slip": slip} for id, slip in slips.items()]
    claims += [CLAIM | {"id": "x-ocr", "possible_ocr_error": "True"}, CLAIM | {"id": "x-ours", "origin": "ours"}]
    claims += [CLAIM | {"id": "x-5", "verdict": "depends on the reading"}]
    full = {"full": dict.fromkeys([*slips, "x-ocr", "x-5"], "holds as corrected") | {"x-4": "holds"}}
    found = errata(claims, "default", full | {"smoke": {}})
    assert [row["id"] for row in found.rows] == ["x-2", "x-3", "x-1", "x-ocr"]
    assert [row["id"] for row in found.awaiting] == ["x-4"]
    for run, larger in (("full", full), ("default", {"smoke": {}})):  # confirms itself; nothing to compare with
        assert [row["id"] for row in errata(claims, run, larger).rows] == ["x-2", "x-4", "x-3", "x-1", "x-ocr"]
    assert dict(severities(claims))["result changes"] == 2  # the possible OCR error among them


def test_only_scales_with_a_different_seed_confirm():
    refuted = "does not hold"
    claims = [CLAIM | {"id": id} for id in ("x-both", "x-full", "x-paper")]
    larger = {"full": {"x-both": refuted, "x-full": refuted}, "paper": {"x-both": refuted, "x-paper": refuted}}
    found = errata(claims, "default", larger)
    assert [row["id"] for row in found.rows] == ["x-both", "x-full"]
    default = load([ROOT / "config.yaml"]).run.seed
    seeds = {name: load([ROOT / "config.yaml", ROOT / f"workflow/scales/{name}.yaml"]).run.seed for name in SCALES}
    assert {name for name, seed in seeds.items() if seed != default} == set(CONFIRMING)
