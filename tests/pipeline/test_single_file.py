"""The report as one file in a headless Chromium: pages and pictures are unpacked."""

import pytest
from tests.browser import Browser
from tests.pipeline.made_up_run import CLAIMS, STUDY, make_checkout, make_run

from repdyn.pipeline.report.build import build

pytestmark = pytest.mark.slow
FOLLOWED = "new Promise(done => addEventListener('hashchange', done, { once: true })).then(() => repdyn.shown)"
SHOWN = "document.getElementById('single').dataset.page"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "mine"
    build(root, make_run(root, CLAIMS), root / "report", make_checkout(root / "checkout"))
    return root / "report/single.html"


@pytest.fixture
def page(file, tmp_path):
    browser = Browser(tmp_path / "browser")
    browser.open(f"{file.as_uri()}#/studies/{STUDY}.html")
    browser.ask("repdyn.shown")
    yield browser
    browser.close()


def test_page_that_was_opened_last_is_shown(page):
    """A second link while the first one's page is still being unpacked, which ends later."""
    page.ask(
        "{ const read = Response.prototype.text; Response.prototype.text = async function () {"
        " Response.prototype.text = read; await new Promise(on => { window.goOn = on; }); return read.call(this); };"
        " location.hash = '/ledger.html'; new Promise(done => addEventListener('hashchange', done, { once: true })); }"
    )
    page.ask(f"{{ window.first = repdyn.shown; location.hash = '/index.html'; {FOLLOWED}; }}")
    page.ask("goOn(); first")
    assert page.ask(SHOWN) == "index.html"
