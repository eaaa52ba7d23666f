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

`verdict` is the one that the reply is about; the report says so where the run has another.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, RootModel, StringConstraints, ValidationError

from repdyn.base.errors import ConfigError
from repdyn.base.settings import Settings
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.config.messages import complaints, nearest
from repdyn.pipeline.config.yaml_positions import Complaint
from repdyn.pipeline.report.page_md import Status
from repdyn.pipeline.run.kinds import ledger


def _day(text: str) -> str:
    datetime.date.fromisoformat(text)
    return text


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Reply(Settings):
    """One reply: who, when (as 2026-12-01), about which verdict, how, in which words, and where it was given."""

    author: Text
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]
    verdict: Status
    stance: Literal["accepts", "disputes", "comments"]
    words: Text
    source: Text


Replies = RootModel[dict[str, Annotated[list[Reply], Field(min_length=1)]]]


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
    values, positions = yaml_positions.read(path, 0)
    problems = [Complaint(positions[(id,)], (id,), _unknown(id, known)) for id in values if id not in known]
    try:
        replies = Replies.model_validate(values).root
    except ValidationError as error:
        problems += complaints(error, values, positions, Replies.model_json_schema())
    if problems:
        raise ConfigError("\n".join(map(str, sorted(problems, key=lambda problem: problem.position.line or 0))))
    return {id: sorted(listed, key=lambda reply: reply.date) for id, listed in replies.items()}


def _unknown(id: str, known: Collection[str]) -> str:
    near = nearest(id, known)
    return "no claim of this study has this id" + (f'; did you mean "{near}"?' if near else "")
