"""Runs an experiment or an analysis and saves its dataset with its provenance.

Arguments follow from a function's parameters: `settings`, or any parameter annotated with a settings model, is the
validated section of the configuration, `stream` the function's random stream, `device` the torch device, `checkpoint`
the trial cache; a parameter with a dataset's name is that dataset; all others come from the job's arguments.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repdyn.base import datasets
from repdyn.base.checkpoints import Checkpoint, Store, Tally
from repdyn.base.devices import choose_device
from repdyn.base.errors import RepdynError
from repdyn.base.files import sha256
from repdyn.base.settings import EACH, Settings, of_one_trial
from repdyn.base.streams import Stream
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, read_inputs
from repdyn.pipeline.run.machine.environment import numerics

NUMERICAL = ("numpy", "scipy", "xarray", "netCDF4")


def run(member: Member, results: Path, trials: Store | None) -> None:
    """Runs one task of a job and saves its dataset.

    Args:
        member: study, function, code, seed, settings, arguments, inputs, one output, and a device if it trains.
        results: folder that the paths of inputs and outputs are relative to.
        trials: cache of finished trials for a function with a `checkpoint`; None for no cache.
    """
    study, function = member["study"], load_function(member["study"], member["function"])
    device = choose_device(member.get("device", "cpu"))
    counted = trials.tally if trials else Tally()
    before = replace(counted)
    values = _typed(function, {**member["arguments"], **member["settings"]})
    checkpoint = Checkpoint(None, "")
    if trials and "checkpoint" in inspect.signature(function).parameters:
        own = Store(trials.folder / study / function.__name__, trials.since, trials.tally)
        checkpoint = own.checkpoint(_identity(member, function, values, device, results))
    read = read_inputs(member, results)
    offered = {
        **read,
        **values,
        "stream": Stream(member["seed"], (study, function.__name__)),
        "device": device,
        "checkpoint": checkpoint,
    }
    data = function(**arguments_of(function, offered))
    data = datasets.inherit(data, *read.values())
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
    if (tally := counted.since(before)).read:
        print(tally, file=sys.stderr)


def _identity(
    member: Member, function: Callable[..., Any], values: Mapping[str, Any], device: str, results: Path
) -> str:
    """What the trials of a function depend on: all but their number and selection (`EACH`, mappings of settings).

    Its name, or `Checkpoint.of`, distinguishes a trial from the others. A dataset marked by `EACH` has trials that are
    analyzed separately.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    shared = {name for name in hints if EACH in getattr(hints[name], "__metadata__", ())}
    own = {name: value for name, value in values.items() if name not in shared}
    settings = {name: _of_one_trial(own[name]) for name in member["settings"] if name in own}
    arguments = {name: value for name, value in member["arguments"].items() if name in own}
    digests = {name: _digest(path, results) for name, path in member["inputs"].items() if name not in shared}
    about = {
        "function": f"{member['study']}.{member['function']}",
        "code": member["code"],
        "seed": member["seed"],
        "settings": settings,
        "arguments": arguments,
        "inputs": digests,
    }
    return json.dumps(about | numerics(device), sort_keys=True)


def _of_one_trial(value: Any) -> Any:
    """Settings without those that only select trials; of a mapping of settings each trial uses one entry."""
    if isinstance(value, Settings):
        return of_one_trial(value)
    if isinstance(value, Mapping) and value and all(isinstance(entry, Settings) for entry in value.values()):
        return None
    return value


def _digest(path: str | Mapping[str, str], results: Path) -> str | dict[str, str]:
    """Digest of an input's file, or of its files by variant."""
    if isinstance(path, str):
        return sha256(results / path)
    return {variant: sha256(results / file) for variant, file in path.items()}


def _typed(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The job's values, converted to the types in the function's annotations."""
    hints = typing.get_type_hints(function)
    typed = {}
    for name, value in values.items():
        try:
            typed[name] = TypeAdapter(hints[name]).validate_python(value) if name in hints else value
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, (name, *fault['loc'])))}: {fault['msg']}" for fault in error.errors())
            raise RepdynError("job file: " + "; ".join(problems)) from error
    return typed
