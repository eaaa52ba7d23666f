"""Goes on until claims are decided: more trials for those that a run leaves open, the cheapest first.

A sampled claim stays open where its interval crosses the border of what the statement allows. The interval shrinks with
the root of the number of trials, so evidence tells how many are wanted, and the records of jobs tell what they cost.
Trials are doubled, and every claim on the same data is looked at once more: later looks spend less of the false alarm
(`base.verdicts.at_look`). Finished trials are read, not computed (`docs/trials.md`). A claim on too few trials for any
interval first gets the fewest that have one; that is its first look.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML
from scipy.special import stdtrit

from repdyn.base.claims import UNDECIDED
from repdyn.base.errors import DataError, RepdynError
from repdyn.base.files import write_text
from repdyn.base.settings import Settings
from repdyn.base.tables import read_cells
from repdyn.base.verdicts import AGREEMENT
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.run.declare.graph import Function, Study, home, read_study
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.execute.kept import member_seconds
from repdyn.pipeline.run.kinds import ledger

COUNTS = ("blocks", "seeds", "trials", "draws", "runs", "teachers", "staged_seeds")
"""Settings that say how many independent trials there are."""
MOST_DOUBLINGS = 6
KEPT = ".log.kept/"  # what is put back from there gets the time at which it is
SUFFIX = "-decided"
TOO_FEW = re.compile(r"(\d+) (?:along (?:seed|teacher|trial|draw|run), has|samples or more, got) ([1-9]\d*)")
"""What `datasets.require` says of too few trials, `verdicts.mean_within` of too few samples."""


@dataclass(frozen=True)
class Need:
    """What an open claim wants.

    Attributes:
        id: the claim.
        study: its study.
        doublings: of the number of its trials; None where more trials decide nothing, `reason` says why.
        reason: in words.
        factor: on the number of its trials; below 2^doublings where they are too few for any interval.
        seen: whether the claim has been looked at, which too few trials for an interval do not allow.
        knobs: section and name of the settings to double -> today's value.
        seconds: CPU seconds that this will take.
    """

    id: str
    study: str
    doublings: int | None
    reason: str
    knobs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    seconds: float = 0.0
    factor: float = 1.0
    seen: bool = True


def needs(run: str) -> list[Need]:
    """What each open claim of a finished run wants, the cheapest first.

    Raises:
        DataError: the run has no ledger, evidence or records.
    """
    results = Path("results") / run
    if not (results / "claims.csv").is_file():
        raise DataError(f"{results}/claims.csv: missing; finish the run first: snakemake --cores 8 all")
    table, evidence = ledger.read(results / "claims.csv"), read_cells(results / "evidence.csv")
    settings = json.loads((results / "manifest.json").read_text(encoding="utf-8"))["configuration"]
    costs = _costs(run)
    wanted = []
    for row in _rows(table[table["verdict"] == UNDECIDED]):
        few = _of_too_few(row["note"])
        doublings, reason = few[1:] if few else _doublings(evidence[evidence["id"] == row["id"]], row["note"])
        study = row["study"]
        knobs = _knobs(study, row["datasets"].split(), settings[study]) if doublings else {}
        if doublings and not knobs:
            doublings, reason = None, "no setting says how many trials its data have"
        factor = few[0] if few else 2.0 ** (doublings or 0)
        seconds = _seconds(study, knobs, factor, costs) if doublings else 0.0
        wanted.append(Need(row["id"], study, doublings, reason, knobs, seconds, factor, few is None))
    return sorted(wanted, key=lambda need: (need.doublings is None, need.seconds))


def _rows(table: pd.DataFrame) -> list[dict[str, str]]:
    return [{str(name): str(cell) for name, cell in row.items()} for row in table.to_dict("records")]


def _of_too_few(note: str) -> tuple[float, int, str] | None:
    """Factor on too few trials for any interval that gives the fewest, doublings it comes to, why; else None."""
    if not (few := TOO_FEW.search(note)):
        return None
    wanted, has = map(int, few.groups())
    return wanted / has, math.ceil(math.log2(wanted / has)), few[0]


def _doublings(evidence: pd.DataFrame, note: str) -> tuple[int | None, str]:
    """How often the trials are to be doubled until the open parts of a claim are decided, and why."""
    whole = evidence[(evidence["reading"] == "") & (evidence["outcome"] == "undecided")]
    if whole.empty:
        return None, note or "no part of it is sampled"
    wanted_by_part = []
    for row in _rows(whole):
        same = (evidence["part"] == row["part"]) & (evidence["form"] == row["form"])
        readings = _rows(evidence[same & (evidence["reading"] != "")])
        wanted_by_part.append(_of_readings(readings) if readings else _of_interval(row))
        if wanted_by_part[-1] is None:
            return None, "; ".join(filter(None, (row["measured"], row["tolerance_reason"])))
    doublings = max(filter(None, wanted_by_part))
    if doublings > MOST_DOUBLINGS:
        return None, f"a border case: not even {2**MOST_DOUBLINGS} times as many trials"
    return doublings, f"{2**doublings} times as many trials"


def _of_readings(readings: Sequence[Mapping[str, str]]) -> int | None:
    """Doublings at which as many readings are decided as carry a verdict."""
    wanted = [0 if row["outcome"] != "undecided" else _of_interval(row) for row in readings]
    known = sorted(doublings for doublings in wanted if doublings is not None)
    enough = math.ceil(AGREEMENT * len(wanted))
    return known[enough - 1] if len(known) >= enough else None


def _of_interval(row: Mapping[str, str]) -> int | None:
    """Doublings until an interval no longer reaches the border in it, one more than the most where none of these do.

    As many samples from the same distribution have Student's interval of the same standard deviation, at the part of
    the false alarm that the look then spends. None for what has no interval, or none with a border in it.
    """
    names = ("interval_low", "interval_high", "region_low", "region_high", "value", "n", "false_alarm")
    low, high, bottom, top, value, n, rate = (float(row[name]) if row[name] else math.nan for name in names)
    center = value if math.isfinite(value) else (low + high) / 2
    borders = [border for border in (bottom, top) if low < border < high]
    if not borders or not n >= 2 or not rate > 0:
        return None
    reaches = [(center - low if border < center else high - center, abs(center - border)) for border in borders]
    for doublings in range(1, MOST_DOUBLINGS + 1):
        samples, spent = n * 2**doublings, rate / 2**doublings
        quantiles = stdtrit(samples - 1, 1 - spent / 2) / stdtrit(n - 1, 1 - rate / 2)
        shrunk = quantiles / math.sqrt(2**doublings)
        if all(reach * shrunk <= distance for reach, distance in reaches):
            return doublings
    return MOST_DOUBLINGS + 1


def _knobs(study: str, names: Iterable[str], settings: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """The settings that count the trials of datasets: of the experiment, or of those whose data it analyzes."""
    graph = read_study(study)
    knobs: dict[tuple[str, str], int] = {}
    for name in names:
        if name not in graph.experiments:
            continue
        own = _counts(study, graph, name)
        values = {knob: settings[knob[0]][knob[1]] for knob in own}
        knobs |= values or _knobs(study, graph.experiments[name].reads, settings)
    return knobs


def _counts(study: str, graph: Study, name: str) -> list[tuple[str, str]]:
    """Section and name of the settings that count an experiment's trials."""
    sections = studies.declared()[study].settings.model_fields
    function = graph.experiments[name]
    counts = []
    for parameter, annotation in function.parameters.items():
        models = {
            section: info.annotation
            for section, info in sections.items()
            if isinstance(info.annotation, type)
            and issubclass(info.annotation, Settings)
            and annotation in {model.__name__ for model in info.annotation.__mro__}
        }
        chosen = {name: models[name]} if name in models else models
        if parameter in function.reads or len(chosen) != 1:
            continue
        ((section, model),) = chosen.items()
        names = [key for key in COUNTS if key in model.model_fields and model.model_fields[key].annotation is int]
        if "blocks" in names and "block" in function.parameters:
            names = ["blocks"]
        elif used := [key for key in names if key in _attributes(study, function)]:
            names = used
        counts += [(section, key) for key in names]
    return counts


def _attributes(study: str, function: Function) -> set[str]:
    """Names of the attributes that a function reads itself: `settings.seeds`."""
    file = home(study)[1].joinpath(*function.module.split(".")).with_suffix(".py")
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    own = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == function.name)
    return {node.attr for node in ast.walk(own) if isinstance(node, ast.Attribute)}


@dataclass(frozen=True)
class Cost:
    """What a dataset took: its member of a job, or the whole job where that is not known.

    Attributes:
        of: name of the job, with that of the file where it is the member's cost.
        seconds: CPU seconds.
        keeps: whether it keeps finished trials.
    """

    of: str
    seconds: float
    keeps: bool


def _costs(run: str) -> dict[str, Cost]:
    """Dataset's file -> what it took.

    Raises:
        DataError: no job of the run left a record.
    """
    latest = records.by_output(records.of_run(run))
    if not latest:
        raise DataError(f"logs/{run}: no job of this run left a record of its cost; finish the run first")
    place = f"results/{run}/"
    return {
        path.removeprefix(place): _cost(path, record, path.removeprefix(place), Path("logs") / run)
        for path, record in latest.items()
        if path.startswith(place)
    }


def _cost(path: str, record: Mapping[str, Any], file: str, logs: Path) -> Cost:
    members = [member for member in record["job"]["members"] if "function" in member and "paper" in member]
    kept = member_seconds(logs / f"{record['log']}.log")
    own = [member for member in members if file in member["outputs"]]
    seconds = kept.get((Path(file).name, record["outputs"][path])) if own else None
    if seconds is None:
        return Cost(record["log"], float(record["cpu_seconds"]), any(map(_keeps, members)))
    return Cost(f"{record['log']}:{file}", seconds, any(map(_keeps, own)))


def _keeps(member: Mapping[str, Any]) -> bool:
    """Whether an experiment keeps finished trials."""
    function = member["function"].rpartition(":")[2]
    return "checkpoint" in read_study(member["study"]).experiments[function].parameters


def _seconds(study: str, knobs: Mapping[tuple[str, str], int], factor: float, costs: Mapping[str, Cost]) -> float:
    """CPU seconds of the jobs that more trials make run: of new trials alone where finished ones are kept."""
    grown = _grown(study, read_study(study), {section for section, _ in knobs})
    made_by = {
        cost.of: cost
        for file, cost in costs.items()
        for name in grown
        if file == f"{study}/data/{name}.nc" or file.startswith(f"{study}/data/{name}/")
    }
    return sum(cost.seconds * (factor - cost.keeps) for cost in made_by.values())


def _grown(study: str, graph: Study, sections: set[str]) -> list[str]:
    """Datasets with more trials where these sections have: their own, and those of the analyses on them."""
    names = graph.experiments
    grown = {name for name in names if sections & {section for section, _ in _counts(study, graph, name)}}
    while more := {name for name in names if name not in grown and grown & set(names[name].reads)}:
        grown |= more
    return [name for name in names if name in grown]


@dataclass(frozen=True)
class Round:
    """One more look.

    Attributes:
        settings: what an overlay says: counts of trials, and the number of the look at each claim on them.
        chosen: the open claims that it is for.
    """

    settings: Mapping[str, Any]
    chosen: list[Need]


def plan(run: str, budget: float, found: Iterable[Need]) -> Round:
    """The trials to add: claims from the cheapest on, as long as the CPU seconds of the budget last."""
    configuration = json.loads((Path("results") / run / "manifest.json").read_text(encoding="utf-8"))["configuration"]
    values: dict[tuple[str, str, str], int] = {}
    chosen, spent = [], 0.0
    looks: dict[str, int] = dict(configuration["run"].get("looks", {}))
    found, grown = list(found), dict[str, int]()
    unseen = {need.id for need in found if not need.seen}
    for need in found:
        wanted = {(need.study, *knob): math.ceil(value * need.factor) for knob, value in need.knobs.items()}
        more = any(values.get(key, 0) < value for key, value in wanted.items())  # else another claim has asked for them
        if need.doublings is None or spent + need.seconds * more > budget:
            continue
        spent += need.seconds * more
        chosen.append(need)
        values |= {key: max(values.get(key, 0), value) for key, value in wanted.items()}
        graph = read_study(need.study)
        for dataset in _grown(need.study, graph, {section for section, _ in need.knobs}):
            for id in set(graph.claims_of(dataset)) - unseen:
                grown[id] = max(grown.get(id, 0), need.doublings)
    looks |= {id: looks.get(id, 1) + more for id, more in grown.items()}
    settings: dict[str, Any] = {"run": {"looks": looks}}
    for (study, section, name), value in values.items():
        settings.setdefault(study, {}).setdefault(section, {})[name] = value
    return Round(settings, chosen)


def begin(run: str, name: str) -> None:
    """A run that starts as a copy of another: every file under a second name, so that only what changes is computed."""
    for kind in ("results", "logs"):
        source, target = Path(kind) / run, Path(kind) / name
        if not target.exists():
            shutil.copytree(source, target, copy_function=_second_name)
    for record in (Path("logs") / name).rglob(f"*{records.FINISHED}"):
        text = record.read_text(encoding="utf-8").replace(f"results/{run}/", f"results/{name}/")
        write_text(record, text)


def _second_name(source: str, target: str) -> str:
    """A hard link; a copy of what is rewritten or given another time, or where the file system has no links."""
    if source.endswith(records.FINISHED) or KEPT in source:
        return shutil.copy2(source, target)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def go_on(name: str, options: Iterable[str], cores: int) -> float:
    """Runs the workflow with Snakemake's options; CPU seconds that it took.

    Raises:
        RepdynError: the run failed.
    """
    before = records.of_run(name)
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *options, "--", "all"]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise RepdynError(f"the run {name} failed: its logs are in logs/{name}; the same command resumes")
    return _spent(before, records.of_run(name))


def _spent(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> float:
    """CPU seconds of the jobs that ran between two readings of a run's records, without what they read."""
    finished = {job["log"]: job.get("finished") for job in before}
    ran = (job for job in after if finished.get(job["log"]) != job.get("finished"))
    return sum(float(job["cpu_seconds"]) - float(job.get("spared_cpu_seconds", 0)) for job in ran)


def overlay(settings: Mapping[str, Any], name: str) -> str:
    """The text of an overlay that repeats a run by hand."""
    stream = io.StringIO()
    stream.write(
        "# Written by `python -m repdyn decide`: more trials for claims that were open, and how often each was\n"
    )
    stream.write("# looked at since. To repeat the run by hand, give this file after that of its scale.\n\n")
    YAML().dump({**settings, "run": {"name": name, **settings["run"]}}, stream)
    return stream.getvalue()


def show(wanted: Iterable[Need]) -> str:
    """The open claims: what each wants and what it costs, or why more trials decide nothing."""
    lines = [f"{'claim':28}{'core-minutes':>13}  wants"]
    for need in wanted:
        minutes = "-" if need.doublings is None else f"{need.seconds / 60:.1f}"
        lines.append(f"{need.id:28}{minutes:>13}  {need.reason}")
    return "\n".join(lines)


def decide(
    run: str, options: Iterable[str], *, budget: float, looks: int | None, cores: int, say: Callable[[str], None]
) -> None:
    """Adds trials to a copy of a run, look after look, until nothing is open that they decide or the budget is used.

    Args:
        run: name of a finished run.
        options: Snakemake's options for it: its overlays.
        budget: CPU seconds.
        looks: at most so many; None for no limit.
        cores: cores of the runs.
        say: takes what a person should read.
    """
    name = run if run.endswith(SUFFIX) else run + SUFFIX
    file, today, left = Path("config") / f"{name}.yaml", run, budget
    before = {need.id for need in needs(run)}
    for _ in itertools.count() if looks is None else range(looks):
        wanted = needs(today)
        step = plan(today, left, wanted)
        if not step.chosen:
            break
        say(f"{today}: {len(wanted)} claims open; more trials for {', '.join(need.id for need in step.chosen)}")
        begin(today, name)
        own = _joined(_written(file), step.settings)
        write_text(file, overlay(own, name))
        left -= (took := go_on(name, _with(options, file), cores))
        today = name
        say(f"{name}: {took / 60:.1f} core-minutes, {max(left, 0) / 60:.1f} left")
    if today == name:
        gone = sorted(before - {need.id for need in needs(name)})
        command = ["snakemake", "--cores", str(cores), *_with(options, file), "--", "all"]
        say(f"decided: {', '.join(gone) or 'none'}\nby hand: {shlex.join(command)}")
    say(show(needs(today)))


def _with(options: Iterable[str], file: Path) -> list[str]:
    """Snakemake's options with one overlay more."""
    words = list(options)
    place = words.index("--configfile") + 1 if "--configfile" in words else 0
    after = next((k for k in range(place, len(words)) if words[k].startswith("--")), len(words)) if place else 0
    return [*words[:after], str(file), *words[after:]] if place else ["--configfile", str(file), *words]


def _written(file: Path) -> dict[str, Any]:
    """What an earlier call wrote; nothing before the first."""
    return yaml_positions.values(file) if file.is_file() else {}


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others over them, section by section."""
    joined = dict(first)
    for key, value in second.items():
        joined[key] = _joined(joined[key], value) if isinstance(joined.get(key), Mapping) else value
    return joined
