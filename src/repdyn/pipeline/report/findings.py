"""The report's first page: each paper in three sentences, and findings that a person chose, with the run's verdicts.

`decided/findings.yaml` of a study maps `summary` to `{claims: ..., breaks: ..., survives: ...}`, and the id of a claim
to `{figure: study/name, headline: ..., sentence: ..., show: ...}`; all else on a card comes from the ledger. Where the
run's verdict is not the card's, the card says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.verdicts import STATUSES
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.report.contents import Contents, Product, Row

SUMMARY, SENTENCES = "summary", ("claims", "breaks", "survives")
LONGEST = 160  # characters of a sentence; five papers fit one screen
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
    chosen.pop(SUMMARY, None)
    for id, entry in chosen.items():
        if not isinstance(entry, dict) or set(entry) != KEYS:
            raise ConfigError(f"{path}: {id}: wants the keys {', '.join(sorted(KEYS))}; has {entry!r}")
        if entry["show"] not in SHOWN or entry["verdict"] not in STATUSES:
            raise ConfigError(f"{path}: {id}: show is one of {', '.join(SHOWN)}, verdict one of {', '.join(STATUSES)}")
    return chosen


def summaries(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """Study -> what its paper claims, what breaks, what survives, where its file says so.

    Raises:
        ConfigError: a summary has other keys, or a value is no short sentence.
    """
    written = {study: yaml_positions.values(path).get(SUMMARY) for study, path in files.items()}
    return {study: _summary(files[study], entry) for study, entry in written.items() if entry is not None}


def _summary(path: Path, entry: object) -> dict[str, str]:
    if not isinstance(entry, dict) or set(entry) != set(SENTENCES):
        raise ConfigError(f"{path}: {SUMMARY}: wants the keys {', '.join(SENTENCES)}; has {entry!r}")
    for key, sentence in entry.items():
        if not isinstance(sentence, str) or not sentence.endswith(".") or len(sentence) > LONGEST:
            wanted = f"a sentence of at most {LONGEST} characters with a period at its end"
            raise ConfigError(f"{path}: {SUMMARY}.{key}: expected {wanted}; has {sentence!r}")
    return {key: entry[key] for key in SENTENCES}


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
