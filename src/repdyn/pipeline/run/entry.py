"""The entry of every job: reads its job file, runs its members, leaves a record. `python -m repdyn run <job file>`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from repdyn.base.devices import pin_threads
from repdyn.base.errors import RepdynError
from repdyn.pipeline.run import jobs
from repdyn.pipeline.run.digests import compiled_code
from repdyn.pipeline.run.kept import Kept
from repdyn.pipeline.run.loading import load_runner
from repdyn.pipeline.run.records import recorded

SOURCE = Path(__file__).resolve().parents[3]


def main(file: Path, threads: int | None = None) -> int:
    """Runs a job; a user's mistake ends with one readable line and exit status 1, not with a traceback.

    Args:
        file: the job file.
        threads: threads of numerical libraries in the place of the job's own; another recipe, for trials by hand.
    """
    try:
        job = jobs.read(Path(file))
        pin_threads(threads or job.threads)  # before numpy or torch is imported
        if folder := compiled_code(SOURCE):
            os.environ["NUMBA_CACHE_DIR"] = str(folder.absolute())
        with recorded(job):
            run_members(job, Path(file), load_runner(job.kind))
    except RepdynError as error:
        print(f"error: {error}", file=sys.stderr)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    else:
        return 0
    return 1


def run_members(job: jobs.Job, file: Path, run: Callable[..., Callable[[], None] | None]) -> None:
    """Runs the members in order; one whose code, settings and inputs are those of last time is not run again.

    A runner gets the member, the folder of the results and the folder for checkpoints; what it returns is called
    when all members are done: of a job that fails no output stays, so its finished trials are kept until then. A
    study's job that ends well leaves no checkpoints, those of an earlier try or of other settings included.
    """
    results, kept, last = jobs.results_of(file), Kept(Path(job.log)), []
    for member in job.members:
        if not job.study:  # jobs at the ends of the workflow also read files of the checkout, which no member names
            run(member, results, None)
        elif not kept.restore(member, results):
            last.append(run(member, results, Path(f"{job.log}.checkpoints")))
            kept.keep(member, results)
    for finish in filter(None, last):
        finish()
    kept.sweep()
    if job.study:
        shutil.rmtree(f"{job.log}.checkpoints", ignore_errors=True)
