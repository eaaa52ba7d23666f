"""Concepts of the studies for a student: a question, the one formula, what it says, a figure of the run.

`concept.yaml` in a study's folder is `{question: ..., formula: LaTeX, says: ..., figure: name}`; a study without a
theory of its own needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.report.contents import Product

KEYS = ("question", "formula", "says", "figure")


@dataclass(frozen=True)
class Concept:
    """What a study is about.

    Attributes:
        question: the question, in one sentence.
        formula: LaTeX without dollars.
        says: what its symbols are and what to watch.
        figure: a figure of the study.
    """

    question: str
    formula: str
    says: str
    figure: Product


def read(path: Path, figures: Mapping[str, Product]) -> Concept:
    """The concept in a file.

    Args:
        path: the file.
        figures: the study's figures by name.

    Raises:
        ConfigError: the file is no mapping, has other keys, a value is no text, or the run has no such figure.
    """
    entry = yaml_positions.values(path)
    if set(entry) != set(KEYS):
        raise ConfigError(f"{path}: wants the keys {', '.join(KEYS)}; has {', '.join(entry) or 'none'}")
    for key, value in entry.items():
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{path}: {key}: expected text, got {value!r}")
    if entry["figure"] not in figures:
        raise ConfigError(f"{path}: figure: {entry['figure']!r} is not one of {', '.join(figures) or 'none'}")
    question, formula, says = (entry[key].strip() for key in KEYS[:-1])
    return Concept(question, formula, says, figures[entry["figure"]])
