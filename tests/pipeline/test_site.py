"""A report as a site: every link leads somewhere, cards are absolute, nothing half written stays."""

import os
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from repdyn.__main__ import main
from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline.ask.site import publish

URL = "https://example.org/repdyn"
PAGE = "<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


@pytest.fixture
def results(tmp_path) -> Path:
    """A run with three pages; two show a vector figure of which the study has a PNG, one leads to a dataset."""
    folder = tmp_path / "results"
    shown = '<a href="../index.html#top">up</a> <img src="../figures/s/f.svg"> <a href="../../s/data/d.nc?raw">d</a>'
    links = '<a href="studies/s.html">s</a> <a href="mailto:a@b.c">m</a> <a href="errata.html">e</a>'
    files = {
        "report/index.html": PAGE.format(title="start", body=f'<img src="figures/s/first.svg">{links}'),
        "report/errata.html": PAGE.format(title="errata", body="none"),
        "report/figures/s/first.svg": "<svg/>",
        "s/figures/first.png": "png",
        "report/studies/s.html": PAGE.format(title="study", body=shown),
        "report/figures/s/f.svg": "<svg/>",
        "s/figures/f.png": "png",
        "s/data/d.nc": "numbers",
        "s/data/unlinked.nc": "more",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_what_pages_lead_to_is_there_and_nothing_else(results, tmp_path):
    assert publish(results, tmp_path / "site", f"{URL}/") == 3
    written = {
        path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert written == {
        *("report/index.html", "report/errata.html", "report/studies/s.html", "s/data/d.nc"),
        *("report/figures/s/first.svg", "report/figures/s/f.svg", "s/figures/first.png", "s/figures/f.png"),
        *("index.html", "404.html", "sitemap.xml", ".nojekyll"),
    }


def test_cards_are_absolute_and_links_stay_relative(results, tmp_path):
    publish(results, tmp_path / "site", URL)
    study = (tmp_path / "site/report/studies/s.html").read_text()
    assert f'<meta property="og:url" content="{URL}/report/studies/s.html">' in study
    assert f'<meta property="og:image" content="{URL}/s/figures/f.png">' in study
    assert 'href="../index.html#top"' in study


def test_the_picture_of_a_card_is_the_pages_first(results, tmp_path):
    (results / "report/figures/s/bitmap.png").write_text("png")
    body = '<img src="figures/s/first.svg"> <img src="figures/s/bitmap.png">'
    (results / "report/index.html").write_text(PAGE.format(title="start", body=body))
    publish(results, tmp_path / "site", URL)
    assert f'content="{URL}/s/figures/first.png"' in (tmp_path / "site/report/index.html").read_text()


def test_a_picture_of_which_there_is_no_bitmap_gives_way_to_the_next(results, tmp_path):
    (results / "report/figures/s/drawn.svg").write_text("<svg/>")
    names = ("drawn", "f", "first")
    body = "<a href>none</a> <img src>" + "".join(f'<img src="figures/s/{name}.svg">' for name in names)
    (results / "report/errata.html").write_text(PAGE.format(title="errata", body=body))
    publish(results, tmp_path / "site", URL)
    assert f'content="{URL}/s/figures/f.png"' in (tmp_path / "site/report/errata.html").read_text()


def test_all_that_several_pages_lead_to_is_copied_once_and_every_page_is_in_the_map(results, tmp_path):
    """Addresses of other places, of mails and within a page lead to no files of the run."""
    leads = {
        "index": ["../s/data/e.nc", "https://example.org/x.nc", "../t/a.csv?raw=1#end", "errata.html"],
        "errata": ["../s/data/e.nc", "#top", "mailto:a@b.c", "../t/b.csv", "//example.org/y.nc", "../s/data/d.nc"],
        "claims/c": ["../../t/c.csv", "../index.html", "?sort=id", "../../s/data/d.nc"],
    }
    for name in ("s/data/e.nc", "t/a.csv", "t/b.csv", "t/c.csv", "t/d.csv"):
        (results / name).parent.mkdir(exist_ok=True)
        (results / name).write_text(f"numbers of {name}")
    for name, targets in leads.items():
        page = results / f"report/{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(PAGE.format(title=name, body="".join(f'<a href="{target}">x</a>' for target in targets)))
    built = tmp_path / "built"
    for name in ("search", "index", "api/z", "api/a"):
        (built / f"{name}.html").parent.mkdir(parents=True, exist_ok=True)
        (built / f"{name}.html").write_text("")
    assert publish(results, tmp_path / "site", URL, built) == 4
    copied = [path for path in (tmp_path / "site").rglob("*") if path.suffix in (".nc", ".csv")]
    names = ("s/data/e.nc", "t/a.csv", "t/b.csv", "t/c.csv")
    assert {path.relative_to(tmp_path / "site").as_posix(): path.read_text() for path in copied} == {
        "s/data/d.nc": "numbers",
        **{name: f"numbers of {name}" for name in names},
    }
    pages = [f"docs/{name}" for name in ("api/a", "api/z", "index", "search")]
    pages += [f"report/{name}" for name in ("claims/c", "errata", "index", "studies/s")]
    places = [place[0].text for place in ET.parse(tmp_path / "site/sitemap.xml").getroot()]
    assert places == [f"{URL}/{page}.html" for page in pages]
    for page in pages[4:]:
        assert f'<link rel="canonical" href="{URL}/{page}.html">' in (tmp_path / f"site/{page}.html").read_text()


def test_an_address_is_found_among_other_attributes_and_these_are_none(results, tmp_path):
    body = (
        '<a class="lead" href="../s/data/unlinked.nc" title="more.nc">d</a> <img alt="f" src="figures/s/f.svg" id="x">'
    )
    (results / "report/errata.html").write_text(PAGE.format(title="errata", body=body))
    publish(results, tmp_path / "site", URL)
    assert (tmp_path / "site/s/data/unlinked.nc").read_text() == "more"
    assert f'content="{URL}/s/figures/f.png"' in (tmp_path / "site/report/errata.html").read_text()


def test_a_picture_that_is_a_bitmap_in_the_report_is_taken_from_there(results, tmp_path):
    (results / "report/figures/s/first.png").write_text("png")
    publish(results, tmp_path / "site", URL)
    assert f'content="{URL}/report/figures/s/first.png"' in (tmp_path / "site/report/index.html").read_text()


def test_a_page_without_a_picture_has_the_first_pages(results, tmp_path):
    publish(results, tmp_path / "site", URL)
    first = f'<meta property="og:image" content="{URL}/s/figures/first.png">'
    assert [first in (tmp_path / f"site/report/{name}.html").read_text() for name in ("index", "errata")] == [True] * 2
    (results / "report/index.html").write_text(PAGE.format(title="start", body="no picture"))
    publish(results, tmp_path / "bare", URL)
    assert "og:image" not in (tmp_path / "bare/report/errata.html").read_text()


def test_the_documentation_stands_beside_the_report(results, tmp_path):
    built = tmp_path / "built"
    for name in ("index.html", "api/f.html", ".doctrees/index.doctree"):
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        (built / name).write_text(PAGE.format(title="docs", body=""))
    assert main(["site", str(results), "--into", str(tmp_path / "site"), "--url", URL, "--docs", str(built)]) == 0
    written = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site/docs").rglob("*.*")}
    assert written == {"docs/index.html", "docs/api/f.html"}
    assert f"<loc>{URL}/docs/api/f.html</loc>" in (tmp_path / "site/sitemap.xml").read_text()


def test_documentation_that_was_not_built_is_told(results, tmp_path):
    with pytest.raises(DataError, match=r"none/index\.html: missing; build it first: sphinx-build"):
        publish(results, tmp_path / "site", URL, tmp_path / "none")
    assert not (tmp_path / "site").exists()


def test_the_map_lists_every_page(results, tmp_path):
    publish(results, tmp_path / "site", URL)
    found = ET.parse(tmp_path / "site/sitemap.xml").getroot()
    assert [place[0].text for place in found] == [
        f"{URL}/report/{name}.html" for name in ("errata", "index", "studies/s")
    ]


def test_a_link_to_nothing_is_an_error_and_leaves_nothing(results, tmp_path):
    (results / "s/data/d.nc").unlink()
    with pytest.raises(DataError, match=r"pages lead to files that are not there: s/data/d\.nc"):
        publish(results, tmp_path / "site", URL)
    assert not (tmp_path / "site").exists()


def test_of_many_files_that_are_not_there_the_first_five_are_named_and_every_page_counts(results, tmp_path):
    body = "".join(f'<a href="../s/data/{name}.nc">d</a>' for name in "hgfedcba")
    (results / "report/errata.html").write_text(PAGE.format(title="errata", body=body))
    with pytest.raises(DataError) as caught:
        publish(results, tmp_path / "site", URL)
    named = ", ".join(f"s/data/{name}.nc" for name in "abcef")  # d is there
    assert str(caught.value) == f"{results}: pages lead to files that are not there: {named}"


def test_an_address_is_read_as_browsers_read_it(results, tmp_path):
    (results / "s/data/two words.nc").write_text("numbers")
    body = '<a href="../s/data/two%20words.nc#end">d</a> <a href="//example.org/x">x</a> <a href="#top">t</a>'
    (results / "report/errata.html").write_text(PAGE.format(title="errata", body=body))
    publish(results, tmp_path / "site", URL)
    assert (tmp_path / "site/s/data/two words.nc").read_text() == "numbers"


def test_the_front_leads_to_the_report_and_a_page_that_is_not_there_to_its_ledger(results, tmp_path):
    publish(results, tmp_path / "site", "https://example.org/a&b/")
    url = "https://example.org/a&amp;b"
    front, lost = ((tmp_path / "site" / name).read_text() for name in ("index.html", "404.html"))
    assert f'content="0; url=report/index.html"><link rel="canonical" href="{url}/report/index.html">' in front
    assert '<a href="report/index.html">The report</a>' in front
    assert [*re.findall('href="([^"]*)"', lost)] == [
        f"{url}/report/{name}" for name in ("assets/site.css", "ledger.html", "index.html")
    ]


def test_a_card_stands_once_at_the_end_of_the_head(results, tmp_path):
    """Text of a page may speak of heads, too."""
    (results / "report/errata.html").write_text(PAGE.format(title="errata", body="<!-- </head> -->"))
    publish(results, tmp_path / "site", URL)
    page = (tmp_path / "site/report/errata.html").read_text()
    assert page.count("og:url") == 1
    assert page.index("og:image") < page.index("</head>") < page.index("<body>")


def test_a_link_out_of_the_run_is_an_error(results, tmp_path):
    (results / "report/index.html").write_text(PAGE.format(title="", body='<a href="../../secret">x</a>'))
    with pytest.raises(DataError, match=r"report/index\.html: leads out of the run, to \.\./\.\./secret"):
        publish(results, tmp_path / "site", URL)


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org", "https://", "https://example.org/?a=b", "https://example.org/#a"]
)
def test_an_address_is_one_of_the_web(results, tmp_path, url):
    with pytest.raises(ConfigError, match="expected an address as https"):
        publish(results, tmp_path / "site", url)


def test_a_folder_with_something_in_it_is_left_alone(results, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/mine").write_text("x")
    with pytest.raises(ConfigError, match="not an empty folder"):
        publish(results, tmp_path / "site", URL)
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["mine"]


def test_a_run_without_a_report_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["site", "results/none", "--url", URL]) == 1
    assert "results/none/report/index.html: missing; finish the run first" in capsys.readouterr().err


class Addresses(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.mark.slow
def test_the_site_of_a_run_is_whole_and_names_no_machine(smoke_run, tmp_path):
    results = smoke_run / "results/smoke"
    assert publish(results, tmp_path / "site", URL) > 300
    lost = set()
    for page in (tmp_path / "site/report").rglob("*.html"):
        assert page.read_text(encoding="utf-8").count('<meta property="og:image"') == 1, page
    first = (tmp_path / "site/report/index.html").read_text(encoding="utf-8")  # the picture of what moves at its top
    assert re.search(r'og:image" content="https://[^"]*truncation_flow/[^"]*printed_and_corrected\.png"', first)
    for page in (tmp_path / "site").rglob("*.html"):
        parser = Addresses()
        parser.feed(page.read_text(encoding="utf-8"))
        for address in map(urlsplit, parser.found):
            if not address.scheme and address.path and not (page.parent / address.path).exists():
                lost.add(f"{page.name}: {address.path}")
    assert lost == set()
    home = str(smoke_run).encode()
    texts = [
        path for path in (tmp_path / "site").rglob("*") if path.suffix in (".html", ".json", ".csv", ".svg", ".js")
    ]
    assert [path for path in texts if home in path.read_bytes() or os.fsencode(Path.home()) in path.read_bytes()] == []
