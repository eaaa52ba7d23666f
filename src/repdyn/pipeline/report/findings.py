"""The report's first page: findings that a person chose, with numbers and verdicts of the run.

`decided/findings.yaml` of a study maps the id of a claim to `{figure: study/name, headline: ..., sentence: ...,
show: ...}`; all else on a card comes from the ledger. Where the run's verdict is not the card's, the card says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.report.contents import Contents, Product, Row

KEYS = {"figure", "show", "verdict", "headline", "sentence"}
SHOWN = ("all", "top", "bottom")


@dataclass(frozen=True)
class Finding:
    """A card: a claim of the run, a figure, a headline and a sentence.

    Attributes:
        claim: the claim's row of the ledger.
        figure: the figure, None where the run has none of that name.
        show: which part of the figure the card shows: all, top or bottom.
        headline: the finding in a few words.
        sentence: what it means.
        is_current: whether the run's verdict is the one that headline and sentence speak of.
    """

    claim: Row
    figure: Product | None
    show: str
    headline: str
    sentence: str
    is_current: bool


def read_all(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """The chosen findings of all studies by claim; `files` are those of the studies."""
    return {id: entry for path in files.values() for id, entry in read(path).items()}


def read(path: Path) -> dict[str, dict[str, str]]:
    """The chosen findings of a study by claim.

    Raises:
        ConfigError: the file is missing or no mapping, or an entry has other keys or values.
    """
    chosen = yaml_positions.values(path)
    for id, entry in chosen.items():
        if not isinstance(entry, dict) or set(entry) != KEYS:
            raise ConfigError(f"{path}: {id}: wants the keys {', '.join(sorted(KEYS))}; has {entry!r}")
        if entry["show"] not in SHOWN or entry["verdict"] not in STATUSES:
            raise ConfigError(f"{path}: {id}: show is one of {', '.join(SHOWN)}, verdict one of {', '.join(STATUSES)}")
    return chosen


def findings(chosen: Mapping[str, Mapping[str, str]], contents: Contents) -> list[Finding]:
    """Cards of the chosen claims that the run decided."""
    claims = {row["id"]: row for row in contents.ledger}
    figures = {f"{product.study}/{product.name}": product for product in contents.products if product.kind == "figures"}
    return [
        Finding(
            claim=claims[id],
            figure=figures.get(entry["figure"]),
            show=entry["show"],
            headline=entry["headline"],
            sentence=entry["sentence"],
            is_current=claims[id]["verdict"] == entry["verdict"],
        )
        for id, entry in chosen.items()
        if id in claims
    ]
