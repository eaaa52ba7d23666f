"""Negative controls: wrong formulas, or data for which a statement is false, that a claim's check must reject.

A control uses numbers from the datasets (of a wrong formula, or of cases in which the statement is false), or declares
that it computes new ones (`recomputes=True`): with the printed formula, a wrong sign, constant or exponent, a dropped
term. A control that only shifts the recorded number shows only that the tolerance is finite. `kind_of_change` compares
a control's declaration with its change of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import xarray as xr

from repdyn.base.datasets import require

Data = xr.Dataset | Mapping[str, xr.Dataset]
"""A dataset, or the datasets of an experiment by variant."""
Datasets = tuple[Data, ...]
VariableKey = tuple[int, str, str, str]
Kind = Literal["wrong formula", "false world", "knock-out"]
Spoil = Callable[..., Datasets | Data]
"""A change of all datasets that a claim reads."""
Change = Callable[..., Data]
"""A change of one of them."""
UNCHANGED = "nothing"
WEAK = {
    "shifted number": "only scales or shifts a number, which almost any check rejects",
    "not recorded": "puts in numbers that no dataset has",
}
"""Kinds of change by which a rejected control says little, in words."""


@dataclass(frozen=True)
class Control:
    """Data that the check must reject.

    Attributes:
        kind: "wrong formula", "false world" or "knock-out".
        says: what is wrong in the data, in words.
        data: maps the claim's datasets to those in which the formula or the statement is wrong.
        recomputes: whether it computes these numbers; else they come from other variables or labels of the datasets.
    """

    kind: Kind
    says: str
    data: Spoil
    recomputes: bool = False


def wrong_formula(says: str, data: Spoil, *, recomputes: bool = False) -> Control:
    """A control with a deliberately wrong formula, described in `says`."""
    return _control("wrong formula", says, data, recomputes)


def false_world(says: str, data: Spoil, *, recomputes: bool = False) -> Control:
    """A control with data for which the statement is false, described in `says`."""
    return _control("false world", says, data, recomputes)


def knock_out(says: str, data: Spoil, *, recomputes: bool = False) -> Control:
    """A control with data in which only the alleged cause is switched off, described in `says`.

    A causal sentence needs one: if the effect remains without its cause, the sentence has not been shown.
    """
    return _control("knock-out", says, data, recomputes)


def _control(kind: Kind, says: str, data: Spoil, recomputes: bool) -> Control:
    if not says:
        raise ValueError("a control says what is wrong in it")
    return Control(kind, says, data, recomputes)


def exchange(dim: str, first: str | float, second: str | float) -> Change:
    """Exchanges the data of two labels of a dimension, in each variant.

    If a dataset lacks one of the labels, the control is undecided.
    """
    return replace_labels(dim, {first: second, second: first})


def replace_labels(dim: str, sources: Mapping[str | float, str | float]) -> Change:
    """Replaces the data of labels of a dimension by those of others: `{"manifold": "vanilla"}`.

    Applies to each variant. If a dataset lacks one of the labels, the control is undecided.
    """

    def replaced(data: xr.Dataset) -> xr.Dataset:
        require(data, "the control", **{dim: tuple({**sources, **dict.fromkeys(sources.values())})})
        labels = data[dim].values
        order = [sources.get(label, label) for label in labels.tolist()]
        return data.sel({dim: order}).assign_coords({dim: labels})

    return _of_each(replaced)


def reverse(dim: str) -> Change:
    """Reverses the data along a dimension but not its labels, in each variant."""

    def reversed_along(data: xr.Dataset) -> xr.Dataset:
        return data.isel({dim: slice(None, None, -1)}).assign_coords({dim: data[dim].values})

    return _of_each(reversed_along)


def replace_variables(**sources: str) -> Change:
    """Replaces variables by others of the dataset: `replace_variables(cost="cost_of_wrong_flow")`."""

    def replaced(data: xr.Dataset) -> xr.Dataset:
        return data.assign({name: data[source] for name, source in sources.items()})

    return _of_each(replaced)


def in_dataset(position: int, change: Change) -> Spoil:
    """Applies the change to one of the datasets that a claim reads."""

    def changed(*datasets: Data) -> Datasets:
        return *datasets[:position], change(datasets[position]), *datasets[position + 1 :]

    return changed


def in_every_dataset(change: Change) -> Spoil:
    """Applies the change to all datasets that a claim reads."""

    def changed(*datasets: Data) -> Datasets:
        return tuple(change(data) for data in datasets)

    return changed


def _of_each(change: Callable[[xr.Dataset], xr.Dataset]) -> Change:
    def changed(data: Data) -> Data:
        if isinstance(data, xr.Dataset):
            return change(data)
        return {variant: change(part) for variant, part in data.items()}

    return changed


def kind_of_change(control: Control, before: Datasets, after: Datasets) -> str:
    """Kind of change that a control makes, judged from the data; "recorded" and "recomputed" are allowed.

    Returns:
        "nothing" if no value changes; "recorded" if all changed variables take values from the datasets; "recomputed"
        if a control that recomputes changes values by more than scale and offset; "shifted number" if a variable is
        only scaled or offset or, for a control that does not recompute, set to an unrecorded constant; "not recorded"
        if such a control changes values in another way.
    """
    old, new = dict(_variables(before)), dict(_variables(after))
    changed = [(place, old.get(place), new.get(place)) for place in old | new if not _same(old, new, place)]
    if not changed:
        return UNCHANGED

    @cache
    def held(role: str, dtype: np.dtype) -> np.ndarray:
        known = [array.ravel() for place, array in old.items() if place[2] == role and array.dtype == dtype]
        return np.unique(np.concatenate(known)) if known else np.zeros(0, dtype)

    unknown = [(was, now) for place, was, now in changed if now is not None and not _is_recorded(place, now, old, held)]
    computed = [(was, now) for was, now in unknown if len(unknown) == len(changed) or not _is_carried(was, now)]
    if any(_is_shifted(was, now) or (_is_constant(now) and not control.recomputes) for was, now in computed):
        return "shifted number"
    if control.recomputes:
        return "recomputed"
    return "not recorded" if computed else "recorded"


def _variables(datasets: Datasets) -> Iterator[tuple[VariableKey, np.ndarray]]:
    """All arrays, coordinates too, by position of the dataset, variant, role and name."""
    for position, data in enumerate(datasets):
        variants = {"": data} if isinstance(data, xr.Dataset) else data
        for variant, part in variants.items():
            for name, variable in part.variables.items():
                role = "index" if name in part.dims else "variable"
                yield (position, variant, role, str(name)), np.asarray(variable.values)


def _same(old: Mapping[VariableKey, np.ndarray], new: Mapping[VariableKey, np.ndarray], place: VariableKey) -> bool:
    if place not in old or place not in new:
        return False
    was, now = old[place], new[place]
    return was.shape == now.shape and np.array_equal(was, now, equal_nan=was.dtype.kind == now.dtype.kind == "f")


def _is_recorded(
    place: VariableKey,
    now: np.ndarray,
    old: Mapping[VariableKey, np.ndarray],
    held: Callable[[str, np.dtype], np.ndarray],
) -> bool:
    """Whether the changed values of a variable are in the datasets: as another array, or value by value.

    Fractions may come from any arrays of fractions, but must not all be 0. Whole numbers, truth values and labels have
    few values: they must come from the variable itself, truth values and labels with the same counts.
    """
    own, role = old.get(place), place[2]
    others = (array for other, array in old.items() if other[2] == role and array.dtype == now.dtype)
    if any(np.array_equal(now, array) for array in others if array is not own):
        return True
    if now.dtype.kind in "iu":
        return own is not None and len(np.unique(now)) > 1 and bool(np.isin(now, own).all())
    if now.dtype.kind != "f":
        return own is not None and now.size == own.size and np.array_equal(_sorted(now), _sorted(own))
    fractions = np.unique(now[np.isfinite(now)])
    return bool(fractions.any() and np.isin(fractions, held(role, now.dtype), assume_unique=True).all())


def _is_carried(was: np.ndarray | None, now: np.ndarray) -> bool:
    """Whether counts, flags or labels may have been selected together with other numbers."""
    return was is not None and now.dtype.kind not in "fc" and bool(np.isin(now, was).all())


def _sorted(values: np.ndarray) -> np.ndarray:
    return np.sort(values.astype(str), axis=None)


def _is_constant(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiub" and len(np.unique(values[np.isfinite(values)])) < 2


def _is_shifted(was: np.ndarray | None, now: np.ndarray) -> bool:
    """Whether `now` is `a was + b` with one a, which is not 0, and one b for all of several entries."""
    if was is None or was.shape != now.shape or not {was.dtype.kind, now.dtype.kind} <= set("fiub"):
        return False
    x, y = was.ravel().astype(float), now.ravel().astype(float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    values = len(np.unique(x))
    if values < 2 or len(np.unique(y)) < 2:
        return False
    if values == 2:  # some a and b map any two numbers to any other two
        return bool(np.allclose(y - x, (y - x)[0]) or np.allclose(y * x[0], x * y[0]) or was.dtype.kind == "b")
    low, high = np.argmin(x), np.argmax(x)
    slope = (y[high] - y[low]) / (x[high] - x[low])
    return bool(np.allclose(y, y[low] + slope * (x - x[low]), rtol=1e-9, atol=1e-9 * np.abs(y).max()))
