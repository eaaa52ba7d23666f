"""The checkout of a workflow: every job runs its code, whatever else is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def put_first(source: Path) -> None:
    """Makes `python -m repdyn` in every job use this interpreter and the package under `source`."""
    _put_first("PYTHONPATH", str(source))
    _put_first("PATH", str(Path(sys.executable).parent))


def _put_first(name: str, folder: str) -> None:
    others = [part for part in os.environ.get(name, "").split(os.pathsep) if part and part != folder]
    os.environ[name] = os.pathsep.join([folder, *others])
