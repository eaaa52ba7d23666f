"""What pages in HTML share: the style sheet, and pictures inside the page."""

from __future__ import annotations

import base64
from pathlib import Path

STYLE = Path(__file__).with_name("site.css")
TYPES = {".svg": "svg+xml", ".png": "png"}


def data_address(file: Path) -> str:
    """A picture, `.svg` or `.png`, as an address that holds it."""
    return f"data:image/{TYPES[file.suffix]};base64,{base64.b64encode(file.read_bytes()).decode()}"
