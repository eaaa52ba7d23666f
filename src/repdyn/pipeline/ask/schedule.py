"""How long jobs take on a number of cores: list scheduling on the graph of file dependencies.

A job takes one core. A free core takes, of the jobs whose inputs exist, the one with the longest remaining path (its
own time and the longest chain of dependent jobs). Such a schedule is never longer than work / cores + (1 - 1 / cores)
times the critical path, and none is shorter than the critical path or work / cores (R. L. Graham, Bounds on
multiprocessing timing anomalies, SIAM J. Appl. Math. 17, 416, 1969).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter

from repdyn.pipeline.run.declare.jobs import Job

Needs = Mapping[str, Sequence[str]]
"""Name of a job -> names of the jobs whose files it reads."""


def needs(jobs: Iterable[Job]) -> dict[str, list[str]]:
    """Dependencies between jobs; files that none of these jobs creates are assumed to exist."""
    jobs = list(jobs)
    makers = {path: job.name for job in jobs for path in job.outputs}
    return {job.name: sorted({makers[path] for path in job.inputs if path in makers} - {job.name}) for job in jobs}


def ways_to_the_end(seconds: Mapping[str, float], needs: Needs) -> dict[str, float]:
    """Time of each job plus that of the longest chain of dependent jobs.

    Raises:
        ValueError: jobs wait for each other.
    """
    readers, ways = _readers(needs), dict[str, float]()
    for name in reversed([*TopologicalSorter(needs).static_order()]):
        ways[name] = seconds[name] + max((ways[reader] for reader in readers[name]), default=0.0)
    return ways


def critical_path(seconds: Mapping[str, float], needs: Needs) -> list[str]:
    """The chain of jobs that takes longest, from its first job to its last; empty without jobs."""
    ways, readers = ways_to_the_end(seconds, needs), _readers(needs)
    path: list[str] = []
    following = list(needs)
    while following:
        path.append(max(following, key=lambda name: ways[name]))
        following = readers[path[-1]]
    return path


def schedule(seconds: Mapping[str, float], needs: Needs, cores: int) -> float:
    """Time until the last of the jobs ends on a number of cores.

    Args:
        seconds: time of each job, at least 0.
        needs: dependencies between jobs.
        cores: at least 1.

    Raises:
        ValueError: there is no core, or jobs wait for each other.
    """
    if cores < 1:
        raise ValueError(f"got {cores} cores, expected at least 1")
    ways, readers = ways_to_the_end(seconds, needs), _readers(needs)
    left = {name: len(before) for name, before in needs.items()}
    ready = [(-ways[name], name) for name, count in left.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            _, name = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds[name], name))
        now, done = heapq.heappop(running)
        for reader in readers[done]:
            left[reader] -= 1
            if not left[reader]:
                heapq.heappush(ready, (-ways[reader], reader))
    return now


def _readers(needs: Needs) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = {name: [] for name in needs}
    for name, before in needs.items():
        for maker in before:
            readers[maker].append(name)
    return readers
