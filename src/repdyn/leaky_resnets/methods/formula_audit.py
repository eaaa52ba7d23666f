"""Every formula of the paper on a random draw: relative errors as printed, as corrected and of a wrong one on purpose.

Each function takes the bias flag and a generator and compares with a derivation that shares no formula: finite
differences, linear solves, integrated paths, quadrature. Wide draws have w >= N, where every representation has a
finite cost of identity. Paper: Hamiltonian Mechanics of Feature Learning.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, holds, relative_error
from repdyn.leaky_resnets.methods import audited_minima
from repdyn.leaky_resnets.methods.audit_draws import DEPTH, TALL, WIDE, Generator, wide
from repdyn.leaky_resnets.theory import equations
from repdyn.leaky_resnets.theory import lagrangian as energies
from repdyn.leaky_resnets.theory.flows import leaky_path, linear_path
from repdyn.leaky_resnets.theory.hamiltonian import force, hamiltonian, scaled_hamiltonian_from_cost, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity, operator_norm_sq, stable_norm_sq_svd
from repdyn.leaky_resnets.theory.layers import propagate

STEP = 1e-5  # of central differences; H is a polynomial of degree 4 between kinks
SWEEPS = 120  # of rescaling, each of which shrinks the imbalance by a factor of about 1/2
NODES = 40  # of Gauss-Legendre quadrature of analytic integrands on [0, 1]


def _path(shape: tuple[int, int], rng: Generator) -> Callable[[float], Array]:
    """A smooth random matrix path on [0, 1], which as weights keeps representations of order 1."""
    parts = rng.standard_normal((3, *shape)) / np.sqrt(shape[-1])
    return lambda p: parts[0] + parts[1] * np.sin(2 * np.pi * p) + parts[2] * np.cos(np.pi * p)


def _energy(weights: Callable[[float], Array], length: float) -> float:
    """Integral of |W_q|^2 over [0, length]."""
    x, weight = np.polynomial.legendre.leggauss(NODES)
    values = [np.sum(weights(0.5 * length * (node + 1)) ** 2) for node in x]
    return 0.5 * length * float(weight @ values)


def range_of_p(bias: bool, rng: Generator) -> Errors:
    """Section 1.2: W'_q = W_{q/c} / c with leak Lt / c on [0, c] gives A'_q = A_{q/c}, and the norm by 1 / c."""
    w, N = TALL
    W, A0, c = _path((w, w + bias), rng), rng.standard_normal((w, N)), rng.uniform(1.5, 4)
    p = np.linspace(0, 1, 6)
    plain = leaky_path(W, A0, DEPTH, p)
    stretched = leaky_path(lambda q: W(q / c) / c, A0, DEPTH / c, c * p)
    norm = relative_error(_energy(lambda q: W(q / c) / c, c), _energy(W, 1.0) / c)
    wrong = leaky_path(lambda q: W(q / c), A0, DEPTH / c, c * p)
    return holds(max(relative_error(stretched, plain), norm), relative_error(wrong, plain))


def scale_of_outputs(bias: bool, rng: Generator) -> Errors:
    """Section 1.2: leak Lt + c gives e^{-cp} A_p; with bias if b_p is scaled by e^{-cp} too."""
    w, N = TALL
    W, A0, c = _path((w, w + bias), rng), rng.standard_normal((w, N)), rng.uniform(0.5, 2)
    p = np.linspace(0, 1, 6)

    def scaled(at: float) -> Array:
        return np.concatenate([W(at)[:, :w], np.exp(-c * at) * W(at)[:, w:]], axis=1)

    wanted = np.exp(-c * p)[:, None, None] * leaky_path(W, A0, DEPTH, p)
    wrong = leaky_path(W, A0, DEPTH, p)
    return holds(relative_error(leaky_path(scaled, A0, DEPTH + c, p), wanted), relative_error(wrong, wanted))


def no_leak(bias: bool, rng: Generator) -> Errors:
    """Abstract, Section 1.1: Lt = 0 is a plain ResNet; equidistant steps with Lt = L a fully-connected network."""
    (w, N), L = WIDE, 6  # wide enough that no layer dies
    W, A = rng.standard_normal((L, w, w + bias)), rng.standard_normal((w, N))
    rho, plain, connected = np.full(L, 1 / L), A, A
    for weight in W:
        plain = plain + weight @ activation(plain, bias) / L
        connected = weight @ activation(connected, bias) / L
    plain_end, connected_end = propagate(W, A, rho, 0.0)[-1], propagate(W, A, rho, float(L))[-1]
    wrong = propagate(W, A, rho, L / 2)[-1]
    error = max(relative_error(plain_end, plain), relative_error(connected_end, connected))
    return holds(error, relative_error(wrong, connected))


def least_weights(bias: bool, rng: Generator) -> Errors:
    """Section 1.3: W = (Lt A + dA) S^+; against multipliers, against the only solution, and against other solutions."""
    A, dA = wide(rng), rng.standard_normal(WIDE)
    S, M = activation(A, bias), DEPTH * A + dA
    W, dual = energies.least_norm_weights(A, dA, DEPTH, bias), np.linalg.solve(S.T @ S, M.T).T @ S.T
    other = rng.standard_normal(W.shape)
    other -= other @ S @ np.linalg.solve(S.T @ S, S.T)
    longer = relative_error(np.sum((W + other) ** 2), np.sum(W**2) + np.sum(other**2))
    few, only = rng.standard_normal((4, 20)), rng.standard_normal((4, 4 + bias))
    rate = only @ activation(few, bias) - DEPTH * few
    lone = relative_error(energies.least_norm_weights(few, rate, DEPTH, bias), only)
    wrong = energies.least_norm_weights(A, dA, 1.0, bias)
    return holds(max(relative_error(W, dual), longer, lone), relative_error(wrong, dual))


def three_terms(bias: bool, rng: Generator) -> Errors:
    """Section 1.3: the three terms of |Lt A + dA|^2_K / (2 Lt); printed with the cross term times Lt."""
    A, dA = wide(rng), rng.standard_normal(WIDE)
    S, M = activation(A, bias), DEPTH * A + dA
    whole = np.trace(M @ np.linalg.solve(S.T @ S, M.T)) / (2 * DEPTH)
    terms = energies.lagrangian_terms(A, dA, DEPTH, bias)
    printed = energies.lagrangian_terms_as_printed(A, dA, DEPTH, bias)
    return Errors(
        relative_error(sum(printed), whole),
        relative_error(sum(terms), whole),
        relative_error(terms.identity + terms.kinetic, whole),
    )


def split_by_neurons(bias: bool, rng: Generator) -> Errors:
    """Section 1.3: the loss is a sum over neurons, whose norm of K they share.

    Against the least weights of the whole path. Wrong on purpose: every neuron with its own kernel alone.
    """
    A, dA, target = wide(rng), rng.standard_normal(WIDE), rng.standard_normal(WIDE)
    W, M = energies.least_norm_weights(A, dA, DEPTH, bias), DEPTH * A + dA
    whole = np.mean(np.sum((target - A) ** 2, axis=0)) + np.sum(W**2) / (2 * DEPTH)
    K, N = kernel_of_neurons(A) + bias * np.ones((WIDE[1], WIDE[1])), WIDE[1]
    fits = np.sum((target - A) ** 2, axis=1) / N
    shared, alone = (
        sum(
            fit + row @ np.linalg.solve(kernel, row) / (2 * DEPTH)
            for fit, row, kernel in zip(fits, M, kernels, strict=True)
        )
        for kernels in ([K] * len(M), [kernel_of_neurons(row[None]) + np.eye(N) for row in A])
    )
    return holds(relative_error(shared, whole), relative_error(alone, whole))


def kernel_of_neurons(A: Array) -> Array:
    """Sum over neurons of sigma(A_k.) sigma(A_k.)^T, shape (N, N), as Section 1.3 prints K: without the row of ones."""
    return np.einsum("ki,kj->ij", np.maximum(A, 0), np.maximum(A, 0))


def covariance(bias: bool, rng: Generator) -> Errors:
    """Section 1.3: K = sum_k sigma(A_k.) sigma(A_k.)^T; with the appended 1 plus 1 1^T. Against sigma(A)^T sigma(A)."""
    A = rng.standard_normal(TALL)
    S = activation(A, bias)
    printed = kernel_of_neurons(A)
    corrected = printed + bias * np.ones(printed.shape)
    return Errors(
        relative_error(printed, S.T @ S), relative_error(corrected, S.T @ S), relative_error(A.T @ A, S.T @ S)
    )


def potential_energy(bias: bool, rng: Generator) -> Errors:
    """Section 4: potential energy and cost of identity over two draws; printed: one is the other's inverse, times a.

    The potential energy is what the kinetic energy leaves of H. Wrong on purpose: its other sign.
    """
    pairs = [(wide(rng), rng.standard_normal(WIDE)) for _ in range(2)]
    costs = np.array([cost_of_identity(A, bias).value for A, _ in pairs])
    potential = np.array(
        [
            hamiltonian(A, B, DEPTH, bias)
            - energies.lagrangian_terms(A, velocity(A, B, DEPTH, bias), DEPTH, bias).kinetic
            for A, B in pairs
        ]
    )
    inverse = relative_error(potential[1], potential[0] * costs[0] / costs[1])
    proportional, other = (relative_error(potential, sign * DEPTH / 2 * costs) for sign in (-1, 1))
    return Errors(inverse, proportional, other)


def linear_remark(_: bool, rng: Generator) -> Errors:
    """Footnote 1: the cross term of a linear network integrates to log |A_1|_+ - log |A_0|_+.

    The path is a linear network's, dA = (W_p - Lt) A, from a start of rank 3; its rank cannot change. Wrong on purpose:
    Frobenius norms in place of pseudo-determinants.
    """
    W, A0 = _path((6, 6), rng), rng.standard_normal((6, 3)) @ rng.standard_normal((3, 7))
    nodes, weight = np.polynomial.legendre.leggauss(NODES)
    p = np.concatenate([[0.0], (nodes + 1) / 2, [1.0]])
    path = linear_path(W, A0, DEPTH, p)
    rates = [(W(at) - DEPTH * np.eye(6)) @ A for at, A in zip(p, path, strict=True)]
    terms = [energies.linear_cross_term(A, dA, 1e-8) for A, dA in zip(path[1:-1], rates[1:-1], strict=True)]
    total = float(weight @ terms) / 2
    ends = energies.log_pseudo_determinant(path[-1], 1e-8) - energies.log_pseudo_determinant(A0, 1e-8)
    norms = np.log(np.linalg.norm(path[-1]) / np.linalg.norm(A0))
    return holds(abs(total - ends), abs(total - norms))


def zero_representation(bias: bool, rng: Generator) -> Errors:
    """Section 1.3: from A = 0 all points share one path. Wrong on purpose: they do so from a start that is not 0."""
    (w, N), L = TALL, 12
    W, rho = rng.standard_normal((L, w, w + bias)), np.full(L, 1 / L)

    def spread(A0: Array) -> float:
        end = propagate(W, A0, rho, DEPTH)[-1]
        return float(np.abs(end - end.mean(axis=1, keepdims=True)).max())

    return holds(spread(np.zeros((w, N))), spread(rng.standard_normal((w, N))))


def infinite_terms(bias: bool, rng: Generator) -> Errors:
    """Remark in 1.3: as gamma -> 0 cost and kinetic energy grow as |A_out|^2 / gamma, the whole Lagrangian does not.

    A_out is the part of A outside the image of S, where dA = -Lt A. Wrong on purpose: the sum without the cross term.
    """
    A = wide(rng, TALL)
    W = rng.standard_normal((len(A), len(A) + bias))
    S = activation(A, bias)
    dA, gamma = W @ S - DEPTH * A, 1e-8 * operator_norm_sq(S)
    inverse = np.linalg.pinv(S)
    outside = float(np.sum((A - A @ inverse @ S) ** 2))
    cost, kinetic, whole = (float(stable_norm_sq_svd(M, S, gamma)) for M in (A, dA, DEPTH * A + dA))
    grown = relative_error([gamma * cost, gamma * kinetic / DEPTH**2], [outside, outside])
    finite = float(np.sum((W @ S @ inverse) ** 2))
    wrong = relative_error(DEPTH**2 * cost + kinetic, finite)
    return holds(max(grown, relative_error(whole, finite)), wrong)


def connected_balance(_: bool, rng: Generator) -> Errors:
    """Appendix A.3: neurons rescaled to least norm keep the function and have |W_l|^2 + |b_l|^2 = |W_{l+1}|^2.

    So |W_l|^2 = |W_1|^2 + sum_{k < l} |b_k|^2 without bias columns. Wrong on purpose: without the sum of biases.
    """
    W, b, X = rng.standard_normal((4, 5, 5)), rng.standard_normal((4, 5)), rng.standard_normal((5, 7))
    before = _connected(W, b, X)
    for _sweep in range(SWEEPS):
        for layer in range(3):
            into, out = np.sum(W[layer] ** 2, axis=1) + b[layer] ** 2, np.sum(W[layer + 1] ** 2, axis=0)
            scale = (out / into) ** 0.25
            W[layer] *= scale[:, None]
            b[layer] *= scale
            W[layer + 1] /= scale
    norms, biases = np.sum(W**2, axis=(1, 2)), np.concatenate([[0.0], np.cumsum(np.sum(b[:-1] ** 2, axis=1))])
    error = max(relative_error(norms, norms[0] + biases), relative_error(_connected(W, b, X), before))
    return holds(error, relative_error(norms, np.full(4, norms[0])))


def _connected(W: Array, b: Array, X: Array) -> Array:
    """Output of a fully connected ReLU network, the last layer linear."""
    for weight, offset in zip(W[:-1], b[:-1], strict=True):
        X = np.maximum(weight @ X + offset[:, None], 0)
    return W[-1] @ X + b[-1][:, None]


def hamilton_equations(bias: bool, rng: Generator) -> Errors:
    """Section 1.5: dA = dH/dB and -dB = dH/dA, against central differences of H."""
    A, B = rng.standard_normal((2, *TALL))
    by = {"A": np.empty(TALL), "B": np.empty(TALL)}
    for index in np.ndindex(TALL):
        kick = np.zeros(TALL)
        kick[index] = STEP
        by["A"][index] = hamiltonian(A + kick, B, DEPTH, bias) - hamiltonian(A - kick, B, DEPTH, bias)
        by["B"][index] = hamiltonian(A, B + kick, DEPTH, bias) - hamiltonian(A, B - kick, DEPTH, bias)
    by_A, by_B = by["A"] / (2 * STEP), by["B"] / (2 * STEP)
    errors = relative_error(velocity(A, B, DEPTH, bias), by_B), relative_error(force(A, B, DEPTH, bias), by_A)
    return holds(max(errors), relative_error(-force(A, B, DEPTH, bias), by_A))


def hamiltonian_split(bias: bool, rng: Generator) -> Errors:
    """Section 2.1: H = |dA|^2_K / (2 Lt) - (Lt / 2) |A|^2_K where Im A^T lies in Im S^T."""
    A, B = wide(rng), rng.standard_normal(WIDE)
    dA, H = velocity(A, B, DEPTH, bias), hamiltonian(A, B, DEPTH, bias)
    terms = energies.lagrangian_terms(A, dA, DEPTH, bias)
    split = energies.hamiltonian_from_energies(A, dA, DEPTH, bias)
    return holds(relative_error(split, H), relative_error(terms.kinetic + terms.identity, H))


def theorem4_identity(bias: bool, rng: Generator) -> Errors:
    """Proof of Theorem 7: -2 H / Lt = |A|^2_g - |dA / Lt + gamma B|^2_g + gamma |B|^2, any A and B."""
    A, B = rng.standard_normal((2, *TALL))
    H = -2 * hamiltonian(A, B, DEPTH, bias) / DEPTH
    values = [scaled_hamiltonian_from_cost(A, B, DEPTH, bias, gamma) for gamma in (1e-3, 1.0)]
    wrong = values[1] - 2 * float(np.sum(B**2))
    return holds(relative_error(values, [H, H]), relative_error(wrong, H))


def layer_regularizer(bias: bool, rng: Generator) -> Errors:
    """Section 2.1: gamma_p in proportion to |S|_op^2, printed equal to |K|_op^2; it is |K|_op."""
    S = activation(3 * rng.standard_normal(TALL), bias)
    K = np.linalg.norm(S.T @ S, 2)
    scale = operator_norm_sq(S)
    return Errors(relative_error(K**2, scale), relative_error(K, scale), relative_error(np.sqrt(K), scale))


FORMULAS: dict[str, Callable[[bool, Generator], Errors]] = {
    equations.RANGE_OF_P: range_of_p,
    equations.SCALE_OF_OUTPUTS: scale_of_outputs,
    equations.NO_LEAK: no_leak,
    equations.LEAST_WEIGHTS: least_weights,
    equations.THREE_TERMS: three_terms,
    equations.SPLIT_BY_NEURONS: split_by_neurons,
    equations.COVARIANCE: covariance,
    equations.LINEAR_REMARK: linear_remark,
    equations.ZERO_REPRESENTATION: zero_representation,
    equations.INFINITE_TERMS: infinite_terms,
    equations.HAMILTON_EQUATIONS: hamilton_equations,
    equations.HAMILTONIAN_SPLIT: hamiltonian_split,
    equations.THEOREM4_IDENTITY: theorem4_identity,
    equations.ADDED_NEURON: audited_minima.added_neuron,
    equations.POSITIVE_NEURON: audited_minima.positive_neuron,
    equations.ADDED_NEURON_OBJECTIVE: audited_minima.added_neuron_objective,
    equations.MERGED_NEURONS: audited_minima.merged_neurons,
    equations.ENLARGED_NORM: audited_minima.enlarged_norm,
    equations.LAYER_REGULARIZER: layer_regularizer,
    equations.CONNECTED_BALANCE: connected_balance,
    equations.POTENTIAL_ENERGY: potential_energy,
}
