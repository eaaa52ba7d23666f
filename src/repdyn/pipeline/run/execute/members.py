"""Shared by runners of all kinds: a task's input datasets, its function's arguments, the recorded origin."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import xarray as xr

from repdyn.base import datasets
from repdyn.base.errors import NotEnoughDataError, RepdynError
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.run.declare.jobs import Member

Product = TypeVar("Product")
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


def make(
    function: Callable[..., Product],
    arguments: Mapping[str, Any],
    placeholder: Callable[[str, str], Product],
    save: Callable[[Product, dict[str, str]], None],
) -> None:
    """Makes and saves a figure or table, or a placeholder that names what is missing, so that others are created.

    Args:
        function: makes it from its datasets.
        arguments: these.
        placeholder: makes one from the function's name and what is needed.
        save: writes it, with the error under `failed` if no missing data explain it.
    """
    failed: dict[str, str] = {}
    try:
        save(function(**arguments), failed)
        return
    except NotEnoughDataError as error:
        needs = str(error)
    except Exception as error:
        lost = datasets.without_a_number(arguments)
        needs = f"a network that converged: no finite value in {lost}" if lost else "a function without an error"
        if not lost:
            traceback.print_exc()
            failed = {"failed": f"{type(error).__name__}: {error}"}
    save(placeholder(function.__name__, needs), failed)
