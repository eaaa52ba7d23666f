"""The generated page of measures: every variable of a study's catalog, by measure."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.pages.markdown import table
from repdyn.pipeline.run.execute.loading import load_module

INTRODUCTION = """\
# Measures

Every variable of a dataset of `measure`, by the entry of `measures=[...]` that computes it. A `Recorder` puts the
training dimension before the others. What each number means, and when it is meaningless:
[diagnostics](../src/repdyn/diagnostics/page.md). What they are of other packages' numbers:
[conventions](conventions.md).

This page is generated from the catalog (`python -m repdyn dev pages`); a test checks that it agrees with it.
"""
CATALOG = "methods.catalog"
HEAD = ("variable", "what", "dimensions", "units", "paper, place", "missing where")


def page() -> str:
    """The page as Markdown: one table per measure, and one of the papers."""
    parts = [INTRODUCTION]
    for study in STUDIES:
        if find_spec(f"{package_of(study)}.methods") and find_spec(f"{package_of(study)}.{CATALOG}"):
            parts += _sections(load_module(study, CATALOG))
    return "\n".join(parts)


def _sections(catalog: ModuleType) -> Iterator[str]:
    yield table(("name", "paper"), ((f"`{name}`", paper) for name, paper in catalog.PAPERS.items()))
    for measure in catalog.MEASURES:
        yield f"## {measure}\n"
        if measure in catalog.OF_HELD_OUT:
            yield f"Of held-out points (`held_out=`) under the same names and `{catalog.HELD_OUT}`.\n"
        yield table(HEAD, _rows(catalog, measure))


def _rows(catalog: ModuleType, measure: str) -> Iterator[tuple[str, ...]]:
    texts: dict[str, Any] = catalog.TEXTS
    for name, text in texts.items():
        if text.measure == measure:
            dims = ", ".join(f"`{dim}`" for dim in text.dims) or "none"
            yield f"`{name}`", text.long_name, dims, text.units, f"`{text.source}`, {text.where}", text.missing
