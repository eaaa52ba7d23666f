"""Runs an experiment or an analysis and saves its dataset with its provenance.

A function's parameters say what it wants: `settings`, or any parameter annotated with a settings model, gets its
validated section of the configuration, `stream` the function's random stream, `device` the torch device, `checkpoint`
the place for finished trials; a parameter named as a dataset gets it; what is left comes from the job's arguments.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repdyn.base import datasets
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.devices import choose_device
from repdyn.base.errors import RepdynError
from repdyn.base.files import sha256
from repdyn.base.streams import Stream
from repdyn.pipeline.run.jobs import input_paths
from repdyn.pipeline.run.loading import load_function
from repdyn.pipeline.run.members import arguments_of, read_inputs

NUMERICAL = ("numpy", "scipy", "xarray", "netCDF4")


def run(member: Mapping[str, Any], results: Path, checkpoints: Path | None) -> Callable[[], None]:
    """Runs one member of a job and saves its dataset.

    Args:
        member: study, function, code, seed, settings, arguments, inputs, one output, and a device where it trains.
        results: folder that the paths of inputs and outputs are relative to.
        checkpoints: folder where a function that takes a `checkpoint` keeps finished trials; None keeps none.

    Returns:
        What removes the checkpoint, to be called when the whole job is done.
    """
    study, function = member["study"], load_function(member["study"], member["function"])
    device = choose_device(member.get("device", "cpu"))
    checkpoint = Checkpoint(checkpoints, _identity(member, device, results) if checkpoints else "")
    offered = {
        **read_inputs(member, results),
        **_typed(function, {**member["arguments"], **member["settings"]}),
        "stream": Stream(member["seed"], (study, function.__name__)),
        "device": device,
        "checkpoint": checkpoint,
    }
    data = function(**arguments_of(function, offered))
    numerical = (*NUMERICAL, *(("torch",) if "device" in inspect.signature(function).parameters else ()))
    data = data.assign_attrs(
        study=study,
        experiment=member["function"],
        paper=member["paper"],
        settings=json.dumps({key: member[key] for key in ("seed", "settings", "arguments")}, sort_keys=True),
        seed=member["seed"],
        code_version=member["code"],
        versions=datasets.package_versions(*numerical),
        device=device,
    )
    datasets.write(data, results / member["outputs"][0])
    return checkpoint.remove


def _identity(member: Mapping[str, Any], device: str, results: Path) -> str:
    """What a job is to its checkpoints: everything that its numbers depend on, the contents of its inputs included."""
    digests = [sha256(results / path) for path in input_paths([member])]
    return json.dumps([dict(member), device, digests], sort_keys=True)


def _typed(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The job's values as the types that the function's annotations name."""
    hints = typing.get_type_hints(function)
    typed = {}
    for name, value in values.items():
        try:
            typed[name] = TypeAdapter(hints[name]).validate_python(value) if name in hints else value
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, (name, *fault['loc'])))}: {fault['msg']}" for fault in error.errors())
            raise RepdynError("job file: " + "; ".join(problems)) from error
    return typed
