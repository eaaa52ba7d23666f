"""The entry of every job: reads its job file, runs its members, leaves a record. `python -m repdyn run <job file>`."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from repdyn.base.devices import pin_threads
from repdyn.base.fingerprint import SOURCE
from repdyn.pipeline.run import jobs
from repdyn.pipeline.run.digests import compiled_code
from repdyn.pipeline.run.kept import Kept
from repdyn.pipeline.run.loading import load_runner
from repdyn.pipeline.run.records import recorded


def run(words: Sequence[str]) -> None:
    """Runs the job of a job file, by its command."""
    parser = argparse.ArgumentParser(prog="repdyn run", description="Run one job of the workflow by hand.")
    parser.add_argument("job", type=Path, help="its job file, logs/<run>/<study>/<job>.job.json")
    parser.add_argument("--threads", type=int, help="threads of numerical libraries (default: the job's own, 1)")
    arguments = parser.parse_args(words)
    main(arguments.job, arguments.threads)


def main(file: Path, threads: int | None = None) -> None:
    """Runs a job and records it.

    Args:
        file: the job file.
        threads: threads of numerical libraries in place of the job's own; another recipe, for trials by hand.
    """
    job = jobs.read(file)
    pin_threads(threads or job.threads)  # before numpy or torch is imported
    if folder := compiled_code(SOURCE):
        os.environ["NUMBA_CACHE_DIR"] = str(folder.absolute())
    with recorded(job):
        run_members(job, file, load_runner(job.kind))


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
