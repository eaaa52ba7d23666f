"""What the models of work say against what the machine takes, at three sizes per engine.

    python benchmarks/work.py                      # all, about five minutes of one core
    python benchmarks/work.py adam convolution     # some

Every case is the member of a job of the default scale with a few knobs changed. It runs with some steps and with twice
as many, in CPU seconds of this process; the difference is the cost of the steps alone. The last column is what
`repdyn plan` would be wrong by: measured over the model's seconds. The constants of `settings/work.py` are those of a
core with AVX-512; on another machine all ratios of an engine move together. Measure on a quiet machine: what others do
takes the caches and the memory's speed; beside others a network of 500 units has cost four times as much CPU time.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repdyn.base.devices import pin_threads

ROOT = Path(__file__).parents[1]
Changes = Mapping[str, Any]

ONE_ROW = {"seeds": 1, "stop": 0.0, "every": 10}
RUNS = ("low_as_printed", "low", "intermediate", "high", "two_layers", "relu_low", "adam_low", "adam_intermediate")
RUNS = (*RUNS, "adam_high", "adam_two_layers")


def _rows(row: str, epochs: int, **knobs: Any) -> Changes:
    network = {f"networks.{row}.{knob}": value for knob, value in knobs.items() if knob != "dtype"}
    dtype = {"dtype": knobs["dtype"]} if "dtype" in knobs else {}
    return ONE_ROW | dtype | {"rows": [row], "epochs": epochs} | network


def _adam(epochs: int, **knobs: Any) -> Changes:
    return ONE_ROW | {"rates": [1e-6], "epochs": epochs} | {f"default.{knob}": value for knob, value in knobs.items()}


def _chain(width: int, points: int, steps: int) -> Changes:
    sizes = {"width": width, "points": points, "layers": 20, "maps": ["decayed maps"], "seeds": 1}
    return sizes | {"steps": steps, "first_steps": steps, "effective_depths": [2, 3, 4]}


def _xor(units: int, trials: int, epochs: int) -> Changes:
    knobs = {f"runs.{run}.{knob}": value for run in RUNS for knob, value in (("epochs", epochs), ("units", units))}
    return {"trials": trials, "looks": 2} | knobs


def _blobs(units: int, trials: int, epochs: int) -> Changes:
    return {"trials": trials, "looks": 2, "network.epochs": epochs, "network.units": units}


FLOAT32 = {"dtype": "float32"}
CASES: dict[str, tuple[str, list[Changes]]] = {
    "descent, float64": (
        "universality/data/architectures.nc",
        [_rows("default", epochs, units=units) for units, epochs in ((50, 8000), (100, 4000), (500, 200))],
    ),
    "descent, float32": (
        "universality/data/architectures.nc",
        [_rows("default", epochs, units=units, **FLOAT32) for units, epochs in ((100, 8000), (250, 1200), (500, 400))],
    ),
    "tanh": (
        "universality/data/architectures.nc",
        [_rows("tanh", epochs, units=units) for units, epochs in ((50, 4000), (100, 2000), (500, 200))],
    ),
    "dropout": (
        "universality/data/architectures.nc",
        [_rows("dropout", epochs, units=units) for units, epochs in ((50, 4000), (100, 2000), (500, 200))],
    ),
    "convolution": (
        "universality/data/architectures.nc",
        [
            _rows("convolution", epochs, units=units, channels=channels)
            for units, channels, epochs in ((160, 4, 2000), (160, 8, 1000), (500, 20, 60))
        ],
    ),
    "adam": (
        "universality/data/adam_runs.nc",
        [_adam(epochs, units=units) for units, epochs in ((50, 4000), (100, 2000), (500, 100))],
    ),
    "xor": ("universality/data/xor.nc", [_xor(*sizes) for sizes in ((50, 8, 60), (100, 8, 30), (250, 8, 10))]),
    "blobs": ("universality/data/blobs/low.nc", [_blobs(*sizes) for sizes in ((50, 6, 12), (100, 6, 8), (250, 6, 2))]),
    "chains": (
        "leaky_resnets/data/trained/block0.nc",
        [_chain(*sizes) for sizes in ((30, 300, 300), (50, 500, 100), (100, 1000, 15))],
    ),
}
"""Engine -> the dataset that it makes, and changes of its settings at the default scale."""
LONGER = ("epochs", "steps", "first_steps")
"""Knobs that make a training longer and nothing else."""


def longer(changes: Changes) -> Changes:
    """Twice as many steps."""
    return {key: 2 * value if key.rpartition(".")[2] in LONGER else value for key, value in changes.items()}


def declared(folder: Path) -> dict[str, Any]:
    """Dataset's file -> the member of the default scale that makes it."""
    from repdyn.pipeline import studies
    from repdyn.pipeline.config import configuration
    from repdyn.pipeline.run.declare.workflow import RunJobs

    run = RunJobs(configuration.load([ROOT / "config.yaml"]), ROOT / "src", folder / "versions.json")
    run.other("images", "images", outputs=["data/images.nc"])
    for study in studies.declared():
        run.data(study)
    return {path: member for job in run.jobs.values() for member in job.members for path in member["outputs"]}


def changed(member: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """The member with other settings; `networks.default.units` is a place below its sections or below `settings`."""
    member = copy.deepcopy(dict(member))
    for key, value in changes.items():
        place, names = member["settings"], key.split(".")
        place = place if names[0] in place else place["settings"]
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
    return member


def seconds(member: Any, folder: Path) -> float:
    """CPU seconds of a member, nothing kept."""
    from repdyn.pipeline.run.kinds import simulate

    began = time.process_time()
    simulate.run(member, folder, None)
    return time.process_time() - began


def main(engines: list[str]) -> None:
    """Measures the cases of some engines, or of all."""
    from repdyn.pipeline.run.declare import costs

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        members = declared(folder)
        print(f"{'engine':20}{'changes':58}{'model (s)':>10}{'took (s)':>10}{'ratio':>7}")
        for engine, (file, listed) in CASES.items():
            if engines and not any(engine.startswith(asked) for asked in engines):
                continue
            for place, changes in enumerate(listed):
                once, twice = (changed(members[file], steps) for steps in (changes, longer(changes)))
                if not place:
                    seconds(once, folder)  # compiles
                model = costs.work([twice]) - costs.work([once])
                first = seconds(once, folder)
                took = seconds(twice, folder) - first
                shown = " ".join(str(value) for value in changes.values())
                print(f"{engine:20}{shown[:57]:58}{model:10.2f}{took:10.2f}{took / model:7.2f}", flush=True)


if __name__ == "__main__":
    pin_threads(1)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba" / "benchmarks"))
    main(sys.argv[1:])
