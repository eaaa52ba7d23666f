"""Tables: CSV for machines, LaTeX for papers, and a caption."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, ParamSpec

import pandas as pd

from repdyn.base.facts import Facts, plain_facts
from repdyn.base.files import write_json, write_text

P = ParamSpec("P")

SPECIAL = {mark: f"\\{mark}" for mark in "&%$#_{}"}
LATEX = str.maketrans(SPECIAL | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})


@dataclass(frozen=True)
class Table:
    """Rows with title, caption and facts.

    Attributes:
        frame: the rows; column names carry units.
        title: what the table shows, with the number in the paper, if any.
        caption: how each column was measured.
        digits: significant digits shown in LaTeX and in the report; the CSV has all.
        facts: named numbers for readers: counts, sizes.
    """

    frame: pd.DataFrame
    title: str
    caption: str
    digits: int = 4
    facts: Facts = field(default_factory=dict)


class Filled(NamedTuple):
    """The rows of a table with facts of its data.

    Attributes:
        frame: the rows; column names carry units.
        facts: named numbers for readers: counts, sizes.
    """

    frame: pd.DataFrame
    facts: Facts


def table(
    *, title: str, caption: str, digits: int = 4
) -> Callable[[Callable[P, pd.DataFrame | Filled]], Callable[P, Table]]:
    """Decorator of a function that fills a table from datasets; the arguments are those of `Table`.

    Example:
        >>> @table(title="Costs", caption="Last cost of each network.")
        ... def costs(descent):
        ...     return pd.DataFrame({"cost": descent})
        >>> costs([1.0, 2.0]).title
        'Costs'
    """

    def decorate(fill: Callable[P, pd.DataFrame | Filled]) -> Callable[P, Table]:
        @functools.wraps(fill)
        def filled(*args: P.args, **kwargs: P.kwargs) -> Table:
            result = fill(*args, **kwargs)
            frame, facts = result if isinstance(result, Filled) else (result, {})
            return Table(frame, title, caption, digits, plain_facts(facts))

        return filled

    return decorate


def save(table: Table, stem: Path | str, origin: Mapping[str, object] | None = None) -> None:
    """Writes `<stem>.csv`, `<stem>.tex` and `<stem>.json`, each complete or not at all.

    Args:
        table: the table.
        stem: path of the files without the suffix.
        origin: further entries of the JSON file: function, code version and datasets of the table.
    """
    stem = Path(stem)
    write_csv(f"{stem}.csv", table.frame)
    latex = table.frame.to_latex(
        index=False,
        escape=True,
        float_format=f"%.{table.digits}g",
        caption=_latex(table.caption),  # pandas escapes only the cells
        label=f"tab:{stem.name}",
    )
    write_text(f"{stem}.tex", latex)
    about = {"title": table.title, "caption": table.caption, "digits": table.digits, "facts": dict(table.facts)}
    write_json(f"{stem}.json", {**about, **(origin or {})})


def write_csv(path: Path | str, frame: pd.DataFrame) -> None:
    """Writes the rows of a frame as CSV, without its index, atomically."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


def read_cells(path: Path | str) -> pd.DataFrame:
    """The cells of a CSV file as text."""
    return pd.read_csv(path, keep_default_na=False, dtype=str)


def rows(cells: pd.DataFrame) -> list[dict[str, str]]:
    """The rows of a frame of `read_cells`, each by the names of its columns."""
    return [dict(zip(map(str, cells.columns), row, strict=True)) for row in cells.itertuples(index=False, name=None)]


def _latex(words: str) -> str:
    """Text for LaTeX: formulas between dollars are unchanged, all else is escaped."""
    pieces = re.split(r"(\$[^$]+\$)", words)
    return "".join(piece if place % 2 else piece.translate(LATEX) for place, piece in enumerate(pieces))


def placeholder(name: str, needs: str) -> Table:
    """An empty table that says which data are missing for it."""
    text = f"Not filled: needs more than this run has ({needs})."
    return Table(pd.DataFrame({"needs": [needs]}), name.replace("_", " "), text)
