"""Audits of the theory's equations: right ones to the solvers' tolerance, wrong ones far off, by hand where known."""

import numpy as np
import pytest

from repdyn.base.formula_audit import Errors
from repdyn.universality.methods import formula_audit as audit
from repdyn.universality.methods.formula_audit import EQUATIONS
from repdyn.universality.theory import equations

WRONG = (equations.GRADIENT, equations.EQUAL_TARGETS, equations.SCALING, equations.CLOSED_FORM)
SIGNS = (equations.STABILITY_SIGNS, equations.SADDLE_SIGNS)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_right_equations_are_right_and_controls_are_not(equation):
    for seed in (1, 2):
        errors = EQUATIONS[equation](rng(seed))
        assert isinstance(errors, Errors)
        if equation in SIGNS:
            assert (errors.printed, errors.corrected, errors.control) == (0, 0, 1)
            continue
        assert errors.corrected < (2e-3 if equation == equations.LINEAR_APPROXIMATION else 1e-5)
        assert errors.control > 1e-2
        if equation != equations.LINEAR_APPROXIMATION:  # its error is an exponent's
            assert (errors.printed > 1e-4) == (equation in WRONG)


def test_errors_of_a_wrong_sign_and_of_a_missing_factor():
    assert audit.gradient(rng(3)).control == pytest.approx(2)
    assert audit.saddle(rng(3)).control == pytest.approx(2, rel=1e-4)
    assert audit.equal_targets(rng(3)).control == pytest.approx(2, rel=1e-6)
    assert audit.linear_approximation(rng(3)).control == pytest.approx(1, abs=2e-3)  # the remainder is linear
