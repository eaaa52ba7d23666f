"""Shared by HTML pages: the style sheet, and embedded pictures."""

from __future__ import annotations

import base64
import re
import string
from pathlib import Path
from urllib.parse import quote

STYLE = Path(__file__).with_name("site.css")
TYPES = {".svg": "svg+xml", ".png": "png"}
LINES = re.compile(r"\s*\n\s*")
UNCHANGED = " " + string.punctuation.translate(str.maketrans("", "", "%#<>\\"))  # in an address of a picture


def data_address(file: Path) -> str:
    """A picture, `.svg` or `.png`, as a data URL; vector graphics as text, which is a third shorter."""
    kind = f"data:image/{TYPES[file.suffix]}"
    if file.suffix == ".svg":
        return f"{kind},{quote(LINES.sub(' ', file.read_text(encoding='utf-8')), safe=UNCHANGED)}"
    return f"{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"
