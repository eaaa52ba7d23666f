"""Formulas of Sections 2, 6, 8 and 9 on weights, metrics and the standard cost, each against an independent derivation.

Complex steps of the network's own cost (`theory.derivatives`) serve as the derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, fixed, holds
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.formula_audit import Draw, Layers, random_cluster, random_layers, worst
from repdyn.truncation_flow.theory import derivatives, equations, general
from repdyn.truncation_flow.theory.truncation import hidden_layers, layers_of_cumulative, output_bias_for_pullback

COLLAPSED_FILL = 0.5  # cluster radius over the largest that the explicit construction separates


class Weighted(NamedTuple):
    """A cluster with a state and, besides, a general weight, an output weight, a symmetric and an invertible matrix."""

    draw: Draw
    W: Array
    W_out: Array
    symmetric: Array
    A: Array


class Trained(NamedTuple):
    """Clusters under truncation maps with a trained output: data, cluster of each point, state, output, labels.

    V holds the cumulative hidden weights, free and invertible; W is the cumulative output weight W^(Q+1).
    """

    X: Array
    cluster: NDArray[np.intp]
    V: Array
    beta: Array
    W: Array
    y: Array

    @property
    def w(self) -> Array:
        """Weight 1/N_c of every point."""
        return general.cluster_weights(self.cluster, len(self.y))

    def cost(self, V: Array, beta: Array, W: Array) -> Array:
        """Standard cost (2.22) at other parameters, batched over leading axes."""
        return derivatives.complex_standard_cost(self.X, self.w, self.y[self.cluster], V, beta, W)


def random_weights(Q: int, N: int, generator: np.random.Generator) -> Weighted:
    """A Gaussian cluster and random matrices; those to be inverted have singular values between 1/2 and 2."""
    draw = random_cluster(Q, N, generator)
    left, right = scipy.stats.ortho_group.rvs(Q, size=6, random_state=generator).reshape(2, 3, Q, Q)
    W, W_out, A = (left * generator.uniform(0.5, 2.0, (3, 1, Q))) @ right
    M = generator.normal(size=(Q, Q))
    return Weighted(draw, W, W_out, M + M.T, A)


def collapsed(Q: int, N: int, generator: np.random.Generator) -> Trained:
    """Simplex clusters that their truncation maps collapse to the points -beta_l, (8.1), under free weights."""
    R, _, yt = simplex_initial_data(Q)
    size = -(-N // Q)
    clusters = ball_clusters(np.eye(Q), size, COLLAPSED_FILL * largest_radius(Q), generator)
    W, y = generator.normal(size=(2, Q, Q))
    V = collapsing_weights(clusters, R, -yt, generator)
    return Trained(clusters.reshape(-1, Q), np.repeat(np.arange(Q), size), V, -yt, W, y)


def collapsing_weights(X: Array, R: Array, beta: Array, generator: np.random.Generator) -> Array:
    """Cumulative weights that are not aligned and collapse the same clusters: D (1 + e G) R, G Gaussian, D diagonal.

    e is halved from 1/2 until every cluster keeps its sectors with half of the margin of R.

    Args:
        X: points, shape (N, Q), input units.
        R: orthogonal matrices that collapse them, shape (L, Q, Q).
        beta: cumulative biases, shape (L, Q), input units.
        generator: source of D and G.

    Returns:
        Weights V, shape (L, Q, Q).
    """
    shape = R.shape
    scale, G = generator.uniform(0.5, 2.0, size=(len(R), shape[-1], 1)), generator.normal(size=shape)
    least, size = 0.5 * collapse_margin(X, R, beta), 0.5
    while collapse_margin(X, (np.eye(shape[-1]) + size * G) @ R, beta) < least:
        size /= 2
    return scale * ((np.eye(shape[-1]) + size * G) @ R)


def collapse_margin(X: Array, V: Array, beta: Array) -> float:
    """Distance to the loss of: every cluster fully truncated by its own map, untouched by the others.

    Points -beta_l, the collapsed clusters, must be untouched by later maps too. X (K, N, Q), V (K, Q, Q), beta (K, Q).
    """
    distances = []
    for layer in range(len(V)):
        distances.append(np.min(-(X[layer] + beta[layer]) @ V[layer].T))
        for other in range(len(V)):
            where = X[other] if other > layer else -beta[other][None]
            if other != layer:
                distances.append(np.min((where + beta[layer]) @ V[layer].T))
    return float(min(distances))


def untruncated(layers: Layers, generator: np.random.Generator) -> Trained:
    """Data in the positive sector of every truncation map, (9.1)-(9.2): biases V_l^{-1} (1, .., 1) times a bound.

    The free weights have singular values between 1/2 and 2.
    """
    Q = len(layers.R)
    left = scipy.stats.ortho_group.rvs(Q, size=Q, random_state=generator)
    V = (left * generator.uniform(0.5, 2.0, (Q, 1, Q))) @ layers.R
    reach = 2 * np.linalg.norm(layers.X, axis=1).max() + 0.1
    W, y = generator.normal(size=(2, Q, Q))
    return Trained(layers.X, layers.cluster, V, reach * np.linalg.solve(V, np.ones((Q, Q, 1)))[..., 0], W, y)


def metric_invariance(drawn: Weighted) -> Errors:
    """(2.25): the pullback metric under W^(L) -> A W^(L) with W^(L+1), or with W_{L+1}, times A^{-1}."""
    total = drawn.W_out @ drawn.W
    inverse = np.linalg.inv(drawn.A)
    printed, corrected = total @ inverse, (drawn.W_out @ inverse) @ (drawn.A @ drawn.W)
    return fixed(*(worst(changed.T @ changed - total.T @ total) for changed in (printed, corrected)))


def bias_derivative(drawn: Weighted) -> Errors:
    """(3.13): the derivative of tau in beta is -W^{-1} H^perp W, any weight; its transpose for control."""
    draw, W, inverse = drawn.draw, drawn.W, np.linalg.inv(drawn.W)
    H = ((draw.X + draw.beta) @ W.T > 0).astype(np.float64)
    claimed = np.array([-inverse @ np.diag(1 - h) @ W for h in H])
    stepped = np.empty_like(claimed)
    for j in range(len(W)):
        beta = draw.beta + 1j * derivatives.STEP * np.eye(len(W))[j]
        moved = derivatives.complex_truncation_of_weights(draw.X, W, beta)
        stepped[:, :, j] = moved.imag / derivatives.STEP
    return holds(worst(claimed - stepped), worst(claimed.mT - stepped))


def general_bias_gradient(drawn: Weighted) -> Errors:
    """(6.4): dC/dbeta = -int W^T H^perp W^{-T} (tau - yt) for any weight; W^{-1} H^perp W for control."""
    draw, W, inverse = drawn.draw, drawn.W, np.linalg.inv(drawn.W)

    def cost(beta: Array) -> complex:
        images = derivatives.complex_truncation_of_weights(draw.X, W, beta)
        return 0.5 * complex(np.sum(draw.w[:, None] * (images - draw.yt) ** 2))

    gradient = derivatives.gradient(cost, draw.beta)
    residual = derivatives.complex_truncation_of_weights(draw.X, W, draw.beta) - draw.yt
    H = (draw.X + draw.beta) @ W.T > 0
    pulled = -np.einsum("k,ki->i", draw.w, (~H * (residual @ inverse)) @ W)
    swapped = -np.einsum("k,ki->i", draw.w, (~H * (residual @ W.T)) @ inverse.T)
    return holds(worst(pulled - gradient), worst(swapped - gradient))


def cancellation(drawn: Weighted) -> Errors:
    """(6.8): H^perp(x) sigma(R (x + beta)) = 0, which takes (6.5) to (6.7); H in place of H^perp for control."""
    H, rectified = drawn.draw.H, np.maximum(drawn.draw.u, 0.0)
    return holds(*(worst(part * rectified) for part in (1 - H, H)))


def cross_term(drawn: Weighted, metric: Array) -> float:
    """Size of int R^T H^perp R g R^T sigma(u), which is zero for g = 1 by (6.8): what the metric g adds to (6.7)."""
    draw = drawn.draw
    rectified = np.maximum(draw.u, 0.0) @ draw.R @ metric.T
    return float(np.linalg.norm(draw.w @ ((1 - draw.H) * (rectified @ draw.R.T))))


def commutator_blocks(drawn: Weighted) -> Errors:
    """(3.27): H M - M H = H M H^perp - H^perp M H for symmetric M; a plus sign for control."""
    M, errors = drawn.symmetric, []
    for h in drawn.draw.H:
        H, off = np.diag(h), np.diag(1 - h)
        errors.append([worst(H @ M - M @ H - H @ M @ off - sign * off @ M @ H) for sign in (-1.0, 1.0)])
    return holds(*np.max(errors, axis=0))


def commutator_elements(drawn: Weighted) -> Errors:
    """(3.35): [H, M]_ij = (nu_i - nu_j) M_ij in the sector nu; nu_i + nu_j for control."""
    M, errors = drawn.symmetric, []
    for nu in drawn.draw.H:
        commutator = np.diag(nu) @ M - M @ np.diag(nu)
        factors = (nu[:, None] - nu[None, :], nu[:, None] + nu[None, :])
        errors.append([worst(factor * M - commutator) for factor in factors])
    return holds(*np.max(errors, axis=0))


def collapsed_gradient(trained: Trained) -> Errors:
    """(8.4)-(8.7): dB = -W^T (W B + Y), dW = -(W B + Y) B^T, no motion of V, for collapsed clusters.

    Control: W B - Y in place of W B + Y.
    """
    (dbeta, dV), dW = _hidden_velocity(trained), _output_velocity(trained)
    B, Y, W = trained.beta.T, trained.y.T, trained.W
    errors = []
    for sign in (1.0, -1.0):
        E = W @ B + sign * Y
        errors.append(worst(dbeta.T + W.T @ E, dV, dW + E @ B.T))
    return holds(*errors)


def collapsed_cost(trained: Trained) -> Errors:
    """(8.2) against the network of the cumulative parameters: printed with its own output weight and no output bias.

    Corrected with the cumulative output weight and the output bias of (2.18).
    """
    weights, biases = layers_of_cumulative(trained.V, trained.beta)
    last = hidden_layers(trained.X, weights, biases)[-1]
    own, labels = trained.W @ np.linalg.inv(trained.V[-1]), trained.y[trained.cluster]
    bias = output_bias_for_pullback(own, trained.V[-1] @ trained.beta[-1])
    errors = []
    for output, offset in ((own, 0.0), (trained.W, bias)):
        defined = 0.5 * float(trained.w @ np.sum((last @ own.T + offset - labels) ** 2, axis=1))
        errors.append(abs(0.5 * float(np.sum((output @ trained.beta.T + trained.y.T) ** 2)) - defined))
    return fixed(*errors)


def _hidden_velocity(trained: Trained) -> tuple[Array, Array]:
    """Negative gradient of the standard cost in the biases and in the free hidden weights."""
    V, beta, W = trained.V, trained.beta, trained.W
    return (
        -derivatives.batched_gradient(lambda moved: trained.cost(V, moved, W), beta),
        -derivatives.batched_gradient(lambda moved: trained.cost(moved, beta, W), V),
    )


def _output_velocity(trained: Trained) -> Array:
    """Negative gradient of the standard cost in the cumulative output weight."""
    return -derivatives.batched_gradient(lambda moved: trained.cost(trained.V, trained.beta, moved), trained.W)


def hidden_layers_rest(trained: Trained, elsewhere: Trained) -> Errors:
    """(9.6): untruncated data leave all V_l and beta_l at rest; partly truncated data for control."""
    return holds(*(worst(*_hidden_velocity(state)) for state in (trained, elsewhere)))


def output_gradient(trained: Trained) -> Errors:
    """(9.7) as printed: dW = -(W X - Y_ext) X^T / N against the descent of (9.3); the other sign for control."""
    N, labels = len(trained.X), trained.y[trained.cluster]
    network = (trained.X, np.full(N, 1.0 / N), labels, trained.V, trained.beta)
    dW = -derivatives.batched_gradient(lambda W: derivatives.complex_standard_cost(*network, W), trained.W)
    claimed = -(trained.X @ trained.W.T - labels).T @ trained.X / N
    return holds(worst(claimed - dW), worst(claimed + dW))


def cost_of_untruncated(trained: Trained) -> Errors:
    """(9.3): the standard cost (2.22) of untruncated data with weights 1/N, as printed, and with 1/N_c."""
    defined = float(trained.cost(trained.V, trained.beta, trained.W).real)
    squares = np.sum((trained.X @ trained.W.T - trained.y[trained.cluster]) ** 2, axis=1)
    return fixed(abs(0.5 * float(squares.mean()) - defined), abs(0.5 * float(trained.w @ squares) - defined))


OF_WEIGHTS: dict[str, Callable[[Weighted], Errors]] = {
    equations.METRIC_INVARIANCE: metric_invariance,
    equations.BIAS_DERIVATIVE: bias_derivative,
    equations.COMMUTATOR_BLOCKS: commutator_blocks,
    equations.COMMUTATOR_ELEMENTS: commutator_elements,
    equations.GENERAL_BIAS_GRADIENT: general_bias_gradient,
    equations.CANCELLATION: cancellation,
}
OF_TRAINED: tuple[str, ...] = (
    equations.COLLAPSED_COST,
    equations.COLLAPSED_GRADIENT,
    equations.COST_OF_UNTRUNCATED,
    equations.HIDDEN_LAYERS_REST,
    equations.OUTPUT_GRADIENT,
)


def trained_errors(Q: int, N: int, generator: np.random.Generator) -> list[Errors]:
    """Errors of the formulas `OF_TRAINED` on one draw."""
    layers = random_layers(Q, N, generator)
    free, at_apex = untruncated(layers, generator), collapsed(Q, N, generator)
    return [
        collapsed_cost(at_apex),
        collapsed_gradient(at_apex),
        cost_of_untruncated(free),
        hidden_layers_rest(free, elsewhere=free._replace(beta=layers.beta)),
        output_gradient(free),
    ]
