"""What jobs took, recorded in git, and the sizes by which other settings are told from them.

The size of a job that trains is its work in seconds, from steps, parameters, number of networks and images: `work` in
its study's declaration. The size of any other job is the product of its settings: counts as they are, lists of counts
by their sum, lists of other numbers by their length, spans of time, and one over a step; of a job with several parts,
the geometric mean of their ratios counts.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from repdyn.base.errors import DataError
from repdyn.pipeline import studies
from repdyn.pipeline.run.declare.jobs import Images, Job, Member

COLUMNS = ("run", "job", "cpu_seconds", "peak_memory_mb", "sizes")
MEMORY_POWER = 0.5
"""Largest exponent of memory against size: of what makes a job longer, steps and repetitions keep nothing."""
USUAL_POWER = 0.5
"""Exponent of cost against size where one size alone is recorded."""
SAME = 1e-4
"""Logarithms of sizes that differ by less are equal: sizes are kept with six digits."""
ROOM = 1.5
"""Memory asked for over what the records let expect."""
DIGITS = "0123456789"
SPANS = ("horizon", "time", "counter_time")
SPARSER = ("seed", "stride", "every", "record", "look")
"""Settings that make a job no longer: what is kept of it, where its random numbers begin."""

Row = dict[str, str]


def files(checkout: Path) -> list[Path]:
    """Where costs are recorded: in the folder of each study, and in the checkout for jobs of none."""
    return [*studies.files(studies.COSTS).values(), home("", checkout)]


def home(study: str, checkout: Path) -> Path:
    """Where the costs of a study's jobs are recorded; those of no study for ""."""
    return studies.folders().get(study, checkout / "workflow") / studies.COSTS


def recorded(files: Iterable[Path]) -> dict[str, list[Row]]:
    """Rows of files by job; none where there is no file."""
    by_job: dict[str, list[Row]] = {}
    for file in files:
        for row in rows(file):
            by_job.setdefault(row["job"], []).append(row)
    return by_job


def of_job(job: Job, known: Mapping[str, Sequence[Row]]) -> list[Row]:
    """What is known of a job by name; of a part also what is known of the job that it is a part of.

    Of a numbered block that was never recorded: what is known of the other blocks.
    """
    rows = [*known.get(job.name, ()), *known.get(job.part_of, ())]
    stem = job.name.rstrip(DIGITS)
    if rows or stem == job.name:
        return rows
    return [row for name in sorted(known) if name.rstrip(DIGITS) == stem != name for row in known[name]]


def rows(file: Path) -> list[Row]:
    """Rows of the file; none where there is no file.

    Raises:
        DataError: a row lacks a column, or a number that is not above 0.
    """
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    for number, row in enumerate(table, 2):
        if not _is_row(row):
            text = ",".join(str(value) for value in row.values())
            raise DataError(f"{file}:{number}: got {text!r}, expected {','.join(COLUMNS)} with numbers above 0")
    return table


def _is_row(row: Row) -> bool:
    try:
        numbers = [row["cpu_seconds"], row["peak_memory_mb"], *row["sizes"].split()]
        return tuple(row) == COLUMNS and min(map(float, numbers)) > 0
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def memory(job: Job, known: Sequence[Row], share: float = 1.0) -> int:
    """Megabytes to ask for at the first try: what the rule says, or more where the records let expect more.

    Args:
        job: the job.
        known: what is recorded of it.
        share: share of its work that it does itself, where other jobs do the rest.
    """
    near = nearest(job, known)
    if not near:
        return job.memory_mb
    peaks = [float(row["peak_memory_mb"]) for _, row in near]
    steps = [step + math.log(share) for step, _ in near]
    expected = grown(peaks, steps, 0.8 * min(peaks), most=MEMORY_POWER)
    return max(job.memory_mb, math.ceil(ROOM * expected / 100) * 100)


def nearest(job: Job, known: Iterable[Row]) -> list[tuple[float, Row]]:
    """Records of the job with as many sizes, the nearest first; mean logarithm of the ratio of its sizes to theirs."""
    sizes = size(job.members, job.images)
    steps = [(_step(sizes, row), row) for row in known if len(row["sizes"].split()) == len(sizes)]
    return sorted(steps, key=lambda pair: (abs(pair[0]), pair[1]["run"] != job.run))


def grown(
    took: Sequence[float], steps: Sequence[float], base: float, *, power: float | None = None, most: float = 1.0
) -> float:
    """What a job takes: a base, and a power of its size through the two nearest records.

    Args:
        took: what the records tell, the nearest first.
        steps: logarithms of the ratios of the job's size to theirs.
        base: what a job of no size takes, below all records.
        power: the power where it is known.
        most: the largest power; the least is 0.
    """
    other = next((k for k, step in enumerate(steps) if abs(step - steps[0]) >= SAME), None)
    if power is None and other is not None:
        power = math.log((took[other] - base) / (took[0] - base)) / (steps[0] - steps[other])
    elif power is None:
        power = USUAL_POWER
    return base + (took[0] - base) * math.exp(min(max(power, 0.0), most) * steps[0])


def size(members: Sequence[Member], images: Images) -> list[float]:
    """Size of a job: its work where all its members have one, else a size per section of settings; see the module."""
    if seconds := work(members, images):
        return [seconds]
    sections = (part for member in members for part in member.get("settings", {}).values())
    return [math.prod(_factors(section)) for section in sections]


def work(members: Sequence[Member], images: Images) -> float:
    """CPU seconds of a job's members together; 0 where one of them is not known."""
    total, read = 0.0, dict(zip(("images", "pixels"), images, strict=True))
    for member in members:
        study = studies.declared().get(member.get("study", ""))
        estimate = study.work.get(member.get("function", "").rpartition(":")[2]) if study else None
        try:
            total += estimate(member["settings"], {**member.get("arguments", {}), **read}) if estimate else math.nan
        except KeyError:  # a record of settings that have changed since
            return 0.0
    return 0.0 if math.isnan(total) else total


def _factors(settings: Mapping[str, Any]) -> Iterable[float]:
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


def _step(sizes: list[float], row: dict[str, str]) -> float:
    """Mean logarithm of the ratio of sizes to those of a record."""
    kept = map(float, row["sizes"].split())
    return fmean(math.log(new / old) for new, old in zip(sizes, kept, strict=True)) if sizes else 0.0
