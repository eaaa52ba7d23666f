"""`python -m repdyn compare A B --pictures FOLDER`: the figures that differ between two runs, side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

from jinja2 import Template

from repdyn.base.errors import DataError
from repdyn.base.files import fresh
from repdyn.pipeline.ask.compare import Comparison

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ moved | length }} figures differ</title>
<style>body { font: 1rem sans-serif; margin: 1rem } div { display: flex; gap: 1rem } div > * { flex: 1 }
img { width: 100% }</style></head>
<body><h1>{{ moved | length }} figures differ</h1>
<div><p>left: {{ runs.old }}</p><p>right: {{ runs.new }}</p></div>
{% for name in moved %}<h2>{{ name }}</h2>
<div>{% for side, run in runs.items() %}{% if (run / name).is_file() %}
<img src="{{ side }}/{{ name }}" alt="{{ side }}">{% else %}<p>not in this run</p>{% endif %}{% endfor %}</div>
{% endfor %}</body></html>
"""


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
    runs = {"old": first, "new": second}
    for run in runs.values():
        if not run.is_dir():
            raise DataError(f"{run}: --pictures shows files of two runs, but this is not a results folder")
    names = [*outcome.differing, *outcome.only[0], *outcome.only[1]]
    moved = sorted(name for name in names if "/figures/" in name and name.endswith(".png"))
    with fresh(folder):
        for side, name in ((side, name) for side, run in runs.items() for name in moved if (run / name).is_file()):
            (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(runs[side] / name, folder / side / name)
        page = Template(PAGE, autoescape=True).render(moved=moved, runs=runs)
        (folder / "index.html").write_text(page, encoding="utf-8")
    return len(moved)
