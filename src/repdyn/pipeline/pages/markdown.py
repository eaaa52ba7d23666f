"""Tables of the generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

FORMULA = re.compile(r"\$[^$]+\$")
CODE = re.compile(r"(`[^`]*`)")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown, a line per row."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """Text for a cell, with vertical bars escaped; code is not a formula."""
    spelled = "".join(part if part.startswith("`") else FORMULA.sub(_norms, part) for part in CODE.split(text))
    return spelled.replace("|", "\\|").replace("\n", " ")


def _norms(formula: re.Match[str]) -> str:
    return formula[0].replace("\\|", "\\Vert ").replace("|", "\\vert ")
