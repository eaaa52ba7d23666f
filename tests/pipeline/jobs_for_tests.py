"""Small jobs of a real study, for tests of what runs them."""

import json
from pathlib import Path

import numpy as np

from repdyn.base import datasets
from repdyn.base.datasets import variable
from repdyn.bn_decomposed.settings.study import PAPER
from repdyn.pipeline.run.declare.jobs import Job

STUDY = "bn_decomposed"
SETTINGS = {"batch": 4, "width": 8, "depth": 3, "seeds": 2}
IMAGES = "data/images.nc"


def images(count=6):
    """A valid dataset of random images."""
    image = np.random.default_rng(0).random((count, 4, 4))
    dims = ("point", "row", "column")
    coords = {name: variable(name, np.arange(size), name) for name, size in zip(dims, image.shape, strict=True)}
    data = datasets.dataset({"image": variable(dims, image, "ink")}, coords, title="images")
    return data.assign_attrs(dict.fromkeys(set(datasets.REQUIRED) - set(data.attrs), "x"))


def member(**changes):
    """A task that creates the dataset `recentering_depth`."""
    return {
        "study": STUDY,
        "function": "experiments.random_networks:recentering_depth",
        "code": "0123456789abcdef",
        "seed": 5,
        "paper": PAPER,
        "settings": {"settings": SETTINGS},
        "arguments": {},
        "inputs": {"images": IMAGES},
        "outputs": [f"{STUDY}/data/recentering_depth.nc"],
    } | changes


def gap(**changes):
    """A task that creates the dataset `orthogonality_gap`, which has no inputs."""
    settings = {"batch": 4, "input_dim": 5, "widths": [8, 16], "depth": 5, "seeds": 2}
    own = {"function": "experiments.random_networks:orthogonality_gap", "settings": {"settings": settings}}
    return member(**own | {"inputs": {}, "outputs": [f"{STUDY}/data/orthogonality_gap.nc"]} | changes)


def results(folder: Path) -> Path:
    """Folder of the results of a run `mine`, with images."""
    datasets.write(images(), folder / "results/mine" / IMAGES)
    return folder / "results/mine"


def write(folder: Path, *members, kind="simulate", name=f"{STUDY}/made") -> Path:
    """A job file of the run `mine`."""
    job = Job("mine", name, kind, list(members))
    file = folder / job.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(job.text())
    return file


def record(folder: Path, name=f"{STUDY}/made") -> dict:
    """The record of a job of the run `mine`."""
    return json.loads((folder / f"logs/mine/{name}.log.cost.json").read_text())
