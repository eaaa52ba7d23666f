"""Extends a run until its claims are decided: more trials for open claims, the cheapest first.

A sampled claim is open if its interval crosses the boundary of what the statement allows. The interval shrinks with the
square root of the number of trials, so the evidence gives the number of trials needed, and the records of jobs give
their cost. Trials are doubled, and every claim on the same data is analyzed again, with less of the false-alarm rate
each time (`base.sampled.at_look`). Finished trials are read, not computed (`docs/trials.md`). A claim with too few
trials for any interval first gets the smallest number that gives one; that is its first analysis.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from repdyn.base.errors import DataError, RepdynError
from repdyn.base.files import write_text
from repdyn.base.tables import rows
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline import kept_runs
from repdyn.pipeline.ask import verify, workflow
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.open_claims import Wanted, counts, wanted
from repdyn.pipeline.run.declare.graph import Study, read_study
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.kinds import ledger

SUFFIX = "-decided"
SHOWN_LINES = 12


@dataclass(frozen=True)
class Need(Wanted):
    """What an open claim of a run needs, with the claim and the cost.

    Attributes:
        id: the claim.
        study: its study.
        seconds: CPU seconds that this will take.
    """

    id: str = ""
    study: str = ""
    seconds: float = 0.0


def needs(run: str) -> list[Need]:
    """What each open claim of a finished run needs, the cheapest first.

    Raises:
        DataError: the run has no ledger, evidence or records.
    """
    results = Path("results") / run
    if not (results / "claims.csv").is_file():
        raise DataError(f"{results}/claims.csv: missing; finish the run first: snakemake --cores 8 all")
    claims = rows(ledger.read(results / "claims.csv", ("id", "study", "verdict")))
    evidence = rows(ledger.read(results / "evidence.csv", ("id",)))
    settings = kept_runs.read_manifest(results)["configuration"]
    costs = _costs(run)
    found = []
    for row in claims:
        if row["verdict"] != UNDECIDED:
            continue
        wants = wanted(row, [part for part in evidence if part["id"] == row["id"]], settings[row["study"]])
        seconds = _seconds(row["study"], wants.trial_settings, wants.factor, costs) if wants.doublings else 0.0
        asked = wants.doublings, wants.reason, wants.trial_settings, wants.factor, wants.seen
        found.append(Need(*asked, id=row["id"], study=row["study"], seconds=seconds))
    return sorted(found, key=lambda need: (need.doublings is None, need.seconds))


def _costs(run: str) -> dict[str, float]:
    """Dataset's file -> CPU seconds of its experiment.

    Raises:
        DataError: no job of the run has a record.
    """
    if not (recorded := records.of_run(run)):
        raise DataError(f"logs/{run}: no job of this run has a record of its cost; finish the run first")
    return records.seconds_by_file(recorded, run)


def _seconds(
    study: str, trial_settings: Mapping[tuple[str, str], int], factor: float, costs: Mapping[str, float]
) -> float:
    """CPU seconds of the experiments that run for more trials; only of new trials if finished ones are cached."""
    graph, total = read_study(study), 0.0
    for name in _grown(study, graph, {section for section, _ in trial_settings}):
        single, folder = f"{study}/data/{name}.nc", f"{study}/data/{name}/"
        took = sum(seconds for file, seconds in costs.items() if file == single or file.startswith(folder))
        total += took * (factor - ("checkpoint" in graph.experiments[name].parameters))
    return total


def _grown(study: str, graph: Study, sections: set[str]) -> list[str]:
    """Datasets that get more trials with these sections: of their experiments, and of analyses of these."""
    names = graph.experiments
    grown = {name for name in names if sections & {section for section, _ in counts(study, graph, name)}}
    while more := {name for name in names if name not in grown and grown & set(names[name].reads)}:
        grown |= more
    return [name for name in names if name in grown]


@dataclass(frozen=True)
class Round:
    """One more analysis.

    Attributes:
        settings: content of the overlay: numbers of trials, and the number of analyses of each claim on them.
        chosen: the open claims that it is to decide.
    """

    settings: Mapping[str, Any]
    chosen: list[Need]


def plan(run: str, budget: float, found: Iterable[Need]) -> Round:
    """The trials to add: for the cheapest claims first, within the CPU seconds of the budget."""
    configuration = kept_runs.read_manifest(Path("results") / run)["configuration"]
    values: dict[tuple[str, str, str], int] = {}
    chosen, spent = [], 0.0
    looks: dict[str, int] = dict(configuration["run"].get("looks", {}))
    found, grown = list(found), dict[str, int]()
    unseen = {need.id for need in found if not need.seen}
    for need in found:
        wanted = {
            (need.study, *setting): math.ceil(value * need.factor) for setting, value in need.trial_settings.items()
        }
        more = any(values.get(key, 0) < value for key, value in wanted.items())  # else another claim already needs them
        if need.doublings is None or spent + need.seconds * more > budget:
            continue
        spent += need.seconds * more
        chosen.append(need)
        values |= {key: max(values.get(key, 0), value) for key, value in wanted.items()}
        graph = read_study(need.study)
        for dataset in _grown(need.study, graph, {section for section, _ in need.trial_settings}):
            for id in sorted(set(graph.claims_of(dataset)) - unseen):
                grown[id] = max(grown.get(id, 0), need.doublings)
    looks |= {id: looks.get(id, 1) + more for id, more in grown.items()}
    settings: dict[str, Any] = {"run": {"looks": looks}}
    for (study, section, name), value in values.items():
        settings.setdefault(study, {}).setdefault(section, {})[name] = value
    return Round(settings, chosen)


def begin(run: str, name: str) -> None:
    """A run that starts as a copy of another, by hard links, so that only what changes is computed."""
    for kind in ("results", "logs"):
        source, target = Path(kind) / run, Path(kind) / name
        if not target.exists():
            shutil.copytree(source, target, copy_function=_second_name)
    for record in (Path("logs") / name).rglob(f"*{records.FINISHED}"):
        text = record.read_text(encoding="utf-8").replace(f"results/{run}/", f"results/{name}/")
        write_text(record, text)


def _second_name(source: str, target: str) -> str:
    """A hard link; a copy of what is rewritten, or where the file system has no links."""
    if source.endswith(records.FINISHED):
        return shutil.copy2(source, target)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def go_on(name: str, options: Iterable[str], cores: int) -> float:
    """Runs the workflow with Snakemake's options; returns its CPU seconds.

    Snakemake may take files that were copied from another run for finished ones, e.g. after `results/` was cleared and
    copied again; so what the run made is compared with what is declared, and the jobs of other files run again.

    Raises:
        RepdynError: the run failed, with the end of Snakemake's message, or its files are not those of its settings.
    """
    before, options = records.of_run(name), list(options)
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *options]
    _snakemake([*command, "--", "all"], name)
    jobs = workflow.jobs(Path(), options)
    if again := verify.remedy(verify.examine(name, jobs), jobs):
        _snakemake([*command, *again, "--", "all"], name)
        reasons = {path: why for path, why in verify.examine(name, jobs).items() if why}
        if reasons:
            path, why = next(iter(reasons.items()))
            raise RepdynError(f"the run {name} is not what its settings declare: {path}: {why}")
    return _spent(before, records.of_run(name))


def _snakemake(command: list[str], name: str) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        end = "\n".join(done.stderr.strip().splitlines()[-SHOWN_LINES:])
        raise RepdynError(
            f"the run {name} failed; its logs are in logs/{name}, the same command resumes. Snakemake:\n{end}"
        )


def _spent(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> float:
    """CPU seconds of the jobs that ran between two states of a run's records, without cached trials."""
    finished = {job["log"]: job.get("finished") for job in before}
    ran = (job for job in after if finished.get(job["log"]) != job.get("finished"))
    return sum(float(job["cpu_seconds"]) - float(job.get("read_cpu_seconds", 0)) for job in ran)


def overlay(settings: Mapping[str, Any], name: str) -> str:
    """The text of an overlay that repeats a run."""
    stream = io.StringIO()
    stream.write(
        "# Written by `python -m repdyn decide`: more trials for claims that were open, and how often each was\n"
    )
    stream.write("# looked at since. To repeat the run by hand, give this file after that of its scale.\n\n")
    YAML().dump({**settings, "run": {"name": name, **settings["run"]}}, stream)
    return stream.getvalue()


def show(wanted: Iterable[Need]) -> str:
    """The open claims: what each needs and what it costs, or why more trials decide nothing."""
    lines = [f"{'claim':28}{'core-minutes':>13}  needs"]
    for need in wanted:
        minutes = "-" if need.doublings is None else f"{need.seconds / 60:.1f}"
        lines.append(f"{need.id:28}{minutes:>13}  {need.reason}")
    return "\n".join(lines)


def decide(
    run: str, options: Iterable[str], *, budget: float, looks: int | None, cores: int, say: Callable[[str], None]
) -> None:
    """Adds trials to a copy of a run and analyzes it again, until no open claim can be decided or the budget is used.

    Args:
        run: name of a finished run.
        options: Snakemake's options for it: its overlays.
        budget: CPU seconds.
        looks: maximum number of analyses; None for no limit.
        cores: cores of the runs.
        say: prints messages for the user.
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
        own = _joined(yaml_positions.values(file) if file.is_file() else {}, step.settings)
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
    """Snakemake's options with one more overlay."""
    words = list(options)
    place = words.index("--configfile") + 1 if "--configfile" in words else 0
    after = next((k for k in range(place, len(words)) if words[k].startswith("--")), len(words)) if place else 0
    return [*words[:after], str(file), *words[after:]] if place else ["--configfile", str(file), *words]


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Settings overridden by others, section by section."""
    joined = dict(first)
    for key, value in second.items():
        joined[key] = _joined(joined[key], value) if isinstance(joined.get(key), Mapping) else value
    return joined
