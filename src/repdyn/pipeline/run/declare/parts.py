"""Long jobs cut into parts that other cores take: each computes some trials, the job itself waits and joins them.

A part runs the job's own experiment at the job's own settings, but a list is shorter or a count of trials smaller.
No trial depends on such a knob (it is marked by `EACH`), so what a part leaves in the store of finished trials is what
the job itself would compute: the job then reads all of its trials, and what it writes is, byte for byte, what it would
have written uncut. Trials that are in the store already are computed by no part.

Lists are cut into neighbors that run side by side. A count is cut into fewer, more, ... and all trials; these parts
wait for each other, for an experiment numbers its trials from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from repdyn.base.declarations import Cut
from repdyn.base.errors import ConfigError
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.jobs import Images, Job, Member, input_paths

LONGEST = 900.0
"""Seconds of work from which a job is cut, and that a part has at most, if it has more than one trial."""
FOLDER = "parts"
LEAST = 2
"""Trials that a part has at least: fewer are refused by experiments that need a spread."""
Work = Callable[[Member], float]


def cut(job: Job, keys: Mapping[str, Sequence[Cut]], longest: float | None = None) -> tuple[list[Job], Job]:
    """Parts of a job, in an order in which they can run, and the job, which waits for them.

    Args:
        job: simulations of a study; those whose work is not known count nothing.
        keys: experiment -> knobs of its settings that may be cut, the first one first; none for a part of its own.
        longest: seconds that a job and each of its parts may take; `LONGEST` where None.

    Raises:
        ConfigError: what is to be cut is none of the job's experiments, has no known work or reads what the job makes.
    """
    longest = longest or LONGEST
    if unknown := set(keys) - {_experiment(member) for member in job.members}:
        raise ConfigError(f"{job.name} is to be cut at {', '.join(sorted(unknown))}, which is none of its experiments")
    work = partial(_work, images=job.images)
    if not keys or sum(map(work, job.members)) <= longest:
        return [], job
    made = {path for member in job.members for path in member["outputs"]}
    parts: list[Job] = []
    ends: list[str] = []
    for member in job.members:
        if _experiment(member) not in keys:
            continue
        if not work(member) or made & set(input_paths([member])):
            reason = "its work is unknown, or it reads what the job makes"
            raise ConfigError(f"{job.name} cannot be cut at {_experiment(member)}: {reason}")
        for chain in _chains(member, keys[_experiment(member)], longest, work):
            before: tuple[str, ...] = ()
            for narrowed in chain:
                parts.append(_part(job, narrowed, len(parts) + 1, before))
                before = (parts[-1].members[0]["outputs"][0],)
            ends += before
    return parts, replace(job, after=tuple(ends))


def share(job: Job, jobs: Mapping[str, Job]) -> float:
    """Share of a job's work that no job does which it waits for; 1 where it waits for none.

    Args:
        job: the job.
        jobs: every file that a job waits for -> the job that makes it.
    """
    if not job.after:
        return 1.0
    whole = sum(_work(member, job.images) for member in job.members)
    done = sum(costs.work(jobs[path].members, job.images) for path in job.after if path in jobs)
    return max(1 - done / whole, 0.0)


def _part(job: Job, member: Member, number: int, before: tuple[str, ...]) -> Job:
    file = PurePosixPath(job.study, FOLDER, job.name.partition("/")[2], f"{number}.nc")
    own: Member = {**member, "outputs": [str(file)]}
    return replace(job, name=f"{job.name}-part{number}", members=[own], after=before, part_of=job.name)


def _work(member: Member, images: Images) -> float:
    return costs.work([member], images)


def _chains(member: Member, keys: Sequence[Cut], longest: float, work: Work) -> Iterator[list[Member]]:
    """Members that do the work of one; those of one list after each other, the lists side by side."""
    if work(member) <= longest or not keys:
        yield [member]
        return
    key, group = (keys[0], 1) if isinstance(keys[0], str) else keys[0]
    value = member["settings"]["settings"][key]
    if isinstance(value, list):
        for entries in _neighbors(member, key, longest, work):
            yield from _chains(_with(member, key, entries), keys[1:], longest, work)
    else:
        steps = math.ceil(work(member) / longest)
        counts = {min(max(math.ceil(value * k / steps / group) * group, LEAST), value) for k in range(1, steps + 1)}
        yield [_with(member, key, count) for count in sorted(counts)]


def _neighbors(member: Member, key: str, longest: float, work: Work) -> Iterator[list[Any]]:
    """A list in pieces, each as long as its work allows, at least one entry."""
    piece: list[Any] = []
    for entry in member["settings"]["settings"][key]:
        if piece and work(_with(member, key, [*piece, entry])) > longest:
            yield piece
            piece = []
        piece = [*piece, entry]
    yield piece


def _with(member: Member, key: str, value: Any) -> Member:
    sections = member["settings"]
    return {**member, "settings": {**sections, "settings": {**sections["settings"], key: value}}}


def _experiment(member: Member) -> str:
    return member["function"].rpartition(":")[2]
