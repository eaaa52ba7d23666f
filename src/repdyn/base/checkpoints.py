"""Finished trials on disk: a killed job resumes, and a run with more trials computes only the new ones.

A trial is one network, one batch, one draw. Its key is all that its numbers depend on (code, settings of the trial,
seed, inputs, packages, machine) and its name; the number of trials is not part of it. Trials have separate random
streams, so that a trial read from disk equals a computed one, bit for bit.

Each file has a checksum over its key and its arrays: a file of other code, under another name or with other numbers is
not read. Files are written atomically; parallel jobs share them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import xarray as xr

from repdyn.base.datasets import package_versions
from repdyn.base.files import atomic, write_text
from repdyn.base.settings import EACH, Settings, json_text, plain

PACKAGES = ("numpy", "scipy", "torch", "numba", "scikit-learn")
ABOUT = "about.json"
Trial = dict[str, np.ndarray]
Block = Annotated[int, EACH]
"""Number of a block of trials in an experiment that numbers its trials across all blocks."""


@dataclass
class Tally:
    """A job's trials: numbers read and computed, and the original CPU seconds of those read."""

    read: int = 0
    computed: int = 0
    seconds: float = 0.0

    def since(self, before: Tally) -> Tally:
        """The difference from an earlier state."""
        return Tally(self.read - before.read, self.computed - before.computed, self.seconds - before.seconds)

    def __str__(self) -> str:
        """One line for the log."""
        return f"finished trials: {self.read} read ({self.seconds:.1f} CPU s), {self.computed} computed"


@dataclass(frozen=True)
class Store:
    """A folder of finished trials of many jobs.

    Attributes:
        folder: the cache, with a folder for each identity.
        since: trials computed earlier are not read, in seconds since 1970; for forced jobs.
        tally: counts of trials read and computed.
    """

    folder: Path
    since: float = 0.0
    tally: Tally = field(default_factory=Tally)

    def checkpoint(self, identity: str) -> Checkpoint:
        """The trials of one identity."""
        return Checkpoint(self.folder, identity, since=self.since, tally=self.tally)


class Checkpoint:
    """Arrays of finished trials of one identity, a file for each; without a folder nothing is cached.

    Args:
        folder: the cache's folder; None for no cache.
        identity: text with everything that the trials depend on besides their names. After a change of it, or of the
            version of numpy, scipy, torch, numba or scikit-learn, old trials are not read.
        since: trials computed earlier are not read, in seconds since 1970.
        tally: counts what is read and computed.
    """

    def __init__(self, folder: Path | None, identity: str, *, since: float = 0.0, tally: Tally | None = None) -> None:
        self.folder, self._base, self.since, self.tally = folder, identity, since, tally or Tally()
        self.identity = f"{identity}\n{package_versions(*PACKAGES)}" if folder else identity
        self.path = Path(folder) / _short(self.identity) if folder else None
        self._clock = time.process_time()

    def of(self, *own: object) -> Checkpoint:
        """The trials that also depend on `own`: settings, numbers, texts, arrays or dataclasses of these."""
        identity = json_text([self._base, *map(_plain_text, own)])
        return Checkpoint(self.folder, identity, since=self.since, tally=self.tally)

    @property
    def trials(self) -> dict[str, Trial]:
        """All trials of this identity that can be read, by name."""
        files = sorted(self.path.glob("[!.]*.npz")) if self.path else []
        return {name: trial for file in files for name, trial, _ in self._opened(file)}

    def get(self, name: str) -> Trial | None:
        """The arrays of a finished trial, or None if it has to be run."""
        file = self._file(name)
        if file is None or not file.is_file():
            return None
        for _, trial, seconds in self._opened(file):
            self.tally.read += 1
            self.tally.seconds += seconds
            with suppress(OSError):
                os.utime(file)  # a full cache removes the least recently used trials
            return trial
        return None

    def put(self, name: str, trial: Mapping[str, Any]) -> Trial:
        """Stores the arrays of a finished trial on disk and returns them."""
        return self.put_all({name: trial})[name]

    def put_all(self, trials: Mapping[str, Mapping[str, Any]]) -> dict[str, Trial]:
        """Stores trials that were computed together; each gets an equal share of the CPU time since the last ones."""
        now = time.process_time()
        seconds, self._clock = (now - self._clock) / max(len(trials), 1), now
        kept = {name: {key: _in_order(value) for key, value in trial.items()} for name, trial in trials.items()}
        for name, arrays in kept.items():
            self.tally.computed += 1
            if (file := self._file(name)) is not None:
                self._describe(file.parent)
                self._write(file, name, arrays, seconds)
        return kept

    def drop(self, name: str) -> None:
        """Removes one trial."""
        if (file := self._file(name)) is not None:
            file.unlink(missing_ok=True)

    def dataset(self, name: str, make: Callable[[], xr.Dataset]) -> xr.Dataset:
        """An intermediate dataset: read from the cache, or computed and stored."""
        return _unpacked(self.get(name) or self.put(name, _packed(make())))

    def remove(self) -> None:
        """Removes all trials of this identity."""
        if self.path:
            shutil.rmtree(self.path, ignore_errors=True)

    def _file(self, name: str) -> Path | None:
        return self.path / f"{_short(name)}.npz" if self.path else None

    def _describe(self, folder: Path) -> None:
        """Description of the trials in a folder, for people."""
        if not (folder / ABOUT).is_file():
            write_text(folder / ABOUT, json.dumps(self.identity.splitlines(), indent=1, ensure_ascii=False) + "\n")

    def _write(self, file: Path, name: str, arrays: Trial, seconds: float) -> None:
        stored = {f"/{key}": value for key, value in arrays.items()} | {"made": np.array([time.time(), seconds])}
        seal = np.array([name, _digest(self.identity, name, stored)])
        entries: dict[str, Any] = stored | {"seal": seal}
        with atomic(file) as temporary:
            np.savez(temporary, **entries)

    def _opened(self, file: Path) -> Iterator[tuple[str, Trial, float]]:
        """A file's trial, its name and its CPU seconds; None if it is damaged or too old."""
        try:
            with np.load(file, allow_pickle=False) as archive:  # noqa: TID251 - unpickles nothing
                stored = {key: archive[key] for key in archive.files}
            name, digest = stored.pop("seal").tolist()
            if digest != _digest(self.identity, name, stored) or file != self._file(name):
                raise ValueError("not what was written")
            made, seconds = stored.pop("made").tolist()
        except Exception as error:  # damage to a zip file causes many kinds of errors, and costs at most a trial
            print(f"warning: finished trial {file} cannot be read ({error}); it is run again", file=sys.stderr)
            return
        if made >= self.since:
            yield name, {key[1:]: array for key, array in stored.items()}, seconds


def groups(count: int, size: int) -> Iterator[range]:
    """The numbers 0 to count - 1 in groups of `size`, for draws too short for separate files; the last is the rest."""
    for first in range(0, count, size):
        yield range(first, min(first + size, count))


def stacked(trials: Sequence[Trial], name: str, *shape: int) -> np.ndarray:
    """An array of all trials in their order, along dimensions of this shape, then those of the array itself."""
    arrays = np.array([trial[name] for trial in trials])
    return arrays.reshape(*(shape or (-1,)), *arrays.shape[1:])


def _in_order(value: Any) -> np.ndarray:
    """An array as it will be read, in C order, since products in other memory layouts round differently."""
    return np.asarray(value, order="C")


def _digest(identity: str, name: str, stored: Mapping[str, np.ndarray]) -> str:
    """Digest of the identity, the trial's name and its file's content."""
    digest = hashlib.sha256(json.dumps([identity, name]).encode())
    for key in sorted(stored):
        array = stored[key]
        digest.update(f"{key} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain_text(value: Any) -> Any:
    """What a trial depends on, in a form that JSON represents exactly."""
    if isinstance(value, Settings):
        return plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain_text(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain_text(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain_text(part) for part in value]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"got {type(value).__name__}, expected settings, numbers, texts, arrays or dataclasses of these")


def _packed(dataset: xr.Dataset) -> Trial:
    """A dataset as arrays: texts of fixed length, since objects would be pickled, and its metadata as JSON."""
    about = {name: {"dims": variable.dims, "attrs": variable.attrs} for name, variable in dataset.variables.items()}
    whole = json.dumps({"variables": about, "coords": list(dataset.coords), "attrs": dataset.attrs}, default=_plain)
    values = {name: variable.values for name, variable in dataset.variables.items()}
    texts = {name: array.astype(str) for name, array in values.items() if array.dtype == object}
    return {"about": np.array(whole)} | {f"values {name}": array for name, array in (values | texts).items()}


def _unpacked(trial: Trial) -> xr.Dataset:
    about = json.loads(str(trial["about"]))
    variables = {
        name: xr.Variable(parts["dims"], trial[f"values {name}"], parts["attrs"])
        for name, parts in about["variables"].items()
    }
    coords = {name: variables.pop(name) for name in about["coords"]}
    return xr.Dataset(variables, coords, about["attrs"])


def _plain(value: np.generic | np.ndarray) -> object:
    """A number or a list for an attribute of numpy's."""
    return value.tolist()
