"""Snakemake in the background, and the jobs it starts, found by their working folder and killed by their process id."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    """Snakemake in a folder, in the background and without a GPU, all its output in one pipe."""
    command, hidden = [sys.executable, "-m", "snakemake", *arguments], os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(command, cwd=folder, env=hidden, stdout=pipe, stderr=both, text=True)


def job(folder: Path, words: str, seconds: float = 6 * 3600) -> int:
    """Process id of the job in `folder` whose command line contains `words`, as soon as there is one."""
    return until(lambda: next(iter(jobs(folder, words)), None), f"no process with {words!r}", seconds)


def jobs(folder: Path, words: str) -> list[int]:
    """Process ids of all `python -m repdyn` in `folder` whose command line contains `words`."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is(entry, folder, words)]


def _is(entry: Path, folder: Path, words: str) -> bool:
    try:
        command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        return words in " ".join(command) and command[1:3] == ["-m", "repdyn"] and (entry / "cwd").samefile(folder)
    except OSError:
        return False


def until(probe, complaint: str, seconds: float = 6 * 3600):
    """The first result of `probe` that is not empty."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (value := probe()) is not None:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{complaint} within {seconds} s")


def kill(process: int) -> None:
    """SIGKILL, which no program can catch."""
    os.kill(process, signal.SIGKILL)
