"""Datasets of a finished run made again: with another seed, or with changed code. The files say how they were made."""

from __future__ import annotations

import inspect
import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import xarray as xr

from repdyn.base import datasets
from repdyn.pipeline import runners
from repdyn.pipeline.loading import load_function


class Remaker:
    """Makes the datasets of one study again.

    Args:
        root: results of a finished run.
        study: name of the study.
    """

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        self._seconds: dict[str, float] = {}

    def seconds(self, names: Iterable[str]) -> float:
        """Time to make datasets again; infinite where variants or other studies' data are among them."""
        return sum(self._timed(name) for name in names)

    def made(self, names: Iterable[str], seed: int | None = None) -> dict[str, xr.Dataset]:
        """The named datasets and the inputs behind them, made again; with the run's own seed if none is given."""
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            for name in names:
                self._make(name, data, seed)
            return {path.stem: datasets.read(path) for path in data.glob("*.nc")}

    def _timed(self, name: str) -> float:
        if name not in self._seconds:
            began = time.process_time()
            single = self._file(name).is_file()
            if single:
                self.made([name])
            self._seconds[name] = time.process_time() - began if single else float("inf")
        return self._seconds[name]

    def inputs(self, name: str) -> list[str]:
        """Datasets of the study that a dataset is made from."""
        wanted = inspect.signature(load_function(self.study, self.attrs(name)["experiment"])).parameters
        return [other for other in wanted if self._file(other).is_file()]

    def attrs(self, name: str) -> dict[str, object]:
        """What a file of the run says of itself."""
        return datasets.read(self._file(name)).attrs

    def _make(self, name: str, data: Path, seed: int | None) -> None:
        made = data / f"{name}.nc"
        if made.exists():
            return
        attrs = self.attrs(name)
        for other in self.inputs(name):
            self._make(other, data, seed)
        function = attrs["experiment"]
        wanted = inspect.signature(load_function(self.study, function)).parameters
        found = [*(self.root / "data").glob("*.nc"), *data.glob("*.nc")]
        job = json.loads(attrs["settings"]) | ({} if seed is None else {"seed": seed})
        inputs = [path for path in found if path.stem in wanted]
        runners.simulate(self.study, function, json.dumps(job), inputs, attrs["code_version"], made)

    def _file(self, name: str) -> Path:
        return self.root / self.study / "data" / f"{name}.nc"
