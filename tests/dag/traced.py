"""Definitions that each task executes, and files of the checkout that it opens.

    python -m tests.dag.traced executed.json logs/smoke/leaky_resnets/exact.job.json ...

runs in a checkout with a finished run and writes, for each job file and member, its definitions and files.
"""

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.dag.tracing import executed_definitions

from repdyn.pipeline.run.declare import jobs
from repdyn.pipeline.run.execute import entry

OPENED: list[str] | None = None


def main(output: str, *files: str) -> None:
    sys.addaudithook(_opened)
    Path(output).write_text(json.dumps({file: list(_members(Path(file))) for file in files}))


def _members(file: Path):
    """Pairs of module and name, and opened files, of each member of a job run as a job of its own."""
    job = jobs.read(file)
    alone = file.with_name("alone.job.json")
    for member in job.members:
        alone.write_text(replace(job, members=[member]).text())
        with executed_definitions() as executed, _opening() as opened:
            entry.main(alone)
        yield {"executed": sorted(executed), "opened": sorted(opened)}


@contextmanager
def _opening():
    """Files of the checkout opened inside the block and still there, but not to import them; relative paths."""
    global OPENED
    OPENED, files = [], set()
    try:
        yield files
    finally:
        paths = [Path(path).absolute() for path in OPENED]
        kept = [path for path in paths if path.is_relative_to(Path.cwd()) and path.is_file()]
        files |= {path.relative_to(Path.cwd()).as_posix() for path in kept}
        OPENED = None


def _opened(event, arguments):
    if event != "open" or OPENED is None or not isinstance(arguments[0], str):
        return
    frame = sys._getframe()
    while frame and "importlib" not in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None:
        OPENED.append(arguments[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
