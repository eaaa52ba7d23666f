"""The page of outputs, `docs/outputs.md`: every folder, file, column and attribute that a run leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from repdyn.base.claims import Claim
from repdyn.base.fingerprint import SOURCE

COLUMNS = {
    "study": "the study, as its folder is called",
    "id": "the claim's id, the same in every run",
    "where": "theorem, equation or figure of the paper",
    "kind": "identity, bound, limit, scaling, comparison, published number, qualitative",
    "statement": "what the paper states, in one sentence",
    "verdict": "what the numbers decide; the README says what each verdict means",
    "correction": "the right statement, where the printed one is refuted",
    "possible_ocr_error": "`True` where the slip may be the scan's",
    "formula": "the statement as printed, LaTeX",
    "corrected_formula": "the right formula, LaTeX, where the printed one is refuted",
    "printed_measured": "what was measured of the printed form, with units",
    "printed_expected": "what the printed form asks for",
    "printed_margin": "its margin: tolerance over deviation, above 1 passes",
    "measured": "what was measured of the form that carries the verdict (the corrected one where there is one)",
    "expected": "what that form asks for",
    "margin": "its margin",
    "tolerance_reason": "the tolerance and why it has its size",
    "n": "number of independent samples; 0 where nothing is sampled",
    "interval_low": "lower end of the confidence interval, where sampled",
    "interval_high": "upper end",
    "false_alarm": "chance to refute a true statement, fixed beforehand",
    "control": "what the negative control spoils",
    "control_measured": "what was measured with it",
    "control_margin": "its margin; below 1, else the check would see nothing",
    "datasets": "names of the datasets that the check reads",
    "code": "the check, `module:function`",
    "note": "what a reader should know besides",
    "code_version": "digest of all definitions that the check reaches",
    "expected_verdict": "the verdict a person has accepted (`workflow/expected_verdicts.yaml`)",
    "change": "empty, `new claim`, or `was: ...`; only in the ledger of all studies",
}
ATTRIBUTES = {
    "title": "one line, what was computed",
    "study": "the study",
    "experiment": "`module:function` that made it",
    "paper": "the paper",
    "serves_figures": "figures that show it",
    "serves_claims": "claims that it decides",
    "settings": "the job as JSON: seed, settings, further arguments",
    "seed": "root of the random numbers",
    "code_version": "digest of all definitions that the function reaches",
    "versions": "versions of the packages whose numerics count, as JSON",
    "device": "`cpu` or the GPU",
    "Conventions": "CF-1.11",
}
MANIFEST = {
    "content": "SHA-256 of every result file, by its path in the run's folder; equal for equal runs anywhere",
    "configuration": "every setting of the run, as checked",
    "verdicts": "verdict of every claim by its id, so that runs can be compared where their files are not at hand",
    "versions": "versions of Python and of the packages",
    "machine": "system, processor, number of cores",
    "commit": "the checkout's commit, with `+ edits` where files differ",
    "command": "the command that wrote the manifest",
    "made": "date and time",
    "costs": "one record per job, the dearest first; see logs",
}
COSTS = {
    "job": "the job, as its log is called",
    "command": "the command of `python -m repdyn` that ran",
    "study": "the study; empty for what serves all",
    "arguments": "the command line, with settings and code version",
    "inputs": "SHA-256 of every file read, by its path",
    "outputs": "SHA-256 of every file written, by its path",
    "finished": "date and time of the end",
    "wall_seconds": "elapsed time",
    "cpu_seconds": "processor time of the job and its children, user and system",
    "peak_memory_mb": "largest resident memory, MB",
    "threads": "threads of numerical libraries, part of the recipe",
}
TOP = """\
# Outputs

Every file that a run leaves. Results stand in `results/<run>/`, logs in `logs/<run>/`; every scale has its own run
name, so none overwrites another. Each file is complete or absent, and equal settings give equal bytes.

| path in `results/<run>/` | holds |
| --- | --- |
| `data/images.nc` | the images that all studies read |
| `<study>/data/<name>.nc` | a dataset: what an experiment or an analysis computed |
| `<study>/data/<name>/<variant>.nc` | the same for experiments that run once per variant |
| `<study>/figures/<name>.svg`, `.png` | a figure; `.json`: title, caption, alt text, claims, code, datasets |
| `<study>/tables/<name>.csv`, `.tex` | a table for machines and for LaTeX; `.json`: title, caption, code, datasets |
| `<study>/claims.csv` | the study's part of the ledger |
| `claims.csv` | the ledger of all studies, compared with the accepted verdicts |
| `manifest.json` | digests, configuration, versions, machine, costs |
| `report/index.html` | the report: one file, opens offline; its links to data want the folders beside it |
| `report/captions/` | the captions once more, for `snakemake --report` |

`snakemake --report report.html all` makes Snakemake's own report of a finished run (with the same `--configfile` as the
run): figures, tables and ledger by study, with captions, the rules behind them and their run times.

This page is generated from the code (`python -m repdyn reference`); a test holds it to it.
"""
DATASETS = """\
A dataset is netCDF-4 and opens with `xarray.open_dataset`. Every variable has `long_name` and `units` (`1` where it has
none), every dimension a coordinate with the field's name: `seed`, `layer`, `depth`, `width`, `time`, `epoch`, `point`,
`unit`, ... A float variable that is not finite everywhere says why in its attribute `missing`. No attribute holds a
clock, path, host or commit.
"""
LOGS = """\
`logs/<run>/<study>/<job>.log` holds what a job said, its progress, and where it failed the error with its traceback;
`<job>.log.cost.json` its cost, written when it is done. `<job>.log.checkpoints/` keeps the finished trials of a long
job until it is done: after a kill the same command resumes there. Logs are outside every digest.
"""


class Product(NamedTuple):
    """A figure, a table or an analysis: its name, what it shows, the datasets it reads."""

    name: str
    shows: str
    reads: tuple[str, ...]


def page(studies: Iterable[tuple[str, Iterable[Claim]]]) -> str:
    """The page as Markdown.

    Args:
        studies: name and claims of every study, in the order of the configuration.
    """
    parts = [TOP, "## Datasets\n", DATASETS, _table("attribute", ATTRIBUTES)]
    parts += ["## Columns of claims.csv\n", _table("column", COLUMNS), "## manifest.json\n", _table("key", MANIFEST)]
    parts += ["## Logs and costs\n", LOGS, _table("key of a cost record", COSTS)]
    for study, claims in studies:
        parts += [f"## {study}\n", *_study(study, list(claims))]
    return "\n".join(parts)


def _study(study: str, claims: list[Claim]) -> Iterator[str]:
    """Figures, tables and datasets of a study, each with who reads it."""
    figures, tables = (list(products(study, room, kind)) for room, kind in (("figures", "Figure"), ("tables", "Table")))
    for head, made in (("figure", figures), ("table", tables)):
        if not made:
            continue
        yield _rows((head, "shows", "datasets"), [(f"`{one.name}`", one.shows, _code(one.reads)) for one in made])
    shown = [*figures, *tables, *products(study, "experiments", "xr.Dataset")]
    names = dict.fromkeys(
        [*(name for one in shown for name in one.reads), *(name for one in claims for name in one.data)]
    )
    rows = [
        (
            f"`{name}`",
            _code(dict.fromkeys(one.name for one in shown if name in one.reads)),
            _code(one.id for one in claims if name in one.data),
        )
        for name in names
    ]
    yield _rows(("dataset", "figures, tables, analyses", "claims"), rows)


def products(study: str, room: str, kind: str) -> Iterator[Product]:
    """Public functions of a study's room that return a `Figure`, `Table` or `xr.Dataset`; read, not imported."""
    base = SOURCE / "repdyn" / study
    for path in sorted(base.glob(f"{room}/*.py")) or [base / f"{room}.py"]:
        if not path.is_file():
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _returns(node, kind):
                says = (ast.get_docstring(node) or "").split("\n")[0]
                yield Product(node.name, says, tuple(one.arg for one in node.args.args if _is_dataset(one)))


def _is_dataset(argument: ast.arg) -> bool:
    """A dataset, or a dict of them by variant; what experiments get besides (settings, streams) is none."""
    return "xr.Dataset" in ast.unparse(argument.annotation) if argument.annotation else False


def _returns(node: ast.FunctionDef, kind: str) -> bool:
    return node.returns is not None and ast.unparse(node.returns) == kind


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: str, meanings: dict[str, str]) -> str:
    return _rows((head, "meaning"), [(f"`{name}`", meaning) for name, meaning in meanings.items()])


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
