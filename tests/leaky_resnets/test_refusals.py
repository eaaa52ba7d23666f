"""Arguments that the theory refuses, each part of each condition alone; boundary values that it accepts."""

import re
from functools import partial

import numpy as np
import pytest

from repdyn.leaky_resnets.theory import flows, hamiltonian, identity_cost, lagrangian, layers, minima

A = np.array([[1.0, 2.0, 0.5], [0.25, 1.0, 3.0]])
GAP = np.array([[1.0, np.nan, 0.5], [0.25, 1.0, np.inf]])
WIDE = np.ones((2, 4))
W, PATH, RHO = np.ones((2, 2, 2)), np.ones((3, 2, 3)), np.array([0.5, 0.5])
ROOTS, EYE = np.array([0.0]), np.eye(2)

ONE = [  # functions of a representation
    lambda A: identity_cost.cost_of_identity(A, True),
    lambda A: identity_cost.layer_gamma(A, True, 1.0),
    identity_cost.stable_ranks,
    lambda A: identity_cost.nuclear_bound(A, True),
    lambda A: identity_cost.nonnegative_cost(A, True),
    lagrangian.log_pseudo_determinant,
    lambda A: minima.added_neuron_coefficient(A, np.ones(3), True),
    lambda A: minima.column_coefficients(A, True),
    lambda A: minima.positive_neuron(A, 0),
    minima.merging_coefficients,
]
TWO = [  # of two of one shape, with the name of the second, and an effective depth
    (lambda A, B, Lt: hamiltonian.hamiltonian(A, B, Lt, True), "B"),
    (lambda A, B, Lt: hamiltonian.scaled_hamiltonian_from_cost(A, B, Lt, True, 0.1), "B"),
    (lambda A, B, Lt: hamiltonian.stable_energies(A, B, Lt, True, 0.1), "dA"),
    (lambda A, dA, Lt: lagrangian.least_norm_weights(A, dA, Lt, True), "dA"),
    (lambda A, dA, Lt: lagrangian.lagrangian_terms(A, dA, Lt, True), "dA"),
]
REFUSED = [
    *[(partial(call, GAP), "A", "2") for call in ONE],
    *[(partial(call, A[0]), "A", "(3,)") for call in ONE],
    *[(partial(call, GAP, A, 2.0), "A", "2") for call, _ in TWO],
    *[(partial(call, A, GAP, 2.0), second, "2") for call, second in TWO],
    *[(partial(call, A, WIDE, 2.0), second, "(2, 4)") for call, second in TWO],
    *[(partial(call, A, A, depth), "effective_depth", f"{depth:g}") for call, _ in TWO for depth in (0.0, -1.0)],
    (lambda: flows.hamiltonian_flow(GAP, A, 1.0, True, ROOTS), "A0", "2"),
    (lambda: flows.hamiltonian_flow(A, WIDE, 1.0, True, ROOTS), "B0", "(2, 4)"),
    (lambda: flows.hamiltonian_flow(A, A, 1.0, True, [np.nan]), "p", "1"),
    (lambda: flows.hamiltonian_flow(A, A, 0.0, True, ROOTS), "effective_depth", "0"),
    (lambda: flows.symplectic_euler(A, GAP, 1.0, True, 2), "B0", "2"),
    (lambda: flows.symplectic_euler(A, A, 0.0, True, 2), "effective_depth", "0"),
    (lambda: flows.leaky_path(lambda q: W[0], GAP, 1.0, [0.0, 1.0]), "A0", "2"),
    (lambda: flows.leaky_path(lambda q: W[0], A, 1.0, [0.0, np.inf]), "q", "1"),
    (lambda: flows.linear_path(lambda q: W[0], GAP, 1.0, [0.0, 1.0]), "A0", "2"),
    (lambda: hamiltonian.theorem4_bounds([1.0], 0.0, 0.1), "effective_depth", "0"),
    (lambda: hamiltonian.theorem4_bounds_as_printed([1.0], 0.0, 0.1, 0.1), "effective_depth", "0"),
    (lambda: hamiltonian.theorem4_speed_gap([1.0], [1.0], [-1.0], 0.0), "effective_depth", "0"),
    (lambda: identity_cost.stable_norm_sq(GAP, A, 1.0), "M", "2"),
    (lambda: identity_cost.stable_norm_sq(A, GAP, 1.0), "S", "2"),
    (lambda: identity_cost.stable_norm_sq(A, WIDE, 1.0), "S", "(2, 4)"),
    (lambda: identity_cost.stable_norm_sq(A, A, 0.0), "gamma", "0"),
    (lambda: identity_cost.layer_gamma(A, True, 0.0), "gamma_0", "0"),
    (lambda: identity_cost.stable_ranks(0 * A), "A", "0"),
    (lambda: identity_cost.nonnegative_cost(A - [[0.0, 0.0, 0.75]], True), "A", "-0.25"),
    (lambda: minima.added_neuron_coefficient(A, [1.0, np.nan, 1.0], True), "z", "1"),
    (lambda: minima.without_bias(GAP), "active", "2"),
    (lambda: minima.merged(A, [1.0, np.nan], 0.5), "a", "1"),
    (lambda: minima.merged(GAP, [1.0, 1.0], 0.5), "A", "2"),
    (lambda: layers.layer_steps("equidistant", 0), "L", "0"),
    (lambda: layers.layer_steps("irregular", 3, 4.0), "a", "4.0"),
    (lambda: layers.layer_steps("irregular", 3, -0.5), "a", "-0.5"),
    (lambda: layers.layer_steps("adaptive", 3), "scheme", "adaptive"),
    (lambda: layers.relative_speeds(PATH[0], RHO), "A", "(2, 3)"),
    (lambda: layers.relative_speeds(PATH, RHO[:1]), "rho", "(1,)"),
    (lambda: layers.relative_speeds(PATH * [[[1]], [[1]], [[0]]], RHO), "A", "2"),
    (lambda: layers.relative_speeds(PATH, RHO * np.nan), "rho", "2"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, 1.0), "damping", "1.0"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, -0.1), "damping", "-0.1"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, 0.5, 0.4), "cap", "0.4"),
    (lambda: layers.propagate(W, A, RHO, -1.0), "effective_depth", "-1.0"),
    (lambda: layers.propagate(W, np.ones((3, 3)), RHO, 1.0), "A0", "(3, 3)"),
    (lambda: layers.propagate(W * np.nan, A, RHO, 1.0), "W", "8"),
    (lambda: layers.propagate(W, A, RHO * np.nan, 1.0), "rho", "2"),
    (lambda: layers.end_momentum(GAP, 1.0), "residual", "2"),
    (lambda: layers.end_momentum(A, 0.0), "penalty", "0"),
    (lambda: layers.momenta(W, PATH, WIDE, RHO, 1.0), "end", "(2, 4)"),
    (lambda: layers.momenta(W, PATH, A, RHO, 0.0), "effective_depth", "0"),
    (lambda: layers.momenta(W, PATH * np.inf, A, RHO, 1.0), "A", "18"),
    (lambda: layers.criticality(W, PATH, PATH * np.nan, RHO, 1.0), "B", "18"),
    (lambda: layers.criticality(W, PATH, PATH, RHO, 0.0), "effective_depth", "0"),
    (lambda: layers.kink_share(PATH * np.nan), "A", "18"),
    (lambda: layers.balancedness(W * np.nan, RHO, 1.0), "W", "8"),
    (lambda: layers.balancedness(W, RHO, 0.0), "effective_depth", "0"),
    (lambda: layers.momentum_identity(W, PATH, PATH * np.nan, RHO), "B", "18"),
    (lambda: layers.bottleneck_spectra(PATH, W * np.nan), "W", "8"),
    (lambda: identity_cost.cost_of_identity(np.empty((0, 3)), False), "A", "(0, 3)"),
    (lambda: identity_cost.cost_of_identity(EYE, False, gamma=0.0), "gamma", "0"),
    (lambda: hamiltonian.stable_hamiltonian(A, A, 1.0, True, 0.0), "gamma", "0"),
    (lambda: hamiltonian.theorem4_bounds(1.0, np.nan, 1.0), "effective_depth", "1"),
]


@pytest.mark.parametrize(("call", "name", "value"), REFUSED)
def test_each_bad_argument_is_refused_with_its_name_and_value(call, name, value):
    with pytest.raises(ValueError, match=f"(?s){re.escape(name)}.*{re.escape(value)}"):
        call()


def test_boundary_values_are_accepted():
    assert layers.layer_steps("equidistant", 1).tolist() == [1]
    np.testing.assert_allclose(layers.layer_steps("irregular", 3, 0.0), 1 / 3)
    np.testing.assert_allclose(layers.adapt_layer_steps(PATH, [0.25, 0.75], 0.0), [0.5, 0.5])  # nothing moves: equal
    np.testing.assert_allclose(layers.adapt_layer_steps(PATH, [0.25, 0.75], 0.5, 0.5), [0.5, 0.5])  # a cap of 1/L
    moved = layers.propagate(W, A, RHO, 0.0)  # a plain ResNet
    np.testing.assert_allclose(moved[1], A + 0.5 * A.sum(axis=0))
    assert identity_cost.nonnegative_cost(np.eye(2), False) == 2
    first_is_zero = PATH * [[[0]], [[1]], [[1]]]
    assert layers.relative_speeds(first_is_zero, RHO).tolist() == [2, 0]  # the speed refers to the layer it ends in
