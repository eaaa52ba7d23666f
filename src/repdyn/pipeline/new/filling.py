"""A folder that is filled as a whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repdyn.base.errors import ConfigError


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """Lets the block fill a folder; where the block fails, the folder is as it was before.

    Args:
        folder: one that is empty, or not there and then made.

    Raises:
        ConfigError: it holds something, or a file has its name.
    """
    there = folder.is_symlink() or folder.exists()
    if there and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: there already, and not an empty folder; name another one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not there and folder.is_dir():
            folder.rmdir()
        raise
