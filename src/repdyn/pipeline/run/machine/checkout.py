"""The checkout a workflow runs from: its code is what every job runs, whatever is installed elsewhere."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline.run.machine.environment import recipe

CACHE = "SNAKEMAKE_OUTPUT_CACHE"


def put_first(source: Path) -> None:
    """Lets `python -m repdyn` in every job mean this interpreter and the package under `source`."""
    _put_first("PYTHONPATH", str(source))
    _put_first("PATH", str(Path(sys.executable).parent))


def separate_cache() -> None:
    """Gives each set of package versions and each kind of machine a part of Snakemake's between-run cache.

    Snakemake's key knows a rule's text, parameters and inputs, but neither of these, and results differ by them.
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
                f"{CACHE}={root}: no folder can be made there ({error.strerror}); name another"
            ) from error


def _put_first(name: str, folder: str) -> None:
    others = [part for part in os.environ.get(name, "").split(os.pathsep) if part and part != folder]
    os.environ[name] = os.pathsep.join([folder, *others])
