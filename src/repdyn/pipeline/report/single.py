"""The whole report in one file, for sending: pages and pictures are compressed inside; a script opens them."""

from __future__ import annotations

import base64
import gzip
import html
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

HEAD = re.compile(r"<head>.*?</head>", re.DOTALL)
TITLE = re.compile(r"<title>(.*?)</title>")
BODY = re.compile(r'<div class="frame.*</main>\s*</div>', re.DOTALL)
BAR = re.compile(r'<header class="bar">.*?</header>', re.DOTALL)
LINK = re.compile(r' (href|src|action)="([^"]*)"')
FIRST = ("site", "find", "theory", "training", "stage")  # other scripts depend on them
LATE = tuple(f"assets/{name}.js" for name in FIRST)


def page(pages: Mapping[str, str], assets: Mapping[str, str], pictures: Mapping[str, Path]) -> str:
    """One HTML file.

    Each page and picture is compressed separately (gzip, RFC 1952) and encoded as text (base64, RFC 4648).

    Args:
        pages: path inside the report -> its HTML.
        assets: path -> text of a style or script.
        pictures: path -> file of a picture.
    """
    first = pages["index.html"]
    bar = _rewritten(_first(BAR, first)[0], "index.html", pages)
    title = html.escape(_first(TITLE, first)[1], quote=False)
    templates = [_template(path, text, pages) for path, text in pages.items()]
    styles = "\n".join(text for path, text in assets.items() if path.endswith(".css"))
    scripts = [path for path in assets if path.endswith(".js")]
    scripts.sort(key=lambda path: LATE.index(path) if path in LATE else len(LATE))
    packed = {path: _packed(file.read_bytes()) for path, file in pictures.items()}
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{title}</title>\n<link rel="icon" href="data:,">\n<style>\n{styles}\n</style>\n</head>\n<body>',
            bar,
            '<noscript><p class="warning">This file holds all pages of the report and needs scripts to open them; the '
            "report folder next to it opens without.</p></noscript>",
            '<div id="single"></div>',
            *templates,
            f'<script>"use strict"; window.repdyn = {{ single: true, pictures: {json.dumps(packed)} }};</script>',
            *(f"<script>\n{assets[path]}\n</script>" for path in scripts),
            "</body>\n</html>\n",
        ]
    )


def _template(path: str, text: str, pages: Mapping[str, str]) -> str:
    title = _first(TITLE, text)[1]
    body = _rewritten(_first(BODY, text)[0], path, pages)
    return f'<template data-page="{path}" data-title="{title}">{_packed(body.encode())}</template>'


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """The first match in a page, which must have one."""
    match = pattern.search(text)
    if match is None:
        raise ValueError(f"a page of the report has no match for {pattern.pattern!r}")
    return match


def _rewritten(text: str, path: str, pages: Mapping[str, str]) -> str:
    """Text of a page in which links to pages point to their templates and other links become text."""
    return LINK.sub(lambda link: _link(link[1], link[2], path, pages), text)


def _link(attribute: str, address: str, path: str, pages: Mapping[str, str]) -> str:
    if address.startswith(("https:", "data:")):
        return f' {attribute}="{address}"'
    file, _, fragment = address.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
    if attribute == "src":
        return f' data-picture="{target}"'
    if target in pages:
        return f' {attribute}="#/{target}{"#" + fragment if fragment else ""}"'
    return ""
