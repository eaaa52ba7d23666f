"""The report of the smoke run in a headless Chromium: opened, filtered, every link followed, looked at."""

import csv
import io
import json
from collections import Counter
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image
from tests.browser import NAMES, Browser, program

pytestmark = pytest.mark.pipeline
SHOWN = "[...document.querySelectorAll('#claims > tbody > tr')].filter(row => row.checkVisibility()).map(row => row.id)"
WIDTH, HEIGHT = 1280, 900


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser of its own; skips only where no Chromium is installed."""
    if program() is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH; Debian's package is chromium")
    made = Browser(tmp_path_factory.mktemp("browser"), width=WIDTH, height=HEIGHT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def report(smoke_run):
    return smoke_run / "results/smoke/report/index.html"


@pytest.fixture(scope="module")
def claims(report):
    with (report.parents[1] / "claims.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def page(browser, report):
    """The report, freshly opened in a wide window."""
    browser.scripts(True)
    browser.medium("screen")
    browser.resize(WIDTH, HEIGHT)
    browser.open("about:blank")
    browser.open(report.as_uri())
    return browser


def chosen(claims, **wanted):
    return [row["id"] for row in claims if all(row[key] == value for key, value in wanted.items())]


def picture(page) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.photograph())).convert("RGB"))


def test_it_opens_in_silence_and_asks_nothing_of_the_net(page, report):
    """No error, no warning, and the only file read is the report's."""
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert page.complaints == []
    asked = {request.split("#")[0] for request in page.requests if not request.startswith(("data:", "about:"))}
    assert asked == {report.as_uri()}
    assert report.stat().st_size < 20e6


def test_something_is_seen(page):
    """Words and colours, at the top and in the middle: a blank or broken page has few shades."""
    for place in ("0", "document.body.scrollHeight / 2"):
        page.ask(f"scrollTo(0, {place})")
        seen = picture(page)
        assert seen.shape == (HEIGHT, WIDTH, 3)
        assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 30
        assert 0.005 < np.mean(seen.mean(axis=2) < 128) < 0.5


def test_every_figure_is_drawn_and_has_words(page):
    undrawn = """Promise.all([...document.images].map(async image => {
        image.loading = 'eager'; await image.decode();
        return image.naturalWidth > 100 && image.alt.length > 20 ? '' : image.closest('figure').id;
    })).then(found => found.filter(Boolean))"""
    assert page.ask("document.images.length") > 30
    assert page.ask(undrawn) == []


def test_formulas_are_laid_out(page):
    """A fraction is taller than a letter, so the browser does not show its parts side by side."""
    height = "Math.max(...[...document.querySelectorAll('#claims {}')].map(one => one.getBoundingClientRect().height))"
    assert page.ask("document.querySelectorAll('math').length") > 100
    assert page.ask(height.format("mfrac")) > 1.5 * page.ask(height.format("mi"))


# Filters


def test_all_claims_are_shown_at_first(page, claims):
    assert page.ask(SHOWN) == [row["id"] for row in claims]


def test_verdicts_filter(page, claims):
    counts = Counter(row["verdict"] for row in claims)
    (one, _), (other, _) = counts.most_common(2)
    for verdict, wanted in ((one, {one}), (other, {one, other})):
        page.ask(f"document.querySelector('.toggles [data-verdict=\"{verdict}\"]').click()")
        assert page.ask(SHOWN) == [row["id"] for row in claims if row["verdict"] in wanted]
    assert page.ask("document.getElementById('shown').textContent").startswith(f"{counts[one] + counts[other]} of")
    page.ask("document.getElementById('clear').click()")
    assert len(page.ask(SHOWN)) == len(claims)


@pytest.mark.parametrize("control", ["study", "kind"])
def test_lists_filter(page, claims, control):
    for value in {row[control] for row in claims}:
        change = f"control.value = {json.dumps(value)}; control.dispatchEvent(new Event('input'))"
        page.ask(f"{{ const control = document.getElementById('{control}'); {change} }}")
        assert page.ask(SHOWN) == chosen(claims, **{control: value})


def test_numbers_of_the_overview_filter(page, claims):
    """The cell of a study and a verdict leads to exactly the claims it counts."""
    cells = page.ask(
        "[...document.querySelectorAll('header [data-verdict]')]"
        ".map(cell => [cell.dataset.study, cell.dataset.verdict, +cell.textContent])"
    )
    assert len(cells) > 8
    for study, verdict, count in cells:
        page.ask(f'document.querySelector(\'header [data-study="{study}"][data-verdict="{verdict}"]\').click()')
        wanted = {key: value for key, value in (("study", study), ("verdict", verdict)) if value}
        assert page.ask(SHOWN) == chosen(claims, **wanted)
        assert len(chosen(claims, **wanted)) == count


def test_search_by_keyboard(page, claims):
    """/ leads to the search, every word counts, Escape shows all again."""
    page.press("/")
    assert page.ask("document.activeElement.id") == "search"
    page.type("theorem 11 angle")
    found = page.ask(SHOWN)
    assert 0 < len(found) < 20
    assert "bnd-thm11-4" in found
    page.type(" nosuchword")
    assert page.ask(SHOWN) == []
    assert page.ask("document.getElementById('none').checkVisibility()")
    page.press("Escape")
    assert len(page.ask(SHOWN)) == len(claims)


# Links


def test_every_link_leads_somewhere(page, report):
    """Anchors are followed: their target is then seen, opened if it was folded. Files exist beside the report."""
    links = page.ask("[...new Set([...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href')))]")
    assert len(links) > 300
    files = [link for link in links if not link.startswith(("#", "https://"))]
    assert [link for link in files if not (report.parent / unquote(link)).is_file()] == []
    follow = """(async links => {
        const lost = [];
        for (const link of links) {
            location.hash = link;
            await new Promise(done => addEventListener('hashchange', () => setTimeout(done), { once: true }));
            const target = document.getElementById(decodeURIComponent(link.slice(1)));
            const place = target && target.getBoundingClientRect();
            if (!target || !target.checkVisibility() || place.bottom < 0 || place.top > innerHeight) lost.push(link);
        }
        return lost;
    })"""
    anchors = [link for link in links if link.startswith("#")]
    assert page.ask(f"{follow}({json.dumps(anchors)})") == []
    assert page.complaints == []


def test_a_link_to_a_claim_that_is_filtered_out_shows_it(page, claims):
    hidden = next(row["id"] for row in claims if row["verdict"] == "holds as corrected")
    page.ask("document.querySelector('.toggles [data-verdict=\"holds\"]').click()")
    assert hidden not in page.ask(SHOWN)
    page.ask(f"location.hash = '{hidden}'; new Promise(done => setTimeout(done, 100))")
    assert hidden in page.ask(SHOWN)
    assert page.ask(f"document.querySelector('#{hidden} details').open")


def test_every_correction_leads_to_its_derivation(page, claims):
    """The errata of all studies are the refuted claims, each with a link into the study's page."""
    refuted = {row["id"] for row in claims if row["verdict"] in ("holds as corrected", "does not hold")}
    linked = page.ask("[...document.querySelectorAll('.errata a[href^=\"#doc-\"]')].map(a => a.hash.slice(5))")
    assert sorted(linked) == sorted(refuted)


# Keyboard, narrow windows, print, no scripts


def test_the_first_key_leads_past_the_navigation_and_focus_is_seen(page):
    page.press("Tab")
    assert page.ask("document.activeElement.className") == "skip"
    assert page.ask("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
    assert page.ask("document.activeElement.getBoundingClientRect().left") >= 0
    page.press("Enter", "\r")
    page.ask("new Promise(done => setTimeout(done, 100))")
    assert page.ask("location.hash") == "#ledger"


def test_controls_have_names(page):
    nameless = """[...document.querySelectorAll('input, select, button, a[href], summary')]
        .filter(one => !(one.textContent.trim() || one.closest('label') || one.getAttribute('aria-label')))
        .map(one => one.outerHTML)"""
    assert page.ask(nameless) == []
    assert page.ask("document.documentElement.lang") == "en"


@pytest.mark.parametrize("width", [360, 760, 1000])
def test_a_narrow_window_needs_no_scrolling_sideways(page, width):
    page.resize(width, 800)
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask("document.querySelector('#claims tr td').getBoundingClientRect().width") > 100


def test_print_unfolds_the_evidence_and_leaves_out_the_controls(page):
    page.medium("print")
    assert page.ask("document.querySelector('#claims details dl').checkVisibility()")
    assert not page.ask("document.querySelector('.filters').checkVisibility()")
    assert page.ask("document.querySelector('#claims details.code summary').checkVisibility()")
    assert not page.ask("document.querySelector('#claims details.code pre').checkVisibility()")


def test_without_scripts_all_is_shown(page, report, claims):
    page.scripts(False)
    page.open("about:blank")
    page.open(report.as_uri())
    assert page.ask(SHOWN) == [row["id"] for row in claims]
    assert not page.ask("document.querySelector('.filters').checkVisibility()")
    assert not page.ask("document.querySelector('.toggles').checkVisibility()")
    assert page.ask("document.querySelectorAll('figure').length") > 30
