"""Figures of the smoke run: nothing covered, cut, small or without a shape, and captions that fit what is drawn."""

import json
import re

import pytest
from tests.pictured import color_words, names_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def records(smoke_run):
    """What is recorded of each figure, by study and name."""
    paths = sorted((smoke_run / "results/smoke").glob("*/figures/*.json"))
    assert len(paths) > 70
    return {
        f"{path.parts[-3]}/{path.stem}": json.loads(path.read_text()) | {"drawn": _colors(path.with_suffix(".svg"))}
        for path in paths
    }


def _colors(picture):
    """Colors of fills and strokes; black of some opacity is gray."""
    text = picture.read_text(encoding="utf-8")
    clear = ["#808080"] if re.search(r"opacity: 0?\.\d", text) else []
    return [*re.findall(r"(?:fill|stroke): (#[0-9a-fA-F]{6})", text), *clear]


def test_nothing_is_covered_cut_or_small(records):
    assert {name: record["problems"] for name, record in records.items() if record["problems"]} == {}


def test_captions_name_colors_that_are_drawn(records):
    """By the palette: what it calls RED is vermilion, which a reader sees as orange-red."""
    unseen = {
        name: color_words(f"{record['title']} {record['caption']} {record['alt']}") - names_of(record["drawn"])
        for name, record in records.items()
    }
    assert {name: words for name, words in unseen.items() if words} == {}


def test_captions_count_in_the_singular(records):
    problems = {
        name: match[0]
        for name, record in records.items()
        if (match := re.search(r"\b1 (?:teachers|rates|seeds|trials|networks|units|draws|points)\b", record["caption"]))
    }
    assert problems == {}


def test_formulas_in_captions_are_latex(records):
    """Outside of dollars no typed powers, indices or Greek letters."""
    typed = r"\w\^|R2\b|\b(?:gamma|sigma|lam|Lt|Omega|Sigma|eta_\w)\b"
    outside = {name: re.sub(r"\$[^$]+\$", "", record["caption"]) for name, record in records.items()}
    assert {name: match[0] for name, text in outside.items() if (match := re.search(typed, text))} == {}
