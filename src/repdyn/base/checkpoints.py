"""Checkpoints of long jobs: finished trials on disk, so that a killed job resumes.

A checkpoint lies outside every rule's outputs (Snakemake removes those) and is named by what the job is (settings,
seed, inputs, code, packages), so an edit never resumes a stale run. Each file carries a seal over the job, the trial's
name and all arrays: a file of another job, under another name or with other numbers is not read. Trials have random
streams of their own: a resumed run equals an uninterrupted one bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import xarray as xr

from repdyn.base.datasets import package_versions
from repdyn.base.files import atomic

PACKAGES = ("numpy", "scipy", "torch")
Trial = dict[str, np.ndarray]


class Checkpoint:
    """Arrays of finished trials, a file for each; without a folder it remembers nothing.

    Args:
        folder: where checkpoints lie; None to keep none.
        identity: text that says what the job is: all that its numbers depend on. A changed job finds no old trials,
            and neither does one that runs with other versions of numpy, scipy or torch.
    """

    def __init__(self, folder: Path | None, identity: str) -> None:
        self.identity = f"{identity}\n{package_versions(*PACKAGES)}" if folder else identity
        self.path = folder and Path(folder) / _short(self.identity)
        self.trials: dict[str, Trial] = self._read() if self.path else {}

    def get(self, name: str) -> Trial | None:
        """The arrays of a finished trial, or None if it has to be run."""
        return self.trials.get(name)

    def put(self, name: str, trial: Trial) -> Trial:
        """Keeps the arrays of a finished trial, on disk when this returns; gives them back."""
        arrays = self.trials[name] = {key: np.asarray(value) for key, value in trial.items()}
        if self.path:
            with atomic(self._file(name)) as temporary:
                seal = [name, _digest(self.identity, name, arrays)]
                np.savez(temporary, **{f"/{key}": value for key, value in arrays.items()}, seal=seal)
        return arrays

    def drop(self, name: str) -> None:
        """Forgets one trial."""
        self.trials.pop(name, None)
        if self.path:
            self._file(name).unlink(missing_ok=True)

    def dataset(self, name: str, make: Callable[[], xr.Dataset]) -> xr.Dataset:
        """A part of the result that is a dataset: as it was kept, or else made and kept."""
        return _unpacked(self.get(name) or self.put(name, _packed(make())))

    def remove(self) -> None:
        """Forgets all; call it when the result is safe."""
        if self.path:
            shutil.rmtree(self.path, ignore_errors=True)
            with suppress(OSError):  # not empty: another job's
                self.path.parent.rmdir()

    def _file(self, name: str) -> Path:
        return self.path / f"{_short(name)}.npz"

    def _read(self) -> dict[str, Trial]:
        finished = {}
        for file in sorted(self.path.glob("[!.]*.npz")):
            try:
                finished |= self._opened(file)
            except Exception as error:  # damage to a zip file shows in many ways, and costs a trial at most
                print(f"warning: checkpoint {file} cannot be read ({error}); its trial is run again", file=sys.stderr)
        if finished:
            print(f"resuming: {len(finished)} finished trials in {self.path}", file=sys.stderr)
        return finished

    def _opened(self, file: Path) -> dict[str, Trial]:
        with np.load(file, allow_pickle=False) as stored:
            name, seal = stored["seal"].tolist()
            trial = {key[1:]: stored[key] for key in stored.files if key != "seal"}
        if seal != _digest(self.identity, name, trial) or file != self._file(name):
            raise ValueError("not what was written")
        return {name: trial}


def _digest(identity: str, name: str, trial: Trial) -> str:
    """Digest of the job, the trial's name and all that its file holds."""
    digest = hashlib.sha256(json.dumps([identity, name]).encode())
    for key in sorted(trial):
        array = trial[key]
        digest.update(f"{key} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _packed(dataset: xr.Dataset) -> Trial:
    """A dataset as arrays: texts of fixed length, since objects would be pickled, and what else it is as JSON."""
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
