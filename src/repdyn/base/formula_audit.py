"""Formula audits: every formula of a paper on random draws, as printed, as corrected, and deliberately wrong.

A study's `methods.formula_audit` has one function per formula; each returns `Errors` against a derivation that
shares no formula with it (finite or complex differences, solvers, definitions). An experiment collects them into a
dataset with `audit_variables`. `formula_claim` declares that one formula is right; claims of several parts use
`decide_formula` and `with_wrong_formula`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.arguments import refuse
from repdyn.base.claims import Claim, Statement, claim
from repdyn.base.controls import Control, wrong_formula
from repdyn.base.datasets import variable
from repdyn.base.facts import Facts
from repdyn.base.verdicts import Verdict, deviation

FORMS = ("printed", "corrected", "control")
EQUAL = "equal to the independent derivation"
NOT_EXCEEDED = "no excess over the bound"


class Errors(NamedTuple):
    """Errors of one formula on one draw: as printed, as corrected, and of a deliberately wrong one."""

    printed: float
    corrected: float
    control: float


def holds(error: float, control: float) -> Errors:
    """Errors of a formula that needs no correction."""
    return Errors(error, error, control)


def fixed(printed: float, corrected: float) -> Errors:
    """Errors of a formula whose printed form also serves as the wrong one."""
    return Errors(printed, corrected, printed)


def relative_error(value: ArrayLike, wanted: ArrayLike) -> float:
    """Largest deviation over the largest magnitude of the expected values.

    Raises:
        ValueError: the shapes differ (a number fits any), or all expected values are 0.
    """
    value, wanted = np.asarray(value), np.asarray(wanted)
    if value.shape != wanted.shape and value.ndim and wanted.ndim:
        raise refuse("value", f"shape {value.shape}", f"shape {wanted.shape}, that of the expected values")
    size = float(np.abs(wanted).max())
    if size == 0:
        raise refuse("wanted", "zeros only", "a number other than 0", "take the deviation itself")
    return float(np.abs(value - wanted).max() / size)


def audit_variables(
    errors: ArrayLike, dims: Sequence[str], *, unit: str = "1", scale: str = "relative error"
) -> dict[str, xr.Variable]:
    """Variables `printed`, `corrected`, `control` of an audit.

    Args:
        errors: the audit's errors, the forms of `Errors` on the last axis, shape `(*dims, 3)`.
        dims: names of the leading dimensions; one of them is `equation`.
        unit: unit of the errors.
        scale: what an error is, in words.

    Raises:
        ValueError: the last axis does not have the three forms.
    """
    errors = np.asarray(errors, float)
    if errors.shape[-1:] != (len(FORMS),) or errors.ndim != len(dims) + 1:
        raise refuse("errors", f"shape {errors.shape}", f"dimensions {', '.join(dims)} and one of {len(FORMS)} forms")
    words = {
        "printed": "of the formula as printed",
        "corrected": "of the corrected formula",
        "control": "of a wrong formula",
    }
    return {form: variable(dims, errors[..., i], f"{scale} {words[form]}", unit) for i, form in enumerate(FORMS)}


def largest_errors(audit: xr.Dataset) -> xr.Dataset:
    """Largest error of every equation over all draws, as printed and as corrected."""
    errors = audit[list(FORMS[:2])]
    return errors.max([dim for dim in errors.dims if dim != "equation"])


def decide_formula(
    audit: xr.Dataset,
    equation: str,
    tolerance: float,
    reason: str,
    facts: Facts | None = None,
    *,
    expected: str = EQUAL,
) -> Verdict:
    """The verdict on one formula of the audit: largest error over all draws of the printed and corrected forms."""
    forms = (audit[form].sel(equation=equation) for form in FORMS[:2])
    printed, corrected = (deviation(errors, tolerance, expected=expected, reason=reason) for errors in forms)
    return Verdict.from_tests(printed, corrected, facts=facts)


def formula_claim(
    id: str, *, audit: tuple[str, str, float, str], control: str, decided: str, **says: Unpack[Statement]
) -> Claim:
    """A claim that one formula is right, an identity unless `kind` says otherwise; assign it at module level.

    Args:
        id: the claim's id in the ledger.
        audit: the audit's dataset, the equation in it, the tolerance of its errors and the reason for that size.
        control: the error in the deliberately wrong formula.
        decided: how the errors were computed, in a line: compared with what, on which draws.
        says: statement and place of the claim, as in `claims.claim`.
    """
    dataset, equation, tolerance, reason = audit
    decide = _decide_our_formula if says.get("origin") == "ours" else decide_formula
    expected = NOT_EXCEEDED if says.get("kind") == "bound" else EQUAL

    def check(errors: xr.Dataset) -> Verdict:
        return decide(errors, equation, tolerance, reason, expected=expected)

    statement: Statement = {"kind": "identity", **says}
    declared = claim(id, control=with_wrong_formula(control, equation), **statement)(check)
    return replace(declared, data=(dataset,), decided=decided)


def _decide_our_formula(audit: xr.Dataset, equation: str, tolerance: float, reason: str, *, expected: str) -> Verdict:
    """The verdict on a formula of ours: largest error over all draws of the corrected form."""
    errors = audit["corrected"].sel(equation=equation)
    return Verdict.from_tests(deviation(errors, tolerance, expected=expected, reason=reason))


def with_wrong_formula(says: str, *equations: str) -> Control:
    """Control: the errors of the deliberately wrong formula instead of the right one's."""

    def spoil(audit: xr.Dataset) -> xr.Dataset:
        if unknown := set(equations) - set(audit["equation"].values.tolist()):
            raise refuse("equation", ", ".join(sorted(unknown)), "an equation of the audit")
        chosen = audit["equation"].isin(list(equations))
        return audit.assign({form: audit[form].where(~chosen, audit["control"]) for form in FORMS[:2]})

    return wrong_formula(says, spoil)
