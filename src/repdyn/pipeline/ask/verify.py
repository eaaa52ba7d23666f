"""Which results are what today's code and settings would make: decided by contents, not by times.

A file is vouched for where the record of its job says the command line of today (it holds settings and code version),
the digests of the inputs as they are now, and the file's own digest; and where the same is true of those inputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repdyn.base.errors import DataError
from repdyn.base.files import sha256
from repdyn.pipeline.ask.dryrun import Job
from repdyn.pipeline.run import records

Reasons = dict[str, str]
SHOWN, MANY = 6, 12
DOWNSTREAM = "made from files that are out of date"
CAPTIONS = "report/captions/"  # beside the report, for Snakemake's own: what figures and tables say of themselves


def examine(run: str, jobs: Sequence[Job]) -> Reasons:
    """Path -> what is wrong with it, empty where nothing is, for every file that the jobs of a run make.

    Raises:
        DataError: the run left neither records nor a manifest, or the jobs are another run's.
    """
    home = f"results/{run}/"
    if others := [path for job in jobs for path in job.outputs if not path.startswith(home)]:
        known = ", ".join(sorted(path.name for path in Path("results").glob("*/")))
        advice = f"name its run or give its --configfile (runs here: {known})"
        raise DataError(f"this configuration makes {others[0]}, not {home}: {advice}")
    made = records.makers(_records(run))
    reasons: Reasons = {}
    for job in jobs:
        for path in job.outputs:
            reasons[path] = _reason(path, job, made.get(path), reasons)
    return reasons


def remedy(reasons: Reasons, jobs: Iterable[Job]) -> list[str]:
    """Options that make Snakemake run the jobs of what is wrong by itself again; what is made from it follows."""
    first = (next((path for path in job.outputs if reasons[path] not in ("", DOWNSTREAM)), None) for job in jobs)
    found = [path for path in first if path]
    return ["--forceall"] if len(found) > MANY else ["--forcerun", *found] if found else []


def report(run: str, reasons: Reasons, command: str) -> str:
    """The findings as text, and the command that mends them."""
    wrong = {path: why for path, why in reasons.items() if why}
    lines = [
        f"results/{run}: {len(reasons) - len(wrong)} of {len(reasons)} files are what today's code and settings make"
    ]
    for why in dict.fromkeys(wrong.values()):
        paths = [path.split("/", 2)[2] for path in wrong if wrong[path] == why]
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        lines.append(f"{why}: {', '.join(paths[:SHOWN])}{more}")
    if left := _left_over(run, reasons):
        lines.append(f"no rule makes these today (safe to delete): {', '.join(left)}")
    lines += _other_versions(run)
    if wrong:
        lines.append(f"to make them again: {command}")
    return "\n".join(lines)


def _reason(path: str, job: Job, record: records.Record | None, reasons: Reasons) -> str:
    if not Path(path).is_file():
        return "missing"
    if record is None:
        return "no record of the job that made it"
    if record["outputs"][path] != sha256(path):
        return "changed since it was made"
    if tuple(record["arguments"]) != job.arguments:
        return difference(record["arguments"], job.arguments)
    for source, digest in record["inputs"].items():
        if reasons.get(source):
            return DOWNSTREAM
        if not Path(source).is_file() or sha256(source) != digest:
            return f"made from {source} as it was before"
    return ""


def difference(old: Sequence[str], new: Sequence[str]) -> str:
    """How two command lines of one job differ, in words."""
    parts = ["older code"] if records.option(old, "--code") != records.option(new, "--code") else []
    for name in ("--job", "--config"):
        before, after = (_leaves([json.loads(text) for text in records.option(words, name)]) for words in (old, new))
        changed = sorted(key for key in before | after if before.get(key) != after.get(key))
        if changed:
            parts.append(f"other settings ({', '.join(dict.fromkeys(key.split('.', 1)[1] for key in changed))})")
    return " and ".join(parts) or "another command line"


def _leaves(value: object, path: str = "") -> dict[str, object]:
    """Dotted key -> value; lists of numbers are values, lists of jobs are not."""
    if isinstance(value, Mapping):
        return {key: leaf for name, part in value.items() for key, leaf in _leaves(part, f"{path}.{name}").items()}
    if isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        return {key: leaf for place, part in enumerate(value) for key, leaf in _leaves(part, f"{path}{place}").items()}
    return {path: value}


def _records(run: str) -> list[records.Record]:
    """From the logs; from the manifest, where results were copied without logs."""
    if found := records.read(Path("logs") / run):
        return found
    manifest = Path("results") / run / "manifest.json"
    if not manifest.is_file():
        raise DataError(f"neither logs/{run} nor {manifest} tells how results/{run} was made; is it the run's name?")
    return json.loads(manifest.read_text(encoding="utf-8"))["costs"]


def _left_over(run: str, reasons: Reasons) -> list[str]:
    files = (path.as_posix() for path in sorted((Path("results") / run).rglob("*")) if path.is_file())
    names = (path.split("/", 2)[2] for path in files if path not in reasons)
    return [name for name in names if not name.startswith(CAPTIONS)]


def _other_versions(run: str) -> list[str]:
    """Packages that have changed since the run: no reason to run again, but results may differ in rounding."""
    manifest = Path("results") / run / "manifest.json"
    if not manifest.is_file():
        return []
    kept = json.loads(manifest.read_text(encoding="utf-8"))["versions"]
    changed = [f"{name} {old}, now {now}" for name, old in kept.items() if (now := _version(name)) not in (old, "")]
    return [f"made with other versions: {'; '.join(changed)}"] if changed else []


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
