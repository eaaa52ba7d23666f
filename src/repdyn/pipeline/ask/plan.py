"""What a run will cost before it starts: jobs, core-minutes and memory per study, from costs recorded in git.

`workflow/costs.csv` holds what the jobs of finished runs took. A job whose settings have the size of a recorded one
costs what was recorded. Any other is an estimate, marked as such: start-up, and a power of its size through the two
nearest records. The size of a job that trains is its work in seconds, from steps, parameters and number of networks:
`WORK` in the settings of its study; cost is in proportion to it. The size of any other job is the product of its
settings: counts as they are, lists of counts by their sum, lists of other numbers by their length, spans of time, and
one over a step; of a job with several parts, the geometric mean of their ratios counts. No product knows what a loop
skips or a solver adapts, so such an estimate is an order of magnitude.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from repdyn.across_papers import settings as across_papers
from repdyn.base.errors import DataError
from repdyn.base.files import write_text
from repdyn.leaky_resnets.settings import work as leaky_resnets
from repdyn.pipeline.run import records
from repdyn.pipeline.run.jobs import Job, Member
from repdyn.universality.settings import work as universality

FILE = Path("workflow") / "costs.csv"
COLUMNS = ("run", "job", "cpu_seconds", "peak_memory_mb", "sizes")
USUAL_POWER = 0.5
"""Exponent of cost against size where one size alone is recorded."""
START_UP = 2.0
"""CPU seconds that starting takes at most (torch); and no more than four fifths of the least cost recorded."""
SAME = 1e-4
"""Logarithms of sizes that differ by less are equal: sizes are kept with six digits."""
WORK = {study.__name__.split(".")[1]: study.WORK for study in (across_papers, leaky_resnets, universality)}
"""Study -> experiment -> its work in CPU seconds."""
Expected = list[tuple[Job, "Cost | None"]]
SPANS = ("horizon", "time", "counter_time")
SHARED = "all studies share"
SPARSER = ("seed", "stride", "every", "record", "look")
"""Settings that make a job no longer: what is kept of it, where its random numbers begin."""


@dataclass(frozen=True)
class Cost:
    """Cost of one job; `recorded` at these settings, or estimated from others (memory is then what the rule asks)."""

    cpu_seconds: float
    memory_mb: float
    recorded: bool


def keep(run: str, file: Path) -> int:
    """Writes the costs of a finished run into the file, in the place of the run's former ones; their number.

    Raises:
        DataError: the run left no records.
    """
    latest = records.by_output(records.read(Path("logs") / run))
    recorded = {str(record["log"]): record for path, record in latest.items() if Path(path).is_file()}
    if not recorded:
        raise DataError(f"logs/{run}: no job of this run left a record of its cost; finish the run first")
    rows = [row for row in _rows(file) if row["run"] != run] + [_row(run, recorded[name]) for name in sorted(recorded)]
    lines = [",".join(COLUMNS), *(",".join(str(row[column]) for column in COLUMNS) for row in rows)]
    write_text(file, "\n".join(lines) + "\n")
    return len(recorded)


def costs(jobs: Iterable[Job], file: Path) -> list[tuple[Job, Cost | None]]:
    """What each job will take; None where no job of its name is recorded."""
    known: dict[str, list[dict[str, str]]] = {}
    for row in _rows(file):
        known.setdefault(row["job"], []).append(row)
    return [(job, _cost(job, known.get(job.name, []))) for job in jobs]


def show(expected: Expected, wanted: str) -> str:
    """The table, one line per study."""
    studies = sorted({_study(job) for job, _ in expected}, key=lambda study: (study == SHARED, study))
    lines = [f"{wanted}\n", f"{'study':24}{'jobs':>6}{'core-minutes':>14}{'largest job (MB)':>18}"]
    for study in studies:
        lines.append(_line(study, [(job, cost) for job, cost in expected if _study(job) == study]))
    lines.append(_line("all", expected))
    return "\n".join([*lines, "", *_remarks(expected)])


def size(members: Sequence[Member]) -> list[float]:
    """Size of a job: its work where all its members have one, else a size per section of settings; see the module."""
    if work := _work(members):
        return [work]
    sections = (part for member in members for part in member.get("settings", {}).values())
    return [math.prod(_factors(section)) for section in sections]


def _work(members: Sequence[Member]) -> float:
    """CPU seconds of a job's members together; 0 where one of them is not known."""
    total = 0.0
    for member in members:
        estimate = WORK.get(member.get("study", ""), {}).get(member.get("function", "").rpartition(":")[2])
        try:
            total += estimate(member["settings"], member.get("arguments", {})) if estimate else math.nan
        except KeyError:  # a record of settings that have changed since
            return 0.0
    return 0.0 if math.isnan(total) else total


def _factors(settings: dict) -> Iterable[float]:
    for key, value in settings.items():
        if isinstance(value, dict):
            continue  # values by variant: rates, not counts
        if key not in SPARSER:
            yield _factor(key, value)


def _factor(key: str, value: object) -> float:
    if isinstance(value, list) and value:
        counts = all(isinstance(part, int) and part >= 0 for part in value)
        return float(max(sum(value), 1)) if counts else float(len(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return 1.0
    if isinstance(value, int) or key in SPANS:
        return float(value)
    return 1 / value if key == "step" else 1.0


def _cost(job: Job, rows: list[dict[str, str]]) -> Cost | None:
    sizes = size(job.members)
    steps = [(_step(sizes, row), row) for row in rows if len(row["sizes"].split()) == len(sizes)]
    if not steps:
        return None
    (step, nearest), *others = sorted(steps, key=lambda pair: (abs(pair[0]), pair[1]["run"] != job.run))
    took, memory = float(nearest["cpu_seconds"]), float(nearest["peak_memory_mb"])
    if abs(step) < SAME and (sizes or nearest["run"] == job.run):
        return Cost(took, memory, recorded=True)
    start = min(START_UP, 0.8 * min(float(row["cpu_seconds"]) for row in rows))
    other = next((pair for pair in others if abs(pair[0] - step) >= SAME), None)
    if _work(job.members):
        power = 1.0
    elif other:
        power = _power(took - start, step, float(other[1]["cpu_seconds"]) - start, other[0])
    else:
        power = USUAL_POWER
    return Cost(start + (took - start) * math.exp(power * step), max(memory, job.memory_mb), recorded=False)


def _step(sizes: list[float], row: dict[str, str]) -> float:
    """Mean logarithm of the ratio of sizes to those of a record."""
    kept = map(float, row["sizes"].split())
    return fmean(math.log(new / old) for new, old in zip(sizes, kept, strict=True)) if sizes else 0.0


def _power(took: float, step: float, other_took: float, other_step: float) -> float:
    """Exponent of cost against size between two records, from 0 to 1."""
    return min(max(math.log(other_took / took) / (step - other_step), 0.0), 1.0)


def _row(run: str, record: records.Record) -> dict[str, object]:
    sizes = " ".join(f"{value:.6g}" for value in size(record["job"]["members"]))
    return {"run": run, "job": record["log"], "sizes": sizes} | {name: record[name] for name in COLUMNS[2:4]}


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _study(job: Job) -> str:
    return job.study or SHARED


def _line(study: str, expected: Expected) -> str:
    known = [cost for _, cost in expected if cost]
    minutes = sum(cost.cpu_seconds for cost in known) / 60
    memory = max((cost.memory_mb for cost in known), default=0.0)
    shown = f"{minutes:.1f}" if minutes < 100 else f"{minutes:.0f}"
    rough = sum(not cost.recorded for cost in known)
    counts = {"estimated": rough, "unknown": len(expected) - len(known)}
    marks = "".join(f"   {count} {word}" for word, count in counts.items() if count)
    return f"{study:24}{len(expected):>6}{shown:>14}{memory:>18.0f}{marks}"


def _remarks(expected: Expected) -> list[str]:
    known = [(job, cost) for job, cost in expected if cost]
    notes = []
    if known:
        longest, cost = max(known, key=lambda pair: pair[1].cpu_seconds)
        notes.append(f"No faster than {cost.cpu_seconds / 60:.1f} minutes on any number of cores: {longest.name}.")
    if any(not cost.recorded for _, cost in known):
        notes.append(
            "Estimated: no cost is recorded at these settings; extrapolated from the nearest records, trainings by "
            "their work, others by the size of their settings: take these as an order of magnitude."
        )
    if len(known) < len(expected):
        notes.append("Unknown: never recorded; left out of the sum. Record a finished run: python -m repdyn costs RUN")
    return notes
