"""The last line of every running job. A job has a marker file next to its log while it runs (`records.recorded`)."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from repdyn.pipeline.run.execute.records import RUNNING

TAIL = 4096


class Mark(TypedDict):
    """Content of the marker file of a running job."""

    pid: int
    host: str
    began: str


def show(logs: Path) -> str:
    """One line per running job: run and job, time since its start, the last line of its log."""
    marks = sorted(logs.rglob(f"*.log{RUNNING}"))
    return "\n".join(_line(mark, logs) for mark in marks) or f"{logs}: no job is running"


def _line(mark: Path, logs: Path) -> str:
    try:
        about: Mark = json.loads(mark.read_text(encoding="utf-8"))
        running = f"{_since(datetime.fromisoformat(about['began']))}{_state(about)}"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{mark}: just ended, or not a marker file of repdyn"
    log = mark.with_name(mark.name.removesuffix(RUNNING))
    name = log.relative_to(logs).as_posix().removesuffix(".log")
    return f"{name}  {running}  {last_line(log)}"


def last_line(log: Path) -> str:
    """The last nonempty line, printable characters only."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(mark for mark in lines[-1] if mark.isprintable()) if lines else "(nothing logged so far)"


def _since(began: datetime) -> str:
    seconds = int((datetime.now(UTC) - began).total_seconds())
    minutes, seconds = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


def _state(about: Mark) -> str:
    """Empty for a live job; unknown on another machine."""
    if about["host"] != socket.gethostname():
        return f" on {about['host']}"
    return "" if _alive(about["pid"]) else " killed: run the same command again"


def _alive(process: int) -> bool:
    """Whether the process exists and is one of ours, as far as the system reports."""
    if Path("/proc/self").exists():
        command = Path(f"/proc/{process}/cmdline")
        return command.is_file() and b"repdyn" in command.read_bytes()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, owned by another user
        pass
    return True
