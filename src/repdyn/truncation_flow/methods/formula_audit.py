"""Formulas of the paper, printed and corrected, each against a derivation that shares nothing with it.

Derivatives come from complex steps of the cost itself (`theory.derivatives`), maps from the network's definition.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, fixed, holds
from repdyn.truncation_flow.theory import derivatives, equations, general, separated, truncation

DIFFERENCE = 1e-6


class Draw(NamedTuple):
    """One cluster with a state: data, rotation, bias, label, and what follows from them."""

    X: Array
    R: Array
    beta: Array
    yt: Array
    H: Array
    u: Array
    b: Array
    w: Array

    @property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """H, u, b, w: what the formulas of Theorem 3.2 read."""
        return self.H, self.u, self.b, self.w

    def cost(self, R: Array, beta: Array) -> complex:
        """Euclidean cost (2.26) at other parameters."""
        return derivatives.complex_cost(self.X, self.w, self.yt, R[None], beta[None])


class Network(NamedTuple):
    """A random network: weights, biases and inputs."""

    weights: Array
    biases: Array
    x: Array
    W_out: Array


class Layers(NamedTuple):
    """L = Q truncation maps on Q clusters."""

    X: Array
    cluster: NDArray[np.intp]
    R: Array
    beta: Array
    yt: Array


def random_cluster(Q: int, N: int, generator: np.random.Generator, *, near: bool = False) -> Draw:
    """Gaussian points, Haar rotation; the bias at random, or near -yt, where the weight flow decides.

    Ours: random draws for the audit.

    Args:
        Q: dimension.
        N: number of points.
        generator: source of the draws.
        near: put the bias near -yt.
    """
    X, yt = generator.normal(size=(N, Q)), generator.normal(size=Q)
    R = scipy.stats.ortho_group.rvs(Q, random_state=generator)
    beta = (-yt if near else 0.0) + (0.1 if near else 0.5) * generator.normal(size=Q)
    u = (X + beta) @ R.T
    return Draw(X, R, beta, yt, (u > 0).astype(np.float64), u, R @ (beta + yt), np.full(N, 1.0 / N))


def random_network(Q: int, N: int, generator: np.random.Generator) -> Network:
    """Q hidden layers and an output layer; weights are rotations times a diagonal, so products stay invertible."""
    weights = scipy.stats.ortho_group.rvs(Q, size=Q + 1, random_state=generator) * generator.uniform(
        0.5, 2.0, (Q + 1, Q, 1)
    )
    return Network(weights[:-1], generator.normal(size=(Q, Q)), generator.normal(size=(N, Q)), weights[-1])


def random_layers(Q: int, N: int, generator: np.random.Generator) -> Layers:
    """Gaussian data in Q clusters under Q random truncation maps."""
    R = scipy.stats.ortho_group.rvs(Q, size=Q, random_state=generator)
    beta, yt = 0.5 * generator.normal(size=(Q, Q)), generator.normal(size=(Q, Q))
    return Layers(generator.normal(size=(N, Q)), np.arange(N) % Q, R, beta, yt)


def worst(*differences: Array) -> float:
    """Largest absolute entry of all arrays."""
    return float(np.max([np.abs(difference).max() for difference in differences]))


def _slope(f: Callable[[float], Any]) -> Any:
    """Derivative at 0 by a central difference."""
    return (f(DIFFERENCE) - f(-DIFFERENCE)) / (2 * DIFFERENCE)


def independence_of_scale(draw: Draw, generator: np.random.Generator) -> Errors:
    """(6.2): tau of W_* R, W_* diagonal and positive, equals tau of R; R W_* for control."""
    scale = generator.uniform(0.2, 5.0, size=len(draw.R))
    plain = truncation.truncation_map(draw.X, draw.R, draw.beta)
    aligned, other = (
        worst(truncation.truncation_map_of_weights(draw.X, W, draw.beta) - plain)
        for W in (scale[:, None] * draw.R, draw.R * scale)
    )
    return holds(aligned, other)


def affine_form(draw: Draw, generator: np.random.Generator) -> Errors:
    """(3.12) for a general weight, against the definition (2.9)."""
    W = generator.uniform(0.5, 2.0, size=(len(draw.R), 1)) * draw.R
    defined = truncation.truncation_map_of_weights(draw.X, W, draw.beta)
    printed = truncation.affine_truncation_map_as_printed(draw.X, W, draw.beta)
    corrected = truncation.affine_truncation_map(draw.X, W, draw.beta)
    return fixed(worst(printed - defined), worst(corrected - defined))


def layer_pullback(network: Network) -> Errors:
    """(2.17) against the network's own last hidden layer."""
    cumulative = truncation.cumulative_parameters(network.weights, network.biases)
    layer = truncation.hidden_layers(network.x, network.weights, network.biases)[-1]
    printed = truncation.layer_from_truncation_as_printed(network.x, cumulative)
    corrected = truncation.layer_from_truncation(network.x, cumulative)
    return fixed(worst(printed - layer), worst(corrected - layer))


def output_pullback(network: Network) -> Errors:
    """(2.18): output = W^(L+1) tau(x), with output bias 0 and with -W_{L+1} b^(L)."""
    cumulative = truncation.cumulative_parameters(network.weights, network.biases)
    pulled = truncation.composed_truncation(network.x, cumulative.W, cumulative.beta)
    claimed = pulled @ (network.W_out @ cumulative.W[-1]).T
    output = truncation.hidden_layers(network.x, network.weights, network.biases)[-1] @ network.W_out.T
    bias = truncation.output_bias_for_pullback(network.W_out, cumulative.b[-1])
    return fixed(worst(output - claimed), worst(output + bias - claimed))


def output_shift(network: Network) -> Errors:
    """(1.4), (2.7): beta^(L+1) against sum_j (W^(j))^{-1} b_j, the sum that (2.6) states, with b_{L+1} = 1."""
    weights, biases = [*network.weights, network.W_out], [*network.biases, np.ones(len(network.W_out))]
    cumulative = truncation.cumulative_parameters(weights, biases)
    terms = [np.linalg.solve(W, b) for W, b in zip(cumulative.W, biases, strict=True)]
    printed = truncation.output_bias_as_printed(network.W_out, cumulative.beta[-2])
    total = np.sum(terms, axis=0)
    return fixed(worst(printed - total), worst(cumulative.beta[-1] - total))


def cost_split(draw: Draw) -> Errors:
    """(3.7): variance within the cluster plus squared distance of its mean, against the plain mean of squares.

    Control: the variance alone.
    """
    images = truncation.truncation_map(draw.X, draw.R, draw.beta)
    plain = 0.5 * np.mean(np.sum((images - draw.yt) ** 2, axis=1))
    within, distance = separated.cost_decomposition(images, draw.yt)
    return holds(abs(within + distance - plain), abs(within - plain))


def _oracle(draw: Draw) -> tuple[Array, Array]:
    dbeta, Omega = derivatives.flow_by_complex_step(draw.X, draw.w, draw.yt, draw.R[None], draw.beta[None])
    return dbeta[0], Omega[0]


def bias_flow(draw: Draw) -> Errors:
    """(3.19) against the gradient of the cost; H in place of 1 - H for control."""
    dbeta = _oracle(draw)[0]
    errors = [worst(separated.bias_velocity(H, draw.R, draw.b, draw.w) - dbeta) for H in (draw.H, 1 - draw.H)]
    return holds(*errors)


def counted_shares(draw: Draw) -> Errors:
    """(3.39)-(3.40): Jp as the share of points with coordinate <= 0, counted one by one; > 0 for control."""
    J, _ = separated.sector_moments(draw.X, draw.yt, draw.R, draw.beta)
    counts = np.zeros(len(J))
    for x in draw.X:
        for r, row in enumerate(draw.R):
            counts[r] += sum(row[a] * (x[a] + draw.beta[a]) for a in range(len(x))) <= 0
    return holds(worst(1 - J - counts / len(draw.X)), worst(J - counts / len(draw.X)))


def weight_flow(draw: Draw) -> Errors:
    """(3.22)-(3.23) against the tangential gradient of the cost."""
    true = _oracle(draw)[1]
    printed, corrected = separated.generator_as_printed(*draw.state), separated.generator(*draw.state)
    return fixed(worst(printed - true), worst(corrected - true))


def weight_flow_sign(draw: Draw) -> Errors:
    """(1.14), (4.1), dR = -Omega R, against the gradient; Omega itself corrected."""
    Omega, true = separated.generator(*draw.state), _oracle(draw)[1]
    return fixed(worst(-Omega - true), worst(Omega - true))


def matrix_elements(draw: Draw) -> Errors:
    """(3.38), (4.3) against (3.22), whose matrix elements they claim to be."""
    elements = separated.generator_from_first_moments_as_printed(*draw.state)
    commutators = separated.generator_by_commutators(*draw.state, quadratic=False)
    return fixed(worst(elements - commutators), worst(0.5 * elements - commutators))


def moment_form(draw: Draw) -> Errors:
    """Omega and cost from the half-space moments (J, S), no pass through the network; without J for control.

    Ours: it stands in for (3.38) of Corollary 3.5.
    """
    J, S = separated.sector_moments(draw.X, draw.yt, draw.R, draw.beta)
    true = _oracle(draw)[1]
    plain = float(separated.cost(*draw.state))
    error = worst(separated.generator_from_moments(J, S, draw.R, draw.b) - true)
    without = worst(separated.generator_from_moments(0 * J, S, draw.R, draw.b) - true)
    return holds(max(error, abs(separated.cost_from_moments(J, S, draw.R, draw.b) - plain)), without)


def full_gradient(draw: Draw) -> Errors:
    """(6.16): (dC/dR) R^T, whose first term is H u u^T H + H u u^T, not 2 H u u^T H."""
    G = derivatives.gradient(lambda R: draw.cost(R, draw.beta), draw.R)
    N, H, u = len(draw.X), draw.H, draw.u
    square, folded = (H * u).T @ u / N, (H * u).T @ (H * u) / N
    mixed = np.outer((H * u).mean(0), draw.b) + (H * draw.b).T @ u / N
    true = G @ draw.R.T
    return fixed(worst(2 * folded - mixed - true), worst(folded + square - mixed - true))


def lemma_6_1(draw: Draw, generator: np.random.Generator) -> Errors:
    """(6.11): df/ds = -Tr(omega pi_-(G R^T)) along exp(s omega) R, against a central difference of the cost.

    Control: without the minus sign.
    """
    A = generator.normal(size=draw.R.shape)
    omega = A - A.T
    slope = _slope(lambda s: draw.cost(scipy.linalg.expm(s * omega) @ draw.R, draw.beta).real)
    trace = float(np.trace(omega @ _oracle(draw)[1]))
    return holds(abs(slope - trace), abs(slope + trace))


def dissipation(draw: Draw) -> Errors:
    """(3.25), (3.26): dC/ds by the biases and by the weights alone, against central differences.

    Control: the printed Omega.
    """
    dbeta, Omega = _oracle(draw)
    by_biases = _slope(lambda s: draw.cost(draw.R, draw.beta + s * dbeta).real)
    by_weights = _slope(lambda s: draw.cost(scipy.linalg.expm(s * Omega) @ draw.R, draw.beta).real)
    Jp, printed = 1 - draw.w @ draw.H, separated.generator_as_printed(*draw.state)
    of_biases = abs(by_biases - float(separated.dissipation(Jp, draw.b, 0 * Omega)))
    of_weights = [abs(by_weights - float(separated.dissipation(0 * Jp, draw.b, M))) for M in (Omega, printed)]
    return holds(*(max(of_biases, error) for error in of_weights))


def residual_motion(draw: Draw) -> Errors:
    """(4.23) against a central difference of R (beta + yt); the sign of (4.1) for control."""
    dbeta, Omega = _oracle(draw)
    slope = _slope(lambda s: scipy.linalg.expm(s * Omega) @ draw.R @ (draw.beta + s * dbeta + draw.yt))
    Jp = 1 - draw.w @ draw.H
    return holds(*(worst(slope - separated.truncated_residual(draw.b, M, Jp)) for M in (Omega, -Omega)))


def composition_products(layers: Layers) -> Errors:
    """(7.2) for every range of layers, against composing their maps; biases with the other sign for control.

    The points, ten of the draw, enter at the first layer of the range as they are, not as images of the layers before.
    """
    errors: list[list[Array]] = []
    points = layers.X[:10]
    for first, last in combinations(range(len(layers.R) + 1), 2):
        R, beta = layers.R[first:last], layers.beta[first:last]
        passed = general.forward(points, R, beta)
        errors += [
            [general.composition_by_products(passed, R, sign * beta, 1, k) - passed.z[-1][k] for sign in (1.0, -1.0)]
            for k in range(len(points))
        ]
    return holds(*(worst(error) for error in np.moveaxis(np.array(errors), 1, 0)))


def point_bias_gradient(layers: Layers) -> Errors:
    """(7.11) for one point, against complex steps."""
    Q, passed, label = len(layers.R), general.forward(layers.X, layers.R, layers.beta), layers.yt[0]
    gradient = derivatives.gradient(
        lambda beta: derivatives.complex_cost(layers.X[:1], np.ones(1), label, layers.R, beta), layers.beta
    )
    state = (passed, layers.R, layers.beta, label)
    printed = [general.bias_gradient_of_point_as_printed(*state, layer, 0) for layer in range(1, Q + 1)]
    corrected = [general.bias_gradient_of_point(*state, layer, 0) for layer in range(1, Q + 1)]
    return fixed(worst(np.array(printed) - gradient), worst(np.array(corrected) - gradient))


def _layers_oracle(layers: Layers) -> tuple[Array, Array]:
    w = general.cluster_weights(layers.cluster, len(layers.yt))
    return derivatives.flow_by_complex_step(layers.X, w, layers.yt[layers.cluster], layers.R, layers.beta)


def general_bias_flow(layers: Layers) -> Errors:
    """(5.4) against the gradient of the cost of all layers."""
    dbeta = _layers_oracle(layers)[0]
    printed = general.bias_velocity_as_printed(layers.X, layers.cluster, layers.R, layers.beta, layers.yt)
    corrected = general.general_effective_gradient(*layers).dbeta
    return fixed(worst(printed - dbeta), worst(corrected - dbeta))


def general_weight_flow(layers: Layers) -> Errors:
    """(5.6)-(5.7) against the tangential gradient of the cost of all layers; the other sign for control."""
    Omega, true = general.general_effective_gradient(*layers).Omega, _layers_oracle(layers)[1]
    return holds(worst(Omega - true), worst(-Omega - true))


def last_layer_of_theorem_5_1(draw: Draw) -> Errors:
    """Theorem 3.2 against Theorem 5.1 with one layer: the printed two contradict each other."""
    cluster = np.zeros(len(draw.X), dtype=int)
    layered = general.general_effective_gradient(draw.X, cluster, draw.R[None], draw.beta[None], draw.yt[None])
    printed, corrected = separated.generator_as_printed(*draw.state), separated.generator(*draw.state)
    return fixed(worst(printed - layered.Omega[0]), worst(corrected - layered.Omega[0]))


OF_CLUSTERS: dict[str, Callable[[Draw], Errors]] = {
    equations.COST_SPLIT: cost_split,
    equations.BIAS_FLOW: bias_flow,
    equations.COUNTED_SHARES: counted_shares,
    equations.WEIGHT_FLOW: weight_flow,
    equations.WEIGHT_FLOW_SIGN: weight_flow_sign,
    equations.MATRIX_ELEMENTS: matrix_elements,
    equations.MOMENT_FORM: moment_form,
    equations.DISSIPATION: dissipation,
    equations.RESIDUAL_MOTION: residual_motion,
    equations.FULL_GRADIENT: full_gradient,
    equations.LAST_LAYER_OF_THEOREM_5_1: last_layer_of_theorem_5_1,
}
OF_CLUSTERS_WITH_CHANCE: dict[str, Callable[[Draw, np.random.Generator], Errors]] = {
    equations.INDEPENDENCE_OF_SCALE: independence_of_scale,
    equations.AFFINE_FORM: affine_form,
    equations.LEMMA_6_1: lemma_6_1,
}
OF_NETWORKS: dict[str, Callable[[Network], Errors]] = {
    equations.LAYER_PULLBACK: layer_pullback,
    equations.OUTPUT_PULLBACK: output_pullback,
    equations.OUTPUT_SHIFT: output_shift,
}
OF_LAYERS: dict[str, Callable[[Layers], Errors]] = {
    equations.COMPOSITION_PRODUCTS: composition_products,
    equations.POINT_BIAS_GRADIENT: point_bias_gradient,
    equations.GENERAL_BIAS_FLOW: general_bias_flow,
    equations.GENERAL_WEIGHT_FLOW: general_weight_flow,
}
