"""Runners: call a study's function on files and save what it returns. Rules reach the studies through these alone.

A function's parameters say what it wants: `settings` gets the validated slice of the configuration, `stream` the
function's random stream, `device` the torch device, `checkpoint` the place for finished trials; every other
parameter gets the input dataset of that name (a file's stem) or, for `data/<name>/<variant>.nc`, a dict from variant
to dataset; what is left comes from the job.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import xarray as xr
from pydantic import ValidationError

from repdyn.base import datasets
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.devices import choose_device
from repdyn.base.errors import RepdynError
from repdyn.base.files import sha256, write_text
from repdyn.base.fingerprint import code_version
from repdyn.base.streams import Stream
from repdyn.pipeline.run.loading import load_function, load_module, load_rooms

Inputs = dict[str, "xr.Dataset | dict[str, xr.Dataset]"]
NUMERICAL = ("numpy", "scipy", "xarray", "netCDF4")


def simulate(
    study: str,
    function: str,
    job: str,
    inputs: Iterable[Path],
    code: str,
    output: Path,
    checkpoints: Path | None = None,
) -> Checkpoint:
    """Runs an experiment or an analysis and saves its dataset with its provenance.

    Args:
        study: name of the study.
        function: `module:function` inside the study, e.g. "experiments:ablation".
        job: JSON text with `seed`, `settings`, optionally `device` and further arguments by name.
        inputs: dataset files.
        code: the rule's code version, written into the dataset.
        output: netCDF file to write.
        checkpoints: folder where a function that takes a `checkpoint` keeps finished trials; None keeps none.

    Returns:
        The checkpoint, to be removed when the whole job is done: of a job that fails no output stays.
    """
    called = load_function(study, function)
    given = read_job(job, "seed")
    device = choose_device(given.get("device", "cpu"))
    made_from = " ".join(sha256(path) for path in inputs) if checkpoints else ""
    checkpoint = Checkpoint(checkpoints, f"{study} {function} {job} {code} {device} {made_from}")
    offered = (
        read_inputs(inputs)
        | given
        | {
            "settings": _typed_settings(called, given),
            "stream": Stream(given["seed"], (study, called.__name__)),
            "device": device,
            "checkpoint": checkpoint,
        }
    )
    made = called(**_arguments(called, offered))
    numerical = (*NUMERICAL, *(("torch",) if "device" in inspect.signature(called).parameters else ()))
    made = made.assign_attrs(
        study=study,
        experiment=function,
        paper=load_module(study, "settings").PAPER,
        settings=json.dumps(given, sort_keys=True),
        seed=given["seed"],
        code_version=code,
        versions=datasets.package_versions(*numerical),
        device=device,
    )
    datasets.write(made, output)
    return checkpoint


def draw(study: str, names: Iterable[str], inputs: Iterable[Path], folder: Path) -> None:
    """Draws the named figures of a study into a folder, each as SVG, PNG and JSON."""
    from repdyn.base import figures

    offered = read_inputs(inputs)
    for name in names:
        function = load_function(study, f"figures:{name}")
        with figures.style():
            figures.save(function(**_arguments(function, offered)), folder / name, _origin(function))


def tabulate(study: str, names: Iterable[str], inputs: Iterable[Path], folder: Path) -> None:
    """Writes the named tables of a study into a folder, each as CSV, LaTeX and JSON."""
    from repdyn.base import tables

    offered = read_inputs(inputs)
    for name in names:
        function = load_function(study, f"tables:{name}")
        tables.save(function(**_arguments(function, offered)), folder / name, _origin(function))


def write_claims(study: str, inputs: Iterable[Path], output: Path) -> None:
    """Decides every claim of a study, runs every control, and writes the study's part of the ledger."""
    import pandas as pd

    from repdyn.base import claims

    rows = claims.rows(claims.claims_of(*load_rooms(study, "claims")), read_inputs(inputs))
    frame = pd.DataFrame([{"study": study} | row | {"code_version": code_version(str(row["code"]))} for row in rows])
    write_text(output, frame.to_csv(index=False, lineterminator="\n"))


def images(source: str, mnist_folder: str | None, mnist_mirrors: list[str], code: str, output: Path) -> None:
    """Saves the images all studies read, from the configured source."""
    from repdyn.base.sources import load_images

    made = load_images(source, mnist_folder, mnist_mirrors)
    made = made.assign_attrs(
        title=f"Images of {source}, as all studies read them",
        study="all",
        experiment="images",
        paper="",
        serves_figures="all on real images",
        serves_claims="all on real images",
        settings=json.dumps({"source": source}),
        seed=0,
        code_version=code,
        versions=datasets.package_versions(*NUMERICAL, "scikit-learn"),
        device="cpu",
    )
    datasets.write(made, output)


def read_inputs(paths: Iterable[Path]) -> Inputs:
    """Datasets by name: `data/<name>.nc` as a dataset, `data/<name>/<variant>.nc` as a dict of datasets."""
    found: Inputs = {}
    for path in map(Path, paths):
        loaded, folder = datasets.read(path), path.absolute().parent.name
        if folder == "data":
            found[path.stem] = loaded
        else:
            found.setdefault(folder, {})[path.stem] = loaded
    return found


def read_job(job: str, *wanted: str) -> dict[str, object]:
    """What a job says, by name.

    Raises:
        RepdynError: the text is not a JSON object, or lacks one of the `wanted` keys.
    """
    try:
        given = json.loads(job)
    except json.JSONDecodeError as error:
        raise RepdynError(f"--job is not JSON ({error}): {job}") from error
    if not isinstance(given, dict) or not set(wanted) <= set(given):
        raise RepdynError(f"--job wants an object with {', '.join(wanted)}, got {job}")
    return given


def _origin(function: Callable) -> dict[str, object]:
    """What a figure's or a table's file says of its making: the function, its code version, the datasets it read."""
    code = f"{function.__module__}:{function.__name__}"
    return {"code": code, "code_version": code_version(code), "datasets": list(inspect.signature(function).parameters)}


def _typed_settings(function: Callable, given: Mapping[str, object]) -> object:
    wanted = typing.get_type_hints(function).get("settings")
    try:
        return wanted.model_validate(given.get("settings")) if wanted else None
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, ('settings', *one['loc'])))}: {one['msg']}" for one in error.errors())
        raise RepdynError(f"--job: {told}") from error


def _arguments(function: Callable, offered: Mapping[str, object]) -> dict[str, object]:
    parameters = inspect.signature(function).parameters
    missing = [name for name, wanted in parameters.items() if name not in offered and wanted.default is wanted.empty]
    if missing:
        raise RepdynError(
            f"{function.__module__}:{function.__name__} wants {', '.join(missing)}, but the rule gives only "
            f"{', '.join(sorted(offered))}"
        )
    return {name: offered[name] for name in parameters if name in offered}
