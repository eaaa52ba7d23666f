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

from repdyn.base import figures, tables
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline.manifest import build as build_manifest
from repdyn.pipeline.report import build

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
    "text_at_hand": "True",
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
    "note": "",
    "expected_verdict": "holds as corrected",
    "change": "",
}
TEXTS = ("where", "kind", "statement", "correction", "printed_measured", "printed_expected", "measured", "expected")
TEXTS += ("tolerance_reason", "control", "control_measured", "code", "note")
HOSTILE = CLAIM | dict.fromkeys(TEXTS, EVIL) | {"id": "x-evil", "change": "new claim", "datasets": "loss"}
UNTESTED = CLAIM | dict.fromkeys([*TEXTS[4:], "margin", "datasets"], "") | {"id": "x-exists", "verdict": "not testable"}


class Page(HTMLParser):
    """Elements of a page with their attributes, and its visible text."""

    def __init__(self, text):
        super().__init__()
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
    figures.save(figures.describe(figure, title=title, caption=EVIL, alt=EVIL, claims=claims), stem)


def make_run(root, claims, *, run="mine"):
    """A results folder as the pipeline leaves it before the report; its files of figures and tables."""
    for name in (
        f"{STUDY}/data/loss.nc",
        f"{STUDY}/data/training/bn.nc",
        f"{STUDY}/data/training/he.nc",
        "data/images.nc",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"data")
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
    tables.save(tables.Table(frame, title=EVIL, caption=EVIL, digits=3), root / STUDY / "tables" / "t1")
    with (root / "claims.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, CLAIM)
        writer.writeheader()
        writer.writerows(claims)
    cost = {"job": EVIL, "study": STUDY, "cpu_seconds": 90.0, "wall_seconds": 1.5, "peak_memory_mb": 80.0, "threads": 1}
    (root / "logs").mkdir()
    (root / "logs" / "a.cost.json").write_text(json.dumps(cost))
    files = sorted(path for path in root.rglob("*.*") if path.parent != root and path.parent.name != "logs")
    config = json.dumps({"run": {"name": run, "seed": 1}, "data": {"mnist_folder": EVIL}})
    build_manifest(files, root, root / "logs", root, config, root / "manifest.json")
    return [path for path in files if path.parent.name in ("figures", "tables")]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    files = make_run(root, [CLAIM, HOSTILE, UNTESTED])
    build(root, files, root / "report" / "index.html")
    return root / "report" / "index.html"


@pytest.fixture(scope="module")
def page(report):
    return Page(report.read_text(encoding="utf-8"))


# Hostile words


def test_words_stay_words(page):
    """One script element, the page's own; what was written in a claim or caption is read as it was written."""
    assert len(page.of("script")) == 1
    text = "".join(page.text)
    claim, kinds, shown, table, job = len(TEXTS) - 2, 1, 5, 4, 1  # what was measured as printed is told once
    assert text.count(EVIL) == claim + kinds + shown + table + job
    assert text.count("alert") == text.count(EVIL) + 1  # once more in the configuration, as JSON


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
    known |= {"value", "placeholder", "aria-label", "aria-pressed"}
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
    links = [link for link in page.values("href") if not link.startswith("#")]
    assert len(links) > 10
    lost = [link for link in links if not (report.parent / unquote(link)).is_file()]
    assert lost == []


def test_every_link_in_the_page_leads_to_an_anchor(page):
    anchors = page.values("id")
    assert len(anchors) == len(set(anchors))
    targets = {link[1:] for link in page.values("href") if link.startswith("#")}
    assert {"ledger", "provenance", STUDY, "x-thm1", "x-evil", "x-exists"} <= targets
    assert targets <= set(anchors)


def test_claims_and_figures_know_each_other(page):
    links = page.values("href")
    assert links.count("#x_study-figures-fig1") == 2
    assert links.count("#x-thm1") == 2  # its own row, and the figure that shows it


def test_data_of_a_claim_is_linked_be_it_one_file_variants_or_shared(page):
    data = {link for link in page.values("href") if link.endswith(".nc")}
    names = ("x_study/data/loss.nc", "x_study/data/training/bn.nc", "x_study/data/training/he.nc", "data/images.nc")
    assert data == {f"../{name}" for name in names}


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
        assert not [link for link in page.of("link") if "href" in link]


def test_it_is_small(report):
    assert report.stat().st_size < 20e6


# What is told


def test_every_verdict_is_counted(page):
    text = " ".join("".join(page.text).split())
    assert "2holds as corrected" in text
    assert "1not testable" in text
    assert [button["data-verdict"] for button in page.of("button")] == [
        status for status in STATUSES if status in ("holds as corrected", "not testable")
    ]


def test_a_verdict_that_changed_is_told_at_the_top(page):
    assert "1 verdict differs from" in "".join(page.text)
    assert "x-evil (new claim)" in "".join(page.text)


def test_no_change_is_no_warning(tmp_path):
    files = make_run(tmp_path / "mine", [CLAIM])
    build(tmp_path / "mine", files, tmp_path / "mine/report/index.html")
    assert "differ from the accepted" not in (tmp_path / "mine/report/index.html").read_text()


def test_smoke_scale_is_told(tmp_path):
    files = make_run(tmp_path / "smoke", [CLAIM], run="smoke")
    build(tmp_path / "smoke", files, tmp_path / "smoke/report/index.html")
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
    build(tmp_path / "mine", [], tmp_path / "mine/report/index.html")
    assert "not testable" in (tmp_path / "mine/report/index.html").read_text()


def test_equal_runs_give_equal_reports(report, tmp_path):
    root = report.parents[1]
    files = [path for path in sorted(root.rglob("*.*")) if path.parent.name in ("figures", "tables")]
    build(root, files, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == Path(report).read_bytes()
