"""The studies: packages with a module `study.py`, in this package or outside it, each with a folder.

A project names the studies it works on in its `config.yaml` (`studies: [my_paper]`); the default are those of this
package. An external study is a package of its name, or one registered by a distribution:

    [project.entry-points."repdyn.studies"]
    my_paper = "my_package.study:STUDY"
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from repdyn.base.declarations import Study
from repdyn.base.errors import ConfigError
from repdyn.pipeline.packages import PACKAGE, package_of

KEY, CHOICE = "studies", "REPDYN_STUDIES"
PAGE, ACCEPTED, REPLIES, COSTS, ERRATA = "page.md", "verdicts.yaml", "replies.yaml", "costs.csv", "errata.md"
VALUES, SOURCES = "values/{}.yaml", "values/sources.yaml"
EXPLORER, OPENING = "explorer.js", "opening.js"
"""Files of a study, below its folder."""


def choose(project: Path) -> None:
    """Makes this process and its children use the studies in a project's configuration.

    Args:
        project: folder with `config.yaml`; without the key `studies`, the studies of this package are used.

    Raises:
        ConfigError: the file is not YAML, or the key is not a list of study names.
    """
    from repdyn.pipeline.config import yaml_positions  # jobs receive the choice and need no YAML

    file = project / "config.yaml"
    names = yaml_positions.values(file).get(KEY) if file.is_file() else None
    if names is None:
        os.environ[CHOICE] = ""
    elif isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        os.environ[CHOICE] = ",".join(names)
        if (source := str((project / "src").absolute())) not in sys.path:
            sys.path.insert(0, source)  # a study next to the configuration needs no installation
    else:
        raise ConfigError(f"{file}: {KEY}: {names!r} is not a list of names of studies, e.g. [my_paper]")
    declared.cache_clear()


@cache
def declared() -> dict[str, Study]:
    """The chosen studies by name, in the order of the report; by default all of this package.

    Raises:
        ConfigError: a chosen study does not exist.
    """
    chosen = os.environ.get(CHOICE, "")
    names = chosen.split(",") if chosen else [path.parent.name for path in PACKAGE.glob("*/study.py")]
    found = {name: importlib.import_module(f"{package_of(name)}.study").STUDY for name in names}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def folders() -> dict[str, Path]:
    """Study -> its folder, in the order of the report."""
    return {study: _folder(package_of(study)) for study in declared()}


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"{package}: not a package in a folder; a study is a folder with a module study")
    return Path(spec.submodule_search_locations[0])


def outside() -> tuple[tuple[str, Path], ...]:
    """Packages of the chosen studies that are not in this one, each with its folder."""
    packages = {study: package_of(study) for study in declared()}
    return tuple((package, folders()[study]) for study, package in packages.items() if package != f"repdyn.{study}")


def files(name: str, among: Mapping[str, Path] | None = None) -> dict[str, Path]:
    """Study -> its file of a name in its folder (`verdicts.yaml`), if it has one.

    Args:
        name: the file, relative to the folder of a study.
        among: folders of studies; None for all.
    """
    paths = {study: folder / name for study, folder in (folders() if among is None else among).items()}
    return {study: path for study, path in paths.items() if path.is_file()}


def every(pattern: str) -> list[Path]:
    """All files of the studies that match a pattern below their folders."""
    return [path for folder in folders().values() for path in sorted(folder.glob(pattern))]
