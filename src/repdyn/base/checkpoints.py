"""Checkpoints of long jobs: finished trials on disk, so that a killed job goes on where it was.

A checkpoint lies outside every rule's outputs (Snakemake removes those) and is named by what the job is (settings and
code), so an edit never resumes a stale run. Trials have random streams of their own: a resumed run equals an
uninterrupted one bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray as xr

from repdyn.base.files import atomic

Trial = dict[str, np.ndarray]


class Checkpoint:
    """Arrays of finished trials in one npz file; without a folder it remembers nothing.

    Args:
        folder: where checkpoints lie; None to keep none.
        identity: text that says what the job is; a changed job finds no old trials.
    """

    def __init__(self, folder: Path | None, identity: str) -> None:
        self.path = folder and Path(folder) / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.npz"
        self.trials: dict[str, Trial] = self._read() if self.path else {}

    def get(self, name: str) -> Trial | None:
        """The arrays of a finished trial, or None if it has to be run."""
        return self.trials.get(name)

    def put(self, name: str, trial: Trial) -> Trial:
        """Keeps the arrays of a finished trial, on disk when this returns; gives them back."""
        self.trials[name] = {key: np.asarray(value) for key, value in trial.items()}
        if self.path:
            arrays = {f"{one}/{key}": value for one, kept in self.trials.items() for key, value in kept.items()}
            with atomic(self.path) as temporary:
                np.savez(temporary, **arrays)
        return self.trials[name]

    def dataset(self, name: str, make: Callable[[], xr.Dataset]) -> xr.Dataset:
        """A part of the result that is a dataset: as it was kept, or else made and kept."""
        return _unpacked(self.get(name) or self.put(name, _packed(make())))

    def remove(self) -> None:
        """Forgets the file; call it when the result is safe."""
        if self.path:
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Trial]:
        if not self.path.is_file():
            return {}
        found: dict[str, Trial] = {}
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                for name in arrays.files:
                    one, key = name.rsplit("/", 1)
                    found.setdefault(one, {})[key] = arrays[name]
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            print(
                f"warning: checkpoint {self.path} cannot be read ({error}); its trials are run again", file=sys.stderr
            )
            return {}
        print(f"resuming: {len(found)} finished trials in {self.path}", file=sys.stderr)
        return found


def _packed(made: xr.Dataset) -> Trial:
    """A dataset as arrays: texts of fixed length, since objects would be pickled, and what else it is as JSON."""
    about = {name: {"dims": one.dims, "attrs": one.attrs} for name, one in made.variables.items()}
    whole = json.dumps({"variables": about, "coords": list(made.coords), "attrs": made.attrs}, default=_plain)
    values = {name: one.values for name, one in made.variables.items()}
    texts = {name: array.astype(str) for name, array in values.items() if array.dtype == object}
    return {"about": np.array(whole)} | {f"values {name}": array for name, array in (values | texts).items()}


def _unpacked(trial: Trial) -> xr.Dataset:
    about = json.loads(str(trial["about"]))
    variables = {
        name: xr.Variable(one["dims"], trial[f"values {name}"], one["attrs"])
        for name, one in about["variables"].items()
    }
    coords = {name: variables.pop(name) for name in about["coords"]}
    return xr.Dataset(variables, coords, about["attrs"])


def _plain(value: np.generic | np.ndarray) -> object:
    """A number or a list for an attribute of numpy's."""
    return value.tolist()
