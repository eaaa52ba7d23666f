"""Hamiltonian, its derivatives, energies and bounds, against autograd and by hand."""

import numpy as np
import pytest
import torch

from repdyn.leaky_resnets.theory import hamiltonian as ham
from repdyn.leaky_resnets.theory import lagrangian
from repdyn.leaky_resnets.theory.identity_cost import activation, stable_norm_sq

ROUNDING = 1e-12  # sums over a few dozen numbers of order 10
DEPTH = 2.3


def pair(shape=(4, 9), seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal((2, *shape))


def autograd(A, B, depth, bias):
    A, B = (torch.tensor(part, requires_grad=True) for part in (A, B))
    S = torch.relu(A)
    S = torch.cat([S, torch.ones(1, A.shape[1], dtype=A.dtype)]) if bias else S
    H = depth / 2 * (B @ S.T).pow(2).sum() - depth * torch.trace(B @ A.T)
    H.backward()
    return H.item(), A.grad.numpy(), B.grad.numpy()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(4, 9), (9, 4)])
def test_hamiltonian_and_its_derivatives(bias, shape):
    A, B = pair(shape)
    A[0, 0] = 0.0  # slope 0 at 0, like autograd
    H, by_A, by_B = autograd(A, B, DEPTH, bias)
    assert ham.hamiltonian(A, B, DEPTH, bias) == pytest.approx(H, rel=ROUNDING)
    np.testing.assert_allclose(ham.force(A, B, DEPTH, bias), by_A, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(ham.velocity(A, B, DEPTH, bias), by_B, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("bias", [False, True])
def test_stable_energies_are_norms_and_tend_to_the_exact_split(bias):
    A, B = pair((9, 4))
    A = np.abs(A)
    dA, S = ham.velocity(A, B, DEPTH, bias), activation(A, bias)
    energies = ham.stable_energies(A, dA, DEPTH, bias, 0.5)
    kinetic, cost = stable_norm_sq(dA, S, 0.5, "svd"), stable_norm_sq(A, S, 0.5, "svd")
    assert energies == pytest.approx((kinetic, cost, kinetic / (2 * DEPTH) - DEPTH * cost / 2), rel=1e-11)
    near = ham.stable_hamiltonian(A, dA, DEPTH, bias, 1e-9)
    assert near == pytest.approx(ham.hamiltonian(A, B, DEPTH, bias), rel=1e-6)  # first order in gamma
    assert lagrangian.hamiltonian_from_energies(A, dA, DEPTH, bias) == pytest.approx(
        ham.hamiltonian(A, B, DEPTH, bias), rel=1e-9
    )


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 100.0])
def test_identity_behind_theorem_4(bias, gamma):
    A, B = pair()
    wanted = -2 * ham.hamiltonian(A, B, DEPTH, bias) / DEPTH
    assert ham.scaled_hamiltonian_from_cost(A, B, DEPTH, bias, gamma) == pytest.approx(wanted, rel=1e-9)


def test_bounds_by_hand():
    """Length 6, Lt 2, gamma 4, c 1/4: 3 + sqrt(1) = 4 corrected, 3 + 2/4 printed; upper bound 1."""
    assert ham.theorem4_bounds(6, 2, 1.0) == (-16.0, 1.0)
    assert ham.theorem4_bounds_as_printed(6, 2, 4.0, 0.25) == (-12.25, 1.0)


@pytest.mark.parametrize("c", [1.0, 4.0, 25.0])
def test_the_printed_bound_is_weaker_from_c_of_one_on(c):
    printed, corrected = ham.theorem4_bounds_as_printed(1, 2, 0.5, c), ham.theorem4_bounds(1, 2, 0.5 * c)
    assert printed.lower <= corrected.lower
    assert printed.upper == corrected.upper


def test_speed_gap_takes_the_positive_part():
    np.testing.assert_allclose(ham.theorem4_speed_gap([5.0, 5.0], [7.0, 2.0], 3.0, 2.0), [1.0, 5.0])
