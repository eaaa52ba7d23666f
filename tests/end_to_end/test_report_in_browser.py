"""The report of the smoke run in a headless Chromium: pages open, the ledger filters, closed forms are Python's."""

import csv
import json
import re
from collections import Counter

import numpy as np
import pytest
from tests.browser import Browser

from repdyn.bn_decomposed.theory import kernel, odd_cluster
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_geodesic, scalar_path
from repdyn.universality.theory.effective import effective_loss, effective_solution
from repdyn.universality.theory.final import final_distance

pytestmark = pytest.mark.slow
SHOWN = "[...document.querySelectorAll('#ledger > tbody > tr')].filter(row => row.checkVisibility()).map(row => row.id)"
OPENED = "window.repdyn && repdyn.shown"  # promise of the single file: its page is loaded, with pictures
WIDTH, HEIGHT = 1280, 900


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A separate browser; skips only if Chromium or its driver is not installed."""
    opened = Browser(tmp_path_factory.mktemp("browser"), width=WIDTH, height=HEIGHT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def report(smoke_run):
    return smoke_run / "results/smoke/report"


@pytest.fixture(scope="module")
def claims(report):
    with (report.parent / "claims.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def show(browser, report):
    """Opens a page of the report in a fresh wide window; returns the browser."""

    def opened(page, *, width=WIDTH):
        browser.scripts(True)
        browser.medium("screen")
        browser.resize(width, HEIGHT)
        browser.open("about:blank")
        browser.open((report / page.partition("#")[0]).as_uri() + "".join(page.partition("#")[1:]))
        browser.ask(OPENED)
        return browser

    return opened


def a_page_of_each_kind(report):
    """The top-level pages, those of one study, and the claim with the most evidence."""
    top = [path.name for path in sorted(report.glob("*.html")) if path.name != "single.html"]
    study = ["studies/bn_decomposed.html", "studies/bn_decomposed-notes.html", "settings/universality.html"]
    claim = max((report / "claims").iterdir(), key=lambda path: path.stat().st_size).name
    return [*top, *study, "errata/truncation_flow.html", f"claims/{claim}"]


def chosen(claims, **wanted):
    return [row["id"] for row in claims if all(row[key] == value for key, value in wanted.items())]


# Every page


def test_pages_open_without_errors_or_requests_and_fit_a_phone(show, report):
    """A remote address would be an error; headings, language and names of controls are there."""
    nameless = """[...document.querySelectorAll('input, select, button, a[href], summary')]
        .filter(one => !one.matches('[tabindex="-1"]') && !(one.textContent.trim() || one.closest('label')
            || one.labels?.length || one.getAttribute('aria-label') || one.querySelector('img[alt]:not([alt=""])')))
        .map(one => one.outerHTML)"""
    faults = {}
    for name in a_page_of_each_kind(report):
        page = show(name, width=420)
        page.ask("Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode(); }))")
        found = [*page.complaints, *page.ask(nameless)]
        found += ["wide"] if page.ask("document.documentElement.scrollWidth") > 420 else []
        found += ["heavy"] if page.ask("document.querySelectorAll('*').length") > 12_000 else []
        found += ["headings"] if page.ask("document.querySelectorAll('h1').length") != 1 else []
        found += ["language"] if page.ask("document.documentElement.lang") != "en" else []
        faults |= {name: found} if found else {}
    assert faults == {}


@pytest.mark.parametrize("width", [1400, 420])
def test_first_screen_shows_the_strongest_finding(show, width):
    """Its picture, and the number in words, lie within 900 pixels; all papers are named with links."""
    page = show("index.html", width=width)
    bottom = "document.querySelector('.finding.first {}').getBoundingClientRect().bottom"
    assert 0 < page.ask(bottom.format(".figures")) < page.ask(bottom.format(".opening svg")) <= HEIGHT
    assert re.search(
        r"from 0\.\d+ to 0\.\d+", page.ask("document.querySelector('.finding.first .figures').textContent")
    )
    assert "deep learning theory" in page.ask("document.title")
    links = page.ask("[...document.querySelectorAll('.papers .soft a')].map(link => link.href)")
    assert len(links) == 5
    assert all(link.startswith("https://arxiv.org/abs/") for link in links)


def test_first_tab_stop_skips_the_navigation(show):
    page = show("index.html")
    page.press("tab")
    page.press("enter")
    assert page.ask("location.hash") == "#main"


def test_print_shows_the_evidence_and_leaves_out_the_controls(show, claims):
    id = chosen(claims, verdict="holds as corrected")[0]
    page = show(f"claims/{id}.html")
    page.medium("print")
    for hidden in (".bar", ".crumbs", "details.code"):
        assert not page.ask(f"document.querySelector('{hidden}').checkVisibility()"), hidden
    assert page.ask("document.querySelector('.evidence').checkVisibility()")
    assert page.ask("document.querySelector('.version.kept').checkVisibility()")


def test_all_claims_are_readable_without_scripts(show, report, claims, browser):
    browser.scripts(False)
    browser.open("about:blank")
    browser.open((report / "ledger.html").as_uri())
    assert browser.ask(SHOWN) == [row["id"] for row in claims]


# Ledger


def test_verdict_filter_is_stored_in_the_address(show, claims):
    page = show("ledger.html")
    assert page.ask(SHOWN) == [row["id"] for row in claims]
    counts = Counter(row["verdict"] for row in claims)
    (first, _), (other, _) = counts.most_common(2)
    for verdict, wanted in ((first, {first}), (other, {first, other})):
        page.ask(f"document.querySelector('.toggles [data-verdict=\"{verdict}\"]').click()")
        assert page.ask(SHOWN) == [row["id"] for row in claims if row["verdict"] in wanted]
    assert page.ask("document.getElementById('shown').textContent").startswith(f"{counts[first] + counts[other]} of")
    address = page.ask("location.href")
    page.open("about:blank")
    page.open(address)
    assert page.ask(SHOWN) == [row["id"] for row in claims if row["verdict"] in {first, other}]
    page.ask("document.getElementById('clear').click()")
    assert len(page.ask(SHOWN)) == len(claims)
    assert "verdict" not in page.ask("location.href")


def test_counts_on_the_first_page_link_to_filtered_claims(show, claims):
    page = show("index.html")
    links = page.ask(
        "[...document.querySelectorAll('.counts td a')].map(link => [link.getAttribute('href'), +link.textContent])"
    )
    assert len(links) > 15
    for link, count in links[::5]:
        assert len(show(link).ask(SHOWN)) == count, link


def test_columns_can_be_sorted(show, claims):
    page = show("ledger.html")
    press = "document.querySelector('th[data-sort=\"{}\"] button').click()"
    page.ask(press.format("margin"))
    margins = [float(row["margin"]) if row["margin"] else np.inf for row in claims]
    shown = dict(zip((row["id"] for row in claims), margins, strict=True))
    assert [shown[id] for id in page.ask(SHOWN)] == sorted(margins)
    page.ask(press.format("margin"))
    assert [shown[id] for id in page.ask(SHOWN)] == sorted(margins, reverse=True)
    assert "sort=margin" in page.ask("location.hash")
    page.ask(press.format("place"))
    assert page.ask(SHOWN) == [row["id"] for row in claims]
    assert show("ledger.html#sort=__proto__").ask(SHOWN) == [row["id"] for row in claims]
    assert page.complaints == []


def test_search_works_by_keyboard(show, claims):
    """/ focuses the search, every word counts, Escape shows all again."""
    page = show("ledger.html")
    page.press("/")
    assert page.ask("document.activeElement.id") == "search"
    page.type("theorem 11 angle")
    ids = page.ask(SHOWN)
    assert 0 < len(ids) < 20
    assert "bnd-thm11-4" in ids
    page.type(" nosuchword")
    assert page.ask(SHOWN) == []
    assert page.ask("document.getElementById('none').checkVisibility()")
    page.press("escape")
    assert len(page.ask(SHOWN)) == len(claims)


def test_search_finds_places_letters_and_degrees(show, claims):
    """Theorem 3 is neither Theorem 31 nor Theorem 3.2; γ is gamma; 60° is 60 degrees."""
    page = show("ledger.html")

    def matches(words):
        page.ask(
            f"{{ const box = document.getElementById('search'); box.value = {json.dumps(words)};"
            " box.dispatchEvent(new Event('input')); }"
        )
        return page.ask(SHOWN)

    third = matches("Theorem 3")
    assert third == matches("thm 3") == matches("Thm. 3")
    own = {row["id"] for row in claims if re.search(r"Theorem 3(?![\d.]\d|\d)", row["where"])}
    other = {row["id"] for row in claims if re.fullmatch(r"Theorem 3\.\d", row["where"])}
    assert own
    assert own <= set(third)
    assert not other & set(third)
    assert len(third) < len(claims) / 4
    assert page.ask("repdyn.normal('Theorems 2, 3 and 4')") == "theorem 2 theorem 3 theorem 4"
    assert matches("γ") == matches("gamma") != []
    assert matches("60°") == matches("60 degrees") != []
    assert "bnd-fig5-60" in matches("60°")


HITS = "[...document.querySelectorAll('.hits a')]"


def test_search_of_every_page_shows_hits_and_leads_to_one(show):
    """Pages, claims and figures with their pictures; arrow keys move through them, Enter opens one."""
    page = show("studies/truncation_flow.html")
    page.press("/")
    page.type("plateau")
    page.ask("new Promise(met => (function look() { if (repdyn.hits) met(); else setTimeout(look, 50); })())")
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert page.ask("document.querySelector('.hits').checkVisibility()")
    assert re.match(
        r"\d+ claims, \d+ figures, \d+ pages", page.ask("document.querySelector('.hits [role=status]').textContent")
    )
    shown = page.ask(f"{HITS}.map(link => [link.innerText, link.querySelectorAll('img').length])")
    assert 0 < sum(not pictures for _, pictures in shown) <= 8
    assert 0 < sum(pictures for _, pictures in shown) <= 3
    assert "plateau" in shown[0][0].lower()
    assert min(len(text) for text, _ in shown) > 20
    page.ask("Promise.all([...document.querySelectorAll('.hits img')].map(image => image.decode()))")
    page.press("arrow_down")
    page.press("arrow_down")
    assert page.ask(f"{HITS}.indexOf(document.activeElement)") == 1
    page.press("arrow_up")
    wanted = page.ask("document.activeElement.getAttribute('href').split('/').pop()")
    page.press("enter")
    page.ask("new Promise(done => setTimeout(done, 500))")
    assert page.ask("location.href").endswith(wanted)
    assert not page.ask("document.querySelector('.hits').checkVisibility()")
    assert page.complaints == []


def test_search_finds_the_glossary_concepts_and_studies_and_whole_phrases_first(show):
    page = show("index.html")

    def addresses(words):
        page.ask(
            f"{{ const box = document.getElementById('site-search'); box.value = {json.dumps(words)};"
            " box.dispatchEvent(new Event('input')); }"
        )
        page.ask("new Promise(met => (function look() { if (repdyn.hits) met(); else setTimeout(look, 50); })())")
        page.ask("new Promise(done => setTimeout(done, 200))")
        return page.ask(f"{HITS}.map(link => link.getAttribute('href'))")

    assert addresses("truncation map")[0] == "glossary.html#truncation-map"
    assert "studies/truncation_flow.html" in addresses("dynamical truncation")
    assert any(link.startswith("concepts.html#") for link in addresses("batch of points"))
    phrase = "cost is half the variance within clusters"  # of one claim; its words are in others too
    assert addresses(phrase)[0] == "claims/tf-cost-decomp.html"


# Single file


def test_single_file_opens_every_page(show, report, claims):
    page = show("single.html")
    assert (report / "single.html").stat().st_size < 8e6
    assert page.complaints == []
    assert page.ask("document.querySelectorAll('.finding').length") == 5
    undrawn = "[...document.querySelectorAll('#single img')].filter(image => !image.src.startsWith('blob:')).length"
    followed = "new Promise(done => addEventListener('hashchange', done, { once: true })).then(() => repdyn.shown)"
    for name in [*a_page_of_each_kind(report), f"claims/{claims[0]['id']}.html"]:
        if page.ask("repdyn.page()") != name:
            page.ask(f"location.hash = '/{name}'; {followed}")
        assert page.ask("document.getElementById('single').dataset.page") == name
        assert page.ask("document.querySelectorAll('h1').length") == 1
        assert page.ask(undrawn) == 0
    page.ask(f"location.hash = '/ledger.html#q=gamma'; {followed}")
    assert 0 < len(page.ask(SHOWN)) < len(claims)
    page.ask(f"location.hash = '/studies/universality.html'; {followed}")
    assert page.ask("document.querySelectorAll('.theory svg').length") == 2
    assert page.complaints == []


# Theory: the same numbers as the Python functions


def close(page, study, call, wanted, *, within=1e-12):
    """JavaScript's value of a call on the study's closed forms against Python's."""
    got = np.asarray(page.ask(f"(theory => {call})(window.repdyn.theory.{study})"), float)
    np.testing.assert_allclose(got, np.asarray(wanted, float), rtol=within, atol=within)


def test_universality_javascript_equals_python(show):
    page = show("studies/universality.html")
    for h0, y0, w0, eta_h, eta_y, dx2, dy2 in (
        (0.01, 0.01, 0.0, 1.0, 1.0, 1.0, 4.0),
        (0.3, 0.02, 0.02, 0.1, 2.0, 0.5, 0.25),
        (2.0, 0.5, 0.5, 3.0, 0.2, 1.5, 0.0),
        (1e-4, 1e-8, 1e-8, 0.001, 0.03, 1.0, 0.5),
    ):
        times = [0.0, 0.3, 2.0, 40.0, 900.0]
        wanted = effective_solution(times, h0, y0, w0, eta_h, eta_y, dx2, dy2)
        numbers = f"{h0}, {y0}, {w0}, {eta_h}, {eta_y}, {dx2}, {dy2}"
        close(page, "universality", f"{times}.map(t => theory.effectiveSolution(t, {numbers}))", wanted.T, within=1e-9)
    close(page, "universality", "theory.effectiveLoss(0.3, -0.1, 0.5)", effective_loss(0.0, 0.3, -0.1, 0.5, 0.0, 1.0))
    for h0 in (0.01, 3.0):
        wanted = final_distance(h0, 0.02, 1.2, 0.7, 0.4)
        close(page, "universality", f"theory.finalDistance({h0}, 0.02, 1.2, 0.7, 0.4)", wanted)


def test_bn_decomposed_javascript_equals_python(show):
    page = show("studies/bn_decomposed.html")
    angles = np.array([1e-3, 0.02, 0.3, 0.99, 1.01, 1.5])
    listed = angles.tolist()
    complement = kernel.arccos_kernel_complement(angles)
    close(page, "bn_decomposed", f"{listed}.map(theory.arccosKernelComplement)", complement, within=1e-13)
    close(
        page,
        "bn_decomposed",
        "[-1, -0.3, 0, 0.8, 1].map(theory.arccosKernel)",
        kernel.arccos_kernel([-1, -0.3, 0, 0.8, 1]),
    )
    for n in (3, 7, 20, 100):
        close(page, "bn_decomposed", f"{listed}.map(a => theory.oddMap(a, {n}))", odd_cluster.odd_map(angles, n))
        close(page, "bn_decomposed", f"theory.simplexAngle({n})", odd_cluster.simplex_angle(n))


def test_leaky_resnets_javascript_equals_python(show):
    page = show("studies/leaky_resnets.html")
    for u, end, depth, gamma in ((-1.0, 10.0, 0.05, 100.0), (0.5, 2.0, 5.0, 0.01), (2.5, 0.3, 3.0, 1.0)):
        path = np.array([scalar_path(u, end, depth, p) for p in (0.0, 0.4, 1.0)])
        close(page, "leaky_resnets", f"[0, 0.4, 1].map(p => theory.scalarPath({u}, {end}, {depth}, p))", path)
        wanted = scalar_geodesic(u, end, depth, gamma)
        call = f"Object.values(theory.scalarGeodesic({u}, {end}, {depth}, {gamma}))"
        close(page, "leaky_resnets", call, [float(value) for value in wanted], within=1e-11)
