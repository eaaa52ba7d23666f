"""Files that a command writes: no input, no other output and no file of another kind is replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from repdyn.base.errors import DataError

BEGINNINGS = {"out": (".nc", (b"\x89hdf", b"cdf")), "page": (".html", (b"<!doctype html",))}  # in small letters


def check_targets(
    targets: Mapping[str, Path | None], sources: Mapping[str, Path | None], folders: Mapping[str, Path | None]
) -> None:
    """Whether files to be written are no inputs, not each other, and replace only files of their own kind.

    Args:
        targets: files to be written, by option.
        sources: files and folders that are read.
        folders: folders to be written to.

    Raises:
        DataError: naming both options, the file that would be lost, or the one in place of a folder.
    """
    wanted = {name: path for name, path in targets.items() if path}
    for name, path in (wanted | dict(folders)).items():
        if path:
            above = [*([path] if name in folders else []), *path.absolute().parents]
            if not (there := next(place for place in above if place.exists())).is_dir():
                raise DataError(f"{name}: {there} is no folder; name another place")
    for name, path in wanted.items():
        for other, own in (wanted | dict(sources)).items():
            if own and other != name and _would_replace(path, own):
                raise DataError(f"{name}: {path} would replace {other}; name another file")
        if path.exists():
            _check_kind(name, path)


def _would_replace(path: Path, own: Path) -> bool:
    """Whether a file is another one, or in another folder."""
    within = own.is_dir() and path.is_file() and path.resolve().is_relative_to(own.resolve())
    return within or path.resolve() == own.resolve()


def _check_kind(name: str, path: Path) -> None:
    if not path.is_file():
        raise DataError(f"{name}: {path} is no regular file; name a file")
    suffix, beginnings = BEGINNINGS[name]
    with path.open("rb") as file:
        beginning = file.read(16)
    if beginning and not beginning.lower().startswith(beginnings):
        raise DataError(f"{name}: {path} is there already and no {suffix} file, so it stays; name another file")


def check_figures(option: str, stems: Sequence[Path]) -> None:
    """Whether figures, of four files each, replace figures alone.

    Raises:
        DataError: the option, and the file that would be lost.
    """
    for stem in stems:
        files = [Path(f"{stem}{suffix}") for suffix in (".png", ".svg", ".csv", ".json")]
        try:
            is_figure = "problems" in json.loads(files[-1].read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):
            is_figure = False
        if not is_figure and (there := [file for file in files if file.exists()]):
            raise DataError(f"{option}: {there[0]} is there already and of no figure, so it stays; name another place")


def behind_links(path: Path) -> Path:
    """The file that a symbolic link leads to, so that the link stays."""
    return path.resolve() if path.is_symlink() else path


def source_of(builder: str) -> Path | None:
    """The user's file that holds the function."""
    path = Path(*builder.partition(":")[0].split(".")).with_suffix(".py") if builder.partition(":")[0] else None
    return path if path and path.is_file() else None
