"""What a run will cost before it starts: jobs, core-minutes and memory per study, from costs recorded in git.

`costs.csv` of each study has the costs of the jobs of finished runs. A job whose settings have a recorded size
costs what was recorded. Any other is an estimate, marked as such: start-up time plus a power law in its size through
the two nearest records; for a job that trains, cost is proportional to its work. `run.costs` defines sizes; no product
of settings accounts for what a loop skips or a solver adapts, so such an estimate is an order of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from repdyn.base.errors import DataError
from repdyn.base.files import write_text
from repdyn.pipeline.ask.schedule import critical_path, needs, schedule
from repdyn.pipeline.run.declare.costs import (
    COLUMNS,
    SAME,
    Row,
    grown,
    home,
    nearest,
    of_job,
    recorded,
    rows,
    size,
    work,
)
from repdyn.pipeline.run.declare.jobs import Job, images_of
from repdyn.pipeline.run.declare.parts import share
from repdyn.pipeline.run.execute import records

START_UP = 2.0
"""Upper bound on the CPU seconds of start-up (torch); never more than four fifths of the smallest recorded cost."""
Expected = list[tuple[Job, "Cost | None"]]
SHARED = "shared by all studies"
TRUE_WITHIN = 1.5
"""Factor within which a plan counts as accurate."""


@dataclass(frozen=True)
class Cost:
    """Cost of one job; `recorded` at these settings, or estimated (memory is then the rule's request)."""

    cpu_seconds: float
    memory_mb: float
    recorded: bool


def keep(run: str, checkout: Path) -> int:
    """Writes the costs of a finished run into the studies' files, replacing its earlier ones; returns their number.

    Raises:
        DataError: the run has no records.
    """
    finished = _finished(run)
    by_file: dict[Path, list[Row]] = {}
    for job, record in finished:
        by_file.setdefault(home(job.study, checkout), []).append(_row(job, record))
    for file, new in by_file.items():
        kept = [*(row for row in rows(file) if row["run"] != run), *new]
        lines = [",".join(COLUMNS), *(",".join(str(row[column]) for column in COLUMNS) for row in kept)]
        write_text(file, "\n".join(lines) + "\n")
    return len(finished)


def missed(run: str, files: Iterable[Path]) -> str:
    """How accurately today's records would have predicted a finished run: the sums, then jobs with large errors.

    To be called before `keep` replaces these records with the run's.

    Raises:
        DataError: the run has no records.
    """
    known = recorded(files)
    lines, planned, took, unknown = [], 0.0, 0.0, 0
    for job, record in _finished(run):
        cost = _cost(job, of_job(job, known))
        if cost is None:
            unknown += 1
            continue
        planned, took = planned + cost.cpu_seconds, took + record["cpu_seconds"]
        if abs(math.log(record["cpu_seconds"] / cost.cpu_seconds)) > math.log(TRUE_WITHIN):
            lines.append(f"  {job.name}: {cost.cpu_seconds:.3g} s planned, {record['cpu_seconds']:.3g} s taken")
    sums = f"planned {_short(planned / 60)} core-minutes, took {_short(took / 60)}"
    head = f"{sums}; beyond a factor of {TRUE_WITHIN:g}: {len(lines) or 'no job'}; never recorded before: {unknown}"
    return "\n".join([head, *lines])


def _finished(run: str) -> list[tuple[Job, records.Record]]:
    """Jobs of a run whose files exist, by name, each with its record."""
    latest = records.by_output(records.read(Path("logs") / run))
    finished = {str(record["log"]): record for path, record in latest.items() if Path(path).is_file()}
    if not finished:
        raise DataError(f"logs/{run}: no job of this run has a record of its cost; finish the run first")
    jobs = [Job(run, name, made["job"]["kind"], made["job"]["members"]) for name, made in sorted(finished.items())]
    images = images_of(jobs)
    return [(replace(job, images=images), finished[job.name]) for job in jobs]


def costs(jobs: Iterable[Job], files: Iterable[Path]) -> list[tuple[Job, Cost | None]]:
    """Expected cost of each job from the records in files; None if no job of its name is recorded."""
    known, jobs = recorded(files), list(jobs)
    makers = {path: job for job in jobs for member in job.members for path in member["outputs"]}
    return [(job, _of_its_own(_cost(job, of_job(job, known)), share(job, makers))) for job in jobs]


def _of_its_own(cost: Cost | None, share: float) -> Cost | None:
    """Cost of a job that does only a share of the recorded work, the rest of which other jobs do."""
    if cost is None or share == 1:
        return cost
    start = min(START_UP, 0.8 * cost.cpu_seconds)
    return replace(cost, cpu_seconds=start + share * (cost.cpu_seconds - start))


def show(expected: Expected, wanted: str, cores: Sequence[int] = ()) -> str:
    """The table, one line per study; then the time for each number of cores, one line each."""
    studies = sorted({_study(job) for job, _ in expected}, key=lambda study: (study == SHARED, study))
    lines = [f"{wanted}\n", f"{'study':24}{'jobs':>6}{'core-minutes':>14}{'largest job (MB)':>18}"]
    for study in studies:
        lines.append(_line(study, [(job, cost) for job, cost in expected if _study(job) == study]))
    lines.append(_line("all", expected))
    return "\n".join([*lines, *_times(expected, cores), "", *_remarks(expected)])


def _cost(job: Job, known: Sequence[Row]) -> Cost | None:
    near = nearest(job, known)
    if not near:
        return None
    (step, row), took = near[0], [float(row["cpu_seconds"]) for _, row in near]
    if abs(step) < SAME and (row["sizes"] or row["run"] == job.run):
        return Cost(took[0], float(row["peak_memory_mb"]), recorded=True)
    start = min(START_UP, 0.8 * min(took))
    expected = grown(took, [step for step, _ in near], start, power=1.0 if work(job.members, job.images) else None)
    return Cost(expected, max(float(row["peak_memory_mb"]), job.memory_mb), recorded=False)


def _row(job: Job, record: Mapping[str, Any]) -> Row:
    sizes = " ".join(f"{value:.6g}" for value in size(job.members, job.images))
    return {"run": job.run, "job": job.name, "sizes": sizes} | {name: str(record[name]) for name in COLUMNS[2:4]}


def _study(job: Job) -> str:
    return job.study or SHARED


def _line(study: str, expected: Expected) -> str:
    known = [cost for _, cost in expected if cost]
    minutes = sum(cost.cpu_seconds for cost in known) / 60
    memory = max((cost.memory_mb for cost in known), default=0.0)
    shown = _short(minutes)
    rough = sum(not cost.recorded for cost in known)
    counts = {"estimated": rough, "unknown": len(expected) - len(known)}
    marks = "".join(f"   {count} {word}" for word, count in counts.items() if count)
    return f"{study:24}{len(expected):>6}{shown:>14}{memory:>18.0f}{marks}"


def _times(expected: Expected, cores: Sequence[int]) -> list[str]:
    """Minutes and parallel efficiency by number of cores; jobs of unknown cost take no time."""
    if not cores:
        return []
    seconds, before = _seconds(expected), needs(job for job, _ in expected)
    lines = ["", f"{'cores':>5}{'minutes':>12}{'efficiency':>12}"]
    for number in cores:
        took = schedule(seconds, before, number)
        efficiency = sum(seconds.values()) / (number * took) if took else 1.0
        lines.append(f"{number:>5}{_short(took / 60):>12}{_short(100 * efficiency):>10} %")
    return lines


def _seconds(expected: Expected) -> dict[str, float]:
    return {job.name: cost.cpu_seconds if cost else 0.0 for job, cost in expected}


def _short(number: float) -> str:
    """A number, with one decimal below a hundred."""
    return f"{number:.1f}" if round(number, 1) < 100 else f"{number:.0f}"


def _critical(expected: Expected) -> str:
    """The chain of jobs that no number of cores shortens, without jobs under a tenth of a minute."""
    minutes = {name: seconds / 60 for name, seconds in _seconds(expected).items()}
    path = critical_path(minutes, needs(job for job, _ in expected))
    parts = {job.name: job.part_of for job, _ in expected if job.part_of}
    stations = [(name, list(names)) for name, names in groupby(path, lambda name: parts.get(name, name))]
    took = [sum(minutes[name] for name in names) for _, names in stations]
    counts = [sum(one in parts for one in names) for _, names in stations]  # not the job that joins them
    shown = [
        f"{name}{f' with {count} part' if count else ''}{'s' if count > 1 else ''} ({time:.1f})"
        for (name, _), count, time in zip(stations, counts, took, strict=True)
        if time >= min(0.1, max(took))
    ]
    return f"No faster than {sum(took):.1f} minutes on any number of cores: {', '.join(shown)}."


def _remarks(expected: Expected) -> list[str]:
    known = [(job, cost) for job, cost in expected if cost]
    notes = []
    if known:
        notes.append(_critical(expected))
    if any(not cost.recorded for _, cost in known):
        notes.append(
            "Estimated: no cost is recorded at these settings; extrapolated from the nearest records, trainings by "
            "their work, others by the size of their settings: take these as an order of magnitude."
        )
    if len(known) < len(expected):
        notes.append("Unknown: never recorded; not in the sum. Record a finished run: python -m repdyn dev costs RUN")
    return notes
