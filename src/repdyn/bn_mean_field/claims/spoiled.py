"""Controls of claims that read the formula audit and another dataset."""

from __future__ import annotations

from repdyn.base.controls import Control, in_dataset, replace_variables, wrong_formula
from repdyn.base.formula_audit import with_wrong_formula


def of_audit(says: str, equation: str) -> Control:
    """The wrong formula of an equation of the audit, which the claim reads first."""
    return wrong_formula(says, in_dataset(0, with_wrong_formula(says, equation).data))  # type: ignore[arg-type]


def of_other(says: str, **sources: str) -> Control:
    """Variables of the other dataset replaced, as by `replace_variables`."""
    return wrong_formula(says, in_dataset(1, replace_variables(**sources)))
