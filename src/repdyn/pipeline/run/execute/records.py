"""Records of jobs next to their logs: code, inputs, outputs, cost.

`<log>.running` exists while a job runs, `<log>.cost.json` after it succeeded. A record has the job file's content
(functions, settings, code versions), the SHA-256 of every file read and written, and package versions: enough to decide
later, from contents alone, whether a result is up to date.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from repdyn.base.files import sha256, write_json
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.machine.environment import versions

Record = dict[str, Any]
"""What `_record` writes, with `log`: its log's path in the run's log folder, without suffix."""
FINISHED, RUNNING = ".cost.json", ".running"


@dataclass
class Work:
    """What a job says of its work: CPU seconds by file that it wrote, and of the finished trials that it read.

    Attributes:
        files: CPU seconds of the member that made a file, those of trials that it read included.
        read: CPU seconds that the trials took when they were computed.
        trials: their number.
    """

    files: dict[str, float] = field(default_factory=dict)
    read: float = 0.0
    trials: int = 0

    def add(self, files: Iterable[str], seconds: float, read: float) -> None:
        """What one member took, with what its finished trials once took."""
        self.files |= dict.fromkeys(files, round(seconds + read, 3))
        self.read += read


@contextmanager
def recorded(job: Job) -> Iterator[Work]:
    """Marks the job as running while the block runs, and records it if the block ends without an error.

    The block gets what to fill in of its work.
    """
    work = Work()
    began, clock = _now(), time.perf_counter()
    marker = Path(job.log + RUNNING)
    write_json(marker, {"pid": os.getpid(), "host": socket.gethostname(), "began": began})
    try:
        yield work
        write_json(Path(job.log + FINISHED), _record(job, began, clock, work))
    finally:
        marker.unlink(missing_ok=True)


def read(logs: Path) -> list[Record]:
    """The records under a run's log folder, each with `log`: the relative path of its log, without suffix."""
    records = (_read(path, logs) for path in sorted(logs.rglob(f"*.log{FINISHED}")))
    return [record for record in records if record is not None]


def of_run(run: str, folder: Path = Path()) -> list[Record]:
    """The records of a run: from its logs, or from its manifest if results were copied without logs."""
    if records := read(folder / "logs" / run):
        return records
    try:
        manifest = (folder / "results" / run / "manifest.json").read_text(encoding="utf-8")
        return list(json.loads(manifest)["costs"])
    except (OSError, ValueError, KeyError):
        return []


def by_output(records: Iterable[Record]) -> dict[str, Record]:
    """Path of each file -> the record of the last job that wrote it."""
    latest: dict[str, Record] = {}
    for record in sorted(records, key=lambda record: str(record.get("finished", ""))):
        latest |= dict.fromkeys(record.get("outputs", ()), record)
    return latest


def seconds_by_file(records: Iterable[Record], run: str) -> dict[str, float]:
    """CPU seconds of the function that made a file, by its path below the run's results; the last job counts."""
    home = f"results/{run}/"
    latest = ((path, record.get("file_cpu_seconds", {})) for path, record in by_output(records).items())
    return {path.removeprefix(home): own[path] for path, own in latest if path.startswith(home) and path in own}


def _read(path: Path, logs: Path) -> Record | None:
    """A record; None if the file is damaged, so that its job has no record and runs again."""
    log = path.relative_to(logs).as_posix().removesuffix(f".log{FINISHED}")
    try:
        return {**json.loads(path.read_text(encoding="utf-8")), "log": log}
    except (ValueError, TypeError):
        return None


def _record(job: Job, began: str, clock: float, work: Work) -> Record:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "job": json.loads(job.text()),
        "inputs": _digests(job.inputs),
        "outputs": _digests(job.outputs),
        "versions": versions(),
        "began": began,
        "finished": _now(),
        "wall_seconds": round(time.perf_counter() - clock, 2),
        "cpu_seconds": round(sum(usage.ru_utime + usage.ru_stime for usage in used) + work.read, 2),
        "read_cpu_seconds": round(work.read, 2),
        "trials_read": work.trials,
        "file_cpu_seconds": {f"results/{job.run}/{path}": seconds for path, seconds in work.files.items()},
        "peak_memory_mb": round(max(usage.ru_maxrss for usage in used) / 1024, 1),
    }


def _digests(paths: Iterable[str]) -> dict[str, str]:
    return {path: sha256(path) for path in paths}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
