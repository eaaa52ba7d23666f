"""Measurements of several moments as one dataset, in memory or in a file that grows by a moment at a time.

The numbers of a moment also go to the loggers of experiments, by name.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr

from repdyn.base.datasets import variable
from repdyn.base.errors import DataError
from repdyn.base.files import atomic
from repdyn.diagnostics.methods.arguments import check_arguments, check_kind
from repdyn.diagnostics.methods.catalog import counts

FIXED = (
    "units",
    "input_distance",
    "target_distance",
    "task_rank",
    "centered_task_rank",
    "expected_angle",
    "expected_norm_ratio",
)
NO_SCALARS = (*FIXED, "odd_point")  # the same at every moment, or a name and no size
PREFIX = "repdyn/"  # of the names that loggers get, so that a "loss" stays the user's


def changing(moment: xr.Dataset) -> list[str]:
    """Diagnostics that change from moment to moment."""
    return [str(name) for name in moment.data_vars if name not in FIXED]


def aligned(moment: xr.Dataset, first: xr.Dataset) -> xr.Dataset:
    """A later moment with the layers and diagnostics of the first; what it lacks is NaN."""
    lacking = [name for name in first.data_vars if name not in moment]
    if lacking:
        moment = moment.assign({name: xr.full_like(first[name], np.nan, dtype=float) for name in lacking})
    wanted = list(first.data_vars)
    selected = moment if list(moment.data_vars) == wanted else moment[wanted]
    indexes, theirs = moment.xindexes, first.xindexes  # of one collector they are the same objects
    shared = [dim for dim in first.dims if dim in moment.coords]
    if all(indexes[dim] is theirs[dim] or indexes[dim].equals(theirs[dim]) for dim in shared):
        return selected
    return selected.reindex({dim: first[dim] for dim in first.dims})


def missing_moment(first: xr.Dataset, why: str) -> xr.Dataset:
    """A moment without any number, and the reason."""
    empty = {name: xr.full_like(first[name], np.nan, dtype=float) for name in changing(first)}
    return first.assign(empty).assign_attrs(left_out=why)


@dataclass(frozen=True)
class Series:
    """Moments along the dimension of training, in memory or in a file.

    Attributes:
        time: name of the dimension of training.
        units: its unit.
    """

    time: str
    units: str = "1"

    def joined(self, moments: Sequence[xr.Dataset], steps: Sequence[float]) -> xr.Dataset:
        """All moments, at these steps, as one dataset."""
        along = variable(self.time, np.array(steps), f"{self.time} of training", self.units)
        dataset = _concatenated(moments, xr.Variable(self.time, along.values), changing(moments[0]))
        text = self._reasons([moment.attrs["left_out"] for moment in moments], steps)
        return dataset.assign_coords({self.time: along}).assign_attrs(time=self.time, left_out=text)

    def extended(self, whole: xr.Dataset, moments: Sequence[xr.Dataset], steps: Sequence[float]) -> xr.Dataset:
        """A recorded dataset with further moments at their places in time, instead of those that are there."""
        if not moments:
            return whole
        texts = self._texts(whole) | {
            step: moment.attrs["left_out"] for step, moment in zip(steps, moments, strict=True)
        }
        others = whole.isel({self.time: ~np.isin(whole[self.time].values, steps)})
        dataset = _concatenated([others, self.joined(moments, steps)], self.time, changing(moments[0])).sortby(
            self.time
        )
        ordered = dataset[self.time].values.tolist()
        text = self._reasons([texts[step] for step in ordered], ordered)
        return dataset.assign_attrs(whole.attrs | {"left_out": text})

    def _reasons(self, texts: Sequence[str], steps: Sequence[float]) -> str:
        """What was left out, written once where it is the same at every moment."""
        if len(set(texts)) == 1:
            return texts[0]
        return "; ".join(f"{self.time} {step:g}: {text}" for step, text in zip(steps, texts, strict=True) if text)

    def _texts(self, whole: xr.Dataset) -> dict[float, str]:
        """What was left out at each step, from `_reasons` of all."""
        text, steps = whole.attrs["left_out"], whole[self.time].values.tolist()
        first, *parts = re.split(rf"(?:^|; ){re.escape(self.time)} (\S+): ", text)
        if first or not parts:  # the same at every moment
            return dict.fromkeys(steps, text)
        entries = list(zip(parts[::2], parts[1::2], strict=True))
        return {step: entries.pop(0)[1] if entries and entries[0][0] == f"{step:g}" else "" for step in steps}

    def create(self, path: Path, moment: xr.Dataset, step: float) -> None:
        """A file that holds one moment and can grow.

        Raises:
            DataError: the file is there already, or cannot be written.
        """
        if path.exists():
            raise DataError(f"{path}: is written by another recorder; give each a file of its own")
        self._write(path, self.joined([moment], [step]))

    def append(self, path: Path, moment: xr.Dataset, step: float, written: int) -> None:
        """Adds a moment to a file: to a copy that then takes its place, so that a kill at any time leaves a whole file.

        Args:
            path: the file.
            moment: dataset of the moment.
            step: time of the moment.
            written: moments that the file should have by now.

        Raises:
            DataError: the file has another number of moments, or cannot be written.
        """
        with _changed(path) as file:
            at = len(file.dimensions[self.time])
            if at != written:
                raise DataError(f"{path}: has {at} moments for {written}; another recorder writes to it, too")
            earlier = xr.Dataset(coords={self.time: file[self.time][:]}, attrs={"left_out": file.getncattr("left_out")})
            texts = self._texts(earlier) | {step: moment.attrs["left_out"]}
            file[self.time][at] = step
            for name in changing(moment):
                file[name][at, ...] = moment[name].values
            file.setncattr("left_out", self._reasons(list(texts.values()), list(texts)))

    def insert(self, path: Path, moment: xr.Dataset, step: float) -> None:
        """Puts a moment into a file at its place in time, instead of one that is there."""
        self._write(path, self.extended(load(path, self.time), [moment], [step]))

    def cut(self, path: Path, step: float) -> None:
        """Drops the moments from a step on, with their reasons, and with the last one the file."""
        whole = load(path, self.time)
        earlier = whole.isel({self.time: whole[self.time].values < step})
        if not earlier.sizes[self.time]:
            path.unlink()
            return
        texts, steps = self._texts(whole), earlier[self.time].values.tolist()
        self._write(path, earlier.assign_attrs(left_out=self._reasons([texts[step] for step in steps], steps)))

    def _write(self, path: Path, dataset: xr.Dataset) -> None:
        """Whole numbers and truth values are stored as numbers that may be missing later; all with a checksum."""
        floats = {name: dataset[name].astype(float) for name in changing(dataset) if dataset[name].dtype.kind in "biu"}
        stored = dataset.assign(floats)
        numbers = [name for name, array in stored.variables.items() if array.ndim and array.dtype.kind in "fiub"]
        sealed = {name: {"fletcher32": True} for name in numbers}
        with _whole(path) as temporary:
            stored.to_netcdf(temporary, engine="netcdf4", unlimited_dims=[self.time], encoding=sealed)


def _concatenated(parts: Sequence[xr.Dataset], along: Any, names: Sequence[str]) -> xr.Dataset:
    return xr.concat(
        parts, along, data_vars=names, coords="minimal", compat="override", combine_attrs="override", join="override"
    )


def annotate(path: Path, **attributes: str) -> None:
    """Sets attributes of a file, which is whole at any time."""
    with _changed(path) as file:
        file.setncatts(attributes)


@contextmanager
def _changed(path: Path) -> Iterator[netCDF4.Dataset]:
    """A copy of a file, which is changed and then takes its place."""
    with _whole(path) as temporary:
        shutil.copyfile(path, temporary)
        with netCDF4.Dataset(temporary, "a") as file:
            yield file


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """`atomic`, with what netCDF raises on a full disk."""
    with atomic(path) as temporary:
        try:
            yield temporary
        except RuntimeError as error:
            raise OSError(str(error)) from error


def load(path: Path, time: str | None = None) -> xr.Dataset:
    """A recorded file in memory, counts as whole numbers again.

    Raises:
        DataError: no readable file of a recorder, or one of another dimension of training.
    """
    try:
        recorded = xr.load_dataset(path, engine="netcdf4")
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        raise DataError(f"{path}: not a readable netCDF file ({error})") from error
    if recorded.attrs.get("time") not in recorded.dims or time not in (None, recorded.attrs["time"]):
        raise DataError(f"{path}: not recorded along {time or 'a dimension of training'}; name another file")
    for name, array in recorded.data_vars.items():
        if counts(str(name)) and np.isfinite(array).all():
            recorded[name] = array.astype(np.int64)
    return recorded


def scalars(dataset: xr.Dataset, prefix: str = "") -> dict[str, float]:
    """Numbers of the network and of each layer: `accuracy`, `effective_rank/layer1.0`, `radial_fraction/conv1`.

    Args:
        dataset: of `measure`, or of `Recorder.dataset`, of whose moments the last counts.
        prefix: in front of every name.

    Returns:
        Number by name, all finite: what is missing is left out. Angles are medians over pairs, numbers of classes and
        of seeds means. Numbers of single points or pairs, and what is the same at every moment, stays out.

    Example:
        >>> import torch
        >>> from repdyn.diagnostics.measure import measure
        >>> scalars(measure(torch.nn.Linear(2, 2), torch.eye(2), measures=["ranks"]))["numerical_rank/input"]
        2.0
    """
    check_kind("dataset", dataset, xr.Dataset, "that of measure or of Recorder.dataset")
    if time := dataset.attrs.get("time"):
        dataset = dataset.isel({time: -1})
    if "quantile" in dataset.coords:
        dataset = dataset.sel(quantile=0.5)
    named: dict[str, float] = {}
    for name, values in dataset.drop_vars(NO_SCALARS, errors="ignore").data_vars.items():
        values = values.mean([dim for dim in ("class", "seed") if dim in values.dims])
        if not values.dims:
            named[f"{prefix}{name}"] = float(values)
        elif values.dims in (("layer",), ("step_from",), ("normalized",)):
            places = values[values.dims[0]].values.tolist()
            named |= {f"{prefix}{name}/{place}": float(value) for place, value in zip(places, values, strict=True)}
    return {name: value for name, value in named.items() if np.isfinite(value)}


def log_scalars(logger: Any, values: Mapping[str, float], step: float) -> None:
    """Hands the numbers of a moment to a logger.

    Args:
        logger: what has `add_scalar(name, value, step)`, as TensorBoard's `SummaryWriter`; or
            `log_metrics(values, step=...)`, as Lightning's loggers, MLflow and Comet; or `log(values, step=...)`, as a
            run of Weights & Biases; or a function of values and step.
        values: number by name.
        step: time of the moment.

    Raises:
        ValueError: a logger of another kind.
    """
    check_arguments(logger=logger)
    if hasattr(logger, "add_scalar"):
        for name, value in values.items():
            logger.add_scalar(name, value, step)
    elif hasattr(logger, "log_metrics"):
        logger.log_metrics(dict(values), step=step)
    elif hasattr(logger, "log"):
        logger.log(dict(values), step=step)
    else:
        logger(dict(values), step)
