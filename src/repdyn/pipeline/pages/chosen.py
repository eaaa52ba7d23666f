"""What was chosen after a look at numbers, and how the claims it decides come out on fresh draws.

`decided/chosen_after_looking.yaml` of a study has a list of `{chosen: text, claims: [id, ...]}`. The full scale has a
seed of its own (`workflow/scales/full.yaml`), so that its reference holds the verdicts on fresh draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, TypeGuard

import pandas as pd

from repdyn.base.errors import ConfigError
from repdyn.pipeline import kept_runs, studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.pages.markdown import table

KEY, FORM = "after_looking", "{chosen: text, claims: [id, ...]}"
LOOKED_AT, FRESH = "default", "full"
INTRODUCTION = """\
# Decided again on fresh draws

Some regions, sizes and hypotheses were set after numbers of the default scale had been seen. Each is listed here with
the claims that it decides. The full scale draws from a seed of its own that had no part in any choice; its verdicts
stand beside those of the default scale. A verdict that is not decidable at one of them says nothing against the other.

This page is generated from the studies' `decided/chosen_after_looking.yaml` and from `reference/`
(`python -m repdyn reference`); a test holds it to them.
"""


class Choice(TypedDict):
    """What was chosen, in words, and the ids of the claims that it decides."""

    chosen: str
    claims: list[str]


def read_all(files: Mapping[str, Path]) -> dict[str, list[Choice]]:
    """What was chosen, by study; `files` are those of the studies."""
    return {study: read(path) for study, path in files.items()}


def read(path: Path) -> list[Choice]:
    """What was chosen in a study.

    Raises:
        ConfigError: the file is missing or damaged, or an entry has other keys or values.
    """
    content = yaml_positions.values(path)
    if list(content) != [KEY] or not isinstance(content[KEY], list):
        raise ConfigError(f"{path}: expected the key {KEY} with a list of {FORM}, got {content!r}")
    choices: list[Choice] = []
    for entry in content[KEY]:
        if not _is_choice(entry):
            raise ConfigError(f"{path}: {KEY}: expected a list of {FORM}, got {entry!r}")
        choices.append(entry)
    return choices


def _is_choice(entry: object) -> TypeGuard[Choice]:
    return (
        isinstance(entry, dict)
        and set(entry) == {"chosen", "claims"}
        and isinstance(entry["chosen"], str)
        and isinstance(entry["claims"], list)
        and all(isinstance(id, str) for id in entry["claims"])
    )


def by_claim(chosen: Mapping[str, list[Choice]]) -> dict[str, list[str]]:
    """Claim -> what was chosen for it."""
    texts: dict[str, list[str]] = {}
    for choices in chosen.values():
        for choice in choices:
            for id in choice["claims"]:
                texts.setdefault(id, []).append(choice["chosen"])
    return texts


def page(root: Path, folders: Mapping[str, Path] | None = None) -> str:
    """All choices with the verdicts of their claims at both scales, as Markdown.

    Args:
        root: the checkout, with `reference/`.
        folders: study -> its folder; None for all studies.
    """
    frames = kept_runs.ledgers(root / kept_runs.FOLDER)
    columns = [name for name in (LOOKED_AT, FRESH) if name in frames]
    parts = [INTRODUCTION]
    for study, choices in read_all(studies.files(studies.CHOSEN, folders)).items():
        rows = [
            ("" if place else choice["chosen"], f"`{id}`", *(_verdict(frames[name], id) for name in columns))
            for choice in choices
            for place, id in enumerate(choice["claims"])
        ]
        parts += [f"## {study}\n", f"Chosen after looking: {len(choices)}.\n"]
        parts.append(table(("chosen", "claim", *columns), rows))
    return "\n".join(parts)


def _verdict(frame: pd.DataFrame, id: str) -> str:
    return str(frame.loc[id, "verdict"]) if id in frame.index else "not judged"
