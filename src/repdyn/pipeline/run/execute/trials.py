"""The cache of finished trials: location, size limit, removal.

It is in `.cache/trials` next to `results`, or in the folder `REPDYN_TRIALS`. All runs share it: with more seeds, widths
or rates only the new trials are computed, whatever the run's name.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repdyn.base.errors import ConfigError
from repdyn.base.files import write_text
from repdyn.pipeline.run.declare.jobs import Job

if TYPE_CHECKING:  # jobs pin their threads before numpy is imported
    from repdyn.base.checkpoints import Store

FOLDER, LIMIT = "REPDYN_TRIALS", "REPDYN_TRIALS_GB"
USUAL_GB = 10.0
FORCED = ".forced"


def folder(root: Path) -> Path:
    """The cache of a folder with `results` and `logs`."""
    return Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else root / ".cache" / "trials"


def limit() -> float:
    """Size limit of the cache in bytes.

    Raises:
        ConfigError: `REPDYN_TRIALS_GB` is not a positive number.
    """
    text = os.environ.get(LIMIT, str(USUAL_GB))
    with suppress(ValueError):
        if float(text) > 0:
            return float(text) * 1e9
    raise ConfigError(f"{LIMIT}={text}: expected a number of gigabytes above 0")


def store(job: Job, results: Path) -> Store:
    """The finished trials that a job may read: all, or for a forced job only those since it was forced."""
    marker = Path(job.log + FORCED)
    from repdyn.base.checkpoints import Store

    since = float(marker.read_text()) if marker.is_file() else 0.0
    return Store(folder(results.parent.parent), since)


def forced_by(asked: Any) -> set[str] | None:
    """Rules and files that a Snakemake command forces, with `--force` only its targets; None for all.

    Args:
        asked: its `DAGSettings`.
    """
    if asked.forceall:
        return None
    return {*asked.forcerun, *(asked.targets if asked.forcetargets else ())}


def force(jobs: Iterable[Job], forced: Collection[str] | None) -> None:
    """Makes forced jobs compute all their trials again: forced by their rule, which variants share, or by a file.

    Args:
        jobs: the jobs of a run.
        forced: rules and files that the command forces; None for all.
    """
    for job in jobs:
        named = forced is None or {job.rule, *job.outputs} & set(forced)
        if job.study and named:  # the others have no trials
            write_text(job.log + FORCED, f"{time.time()}\n")


def done(job: Job, finished: Store) -> None:
    """After a job: clears its forced state, and removes the least recently used trials from a full cache."""
    Path(job.log + FORCED).unlink(missing_ok=True)
    if finished.tally.computed:
        trim(finished.folder, limit())


def trim(place: Path, most: float, *, longest: float = 0.0) -> int:
    """Removes the least recently used trials until the cache has at most `most` bytes; returns their number.

    Args:
        place: the cache's folder.
        most: maximum size in bytes.
        longest: if above 0, trials unused for this many seconds are always removed.
    """
    files = sorted(_files(place))
    left, now, gone = sum(size for _, size, _ in files), time.time(), 0
    for used, size, file in files:
        if left <= most and not (longest and now - used > longest):
            continue
        with suppress(OSError):
            file.unlink()
            gone, left = gone + 1, left - size
            if not any(file.parent.glob("*.npz")):
                shutil.rmtree(file.parent, ignore_errors=True)
    return gone


@dataclass(frozen=True)
class Contents:
    """Cached trials of one experiment.

    Attributes:
        experiment: study and function.
        trials: number of finished trials.
        bytes: their size.
        used: last use, seconds since 1970.
        kinds: number of identities: states of code, settings, seeds, machines.
    """

    experiment: str
    trials: int
    bytes: int
    used: float
    kinds: int


def contents(place: Path) -> list[Contents]:
    """Contents of the cache by experiment, the largest first."""
    by_experiment = defaultdict(list)
    for used, size, file in _files(place):
        by_experiment["/".join(file.relative_to(place).parts[:2])].append((used, size, file.parent))
    rows = [
        Contents(name, len(files), sum(size for _, size, _ in files), max(files)[0], len({f for _, _, f in files}))
        for name, files in by_experiment.items()
    ]
    return sorted(rows, key=lambda row: -row.bytes)


def identities(place: Path, experiment: str) -> list[dict[str, object]]:
    """What the trials of an experiment depend on, one entry for each identity."""
    from repdyn.base.checkpoints import ABOUT

    files = sorted((place / experiment).glob(f"*/{ABOUT}"))
    return [{"folder": file.parent.name, "about": json.loads(file.read_text(encoding="utf-8"))} for file in files]


def _files(place: Path) -> list[tuple[float, int, Path]]:
    """Last use, bytes and path of every trial, except those that another process removes meanwhile."""
    files = []
    for file in place.glob("*/*/*/[!.]*.npz"):
        with suppress(OSError):
            about = file.stat()
            files.append((about.st_mtime, about.st_size, file))
    return files
