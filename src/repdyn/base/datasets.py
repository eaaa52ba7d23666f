"""Datasets: the common form of all results, with conventions that are checked on creation.

Every variable has `long_name` and `units` (`1` without any); every dimension has a coordinate; the attributes record
study, paper, figures, claims, settings, code and packages. No attribute contains a time, path, host or commit: equal
settings give equal bytes, in any folder.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.errors import DataError, NotEnoughDataError
from repdyn.base.files import atomic

REQUIRED = ("study", "experiment", "paper", "settings", "seed", "code_version", "versions", "device")
CONVENTIONS = "CF-1.11"
DIVERGED = "after a network has diverged"
LEFT_OUT = "diverged"  # attribute of a dataset: which networks have diverged, and under which settings
CHECKSUM = "crc32"  # attribute of every variable in a file, to detect damage
Need = int | str | float | Sequence[str | float]
"""Smallest size of a dimension, or the label or labels that its coordinate must have."""


def variable(dims: str | Sequence[str], values: object, long_name: str, units: str = "1") -> xr.Variable:
    """A variable with its name for readers and its units."""
    return xr.Variable(dims, values, {"long_name": long_name, "units": units})


def index(name: str, count: int, long_name: str) -> xr.Variable:
    """A coordinate that counts 0, 1, ...: seeds, pairs, points."""
    return variable(name, np.arange(count), long_name)


def dataset(variables: Mapping[str, xr.Variable], coords: Mapping[str, xr.Variable], *, title: str) -> xr.Dataset:
    """A dataset with a title; the job that saves it adds the other attributes.

    Args:
        variables: data variables, made with `variable`.
        coords: coordinates, one for every dimension, made with `variable`.
        title: one line, what was computed.
    """
    return xr.Dataset(variables, coords, {"title": title})


def explain_gaps(ds: xr.Dataset, why: str) -> xr.Dataset:
    """The dataset with the attribute `missing` at every variable that is not finite everywhere and has none."""
    for name, array in ds.variables.items():
        if array.dtype.kind == "f" and not np.isfinite(array.values).all():
            ds[name].attrs.setdefault("missing", why)
    return ds


def left_out(ds: xr.Dataset, gone: ArrayLike, settings: str) -> xr.Dataset:
    """The dataset with missing values for diverged networks, their number and settings.

    Args:
        ds: recorded data, NaN or infinite for diverged networks.
        gone: whether each network has diverged, any shape.
        settings: section, setting and value, in words.
    """
    if not (count := int(np.sum(gone))):
        return ds
    return _with_gaps(ds).assign_attrs({LEFT_OUT: f"{count} of {np.size(gone)} networks have diverged ({settings})"})


def inherit(ds: xr.Dataset, *inputs: xr.Dataset | Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The dataset with missing values for diverged networks of its inputs, and their explanation."""
    if not said_to_have_diverged(*inputs):
        return ds
    return _with_gaps(ds).assign_attrs({LEFT_OUT: said_to_have_diverged(ds, *inputs)})


def said_to_have_diverged(*inputs: xr.Dataset | Mapping[str, xr.Dataset]) -> str:
    """Explanations of diverged networks in datasets, each once; empty if the files are missing."""
    each = [part for data in inputs for part in ([data] if isinstance(data, xr.Dataset) else data.values())]
    return "; ".join(dict.fromkeys(part.attrs[LEFT_OUT] for part in each if LEFT_OUT in part.attrs))


def _with_gaps(ds: xr.Dataset) -> xr.Dataset:
    """NaN in place of infinities, explained."""
    for name, array in ds.data_vars.items():
        if array.dtype.kind == "f" and np.isinf(array.values).any():
            ds[name] = array.copy(data=np.where(np.isinf(array.values), np.nan, array.values))
    return explain_gaps(ds, DIVERGED)


def problems(ds: xr.Dataset) -> list[str]:
    """Violations of the conventions, in words; empty if the files are missing."""
    faults = [f"attribute {name!r} is missing" for name in (*REQUIRED, "title") if name not in ds.attrs]
    faults += [f"dimension {dim!r} has no coordinate" for dim in ds.dims if dim not in ds.coords]
    for name, array in ds.variables.items():
        faults += [f"variable {name!r} has no {attr}" for attr in ("long_name", "units") if not array.attrs.get(attr)]
        faults += [f"variable {name!r} has type object"] if array.dtype == object else []
        if array.dtype.kind == "f" and not np.isfinite(array.values).all() and "missing" not in array.attrs:
            faults.append(f"variable {name!r} is not finite everywhere and has no attribute 'missing' that says why")
    return faults


def write(ds: xr.Dataset, path: Path | str) -> None:
    """Writes netCDF-4, compressed, complete or not at all; equal content gives equal bytes.

    Raises:
        DataError: the dataset violates a convention, or the file cannot be written.
    """
    if wrong := problems(ds):
        raise DataError(f"{path}: not written, the dataset violates the conventions: " + "; ".join(wrong))
    ds = ds.assign_attrs(Conventions=CONVENTIONS)
    ds.attrs = dict(sorted(ds.attrs.items()))
    for name, array in ds.variables.items():
        ds[name].attrs[CHECKSUM] = _checksum(array)
    encoding = {name: _encoding(array) for name, array in ds.variables.items()}
    with atomic(path) as temporary:
        try:
            ds.to_netcdf(temporary, engine="netcdf4", encoding=encoding)
        except RuntimeError as error:  # the library's message for a full disk
            raise OSError(str(error)) from error


def _encoding(array: xr.Variable) -> dict[str, object]:
    packed = {"zlib": True, "complevel": 4, "shuffle": True} if array.dtype.kind in "fiub" and array.ndim else {}
    return packed | ({"_FillValue": None} if array.dtype.kind == "f" else {})


def read(path: Path | str) -> xr.Dataset:
    """Reads a dataset into memory and closes the file.

    Raises:
        DataError: the file is missing, truncated, damaged, not netCDF, or not one of ours.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such dataset; create it with: snakemake --cores 8 {path}")
    try:
        loaded = xr.load_dataset(path, engine="netcdf4")
    except (OSError, ValueError, RuntimeError) as error:
        advice = "delete it and run the same command again" if path.suffix == ".nc" else "name a dataset (.nc)"
        raise DataError(f"{path}: not a readable netCDF file ({error}); {advice}") from error
    if wrong := [name for name in REQUIRED if name not in loaded.attrs]:
        raise DataError(
            f"{path}: not a dataset of this pipeline (no attribute {', '.join(wrong)}); delete it or name another file"
        )
    if damaged := [name for name, array in loaded.variables.items() if not _is_whole(array)]:
        raise DataError(
            f"{path}: damaged, {', '.join(map(str, damaged))} is not what was written; delete it and run the same "
            "command again"
        )
    return loaded


def _checksum(array: xr.Variable) -> str:
    """CRC-32 of a variable's shape and values, hexadecimal."""
    values = np.asarray(array.values)
    text = values.tobytes() if values.dtype.kind in "fiub" else "\0".join(map(str, values.ravel())).encode()
    return f"{zlib.crc32(text, zlib.crc32(repr(values.shape).encode())):08x}"


def _is_whole(array: xr.Variable) -> bool:
    """Whether a variable has the values it was written with; removes its checksum."""
    checksum = array.attrs.pop(CHECKSUM, None)
    return checksum is None or checksum == _checksum(array)


def package_versions(*names: str) -> str:
    """Versions of the packages that a result depends on, as JSON text for the attributes."""
    from importlib.metadata import version

    return json.dumps({name: version(name).split("+")[0] for name in sorted(names)}, sort_keys=True)


def versions_of(path: Path | str) -> dict[str, str]:
    """Package -> the version recorded in a dataset's file; empty for other files."""
    import netCDF4

    try:
        with netCDF4.Dataset(path) as file:
            return dict(json.loads(file.getncattr("versions")))
    except (OSError, AttributeError, ValueError):
        return {}


TRIALS = ("seed", "teacher", "trial", "draw", "run")
"""Dimensions of independent trials."""


def require(data: xr.Dataset | Mapping[str, xr.Dataset], name: str, **needs: Need) -> None:
    """States what a claim or a figure needs of a dataset.

    Args:
        data: the dataset, or datasets by variant.
        name: its name, for the message.
        needs: dimension -> smallest size, or the label or labels that its coordinate must have; `variant` stands for
            the names of several datasets, each of which must have the other dimensions.

    Raises:
        NotEnoughDataError: the dataset lacks a dimension, is too small along one, or misses a label.
    """
    if isinstance(data, xr.Dataset):
        _require(name, {dim: data[dim].values.tolist() if dim in data.sizes else [] for dim in needs}, needs)
        return
    if "variant" in needs:
        _require(name, {"variant": list(data)}, {"variant": needs.pop("variant")})
    for variant, part in data.items():
        require(part, f"{name} {variant}", **needs)


def require_finite(values: xr.DataArray, needed: str) -> None:
    """Requires at least one finite value for a figure.

    Raises:
        NotEnoughDataError: no value is finite, for example since all networks diverged; the text says what is needed.
    """
    if not np.isfinite(values).any():
        raise NotEnoughDataError(needed)


def without_a_number(data: Mapping[str, xr.Dataset | Mapping[str, xr.Dataset]]) -> str:
    """Arrays of datasets without a finite value, and why; empty if the files are missing.

    Args:
        data: datasets by name, or by name and variant.
    """
    parts = []
    for name, one in data.items():
        for variant, ds in {"": one}.items() if isinstance(one, xr.Dataset) else one.items():
            arrays = {key: array for key, array in ds.data_vars.items() if array.dtype.kind == "f" and array.size}
            lost = {key: array for key, array in arrays.items() if not np.isfinite(array.values).any()}
            if lost:
                reasons = dict.fromkeys(
                    str(array.attrs["missing"]) for array in lost.values() if "missing" in array.attrs
                )
                said = f" ({'; '.join(reasons)})" if reasons else ""
                parts.append(f"{', '.join(map(str, lost))} of {f'{name} {variant}'.strip()}{said}")
    return "; ".join(parts)


def explained_gaps(*data: xr.Dataset | Mapping[str, xr.Dataset]) -> str:
    """Names of the variables with missing values explained by their attribute `missing`; empty without any."""
    every = [ds for one in data for ds in ([one] if isinstance(one, xr.Dataset) else one.values())]
    names = {
        str(name): None
        for ds in every
        for name, array in ds.data_vars.items()
        if "missing" in array.attrs and array.dtype.kind == "f" and not np.isfinite(array.values).all()
    }
    return ", ".join(names)


def _require(name: str, labels: Mapping[str, list[Any]], needs: Mapping[str, Need]) -> None:
    for dim, wanted in needs.items():
        if isinstance(wanted, int | np.integer):
            if len(labels[dim]) < wanted:
                trials = (int(wanted), len(labels[dim])) if dim in TRIALS and labels[dim] else None
                raise NotEnoughDataError(f"{name}: {wanted} along {dim}, has {len(labels[dim])}", trials)
            continue
        names = [wanted] if isinstance(wanted, str | float) else wanted
        if missing := [label for label in names if label not in labels[dim]]:
            raise NotEnoughDataError(f"{name}: {dim} = {', '.join(map(str, missing))}")
