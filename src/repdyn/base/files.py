"""Files and folders that are complete or absent: files are written under a temporary name and renamed."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from repdyn.base.errors import ConfigError, DataError

STAMP = ".snakemake_timestamp"  # Snakemake writes it into a folder when its job is done
HOST = re.sub(r"[^A-Za-z0-9-]", "-", platform.node())


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """Yields a temporary path next to `path` that replaces it when the block ends without an error.

    Raises:
        DataError: the folder cannot be created or the file cannot be written (the temporary file is removed).
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{HOST}.{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        _sweep(path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}); free some space or choose another folder"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Lets errors of writing that name no file, or the one that is copied, name this folder or the file in it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = error.filename2 or error.filename or str(folder), None
        raise


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


def _sweep(path: Path) -> None:
    """Removes partial files of killed processes on this machine."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{HOST}.*.part{glob.escape(path.suffix)}"):
        pid = left.name.removesuffix(f".part{path.suffix}").rpartition(".")[2]
        with suppress(OSError):
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                left.unlink()


def write_text(path: Path | str, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, content: object) -> None:
    """Writes JSON atomically, keys sorted, so that equal content gives equal bytes."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's bytes, or of the names and digests of all files in a folder but `STAMP`, hexadecimal."""
    if Path(path).is_dir():
        files = (file for file in sorted(Path(path).rglob("*")) if file.is_file() and file.name != STAMP)
        content = [(file.relative_to(path).as_posix(), sha256(file)) for file in files]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
