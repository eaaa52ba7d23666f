"""Datasets of a finished run made again: with another seed, or with changed code. The files say how they were made."""

from __future__ import annotations

import inspect
import json
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from repdyn.base import datasets
from repdyn.pipeline.run import runners
from repdyn.pipeline.run.loading import load_function

SHARE = 30.0  # datasets that one job makes, at most, and its start-up in seconds: what of its cost may be others'
START_UP = 10.0


class Remaker:
    """Makes the datasets of one study again.

    Args:
        root: results of a finished run.
        study: name of the study.
    """

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        self._seconds: dict[str, float] = {}

    def cheap(self, names: Iterable[str], seconds: float) -> bool:
        """Whether making datasets again, with all behind them, takes at most this long, by trying.

        What belongs to other studies is not cheap; nor is, untried, what a job made that took far longer.
        """
        tried = (self._timed(name) if self._recorded(name) <= SHARE * seconds + START_UP else np.inf for name in names)
        return sum(tried) <= seconds

    def made(self, names: Iterable[str], seed: int | None = None) -> runners.Inputs:
        """The named datasets and the inputs behind them, made again; with the run's own seed if none is given."""
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            for name in names:
                self._make(name, data, seed)
            return runners.read_inputs(sorted(data.rglob("*.nc")))

    def inputs(self, name: str) -> list[str]:
        """Datasets of the study that a dataset is made from."""
        wanted = inspect.signature(load_function(self.study, self.attrs(name)["experiment"])).parameters
        return [other for other in wanted if self._files(other)]

    def attrs(self, name: str) -> dict[str, object]:
        """What a file of the run says of itself; of variants the first."""
        return datasets.read(self._files(name)[0]).attrs

    def _timed(self, name: str) -> float:
        if name not in self._seconds:
            began = time.process_time()
            self.made([name])
            self._seconds[name] = time.process_time() - began
        return self._seconds[name]

    def _recorded(self, name: str) -> float:
        """CPU seconds of the dearest job behind a dataset, by the run's manifest; infinite for another study's."""
        files = [path.relative_to(self.root).as_posix() for path in self._files(name)]
        if not files:
            return np.inf
        return max([self._costs.get(file, 0.0) for file in files] + [self._recorded(one) for one in self.inputs(name)])

    @cached_property
    def _costs(self) -> dict[str, float]:
        """CPU seconds by file below the results of the job that made it; nothing without a manifest."""
        manifest = self.root / "manifest.json"
        costs = json.loads(manifest.read_text(encoding="utf-8"))["costs"] if manifest.is_file() else []
        home = f"results/{self.root.name}/"
        return {file.removeprefix(home): one["cpu_seconds"] for one in costs for file in one["outputs"]}

    def _make(self, name: str, data: Path, seed: int | None) -> None:
        kept = self._files(name)
        if (data / kept[0].relative_to(self._data)).exists():
            return
        inputs = self.inputs(name)
        for other in inputs:
            self._make(other, data, seed)
        shared = [*(self.root / "data").glob("*.nc")]
        found = shared + [data / path.relative_to(self._data) for other in inputs for path in self._files(other)]
        for path in kept:
            self._simulate(datasets.read(path).attrs, found, data / path.relative_to(self._data), seed)

    def _simulate(self, attrs: Mapping[str, object], found: list[Path], made: Path, seed: int | None) -> None:
        function = attrs["experiment"]
        wanted = inspect.signature(load_function(self.study, function)).parameters
        inputs = [path for path in found if path.stem in wanted or path.parent.name in wanted]
        job = json.loads(attrs["settings"]) | ({} if seed is None else {"seed": seed})
        runners.simulate(self.study, function, json.dumps(job), inputs, attrs["code_version"], made)

    @property
    def _data(self) -> Path:
        return self.root / self.study / "data"

    def _files(self, name: str) -> list[Path]:
        """A dataset's file, or those of its variants, in a folder of its name."""
        single = self._data / f"{name}.nc"
        return [single] if single.is_file() else sorted((self._data / name).glob("*.nc"))
