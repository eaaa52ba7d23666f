"""Negative controls: wrong formulas and false worlds that a claim's check must reject.

A control recomputes with a wrong formula (the printed one, a wrong sign, constant, exponent, a dropped term) or takes
data of a world in which the statement is false. A control that only shifts the recorded number proves no more than
that the tolerance is finite; `kind_of_change` tells such a one apart.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

Datasets = tuple["xr.Dataset | Mapping[str, xr.Dataset]", ...]
Spoil = Callable[..., "Datasets | xr.Dataset | Mapping[str, xr.Dataset]"]


@dataclass(frozen=True)
class Control:
    """Data that the check must reject.

    Attributes:
        kind: "wrong formula" or "false world".
        says: what is wrong in it, in words.
        data: takes the claim's datasets and returns them with the wrong formula's numbers or the false world's.
    """

    kind: Literal["wrong formula", "false world"]
    says: str
    data: Spoil


def wrong_formula(says: str, data: Spoil) -> Control:
    """A control that recomputes with a formula which is wrong on purpose, `says` which."""
    return _control("wrong formula", says, data)


def false_world(says: str, data: Spoil) -> Control:
    """A control with data of a world in which the statement is false, `says` which."""
    return _control("false world", says, data)


def _control(kind: Literal["wrong formula", "false world"], says: str, data: Spoil) -> Control:
    if not says:
        raise ValueError("a control says what is wrong in it")
    return Control(kind, says, data)


def exchange(dim: str, one: str, other: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """What belongs to two labels of a dimension exchanged."""

    def exchanged(data: xr.Dataset) -> xr.Dataset:
        labels = data[dim].values
        order = [{one: other, other: one}.get(label, label) for label in labels.tolist()]
        return data.sel({dim: order}).assign_coords({dim: labels})

    return exchanged


def replace_variables(**sources: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Variables replaced by others of the dataset: `replace_variables(cost="cost_of_wrong_flow")`."""

    def replaced(data: xr.Dataset) -> xr.Dataset:
        return data.assign({name: data[source] for name, source in sources.items()})

    return replaced


def kind_of_change(control: Control, before: Datasets, after: Datasets) -> str:
    """What a control does to the data.

    Returns:
        "recorded" where every changed value stands elsewhere in the datasets (another formula's, another world's),
        "recomputed" where the control calls a formula or changes more than scale and offset, "shifted number" where a
        variable is only scaled or offset, "nothing" where no value changes.
    """
    changed = list(_changed(before, after))
    if not changed:
        return "nothing"
    if _calls_formula(control.data):
        return "recomputed"
    known = _values(before)
    new = [(old, now) for old, now in changed if not (np.isin(now, known) | np.isnan(now)).all()]
    if not new:
        return "recorded"
    return "shifted number" if any(_is_affine(old, now) for old, now in new) else "recomputed"


def _flat(datasets: Datasets) -> Iterator[tuple[str, xr.Dataset]]:
    for place, data in enumerate(datasets):
        if isinstance(data, xr.Dataset):
            yield f"{place}", data
        else:
            for name, part in data.items():
                yield f"{place}/{name}", part


def _changed(before: Datasets, after: Datasets) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Values before and after of every numerical variable that a control changes."""
    old = dict(_flat(before))
    for place, data in _flat(after):
        for name, variable in data.variables.items():
            now = np.asarray(variable.values)
            was = old[place].variables[name].values if place in old and name in old[place].variables else np.array([])
            if now.dtype.kind in "fiub" and not (was.shape == now.shape and np.array_equal(was, now, equal_nan=True)):
                yield np.asarray(was, float), now.astype(float)


def _values(datasets: Datasets) -> np.ndarray:
    arrays = [np.ravel(v.values) for _, data in _flat(datasets) for v in data.variables.values()]
    return np.unique(np.concatenate([array.astype(float) for array in arrays if array.dtype.kind in "fiub"] or [[]]))


def _is_affine(old: np.ndarray, now: np.ndarray) -> bool:
    """Whether `now` is `a old + b` with one a and one b for all entries."""
    if old.shape != now.shape:
        return False
    x, y = old.ravel(), now.ravel()
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(np.unique(x)) < 2:
        return len(np.unique(y)) < 2
    if len(np.unique(x)) == 2:
        return bool(np.allclose(y - x, (y - x)[0]) or np.allclose(y * x[0], x * y[0]))
    low, high = np.argmin(x), np.argmax(x)
    slope = (y[high] - y[low]) / (x[high] - x[low])
    return bool(np.allclose(y, y[low] + slope * (x - x[low]), rtol=1e-9, atol=1e-9 * np.abs(y).max()))


def _calls_formula(data: Spoil) -> bool:
    """Whether a control's own code calls a function of a `theory` or `methods` module."""
    function = inspect.unwrap(data)
    scope = getattr(function, "__globals__", {})
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    homes = (getattr(scope.get(name), "__module__", None) or getattr(scope.get(name), "__name__", "") for name in names)
    return any(".theory" in home or ".methods" in home for home in homes)
