"""Colors in the words of pages are drawn: in a picture of docs/index.md above them, in a figure that moves."""

import re

import numpy as np
import pytest
from PIL import Image
from tests.conftest import ROOT
from tests.pictured import PALETTE, color_words, names_of

from repdyn.base.figures import RED

PAGE = ROOT / "docs/index.md"
SHOWN = re.findall(r"!\[([^\]]*)\]\(images/(\w+)\.png\)\n\n(.*?)\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
FEWEST, NEAR = 100, 24  # pixels of a line or a mark, and how far a shade of thin lines is from its color
EXPLORERS = sorted(path.parent.name for path in ROOT.glob("src/repdyn/*/explorer.js"))
THEIRS = {"#9a4f96": "purple", "#7f868d": "gray", "#565f6b": "gray", "#1a1e24": "black"}  # beside those of the palette
HEX = re.compile(r"#[0-9a-f]{6}\b")


def colors_of(picture):
    """Names of the colors of the palette that a picture has."""
    pixels = np.asarray(picture.convert("RGB"), int).reshape(-1, 3)
    shades = {color: np.array(bytearray.fromhex(color[1:]), int) for color in PALETTE}
    areas = {color: (abs(pixels - shade) <= NEAR).all(axis=1).sum() for color, shade in shades.items()}
    return {name for color, area in areas.items() if area >= FEWEST for name in PALETTE[color]}


def text(*names):
    return "\n".join((ROOT / "src/repdyn" / name).read_text(encoding="utf-8") for name in names)


def test_every_picture_of_a_study_has_its_words():
    names = ["truncation_flow", "bn_decomposed", "bn_mean_field", "leaky_resnets", "universality", "diagnostics"]
    assert [name for _, name, _ in SHOWN] == names
    assert sum(bool(color_words(caption)) for *_, caption in SHOWN) >= 3


@pytest.mark.parametrize(("alt", "name", "caption"), SHOWN, ids=[name for _, name, _ in SHOWN])
def test_a_color_in_words_is_one_of_the_picture(alt, name, caption):
    with Image.open(ROOT / f"docs/images/{name}.png") as picture:
        assert color_words(f"{alt} {caption}") - colors_of(picture) == set()


def test_a_color_that_a_picture_lacks_is_noticed():
    with Image.open(ROOT / "docs/images/truncation_flow.png") as picture:
        assert {"orange-red", "blue"} <= colors_of(picture)
        assert "orange" not in colors_of(picture)


@pytest.mark.parametrize("study", EXPLORERS)
def test_a_color_in_words_is_one_of_the_figure_that_moves(study):
    """In its panels' titles, in what it says, above it and in the story; one color has one name everywhere."""
    drawn = set(HEX.findall(text("pipeline/report/page/assets/theory.js", f"{study}/explorer.js")))
    said = color_words(text(f"{study}/explorer.js", f"{study}/study.py", f"{study}/story.md"))
    assert RED.lower() in drawn
    assert said - names_of(drawn) - {THEIRS.get(color) for color in drawn} == set()


def test_the_printed_flow_has_the_color_of_printed_forms():
    """As in the figures: the printed form orange-red, the corrected one blue."""
    colors = dict(re.findall(r"(printed|corrected): \"(#[0-9a-f]{6})\"", text("pipeline/report/page/assets/theory.js")))
    assert [names_of([colors[form]]) for form in ("printed", "corrected")] == [{"orange-red"}, {"blue"}]
    for name in ("explorer.js", "study.py", "story.md"):
        words = " ".join(re.sub(r'"\s+"', "", text(f"truncation_flow/{name}")).split())
        assert re.search(r"printed(?: one)? \(?orange-red", words), name
        assert re.search(r"corrected(?: one)? \(?blue", words), name
