"""Tolerances of the study's checks with the reason for their size, and tests of identities and bounds."""

from __future__ import annotations

from typing import NamedTuple

import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.verdicts import Test, at_least, at_most, deviation


class Tolerance(NamedTuple):
    """Largest deviation that rounding or a scheme explains, and why."""

    size: float
    reason: str


ROUNDING = Tolerance(1e-12, "a few operations on numbers of order 1")
LOCATED = Tolerance(1e-9, "crossings are located to 1e-13 in $u$, steps to a local error of 1e-11")
EXACT = Tolerance(
    1e-10,
    "round-off of sums over points and products over layers of numbers up to 100, without cancellation beyond 1e-12",
)
DIFFERENCED = Tolerance(
    1e-7, "central difference with step 1e-6: truncation 1e-12 times third derivatives, round-off 1e-10"
)
INTEGRATED = Tolerance(1e-4, "trapezoid rule: squared node distance (at most 4e-6) times second derivatives up to 10")
SOLVED = Tolerance(1e-9, "relative tolerance 1e-12 of the integrator times its steps (fewer than 1000)")
COUNTED = Tolerance(0.5, "integers")


def zero(values: xr.DataArray | ArrayLike, expected: str, tolerance: Tolerance = ROUNDING) -> Test:
    """Passes if all values vanish within the tolerance; `expected` says in words what that means."""
    return deviation(values, tolerance.size, expected=expected, reason=tolerance.reason)


def below(ratio: xr.DataArray, expected: str) -> Test:
    """Passes if the ratios of a quantity to its upper bound are at most 1."""
    return at_most(ratio, 1.0, expected=f"{expected} at most 1", reason="a bound")


def above(ratio: xr.DataArray, expected: str) -> Test:
    """Passes if the ratios of a quantity to its lower bound are at least 1."""
    return at_least(ratio, 1.0, expected=f"{expected} at least 1", reason="a bound")
