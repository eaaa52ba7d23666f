"""Hamiltonian, its derivatives and bounds, against autograd and by hand."""

import numpy as np
import pytest
import torch

from repdyn.leaky_resnets.theory import hamiltonian as ham

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


def test_bounds_by_hand():
    """Length 6, Lt 2, gamma 4, c 1/4: 3 + sqrt(1) = 4 corrected, 3 + 2/4 printed; upper bound 1."""
    assert ham.theorem4_bounds(6, 2, 1.0) == (-16.0, 1.0)
    assert ham.theorem4_bounds_as_printed(6, 2, 4.0, 0.25) == (-12.25, 1.0)
