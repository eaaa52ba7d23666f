"""Shared by runners of all kinds: a task's input datasets, its function's arguments, the recorded origin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from repdyn.base import datasets
from repdyn.base.errors import RepdynError
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.run.declare.jobs import Member

Inputs = Mapping[str, "xr.Dataset | Mapping[str, xr.Dataset]"]


def read_inputs(member: Member, results: Path) -> Inputs:
    """A task's datasets by name; a dict of datasets by variant if the experiment runs once per variant."""
    return {
        name: {variant: datasets.read(results / file) for variant, file in path.items()}
        if isinstance(path, Mapping)
        else datasets.read(results / path)
        for name, path in member["inputs"].items()
    }


def arguments_of(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function, selected by the names of its parameters.

    Raises:
        RepdynError: a parameter without default has no value.
    """
    parameters = inspect.signature(function).parameters
    missing = [name for name, wanted in parameters.items() if name not in offered and wanted.default is wanted.empty]
    if missing:
        raise RepdynError(
            f"{function.__module__}:{function.__name__} needs {', '.join(missing)}, but the job has only "
            f"{', '.join(sorted(offered))}"
        )
    return {name: offered[name] for name in parameters if name in offered}


def origin(member: Member) -> dict[str, Any]:
    """Origin recorded in the file of a figure or table: the function, its code version, its datasets."""
    code = f"{package_of(member['study'])}.{member['function']}"
    return {"code": code, "code_version": member["code"], "datasets": list(member["inputs"])}
