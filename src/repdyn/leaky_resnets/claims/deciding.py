"""How claims on formulas are decided: relative errors as printed, as corrected, and of a formula wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from repdyn.base.verdicts import Test, Verdict, deviation

ROUNDING = 1e-12
ROUNDING_REASON = "a few operations on numbers of order 1"
SOLVED = 1e-9
SOLVED_REASON = "linear solves with condition numbers up to 100, sums of a few dozen terms"
DIFFERENCED = 1e-8
DIFFERENCED_REASON = "central differences with step 1e-5: truncation 1e-10, round-off 1e-16 |H| / step = 1e-9"
EXTRAPOLATED = 1e-5
EXTRAPOLATED_REASON = "Richardson extrapolation from eps = .02: remainder of order eps^6, round-off 1e-14 / eps^2"
INTEGRATED = 1e-5
INTEGRATED_REASON = (
    "tolerance 1e-10 of the integrator, which kinks inside steps exceed a thousandfold, times growth along the path"
)


def spoilt(equation: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Control: the errors of a formula that is wrong on purpose, in the place of the right one's."""

    def control(audit: xr.Dataset) -> xr.Dataset:
        chosen = audit["equation"] == equation
        return audit.assign(
            {form: xr.where(chosen, audit["control"], audit[form]) for form in ("printed", "corrected")}
        )

    return control


def decide(audit: xr.Dataset, equation: str, tolerance: float = SOLVED, reason: str = SOLVED_REASON) -> Verdict:
    """The verdict on one formula of the audit, with and without bias."""
    printed, corrected = (
        _error(audit[form].sel(equation=equation), tolerance, reason) for form in ("printed", "corrected")
    )
    return Verdict.from_tests(printed, corrected)


def _error(errors: xr.DataArray, tolerance: float, reason: str) -> Test:
    return deviation(errors, tolerance, expected="equal to the independent derivation", reason=f"relative; {reason}")
