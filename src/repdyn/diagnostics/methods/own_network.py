"""A user's network by name and a file of inputs, measured and saved: what the command `measure` does."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import sys
import traceback
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from repdyn.base import datasets
from repdyn.base import figures as house
from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.settings import PAPER
from repdyn.diagnostics.theory.identity import Residual

ANSWERS = ("labels", "targets", "pairs")


def run(
    maker: str,
    data: Path,
    out: Path,
    *,
    residual: Sequence[str] | None = None,
    effective_depth: float = 0.0,
    features: tuple[str, int | None] = ("flatten", None),
    figures: Path | None = None,
    **options: object,
) -> None:
    """Measures the network that a user's function returns and saves the dataset.

    Args:
        maker: `module:function`; the module is looked for in the current folder first, the function takes nothing.
        data: npz file with `inputs`, or arrays `input_NAME` for keyword inputs, and as wanted `labels`, `targets`,
            `pairs`.
        out: netCDF file to write.
        residual: names of the layers of the residual stream.
        effective_depth: its leak.
        features: kind and axis of the channels.
        figures: folder for the figures, None for none.
        options: further arguments of `measure`.

    Raises:
        RepdynError: anything unusable, in one line.
    """
    arrays = read_arrays(data)
    model = made_by(maker)
    try:
        stream = Residual(tuple(residual), effective_depth) if residual else None
        answers = {name: arrays[name] for name in ANSWERS if name in arrays}
        found = measure(model, arrays["inputs"], residual=stream, features=Features(*features), **answers, **options)
    except ValueError as error:
        raise RepdynError(str(error)) from error
    said = {"residual": residual, "effective_depth": effective_depth, "features": features} | options
    datasets.write(_signed(found, maker, said), out)
    print(f"{out}: {found.sizes['layer']} layers, {found.sizes['point']} points, {len(found.data_vars)} diagnostics")
    if found.attrs["left_out"]:
        print(f"left out: {found.attrs['left_out']}")
    if figures:
        _draw(found, figures)


def read_arrays(path: Path) -> dict[str, object]:
    """The arrays of an npz file, without unpickling anything; keyword inputs become one dictionary `inputs`.

    Raises:
        DataError: no npz file, arrays of objects, unknown names, or no inputs.
    """
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ValueError("it holds a single array")
        with file:
            found: dict[str, object] = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        told = "it holds Python objects, which are not loaded" if "pickle" in str(error) else error
        raise DataError(
            f"{path}: not a usable npz file ({told}); write it with numpy.savez({path.name!r}, inputs=...)"
        ) from error
    keywords = {name.removeprefix("input_"): found.pop(name) for name in list(found) if name.startswith("input_")}
    if keywords and "inputs" not in found:
        found["inputs"] = keywords
    if unknown := [name for name in found if name not in ("inputs", *ANSWERS)]:
        raise DataError(
            f"{path}: holds {', '.join(unknown)}; expected inputs (or input_NAME for each keyword) and, as wanted, "
            "labels, targets, pairs"
        )
    if "inputs" not in found:
        raise DataError(f"{path}: holds {', '.join(found) or 'nothing'}; expected an array named inputs")
    return found


def made_by(maker: str) -> torch.nn.Module:
    """The network that `module:function` returns.

    Raises:
        RepdynError: no such module or function, it raises an error, or it returns something else than a torch module.
    """
    name, _, function = maker.partition(":")
    if not name or not function:
        raise RepdynError(f"{maker!r} is not of the form module:function, such as my_network:build")
    module = _imported(name)
    if not callable(getattr(module, function, None)):
        known = [one for one, value in vars(module).items() if inspect.isroutine(value) and not one.startswith("_")]
        near = difflib.get_close_matches(function, known, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no functions'}"
        raise RepdynError(f"{name} has no function {function!r}; {advice}")
    try:
        made = getattr(module, function)()
    except Exception as error:
        raise RepdynError(f"{maker} raised {_as_theirs(error)}") from error
    if not isinstance(made, torch.nn.Module):
        raise RepdynError(f"{maker} returned a {type(made).__name__}; it must return a torch.nn.Module")
    return made


def _imported(name: str) -> object:
    """A user's module, from the current folder first."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise RepdynError(f"{name} imports {error.name}, which is not installed") from error
        raise RepdynError(f"no module {name!r} in {Path.cwd()} or among the installed ones") from error
    except Exception as error:
        raise RepdynError(f"importing {name} raised {_as_theirs(error)}") from error
    finally:
        sys.path.remove(str(Path.cwd()))


def _as_theirs(error: Exception) -> str:
    """A user's error in one line, with the place in their own code."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({Path(error.filename or '?').name}, line {error.lineno})"
    here = str(Path.cwd())
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(here)] or frames[-1:]
    words = in_one_line(error)
    words = words if words.startswith(type(error).__name__) else f"{type(error).__name__}: {words}"
    return f"{words} ({Path(own[-1].filename).name}, line {own[-1].lineno})"


def _signed(found: xr.Dataset, maker: str, options: dict[str, object]) -> xr.Dataset:
    """The dataset with the attributes that the pipeline's files carry."""
    return found.assign_attrs(
        study="diagnostics",
        experiment=maker,
        paper=PAPER,
        serves_figures="",
        serves_claims="",
        settings=json.dumps(options, sort_keys=True),
        seed=0,
        code_version="unversioned",
        versions=datasets.package_versions("numpy", "scipy", "torch", "xarray"),
        device="cpu",
    )


def _draw(found: xr.Dataset, folder: Path) -> None:
    """The figures that the measures allow."""
    with house.style():
        if {"angle", "centred_effective_rank", "stable_cost_of_identity"} <= set(found):
            house.save(draw_depth(found), folder / "through_depth")
        if "kinetic_energy" in found or "radial_fraction" in found:
            house.save(draw_stream(found), folder / "residual_stream")
    print(f"{folder}: figures")
