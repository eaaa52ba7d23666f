"""The summary at the end of a failed run: which jobs failed, why, what to do. The Snakefile prints it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from repdyn.pipeline.ask.progress import last_line
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute.records import FINISHED, RUNNING

SHOWN = 20  # reasons with jobs of their own; a run of a hundred jobs fails for few
NEXT = (
    "Finished jobs are kept and trainings resume: remove the cause and run the same command again."
    " `python -m repdyn run <job file>` runs one job by hand; docs/troubleshooting.md lists causes."
)
KILLED = "killed from outside: by the system for its memory, by a time limit, by hand"


def summary(jobs: Iterable[Job], since: float) -> str:
    """What failed in a run, jobs of one reason together; empty if no job of ours did.

    Args:
        jobs: all jobs of the run.
        since: when the run began, seconds since 1970; older logs are of earlier runs.
    """
    every = list(jobs)
    reasons: dict[str, list[Job]] = {}
    for job in every:
        if why := _reason(job, since):
            reasons.setdefault(why, []).append(job)
    if not reasons:
        return ""
    lines = [f"{sum(map(len, reasons.values()))} of {len(every)} jobs failed:"]
    for why, failed in list(reasons.items())[:SHOWN]:
        lines += [f"  {why}", *(f"    {job.name}: {job.log}" for job in failed)]
    if len(reasons) > SHOWN:
        lines.append(f"  and {len(reasons) - SHOWN} further reasons, in the logs")
    return "\n".join([*lines, NEXT])


def _reason(job: Job, since: float) -> str:
    """The last line of the log of a job that ran and left no record; empty for any other."""
    log = Path(job.log)
    if (began := _changed(log)) is None or began < since:
        return ""
    if Path(f"{log}{RUNNING}").exists():
        return KILLED
    finished = _changed(Path(f"{log}{FINISHED}"))
    return "" if finished is not None and finished >= began else last_line(log)


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None
