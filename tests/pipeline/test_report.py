"""The report: hostile words stay words, every link leads somewhere, nothing comes from outside."""

import base64
import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from repdyn.base import figures, tables
from repdyn.base.errors import DataError
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline.report import build as reports
from repdyn.pipeline.report.build import Source, build
from repdyn.pipeline.run.manifest import build as build_manifest

EVIL = """<script>alert("1")</script> & 'quoted' "double" </td></figure>{{ 7 * 7 }} --> ω"""
STUDY = "x_study"
CLAIM = {
    "study": STUDY,
    "id": "x-thm1",
    "where": "Theorem 1",
    "kind": "identity",
    "statement": "A statement.",
    "verdict": "holds as corrected",
    "correction": "Another.",
    "possible_ocr_error": "True",
    "formula": r"a = \frac{1}{2}",
    "corrected_formula": r"a = \frac{1}{3}",
    "printed_measured": "3",
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
    "control_measured": "6",
    "control_margin": "0.08",
    "datasets": "loss training images",
    "code": "repdyn.x_study.claims:two",
    "code_version": "c0de",
    "note": "",
    "expected_verdict": "holds as corrected",
    "change": "",
}
TEXTS = ("where", "kind", "statement", "correction", "printed_measured", "printed_expected", "measured", "expected")
TEXTS += ("tolerance_reason", "control", "control_measured", "code", "note")
FORMULAS = ("formula", "corrected_formula")
HOSTILE = CLAIM | dict.fromkeys(TEXTS, EVIL) | {"id": "x-evil", "change": "new claim", "datasets": "loss"}
HOSTILE |= dict.fromkeys(FORMULAS, EVIL + r"\evil")
EMPTY = dict.fromkeys([*TEXTS[3:], *FORMULAS, "printed_margin", "margin", "control_margin", "datasets"], "")
UNTESTED = CLAIM | EMPTY | {"id": "x-exists", "verdict": "not testable", "code": "repdyn.base.files:sha256"}
PUBLISHED = CLAIM | {"id": "x-number", "kind": "published number", "verdict": "not reproducible as stated"}
PUBLISHED |= {"note": "No width is stated.", "correction": "", "corrected_formula": "", "possible_ocr_error": "False"}
PAGE = f"""# Page

The derivation of <a id="x-thm1">`x-thm1`</a>: $a = 1/3$. {EVIL}

## Settings
Width 7.
"""
RULES = """rule x_study_figures:
    output:
        "fig",
    shell:
        "draw <b>"
"""
MAKERS = {
    "x_study_figures": ["x_study/figures/fig1.svg", "x_study/figures/fig2.svg"],
    "x_study_training": ["x_study/data/training/{mode}.nc"],
    "x_study_claims": ["x_study/claims.csv"],
}
SCALE = {"x_study.width": [7, 1000], "data.source": [EVIL, "mnist"], "other.depth": [1, 2]}
ORIGIN = {"code": "repdyn.base.files:sha256", "code_version": "c0de", "datasets": ["loss"]}


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


def draw(stem, title, claims):
    figure, axes = figures.new()
    axes[0, 0].plot(np.arange(5), np.arange(5) ** 2)
    axes[0, 0].set_title(EVIL.replace("$", ""))
    figures.save(figures.describe(figure, title=title, caption=EVIL, alt=EVIL, claims=claims), stem, ORIGIN)


def make_run(root, claims, *, run="mine"):
    """A results folder as the pipeline leaves it before the report; its files of figures and tables."""
    for name in (
        f"{STUDY}/data/loss.nc",
        f"{STUDY}/data/training/bn.nc",
        f"{STUDY}/data/training/he.nc",
        "data/images.nc",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        attributes = {"title": EVIL, "experiment": "experiments:x", "code_version": "c0de", "paper": "A. Author, X."}
        xr.Dataset(attrs=attributes).to_netcdf(root / name)
    draw(root / STUDY / "figures" / "fig1", EVIL, ("x-thm1", "x-evil"))
    draw(root / STUDY / "figures" / "fig2", "Figure 2", ())
    frame = pd.DataFrame(
        {
            EVIL: ["none", "NA", EVIL],
            "value": [0.123456, np.nan, 2e-9],
            "count": [1, 20, 300],
            "kept": [True, False, True],
        }
    )
    tables.save(tables.Table(frame, title=EVIL, caption=EVIL, digits=3), root / STUDY / "tables" / "t1", ORIGIN)
    with (root / "claims.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, CLAIM)
        writer.writeheader()
        writer.writerows(claims)
    cost = {"job": EVIL, "study": STUDY, "cpu_seconds": 90.0, "wall_seconds": 1.5, "peak_memory_mb": 80.0, "threads": 1}
    files = sorted(path for path in root.rglob("*.*") if path.parent != root)
    (root / "logs").mkdir()
    record = cost | {"outputs": {files[0].as_posix(): "digest"}}
    (root / "logs" / "a.log.cost.json").write_text(json.dumps(record))
    config = {"run": {"name": run, "seed": 1}, "data": {"mnist_folder": EVIL}}
    build_manifest(files, root, root / "logs", root, config, root / "manifest.json")
    return [path for path in files if path.parent.name in ("figures", "tables")]


def make_source(folder):
    """A checkout as far as the report reads it."""
    for name, text in ((f"docs/{STUDY}.md", PAGE), ("workflow/rules/x.smk", RULES)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Source(folder, MAKERS, SCALE)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    files = make_run(root, [CLAIM, HOSTILE, UNTESTED, PUBLISHED])
    build(root, files, root / "report" / "index.html", make_source(root / "checkout"))
    return root / "report" / "index.html"


@pytest.fixture(scope="module")
def page(report):
    return Page(report.read_text(encoding="utf-8"))


# Hostile words


def test_words_stay_words(page):
    """One script element, the page's own; what was written in a claim or caption is read as it was written."""
    assert len(page.of("script")) == 1
    text = "".join(page.text)
    assert text.count(EVIL) > 30
    as_json = 2  # in the configuration and in the scale, with quotes escaped
    assert text.count("alert") == text.count(EVIL) + as_json
    for said in ("where", "kind", "statement", "correction", "note"):
        assert HOSTILE[said] in text


def test_words_stay_in_their_attributes(page):
    assert [image["alt"] for image in page.of("img")] == [EVIL, EVIL]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    known = {
        "id",
        "class",
        "href",
        "src",
        "alt",
        "title",
        "style",
        "type",
        "role",
        "name",
        "content",
        "charset",
        "lang",
    }
    known |= {
        "value",
        "placeholder",
        "aria-label",
        "aria-labelledby",
        "aria-pressed",
        "scope",
        "tabindex",
        "loading",
        "rel",
    }
    known |= {"display", "stretchy", "fence", "form"}
    found = {name for _, attributes in page.elements for name in attributes if not name.startswith("data-")}
    assert found <= known


def test_every_element_is_closed(report):
    """A caption that closed an element, or opened one, would leave the page unbalanced."""
    text = report.read_text(encoding="utf-8")
    for tag in ("table", "tr", "td", "figure", "figcaption", "section", "details", "dl", "div", "ul", "script"):
        opened, closed = (len(re.findall(pattern, text)) for pattern in (rf"<{tag}[\s>]", rf"</{tag}>"))
        assert opened == closed > 0, tag


# Links


def test_every_link_to_a_file_leads_to_one(page, report):
    links = [link for link in page.values("href") if not link.startswith(("#", "data:,"))]
    assert len(links) > 10
    lost = [link for link in links if not (report.parent / unquote(link)).is_file()]
    assert lost == []


def test_every_link_in_the_page_leads_to_an_anchor(page):
    anchors = page.values("id")
    assert len(anchors) == len(set(anchors))
    targets = {unquote(link[1:]) for link in page.values("href") if link.startswith("#")}
    assert {"ledger", "provenance", STUDY, "x-thm1", "x-evil", "x-exists"} <= targets
    assert targets <= set(anchors)


def test_claims_and_figures_know_each_other(page):
    links = page.values("href")
    assert links.count("#x_study-figures-fig1") == 2
    assert links.count("#x-thm1") == 4  # its own row, the figure that shows it, the errata, the derivation
    assert links.count("#doc-x-thm1") == 2  # from its row and from the errata


def test_data_of_a_claim_is_linked_be_it_one_file_variants_or_shared(page):
    data = {link for link in page.values("href") if link.endswith(".nc")}
    names = ("x_study/data/loss.nc", "x_study/data/training/bn.nc", "x_study/data/training/he.nc", "data/images.nc")
    assert data == {f"../{name}" for name in names}


def test_a_figure_names_its_data_code_version_and_rule(page):
    text, links = "".join(page.text), page.values("href")
    assert "Data: loss.nc." in text
    assert "sha256 in src/repdyn/base/files.py, line" in text
    assert "code version c0de" in text
    assert 'hashlib.file_digest(file, "sha256").hexdigest()' in text
    assert "#rule-x_study_figures" in links


def test_rules_stand_in_the_report_as_they_are_written(page):
    assert "rule-x_study_figures" in page.values("id")
    assert RULES.strip() in "".join(page.text)


def test_nothing_comes_from_outside(page, report):
    """All sources are inside the file; the pictures, too, refer to nothing but themselves."""
    sources = page.values("src")
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    text = report.read_text(encoding="utf-8")
    assert not re.search(r"https?:|@import|url\(", text)
    for source in sources:
        svg = base64.b64decode(source.partition(",")[2]).decode()
        assert not re.search(r"""(?:href|src)=["'](?!#|data:)|<script""", svg)
    assert [link["href"] for link in page.of("link")] == ["data:,"]  # no icon is asked for


def test_it_is_small(report):
    assert report.stat().st_size < 20e6


def test_a_large_vector_graphic_is_shown_as_its_bitmap(tmp_path, monkeypatch):
    files = make_run(tmp_path / "mine", [CLAIM])
    monkeypatch.setattr(reports, "LARGEST_PICTURE", 10)
    build(tmp_path / "mine", files, tmp_path / "mine/report/index.html", Source())
    sources = Page((tmp_path / "mine/report/index.html").read_text(encoding="utf-8")).values("src")
    assert sources
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in sources)


# What is told


def test_every_verdict_is_counted(page):
    text = " ".join("".join(page.text).split())
    assert "2 holds as corrected" in text
    assert "1 not testable" in text
    wanted = ("holds as corrected", "not reproducible as stated", "not testable")
    pressed = [button["data-verdict"] for button in page.of("button") if "data-verdict" in button]
    assert pressed == [status for status in STATUSES if status in wanted]


def test_every_verdict_is_explained(page):
    assert set(reports.MEANINGS) == set(STATUSES)
    assert all(meaning in "".join(page.text) for meaning in reports.MEANINGS.values())


def test_each_form_of_a_claim_has_its_outcome():
    told = [(row["form"], row["measured"], row["margin"], row["outcome"]) for row in reports._tests(CLAIM)]
    assert told == [
        ("as printed", "3", "0.25", "refuted"),
        ("as corrected", "2.5", "5", "passes"),
        ("negative control: the wrong sign", "6", "0.08", "rejected"),
    ]
    refuted = CLAIM | {"verdict": "does not hold", "measured": "3", "control_margin": "4"}
    assert [row["outcome"] for row in reports._tests(refuted)] == ["refuted", "passes"]
    holds = CLAIM | {"verdict": "holds", "measured": "3", "printed_margin": "7"}
    assert [row["outcome"] for row in reports._tests(holds)] == ["passes", "rejected"]
    open_ = CLAIM | {"verdict": "not decidable at this scale", "printed_margin": "1", "control_margin": "1"}
    assert [row["outcome"] for row in reports._tests(open_)] == ["undecided", "passes", "undecided"]
    assert reports._tests(UNTESTED) == []


def section(page, id):
    """Visible text from an element's start to that of the next with an id."""
    text = page.source.split(f'id="{id}"', 1)[1].split('id="', 1)[0]
    return "".join(Page("<p " + text).text)


def test_errata_tell_both_forms_with_their_errors(page):
    told = section(page, f"{STUDY}-errata")
    for words in (
        "Theorem 1",
        "A statement.",
        "measured: 3",
        "Another.",
        "measured: 2.5",
        "in the text at hand",
        "a=12",
    ):
        assert words in told
    assert "x-exists" not in told


def test_published_numbers_stand_beside_ours(page):
    told = section(page, f"{STUDY}-published")
    for words in ("x-number", "A statement.", "value: 2", "3", "24", "not reproducible as stated"):
        assert words in told


def test_settings_found_and_what_was_not_reproducible(page):
    told = section(page, f"{STUDY}-settings")
    assert "Width 7." in told
    assert "No width is stated." in told


def test_the_scale_is_told_with_the_settings_that_differ(page):
    text = "".join(page.text)
    assert "3 settings differ from the papers' own" in text
    assert "Scale: 2 settings of this run are not the papers' own" in text  # the study's own and the shared data
    assert "x_study.width71000" in text


def test_at_the_papers_own_scale_there_is_no_warning(tmp_path):
    files = make_run(tmp_path / "paper", [CLAIM], run="paper")
    build(tmp_path / "paper", files, tmp_path / "paper/report/index.html", Source())
    told = (tmp_path / "paper/report/index.html").read_text(encoding="utf-8")
    assert 'class="warning"' not in told
    assert 'class="remark"' not in told


def test_captions_for_snakemakes_own_report_are_plain_text(report):
    from docutils.core import publish_parts
    from jinja2 import Template

    found = sorted(path.relative_to(report.parent).as_posix() for path in report.parent.rglob("*.rst"))
    stems = ("figures/fig1", "figures/fig2", "tables/t1")
    assert found == [f"captions/{STUDY}/{stem}.rst" for stem in stems]
    shown = publish_parts(Template((report.parent / found[0]).read_text()).render(), writer="html")["body"]
    words = " ".join("".join(Page(shown).text).split())
    assert words == " ".join(f"{EVIL} {EVIL}".split())
    assert "<script" not in shown


def test_a_file_that_is_no_dataset_is_an_error_of_one_line(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    (tmp_path / "mine" / STUDY / "data/loss.nc").write_bytes(b"data")
    with pytest.raises(DataError, match=r"loss\.nc: not a dataset of this pipeline"):
        build(tmp_path / "mine", files, tmp_path / "mine/report/index.html", Source())


def test_a_verdict_that_changed_is_told_at_the_top(page):
    assert "1 verdict differs from" in "".join(page.text)
    assert "x-evil (new claim)" in "".join(page.text)


def test_no_change_is_no_warning(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    build(tmp_path / "mine", files, tmp_path / "mine/report/index.html", Source())
    assert "differ from the accepted" not in (tmp_path / "mine/report/index.html").read_text()


def test_smoke_scale_is_told(tmp_path):
    files = make_run(tmp_path / "smoke", [CLAIM], run="smoke")
    build(tmp_path / "smoke", files, tmp_path / "smoke/report/index.html", Source())
    assert "Smoke scale." in (tmp_path / "smoke/report/index.html").read_text()


def test_cells_of_tables_have_their_digits_and_text_its_spelling(report):
    text = report.read_text(encoding="utf-8")
    cells = re.findall(r'<td class="number">([^<]*)</td>', text)
    for cell in ("none", "NA", "0.123", "2e-09", "300", "True"):
        assert cell in cells
    assert "nan" not in cells


def test_costs_are_summed(page):
    assert "1 recorded jobs took 1.5 core-minutes" in "".join(page.text)


def test_a_run_without_figures_has_a_report(tmp_path):
    make_run(tmp_path / "mine", [UNTESTED])
    build(tmp_path / "mine", [], tmp_path / "mine/report/index.html", Source())
    assert "not testable" in (tmp_path / "mine/report/index.html").read_text()


def test_equal_runs_give_equal_reports(report, tmp_path):
    root = report.parents[1]
    files = [path for path in sorted(root.rglob("*.*")) if path.parent.name in ("figures", "tables")]
    build(root, files, tmp_path / "again.html", Source(root / "checkout", MAKERS, SCALE))
    assert (tmp_path / "again.html").read_bytes() == Path(report).read_bytes()
