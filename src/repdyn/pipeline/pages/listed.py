"""Tables of the generated pages: outputs and readers of each study, measures, the glossary, fresh draws."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from repdyn.pipeline.packages import package_of
from repdyn.pipeline.report import page_md
from repdyn.pipeline.report.texts import TERMS
from repdyn.pipeline.run.declare.graph import Study, read_study
from repdyn.pipeline.run.execute.loading import load_module

FORMULA = re.compile(r"\$[^$]+\$")
CODE = re.compile(r"(`[^`]*`)")
CATALOG = "methods.catalog"
MEASURE = ("variable", "what", "dimensions", "units", "paper, place", "missing where")
LOOKED_AT, FRESH = "default", "full"


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


def outputs(studies: Iterable[str]) -> str:
    """Figures, tables and datasets of all studies, each with its readers."""
    return "\n".join(part for study in studies for part in (f"## {study}\n", *_outputs(read_study(study))))


def _outputs(study: Study) -> Iterator[str]:
    for head, functions in (("figure", study.figures), ("table", study.tables)):
        if functions:
            drawn = [(f"`{function.name}`", function.summary, _code(function.reads)) for function in functions.values()]
            yield table((head, "shows", "datasets"), drawn)
    shown = [*study.figures.values(), *study.tables.values(), *study.experiments.values()]
    rows = [
        (
            f"`{name}`",
            experiment.summary,
            _code(dict.fromkeys(function.name for function in shown if name in function.reads)),
            _code(study.claims_of(name)),
        )
        for name, experiment in study.experiments.items()
    ]
    yield table(("dataset", "holds", "figures, tables, analyses", "claims"), rows)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def measures(studies: Iterable[str]) -> str:
    """Every variable of a study's catalog: one table per measure, and one of the papers."""
    parts: list[str] = []
    for study in studies:
        if find_spec(f"{package_of(study)}.methods") and find_spec(f"{package_of(study)}.{CATALOG}"):
            parts += _measures(load_module(study, CATALOG))
    return "\n".join(parts)


def _measures(catalog: ModuleType) -> Iterator[str]:
    yield table(("name", "paper"), ((f"`{name}`", paper) for name, paper in catalog.PAPERS.items()))
    for measure in catalog.MEASURES:
        yield f"## {measure}\n"
        if measure in catalog.OF_HELD_OUT:
            yield f"Of held-out points (`held_out=`) under the same names and `{catalog.HELD_OUT}`.\n"
        yield table(MEASURE, _rows(catalog, measure))


def _rows(catalog: ModuleType, measure: str) -> Iterator[tuple[str, ...]]:
    texts: dict[str, Any] = catalog.TEXTS
    for name, text in texts.items():
        if text.measure == measure:
            dims = ", ".join(f"`{dim}`" for dim in text.dims) or "none"
            yield f"`{name}`", text.long_name, dims, text.units, f"`{text.source}`, {text.where}", text.missing


def glossary() -> str:
    """The terms that the report explains, in alphabetical order, each with an anchor."""
    terms = page_md.terms(page_md.pages(), TERMS)
    return "".join(f'- <a id="{slug}"></a>**{term}**: {says}\n' for slug, (term, says) in terms.items())


def fresh_draws(verdicts: Mapping[str, Mapping[str, str]]) -> str:
    """Choices made after numbers had been seen, with the verdicts of their claims at the default and the full scale.

    `page.md` of a study lists the choices. The full scale has a different seed (`workflow/scales/full.yaml`).

    Args:
        verdicts: reference run -> claim -> verdict.
    """
    columns = [name for name in (LOOKED_AT, FRESH) if name in verdicts]
    parts = []
    for study, page in page_md.pages().items():
        if not (choices := page.items.chosen_after_looking):
            continue
        rows = [
            ("" if place else choice.chosen, f"`{id}`", *(verdicts[name].get(id, "not judged") for name in columns))
            for choice in choices
            for place, id in enumerate(choice.claims)
        ]
        parts += [f"## {study}\n", f"Chosen after seeing numbers: {len(choices)}.\n"]
        parts.append(table(("chosen", "claim", *columns), rows))
    return "\n".join(parts)
