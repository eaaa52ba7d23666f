"""The page of a study's explorer, in a headless Chromium from file://; a module names the study as STUDY."""

import shutil

import pytest
from tests.browser import Browser

from repdyn.base.web import STYLE
from repdyn.pipeline import studies
from repdyn.pipeline.report.build import ASSETS

SCRIPTS = ("site.js", "theory.js", "training.js", "stage.js")
EXPLORERS = sorted(studies.files(studies.EXPLORER))


def page_of_scripts(folder):
    """A page that holds no explorer yet and all their scripts."""
    for path in (*ASSETS.iterdir(), STYLE, *studies.files(studies.EXPLORER).values()):
        shutil.copy(path, folder / (path.name if path.parent in (ASSETS, STYLE.parent) else f"{path.parent.name}.js"))
    scripts = (*SCRIPTS, *(f"{study}.js" for study in EXPLORERS))
    head = "".join(f'<script src="{name}" defer></script>' for name in scripts)
    text = f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{head}<main></main>'
    (folder / "page.html").write_text(text, encoding="utf-8")
    return folder / "page.html"


@pytest.fixture(scope="module")
def page_file(request, tmp_path_factory):
    study = request.module.STUDY
    folder = tmp_path_factory.mktemp("training")
    for path in (*ASSETS.iterdir(), STYLE):
        shutil.copy(path, folder)
    shutil.copy(studies.files(studies.EXPLORER)[study], folder / f"{study}.js")
    scripts = "".join(f'<script src="{name}" defer></script>' for name in (*SCRIPTS, f"{study}.js"))
    head = '<meta charset="utf-8"><link rel="icon" href="data:,"><link rel="stylesheet" href="site.css">'
    body = f'<main><h1>A network beside its theory</h1><div class="theory" data-theory="{study}"></div></main>'
    file = folder / "page.html"
    file.write_text(f"<!doctype html><html lang=en><head>{head}{scripts}</head><body>{body}</body></html>")
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


@pytest.fixture
def page(browser, page_file):
    browser.open("about:blank")
    browser.open(page_file.as_uri())
    return browser
