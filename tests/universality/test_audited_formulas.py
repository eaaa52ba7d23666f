"""Audits of the theory's equations: right ones to the solvers' tolerance, wrong ones far off, by hand where known."""

import numpy as np
import pytest

from repdyn.base.formula_audit import Errors
from repdyn.universality.methods import formula_audit as audit
from repdyn.universality.methods.formula_audit import EQUATIONS
from repdyn.universality.methods.random_cases import random_network
from repdyn.universality.theory import equations, linearized

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


def test_errors_of_a_wrong_sign_and_of_a_missing_factor():
    assert audit.gradient(rng(3)).control == pytest.approx(2)
    assert audit.saddle(rng(3)).control == pytest.approx(2, rel=1e-4)
    assert audit.equal_targets(rng(3)).control == pytest.approx(2, rel=1e-6)
    assert audit.linear_approximation(rng(3)).control == pytest.approx(1, abs=2e-3)  # the remainder is linear


def test_complex_steps_are_slopes_of_the_loss():
    state, points = random_network(rng(4))
    slopes = audit._complex_gradient(state, points)
    for name, part in state._asdict().items():
        place = tuple(size - 1 for size in part.shape)
        moved = []
        for step in (1e-5, -1e-5):
            other = part.copy()
            other[place] += step
            moved.append(float(np.real(linearized.linear_loss(state._replace(**{name: other}), points))))
        assert getattr(slopes, name)[place] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-5)


def test_signs_need_a_distance_from_zero():
    assert audit._is_stable(np.array([[-1.0, 0.0], [0.0, -2.0]])) == 1
    assert audit._is_stable(np.array([[1.0, 0.0], [0.0, -2.0]])) == 0
    assert audit._is_stable(np.array([[1.0, 0.0], [0.0, 2.0]])) == 0
    assert audit._is_stable(np.array([[-1.0, 0.0], [0.0, -1e-7]])) == 0
    assert [audit._opposed(speeds, 1.0) for speeds in ([-1, 2], [1, 2], [-1, -2], [-1, 1e-5])] == [1, 0, 0, 0]
    assert audit._largest([np.array([1.0, 2.0]), np.array([4.0])], [np.array([1.0, 2.0]), np.array([2.0])]) == 1


@pytest.mark.parametrize("part", ["jacobian", "eigenvalues"])
def test_a_stable_point_is_right_only_in_jacobian_and_eigenvalues(part, monkeypatch):
    right = audit.final.stable_point

    def wrong(*values):
        point = right(*values)
        return point._replace(**{part: 2 * getattr(point, part)})

    assert audit.stability(rng(5)).printed < 1e-5
    monkeypatch.setattr(audit.final, "stable_point", wrong)
    assert audit.stability(rng(5)).printed == pytest.approx(1, rel=1e-4)
