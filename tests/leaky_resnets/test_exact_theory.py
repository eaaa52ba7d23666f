"""Lagrangian, gradient of the cost, added neurons and scalar geodesics, by autograd, quadrature and by hand."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from repdyn.leaky_resnets.theory import added_neuron, lagrangian, minima
from repdyn.leaky_resnets.theory.hamiltonian import theorem4_bounds, theorem4_bounds_as_printed
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_geodesic, scalar_path

DEPTH = 2.3


def draw(shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


# Lagrangian


@pytest.mark.parametrize("bias", [False, True])
def test_terms_make_the_norm_of_the_least_weights(bias):
    A, dA = np.abs(draw((8, 4))), draw((8, 4), 1)
    W = lagrangian.least_norm_weights(A, dA, DEPTH, bias)
    np.testing.assert_allclose(W @ activation(A, bias), DEPTH * A + dA, atol=1e-10)
    terms = lagrangian.lagrangian_terms(A, dA, DEPTH, bias)
    assert sum(terms) == pytest.approx(np.sum(W**2) / (2 * DEPTH), rel=1e-10)
    printed = lagrangian.lagrangian_terms_as_printed(A, dA, DEPTH, bias)
    assert printed.cross == pytest.approx(DEPTH * terms.cross)
    assert terms.identity == pytest.approx(DEPTH / 2 * cost_of_identity(A, bias).value, rel=1e-10)


def test_pseudo_determinant_and_its_rate():
    A, dA = draw((3, 7)), draw((3, 7), 1)
    assert lagrangian.log_pseudo_determinant(A) == pytest.approx(0.5 * np.linalg.slogdet(A @ A.T)[1], rel=1e-12)
    low = 1e7 * draw((5, 2), 2) @ draw((2, 7), 3) + 1e-6 * draw((5, 7), 4)
    wanted = np.log(np.linalg.svd(low, compute_uv=False)[:2]).sum()
    assert lagrangian.log_pseudo_determinant(low) == pytest.approx(wanted, rel=1e-12)
    step = 1e-5
    rate = (lagrangian.log_pseudo_determinant(A + step * dA) - lagrangian.log_pseudo_determinant(A - step * dA)) / (
        2 * step
    )
    assert lagrangian.linear_cross_term(A, dA) == pytest.approx(rate, rel=1e-8)


# Minima


@pytest.mark.parametrize("bias", [False, True])
def test_gradient_of_the_cost_is_autograds(bias):
    A = draw((3, 6, 4))
    A[0, 0, 0] = 0.0
    x = torch.tensor(A, requires_grad=True)
    S = torch.relu(x)
    S = torch.cat([S, torch.ones(3, 1, 4, dtype=S.dtype)], dim=1) if bias else S
    G = torch.linalg.inv(S.transpose(1, 2) @ S + 1e-2 * torch.eye(4, dtype=S.dtype))
    cost = torch.einsum("bki,bij,bkj->b", x, G, x)
    cost.sum().backward()
    np.testing.assert_allclose(minima.ridge_cost(A, bias, 1e-2), cost.detach(), rtol=1e-11)
    np.testing.assert_allclose(minima.ridge_cost_gradient(A, bias, 1e-2), x.grad, rtol=1e-9, atol=1e-9)


# Added neuron


def test_enlarged_weights_move_the_path_by_what_the_proof_says():
    """Added row: d(a)/dp = Lt (t K_i - a); old rows: the difference is Lt eps^2 t A_i (a - t K_i)."""
    A, W, t, eps = draw((4, 9)), draw((4, 5), 1), 0.6, 0.3
    S = activation(A, True)
    a = np.abs(draw((1, 9), 2))
    enlarged = added_neuron.enlarged_weights(W, A[:, 0], S[:, 0], t, eps, DEPTH)
    rate = enlarged @ np.vstack([S, eps * a])
    K_i = S[:, 0] @ S
    np.testing.assert_allclose(rate[-1], eps * DEPTH * t * K_i, rtol=1e-12)
    error = DEPTH * eps**2 * t * np.outer(A[:, 0], a[0] - t * K_i)
    np.testing.assert_allclose(rate[:-1] - W @ S, error, atol=1e-12)
    printed = added_neuron.enlarged_weights_as_printed(W, A[:, 0], S[:, 0], t, eps, DEPTH)
    assert np.abs((printed - enlarged) @ np.vstack([S, eps * a])).max() > 1e-3


# Scalar geodesics


@pytest.mark.parametrize("u", [-1.0, 0.4, 2.5])
def test_scalar_geodesic_by_quadrature(u):
    end, gamma = 1.3, 0.7
    geodesic = scalar_geodesic(u, end, DEPTH, gamma)

    def speed(p):
        A, B = scalar_path(u, end, DEPTH, p)
        return abs(DEPTH * (B * A**2 - A)) / np.sqrt(A**2 + gamma)

    p = np.linspace(0, 1, 10001)
    A, B = scalar_path(u, end, DEPTH, p)
    assert geodesic.length == pytest.approx(quad(speed, 0, 1)[0], rel=1e-9)
    assert geodesic.least_cost == pytest.approx(np.min(A**2 / (A**2 + gamma)), rel=1e-12)
    assert geodesic.c == pytest.approx(np.max(B**2), rel=1e-12)
    assert geodesic.scaled_hamiltonian == pytest.approx(2 * u - u**2)


def test_scalar_counterexample_to_the_printed_bound():
    geodesic = scalar_geodesic(-1.0, 10.0, 0.05, 100.0)
    middle = geodesic.scaled_hamiltonian - geodesic.least_cost
    assert middle == pytest.approx(-3.5)
    assert theorem4_bounds_as_printed(geodesic.length, 0.05, 100.0, geodesic.c).lower == pytest.approx(
        -2.3992, abs=1e-4
    )
    assert theorem4_bounds(geodesic.length, 0.05, 100.0 * geodesic.c) == pytest.approx((-5.9973, 1.0), abs=1e-4)
