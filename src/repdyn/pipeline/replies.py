"""Authors' replies to a verdict, in their own words.

`replies.yaml` of a study maps the id of a claim to a list of replies:

    tf-thm32-omega:
      - author: Thomas Chen
        date: 2026-12-01
        verdict: holds as corrected
        stance: disputes
        words: >-
          The term is absorbed by ...
        source: issue 12

`verdict` is the one that the reply is about. `Reply.is_current` tells whether the run still has it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.config.messages import nearest
from repdyn.pipeline.config.yaml_positions import Complaint, KeyPath
from repdyn.pipeline.run.kinds import ledger

STANCES = ("accepts", "disputes", "comments")
KEYS = ("author", "date", "verdict", "stance", "words", "source")


@dataclass(frozen=True)
class Reply:
    """One reply.

    Attributes:
        author: who replies, by name.
        date: the day of the reply, as 2026-12-01.
        verdict: the verdict that it is about.
        stance: accepts, disputes or comments.
        words: the reply, unedited.
        source: its origin: an issue, a letter, a page.
    """

    author: str
    date: str
    verdict: str
    stance: str
    words: str
    source: str

    def is_current(self, verdict: str) -> bool:
        """Whether the reply is about this verdict."""
        return self.verdict == verdict


def of_studies(folders: Mapping[str, Path] | None = None) -> dict[str, list[Reply]]:
    """The replies of all studies by claim, each claim's by date; a claim is one with an accepted verdict.

    Args:
        folders: study -> its folder; None for all chosen studies.

    Raises:
        ConfigError: as `read`, or accepted verdicts cannot be read.
    """
    accepted = studies.files(studies.ACCEPTED, folders)
    replies: dict[str, list[Reply]] = {}
    for study, path in studies.files(studies.REPLIES, folders).items():
        replies |= read(path, ledger.read_expected(accepted[study]) if study in accepted else ())
    return replies


def read(path: Path, known: Collection[str]) -> dict[str, list[Reply]]:
    """The replies to a study's verdicts by claim, each claim's by date.

    Args:
        path: the file.
        known: ids of the study's claims.

    Raises:
        ConfigError: the file is no mapping, a claim is unknown, or a reply has other keys or values; with one line per
            problem.
    """
    layer = yaml_positions.read(path, 0)
    problems = [
        Complaint(layer.positions[where], where, text)
        for id, listed in layer.values.items()
        for where, text in _problems(id, listed, known)
    ]
    if problems:
        raise ConfigError("\n".join(map(str, problems)))
    return {id: sorted(map(_reply, listed), key=lambda reply: reply.date) for id, listed in layer.values.items()}


def _reply(entry: Mapping[str, object]) -> Reply:
    return Reply(**{key: str(entry[key]).strip() for key in KEYS})


def _problems(id: str, listed: object, known: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """Problems in the replies to a claim, each with its position."""
    if id not in known:
        near = nearest(id, known)
        yield (id,), "no claim of this study has this id" + (f'; did you mean "{near}"?' if near else "")
    if not isinstance(listed, list) or not listed:
        yield (id,), f"expected a list of replies, got {listed!r}"
        return
    for at, entry in enumerate(listed):
        if not isinstance(entry, dict):
            yield (id, at), f"expected the keys {', '.join(KEYS)}, got {entry!r}"
            continue
        if missing := [key for key in KEYS if key not in entry]:
            yield (id, at), f"missing: {', '.join(missing)}"
        for key, value in entry.items():
            if wrong := _wrong(key, value):
                yield (id, at, key), wrong


def _wrong(key: str, value: object) -> str:
    if key not in KEYS:
        return f"not one of the keys {', '.join(KEYS)}"
    if key == "date":
        return "" if _is_date(value) else f"{value!r} is not a date such as 2026-12-01"
    allowed = {"verdict": STATUSES, "stance": STANCES}.get(key)
    if allowed is not None:
        return "" if value in allowed else f"{value!r} is not one of {', '.join(allowed)}"
    return "" if isinstance(value, str) and value.strip() else f"expected text, got {value!r}"


def _is_date(value: object) -> bool:
    """Whether it is a date as text."""
    try:
        return datetime.date.fromisoformat(str(value)).isoformat() == str(value)
    except ValueError:
        return False
