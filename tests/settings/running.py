"""Jobs run one after the other in this process, each failure kept: what dies under given settings, and what lives."""

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repdyn.pipeline.run.jobs import input_paths
from repdyn.pipeline.run.loading import load_runner

Member = Mapping[str, Any]


@dataclass
class Outcome:
    """What became of members: name -> last lines of the traceback where one died; names that ran."""

    died: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)


def members_of(texts: Mapping[str, str], study: str) -> list[tuple[str, Member]]:
    """Kind and content of a study's members, and of the images before them, in an order in which they can run."""
    jobs = [json.loads(text) for name, text in texts.items() if name.startswith(f"{study}/") or name == "images"]
    return [(job["kind"], member) for job in jobs for member in job["members"]]


def run(members: Iterable[tuple[str, Member]], results: Path) -> Outcome:
    """Runs members whose inputs are there; what reads the output of a member that died is left out."""
    outcome = Outcome()
    for kind, member in members:
        name = f"{kind} {member['outputs'][0]}"
        if any(not (results / path).is_file() for path in input_paths([member])):
            continue
        try:
            finish = load_runner(kind)(member, results, None)
            if callable(finish):
                finish()
            outcome.ran.append(name)
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "/repdyn/" in f.filename]
            where = " < ".join(f"{Path(f.filename).stem}:{f.lineno} {f.name}" for f in reversed(frames[-4:]))
            outcome.died[name] = f"{type(error).__name__}: {error} @ {where}"
    return outcome
