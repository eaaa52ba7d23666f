"""Datasets of a finished run, recomputed from its records with another seed."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from repdyn.pipeline.run.declare.jobs import Member, input_paths
from repdyn.pipeline.run.execute import members, records
from repdyn.pipeline.run.kinds import simulate


class Remaker:
    """Recomputes the datasets of one study.

    Args:
        root: results of a finished run, `results/<run>`, with its logs next to them or its costs in its manifest.
        study: name of the study.
    """

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        recorded = records.of_run(root.name, root.absolute().parents[1])
        jobs = (record["job"] for record in recorded if record["job"]["kind"] == "simulate")
        self._members: dict[str, Member] = {member["outputs"][0]: member for job in jobs for member in job["members"]}
        self._seconds = records.seconds_by_file(recorded, root.name)

    def seconds(self, names: Iterable[str]) -> float:
        """CPU seconds that datasets took with all their inputs; infinite where one has no record."""
        files = [self._files(name) for name in names]
        behind = {file for own in files for file in self._behind(own)}
        known = all(files) and behind <= self._seconds.keys()
        return sum(self._seconds[file] for file in behind) if known else math.inf

    def datasets(self, names: Iterable[str], seed: int) -> members.Inputs:
        """The named datasets, recomputed with all their inputs from another seed."""
        with tempfile.TemporaryDirectory() as folder:
            asked: Member = {"code": "", "inputs": {name: self._paths(name) for name in names}, "outputs": []}
            for file in input_paths([asked]):
                self._make(file, Path(folder), seed)
            return members.read_inputs(asked, Path(folder))

    def _behind(self, files: Iterable[str]) -> Iterator[str]:
        """Files of datasets and of their inputs, except the images."""
        for file in files:
            if file in self._members:
                yield file
                yield from self._behind(input_paths([self._members[file]]))

    def _make(self, file: str, folder: Path, seed: int) -> None:
        if (folder / file).exists():
            return
        if file not in self._members:  # the images
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / file, folder / file)
            return
        member = self._members[file]
        for other in input_paths([member]):
            self._make(other, folder, seed)
        simulate.run(member | {"seed": seed}, folder, None)

    def _paths(self, name: str) -> str | dict[str, str]:
        """File of a dataset, or variant -> file, as a job file names them."""
        files = self._files(name)
        single = f"{self.study}/data/{name}.nc"
        return single if files == [single] else {Path(file).stem: file for file in files}

    def _files(self, name: str) -> list[str]:
        single, folder = f"{self.study}/data/{name}.nc", f"{self.study}/data/{name}/"
        return [file for file in self._members if file == single or file.startswith(folder)]
