"""Animations on the report's first page: numbers of a run's dataset, shown by the study's script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from repdyn.base import datasets
from repdyn.base.declarations import Opening
from repdyn.pipeline.report.contents import Contents, Row

MOST = 201  # number of times shown
DIGITS = 6


@dataclass(frozen=True)
class Animation:
    """An animation of a run.

    Attributes:
        study: its study.
        claim: the ledger's row of the claim linked in its caption.
        sentence: its caption.
        label: alternative text.
        numbers: variable -> its values, nested by dimension.
    """

    study: str
    claim: Row
    sentence: str
    label: str
    numbers: Mapping[str, object]


def animations(declared: Mapping[str, Opening], contents: Contents) -> list[Animation]:
    """The animations of studies whose claim the run decided and whose dataset is complete and finite.

    Args:
        declared: study -> what it declares.
        contents: the run.
    """
    return [one for study, opening in declared.items() for one in _animation(study, opening, contents)]


def _animation(study: str, opening: Opening, contents: Contents) -> Iterator[Animation]:
    claim = contents.rows.get(opening.claim)
    file = f"{study}/data/{opening.dataset}.nc"
    if claim is None or file not in contents.manifest["content"]:
        return
    shown = _shown(datasets.read(contents.root / file), opening)
    if shown is None:
        return
    start, end, numbers = (_numbers(shown.isel(time=place), opening.shows) for place in (0, -1, slice(None)))
    yield Animation(study, claim, opening.says.format(start=start, end=end), opening.label, numbers)


def _shown(data: xr.Dataset, opening: Opening) -> xr.Dataset | None:
    """The shown part of a dataset, at `MOST` times; None if a variable or a finite value is missing."""
    if not set(opening.shows) <= set(data.variables):
        return None
    chosen = data.sel(dict(opening.at))[list(opening.shows)]
    if not all(np.isfinite(values).all() for values in chosen.variables.values() if values.dtype.kind == "f"):
        return None
    n = chosen.sizes["time"]
    return chosen.isel(time=np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int)))


def _numbers(data: xr.Dataset, names: Iterable[str]) -> dict[str, object]:
    return {name: _rounded(data[name].values) for name in names}


def _rounded(values: np.ndarray) -> object:
    """Nested lists of numbers with `DIGITS` digits, or of texts."""
    if values.dtype.kind != "f":
        return values.tolist()
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.ravel()]).reshape(values.shape).tolist()
