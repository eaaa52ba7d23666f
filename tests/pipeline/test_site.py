"""A report as a site: all links work, addresses in previews are absolute, no partial files remain."""

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


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_page(results, name, body):
    write(
        results / f"report/{name}.html",
        f"<!doctype html><html><head><title>{name}</title></head><body>{body}</body></html>",
    )


@pytest.fixture
def results(tmp_path) -> Path:
    """A run with three pages; two show a vector figure with a PNG in the study, one links to a dataset."""
    folder = tmp_path / "results"
    shown = '<a href="../index.html#top">up</a> <img src="../figures/s/f.svg"> <a href="../../s/data/d.nc?raw">d</a>'
    links = '<a href="studies/s.html">s</a> <a href="mailto:a@b.c">m</a> <a href="errata.html">e</a>'
    write_page(folder, "index", f'<img src="figures/s/first.svg">{links}')
    write_page(folder, "errata", "none")
    write_page(folder, "studies/s", shown)
    names = ("report/figures/s/first.svg", "s/figures/first.png", "report/figures/s/f.svg", "s/figures/f.png")
    for name in (*names, "s/data/d.nc", "s/data/unlinked.nc", "s/data/two words.nc"):
        write(folder / name, f"content of {name}")
    return folder


def published(results, built=None):
    """The site's folder and the files in it."""
    site = results.parent / "site"
    publish(results, site, f"{URL}/", built)
    return {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}, site


def picture(site, name):
    """Address of the preview image of a page; "" without one."""
    text = (site / f"report/{name}.html").read_text()
    return (re.findall('og:image" content="([^"]*)"', text) or [""])[0].removeprefix(f"{URL}/")


def test_site_contains_exactly_the_linked_files(results):
    body = '<a class="x" href="../s/data/two%20words.nc#end" title="more.nc">d</a> <a href="//example.org/x">x</a>'
    write_page(results, "errata", f'{body} <a href="#top">t</a> <a href="https://example.org/x.nc">t</a> <a href>n</a>')
    names, site = published(results)
    assert names == {
        *("report/index.html", "report/errata.html", "report/studies/s.html", "s/data/d.nc", "s/data/two words.nc"),
        *("report/figures/s/first.svg", "report/figures/s/f.svg", "s/figures/first.png", "s/figures/f.png"),
        *("index.html", "404.html", "sitemap.xml", ".nojekyll"),
    }
    assert (site / "s/data/d.nc").read_text() == "content of s/data/d.nc"
    places = [place[0].text for place in ET.parse(site / "sitemap.xml").getroot()]
    assert places == [f"{URL}/report/{name}.html" for name in ("errata", "index", "studies/s")]
    study = (site / "report/studies/s.html").read_text()
    assert f'content="{URL}/report/studies/s.html"' in study
    assert f'<link rel="canonical" href="{URL}/report/studies/s.html">' in study
    assert 'href="../index.html#top"' in study
    assert "report/index.html" in (site / "index.html").read_text()


@pytest.mark.parametrize(
    ("body", "extra", "shown"),
    [
        ('<img src="figures/s/f.svg">', None, "s/figures/f.png"),
        ('<img alt="f" src="figures/s/first.svg"> <img src="figures/s/f.svg">', None, "s/figures/first.png"),
        ('<img src="figures/s/drawn.svg"><img src="figures/s/f.svg">', "drawn.svg", "s/figures/f.png"),  # no bitmap
        ('<img src="figures/s/first.svg">', "first.png", "report/figures/s/first.png"),
        ("no picture: <!-- </head> -->", None, "s/figures/first.png"),  # the first page's
    ],
)
def test_preview_image_is_the_first_bitmap_of_the_page(results, body, extra, shown):
    write_page(results, "errata", body)
    if extra:
        write(results / f"report/figures/s/{extra}", "drawn")
    _, site = published(results)
    assert picture(site, "errata") == shown
    text = (site / "report/errata.html").read_text()
    assert text.count("og:url") == 1
    assert text.index("og:image") < text.index("</head>")


def test_documentation_is_placed_next_to_the_report(results, tmp_path):
    for name in ("index.html", "api/f.html", ".doctrees/index.doctree"):
        write(tmp_path / "built" / name, "docs")
    words = ["--into", str(tmp_path / "site"), "--url", URL, "--docs", str(tmp_path / "built")]
    assert main(["dev", "site", str(results), *words]) == 0
    docs = tmp_path / "site/docs"
    assert {path.relative_to(docs).as_posix() for path in docs.rglob("*.*")} == {"index.html", "api/f.html"}
    assert f"{URL}/docs/api/f.html" in (tmp_path / "site/sitemap.xml").read_text()


def test_broken_links_or_missing_documentation_create_no_site(results, tmp_path):
    with pytest.raises(DataError, match=r"none/index\.html"):
        publish(results, tmp_path / "site", URL, tmp_path / "none")
    write_page(results, "errata", "".join(f'<a href="../s/data/{name}.nc">d</a>' for name in "fedcba"))
    with pytest.raises(DataError, match=", ".join(rf"s/data/{name}\.nc" for name in "abcef")):  # d exists
        publish(results, tmp_path / "site", URL)
    for target in ("../../secret", "/etc/secret", "http://["):
        write_page(results, "index", f'<a href="{target}">x</a>')
        with pytest.raises(DataError, match=rf"report/index\.html.*{re.escape(target)}"):
            publish(results, tmp_path / "site", URL)
    (results / "report/index.html").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"report/index\.html"):
        publish(results, tmp_path / "site", URL)
    assert main(["dev", "site", str(tmp_path / "none"), "--url", URL]) == 1
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org", "https://", "https://a.org/?a=b", "https://a.org/#a"]
)
def test_invalid_site_addresses_are_rejected(results, tmp_path, url):
    with pytest.raises(ConfigError, match=re.escape(url)):
        publish(results, tmp_path / "site", url)


def test_links_to_files_outside_the_run_or_the_documentation_are_left_out(results, tmp_path):
    write(tmp_path / "secret.txt", "secret")
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere/more.txt", "secret")
    for name in ("index.html", "page.html"):
        write(tmp_path / "built" / name, "docs")
    strays = [results / "report/key.txt", results / "s/data/key.nc", tmp_path / "built/key.txt"]
    for stray in strays:
        stray.symlink_to(tmp_path / "secret.txt")
    (tmp_path / "built/more").symlink_to(tmp_path / "elsewhere")
    write_page(results, "errata", '<a href="../s/data/key.nc">d</a>')
    _, outside = publish(results, tmp_path / "site", URL, tmp_path / "built")
    assert outside == [str(path) for path in [*strays, tmp_path / "built/more"]]
    assert (tmp_path / "site/docs/page.html").is_file()
    assert all("secret" not in path.read_text() for path in (tmp_path / "site").rglob("*.*t*") if path.is_file())


def test_nonempty_folder_is_left_unchanged(results, tmp_path):
    write(tmp_path / "site/mine", "x")
    with pytest.raises(ConfigError, match="site"):
        publish(results, tmp_path / "site", URL)
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["mine"]


class Addresses(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.mark.slow
def test_site_of_a_run_is_complete_and_names_no_machine(smoke_run, tmp_path):
    results = smoke_run / "results/smoke"
    assert publish(results, tmp_path / "site", URL)[0] > 300
    lost = set()
    for page in (tmp_path / "site").rglob("*.html"):
        text, parser = page.read_text(encoding="utf-8"), Addresses()
        assert page.parent == tmp_path / "site" or text.count('<meta property="og:image"') == 1, page
        parser.feed(text)
        for address in map(urlsplit, parser.found):
            if not address.scheme and address.path and not (page.parent / address.path).exists():
                lost.add(f"{page.name}: {address.path}")
    assert lost == set()
    home = str(smoke_run).encode()
    kinds = (".html", ".json", ".csv", ".svg", ".js")
    texts = [path for path in (tmp_path / "site").rglob("*") if path.suffix in kinds]
    assert [path for path in texts if home in path.read_bytes() or os.fsencode(Path.home()) in path.read_bytes()] == []
