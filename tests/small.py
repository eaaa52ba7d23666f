"""Every experiment with the settings of `small.yaml`: content of its dataset, as text.

    python -m tests.small            # after an intended change: writes tests/golden/*/experiments.txt
    python -m tests.small declared   # after a change of settings or rules: first reads the jobs from the workflow
    python -m tests.small kernels    # marks what another CPU changes

`small.json` of a study has its experiments as tasks of job files, `experiments.txt` the content of their datasets when
recorded: of every variable its dimensions, smallest and largest value, the mean of each of a few stretches, whose
weights notice another order, and its units. A variable marked `~` amplifies rounding: with the kernels of a CPU of 2008
it differs, so only its shape counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numba.core.dispatcher import Dispatcher
from tests.drawn import GOLDEN, alike, golden
from tests.end_to_end.test_reproducibility import OTHER_CPU

from repdyn.base import datasets
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.jobs import input_paths
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import images, simulate

SMALL = Path(__file__).parent / "small.yaml"
INTERPRETED = (
    "repdyn.leaky_resnets.methods.compiled_steps",
    "repdyn.universality.methods.engines.compiled",
    "repdyn.universality.methods.engines.compiled_convolution",
)
STRETCHES = 6
ZERO = 1e-6  # smaller numbers count as 0: rounding errors differ between machines
FORMAT = "{:.5g}"

Member = Mapping[str, Any]


def members(study: str) -> dict[str, Member]:
    """Dataset's file -> the task that creates it, in an order in which they can run."""
    return json.loads((GOLDEN / study / "small.json").read_text(encoding="utf-8"))


@cache
def maker(file: str) -> tuple[str, Member]:
    """Kind and task of the job that creates a file."""
    study = file.split("/")[0]
    return ("images", members("data")[file]) if study == "data" else ("simulate", members(study)[file])


def make(file: str, folder: Path) -> xr.Dataset:
    """The dataset of a file, created with those of its inputs that are not in the folder yet."""
    kind, member = maker(file)
    for other in input_paths([member]):
        if not (folder / other).is_file():
            make(other, folder)
    if kind == "images":
        images.run(member, folder, None)
    else:
        load_function(member["study"], member["function"])
        with interpreted(member["study"]):
            simulate.run(member, folder, None)
    return datasets.read(folder / file)


@contextmanager
def interpreted(study: str) -> Iterator[None]:
    """Compiled trainings run as Python: a few steps of a small network take less than compiling."""
    for name in INTERPRETED:
        if name.startswith(f"repdyn.{study}."):
            import_module(name)
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("repdyn."):
                for inside, value in list(vars(module).items()):
                    if isinstance(value, Dispatcher) and value.py_func.__module__ in INTERPRETED:
                        patch.setattr(module, inside, value.py_func)
        yield


def lines(file: str, data: xr.Dataset, amplified: Collection[str]) -> list[str]:
    """The file's name and a line per variable; of those that amplify rounding without numbers."""
    text = [file]
    for name in sorted(data.variables):
        dims, values, attrs = ", ".join(data[name].dims), data[name].values, data[name].attrs
        mark, held = ("~ ", str(values.size)) if name in amplified else ("", _digest(values, name in data.coords))
        text.append(f"  {mark}{name} | {dims} | {held} | {attrs.get('units', '')}")
    return text


def text_of(file: str, folder: Path) -> list[str]:
    """What a dataset holds, made in a folder, where those it reads may stand."""
    study = file.split("/")[0]
    return lines(file, make(file, folder), amplified_in(GOLDEN, study).get(file, ()))


@cache
def amplified_in(golden: Path, study: str) -> dict[str, set[str]]:
    """File -> its variables that are marked as amplifying rounding."""
    marked: dict[str, set[str]] = {}
    file = golden / study / "experiments.txt"
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        if not line.startswith(" "):
            variables = marked.setdefault(line, set())
        elif line.startswith("  ~ "):
            variables.add(line.split()[1])
    return marked


def _digest(values: np.ndarray, exact: bool) -> str:
    """The numbers of a variable, of coordinates also the small ones."""
    entries = np.ravel(values)
    if entries.dtype.kind not in "fiub":
        texts = list(dict.fromkeys(map(str, entries)))
        return f"{len(entries)}: " + " ".join(text[:20].replace("\n", " ") for text in texts[:STRETCHES])
    numbers = entries.astype(float)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return f"{len(entries)}: none"
    weights = 1 + np.arange(len(entries)) % 7
    weighed = np.array_split(np.where(np.isfinite(numbers), numbers, 0) * weights, STRETCHES)
    means = [float(part.mean()) for part in weighed if len(part)]
    shown = [finite.min(), finite.max(), *means]
    return f"{len(finite)} of {len(entries)}: " + " ".join(
        FORMAT.format(number if exact or abs(number) > ZERO else 0.0) for number in shown
    )


def declare() -> None:
    """Writes what the workflow's jobs are on the small settings."""
    from tests.conftest import SMOKE
    from tests.dag.declared import copy_sources, declared

    with TemporaryDirectory() as folder:
        checkout = copy_sources(Path(folder) / "checkout")
        (checkout / "small.yaml").write_bytes(SMALL.read_bytes())
        jobs = declared(checkout, SMOKE, "small.yaml")
    declarations: dict[str, dict[str, Member]] = {study: {} for study in ("data", *STUDIES)}
    for job in map(json.loads, jobs.texts.values()):
        if job["kind"] in ("simulate", "images"):
            for member in job["members"]:
                declarations[member["outputs"][0].split("/")[0]][member["outputs"][0]] = member | {"code": ""}
    for study, entries in declarations.items():
        (GOLDEN / study).mkdir(parents=True, exist_ok=True)
        text = ",\n".join(
            f"{json.dumps(file)}: {json.dumps(entry, ensure_ascii=False)}" for file, entry in entries.items()
        )
        (GOLDEN / study / "small.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


def texts(study: str, folder: Path, amplified: Mapping[str, set[str]]) -> Iterator[str]:
    """What all datasets of a study hold; reports on the way the time of each, and which have changed."""
    recorded = golden(study, "experiments") if (GOLDEN / study / "experiments.txt").is_file() else {}
    for file in members(study):
        began, before = time.process_time(), recorded.get(file, [])
        now = lines(file, make(file, folder), amplified.get(file, ()))
        yield from now
        same = len(before) == len(now) and all(map(alike, now, before))
        words = "" if same else "  has changed"
        print(f"{time.process_time() - began:6.2f} s  {file}{words}", file=sys.stderr, flush=True)


def write(golden: Path) -> None:
    """Writes what the datasets of all studies hold."""
    with TemporaryDirectory() as folder:
        for study in STUDIES:
            text = "".join(f"{line}\n" for line in texts(study, Path(folder), amplified_in(golden, study)))
            (golden / study).mkdir(parents=True, exist_ok=True)
            (golden / study / "experiments.txt").write_text(text, encoding="utf-8")


def mark_amplified() -> None:
    """Marks further variables that the kernels of another CPU change."""
    with TemporaryDirectory() as folder:
        command = f"from pathlib import Path; from tests import small; small.write(Path({folder!r}))"
        subprocess.run([sys.executable, "-c", command], env=os.environ | OTHER_CPU, check=True)
        for study in STUDIES:
            file = GOLDEN / study / "experiments.txt"
            ours, theirs = (
                path.read_text(encoding="utf-8").splitlines() for path in (file, Path(folder) / study / file.name)
            )
            marked = [
                line if line.startswith("  ~") or alike(line, other) else _without_numbers(line)
                for line, other in zip(ours, theirs, strict=True)
            ]
            file.write_text("".join(f"{line}\n" for line in marked), encoding="utf-8")


def _without_numbers(line: str) -> str:
    name, dims, numbers, units = line.split(" | ", 3)
    return f"  ~ {name.strip()} | {dims} | {numbers.partition(':')[0].split()[-1]} | {units}"


if __name__ == "__main__":
    if sys.argv[1:] == ["kernels"]:
        mark_amplified()
    elif sys.argv[1:] not in ([], ["declared"]):
        sys.exit(f"{' '.join(sys.argv[1:])}: expected nothing, declared or kernels")
    else:
        if sys.argv[1:]:
            declare()
        write(GOLDEN)
