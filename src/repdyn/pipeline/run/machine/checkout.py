"""The checkout of a workflow: every job runs its code, whatever else is installed."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline.run.machine.environment import recipe

CACHE = "SNAKEMAKE_OUTPUT_CACHE"


def put_first(source: Path) -> None:
    """Makes `python -m repdyn` in every job use this interpreter and the package under `source`."""
    _put_first("PYTHONPATH", str(source))
    _put_first("PATH", str(Path(sys.executable).parent))


def separate_cache() -> None:
    """Separates Snakemake's between-run cache by package versions and kind of machine.

    Snakemake's key covers a rule's text, parameters and inputs, but not these, on which results depend.
    """
    root = os.environ.get(CACHE)
    if not root or "://" in root:
        return
    part = hashlib.sha256(repr(recipe()).encode()).hexdigest()[:16]
    if Path(root).name != part:  # a cluster's jobs read the workflow again, with the variable already set
        os.environ[CACHE] = str(Path(root) / part)
        try:
            Path(root, part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{CACHE}={root}: cannot create a folder there ({error.strerror}); choose another"
            ) from error


def _put_first(name: str, folder: str) -> None:
    others = [part for part in os.environ.get(name, "").split(os.pathsep) if part and part != folder]
    os.environ[name] = os.pathsep.join([folder, *others])
