"""Which results are up to date with today's code and settings: decided by contents, not by times.

A file is up to date if the record of its job has today's job file (with settings and code version), the digests of the
current inputs, today's package versions, and the file's digest; and if the same is true of its inputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from repdyn.base.errors import DataError
from repdyn.base.files import sha256
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.machine.environment import WITHOUT_NUMBERS, version_of

Reasons = dict[str, str]
SHOWN, MANY = 6, 12
DOWNSTREAM = "computed from outdated files"


def examine(run: str, jobs: Sequence[Job]) -> Reasons:
    """Path -> what is wrong with it, empty if nothing, for every file that the jobs of a run create.

    Raises:
        DataError: the run has neither records nor a manifest, or the jobs are another run's.
    """
    home = f"results/{run}/"
    if others := [path for job in jobs for path in job.outputs if not path.startswith(home)]:
        known = ", ".join(sorted(path.name for path in Path("results").glob("*/")))
        advice = f"name its run or give its --configfile (runs here: {known})"
        raise DataError(f"this configuration creates {others[0]}, not {home}: {advice}")
    recorded = records.of_run(run)
    if not recorded:
        manifest = f"results/{run}/manifest.json"
        raise DataError(f"neither logs/{run} nor {manifest} tells how results/{run} was made; is it the run's name?")
    return _reasons(jobs, recorded)


def due(jobs: Sequence[Job]) -> list[Job]:
    """The jobs with a missing or outdated output."""
    reasons = _reasons(jobs, records.of_run(jobs[0].run)) if jobs else {}
    return [job for job in jobs if any(reasons[path] for path in job.outputs)]


def _reasons(jobs: Iterable[Job], recorded: Iterable[records.Record]) -> Reasons:
    latest, installed = records.by_output(recorded), cache(version_of)
    digest = cache(sha256)  # a file is read once, as an output and as an input of many
    reasons: Reasons = {}
    for job in jobs:
        today = json.loads(job.text())
        whole: dict[int, str] = {}  # a job's files mostly have one record
        for path in job.outputs:
            record = latest.get(path)
            if not Path(path).exists():
                reasons[path] = "missing"
            elif record is None:
                reasons[path] = "no record of the job that created it"
            elif record["outputs"][path] != digest(path):
                reasons[path] = "changed since it was created"
            else:
                if id(record) not in whole:
                    whole[id(record)] = _reason(record, today, reasons, installed, digest)
                reasons[path] = whole[id(record)]
    return reasons


def _reason(
    record: Mapping[str, Any],
    today: Mapping[str, Any],
    reasons: Reasons,
    installed: Callable[[str], str],
    digest: Callable[[str], str],
) -> str:
    """Why a job would make other files today, empty if it would not."""
    if record["job"] != today:
        return difference(record["job"], today)
    if others := _other_versions(record.get("versions", {}), installed):
        return f"created with {others}"
    for source, was in record["inputs"].items():
        if reasons.get(source):
            return DOWNSTREAM
        if not Path(source).exists() or digest(source) != was:
            return f"created from an earlier version of {source}"
    return ""


def remedy(reasons: Reasons, jobs: Iterable[Job]) -> list[str]:
    """Options that make Snakemake rerun the jobs of files that are outdated themselves; dependent jobs follow."""
    first = (next((path for path in job.outputs if reasons[path] not in ("", DOWNSTREAM)), None) for job in jobs)
    outputs = [path for path in first if path]
    return ["--forceall"] if len(outputs) > MANY else ["--forcerun", *outputs] if outputs else []


def report(run: str, reasons: Reasons, command: str) -> str:
    """The findings as text, and the command that updates the files."""
    wrong = {path: why for path, why in reasons.items() if why}
    lines = [
        f"results/{run}: {len(reasons) - len(wrong)} of {len(reasons)} files are up to date with code and settings"
    ]
    for why in dict.fromkeys(wrong.values()):
        paths = [path.split("/", 2)[2] for path in wrong if wrong[path] == why]
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        lines.append(f"{why}: {', '.join(paths[:SHOWN])}{more}")
    if left := _left_over(run, reasons):
        lines.append(f"no current rule creates these (safe to delete): {', '.join(left)}")
    if wrong:
        lines.append(f"to update them: {command}")
    return "\n".join(lines)


def difference(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """How two job files of one job differ, in words."""
    before, after = (dict(_leaves(content)) for content in (old, new))
    changed = sorted(key for key in before | after if before.get(key) != after.get(key))
    code = [key for key in changed if key.rpartition(".")[2] == "code"]
    settings = [key.split(".settings.", 1)[1] for key in changed if ".settings." in key]
    rest = [key for key in changed if key not in code and ".settings." not in key]
    parts = ["older code"] if code else []
    parts += [f"other settings ({', '.join(dict.fromkeys(settings))})"] if settings else []
    parts += [f"other {', '.join(dict.fromkeys(key.rpartition('.')[2] for key in rest))}"] if rest else []
    return " and ".join(parts)


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Dotted key and value of everything in a job file; lists of numbers are values, lists of tasks are not."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(part, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        for place, part in enumerate(value):
            yield from _leaves(part, f"{path}.{place}")
    else:
        yield path, value


def _other_versions(versions: Mapping[str, str], installed: Callable[[str], str]) -> str:
    """Packages whose version differs between a job and today, so that results may differ by rounding."""
    old = {name: version for name, version in versions.items() if name not in WITHOUT_NUMBERS}
    today = {name: installed(name) for name in old}
    differing = (name for name, now in today.items() if old[name] not in (now, now.partition("+")[0]))
    return ", ".join(f"{name} {old[name]} (now {today[name]})" for name in differing)


def _left_over(run: str, reasons: Reasons) -> list[str]:
    files = (path for path in sorted((Path("results") / run).rglob("*")) if path.is_file())
    unknown = (
        path
        for path in files
        if not {path.as_posix(), *(parent.as_posix() for parent in path.parents)} & reasons.keys()
    )
    return [path.as_posix().split("/", 2)[2] for path in unknown]
