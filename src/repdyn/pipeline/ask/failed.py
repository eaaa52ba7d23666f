"""Summary at the end of a run: which jobs failed, which checks and figures ended with an error, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from repdyn.base.tables import read_cells
from repdyn.base.verdicts import FAILED
from repdyn.pipeline.ask.progress import last_line
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute.records import FINISHED, RUNNING

SHOWN = 20  # distinct reasons; even a run of a hundred jobs fails for few
NEXT = (
    "Results of finished jobs remain and trainings resume: remove the cause and run the same command again."
    " `python -m repdyn run <job file>` runs one job by hand; {page} lists causes."
)
CAUSES = Path("docs/troubleshooting.md")
"""Page of a checkout; a project of one's own has a section in its README."""
KILLED = "killed: by the system for its memory use, by a time limit, or by a user"


def summary(jobs: Iterable[Job], since: float) -> str:
    """What failed in a run, grouped by reason; empty if no job failed.

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
    return "\n".join([*lines, NEXT.format(page=CAUSES if CAUSES.is_file() else "README.md")])


def errors(jobs: Iterable[Job], since: float) -> str:
    """Claims, figures and tables whose function ended with an unexpected error; empty without any.

    Their jobs succeed, so that the report is created; the run still ends with this error.

    Args:
        jobs: all jobs of the run.
        since: when the run began, seconds since 1970; older outputs are of earlier runs.
    """
    lines = []
    for job in jobs:
        if job.kind in ERRORS_IN and (changed := _changed(Path(job.log))) is not None and changed >= since:
            lines += [f"  {text}\n    {job.log}" for path in job.outputs for text in ERRORS_IN[job.kind](Path(path))]
    return "\n".join([f"{len(lines)} of the checks, figures and tables ended with an error:", *lines]) if lines else ""


def _failed_claims(path: Path) -> list[str]:
    if path.name != "claims.csv":
        return []
    ledger = read_cells(path)
    failed = ledger[ledger["verdict"] == FAILED]
    return [f"{id}: {why}" for id, why in zip(failed["id"], failed["why"], strict=True)]


def _failed_product(path: Path) -> list[str]:
    why = json.loads(path.read_text(encoding="utf-8")).get("failed") if path.suffix == ".json" else None
    return [f"{path.stem}: {why}"] if why else []


ERRORS_IN = {"decide": _failed_claims, "draw": _failed_product, "tabulate": _failed_product}


def _reason(job: Job, since: float) -> str:
    """The last line of the log of a job that ran but has no record; empty for any other."""
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
