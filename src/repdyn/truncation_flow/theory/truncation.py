r"""Truncation maps and cumulative parameters: Chen, Sections 1-2.

Conventions: rows of X are points; R is orthogonal, Q x Q; the apex of the truncation cone is -beta.
A hidden layer is x -> sigma(W x + b) with sigma = ReLU and sigma'(0) = 0 (1.2).
Pulled back to the input, layer l acts as tau_l(x) = R_l^T sigma(R_l (x + beta_l)) - beta_l (1.6), (6.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import inputs

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


class CumulativeParameters(NamedTuple):
    """Cumulative weights (L, Q, Q), biases (L, Q) and pulled-back biases (L, Q) of (2.6)."""

    W: Array
    b: Array
    beta: Array


def truncation_map(
    x: Float[ArrayLike, "N Q"], R: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> Float[Array, "N Q"]:
    """Pull one ReLU layer back to the input: tau(x) = R^T sigma(R (x + beta)) - beta (1.6), (6.2).

    Args:
        x: points, input units.
        R: orthogonal matrix.
        beta: pulled-back bias, input units.

    Returns:
        Images, input units.

    Raises:
        ValueError: if shapes disagree, R is not orthogonal, or a number is not finite.

    Example:
        >>> truncation_map([[1.0, -2.0], [3.0, 4.0]], [[1, 0], [0, 1]], [0.5, 0.5]).tolist()
        [[1.0, -0.5], [3.0, 4.0]]
    """
    return truncate(*inputs.cluster_state(x, R, beta, "x"))


def truncate(
    X: Float[Array, "*#batch N Q"], R: Float[Array, "*#batch Q Q"], beta: Float[Array, "*#batch Q"]
) -> Float[Array, "*batch N Q"]:
    """`truncation_map`, (1.6), without checks, batched: X (..., N, Q), R (..., Q, Q), beta (..., Q)."""
    offset = beta[..., None, :]
    return np.maximum((X + offset) @ R.mT, 0.0) @ R - offset


def truncation_map_of_weights(
    x: Float[ArrayLike, "N Q"], W: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> Float[Array, "N Q"]:
    """Pull one ReLU layer back by any invertible W: tau(x) = W^{-1} sigma(W (x + beta)) - beta (2.9).

    Raises:
        ValueError: if W is singular or shapes disagree.
    """
    X = inputs.points(x, "x")
    W = inputs.invertible(W, "W")
    beta = arguments.shaped(beta, "beta", (X.shape[1],))
    return np.linalg.solve(W, np.maximum((X + beta) @ W.T, 0.0).T).T - beta


def sector_pattern(
    X: Float[ArrayLike, "N Q"], R: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> Float[Array, "N Q"]:
    """Activation pattern H_ki = 1[(R (x_k + beta))_i > 0] (3.9)-(3.11).

    A point on the boundary counts as truncated, h(0) = 0 (1.2).

    Raises:
        ValueError: if shapes disagree or R is not orthogonal.

    Example:
        >>> sector_pattern([[1.0, -2.0], [3.0, 4.0]], [[1, 0], [0, 1]], [0.5, 0.5]).astype(int).tolist()
        [[1, 0], [1, 1]]
    """
    X, R, beta = inputs.cluster_state(X, R, beta)
    return ((X + beta) @ R.T > 0).astype(np.float64)


def affine_truncation_map(
    x: Float[ArrayLike, "N Q"], W: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> Float[Array, "N Q"]:
    """Corrected (3.12): tau(x) = W^{-1} H W x - W^{-1} (1 - H) W beta, H = H(W (x + beta)).

    The inverse is the transpose for W in O(Q), where (3.12) and (7.6) hold as printed.
    """
    return _affine(x, W, beta, cast("Array", np.linalg.inv(inputs.invertible(W, "W"))))


def affine_truncation_map_as_printed(
    x: Float[ArrayLike, "N Q"], W: Float[ArrayLike, "Q Q"], beta: Float[ArrayLike, "Q"]
) -> Float[Array, "N Q"]:
    """(3.12) as printed: tau(x) = W^T H W x - W^T (1 - H) W beta, wrong unless W is orthogonal."""
    return _affine(x, W, beta, np.asarray(W, dtype=np.float64).T)


def _affine(x: ArrayLike, W: ArrayLike, beta: ArrayLike, left: Array) -> Array:
    X, W, beta = np.asarray(x), np.asarray(W), np.asarray(beta)
    H = (X + beta) @ W.T > 0
    return (H * (X @ W.T) - ~H * (W @ beta)) @ left.T


def cumulative_parameters(
    weights: Float[Array, "L Q Q"] | Sequence[Float[ArrayLike, "Q Q"]],
    biases: Float[Array, "L Q"] | Sequence[Float[ArrayLike, "Q"]],
) -> CumulativeParameters:
    """Cumulative parameters W^(l) = W_l ... W_1, b^(l) = W_l b^(l-1) + b_l, beta^(l) = (W^(l))^{-1} b^(l) (2.6).

    Applied to L + 1 layers it gives beta^(L+1) = sum_j (W^(j))^{-1} b_j, which corrects (1.4) and (2.7).

    Args:
        weights: W_1, ..., W_L, each (Q, Q).
        biases: b_1, ..., b_L, each (Q,).

    Returns:
        `W` (L, Q, Q), `b` (L, Q), `beta` (L, Q).

    Raises:
        ValueError: if a cumulative weight is singular or the sequences differ in length.
    """
    if len(weights) != len(biases) or not len(weights):
        raise ValueError(f"got {len(weights)} weights and {len(biases)} biases; expected equal numbers, at least one")
    W: list[Array] = []
    b: list[Array] = []
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        weight = inputs.invertible(weight, f"weights[{layer}]")
        bias = arguments.shaped(bias, f"biases[{layer}]", (weight.shape[0],))
        W.append(inputs.invertible(weight @ W[-1], f"W^({layer + 1})") if W else weight)
        b.append(weight @ b[-1] + bias if b else bias)
    beta = [np.linalg.solve(matrix, offset) for matrix, offset in zip(W, b, strict=True)]
    return CumulativeParameters(np.array(W), np.array(b), np.array(beta))


def layers_of_cumulative(
    W: Float[Array, "L Q Q"], beta: Float[Array, "L Q"]
) -> tuple[Float[Array, "L Q Q"], Float[Array, "L Q"]]:
    """Layers W_l = W^(l) (W^(l-1))^{-1}, b_l = W^(l) (beta^(l) - beta^(l-1)), which invert (2.6); (L, Q, Q), (L, Q)."""
    before = np.concatenate([np.eye(W.shape[-1])[None], W[:-1]])
    shift = np.diff(beta, axis=0, prepend=np.zeros((1, beta.shape[-1])))
    return W @ np.linalg.inv(before), np.einsum("lij,lj->li", W, shift)


def output_bias_as_printed(W_out: Float[ArrayLike, "Q Q"], beta_last: Float[ArrayLike, "Q"]) -> Float[Array, "Q"]:
    """beta^(L+1) = W_{L+1}^{-1} beta^(L) as printed in (1.4), (2.7); (2.6) at L + 1 gives another vector."""
    return np.linalg.solve(np.asarray(W_out, dtype=np.float64), np.asarray(beta_last, dtype=np.float64))


def hidden_layers(
    x: Float[ArrayLike, "N Q"],
    weights: Float[Array, "L Q Q"] | Sequence[Float[ArrayLike, "Q Q"]],
    biases: Float[Array, "L Q"] | Sequence[Float[ArrayLike, "Q"]],
) -> list[Float[Array, "N Q"]]:
    """Hidden layers of the network, x^(l) = sigma(W_l x^(l-1) + b_l) (2.1), a list of (N, Q)."""
    layers, z = [], np.asarray(x, dtype=np.float64)
    for W, b in zip(weights, biases, strict=True):
        z = np.maximum(z @ np.asarray(W).T + b, 0.0)
        layers.append(z)
    return layers


def composed_truncation(
    x: Float[ArrayLike, "N Q"], W: Float[Array, "L Q Q"], beta: Float[Array, "L Q"]
) -> Float[Array, "N Q"]:
    """The composition tau^(L) o ... o tau^(1) (2.16) of the maps given by cumulative W (L, Q, Q), beta (L, Q)."""
    z = np.asarray(x, dtype=np.float64)
    for matrix, offset in zip(W, beta, strict=True):
        z = truncation_map_of_weights(z, matrix, offset)
    return z


def layer_from_truncation(x: Float[ArrayLike, "N Q"], cumulative: CumulativeParameters) -> Float[Array, "N Q"]:
    """Corrected (2.17): x^(l) = W^(l) tau^(l..1)(x) + b^(l), with l the last layer given."""
    return layer_from_truncation_as_printed(x, cumulative) + cumulative.b[-1]


def layer_from_truncation_as_printed(
    x: Float[ArrayLike, "N Q"], cumulative: CumulativeParameters
) -> Float[Array, "N Q"]:
    """(2.17) as printed: x^(l) = W^(l) tau^(l..1)(x), which lacks b^(l)."""
    return composed_truncation(x, cumulative.W, cumulative.beta) @ cumulative.W[-1].T


def output_bias_for_pullback(W_out_layer: Float[ArrayLike, "Q Q"], b_last: Float[ArrayLike, "Q"]) -> Float[Array, "Q"]:
    """The output bias b_{L+1} = -W_{L+1} b^(L) under which (2.18), output = W^(L+1) tau(x), holds."""
    return -np.asarray(W_out_layer, dtype=np.float64) @ np.asarray(b_last, dtype=np.float64)
