"""`python -m repdyn compare A B --pictures FOLDER`: the figures that differ between two runs, side by side."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterable
from pathlib import Path

from repdyn.base.errors import DataError
from repdyn.pipeline.ask.compare import Comparison
from repdyn.pipeline.new.filling import fresh

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{count} figures differ</title>
<style>body {{ font: 1rem sans-serif; margin: 1rem }} div {{ display: flex; gap: 1rem }} div > * {{ flex: 1 }}
img {{ width: 100% }}</style></head>
<body><h1>{count} figures differ</h1>
<div><p>left: {first}</p><p>right: {second}</p></div>
{figures}</body></html>
"""
NONE = "<p>not in this run</p>"


def write(outcome: Comparison, first: Path, second: Path, folder: Path) -> int:
    """Writes a page of the figures that differ, with copies of them; returns their number.

    Args:
        outcome: the two runs, compared.
        first: results folder shown on the left.
        second: results folder shown on the right.
        folder: a new or empty folder.

    Raises:
        ConfigError: the folder is not empty.
        DataError: one of the two is not a results folder.
    """
    for run in (first, second):
        if not run.is_dir():
            raise DataError(f"{run}: --pictures shows files of two runs, but this is not a results folder")
    moved = sorted(filter(_is_picture, [*outcome.differing, *outcome.only[0], *outcome.only[1]]))
    with fresh(folder):
        figures = "".join(_figure(name, [("old", first), ("new", second)], folder) for name in moved)
        names = {"first": html.escape(str(first)), "second": html.escape(str(second))}
        page = PAGE.format(count=len(moved), figures=figures, **names)
        (folder / "index.html").write_text(page, encoding="utf-8")
    return len(moved)


def _is_picture(name: str) -> bool:
    return "/figures/" in name and name.endswith(".png")


def _figure(name: str, sides: Iterable[tuple[str, Path]], folder: Path) -> str:
    """HTML lines for a figure, whose files are copied."""
    cells = ""
    for side, run in sides:
        there = (run / name).is_file()
        if there:
            (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / name, folder / side / name)
        cells += f'<img src="{side}/{html.escape(name)}" alt="{side}">' if there else NONE
    return f"<h2>{html.escape(name)}</h2>\n<div>{cells}</div>\n"
