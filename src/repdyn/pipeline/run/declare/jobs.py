"""Job files: what each job of the workflow runs, on what, with which settings and code, as one small JSON file.

The workflow writes `logs/<run>/<study>/<job>.job.json` for every job when it is read, each only where its content
changes, and every rule takes its job file as an input: an edit of code or settings changes the file, so Snakemake runs
the job again, with or without its own memory in `.snakemake`. The command of a job is its file alone:

    python -m repdyn run logs/default/leaky_resnets/exact.job.json

A job has members, each with a function, its code version, settings, inputs and outputs. Paths in a job file are
relative to the run's results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from repdyn.base.errors import ConfigError, DataError, RepdynError
from repdyn.base.files import write_text

SUFFIX = ".job.json"
INDEX = "jobs.json"  # names of all jobs of a run, in an order in which they can run

RULES = {"images": "data/images", "ledger": "claims"}
"""Jobs of no study whose rules are called by other names: those of what they make."""

Images = tuple[int, int]
"""Number of images that a run reads, and pixels of each."""

SOURCES: dict[str, dict[str, Images]] = {
    "digits": {"test": (1797, 8 * 8)},
    "mnist": {"test": (10_000, 28 * 28), "train": (60_000, 28 * 28), "both": (70_000, 28 * 28)},
}
"""What a source of images holds, by split."""

Inputs = dict[str, "str | dict[str, str]"]
"""Name of a dataset -> its file below the results, or variant -> file."""


class Check(TypedDict):
    """How a claim is decided: its function, that function's code version, the number of the look if not the first."""

    function: str
    code: str
    look: NotRequired[int]


class Member(TypedDict):
    """What a member of a job runs on what; which keys there are besides the first three is a matter of the job's kind.

    All kinds of a study have `study`. Simulations have `function`, `seed`, `paper`, `settings` by parameter, further
    `arguments`, and `device` where they train; figures and tables have `function`; verdicts have `claims`. The other
    keys are those of the jobs at the ends of the workflow: images, ledger, manifest, report.
    """

    code: str
    inputs: Inputs
    outputs: list[str]
    study: NotRequired[str]
    function: NotRequired[str]
    seed: NotRequired[int]
    paper: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    arguments: NotRequired[dict[str, Any]]
    device: NotRequired[str]
    claims: NotRequired[dict[str, Check]]
    run: NotRequired[str]
    texts: NotRequired[dict[str, str]]
    logs: NotRequired[str]
    workflow: NotRequired[str]
    config: NotRequired[dict[str, Any]]
    made: NotRequired[dict[str, list[str]]]
    declared: NotRequired[dict[str, str]]
    source: NotRequired[str]
    split: NotRequired[str]
    mnist_folder: NotRequired[str | None]
    mnist_mirrors: NotRequired[list[str]]


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Attributes:
        run: name of the run.
        name: study and job, e.g. "leaky_resnets/exact"; log, job file and record are called so.
        kind: what its members are: one of `loading.RUNNERS`.
        members: what is run, in order.
        threads: threads of numerical libraries, part of the recipe.
        memory_mb: memory the rule asks for at the first try.
        images: what its run reads; no part of its file, since the images are an input of it.
        after: files of parts, below the results, that must be there before it runs; no member reads them.
        part_of: the long job whose trials it computes, where it is a part of one.
    """

    run: str
    name: str
    kind: str
    members: Sequence[Member]
    threads: int = 1
    memory_mb: int = field(default=0, compare=False)
    images: Images = field(default=SOURCES["digits"]["test"], compare=False)
    after: tuple[str, ...] = ()
    part_of: str = ""

    @property
    def study(self) -> str:
        """Its study, empty for the jobs at the end of the workflow."""
        return self.name.partition("/")[0] if "/" in self.name else ""

    @property
    def rule(self) -> str:
        """Name of the rule that runs it: the path of what it makes, of variants that of all of them."""
        if self.part_of:
            return self.name.replace("/", "_parts_").replace("-part", "_")
        name = RULES.get(self.name, self.name.partition("-")[0])
        return name.replace("/", "_data_" if self.kind == "simulate" else "_")

    @property
    def log(self) -> str:
        """Its log file."""
        return f"logs/{self.run}/{self.name}.log"

    @property
    def file(self) -> str:
        """Its job file."""
        return f"logs/{self.run}/{self.name}{SUFFIX}"

    @property
    def inputs(self) -> list[str]:
        """Files that it reads or waits for."""
        return [f"results/{self.run}/{path}" for path in (*dict.fromkeys(input_paths(self.members)), *self.after)]

    @property
    def outputs(self) -> list[str]:
        """Files that it writes."""
        return [f"results/{self.run}/{path}" for member in self.members for path in member["outputs"]]

    def text(self) -> str:
        """Content of the job file; the run's name is not in it, so that equal jobs of two runs are equal."""
        content = {"job": self.name, "kind": self.kind, "threads": self.threads, "members": list(self.members)}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"  # variants keep the order of the settings


def input_paths(members: Iterable[Member]) -> Iterator[str]:
    """Files that members read, relative to the results."""
    for member in members:
        for path in member.get("inputs", {}).values():
            yield from path.values() if isinstance(path, dict) else [path]


def read(file: Path) -> Job:
    """The job of a job file.

    Raises:
        DataError: the file is missing or no job file.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        run, name = run_of(file), content["job"]
        return Job(run, name, content["kind"], content["members"], content["threads"])
    except FileNotFoundError:
        raise DataError(f"{file}: no such job file; the workflow writes it: snakemake --cores 8 all") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not a job file ({error}); delete it and run snakemake again") from error


def run_of(file: Path) -> str:
    """Name of the run whose log folder holds a file: the folder below the last `logs`."""
    parts = file.absolute().parts
    return parts[_logs(file, parts) + 1]


def results_of(file: Path) -> Path:
    """Folder of the results of the run whose log folder holds a file, beside `logs`."""
    whole = file.absolute().parts
    place = _logs(file, whole) - (len(whole) - len(file.parts))
    if place < 0:
        return results_of(file.absolute())
    return Path(*file.parts[:place], "results", run_of(file))


def _logs(file: Path, parts: Sequence[str]) -> int:
    """Place of the last `logs` among the parts of a path."""
    if "logs" not in parts[:-2]:
        raise DataError(f"{file}: not below logs/<run>/, where job files stand")
    return len(parts) - 1 - parts[::-1].index("logs")


def write_all(jobs: Sequence[Job], finished: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the job files of a run and their index, each only where it changes.

    Args:
        jobs: all jobs of one run.
        finished: name of each job that has run -> its record, with `job` (the content it ran) and `began`.

    Raises:
        ConfigError: the folder of logs cannot be written.
    """
    try:
        for job in jobs:
            _write(Path(job.file), job.text(), finished.get(job.name))
        if jobs:
            index = json.dumps([[job.name, job.memory_mb, job.after, job.part_of] for job in jobs]) + "\n"
            _write(Path(f"logs/{jobs[0].run}/{INDEX}"), index, None)
    except (OSError, RepdynError) as error:
        raise ConfigError(f"job files cannot be written: {error}") from error


def _write(file: Path, text: str, record: Mapping[str, Any] | None) -> None:
    """Where the content is what the last finished job ran, the file is older than that job's outputs; else as it is."""
    same = file.is_file() and file.read_bytes() == text.encode()
    if not same:
        write_text(file, text)
    if record and record.get("job") == json.loads(text):
        began = datetime.fromisoformat(record["began"]).timestamp()
        if file.stat().st_mtime > began:
            os.utime(file, (began, began))


def load_all(run: str) -> list[Job]:
    """The jobs of a run as the workflow last wrote them, in an order in which they can run.

    Raises:
        DataError: the workflow has not been read for this run.
    """
    index = Path("logs") / run / INDEX
    if not index.is_file():
        raise DataError(f"{index}: missing; the workflow writes it: snakemake --cores 8 --dry-run all")
    listed = json.loads(index.read_text())
    jobs = [
        replace(read(Path("logs") / run / f"{name}{SUFFIX}"), memory_mb=memory, after=tuple(after), part_of=part_of)
        for name, memory, after, part_of in listed
    ]
    return [replace(job, images=images_of(jobs)) for job in jobs]


def images_of(jobs: Iterable[Job]) -> Images:
    """What the job that saves the images, which stands among a run's first, reads; the digits where there is none."""
    members = (member for job in jobs for member in job.members)
    return next((SOURCES[m["source"]][m["split"]] for m in members if "source" in m), SOURCES["digits"]["test"])
