"""Audits of formulas: errors of printed forms and controls by hand where they are known, else rounding against size."""

import numpy as np
import pytest

from repdyn.leaky_resnets.methods import audited_minima
from repdyn.leaky_resnets.methods import formula_audit as audit
from repdyn.leaky_resnets.methods.audit_draws import DEPTH, kept_without_bias, wide
from repdyn.leaky_resnets.methods.formula_audit import FORMULAS

TOLERANCE = 1e-5  # central differences and integrated paths; algebra is at rounding


def rng(seed=0):
    return np.random.default_rng(seed)


def active(A, bias):
    return np.vstack([np.maximum(A, 0), np.ones((int(bias), A.shape[1]))])


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


@pytest.mark.parametrize("bias", [False, True])
def test_errors_of_lagrangians_by_hand(bias):
    """|Lt A + dA|^2_K / (2 Lt) = Lt |A|^2_K / 2 + <A, dA>_K + |dA|^2_K / (2 Lt); the cross term printed times Lt."""
    generator = rng(5)
    A, dA = wide(generator), generator.standard_normal((9, 4))
    S = active(A, bias)
    inverse = np.linalg.inv(S.T @ S)
    identity, cross, kinetic = (np.trace(x @ inverse @ y.T) for x, y in ((A, A), (A, dA), (dA, dA)))
    whole = DEPTH * identity / 2 + cross + kinetic / (2 * DEPTH)
    errors = audit.three_terms(bias, rng(5))
    assert errors.printed == pytest.approx(abs((DEPTH - 1) * cross / whole))
    assert errors.control == pytest.approx(abs(cross / whole))
    generator = rng(6)
    A, B = wide(generator), generator.standard_normal((9, 4))
    S = active(A, bias)
    H = DEPTH * (((B @ S.T) ** 2).sum() / 2 - (A * B).sum())
    cost = np.trace(A @ np.linalg.inv(S.T @ S) @ A.T)
    errors = audit.hamiltonian_split(bias, rng(6))
    assert errors.control == pytest.approx(abs(DEPTH * cost / H))  # kinetic plus in place of minus Lt |A|^2 / 2
    generator = rng(7)
    A, B = generator.standard_normal((2, 4, 9))
    H = -2 * (((B @ active(A, bias).T) ** 2).sum() / 2 - (A * B).sum())
    assert audit.theorem4_identity(bias, rng(7)).control == pytest.approx(abs(2 * (B**2).sum() / H))
    generator = rng(8)
    A, dA = wide(generator), generator.standard_normal((9, 4))
    root = np.linalg.pinv(active(A, bias))
    right, wrong = (DEPTH * A + dA) @ root, (A + dA) @ root
    assert audit.least_weights(bias, rng(8)).control == pytest.approx(np.abs(wrong - right).max() / np.abs(right).max())


@pytest.mark.parametrize("bias", [False, True])
def test_errors_of_neurons_by_hand(bias):
    """Coefficients |S_i|^2 - |A_i|^2, and |[A_i]_+|^2 - |A_i|^2 without bias; controls change a sign."""
    assert audited_minima.added_neuron(bias, rng(11)).control == pytest.approx(2, rel=1e-3)
    A = kept_without_bias(rng(10))
    plus, all_of_it = (np.maximum(A, 0) ** 2).sum(axis=0), (A**2).sum(axis=0)
    measured = plus - all_of_it
    control = np.abs(plus + all_of_it - measured).max() / np.abs(measured).max()
    assert audited_minima.positive_neuron(False, rng(10)).control == pytest.approx(control, rel=1e-4)
    assert audited_minima.positive_neuron(bias, rng(10)).corrected < TOLERANCE
