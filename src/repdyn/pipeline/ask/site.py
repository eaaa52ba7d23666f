"""`python -m repdyn dev site results/default --url ...`: a run's report as a static site.

Pages keep their paths below `report/`; next to it are the files of the run that they link to, a page that redirects to
the report, a page for missing addresses, and a sitemap. Links stay relative; the metadata for previews on other sites
(address and picture of a page) are absolute, as these require. A page without a picture uses the first page's.
"""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from repdyn.base.errors import ConfigError, DataError
from repdyn.base.files import fresh, write_text

REPORT, DOCS = "report", "docs"
HOME = f"{REPORT}/index.html"
FORWARD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>repdyn</title>
<meta http-equiv="refresh" content="0; url={home}"><link rel="canonical" href="{url}/{home}"></head>
<body><p><a href="{home}">The report</a></p></body></html>
"""
LOST = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found · repdyn</title><link rel="stylesheet" href="{url}/report/assets/site.css"></head>
<body><main id="main"><h1>There is no such page</h1>
<p>Pages of claims are named by the claim. <a href="{url}/report/ledger.html">Search the ledger</a> or begin with
<a href="{url}/{home}">the findings</a>.</p></main></body></html>
"""
MAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{places}</urlset>
"""
PLACE = "<url><loc>{address}</loc></url>\n"


class _Links(HTMLParser):
    """Links and pictures of a page, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.pictures: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
                self.pictures += [value] if tag == "img" else []


def publish(results: Path, into: Path, url: str, docs: Path | None = None) -> tuple[int, list[str]]:
    """Writes the site of a finished run; returns the number of its pages, and what was left out.

    Symbolic links to files outside the run, or outside the documentation, are left out: a site is public.

    Args:
        results: folder of the run.
        into: a new or empty folder; unchanged if something fails.
        url: address at which the folder will be found.
        docs: the built documentation, copied next to the report under `docs/`.

    Raises:
        ConfigError: not a web address, or the folder is not empty.
        DataError: no report, a page links to a missing file, or no documentation.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.netloc or address.query or address.fragment:
        raise ConfigError(f"--url: got {url!r}, expected an address as https://example.org/repdyn")
    if not (results / HOME).is_file():
        raise DataError(f"{results / HOME}: missing; finish the run first: snakemake --cores 8 all")
    if docs and not (docs / "index.html").is_file():
        raise DataError(f"{docs / 'index.html'}: missing; build it first: sphinx-build -W -b html docs {docs}")
    url = url.rstrip("/")
    every = [path for path in sorted((results / REPORT).rglob("*")) if path.is_file()]
    own = [path.relative_to(results).as_posix() for path in every if _inside(path, results)]
    pages = {name: _text(results / name) for name in own if name.endswith(".html")}
    found = {name: _Links(text) for name, text in pages.items()}
    beside = sorted({target for name, links in found.items() for target in _files(name, links.targets)} - set(own))
    if missing := [target for target in beside if not (results / target).is_file()]:
        raise DataError(f"{results}: pages link to missing files: {', '.join(missing[:5])}")
    pictures = {name: _picture(found[name], name, results) for name in pages}
    cards = {name: _card(name, pictures[name] or pictures[HOME], url) for name in pages}
    linked = [name for name in [*beside, *filter(None, pictures.values())] if _inside(results / name, results)]
    outside = {path for path in every if not _inside(path, results)} | {
        results / name for name in {*beside} - {*linked}
    }
    strays = [path for path in sorted(docs.rglob("*")) if not _inside(path, docs)] if docs else []
    with fresh(into):
        for name in [*own, *linked]:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(results / name, into / name)
        for name, text in pages.items():
            write_text(into / name, text.replace("</head>", f"{cards[name]}</head>", 1))
        if docs:
            shutil.copytree(docs, into / DOCS, ignore=_hidden_or_elsewhere(docs))
        write_text(into / "index.html", FORWARD.format(home=HOME, url=html.escape(url)))
        write_text(into / "404.html", LOST.format(home=HOME, url=html.escape(url)))
        built = [path.relative_to(into).as_posix() for path in (into / DOCS).rglob("*.html")]
        places = "".join(PLACE.format(address=html.escape(f"{url}/{page}")) for page in sorted([*pages, *built]))
        write_text(into / "sitemap.xml", MAP.format(places=places))
        write_text(into / ".nojekyll", "")  # so that the host leaves the files as they are
    return len(pages), [str(path) for path in [*sorted(outside), *strays]]


def _inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _hidden_or_elsewhere(root: Path) -> Callable[[str, list[str]], list[str]]:
    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(".") or not _inside(Path(folder, name), root)]

    return ignored


def _text(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except ValueError as error:
        raise DataError(f"{page}: no text ({error}); delete it and finish the run again") from error


def _files(page: str, targets: list[str]) -> Iterator[str]:
    """Files of the run to which a page links, relative to its folder."""
    for target in targets:
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise DataError(f"{page}: links to no address: {target} ({error})") from error
        if parts.scheme or parts.netloc or not parts.path:
            continue
        path = os.path.normpath(PurePosixPath(page).parent / unquote(parts.path))
        if path.startswith(("..", "/")):
            raise DataError(f"{page}: links to a file outside the run: {target}")
        yield path


def _picture(links: _Links, page: str, results: Path) -> str:
    """A page's first picture with a PNG, in the report or the study's results; "" without one."""
    for path in _files(page, links.pictures):
        shown = PurePosixPath(path).with_suffix(".png")
        own = PurePosixPath(shown.parent.name, "figures", shown.name)
        if found := next((str(file) for file in (shown, own) if (results / file).is_file()), ""):
            return found
    return ""


def _card(page: str, picture: str, url: str) -> str:
    """Metadata in a page's head for previews on other sites."""
    address = html.escape(f"{url}/{page}")
    lines = [f'<link rel="canonical" href="{address}">', f'<meta property="og:url" content="{address}">']
    if picture:
        lines += [f'<meta property="og:image" content="{html.escape(f"{url}/{picture}")}">']
    return "".join(f"{line}\n" for line in lines)
