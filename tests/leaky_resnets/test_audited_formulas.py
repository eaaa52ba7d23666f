"""Audits of formulas: errors of printed forms and controls by hand where they are known, else rounding against size."""

import numpy as np
import pytest
from tests.leaky_resnets.reference import active

from repdyn.leaky_resnets.methods import formula_audit as audit
from repdyn.leaky_resnets.methods.formula_audit import FORMULAS

TOLERANCE = 1e-5  # central differences and integrated paths; algebra is at rounding


def rng(seed=0):
    return np.random.default_rng(seed)


MISPRINTED = {"1.3 three terms", "Prop. 8 norm", "2.1 gamma_p", "4 potential energy"}


@pytest.mark.parametrize("bias", [False, True])
def test_corrected_formulas_are_right_controls_are_not_and_only_misprints_differ(bias):
    wrong = MISPRINTED | ({"1.3 covariance"} if bias else set())
    for equation, formula in FORMULAS.items():
        for seed in (1, 2):
            errors = formula(bias, rng(seed))
            decided = (errors.corrected < TOLERANCE, errors.control > 1e-3, errors.printed > 1e-3)
            assert decided == (True, True, equation in wrong), equation


@pytest.mark.parametrize("bias", [False, True])
def test_errors_of_known_factors(bias):
    assert audit.potential_energy(bias, rng()).control == pytest.approx(2)  # the other sign
    assert audit.hamilton_equations(bias, rng()).control == pytest.approx(2, abs=1e-6)
    S = active(3 * rng(3).standard_normal((4, 9)), bias)
    K = np.linalg.norm(S, 2) ** 2
    errors = audit.layer_regularizer(bias, rng(3))
    assert errors.printed == pytest.approx(K - 1)
    assert errors.control == pytest.approx(1 - 1 / np.sqrt(K))
    A = rng(4).standard_normal((4, 9))
    S = active(A, bias)
    errors = audit.covariance(bias, rng(4))
    assert errors.printed == pytest.approx(bias / (S.T @ S).max())
    assert errors.control == pytest.approx(np.abs(A.T @ A - S.T @ S).max() / (S.T @ S).max())
