"""What controls of several claims share: other labels' values, and a change of one dataset of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from repdyn.base.controls import Control, replace_variables, wrong_formula
from repdyn.base.formula_audit import with_wrong_formula


def in_place_of(dim: str, sources: Mapping[str | float, str | float]) -> Callable[[xr.Dataset], xr.Dataset]:
    """Puts what belongs to other labels of a dimension in the place of those named: `{"manifold": "vanilla"}`."""

    def replaced(data: xr.Dataset) -> xr.Dataset:
        labels = data[dim].values
        return data.sel({dim: [sources.get(label, label) for label in labels.tolist()]}).assign_coords({dim: labels})

    return replaced


def of_audit(says: str, equation: str) -> Control:
    """The wrong formula of an equation, for a claim on the formula audit and another dataset."""
    spoil = with_wrong_formula(says, equation).data
    return wrong_formula(says, lambda formulas, other: (spoil(formulas), other))


def of_other(says: str, **sources: str) -> Control:
    """Variables of that other dataset replaced, as by `replace_variables`."""
    spoil = replace_variables(**sources)
    return wrong_formula(says, lambda formulas, other: (formulas, spoil(other)))
