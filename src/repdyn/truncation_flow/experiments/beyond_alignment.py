"""What the choice of parameters leaves out: weights that lose alignment, layers in place of their products."""

from __future__ import annotations

import numpy as np
import scipy

from repdyn.base.arrays import Array
from repdyn.truncation_flow.experiments.proposition import BELOW, BEYOND, RADII, cluster_near_planes
from repdyn.truncation_flow.theory import unaligned
from repdyn.truncation_flow.theory.derivatives import gradient
from repdyn.truncation_flow.theory.truncation import cumulative_parameters, layers_of_cumulative

Measured = dict[str, tuple[float, str]]
STEP, HORIZON = 0.01, 4.0


def alignment_is_lost(draws: int, generator: np.random.Generator) -> Measured:
    """Rotating and misaligning part of the velocity of random clusters that meet (4.16); clusters fully truncated."""
    ratios, resting = [], 0.0
    for draw in range(draws):
        Q = 2 + draw % 3
        R, yt = scipy.stats.ortho_group.rvs(Q, random_state=generator), generator.normal(size=Q)
        v, b = -np.abs(generator.normal(size=(10, Q))), generator.normal(size=Q)
        turning, leaving = unaligned.rotating_and_misaligning(v @ R + yt, R, b @ R - yt, yt)
        if turning > 0:
            ratios.append(leaving / turning)
        resting = max(resting, *unaligned.rotating_and_misaligning(v @ R + yt, R, -np.abs(b) @ R - yt, yt))
    return {
        "misaligning": (float(np.median(ratios)), "misaligning over rotating part of dW/ds, median of random clusters"),
        "misaligning_truncated": (resting, "largest part of either kind, fully truncated clusters"),
    }


def collapse_without_alignment(generator: np.random.Generator) -> Measured:
    """The flow in (W, beta) from the data of Proposition 4.2, and from data that break (4.16)."""
    names = {"": (BELOW, 0.02, "data that meet (4.16)"), "_beyond": (BEYOND, 0.2, "data that break (4.16)")}
    measured: Measured = {}
    for suffix, (level, share, text) in names.items():
        spread, misaligned = 0.0, np.inf
        for Q, radius in RADII.items():
            X = cluster_near_planes(Q, 400, share, level, generator)
            W, beta = _flow(X, np.full(Q, radius / np.sqrt(Q)))
            spread = max(spread, float(np.mean(np.any((X + beta) @ W.T > 0, axis=1))))
            misaligned = min(misaligned, misalignment(W))
        measured |= {
            f"unaligned_left{suffix}": (spread, f"share of points not fully truncated at the end, W free, {text}"),
            f"unaligned_angle{suffix}": (misaligned, f"least deviation of W W^T from diagonal at the end, {text}"),
        }
    return measured


def _flow(X: Array, beta: Array) -> tuple[Array, Array]:
    """W and beta at the horizon from W = 1, label 0, by Heun's rule."""
    W, yt = np.eye(len(beta)), np.zeros(len(beta))
    for _ in range(round(HORIZON / STEP)):
        first = unaligned.velocity(X, W, beta, yt)
        second = unaligned.velocity(X, W + STEP * first.weight_speed, beta + STEP * first.bias_speed, yt)
        W = W + 0.5 * STEP * (first.weight_speed + second.weight_speed)
        beta = beta + 0.5 * STEP * (first.bias_speed + second.bias_speed)
    return W, beta


def misalignment(W: Array) -> float:
    """Largest entry of W W^T off the diagonal; 0 for W = D R with D diagonal."""
    gram = W @ W.T
    return float(np.abs(gram - np.diag(np.diag(gram))).max())


def cumulative_are_free(draws: int, generator: np.random.Generator) -> Measured:
    """Cumulative parameters drawn freely and independently, layers made from them, (2.6) applied to the layers."""
    errors, wrong = 0.0, np.inf
    for draw in range(min(draws, 50)):
        Q = 2 + draw % 3
        W, beta = generator.normal(size=(Q, Q, Q)) + 2 * np.eye(Q), generator.normal(size=(Q, Q))
        weights, biases = layers_of_cumulative(W, beta)
        errors = max(errors, _distance(weights, biases, W, beta))
        wrong = min(wrong, _distance(np.broadcast_to(weights[0], W.shape), biases, W, beta))
    text = "largest error of the cumulative parameters of layers made for them"
    return {
        "cumulative_error": (errors, text),
        "cumulative_error_tied": (wrong, "least error where all layers have one weight"),
    }


def _distance(weights: Array, biases: Array, W: Array, beta: Array) -> float:
    cumulative, _, offsets = cumulative_parameters(weights, biases)
    scale = np.linalg.cond(W).max()
    return max(float(np.abs(cumulative - W).max()), float(np.abs(offsets - beta).max())) / scale


def layer_flow_differs() -> Measured:
    """Rate of beta^(2) = b_1/W_1 + b_2/(W_1 W_2) under the gradient flow of two layers of width 1, by complex steps.

    The second layer truncates the point, so that beta^(2) as a parameter of its own moves at rate 1.
    """
    zero, ones = (2.0, -0.5, 0.0, 0.0), (2.0, -0.5, 1.0, 1.0)  # W_1, W_2, b_1, b_2
    rate, biased = _rate_of_layers(zero), _rate_of_layers(ones)
    errors = (rate - _rate_by_formula(*zero), biased - _rate_by_formula(*ones))
    resting = biased - _rate_by_formula(*zero)  # the biases enter through the motion of the weights alone
    return {
        "layer_rate": (rate, "rate of beta^(2), layers' flow, W_1 = 2, W_2 = -1/2, biases 0"),
        "layer_rate_biased": (biased, "rate of beta^(2), layers' flow, W_1 = 2, W_2 = -1/2, biases 1"),
        "layer_rate_last": (_rate_of_layers((1e8, -1e-8, 0.0, 0.0)), "rate of beta^(2), layers' flow, W_1 = 10^8"),
        "layer_rate_error": (max(map(abs, errors)), "largest error of the formula for these rates"),
        "layer_rate_error_resting": (abs(resting), "error of the formula without the motion of the weights, biases 1"),
    }


def _rate_of_layers(start: tuple[float, float, float, float], x: float = 3.0, yt: float = 0.3) -> float:
    """Minus d(beta^(2))/ds over beta^(2) + yt, for the cost (2.26) of the network as a function of its parameters."""

    def offset(parameters: Array) -> complex:
        W1, W2, b1, b2 = parameters
        return b1 / W1 + b2 / (W1 * W2)

    def cost(parameters: Array) -> complex:
        W1, W2, b1, b2 = parameters
        hidden = W1 * x + b1
        output = W2 * hidden * (hidden.real > 0) + b2
        image = output * (output.real > 0) / (W1 * W2) - offset(parameters)
        return 0.5 * (image - yt) ** 2

    at = np.array(start)
    return float(gradient(offset, at) @ gradient(cost, at) / (offset(at).real + yt))


def _rate_by_formula(W1: float, W2: float, b1: float, b2: float) -> float:
    beta = b1 / W1 + b2 / (W1 * W2)
    return (1 + beta**2) / W1**2 + (1 + (b2 / W2) ** 2) / (W1 * W2) ** 2
