"""What a part of a check measured, in a phrase beside its label.

The label of a part is its name in `numbers.csv` of the reference runs and stays; `labels.yaml` of a study maps the id
of a claim to `{label: phrase}` where the label alone says too little. The label "" is that of a part without one, where
what is asked is as short.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config import yaml_positions


def read_all(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """The phrases of all studies by claim and label; `files` are those of the studies.

    Raises:
        ConfigError: a file is no mapping, or an entry is none of labels to phrases.
    """
    phrases: dict[str, dict[str, str]] = {}
    for path in files.values():
        for id, entry in yaml_positions.values(path).items():
            if not isinstance(entry, dict) or not all(isinstance(phrase, str) and phrase for phrase in entry.values()):
                raise ConfigError(f"{path}: {id}: expected a phrase for each label, {{label: phrase}}; has {entry!r}")
            phrases[id] = entry
    return phrases
