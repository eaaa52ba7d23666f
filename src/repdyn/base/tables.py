"""Tables: CSV for machines, LaTeX for papers, a caption beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from repdyn.base.files import write_json, write_text

SPECIAL = {mark: f"\\{mark}" for mark in "&%$#_{}"}
LATEX = str.maketrans(SPECIAL | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})


@dataclass(frozen=True)
class Table:
    """Rows with what a reader needs beside them.

    Attributes:
        frame: the rows; column names carry units.
        title: what the table shows, with the paper's number where it has one.
        caption: n, scale, how each column was measured.
        digits: significant digits shown in LaTeX and in the report; the CSV has all.
    """

    frame: pd.DataFrame
    title: str
    caption: str
    digits: int = 4


def save(table: Table, stem: Path | str, origin: Mapping[str, object] | None = None) -> None:
    """Writes `<stem>.csv`, `<stem>.tex` and `<stem>.json`, each complete or not at all.

    Args:
        table: the table.
        stem: path of the files without the suffix.
        origin: what the JSON file tells besides title, caption and digits: who made the table from what.
    """
    stem = Path(stem)
    write_csv(f"{stem}.csv", table.frame)
    latex = table.frame.to_latex(
        index=False,
        escape=True,
        float_format=f"%.{table.digits}g",
        caption=_latex(table.caption),  # pandas escapes the cells alone
        label=f"tab:{stem.name}",
    )
    write_text(f"{stem}.tex", latex)
    about = {"title": table.title, "caption": table.caption, "digits": table.digits}
    write_json(f"{stem}.json", {**about, **(origin or {})})


def write_csv(path: Path | str, frame: pd.DataFrame) -> None:
    """Writes the rows of a frame as CSV, without its index, atomically."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


def read_cells(path: Path | str) -> pd.DataFrame:
    """The cells of a CSV file, each the text that was written."""
    return pd.read_csv(path, keep_default_na=False, dtype=str)


def rows(cells: pd.DataFrame) -> list[dict[str, str]]:
    """The rows of a frame of `read_cells`, each by the names of its columns."""
    return [dict(zip(map(str, cells.columns), row, strict=True)) for row in cells.itertuples(index=False, name=None)]


def _latex(words: str) -> str:
    """Words for LaTeX: formulas between dollars stay, all else is escaped."""
    pieces = re.split(r"(\$[^$]+\$)", words)
    return "".join(piece if place % 2 else piece.translate(LATEX) for place, piece in enumerate(pieces))


def placeholder(name: str, needs: str) -> Table:
    """An empty table that says what the run lacks to fill it."""
    text = f"Not filled: needs more than this run has ({needs})."
    return Table(pd.DataFrame({"needs": [needs]}), name.replace("_", " "), text)
