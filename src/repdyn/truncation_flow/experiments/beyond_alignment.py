"""What the choice of parameters leaves out: weights that lose alignment, layers in place of their products."""

from __future__ import annotations

import numpy as np
import scipy

from repdyn.base.arrays import Array
from repdyn.truncation_flow.experiments.proposition import BELOW, BEYOND, RADII, cluster_near_planes
from repdyn.truncation_flow.theory import unaligned
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
    """One truncated point, two layers of width 1 and biases 0, where the weights rest: velocities of beta^(2).

    beta^(2) = b_1/W_1 + b_2/(W_1 W_2), cost (beta^(2) + yt)^2/2. As a parameter of its own beta^(2) moves at rate 1.
    """
    measured: Measured = {}
    for name, (first, second) in {"": (2.0, 0.5), "_last": (np.inf, 0.0)}.items():
        slopes = np.array([1 / first, 1.0 if np.isinf(first) else 1 / (first * second)])
        measured[f"layer_rate{name}"] = (
            float(slopes @ slopes),
            "rate of beta^(2), layers' flow"
            + (", first bias without effect, W_2 W_1 = 1" if name else ", W_1 = 2, W_2 = 1/2"),
        )
    return measured
