"""Pictures of the report keep their place before they are loaded: width and height in the ratio of their file."""

import re

import pytest
from PIL import Image
from tests.pipeline.test_report import CLAIMS, Page, make_run, make_source

from repdyn.pipeline import studies
from repdyn.pipeline.report import contents
from repdyn.pipeline.report.build import build

STORY = "In short.\n\n![](fig1)\n\n## The question\n\nWhy?\n\n![](fig2)\n"
CONCEPT = "question: Why?\nformula: a\nsays: It is so.\nfigure: fig2\n"


def ratio(file):
    """Width over height of a picture's file, as the file itself says."""
    if file.suffix == ".png":
        with Image.open(file) as picture:
            return picture.width / picture.height
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', file.read_text(encoding="utf-8"))
    return float(box[1]) / float(box[2])


@pytest.mark.parametrize("largest", [contents.LARGEST_PICTURE, 0], ids=["vectors", "bitmaps"])
def test_every_picture_of_every_page_has_its_size(tmp_path, monkeypatch, largest):
    monkeypatch.setattr(contents, "LARGEST_PICTURE", largest)
    root, source = tmp_path / "mine", make_source(tmp_path / "checkout")
    for name, text in ((studies.STORY, STORY), (studies.CONCEPT, CONCEPT)):
        (tmp_path / "checkout/x" / name).write_text(text, encoding="utf-8")
    page = tmp_path / "checkout/docs/x_study.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n![In words.](fig1.png)\n", encoding="utf-8")
    build(root, make_run(root, CLAIMS), root / "report", source)
    kinds = set()
    for path in (root / "report").rglob("*.html"):
        if path.name == "single.html":
            continue
        for image in Page(path.read_text(encoding="utf-8")).of("img"):
            width, height = int(image["width"]), int(image["height"])
            assert width / height == pytest.approx(ratio((path.parent / image["src"]).resolve()), abs=0.01), path.name
            kinds.add(f"{path.parent.name}/{path.name}")
    studied = {"studies/x_study.html", "studies/x_study-notes.html", "claims/x-thm1.html"}
    assert kinds >= {"report/index.html", "report/concepts.html"} | studied
