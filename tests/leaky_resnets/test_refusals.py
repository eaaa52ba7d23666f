"""What the theory refuses: every function by the name of its argument, each part of each condition alone."""

import re

import numpy as np
import pytest

from repdyn.leaky_resnets.theory import flows, hamiltonian, identity_cost, lagrangian, layers, minima

A = np.array([[1.0, 2.0, 0.5], [0.25, 1.0, 3.0]])
GAP = np.array([[1.0, np.nan, 0.5], [0.25, 1.0, np.inf]])
WIDE = np.ones((2, 4))
W, PATH, RHO = np.ones((2, 2, 2)), np.ones((3, 2, 3)), np.array([0.5, 0.5])
ROOTS = np.array([0.0])

ONE = {
    "cost_of_identity": lambda A: identity_cost.cost_of_identity(A, True),
    "layer_gamma": lambda A: identity_cost.layer_gamma(A, True, 1.0),
    "stable_ranks": identity_cost.stable_ranks,
    "nuclear_bound": lambda A: identity_cost.nuclear_bound(A, True),
    "nonnegative_cost": lambda A: identity_cost.nonnegative_cost(A, True),
    "log_pseudo_determinant": lagrangian.log_pseudo_determinant,
    "added_neuron_coefficient": lambda A: minima.added_neuron_coefficient(A, np.ones(3), True),
    "column_coefficients": lambda A: minima.column_coefficients(A, True),
    "positive_neuron": lambda A: minima.positive_neuron(A, 0),
    "merging_coefficients": minima.merging_coefficients,
}
TWO = {
    "hamiltonian": (lambda A, B, Lt: hamiltonian.hamiltonian(A, B, Lt, True), "B"),
    "scaled_hamiltonian_from_cost": (
        lambda A, B, Lt: hamiltonian.scaled_hamiltonian_from_cost(A, B, Lt, True, 0.1),
        "B",
    ),
    "stable_energies": (lambda A, B, Lt: hamiltonian.stable_energies(A, B, Lt, True, 0.1), "dA"),
    "least_norm_weights": (lambda A, B, Lt: lagrangian.least_norm_weights(A, B, Lt, True), "dA"),
    "lagrangian_terms": (lambda A, B, Lt: lagrangian.lagrangian_terms(A, B, Lt, True), "dA"),
}


@pytest.mark.parametrize("call", ONE.values(), ids=ONE)
def test_representations_are_finite_matrices(call):
    call(A)
    with pytest.raises(ValueError, match=r"^A: got 2 values that are NaN or infinite"):
        call(GAP)
    with pytest.raises(ValueError, match=r"^A: got shape \(3,\); expected a non-empty .*: one column per point"):
        call(A[0])


@pytest.mark.parametrize(("call", "second"), TWO.values(), ids=TWO)
def test_pairs_have_one_shape_and_an_effective_depth_above_zero(call, second):
    call(A, A[::-1], 2.0)
    for arguments, message in (
        ((GAP, A, 2.0), "A: got 2 values that are NaN or infinite"),
        ((A, GAP, 2.0), f"{second}: got 2 values that are NaN or infinite"),
        ((A, WIDE, 2.0), f"{second}: got shape (2, 4); expected a non-empty array of shape (2, 3)"),
        ((A, A, 0.0), "effective_depth: got 0; expected finite numbers above 0: at 0, a plain ResNet"),
        ((A, A, -1.0), "effective_depth: got -1"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call(*arguments)


REFUSED = [
    (lambda: flows.hamiltonian_flow(GAP, A, 1.0, True, ROOTS), "A0: got 2 values"),
    (lambda: flows.hamiltonian_flow(A, WIDE, 1.0, True, ROOTS), "B0: got shape (2, 4)"),
    (lambda: flows.hamiltonian_flow(A, A, 1.0, True, [np.nan]), "p: got 1 values"),
    (lambda: flows.hamiltonian_flow(A, A, 0.0, True, ROOTS), "effective_depth: got 0"),
    (lambda: flows.symplectic_euler(A, GAP, 1.0, True, 2), "B0: got 2 values"),
    (lambda: flows.symplectic_euler(A, A, 0.0, True, 2), "effective_depth: got 0"),
    (lambda: flows.leaky_path(lambda q: W[0], GAP, 1.0, [0.0, 1.0]), "A0: got 2 values"),
    (lambda: flows.leaky_path(lambda q: W[0], A, 1.0, [0.0, np.inf]), "q: got 1 values"),
    (lambda: flows.linear_path(lambda q: W[0], GAP, 1.0, [0.0, 1.0]), "A0: got 2 values"),
    (lambda: hamiltonian.theorem4_bounds([1.0], 0.0, 0.1), "effective_depth: got 0"),
    (lambda: hamiltonian.theorem4_bounds_as_printed([1.0], 0.0, 0.1, 0.1), "effective_depth: got 0"),
    (lambda: hamiltonian.theorem4_speed_gap([1.0], [1.0], [-1.0], 0.0), "effective_depth: got 0"),
    (lambda: identity_cost.stable_norm_sq(GAP, A, 1.0), "M: got 2 values"),
    (lambda: identity_cost.stable_norm_sq(A, GAP, 1.0), "S: got 2 values"),
    (
        lambda: identity_cost.stable_norm_sq(A, WIDE, 1.0),
        "S: got shape (2, 4); expected a non-empty array of shape (any, 3)",
    ),
    (lambda: identity_cost.stable_norm_sq(A, A, 0.0), "gamma: got 0"),
    (lambda: identity_cost.layer_gamma(A, True, 0.0), "gamma_0: got 0"),
    (lambda: identity_cost.stable_ranks(0 * A), "A is 0, where stable ranks are not defined"),
    (lambda: identity_cost.nonnegative_cost(A - [[0.0, 0.0, 0.75]], True), "A has the negative entry -0.25"),
    (lambda: minima.added_neuron_coefficient(A, [1.0, np.nan, 1.0], True), "z: got 1 values"),
    (lambda: minima.without_bias(GAP), "active: got 2 values"),
    (lambda: minima.merged(A, [1.0, np.nan], 0.5), "a: got 1 values"),
    (lambda: minima.merged(GAP, [1.0, 1.0], 0.5), "A: got 2 values"),
    (lambda: layers.layer_steps("equidistant", 0), "L = 0 and a = 0.0"),
    (lambda: layers.layer_steps("irregular", 3, 4.0), "L = 3 and a = 4.0"),
    (lambda: layers.layer_steps("irregular", 3, -0.5), "L = 3 and a = -0.5"),
    (lambda: layers.layer_steps("adaptive", 3), "scheme 'adaptive' is not one of equidistant, irregular"),
    (lambda: layers.relative_speeds(PATH[0], RHO), "A has shape (2, 3) and rho (2,)"),
    (lambda: layers.relative_speeds(PATH, RHO[:1]), "A has shape (3, 2, 3) and rho (1,)"),
    (lambda: layers.relative_speeds(PATH * [[[1]], [[1]], [[0]]], RHO), "A is 0 at layer 2"),
    (lambda: layers.relative_speeds(PATH, RHO * np.nan), "rho: got 2 values"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, 1.0), "damping is 1.0; give a number in [0, 1)"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, -0.1), "damping is -0.1"),
    (lambda: layers.adapt_layer_steps(PATH, RHO, 0.5, 0.4), "cap 0.4 on 2 steps of sum 1"),
    (lambda: layers.propagate(W, A, RHO, -1.0), "effective_depth is -1.0; give 0 for a plain ResNet"),
    (
        lambda: layers.propagate(W, np.ones((3, 3)), RHO, 1.0),
        "A0: got shape (3, 3); expected a non-empty array of shape (2, any)",
    ),
    (lambda: layers.propagate(W * np.nan, A, RHO, 1.0), "W: got 8 values"),
    (lambda: layers.propagate(W, A, RHO * np.nan, 1.0), "rho: got 2 values"),
    (lambda: layers.end_momentum(GAP, 1.0), "residual: got 2 values"),
    (lambda: layers.end_momentum(A, 0.0), "penalty: got 0"),
    (lambda: layers.momenta(W, PATH, WIDE, RHO, 1.0), "end: got shape (2, 4)"),
    (lambda: layers.momenta(W, PATH, A, RHO, 0.0), "effective_depth: got 0"),
    (lambda: layers.momenta(W, PATH * np.inf, A, RHO, 1.0), "A: got 18 values"),
    (lambda: layers.criticality(W, PATH, PATH * np.nan, RHO, 1.0), "B: got 18 values"),
    (lambda: layers.criticality(W, PATH, PATH, RHO, 0.0), "effective_depth: got 0"),
    (lambda: layers.kink_share(PATH * np.nan), "A: got 18 values"),
    (lambda: layers.balancedness(W * np.nan, RHO, 1.0), "W: got 8 values"),
    (lambda: layers.balancedness(W, RHO, 0.0), "effective_depth: got 0"),
    (lambda: layers.momentum_identity(W, PATH, PATH * np.nan, RHO), "B: got 18 values"),
    (lambda: layers.bottleneck_spectra(PATH, W * np.nan), "W: got 8 values"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_each_bad_argument_is_refused_with_its_value(call, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        call()


def test_what_stands_at_a_border_is_taken():
    assert layers.layer_steps("equidistant", 1).tolist() == [1]
    np.testing.assert_allclose(layers.layer_steps("irregular", 3, 0.0), 1 / 3)
    np.testing.assert_allclose(layers.adapt_layer_steps(PATH, [0.25, 0.75], 0.0), [0.5, 0.5])  # nothing moves: equal
    np.testing.assert_allclose(layers.adapt_layer_steps(PATH, [0.25, 0.75], 0.5, 0.5), [0.5, 0.5])  # a cap of 1/L
    moved = layers.propagate(W, A, RHO, 0.0)  # a plain ResNet
    np.testing.assert_allclose(moved[1], A + 0.5 * A.sum(axis=0))
    assert identity_cost.nonnegative_cost(np.eye(2), False) == 2
    first_is_zero = PATH * [[[0]], [[1]], [[1]]]
    assert layers.relative_speeds(first_is_zero, RHO).tolist() == [2, 0]  # the speed refers to the layer it ends in
