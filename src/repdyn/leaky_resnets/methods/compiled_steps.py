"""Gradients, Adam and descent of ResNets on a CPU, compiled: one network at a time, so that it stays in the cache.

Matrix products are the BLAS's; what lies between two of them is one pass over a layer.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled

CONTRACT = {"contract"}  # multiply and add in one rounding; nothing is reordered


@compiled(fastmath=CONTRACT)
def _next_layer(A: Array, moved: Array, leak: float, active: Array) -> None:
    """Computes A <- leak A + moved and active <- relu(A)."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            value = leak * A[i, j] + moved[i, j]
            A[i, j] = value
            active[i, j] = max(value, A.dtype.type(0))


@compiled(fastmath=CONTRACT)
def _layer_before(pulled: Array, active: Array, leak: float, G: Array) -> None:
    """Computes pulled <- leak G + pulled where the layer is active, leak G elsewhere."""
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            pulled[i, j] = leak * G[i, j] + (pulled[i, j] if active[i, j] > 0 else G.dtype.type(0))


@compiled(fastmath=CONTRACT)
def _scaled(W: Array, rho: float, U: Array, turned: Array) -> None:
    """Computes U <- rho W and turned <- its transpose without the bias."""
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            U[i, j] = rho * W[i, j]
        for j in range(W.shape[0]):
            turned[j, i] = U[i, j]


@compiled
def gradient(W, P, Q, X, Y, rho, leak, decay, learned, S, U, turned, A, G, H, residual, dW, dP, dQ):
    """Leaves the gradient of the objective of `training.Trainer` in dW, dP, dQ; maps without their penalty.

    Args:
        W: layer weights, shape (L, M, w, inner).
        P: maps in, shape (M, w, d).
        Q: maps out, shape (M, d_out, w).
        X: inputs, shape (M, d, N).
        Y: targets, shape (M, d_out, N).
        rho: layer steps, shape (L, M).
        leak: 1 - rho Lt, shape (L, M).
        decay: lam / Lt.
        learned: whether P and Q are trained.
        S: room for [relu(A); 1], shape (L + 1, inner, N), ones in the last row where there is a bias.
        U: room for rho W, shape (L, w, inner).
        turned: room for its transpose, shape (L, w, w).
        A: room for a layer, shape (w, N); so are G and H.
        G: see A.
        H: see A.
        residual: room for f - Y, shape (d_out, N).
        dW: shape of W.
        dP: shape of P.
        dQ: shape of Q.
    """
    for m in range(W.shape[1]):
        _forward(W, P, X, rho, leak, m, S, U, turned, A, H)
        np.dot(Q[m], A, residual)
        residual -= Y[m]
        residual *= A.dtype.type(2 / X.shape[2])
        _backward(W, Q, X, rho, leak, decay, learned, m, S, turned, A, G, H, residual, dW, dP, dQ)


@compiled
def _forward(W, P, X, rho, leak, m, S, U, turned, A, H):
    """Leaves network m's last layer in A, the others in S and its scaled weights in U and turned; as in `gradient`."""
    np.dot(P[m], X[m], A)
    H[:] = 0
    _next_layer(A, H, A.dtype.type(1), S[0])
    for layer in range(W.shape[0]):
        _scaled(W[layer, m], rho[layer, m], U[layer], turned[layer])
        np.dot(U[layer], S[layer], H)
        _next_layer(A, H, leak[layer, m], S[layer + 1])


@compiled
def _backward(W, Q, X, rho, leak, decay, learned, m, S, turned, A, G, H, residual, dW, dP, dQ):
    """Leaves network m's gradient, from the slopes of the loss by the outputs in `residual`; as in `gradient`."""
    np.dot(Q[m].T, residual, G)
    if learned:
        np.dot(residual, A.T, dQ[m])
    for layer in range(W.shape[0] - 1, -1, -1):
        np.dot(G, S[layer].T, dW[layer, m])
        for i in range(W.shape[2]):
            for j in range(W.shape[3]):
                dW[layer, m, i, j] = rho[layer, m] * (dW[layer, m, i, j] + decay * W[layer, m, i, j])
        np.dot(turned[layer], G, H)
        _layer_before(H, S[layer], leak[layer, m], G)
        G, H = H, G
    if learned:
        np.dot(G, X[m].T, dP[m])


def descend_plain(
    theta: Array, X: Array, Y: Array, layers: int, width: int, classify: bool, rate: float, steps: int
) -> None:
    """Full-batch descent of one plain ResNet, A_l = A_{l-1} + W_l S_{l-1} / L, in place.

    Args:
        theta: W, P and Q as in `parts`, one after the other.
        X: inputs, shape (d, N).
        Y: targets, one-hot for cross-entropy, shape (classes, N).
        layers: L.
        width: w.
        classify: cross-entropy; else the squared error, averaged over classes.
        rate: learning rate.
        steps: how many.
    """
    grad, (L, w, N) = np.empty_like(theta), (layers, width, X.shape[1])
    W, P, Q = parts(theta, L, w, len(X))
    room = [np.ones(size) for size in [(L + 1, w + 1, N), (L, w, w + 1), (L, w, w), *[(w, N)] * 3, Y.shape]]
    steps_of = np.full((L, 1), 1 / L), np.ones((L, 1))
    _descend(theta, grad, W, P, Q, X[None], Y, *steps_of, classify, rate, steps, *room, *parts(grad, L, w, len(X)))


def parts(theta: Array, layers: int, width: int, inputs: int) -> list[Array]:
    """Views of W, shape (L, 1, w, w + 1), P, (1, w, d), and Q, (1, classes, w), in a flat array."""
    W, P, Q = np.split(theta, np.cumsum([layers * width * (width + 1), width * inputs]))
    return [W.reshape(layers, 1, width, width + 1), P.reshape(1, width, inputs), Q.reshape(1, -1, width)]


@compiled
def _descend(theta, grad, W, P, Q, X, Y, rho, leak, classify, rate, steps, S, U, turned, A, G, H, residual, dW, dP, dQ):
    """Steps of `descend_plain`; the other arguments as in `gradient`."""
    for _ in range(steps):
        _forward(W, P, X, rho, leak, 0, S, U, turned, A, H)
        np.dot(Q[0], A, residual)
        _slopes(residual, Y, classify)
        _backward(W, Q, X, rho, leak, 0.0, True, 0, S, turned, A, G, H, residual, dW, dP, dQ)
        for i in range(theta.size):
            theta[i] -= rate * grad[i]


@compiled
def _slopes(f, Y, classify):
    """Slopes of the mean cross-entropy or squared error by the outputs, in place of the outputs."""
    classes, points = f.shape
    for point in range(points):
        largest, total = -np.inf, 0.0
        for row in range(classes if classify else 0):
            largest = max(largest, f[row, point])
        for row in range(classes if classify else 0):
            f[row, point] = np.exp(f[row, point] - largest)
            total += f[row, point]
        for row in range(classes):
            if classify:
                f[row, point] = (f[row, point] / total - Y[row, point]) / points
            else:
                f[row, point] = 2 * (f[row, point] - Y[row, point]) / f.size


@compiled(fastmath=CONTRACT)
def adam(theta, grad, first, second, pace, rate, beta_1, beta_2, epsilon):
    """One step of Adam in one pass.

    Args:
        theta: parameters, shape (P,); changed.
        grad: their gradient, shape (P,).
        first: mean of gradients, shape (P,); changed.
        second: mean of squared gradients, shape (P,); changed.
        pace: factor of the rate of each parameter, shape (P,).
        rate: minus the rate with the correction for early moments.
        beta_1: decay of `first`.
        beta_2: decay of `second`.
        epsilon: added to the root of `second`.
    """
    unit = theta.dtype.type(1)
    for i in range(theta.size):
        g = grad[i]
        first[i] += (unit - beta_1) * (g - first[i])
        second[i] = beta_2 * second[i] + (unit - beta_2) * g * g
        theta[i] += rate * pace[i] * first[i] / (np.sqrt(second[i]) + epsilon)
