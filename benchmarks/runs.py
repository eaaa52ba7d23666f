"""Whole runs beside those of an earlier commit: CPU seconds of all processes, from nothing in fresh clones, in turn.

    python benchmarks/runs.py ab12d399 --scale smoke --pairs 3

Both commits use the packages that are installed here. The section "Whole runs" of docs/performance.md has the results.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).parents[1]
SCALES = ("smoke", "default", "full", "paper")


def cpu_seconds(commit: str, scale: str) -> float:
    """CPU seconds of Snakemake and all of its jobs in a fresh clone of a commit, on all cores."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["git", "clone", "--quiet", ROOT, name], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=name, check=True)
        overlay = [] if scale == "default" else ["--configfile", f"workflow/scales/{scale}.yaml"]
        environment = os.environ | {"PYTHONPATH": f"{name}/src"}
        before = getrusage(RUSAGE_CHILDREN)
        command = ["snakemake", "--quiet", "all", "--cores", str(os.cpu_count()), *overlay, "--", "all"]
        subprocess.run(command, cwd=name, env=environment, check=True)
        after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints both times and their ratio for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the earlier commit")
    parser.add_argument("--scale", choices=SCALES, default="default", help="scale of the runs (default)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs (3)")
    chosen = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    for _ in range(chosen.pairs):
        earlier, now = (cpu_seconds(commit, chosen.scale) for commit in (chosen.commit, head.stdout.strip()))
        print(f"{chosen.scale}: {earlier:.0f} s at {chosen.commit}, {now:.0f} s now, ratio {now / earlier:.2f}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
