"""Entry point of every job: reads its job file, runs its tasks, writes a record. `python -m repdyn run <job file>`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from repdyn.base.devices import pin_threads
from repdyn.pipeline.run.declare import jobs
from repdyn.pipeline.run.declare.digests import compiled_code
from repdyn.pipeline.run.execute import trials
from repdyn.pipeline.run.execute.loading import load_runner
from repdyn.pipeline.run.execute.records import Work, recorded
from repdyn.pipeline.versions.fingerprint import SOURCE

if TYPE_CHECKING:  # numpy must not be imported before the threads are pinned
    from repdyn.base.checkpoints import Store

Runner = Callable[[jobs.Member, Path, "Store | None"], None]


def run(words: Sequence[str]) -> None:
    """Runs the command for one job file."""
    parser = argparse.ArgumentParser(prog="repdyn run", description="Run one job of the workflow by hand.")
    parser.add_argument("job", type=Path, help="its job file, logs/<run>/<study>/<job>.job.json")
    parser.add_argument("--threads", type=int, help="threads of numerical libraries (default: the job's number, 1)")
    arguments = parser.parse_args(words)
    if arguments.threads is not None and arguments.threads < 1:
        parser.error(f"--threads: got {arguments.threads}, expected a whole number above 0")
    main(arguments.job, arguments.threads)


def main(file: Path, threads: int | None = None) -> None:
    """Runs a job and records it.

    Args:
        file: the job file.
        threads: threads of numerical libraries instead of the job's number; for experiments by hand, since results may
            differ.
    """
    job = jobs.read(file)
    pin_threads(threads or job.threads)  # before numpy or torch is imported
    if folder := compiled_code(SOURCE):
        os.environ["NUMBA_CACHE_DIR"] = str(folder.absolute())
        os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] = "repdyn.base.compiling.ByModule"
    with recorded(job) as work:
        run_members(job, file, load_runner(job.kind), work)


def run_members(job: jobs.Job, file: Path, run: Runner, work: Work) -> None:
    """Runs the members in order.

    A runner receives the task, the folder of the results and the trial cache: a failed job leaves no outputs, but its
        finished trials are cached.

    Args:
        job: the job to run.
        file: its job file.
        run: the runner of its kind.
        work: takes what the members took.
    """
    results = jobs.results_of(file)
    if not job.study:  # jobs at the ends of the workflow have no trials
        for member in job.members:
            run(member, results, None)
        return
    finished = trials.store(job, results)
    for member in job.members:
        began, before = time.process_time(), finished.tally.seconds
        run(member, results, finished)
        read = finished.tally.seconds - before
        work.add(member["outputs"], time.process_time() - began, read)
    work.trials = finished.tally.read
    trials.done(job, finished)
