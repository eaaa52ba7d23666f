"""What is wrong with a refuted statement, in plain words: a message, its cause, what follows for the paper.

`decided/messages.yaml` of a study maps the id of every claim that its accepted verdicts refute to
`{message: ..., cause: ..., consequence: ...}`. A study that refutes nothing needs no file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping
from pathlib import Path
from typing import TypedDict

from markupsafe import Markup

from repdyn.base.errors import ConfigError
from repdyn.base.markup import words
from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.config.messages import nearest
from repdyn.pipeline.config.yaml_positions import Complaint, KeyPath
from repdyn.pipeline.run.kinds import ledger

LONGEST = {"message": 70, "cause": 320, "consequence": 320}  # characters
ID = re.compile(r"\(([a-z]+(?:-\w+)+)\)")


class Message(TypedDict):
    """What is wrong, in a few words; why the printed form is wrong; what changes in the paper, or that nothing does."""

    message: str
    cause: str
    consequence: str


def of_studies(folders: Mapping[str, Path] | None = None) -> dict[str, Message]:
    """The messages of all studies by claim.

    Args:
        folders: study -> its folder; None for all chosen studies.

    Raises:
        ConfigError: as `read`, a study that refutes a claim has no file, or accepted verdicts cannot be read.
    """
    messages: dict[str, Message] = {}
    files = studies.files(studies.MESSAGES, folders)
    accepted = studies.files(studies.ACCEPTED, folders)
    for study in {**accepted, **files}:
        verdicts = ledger.read_expected(accepted[study]) if study in accepted else {}
        refuted = [id for id, entry in verdicts.items() if entry["verdict"] in REFUTED]
        if study in files:
            messages |= read(files[study], refuted)
        elif refuted:
            file = accepted[study].with_name(Path(studies.MESSAGES).name)
            raise ConfigError(f"{file}: no such file; refuted claims want {_form()}: {', '.join(refuted)}")
    return messages


def read(path: Path, refuted: Collection[str]) -> dict[str, Message]:
    """The messages of a study by claim.

    Args:
        path: the file.
        refuted: ids of the claims that the study's accepted verdicts refute; each has an entry, and no other claim.

    Raises:
        ConfigError: the file is no mapping, a claim has no entry or is not refuted, or an entry has other keys or
            values; with all problems, each on a line of its own.
    """
    layer = yaml_positions.read(path, 0)
    problems = [
        Complaint(layer.positions[where], where, text)
        for id, entry in layer.values.items()
        for where, text in _problems(id, entry, refuted)
    ]
    missing = [id for id in refuted if id not in layer.values]
    problems += [Complaint(layer.positions[()], (id,), f"missing: a refuted claim wants {_form()}") for id in missing]
    if problems:
        raise ConfigError("\n".join(map(str, problems)))
    return {id: _message(entry) for id, entry in layer.values.items()}


def linked(text: str, known: Container[str]) -> Markup:
    """Words of a message; an id of a claim in parentheses leads to that claim's page, next to this one."""
    link = Markup('(<a href="{0}.html">{0}</a>)')
    return Markup(ID.sub(lambda id: link.format(id[1]) if id[1] in known else id[0], words(text)))


def _message(entry: Mapping[str, str]) -> Message:
    message, cause, consequence = (entry[key].strip() for key in LONGEST)
    return {"message": message, "cause": cause, "consequence": consequence}


def _form() -> str:
    return "{" + ", ".join(f"{key}: at most {most} characters" for key, most in LONGEST.items()) + "}"


def _problems(id: str, entry: object, refuted: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the texts of a claim, each with where it stands."""
    if id not in refuted:
        near = nearest(id, refuted)
        yield (id,), "no claim that this study refutes has this id" + (f'; did you mean "{near}"?' if near else "")
    if not isinstance(entry, dict):
        yield (id,), f"expected {_form()}, got {entry!r}"
        return
    if missing := [key for key in LONGEST if key not in entry]:
        yield (id,), f"missing: {', '.join(missing)}"
    for key, value in entry.items():
        if key not in LONGEST:
            yield (id, key), f"not one of the keys {', '.join(LONGEST)}"
        elif not isinstance(value, str) or not value.strip():
            yield (id, key), f"expected text, got {value!r}"
        elif len(value.strip()) > LONGEST[key]:
            yield (id, key), f"at most {LONGEST[key]} characters, got {len(value.strip())}: {value.strip()!r}"
