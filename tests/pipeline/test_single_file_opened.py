"""The report as one file in a headless Chromium: pages and pictures are unpacked, and what cannot be is said."""

import pytest
from tests.pipeline.test_report import CLAIMS, make_run, make_source

from repdyn.pipeline.report.build import build

pytestmark = pytest.mark.slow
FOLLOWED = "new Promise(done => addEventListener('hashchange', done, { once: true })).then(() => repdyn.shown)"
PICTURES = "[...document.querySelectorAll('#single img[data-picture]')]"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    build(root, make_run(root, CLAIMS), root / "report", make_source(root / "checkout"))
    return root / "report/single.html"


@pytest.fixture
def page(browser, file):
    browser.open("about:blank")
    browser.open(file.as_uri() + "#/studies/x_study.html")
    browser.ask("repdyn.shown")
    return browser


def test_pictures_are_those_of_the_report(page, file):
    """Each shown picture has the bytes of its file, and a tap on it leads to it."""
    names = page.ask(f"{PICTURES}.map(image => image.dataset.picture)")
    assert set(names) == {"figures/x_study/fig1.svg", "figures/x_study/fig2.svg"}
    held = page.ask(f"Promise.all({PICTURES}.map(async image => (await fetch(image.src)).text()))")
    assert held == [(file.parent / name).read_text(encoding="utf-8") for name in names]
    page.ask(f"Promise.all({PICTURES}.map(image => {{ image.loading = 'eager'; return image.decode(); }}))")
    linked = page.ask(f"{PICTURES}.filter(image => image.parentElement.href === image.src).length")
    assert linked == page.ask("document.querySelectorAll('#single figure > a > img').length") > 0
    assert page.complaints == []


def test_the_page_asked_for_last_is_shown(page):
    """A second link while the first one's page is still being unpacked, which ends later; and the way back works."""
    page.ask(
        "{ const read = Response.prototype.text; Response.prototype.text = async function () {"
        " Response.prototype.text = read; await new Promise(on => { window.goOn = on; }); return read.call(this); };"
        " location.hash = '/ledger.html'; new Promise(done => addEventListener('hashchange', done, { once: true })); }"
    )
    page.ask(f"{{ window.first = repdyn.shown; location.hash = '/glossary.html'; {FOLLOWED}; }}")
    page.ask("goOn(); first")
    assert page.ask("[...document.querySelectorAll('h1')].map(head => head.textContent)") == ["Glossary"]
    page.ask(f"history.go(-2); {FOLLOWED}")
    assert page.ask("document.getElementById('single').dataset.page") == "studies/x_study.html"
    assert page.ask(f"{PICTURES}.every(image => image.src.startsWith('blob:'))")
    assert page.complaints == []


def test_a_browser_that_unpacks_nothing_says_so(browser, file):
    browser.open("about:blank")
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream;")
    browser.open(file.as_uri())
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert "a browser of 2023 or later" in browser.ask("document.getElementById('single').textContent")
    assert browser.complaints == []
