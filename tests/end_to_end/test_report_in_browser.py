"""The report of the smoke run in a headless Chromium: opened, searched, sorted, every page looked at, theory moved."""

import csv
import io
import json
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from tests.browser import Browser

from repdyn.bn_decomposed.theory import kernel, odd_cluster
from repdyn.bn_mean_field.theory import manifold
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_geodesic, scalar_path
from repdyn.truncation_flow.theory.separated import effective_gradient
from repdyn.truncation_flow.theory.truncation import truncation_map
from repdyn.universality.theory.effective import effective_loss, effective_solution
from repdyn.universality.theory.final import final_distance

pytestmark = pytest.mark.slow
SHOWN = "[...document.querySelectorAll('#ledger > tbody > tr')].filter(row => row.checkVisibility()).map(row => row.id)"
OPENED = "window.repdyn && repdyn.shown"  # a promise of the single file: its page is there, with pictures
WIDTH, HEIGHT = 1280, 900


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser of its own; skips only where Chromium or its driver is not installed."""
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
    """The pages at the top, each study's, the rest of one study's, and the claim with the most evidence."""
    top = [path.name for path in sorted(report.glob("*.html")) if path.name != "single.html"]
    studies = [f"studies/{path.name}" for path in sorted(report.glob("studies/*.html")) if "-notes" not in path.name]
    rest = ["studies/bn_decomposed-notes.html", "settings/universality.html", "errata/truncation_flow.html"]
    claim = max((report / "claims").iterdir(), key=lambda path: path.stat().st_size).name
    return [*top, *studies, *rest, f"claims/{claim}"]


def picture(page) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.photograph())).convert("RGB"))


def chosen(claims, **wanted):
    return [row["id"] for row in claims if all(row[key] == value for key, value in wanted.items())]


# Every page


def test_a_page_that_asks_the_net_is_noticed(browser, tmp_path):
    (tmp_path / "page.html").write_text('<!doctype html><img src="https://example.org/picture.png" alt="">')
    before = len(browser.complaints)
    browser.open((tmp_path / "page.html").as_uri())
    assert len(browser.complaints) == before + 1
    browser.complaints.clear()


def test_pages_open_in_silence_and_ask_nothing_of_the_net(show, report):
    """No error, no warning, as an address of the net would give; each page is light."""
    for name in a_page_of_each_kind(report):
        page = show(name)
        assert page.complaints == [], name
        assert page.ask("document.querySelectorAll('*').length") < 12_000, name
        page.ask("Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode(); }))")
        assert page.ask("[...document.images].filter(image => image.naturalWidth < 100).length") == 0, name


@pytest.mark.parametrize("width", [420, 760, 1280])
def test_no_page_needs_scrolling_sideways(show, report, width):
    wide = {}
    for name in a_page_of_each_kind(report):
        page = show(name, width=width)
        if (needed := page.ask("document.documentElement.scrollWidth")) > width:
            wide[name] = needed
    assert wide == {}


def test_counts_of_verdicts_are_whole_on_a_phone(show):
    """No number is cut: the table needs no width of its own, and each number says what it counts."""
    page = show("index.html", width=420)
    assert page.ask("(part => part.scrollWidth <= part.clientWidth)(document.querySelector('.counts').parentElement)")
    last = "[...document.querySelectorAll('.counts td[data-status]:not(:empty)')]"
    assert page.ask(f"Math.max(...{last}.map(cell => cell.getBoundingClientRect().right))") <= 420
    assert "holds" in page.ask(
        "getComputedStyle(document.querySelector('.counts td a').parentElement, '::after').content"
    )


@pytest.mark.parametrize("where", ["studies/universality.html", "single.html#/studies/universality.html"])
@pytest.mark.parametrize("figure", ["figure.inline", "#n3_rich_to_lazy"])
def test_a_tap_on_a_figure_opens_it_at_its_full_size(show, where, figure):
    page = show(where, width=420)
    page.ask(f"document.querySelector('{figure} img').click()")
    page.ask("new Promise(done => setTimeout(done, 500))")
    size = "(root => root.matches('svg') ? root.getBoundingClientRect().width : document.images[0].naturalWidth)"
    assert page.ask("document.querySelector('header.bar')") is None
    assert page.ask(f"{size}(document.documentElement)") > 600


def test_badges_do_not_overlap_on_a_narrow_screen(show):
    page = show("ledger.html", width=420)
    overlaps = """(boxes => boxes.slice(1).filter((box, k) => box.top < boxes[k].bottom && box.left < boxes[k].right
        && boxes[k].left < box.right).length)([...document.querySelectorAll('#ledger .badge')]
        .map(badge => badge.getBoundingClientRect()))"""
    assert page.ask("document.querySelectorAll('#ledger .badge').length") > 200
    assert page.ask(overlaps) == 0


def test_the_first_screen_shows_every_paper_and_begins_the_first_finding(show):
    """Five papers with three sentences each are seen without scrolling, and the top of the first card."""
    page = show("index.html")
    cells = "[...document.querySelectorAll('.papers td')].filter(cell => cell.textContent.length > 40)"
    assert page.ask(f"{cells}.length") == 15
    assert page.ask(f"Math.max(...{cells}.map(cell => cell.getBoundingClientRect().bottom))") < HEIGHT
    assert page.ask("document.querySelectorAll('.finding').length") == 5
    assert page.ask("document.querySelector('.finding .opening').getBoundingClientRect().top") < HEIGHT
    seen = picture(page)
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 30
    assert 0.005 < np.mean(seen.mean(axis=2) < 128) < 0.5


def test_the_first_screen_of_a_study_shows_its_first_figure(show, report):
    """Whole where the page opens with a story, its top elsewhere."""
    for path in sorted(report.glob("studies/*.html")):
        if path.stem.endswith("-notes"):
            continue
        page = show(f"studies/{path.name}", width=1400)
        box = page.ask(
            "(box => [box.top, box.bottom])(document.querySelector('main figure img').getBoundingClientRect())"
        )
        assert 0 < box[0] < HEIGHT, path.stem
        assert page.ask("!document.querySelector('.story')") or box[1] <= HEIGHT, path.stem


def test_formulas_are_laid_out_in_the_reports_font(show, claims):
    """A fraction is taller than a letter, and no glyph comes from another font."""
    formula = next(row["id"] for row in claims if "\\frac" in row["formula"] and row["verdict"] == "holds as corrected")
    page = show(f"claims/{formula}.html")
    height = "Math.max(...[...document.querySelectorAll('{}')].map(part => part.getBoundingClientRect().height))"
    assert page.ask(height.format("mfrac")) > 1.5 * page.ask(height.format("mi"))
    page.call("DOM.enable")
    page.call("CSS.enable")
    root = page.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    for node in page.call("DOM.querySelectorAll", nodeId=root, selector="math mi, math mo, math mn")["nodeIds"]:
        fonts = page.call("CSS.getPlatformFontsForNode", nodeId=node)["fonts"]
        assert {font["familyName"] for font in fonts} <= {"repdyn math"}


def test_controls_and_links_have_names(show, report):
    nameless = """[...document.querySelectorAll('input, select, button, a[href], summary')]
        .filter(one => !one.matches('[tabindex="-1"]') && !(one.textContent.trim() || one.closest('label')
            || one.labels?.length || one.getAttribute('aria-label') || one.querySelector('img[alt]:not([alt=""])')))
        .map(one => one.outerHTML)"""
    for name in a_page_of_each_kind(report):
        page = show(name)
        assert page.ask(nameless) == [], name
        assert page.ask("document.documentElement.lang") == "en"
        assert page.ask("document.querySelectorAll('h1').length") == 1, name


def test_the_first_key_leads_past_the_navigation_and_focus_is_seen(show):
    page = show("index.html")
    page.press("tab")
    assert page.ask("document.activeElement.className") == "skip"
    assert page.ask("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
    assert page.ask("document.activeElement.getBoundingClientRect().left") >= 0
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


def test_without_scripts_all_is_read(show, report, claims, browser):
    browser.scripts(False)
    browser.open("about:blank")
    browser.open((report / "ledger.html").as_uri())
    assert browser.ask(SHOWN) == [row["id"] for row in claims]
    assert not browser.ask("document.querySelector('.filters').checkVisibility()")
    browser.open((report / "studies/truncation_flow.html").as_uri())
    assert browser.ask("document.querySelectorAll('.theory img').length") == 1


# Ledger


def test_verdicts_filter_and_stay_in_the_address(show, claims):
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


@pytest.mark.parametrize("control", ["study", "kind", "origin"])
def test_lists_filter(show, claims, control):
    page = show("ledger.html")
    for value in {row[control] for row in claims}:
        change = f"control.value = {json.dumps(value)}; control.dispatchEvent(new Event('input'))"
        page.ask(f"{{ const control = document.getElementById('{control}'); {change} }}")
        assert page.ask(SHOWN) == chosen(claims, **{control: value})


def test_numbers_of_the_first_page_lead_to_what_they_count(show, claims):
    page = show("index.html")
    links = page.ask(
        "[...document.querySelectorAll('.counts td a')].map(link => [link.getAttribute('href'), +link.textContent])"
    )
    assert len(links) > 15
    for link, count in links:
        assert len(show(link).ask(SHOWN)) == count, link


def test_columns_sort(show, claims):
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


def test_the_head_of_the_ledger_stays_in_sight(show):
    page = show("ledger.html")
    page.ask("scrollTo(0, 4000)")
    box = page.ask("(box => [box.top, box.bottom])(document.querySelector('#ledger thead th').getBoundingClientRect())")
    assert 0 <= box[0] < box[1] < 150


def test_search_by_keyboard(show, claims):
    """/ leads to the search, every word counts, Escape shows all again."""
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


def test_search_knows_places_letters_and_degrees(show, claims):
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


def test_search_from_another_page_leads_to_the_ledger(show):
    page = show("index.html")
    page.press("/")
    page.type("gamma")
    page.press("enter")
    page.ask("new Promise(done => setTimeout(done, 800))")
    assert page.ask("location.pathname").endswith("ledger.html")
    assert page.ask("document.getElementById('search').value") == "gamma"
    assert 0 < len(page.ask(SHOWN)) < 100


HITS = "[...document.querySelectorAll('.hits a')]"


@pytest.mark.parametrize("where", ["studies/truncation_flow.html", "single.html#/studies/truncation_flow.html"])
def test_the_search_of_every_page_shows_hits_while_one_types(show, where):
    """Statements of claims, then figures with their pictures; arrows lead through them, Enter opens one."""
    page = show(where)
    page.press("/")
    page.type("plateau")
    page.ask("new Promise(met => (function look() { if (repdyn.hits) met(); else setTimeout(look, 50); })())")
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert page.ask("document.querySelector('.hits').checkVisibility()")
    assert re.match(r"\d+ claims, \d+ figures", page.ask("document.querySelector('.hits [role=status]').textContent"))
    shown = page.ask(f"{HITS}.map(link => [link.innerText, link.querySelectorAll('img').length])")
    assert 0 < sum(not pictures for _, pictures in shown) <= 5
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


def test_hits_close_and_find_what_the_ledger_finds(show):
    page = show("ledger.html")
    page.ask("document.getElementById('site-search').focus()")
    page.type("Thm. 3")
    count = page.ask("document.querySelector('.hits [role=status]').textContent")
    assert len(show("ledger.html#q=theorem+3").ask(SHOWN)) == int(count.split()[0])
    page.ask("document.getElementById('site-search').focus()")
    page.type("gamma")
    assert page.ask("document.querySelector('.hits').checkVisibility()")
    page.press("escape")
    assert not page.ask("document.querySelector('.hits').checkVisibility()")
    assert page.ask("document.activeElement.id") == "site-search"


# Claims


def test_evidence_is_short_and_drawn(show, claims):
    """No cell over 120 characters, no raw array; a number with a region is drawn."""
    for row in claims[:: max(1, len(claims) // 12)]:
        page = show(f"claims/{row['id']}.html")
        cells = page.ask("[...document.querySelectorAll('.evidence td, .evidence th')].map(cell => cell.innerText)")
        assert [cell for cell in cells if len(cell) > 160 or "array(" in cell or "[[" in cell] == [], row["id"]
    corrected = chosen(claims, verdict="holds as corrected", kind="identity")[0]
    assert show(f"claims/{corrected}.html").ask("document.querySelectorAll('.evidence .drawing').length") > 0


def test_latex_is_copied(show, claims):
    row = next(row for row in claims if row["formula"] and row["corrected_formula"])
    page = show(f"claims/{row['id']}.html")
    page.ask("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.ask("document.querySelector('.latex button').click()")
    assert page.ask("window.copied") == row["formula"]


# Single file


def test_the_single_file_opens_every_page(show, report, claims):
    page = show("single.html")
    assert (report / "single.html").stat().st_size < 8e6
    assert page.complaints == []
    assert page.ask("document.querySelectorAll('.finding').length") == 5
    undrawn = "[...document.querySelectorAll('#single img')].filter(image => !image.src.startsWith('blob:')).length"
    followed = "new Promise(done => addEventListener('hashchange', done, { once: true })).then(() => repdyn.shown)"
    for name in [*a_page_of_each_kind(report)[:12], f"claims/{claims[0]['id']}.html"]:
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


# Theory: the same numbers as the Python functions, and figures that move


def close(page, study, call, wanted, *, within=1e-12):
    """JavaScript's value of a call on the study's closed forms against Python's."""
    got = np.asarray(page.ask(f"(theory => {call})(window.repdyn.theory.{study})"), float)
    np.testing.assert_allclose(got, np.asarray(wanted, float), rtol=within, atol=within)


def test_universality_in_javascript(show):
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


def test_bn_decomposed_in_javascript(show):
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


def test_leaky_resnets_in_javascript(show):
    page = show("studies/leaky_resnets.html")
    for u, end, depth, gamma in ((-1.0, 10.0, 0.05, 100.0), (0.5, 2.0, 5.0, 0.01), (2.5, 0.3, 3.0, 1.0)):
        path = np.array([scalar_path(u, end, depth, p) for p in (0.0, 0.4, 1.0)])
        close(page, "leaky_resnets", f"[0, 0.4, 1].map(p => theory.scalarPath({u}, {end}, {depth}, p))", path)
        wanted = scalar_geodesic(u, end, depth, gamma)
        call = f"Object.values(theory.scalarGeodesic({u}, {end}, {depth}, {gamma}))"
        close(page, "leaky_resnets", call, [float(value) for value in wanted], within=1e-11)


def test_bn_mean_field_in_javascript(show):
    page = show("studies/bn_mean_field.html")
    cov, b, other, grad = [[5.0, 1.2], [1.2, 0.8]], [0.3, -0.7], [-1.0, 0.2], [0.4, 1.1]
    on = manifold.normalize([b], cov)
    close(page, "bn_mean_field", f"theory.normalize({b}, {cov})", on[0])
    close(page, "bn_mean_field", f"theory.angle({b}, {other})", manifold.angle([b], [other])[0, 0])
    close(
        page,
        "bn_mean_field",
        f"theory.smallestMetricEigenvalue({b}, {cov})",
        manifold.smallest_metric_eigenvalue([b], cov)[0],
    )
    close(page, "bn_mean_field", "theory.kantorovichBound(10)", manifold.kantorovich_bound(10.0))
    wanted = manifold.riemannian_gradient([grad], on, cov)[0]
    close(page, "bn_mean_field", f"theory.riemannianGradient({grad}, theory.normalize({b}, {cov}), {cov})", wanted)


def test_truncation_flow_in_javascript(show):
    page = show("studies/truncation_flow.html")
    X, beta, label = [[1.0, -1.0], [0.4, 0.9], [-0.6, 0.1]], [0.2, -0.1], [0.5, 0.3]
    for turn in (0.0, 0.7, 2.5, -1.9):
        R = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
        image = truncation_map(X, R, beta)
        close(page, "truncation_flow", f"{X}.map(x => theory.truncationMap(x, {turn}, {beta}))", image)
        for formula in ("printed", "corrected"):
            wanted = effective_gradient(X, R, beta, label, formula=formula)
            call = f"theory.effectiveGradient({X}, {turn}, {beta}, {label}, '{formula}')"
            call = f"(v => [...v.beta, v.turn, v.cost])({call})"
            close(page, "truncation_flow", call, [*wanted.dbeta, wanted.Omega[1, 0], wanted.cost])


@pytest.mark.parametrize(
    "study", ["bn_decomposed", "truncation_flow", "bn_mean_field", "leaky_resnets", "universality"]
)
def test_every_interactive_figure_moves(show, study):
    """A slider changes the lines and the sentence below; nothing is infinite."""
    page = show(f"studies/{study}.html")
    drawn = "[...document.querySelectorAll('.theory path')].map(path => path.getAttribute('d')).join()"
    until = "new Promise(met => (function look() {{ if ({}) met(); else setTimeout(look, 50); }})())"
    network = "document.querySelector('.theory').training"
    page.ask(until.format(f"!{network} || {network}.draws > 0 && {network}.prepared"))  # its theory is drawn
    before = page.ask(drawn)
    assert before
    sliders = page.ask("document.querySelectorAll('.theory input[type=range]').length")
    for number in range(sliders):
        for end in ("min", "max"):
            page.ask(
                f"{{ const slider = document.querySelectorAll('.theory input')[{number}]; slider.value = slider.{end};"
                " slider.dispatchEvent(new Event('input')); }"
            )
            assert "NaN" not in page.ask(drawn)
            assert "NaN" not in page.ask("document.querySelector('.theory .said').textContent")
    page.ask(until.format(f"{drawn} !== {json.dumps(before)}"))
    assert page.complaints == []


def test_handles_move_by_keyboard(show):
    page = show("studies/bn_mean_field.html")
    expression = "document.querySelector('.theory .said').textContent"
    before = page.ask(expression)
    page.ask("document.querySelector('.theory .handle').focus()")
    for _ in range(4):
        page.press("arrow_up")
    assert page.ask(expression) != before
