r"""Flows of all L layers at once: Theorem 5.1 (Euclidean cost), the standard cost with trained output, plain descent.

Batch axes lead everywhere: R (..., L, Q, Q), beta (..., L, Q), points (..., n, Q).
"""

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from repdyn.base.arrays import Array
from repdyn.truncation_flow.methods.occupation import moved, stacked, states_at
from repdyn.truncation_flow.theory import general, unaligned

RESOLVED = 0.1
"""Largest change of a free weight in one step over its least singular value; a tenth keeps it far from singular."""


class Weights(NamedTuple):
    """Layer weights W_1..W_{L+1} (..., L + 1, Q, Q), hidden biases b_1..b_L (..., L, Q), output bias (..., Q)."""

    W: Array
    b: Array
    output_bias: Array


def general_flow(
    X: Array, w: Array, labels: Array, R: Array, beta: Array, times: Array, *, step: float
) -> tuple[Array, Array]:
    """Corrected flow of Theorem 5.1 by the explicit midpoint rule with Cayley retraction.

    Args:
        X: points, shape (..., n, Q).
        w: weight of every point, shape (n,).
        labels: pulled-back label of every point, shape (..., n, Q).
        R: orthogonal matrices at time 0, shape (..., L, Q, Q).
        beta: biases at time 0, shape (..., L, Q).
        times: increasing output times.
        step: largest step.

    Returns:
        R (T, ..., L, Q, Q) and beta (T, ..., L, Q).
    """

    def velocity(R: Array, beta: Array) -> tuple[Array, Array]:
        passed = general.forward(X, R, beta)
        dbeta, Omega = general.pull_back(passed, R, passed.z[-1] - labels, w)
        return Omega, dbeta

    return cast("tuple[Array, Array]", _midpoint_rule(velocity, (R, beta), times, step))


def _midpoint_rule(
    velocity: Callable[..., tuple[Array, ...]], start: tuple[Array, ...], times: Array, step: float
) -> tuple[Array, ...]:
    def advance(state: tuple[Array, ...], h: float) -> tuple[Array, ...]:
        middle = moved(state, velocity(*state), 0.5 * h)
        return moved(state, velocity(*middle), h)

    return stacked(states_at(times, step, start, advance))


def standard_cost_flow(
    X: Array, w: Array, y: Array, R: Array, beta: Array, W: Array, times: Array, *, step: float
) -> tuple[Array, Array, Array]:
    """Gradient flow of the standard cost sum_k w_k |W tau(x_k) - y_k|^2/2 (2.22) in (R_l, beta_l, W), midpoint rule.

    Here W is trained with the truncation maps.

    Args:
        X: points, shape (n, Q), input units.
        w: weight of each point, shape (n,).
        y: label of each point, shape (n, Q), output units.
        R: orthogonal matrices at time 0, shape (L, Q, Q).
        beta: pulled-back biases at time 0, shape (L, Q), input units.
        W: cumulative output weight W^(Q+1) at time 0, shape (Q, Q), output over input units.
        times: output times, increasing, shape (T,).
        step: longest step, time.

    Returns:
        R (T, L, Q, Q), beta (T, L, Q), W (T, Q, Q).
    """

    def velocity(R: Array, beta: Array, W: Array) -> tuple[Array, Array, Array]:
        passed = general.forward(X, R, beta)
        error = passed.z[-1] @ W.T - y
        dbeta, Omega = general.pull_back(passed, R, error @ W, w)
        return Omega, dbeta, -(error * w[:, None]).T @ passed.z[-1]

    return cast("tuple[Array, Array, Array]", _midpoint_rule(velocity, (R, beta, W), times, step))


def free_standard_cost_flow(
    X: Array, w: Array, y: Array, V: Array, beta: Array, W: Array, times: Array, *, step: float
) -> tuple[Array, Array, Array]:
    """The same flow with cumulative weights V_l that are free instead of rotations, midpoint rule; no batch axes.

    The flow has inverses of V_l in it and can come near to singular ones, where no fixed step resolves it: from the
    first step that would change a V_l by more than `RESOLVED` of its least singular value on, all is NaN.

    Args:
        X: points, shape (N, Q), input units.
        w: weights of the points, shape (N,).
        y: labels, one per point, shape (N, Q), input units.
        V: cumulative weights at the start, shape (L, Q, Q).
        beta: cumulative biases at the start, shape (L, Q), input units.
        W: cumulative output weight at the start, shape (Q, Q).
        times: flow times to return, shape (T,), from 0.
        step: largest step of the midpoint rule.

    Returns:
        V (T, L, Q, Q), beta (T, L, Q), W (T, Q, Q).
    """

    def velocity(V: Array, beta: Array, W: Array) -> tuple[Array, Array, Array]:
        image = unaligned.forward(X, V, beta)[0][-1]
        dV, dbeta = unaligned.pull_back(X, V, beta, w, lambda z: (z @ W.T - y) @ W)
        return dV, dbeta, -((image @ W.T - y) * w[:, None]).T @ image

    def advance(state: tuple[Array, ...], h: float) -> tuple[Array, ...]:
        if not np.isfinite(state[0]).all():
            return state
        speeds = velocity(*state)
        if not _resolves(state[0], h * speeds[0]):
            return tuple(np.full_like(part, np.nan) for part in state)
        middle = _straight(state, speeds, 0.5 * h)
        return _straight(state, velocity(*middle), h)

    return stacked(states_at(times, step, (V, beta, W), advance))  # type: ignore[return-value]  # three of them


def _resolves(V: Array, change: Array) -> bool:
    """Whether a step changes every V_l by at most `RESOLVED` of its least singular value."""
    least = np.linalg.svd(V, compute_uv=False)[..., -1]
    return bool((np.linalg.norm(change, ord=2, axis=(-2, -1)) <= RESOLVED * least).all())


def _straight(state: tuple[Array, ...], velocity: tuple[Array, ...], h: float) -> tuple[Array, ...]:
    return tuple(part + h * slope for part, slope in zip(state, velocity, strict=True))


def network_of_truncations(R: Array, beta: Array, W_out: Array) -> Weights:
    """The network (W_l, b_l) whose cumulative parameters are W^(l) = R_l, beta^(l) = beta_l.

    W_1 = R_1, W_l = R_l R_{l-1}^T, b_l = R_l (beta_l - beta_{l-1}), W_{L+1} = W^(Q+1) R_L^T. The output bias that
    makes the output equal W^(Q+1) tau(x) is -W^(Q+1) beta_L, see (2.18).
    """
    before = np.concatenate((np.broadcast_to(np.eye(R.shape[-1]), R[..., :1, :, :].shape), R[..., :-1, :, :]), axis=-3)
    hidden = R @ before.mT
    steps = np.diff(beta, axis=-2, prepend=np.zeros_like(beta[..., :1, :]))
    output = W_out @ R[..., -1, :, :].mT
    W = np.concatenate((hidden, output[..., None, :, :]), axis=-3)
    return Weights(W, (R @ steps[..., None])[..., 0], -(W_out @ beta[..., -1, :, None])[..., 0])


def network_layers(X: Array, weights: Weights) -> list[Array]:
    """Activations x, x^(1), ..., x^(L) of the network, a list of (..., n, Q)."""
    layers = [X]
    for layer in range(weights.b.shape[-2]):
        pre = layers[-1] @ weights.W[..., layer, :, :].mT + weights.b[..., layer, None, :]
        layers.append(np.maximum(pre, 0.0))
    return layers


def network_output(last: Array, weights: Weights) -> Array:
    """Output W_{L+1} x^(L) + b_{L+1} of the network (2.4), from its last hidden layer."""
    return last @ weights.W[..., -1, :, :].mT + weights.output_bias[..., None, :]


def gradient_descent_step(X: Array, w: Array, y: Array, weights: Weights, rate: float) -> Weights:
    """One step of plain gradient descent on all W_l, b_l and the output bias, standard cost (2.22).

    Args:
        X: points, shape (..., n, Q), input units.
        w: weight of each point, shape (n,).
        y: label of each point, shape (..., n, Q), output units.
        weights: the network's weights and biases.
        rate: learning rate.
    """
    layers = network_layers(X, weights)
    delta = (network_output(layers[-1], weights) - y) * w[:, None]
    dW, db = [delta.mT @ layers[-1]], [delta.sum(axis=-2)]
    for layer in reversed(range(weights.b.shape[-2])):
        delta = (delta @ weights.W[..., layer + 1, :, :]) * (layers[layer + 1] > 0)
        dW.append(delta.mT @ layers[layer])
        db.append(delta.sum(axis=-2))
    output_step, *hidden_steps = db
    return Weights(
        weights.W - rate * np.stack(dW[::-1], axis=-3),
        weights.b - rate * np.stack(hidden_steps[::-1], axis=-2),
        weights.output_bias - rate * output_step,
    )
