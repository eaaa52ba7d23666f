"""How claims on formulas are decided: errors as printed, as corrected, and of a wrong formula."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from repdyn.base.verdicts import Test, Verdict, deviation

ROUNDING = 1e-12
ROUNDING_REASON = "a few operations on numbers of order 1"
LOCATED = 1e-9
LOCATED_REASON = "crossings are located to 1e-13 in u, steps to a local error of 1e-11"
EXACT = 1e-10
EXACT_REASON = (
    "round-off of sums over points and products over layers of numbers up to 100, without cancellation beyond 1e-12"
)
DIFFERENCED = 1e-7
DIFFERENCED_REASON = "central difference with step 1e-6: truncation 1e-12 times third derivatives, round-off 1e-10"
INTEGRATED = 1e-4
INTEGRATED_REASON = "trapezoid rule: squared node distance (at most 4e-6) times second derivatives up to 10"


def spoilt(*equations: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Control: the errors of a formula that is wrong on purpose, in the place of the right one's."""

    def control(audit: xr.Dataset) -> xr.Dataset:
        wrong = audit["control"] if "control" in audit else audit["printed"]
        chosen = audit["equation"].isin(equations)
        return audit.assign(
            printed=xr.where(chosen, wrong, audit["printed"]), corrected=xr.where(chosen, wrong, audit["corrected"])
        )

    return control


def _tests(audit: xr.Dataset, equation: str, tolerance: float, reason: str) -> tuple[Test, Test]:
    errors = audit.sel(equation=equation)
    return tuple(
        deviation(errors[form], tolerance, expected="equal to the independent derivation", reason=reason)
        for form in ("printed", "corrected")
    )


def decide(audit: xr.Dataset, equation: str, tolerance: float = EXACT, reason: str = EXACT_REASON) -> Verdict:
    """The verdict on one equation of the audit."""
    return Verdict.from_tests(*_tests(audit, equation, tolerance, reason))


def zero(
    values: xr.DataArray | float, expected: str, tolerance: float = ROUNDING, reason: str = ROUNDING_REASON
) -> Test:
    """Passes if all values vanish within the tolerance."""
    return deviation(values, tolerance, expected=expected, reason=reason)
