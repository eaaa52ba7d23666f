"""Stories of the studies: what their Markdown becomes, and that every one names what is there."""

import csv
import re
from types import SimpleNamespace

import pytest
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.report import stories
from repdyn.pipeline.run.declare.graph import read_study

TEXT = """All in a minute, where the cost [rises](claim:x-thm1).

![](loss)

## The question

Why does a class [collapse](term:collapse), and $a < b$?

## Try it

Move it.

![](explorer)

## What survives

The rest, as [others say](https://example.org) and [a page](other.md) says <b>too</b>.
"""
FIGURE = SimpleNamespace(
    name="loss", picture="figures/x/loss.svg", alt='falls "fast"', title="Loss $L$ falls.", size=(400, 300)
)
CLAIMS = {"x-thm1": {"verdict": "holds as corrected", "statement": "The cost $C$ falls & stays."}}
TERMS = {"collapse": ("collapse", "All points < one place.")}
PATHS = studies.files(studies.STORY)
TARGET = re.compile(r"\]\((claim|term):([^)]+)\)")


def told(folder, text):
    path = folder / "story.md"
    path.write_text(text, encoding="utf-8")
    return stories.story(path, CLAIMS, {"loss": FIGURE}, TERMS)


def test_a_story_is_cut_at_its_first_section_and_at_the_explorer(tmp_path):
    story = told(tmp_path, TEXT)
    assert story.headings == [
        ("story-the-question", "The question"),
        ("story-try-it", "Try it"),
        ("story-what-survives", "What survives"),
    ]
    assert "All in a minute" in story.lead
    assert "The question" not in story.lead
    assert "Move it." in story.before
    assert "The rest" not in story.before
    assert "The rest" in story.after
    assert "explorer" not in story.lead + story.before + story.after
    whole = told(tmp_path, TEXT.replace("![](explorer)\n", ""))
    assert "The rest" in whole.before
    assert whole.after == ""


def test_a_claim_carries_its_verdict_a_term_its_meaning_a_figure_its_place(tmp_path):
    story = told(tmp_path, TEXT)
    assert (
        '<a class="claim holds-as-corrected" href="../claims/x-thm1.html" '
        'title="holds as corrected: The cost C falls &amp; stays.">rises</a>'
    ) in story.lead
    assert 'href="../glossary.html#collapse" title="collapse: All points &lt; one place."' in story.before
    picture = "../figures/x/loss.svg"
    enlarged = f'<a href="{picture}"><img src="{picture}" alt="falls &#34;fast&#34;" width="400" height="300"'
    assert enlarged in story.lead
    assert '<a href="#loss">Caption, data and code</a>' in story.lead
    assert "<p><figure" not in story.lead
    assert "<math" in story.before
    assert '<a href="https://example.org">' in story.after
    assert "other.md" not in story.after
    assert "<b>too" not in story.after


@pytest.mark.parametrize(
    ("text", "named"),
    [("[a](claim:x-thm2)", "claim 'x-thm2'"), ("[a](term:joy)", "term 'joy'"), ("![](gain)", "figure 'gain'")],
)
def test_what_is_not_there_is_named_with_the_file(tmp_path, text, named):
    with pytest.raises(ConfigError, match=f"story.md: {named} is not there"):
        told(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("a: {term: a}", "wants the keys term, says"),
        ("A b: {term: a, says: b}", "small letters, digits and single hyphens"),
    ],
)
def test_a_wrong_glossary_says_what_is_wrong(tmp_path, text, wants):
    (tmp_path / "glossary.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=wants):
        stories.glossary({"x": tmp_path / "glossary.yaml"})


def test_a_term_is_explained_once(tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("gain: {term: Gain, says: Scale of weights.}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"b\.yaml: gain: explained by another study"):
        stories.glossary({"a": tmp_path / "a.yaml", "b": tmp_path / "b.yaml"})


def test_every_paper_has_a_story_and_so_has_their_comparison():
    papers = {"bn_decomposed", "truncation_flow", "bn_mean_field", "leaky_resnets", "universality"}
    assert set(PATHS) >= papers | {"across_papers"}


@pytest.mark.parametrize("study", PATHS)
def test_a_story_names_what_is_there_and_opens_with_a_figure(study):
    """Figures of its own study, claims of any, terms of any; a picture before the first section."""
    text = PATHS[study].read_text(encoding="utf-8")
    with (ROOT / "reference/default/claims.csv").open(encoding="utf-8") as file:
        known = {"claim": {row["id"] for row in csv.DictReader(file)}}
    known["term"] = set(stories.glossary(studies.files(studies.GLOSSARY)))
    assert [found for found in TARGET.findall(text) if found[1] not in known[found[0]]] == []
    pictures = re.findall(r"!\[\]\((\w+)\)", text)
    assert set(pictures) - {stories.EXPLORER} <= set(read_study(study).figures)
    assert text.index("![](") < text.index("\n## ")
    assert pictures.count(stories.EXPLORER) == (studies.declared()[study].explorer is not None)


@pytest.mark.parametrize("study", PATHS)
def test_a_story_follows_the_plan(study):
    text = PATHS[study].read_text(encoding="utf-8")
    plan = ["The question", "What the theory predicts", "What breaks", "Try it", "What is right", "What survives"]
    if studies.declared()[study].explorer is None:
        plan.remove("Try it")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == plan


def test_every_term_is_used():
    used = {name for path in PATHS.values() for kind, name in TARGET.findall(path.read_text(encoding="utf-8"))}
    assert set(stories.glossary(studies.files(studies.GLOSSARY))) - used == set()


def test_terms_of_all_studies_come_in_the_order_of_their_words(tmp_path):
    (tmp_path / "a.yaml").write_text("zz: {term: angle, says: Zero degrees.}\naa: {term: Rank, says: All.}\n")
    (tmp_path / "b.yaml").write_text("mm: {term: Margin, says: Beyond.}\n")
    terms = stories.glossary({"a": tmp_path / "a.yaml", "b": tmp_path / "b.yaml"})
    assert list(terms.items()) == [
        ("zz", ("angle", "Zero degrees.")),
        ("mm", ("Margin", "Beyond.")),
        ("aa", ("Rank", "All.")),
    ]


def test_a_story_without_an_explorer_is_all_before_it_and_one_without_sections_is_its_lead(tmp_path):
    story = told(tmp_path, "First.\n\n## One\n\nMiddle.\n\n## Two\n\nLast.\n")
    assert [words in story.before for words in ("First.", "Middle.", "Last.")] == [False, True, True]
    assert (story.after, [words for _, words in story.headings]) == ("", ["One", "Two"])
    story = told(tmp_path, "First.\n\nSecond.\n")
    assert ("Second." in story.lead, story.before, story.after) == (True, "", "")


def test_each_claim_term_and_figure_of_a_story_is_its_own(tmp_path):
    """In a list without paragraphs, too; a figure amid words is no paragraph of its own."""
    verdicts = {"x-3": "does not hold", "x-1": "holds", "y-2": "not testable"}
    claims = {id: {"verdict": verdict, "statement": f"Of {id}."} for id, verdict in verdicts.items()}
    terms = {slug: (f"word {slug}", f"Means {slug}.") for slug in ("rank", "gain", "loss")}
    figures = {
        name: SimpleNamespace(name=name, picture=f"p/{name}.svg", alt=f"alt {name}", title=f"Title {name}.", size=size)
        for name, size in (("one", (10, 20)), ("two", (30, 40)), ("three", (50, 60)))
    }
    items = [
        f"- [{id}](claim:{id}) and [{slug}](term:{slug})" for id, slug in zip(("x-1", "y-2", "x-3"), terms, strict=True)
    ]
    path = tmp_path / "story.md"
    path.write_text("\n".join([*items, "", "![](two)", "", "Words ![](three) and ![](one)."]))
    lead = stories.story(path, claims, figures, terms).lead
    links = []
    for id, slug in (("x-1", "rank"), ("y-2", "gain"), ("x-3", "loss")):
        css, told = verdicts[id].replace(" ", "-"), f"{verdicts[id]}: Of {id}."
        claim = f'<a class="claim {css}" href="../claims/{id}.html" title="{told}">{id}</a>'
        meaning = f"word {slug}: Means {slug}."
        links.append(f'{claim} and <a class="term" href="../glossary.html#{slug}" title="{meaning}">{slug}</a>')
    assert re.findall(r"<li>(.*?)</li>", lead) == links
    shown = re.findall(r'<img src="../p/(\w+).svg" alt="([^"]*)" width="(\d+)" height="(\d+)"', lead)
    assert shown == [(name, f"alt {name}", *map(str, figures[name].size)) for name in ("two", "three", "one")]
    captions = re.findall(r'<figcaption><b>([^<]*)</b> <a href="#(\w+)">', lead)
    assert captions == [(f"Title {name}.", name) for name in ("two", "three", "one")]
    assert lead.count("<p>") == 1


def test_of_three_glossaries_the_entry_that_is_wrong_is_named_with_its_file(tmp_path):
    files = {name: tmp_path / f"{name}.yaml" for name in ("z", "a", "m")}
    good = {name: f"{name}1: {{term: T{name}, says: s}}\n{name}2: {{term: U{name}, says: s}}\n" for name in files}
    for name, wrong, told in (
        (
            "a",
            "a3: {term: T, says: s, more: m}",
            "a3: wants the keys term, says; has {'term': 'T', 'says': 's', 'more': 'm'}",
        ),
        ("m", "a-: {term: T, says: s}", "a-: a term is named by small letters, digits and single hyphens"),
        ("m", "z2: {term: T, says: s}", "z2: explained by another study or the report, too; once is enough"),
        ("z", "margin: {term: T, says: s}", "margin: explained by another study or the report, too; once is enough"),
    ):
        for each, file in files.items():
            file.write_text(f"{wrong}\n{good[each]}" if each == name else good[each])
        with pytest.raises(ConfigError) as caught:
            stories.glossary(files, {"margin": ("margin", "How clearly."), "reading": ("reading", "One way.")})
        assert str(caught.value) == f"{files[name]}: {told}"
