"""`python -m repdyn measure module:function --data file.npz --out diag.nc`: the diagnostics without a script."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from repdyn.base import datasets, figures
from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics import plots
from repdyn.diagnostics.layers import Residual
from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.settings import PAPER

KNOWN = ("inputs", "labels", "targets", "pairs")


def run(
    maker: str,
    data: Path,
    output: Path,
    *,
    layers: Sequence[str] | None = None,
    residual: Sequence[str] | None = None,
    effective_depth: float = 0.0,
    batch_statistics: bool = False,
    drawn: Path | None = None,
) -> None:
    """Measures the network that a user's function returns and saves the dataset.

    Args:
        maker: `module:function`; the module is looked for in the current folder first, the function takes nothing.
        data: npz file with `inputs` and, as wanted, `labels`, `targets`, `pairs`.
        output: netCDF file to write.
        layers: names of layers, None for all.
        residual: names of the layers of the residual stream.
        effective_depth: its leak.
        batch_statistics: as `measure` takes it.
        drawn: folder for the figures, None for none.

    Raises:
        RepdynError: anything unusable, in one line.
    """
    arrays = read_arrays(data)
    model = made_by(maker)
    try:
        stream = Residual(tuple(residual), effective_depth) if residual else None
        found = measure(
            model,
            arrays["inputs"],
            layers,
            residual=stream,
            batch_statistics=batch_statistics,
            **{name: arrays[name] for name in KNOWN[1:] if name in arrays},
        )
    except ValueError as error:
        raise RepdynError(str(error)) from error
    options = {"layers": layers, "residual": residual, "effective_depth": effective_depth}
    datasets.write(_signed(found, maker, options), output)
    print(f"{output}: {found.sizes['layer']} layers, {found.sizes['point']} points, {len(found.data_vars)} diagnostics")
    if found.attrs["left_out"]:
        print(f"left out: {found.attrs['left_out']}")
    if drawn:
        _draw(found, drawn)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an npz file, without unpickling anything.

    Raises:
        DataError: no npz file, arrays of objects, unknown names, or no `inputs`.
    """
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ValueError("it holds a single array")
        with file:
            found = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        told = "it holds Python objects, which are not loaded" if "pickle" in str(error) else error
        raise DataError(
            f"{path}: not a usable npz file ({told}); write it with numpy.savez({path.name!r}, inputs=...)"
        ) from error
    if unknown := [name for name in found if name not in KNOWN]:
        raise DataError(f"{path}: holds {', '.join(unknown)}; expected inputs and, as wanted, labels, targets, pairs")
    if "inputs" not in found:
        raise DataError(f"{path}: holds {', '.join(found) or 'nothing'}; expected an array named inputs")
    return found


def made_by(maker: str) -> torch.nn.Module:
    """The network that `module:function` returns.

    Raises:
        RepdynError: no such module or function, or it returns something else than a torch module.
    """
    name, _, function = maker.partition(":")
    if not name or not function:
        raise RepdynError(f"{maker!r} is not of the form module:function, such as my_network:build")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise RepdynError(f"{name} imports {error.name}, which is not installed") from error
        raise RepdynError(f"no module {name!r} in {Path.cwd()} or among the installed ones") from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(getattr(module, function, None)):
        known = [one for one, value in vars(module).items() if inspect.isroutine(value) and not one.startswith("_")]
        near = difflib.get_close_matches(function, known, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no functions'}"
        raise RepdynError(f"{name} has no function {function!r}; {advice}")
    made = getattr(module, function)()
    if not isinstance(made, torch.nn.Module):
        raise RepdynError(f"{maker} returned a {type(made).__name__}; it must return a torch.nn.Module")
    return made


def _signed(found: xr.Dataset, maker: str, options: dict[str, object]) -> xr.Dataset:
    """The dataset with the attributes that the house's files carry."""
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
    with figures.style():
        figures.save(plots.through_depth(found), folder / "through_depth")
        if "kinetic_energy" in found or "radial_fraction" in found:
            figures.save(plots.residual_stream(found), folder / "residual_stream")
    print(f"{folder}: figures")
