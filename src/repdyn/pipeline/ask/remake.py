"""Datasets of a finished run, recomputed from its records with another seed or with changed code."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from repdyn.pipeline.run.declare.jobs import Member, input_paths
from repdyn.pipeline.run.execute import members, records
from repdyn.pipeline.run.kinds import simulate

SHARE = 30.0  # most datasets of one job, and its start-up in seconds: the share of its cost that may belong to others
START_UP = 10.0


class Remaker:
    """Recomputes the datasets of one study.

    Args:
        root: results of a finished run, `results/<run>`.
        study: name of the study.
    """

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        self._seconds: dict[str, float] = {}

    def cheap(self, names: Iterable[str], seconds: float) -> bool:
        """Whether recomputing datasets with all their inputs takes at most this long, by trying.

        Datasets of other studies are not cheap; datasets of jobs that took far longer are rejected without trying.
        """
        tried = (self._timed(name) if self._recorded(name) <= SHARE * seconds + START_UP else np.inf for name in names)
        return sum(tried) <= seconds

    def datasets(self, names: Iterable[str], seed: int | None = None) -> members.Inputs:
        """The named datasets, recomputed with all their inputs; with the run's seed if none is given."""
        with tempfile.TemporaryDirectory() as folder:
            inputs = {name: self._paths(name) for name in names}
            asked: Member = {"code": "", "inputs": inputs, "outputs": []}
            for file in input_paths([asked]):
                self._make(file, Path(folder), seed)
            return members.read_inputs(asked, Path(folder))

    def stored(self, names: Iterable[str]) -> members.Inputs:
        """The named datasets as the run has them."""
        inputs = {name: self._paths(name) for name in names}
        return members.read_inputs({"code": "", "inputs": inputs, "outputs": []}, self.root)

    def members(self, name: str) -> list[Member]:
        """The tasks that computed a dataset: one, or one per variant."""
        return [self._members[file] for file in self._files(name) if file in self._members]

    @cached_property
    def _records(self) -> Sequence[Mapping[str, Any]]:
        """The run's records, from the logs next to its results or from its manifest."""
        return records.of_run(self.root.name, self.root.absolute().parents[1])

    @cached_property
    def _members(self) -> dict[str, Member]:
        """File in the results -> the task that created it."""
        simulations = (record["job"] for record in self._records if record["job"]["kind"] == "simulate")
        return {member["outputs"][0]: member for job in simulations for member in job["members"]}

    @cached_property
    def _costs(self) -> dict[str, float]:
        """File in the results -> CPU seconds of the job that created it."""
        home = f"results/{self.root.name}/"
        return {file.removeprefix(home): job["cpu_seconds"] for job in self._records for file in job["outputs"]}

    def _timed(self, name: str) -> float:
        if name not in self._seconds:
            began = time.process_time()
            self.datasets([name])
            self._seconds[name] = time.process_time() - began
        return self._seconds[name]

    def _recorded(self, name: str) -> float:
        """CPU seconds of the most expensive job behind a dataset; infinite for datasets of other studies."""
        jobs = self.members(name)
        if not jobs or any(job["study"] != self.study for job in jobs):
            return np.inf
        behind = {other for job in jobs for other in job["inputs"] if other != "images"}
        return max([self._costs[job["outputs"][0]] for job in jobs] + [self._recorded(other) for other in behind])

    def _make(self, file: str, folder: Path, seed: int | None) -> None:
        if (folder / file).exists():
            return
        if file not in self._members:  # the images
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / file, folder / file)
            return
        member = self._members[file]
        for other in input_paths([member]):
            self._make(other, folder, seed)
        simulate.run(member if seed is None else member | {"seed": seed}, folder, None)

    def _paths(self, name: str) -> str | dict[str, str]:
        """File of a dataset, or variant -> file, as a job file names them."""
        files = self._files(name)
        single = f"{self.study}/data/{name}.nc"
        return single if files == [single] else {Path(file).stem: file for file in files}

    def _files(self, name: str) -> list[str]:
        single, folder = f"{self.study}/data/{name}.nc", f"{self.study}/data/{name}/"
        return [file for file in self._members if file == single or file.startswith(folder)]
