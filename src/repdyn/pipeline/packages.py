"""The package of a study. Code versions include modules with dynamic lookup as a whole, so this one is small."""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from repdyn.base.errors import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
GROUP = "repdyn.studies"


def package_of(study: str) -> str:
    """The package of a study: part of repdyn, registered by another distribution, or with the study's name.

    Raises:
        ConfigError: there is no such package, or it has no module `study`.
    """
    if (PACKAGE / study / "study.py").is_file():
        return f"repdyn.{study}"
    registered = {entry.name: entry.module.removesuffix(".study") for entry in entry_points(group=GROUP)}
    package = registered.get(study, study)
    try:
        if find_spec(f"{package}.study"):
            return package
    except ModuleNotFoundError:
        pass
    known = [*(path.parent.name for path in PACKAGE.glob("*/study.py")), *registered]
    raise ConfigError(
        f"no study {study!r}: no package {package} with a module study; known: {', '.join(sorted(known))}"
    )
