"""Propositions 2, 3 and 5 with bias, geodesics that turn: theory by independent ways."""

import numpy as np
import pytest
import torch

from repdyn.leaky_resnets.methods.audit_draws import kept_without_bias
from repdyn.leaky_resnets.methods.audited_minima import added_neuron_objective
from repdyn.leaky_resnets.theory import added_neuron
from repdyn.leaky_resnets.theory import minima as theory
from repdyn.leaky_resnets.theory.flows import symplectic_euler
from repdyn.leaky_resnets.theory.hamiltonian import force, hamiltonian, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity
from repdyn.leaky_resnets.theory.lagrangian import least_norm_weights
from repdyn.leaky_resnets.theory.rotating_geodesic import rotating_path


def kept(seed: int, negative: float) -> tuple[np.ndarray, int]:
    """A representation whose least weights have no bias, its largest negative part as given, and where."""
    A = kept_without_bias(np.random.default_rng(seed))
    parts = np.linalg.norm(np.minimum(A, 0), axis=0)
    return A * negative / parts.max(), int(parts.argmax())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_neuron_lowers_the_cost_with_and_without_bias(bias, seed):
    """At finite eps, the proof's neuron and ours: with bias the first raises the cost."""
    A, i = kept(seed, 0.3)
    S = activation(A, bias)
    if bias:
        assert np.abs(least_norm_weights(A, np.zeros_like(A), 1.0, bias)[:, -1]).max() < 1e-12
    changes = []
    for z in (S.T @ S[:, i], theory.positive_neuron(A, i)):
        eps = 1e-3 / np.linalg.norm(z)
        more = cost_of_identity(np.vstack([A, eps * z]), bias).value - cost_of_identity(A, bias).value
        changes.append(more / eps**2)
    assert changes[0] == pytest.approx(0.91 if bias else -0.09, abs=1e-3)
    assert changes[1] <= -0.09 + 1e-4


def test_no_row_without_room_gets_a_negative_entry():
    assert theory.without_bias(np.ones((3, 2)) + np.eye(3, 2)) is None


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", [582, 974])
def test_an_added_neuron_responds_to_some_point_where_the_first_has_no_positive_entry(seed, bias):
    first = np.random.default_rng(seed).standard_normal((2, 6, 8))[0, :, 0]
    assert (first < 0.2).all()
    errors = added_neuron_objective(bias, np.random.default_rng(seed))
    assert errors.corrected < 1e-5  # round-off of the finite differences
    assert errors.control > 1e-2


@pytest.mark.parametrize("bias", [False, True])
def test_change_of_the_objective_by_an_added_neuron_is_autograds(bias):
    """Half the second derivative by eps of the enlarged objective; a change of the other weights drops out."""
    (w, N), L, rng = (5, 6), 8, np.random.default_rng(3)
    A0, B0 = rng.standard_normal((2, w, N))
    path = symplectic_euler(A0, 0.3 * B0 / np.linalg.norm(B0 @ activation(A0, bias).T), 1.3, bias, L)
    S = activation(path.A[:-1], bias)
    W, rho = 1.3 * path.B[1:] @ np.swapaxes(S, -1, -2), np.full(L, 1 / L)
    c, r, other = rng.standard_normal((L, w)), np.abs(rng.standard_normal((L, w + bias))), rng.standard_normal(W.shape)
    weights, out, into, rest, ones = (torch.tensor(x) for x in (W, c, r, other, np.ones((1, N))))
    target = torch.tensor(path.A[-1] + path.B[-1])

    def objective(eps: torch.Tensor) -> torch.Tensor:
        A, a, size = torch.tensor(path.A[0]), torch.zeros(N, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for layer in range(L):
            active = torch.cat([torch.relu(A), ones]) if bias else torch.relu(A)
            old = weights[layer] - eps**2 * rest[layer]
            driven = old @ active + torch.outer(eps * out[layer], torch.relu(a))
            A, a = A + (driven - 1.3 * A) / L, a + (eps * into[layer] @ active - 1.3 * a) / L
            size = size + (old**2).sum() + eps**2 * ((out[layer] ** 2).sum() + (into[layer] ** 2).sum())
        return ((A - target) ** 2).sum() / 2 + size / (2 * 1.3 * L)

    added, activations = np.zeros(N), []
    for layer in range(L):
        activations.append(np.maximum(added, 0))
        added = added + (r[layer] @ S[layer] - 1.3 * added) / L
    small = torch.tensor(1e-5, dtype=torch.float64)  # beyond the kink of the neuron at 0
    second = torch.autograd.functional.hessian(objective, small).item()
    formula = added_neuron.objective_change(c, r, path.B[1:], np.array(activations), rho, 1.3)
    assert formula == pytest.approx(second / 2, rel=1e-6)


@pytest.mark.parametrize("rate", [0.0, 1 / 3, -0.7])
def test_rotating_paths_solve_hamiltons_equations(rate):
    Lt, step = 7.0, 1e-6
    A, B = rotating_path(rate, Lt, np.array([0.3 - step, 0.3, 0.3 + step]), 5)
    assert A.min() > 0
    np.testing.assert_allclose((A[2] - A[0]) / (2 * step), velocity(A[1], B[1], Lt, False), atol=1e-7)
    np.testing.assert_allclose((B[2] - B[0]) / (2 * step), -force(A[1], B[1], Lt, False), atol=1e-7)
    assert -2 / Lt * hamiltonian(A[1], B[1], Lt, False) == pytest.approx(3 - 2 * rate**2)
