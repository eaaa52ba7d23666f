"""The page of outputs, `docs/outputs.md`: every folder, file, column and attribute of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from repdyn.pipeline.pages.markdown import table
from repdyn.pipeline.run.declare.graph import Study, read_study
from repdyn.plotting import plotted

COLUMNS = {
    "study": "the study, by the name of its folder",
    "id": "the claim's id, the same in every run",
    "where": "theorem, equation or figure of the paper",
    "kind": "identity, bound, limit, scaling, comparison, published number, qualitative, causal",
    "origin": "`paper`: stated by the paper; `ours`: stated by us",
    "statement": "what the paper states, in one sentence",
    "verdict": "the verdict, see docs/verdicts.md",
    "correction": "the corrected statement, if the printed one is refuted",
    "possible_ocr_error": "`True` if the error may come from the scan",
    "kind_of_slip": "severity, if refuted: misprint, slip in a proof (that changes nothing), missing hypothesis, "
    "result changes, conclusion fails",
    "message": "what is wrong, in plain words, if refuted",
    "cause": "why the printed form is wrong, if refuted",
    "consequence": "what follows for the paper, if refuted",
    "sought": "how a counterexample inside the stated hypotheses was looked for, or the proof, if the statement holds",
    "defence": "the strongest defence of the paper, if refuted in substance",
    "answer": "the answer to it",
    "remark": "further remarks on the verdict",
    "words": "the decisive words of the paper, exact; pieces joined by ` ... `",
    "line": "line of the paper's text at which they begin",
    "assumes": "standing assumptions at that place, in our words",
    "formula": "the statement as printed, LaTeX",
    "corrected_formula": "the corrected formula, LaTeX, if the printed one is refuted",
    "printed_measured": "measured value of the printed form, with units",
    "printed_expected": "required value of the printed form",
    "printed_margin": "its margin: tolerance over deviation, above 1 passes",
    "measured": "measured value of the decisive form (the corrected one if there is one)",
    "statistic": "which number decides: `largest deviation`, `smallest`, `mean`, `share`, ...",
    "value": "that number",
    "unit": "unit of value, interval and region; empty for 1",
    "region_low": "lower end of the allowed region; `-inf` without a bound",
    "region_high": "upper end",
    "expected": "required value of that form",
    "margin": "its margin",
    "tolerance": "the largest deviation that passes, if the region comes from one",
    "tolerance_reason": "why the region has its size",
    "n": "number of independent samples; 0 if nothing is sampled",
    "interval_low": "lower end of the confidence interval, if sampled",
    "interval_high": "upper end",
    "false_alarm": "chance to refute a true statement, fixed beforehand",
    "control": "what is wrong in the negative controls",
    "control_outcome": "`rejected`, `undecided` or `not rejected`, the worst of the controls",
    "control_margin": "the margin of a control nearest to 1; below 1, or the check would be blind",
    "uncontrolled_parts": "parts of the check without a control of their own",
    "datasets": "datasets that the check reads",
    "code": "the check, `module:function`",
    "facts": "further numbers by name, as JSON",
    "why": "why no test decides, in words",
    "trials_needed": "number of trials needed, if a claim has too few",
    "trials_present": "number of trials present",
    "code_version": "digest of all definitions that the check depends on",
    "expected_verdict": "the accepted verdict (`verdicts.yaml` of its study)",
    "change": "empty, `new claim`, or `was: ...`; only in the ledger of all studies",
}
EVIDENCE = {
    "form": "`printed` or `corrected`",
    "part": "part of a conjunction; empty if the check is one test",
    "label": "what the part measured, in a phrase, if its name is not clear enough",
    "reading": "choices that define one reading; empty in the row of the part itself",
    "outcome": "passes, fails, undecided, depends (some readings pass, others fail)",
    "statistic, value, unit": "the measured number and its kind: `largest deviation`, `mean`, `share`, ...",
    "out_of": "for a count, the total number",
    "interval_low, interval_high": "its confidence interval, if sampled",
    "region_low, region_high": "the allowed region",
    "control, control_kind": "the part's negative control: what is wrong in it; `wrong formula`, `false world` or "
    "`knock-out`",
    "control_change": "its change of the data: uses numbers `recorded` elsewhere, or declares that it computes new "
    "ones, `recomputed`; never `shifted number`, `not recorded`, `nothing`",
    "control_outcome, control_margin": "its outcome",
}
ATTRIBUTES = {
    "title": "one line, what was computed",
    "study": "the study",
    "experiment": "`module:function` that created it",
    "paper": "the paper",
    "settings": "the job as JSON: seed, settings, further arguments",
    "seed": "root of the random numbers",
    "code_version": "digest of all definitions that the function depends on",
    "versions": "versions of the packages that affect the numbers, as JSON",
    "device": "`cpu` or the GPU",
    "Conventions": "CF-1.11",
}
FIGURE = {
    "panel": "number of the panel in plotting order, and its title",
    "x_axis, y_axis": "labels of the axes, and of named ticks as `place: name`",
    "kind": "`line`, `steps`, `points`, `bar`, `band`, `span`, `level`, `area`, `contour`, `cell`, `arrow`, `text`",
    "series": "name in the legend or at the color bar, else the color as `#rrggbb`; the content of a text",
    "part": "which of several lines, bands or areas of the same kind and series",
    "x, y": "position, in units of the axes; empty if it has none, such as the x of a level across the panel",
    "x_low, x_high, y_low, y_high": "ends of an error bar or band; edges of a bar, span or cell",
    "value": f"the value shown by color or contour; an image of more than {plotted.CELLS} cells is one row only",
}
MANIFEST = {
    "content": "SHA-256 of every result file, by its path in the run's folder; equal for equal runs anywhere",
    "configuration": "every setting of the run, as checked",
    "verdicts": "verdict of every claim by its id, so that runs can be compared without their files",
    "versions": "versions of Python and of packages in the jobs; all of them if jobs differ",
    "machine": "system, processor, number of cores",
    "commit": "the checkout's commit, with `+ edits` if files differ",
    "made": "date and time",
    "costs": "one record per job, the most expensive first; see logs",
}
COSTS = {
    "job": "content of the job file: functions, code versions, settings, inputs and outputs of every task",
    "began": "date and time of the start",
    "inputs": "SHA-256 of every file read, by its path",
    "outputs": "SHA-256 of every file written, by its path",
    "versions": "versions of Python and of packages in the job",
    "finished": "date and time of the end",
    "wall_seconds": "elapsed time",
    "cpu_seconds": "processor time of the outputs, user and system: of the job, and of cached results",
    "read_cpu_seconds": "the part of it that was spent earlier, on the finished trials that were read",
    "trials_read": "cached trials that were read",
    "file_cpu_seconds": "processor time of the function that made a file, by the file's path",
    "peak_memory_mb": "largest resident memory, MB",
}
TOP = """\
# Outputs

Every file of a run. Results are in `results/<run>/`, logs in `logs/<run>/`; every scale has its own run name, so none
overwrites another. Each file is complete or absent, and equal settings give equal bytes.

| path in `results/<run>/` | content |
| --- | --- |
| `data/images.nc` | the images that all studies read |
| `<study>/data/<name>.nc` | a dataset, the result of an experiment or an analysis |
| `<study>/data/<name>/<variant>.nc` | the same for experiments that run once per variant |
| `<study>/figures/<name>.svg`, `.png` | a figure; `.json`: title, caption, alt text, facts, code, datasets |
| `<study>/figures/<name>.csv` | the numbers that the figure shows; see [below](#columns-of-a-figures-csv) |
| `<study>/tables/<name>.csv`, `.tex` | a table, also for LaTeX; `.json`: title, caption, facts, code, datasets |
| `<study>/claims.csv` | the study's part of the ledger |
| `<study>/evidence.csv` | one row per part of a check: measured value, interval, allowed region, control |
| `claims.csv`, `evidence.csv` | the ledger of all studies, compared with the accepted verdicts; all evidence |
| `manifest.json` | digests, configuration, versions, machine, costs |
| `report/index.html` | the report: findings, and pages per study and claim; opens offline |
| `report/single.html` | the same in one file, for sending; compressed, so it needs a browser of 2023 or later |
| `report/errata/<study>.typ`, `.pdf` | errata of a paper to send: Typst source, and PDF with `repdyn[pdf]` |
| `report/captions/` | captions and labels for `snakemake --report` |

`snakemake --report report.html all` creates Snakemake's own report of a finished run (with the same `--configfile` as
the run): figures, tables and ledger by study, with captions, the rules behind them and their run times.

Figures in the report are vector graphics. One above 1 MB, as with very many dots, is shown as a bitmap, so that its
page opens quickly; its SVG is in the results. The SVG contains no bitmaps: maps are cells, at most 2000 or as many as
the data have pairs; color bars have 48 steps.

This page is generated from the code (`python -m repdyn dev pages`); a test checks that it agrees with it.
"""
DATASETS = """\
A dataset is netCDF-4 and opens with `xarray.open_dataset`. Every variable has `long_name`, `units` (`1` without any)
and, in the file, a checksum of its values (`crc32`); every dimension has a coordinate with a standard name: `seed`,
`layer`, `depth`, `width`, `time`, `epoch`, `point`, `unit`, ... If a float variable has missing values, its attribute
`missing` says why. No attribute contains a time, path, host or commit.
"""
FIGURES = """\
Everything that the figure plots from data, read from the plot itself: every line, point, bar and band, with ten digits,
complete.
"""
LOGS = """\
`logs/<run>/<study>/<job>.log` has a job's messages, its progress, and after a failure the error with its traceback;
`<job>.job.json` is what the job runs (`python -m repdyn run <job>.job.json` runs it by hand), `<job>.log.cost.json` the
record of what it ran and cost, written when it is done. Logs are outside every digest.

`.cache/trials/` caches finished trials for all runs ([trials.md](trials.md)): after an interruption the same command
resumes there, and with more seeds only the new ones are computed.
"""


def page(studies: Iterable[str]) -> str:
    """The page as Markdown.

    Args:
        studies: names of all studies, in the order of the configuration.
    """
    parts = [TOP, "## Datasets\n", DATASETS, _table("attribute", ATTRIBUTES)]
    parts += ["## Columns of claims.csv\n", _table("column", COLUMNS)]
    parts += ["## Columns of evidence.csv\n", _table("column", EVIDENCE)]
    parts += ["## Columns of a figure's CSV\n", FIGURES, _table("column", FIGURE)]
    parts += ["## manifest.json\n", _table("key", MANIFEST)]
    parts += ["## Logs and costs\n", LOGS, _table("key of a cost record", COSTS)]
    for study in studies:
        parts += [f"## {study}\n", *_study(read_study(study))]
    return "\n".join(parts)


def _study(study: Study) -> Iterator[str]:
    """Figures, tables and datasets of a study, each with its readers."""
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


def _table(head: str, meanings: dict[str, str]) -> str:
    return table((head, "meaning"), [(f"`{name}`", meaning) for name, meaning in meanings.items()])
