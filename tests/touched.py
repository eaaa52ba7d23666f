"""Which claims a change of a recording could touch: what to look at again before it is written.

Tests that compare with a recording end their message with these claims, and so do the commands that write one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath

from tests.drawn import makers
from tests.small import members

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import input_paths


@cache
def by_data(file: str) -> list[str]:
    """Claims that other content of a dataset's file could touch: those that read it, or what is made of it."""
    changed = {file}
    for study in ("data", *STUDIES):  # members stand in an order in which they can run
        changed |= {made for made, member in members(study).items() if changed.intersection(input_paths([member]))}
    return [id for study in STUDIES for id in read_study(study).claims_of(*_names(study, changed))]


def _names(study: str, changed: Collection[str]) -> Iterator[str]:
    """The datasets that files belong to, as a study's functions call them."""
    for parts in (PurePosixPath(file).with_suffix("").parts for file in changed):
        if parts[0] in (study, "data"):
            yield parts[parts.index("data") + 1]


def by_drawing(study: str, kind: str, name: str) -> list[str]:
    """The claim itself, or those that are decided on the datasets of a figure or table."""
    return [name] if kind == "claims" else read_study(study).claims_of(*makers(study, kind)[name].reads)


def difference(recorded: Sequence[str], now: Sequence[str], claims: Sequence[str]) -> str:
    """The lines of a recording that are others now, and the claims."""
    return "\n".join([*difflib.unified_diff(recorded, now, "recorded", "now", n=0, lineterm=""), told(claims)])


def told(claims: Sequence[str]) -> str:
    """The claims in words."""
    return f"Claims that this could touch: {', '.join(claims) or 'none'}."
