"""A folder that is filled completely or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.files import named


@contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """Lets the block fill a folder; if the block fails, the folder is restored.

    Args:
        folder: an empty folder, or a new one to create.

    Raises:
        ConfigError: it is not empty, or a file has its name.
    """
    there = folder.is_symlink() or folder.exists()
    if there and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: exists and is not an empty folder; choose another name")
    try:
        with named(folder):
            folder.mkdir(parents=True, exist_ok=True)
            yield
    except BaseException:
        for path in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not there and folder.is_dir():
            folder.rmdir()
        raise
