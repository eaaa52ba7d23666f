"""Records that jobs leave beside their logs: what ran on what, what came out, what it cost.

`<log>.running` stands while a job runs, `<log>.cost.json` after it succeeded. A record holds the command's arguments
(with settings and code version) and the SHA-256 of every file read and written: enough to say later, from contents
alone, whether a result is what today's code and settings would make.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from repdyn.base.files import sha256, write_json

Record = dict[str, object]
FINISHED, RUNNING = ".cost.json", ".running"


@contextmanager
def recorded(given: argparse.Namespace) -> Iterator[None]:
    """Marks the job as running while the block runs, and records it where the block ends without an error."""
    if not given.cost:
        yield
        return
    began = time.perf_counter()
    marker = given.cost.with_name(given.cost.name.removesuffix(FINISHED) + RUNNING)
    write_json(marker, {"pid": os.getpid(), "host": socket.gethostname(), "began": _now()})
    try:
        yield
        write_json(given.cost, _record(given, began))
    finally:
        marker.unlink(missing_ok=True)


def read(logs: Path) -> list[Record]:
    """The records under a run's log folder, each with `log`: its log's path in there, without suffix."""
    return [_read(path, logs) for path in sorted(logs.rglob(f"*.log{FINISHED}"))]


def makers(records: Iterable[Record]) -> dict[str, Record]:
    """Path of each file -> the record of the job that wrote it last; records without files make nothing."""
    made: dict[str, Record] = {}
    for record in sorted(records, key=lambda record: str(record.get("finished", ""))):
        made |= dict.fromkeys(record.get("outputs", ()), record)
    return made


def option(arguments: Sequence[str], name: str) -> list[str]:
    """What follows an option on a command line, up to the next option."""
    if name not in arguments:
        return []
    rest = arguments[list(arguments).index(name) + 1 :]
    end = next((place for place, word in enumerate(rest) if word.startswith("--")), len(rest))
    return list(rest[:end])


def _read(path: Path, logs: Path) -> Record:
    log = path.relative_to(logs).as_posix().removesuffix(f".log{FINISHED}")
    return json.loads(path.read_text(encoding="utf-8")) | {"log": log}


def _record(given: argparse.Namespace, began: float) -> Record:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    output = getattr(given, "output", None) or []
    written = output if isinstance(output, list) else [output]
    read = [*getattr(given, "inputs", ()), *([given.expected] if hasattr(given, "expected") else [])]
    return {
        "job": given.cost.name.removesuffix(f".log{FINISHED}"),
        "command": given.name,
        "study": getattr(given, "study", ""),
        "arguments": given.arguments,
        "inputs": _digests(read),
        "outputs": _digests(written),
        "finished": _now(),
        "wall_seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(sum(one.ru_utime + one.ru_stime for one in used), 2),
        "peak_memory_mb": round(max(one.ru_maxrss for one in used) / 1024, 1),
        "threads": given.threads,
    }


def _digests(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 by path; `draw` and `tabulate` are given every file they write, so all are there."""
    return {path.as_posix(): sha256(path) for path in paths}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
