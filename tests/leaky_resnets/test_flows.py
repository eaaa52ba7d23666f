"""Flows against closed forms, reversal, conservation and orders of convergence."""

import numpy as np
import pytest

from repdyn.leaky_resnets.theory import flows
from repdyn.leaky_resnets.theory.compiled_rates import rates
from repdyn.leaky_resnets.theory.hamiltonian import force, hamiltonian, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_path

DEPTH = 1.5


def start(bias, seed=0, shape=(5, 7)):
    A, B = np.random.default_rng((seed, *shape)).standard_normal((2, *shape))
    return A, B / (2 * np.linalg.norm(B @ activation(A, bias).T))


@pytest.mark.parametrize("bias", [False, True])
def test_hamiltonian_is_conserved_ever_better(bias):
    A, B = (np.abs(part) for part in start(bias))  # no sign changes, which cost the integrator its order
    drift = []
    for rtol in (1e-5, 1e-8, 1e-11):
        path = flows.hamiltonian_flow(A, B, DEPTH, bias, np.linspace(0, 1, 21), rtol)
        H = [hamiltonian(a, b, DEPTH, bias) for a, b in zip(path.A, path.B, strict=True)]
        drift.append(np.ptp(H) / abs(H[0]))
    assert drift[0] > 30 * drift[1] > 900 * drift[2]  # a thousandfold tolerance each
    assert drift[2] < 1e-9


@pytest.mark.parametrize("bias", [False, True])
def test_flow_from_the_middle_is_the_flow_from_the_end(bias):
    p = np.linspace(0, 1, 11)
    whole = flows.hamiltonian_flow(*start(bias), DEPTH, bias, p, 1e-11)
    again = flows.hamiltonian_flow(whole.A[5], whole.B[5], DEPTH, bias, p, 1e-11, start=p[5])
    np.testing.assert_allclose(again.A, whole.A, atol=1e-7)  # tolerance 1e-11, kinks
    np.testing.assert_allclose(again.B, whole.B, atol=1e-7)
    assert again.evaluations > 0


def test_flow_of_one_neuron_in_closed_form():
    p = np.linspace(0, 1, 9)
    A, B = scalar_path(-0.7, 2.0, DEPTH, p)
    path = flows.hamiltonian_flow([[A[-1]]], [[B[-1]]], DEPTH, False, p, 1e-12, start=1.0)
    np.testing.assert_allclose(path.A[:, 0, 0], A, rtol=1e-9)
    np.testing.assert_allclose(path.B[:, 0, 0], B, rtol=1e-9)


@pytest.mark.parametrize("bias", [False, True])
def test_weights_gain_twice_their_biases(bias):
    """Proposition 9 corrected, by finite differences of |W|^2 along the flow."""
    p = np.linspace(0, 1, 2001)
    path = flows.hamiltonian_flow(*start(bias), DEPTH, bias, p, 1e-11)
    W = DEPTH * path.B @ np.swapaxes(activation(path.A, bias), 1, 2)
    rate, wanted = np.gradient(np.sum(W**2, axis=(1, 2)), p), 2 * DEPTH * np.sum(W[:, :, 5:] ** 2, axis=(1, 2))
    np.testing.assert_allclose(rate[1:-1], wanted[1:-1], rtol=1e-4, atol=1e-7)  # step times jumps of the slope at kinks


def test_leak_alone_decays_and_constant_weights_settle():
    A0, q = np.array([[1.0, -2.0]]), np.linspace(0, 2, 5)
    path = flows.leaky_path(lambda _: np.zeros((1, 1)), A0, 0.7, q)
    np.testing.assert_allclose(path, np.exp(-0.7 * q)[:, None, None] * A0, rtol=1e-8)
    pushed = flows.leaky_path(lambda _: np.array([[0.0, 1.4]]), A0, 0.7, np.array([0.0, 60.0]))
    np.testing.assert_allclose(pushed[-1], 2.0, rtol=1e-8)  # b / Lt


def test_symplectic_steps_converge_to_the_flow_at_first_order():
    A, B = (np.abs(part) for part in start(True))  # no sign changes, so that the order shows
    exact = flows.hamiltonian_flow(A, B, DEPTH, True, [0.0, 1.0], 1e-12)
    errors = [np.linalg.norm(flows.symplectic_euler(A, B, DEPTH, True, L).A[-1] - exact.A[-1]) for L in (200, 400, 800)]
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2, atol=0.1)


def test_growth_and_long_steps_are_refused(monkeypatch):
    A, B = np.full((3, 3), 2.0), np.full((3, 3), 5.0)
    monkeypatch.setattr(flows, "EVALUATIONS", 2000)
    with pytest.raises(ValueError, match=r"from 0.*at 0\.\d+.*before 1"):
        flows.hamiltonian_flow(A, B, 5.0, False, [0.0, 1.0])
    with pytest.raises(ValueError, match="from 0"):
        flows.hamiltonian_flow(A * 1e160, B * 1e160, 5.0, False, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"step 0\.5"):
        flows.symplectic_euler(A, B, 5.0, False, 2)


@pytest.mark.parametrize("bias", [True, False])
def test_compiled_rates_are_velocity_and_minus_force(bias):
    A, B = np.random.default_rng(3).standard_normal((2, 5, 7))
    slopes = rates(A, B, 2.5, bias)
    np.testing.assert_allclose(slopes[0], velocity(A, B, 2.5, bias), rtol=0, atol=1e-13)  # sums of 7 terms of order 10
    np.testing.assert_allclose(slopes[1], -force(A, B, 2.5, bias), rtol=0, atol=1e-13)
