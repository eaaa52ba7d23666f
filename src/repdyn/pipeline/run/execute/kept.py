"""Cached outputs of a job's tasks next to its log, so that a job that runs again skips unchanged tasks.

Snakemake removes a job's outputs before it runs. A cached output is a hard link to the same file, so it takes no space
while it is current.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from repdyn.base.files import sha256, write_json
from repdyn.pipeline.run.declare.jobs import Job, Member, input_paths
from repdyn.pipeline.run.execute.trials import is_forced
from repdyn.pipeline.run.machine.environment import recipe

DIGESTS, SECONDS = "digests.json", "cpu seconds"


def member_seconds(log: Path) -> dict[tuple[str, str], float]:
    """CPU seconds of a job's tasks, by name and SHA-256 of each of their files.

    Args:
        log: the job's log.
    """
    seconds: dict[tuple[str, str], float] = {}
    for place in log.with_name(log.name + ".kept").glob("*/"):
        digests = _digests(place)
        took = digests.pop(SECONDS, None)
        seconds |= {} if took is None else dict.fromkeys(digests.items(), float(took))
    return seconds


class Kept:
    """The cached outputs of one job, a folder per task, named by a digest of the task.

    Args:
        log: the job's log; the outputs are in `<log>.kept/`.
    """

    def __init__(self, log: Path) -> None:
        self.folder = log.with_name(log.name + ".kept")
        self._current: set[str] = set()

    def restore(self, member: Member, results: Path) -> float | None:
        """Restores a task's outputs if code, settings, inputs and packages are unchanged.

        Returns:
            their original CPU seconds; None if the task has to run.
        """
        name = self._name(member, results)
        place = self.folder / name
        digests = _digests(place)
        seconds = digests.pop(SECONDS, None)
        if seconds is None or set(digests) != {Path(path).name for path in member["outputs"]}:
            return None
        if any(not (place / file).is_file() or sha256(place / file) != digest for file, digest in digests.items()):
            return None
        for path in member["outputs"]:
            _link(place / Path(path).name, results / path)
            os.utime(results / path)
        return float(seconds)

    def keep(self, member: Member, results: Path, seconds: float) -> None:
        """Caches a task's outputs with their CPU seconds; if this fails, the task runs again next time."""
        place = self.folder / self._name(member, results)
        with suppress(OSError):
            shutil.rmtree(place, ignore_errors=True)
            for path in member["outputs"]:
                _link(results / path, place / Path(path).name)
            digests = {Path(path).name: sha256(results / path) for path in member["outputs"]}
            write_json(place / DIGESTS, digests | {SECONDS: f"{seconds:.3f}"})

    def sweep(self) -> None:
        """Removes outputs of tasks that the job no longer has."""
        for place in self.folder.glob("*"):
            if place.name not in self._current:
                shutil.rmtree(place, ignore_errors=True)

    def _name(self, member: Member, results: Path) -> str:
        digests = [sha256(results / path) for path in input_paths([member])]
        what = json.dumps([member, digests, recipe()], sort_keys=True)
        name = hashlib.sha256(what.encode()).hexdigest()[:24]
        self._current.add(name)
        return name


def forget(jobs: Iterable[Job], forced: Collection[str] | None) -> None:
    """Removes the cached outputs of forced jobs.

    Args:
        jobs: the jobs of a run.
        forced: rules and files that the command forces; None for all.
    """
    for job in jobs:
        if is_forced(job, forced):
            shutil.rmtree(Kept(Path(job.log)).folder, ignore_errors=True)


def _digests(place: Path) -> dict[str, str]:
    try:
        return dict(json.loads((place / DIGESTS).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _link(source: Path, target: Path) -> None:
    """Hard-links a file, or copies it if the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copy2(source, temporary)
    temporary.replace(target)
