"""The studies: packages with a module `study.py`, beside this one or registered by others, each with its own folder.

A package outside this one registers under the entry point group `repdyn.studies`:

    [project.entry-points."repdyn.studies"]
    my_paper = "my_paper.study:STUDY"
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from repdyn.base.declarations import Study

PACKAGE = Path(__file__).resolve().parents[1]
GROUP = "repdyn.studies"
ACCEPTED, FINDINGS = "decided/verdicts.yaml", "decided/findings.yaml"
SOURCES, CHOSEN = "decided/settings_sources.yaml", "decided/chosen_after_looking.yaml"
VALUES, COSTS, EXPLORER = "values/{}.yaml", "costs.csv", "explorer.js"
"""Files of a study, below its folder."""


@cache
def declared() -> dict[str, Study]:
    """All studies by name, in the order of the report."""
    inside = [(path.parent.name, f"repdyn.{path.parent.name}.study") for path in PACKAGE.glob("*/study.py")]
    found = {name: importlib.import_module(module).STUDY for name, module in inside}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def folders() -> dict[str, Path]:
    """Study -> the folder that holds all that is its own, in the order of the report."""
    return {study: PACKAGE / study for study in declared()}


def files(name: str, among: Mapping[str, Path] | None = None) -> dict[str, Path]:
    """Study -> its file of a name below its folder (`decided/verdicts.yaml`), where it has one.

    Args:
        name: the file, relative to the folder of a study.
        among: folders of studies; None for all.
    """
    paths = {study: folder / name for study, folder in (folders() if among is None else among).items()}
    return {study: path for study, path in paths.items() if path.is_file()}


def every(pattern: str) -> list[Path]:
    """All files of the studies that match a pattern below their folders."""
    return [path for folder in folders().values() for path in sorted(folder.glob(pattern))]
