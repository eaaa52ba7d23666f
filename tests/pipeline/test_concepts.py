"""The report's page of concepts: a section for every paper, in order, that leads to its story and to its explorer."""

import re
from types import SimpleNamespace

import pytest
from tests.pipeline.test_report import CLAIM, STUDY, Page, make_run, make_source

from repdyn.base.errors import ConfigError
from repdyn.base.markup import mathml, words
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.report import concepts
from repdyn.pipeline.report.build import build
from repdyn.pipeline.run.declare.graph import read_study

PATHS = studies.files(studies.CONCEPT)
TEXT = "question: Why <b> $a$?\nformula: a < b\nsays: It is $b$ & more.\nfigure: fig2\n"
FIGURE = SimpleNamespace(name="fig2")


def built(tmp_path, text):
    """The first page, the page of concepts and the glossary of a run whose study has such a concept."""
    root, source = tmp_path / "mine", make_source(tmp_path / "checkout")
    files = make_run(root, [CLAIM])
    if text:
        (tmp_path / "checkout/x" / studies.CONCEPT).write_text(text, encoding="utf-8")
    build(root, files, root / "report", source)
    names = ("index.html", "concepts.html", "glossary.html")
    return [Page((root / "report" / name).read_text(encoding="utf-8")) for name in names]


def test_a_concept_is_shown_with_its_figure_and_leads_to_its_study(tmp_path):
    first, page, glossary = built(tmp_path, TEXT)
    for part in ("Why <b>", "& more.", "Figure 2"):
        assert part in page.words
    section = page.source.split('<section class="concept"')[1]
    assert f'id="{STUDY}"' in section
    assert section.count("<math") >= 3  # the formula, and two symbols
    assert re.findall(r'<img src="([^"]+)"', section) == [f"figures/{STUDY}/fig2.svg"]
    assert f'href="studies/{STUDY}.html"' in section
    assert f'href="studies/{STUDY}.html#fig2"' in section
    assert "#theory" not in section  # this study has no explorer
    for other in (first, glossary):
        assert "concepts.html" in other.values("href")


def test_without_concepts_the_page_says_so_and_the_first_page_leads_elsewhere(tmp_path):
    first, page, _ = built(tmp_path, "")
    assert "No study of this run explains its theory here." in page.words
    assert "concepts.html" not in first.values("href")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("question: a\n", "wants the keys question, formula, says, figure; has question"),
        (
            TEXT + "more: x\n",
            "wants the keys question, formula, says, figure; has question, formula, says, figure, more",
        ),
        (TEXT.replace("fig2", "fig9"), "figure: 'fig9' is not one of fig2"),
        (TEXT.replace("a < b", "3"), "formula: expected text, got 3"),
        (TEXT.replace("a < b", '" "'), "formula: expected text, got ' '"),
    ],
)
def test_a_wrong_concept_says_what_is_wrong(tmp_path, text, complaint):
    path = tmp_path / "concept.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {complaint}")):
        concepts.read(path, {"fig2": FIGURE})


def test_every_paper_has_a_concept():
    assert set(PATHS) == {"bn_decomposed", "truncation_flow", "bn_mean_field", "leaky_resnets", "universality"}


@pytest.mark.parametrize("study", PATHS)
def test_a_concept_is_short_and_typeset_and_names_a_figure_of_its_study(study):
    entry = yaml_positions.values(PATHS[study])
    assert entry["figure"] in read_study(study).figures
    assert entry["question"].endswith("?")
    assert 40 <= len(entry["says"].split()) <= 100
    for shown in (mathml(entry["formula"]), words(entry["says"]), words(entry["question"])):
        assert "<code>" not in shown
        assert "\\" not in shown.striptags()
