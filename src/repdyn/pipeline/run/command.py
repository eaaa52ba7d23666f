"""`python -m repdyn run`: one job by hand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from repdyn.pipeline.run import entry


def run(words: Sequence[str]) -> int:
    """Runs the job of a job file."""
    parser = argparse.ArgumentParser(prog="repdyn run", description="Run one job of the workflow by hand.")
    parser.add_argument("job", type=Path, help="its job file, logs/<run>/<study>/<job>.job.json")
    parser.add_argument("--threads", type=int, help="threads of numerical libraries (default: the job's own, 1)")
    arguments = parser.parse_args(words)
    return entry.main(arguments.job, arguments.threads)
