"""Saves the images that all studies read, from the configured source."""

from __future__ import annotations

import json
from pathlib import Path

from repdyn.base import datasets
from repdyn.base.images import load_images
from repdyn.pipeline.run.declare.jobs import Member

NUMERICAL = ("numpy", "scipy", "xarray", "netCDF4", "scikit-learn")


def run(member: Member, results: Path, _trials: object) -> None:
    """Reads, checks and saves the images."""
    source = member["source"]
    images = load_images(source, member["mnist_folder"], member["mnist_mirrors"], split=member["split"])
    images = images.assign_attrs(
        title=f"Images of {source}, as all studies read them",
        study="all",
        experiment="images",
        paper="",
        settings=json.dumps({"source": source}),
        seed=0,
        code_version=member["code"],
        versions=datasets.package_versions(*NUMERICAL),
        device="cpu",
    )
    datasets.write(images, results / member["outputs"][0])
