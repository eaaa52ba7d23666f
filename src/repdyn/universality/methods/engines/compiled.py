"""The exact compiled engine: two points through dense or skip networks, one trial after the other.

The gradient of two points has rank two. Going down, each row of a weight matrix is read once: it adds to W^T delta
and takes its rank-two update while it is in the first-level cache. An epoch moves three times the weights (read,
read and write) where automatic differentiation moves far more. Nothing is approximated.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.compiling import compiled
from repdyn.universality.methods.engines.frames import Array, Frames, Task, empty_frames
from repdyn.universality.methods.networks import LEAK, NONLINEARITIES, Weights

FAST = {"reassoc", "contract", "nsz"}  # sums may be reordered for the vector unit; NaN and infinity keep their meaning


@compiled(fastmath=FAST)
def _activate(kind: int, z: np.ndarray, a: np.ndarray, slope: np.ndarray, leak: float) -> None:
    """Values and slopes of the nonlinearity with that number in `NONLINEARITIES`."""
    for i in range(z.size):
        x = z[i]
        if kind == 0:
            a[i], slope[i] = x, 1.0
        elif kind == 1:
            a[i], slope[i] = (x, 1.0) if x > 0 else (0.0, 0.0)
        elif kind == 2:
            a[i], slope[i] = (x, 1.0) if x > 0 else (leak * x, leak)
        elif kind == 3:
            value = np.tanh(x)
            a[i], slope[i] = value, 1.0 - value * value
        elif kind == 4:
            a[i], slope[i] = (x, 1.0) if x > 0 else (np.expm1(x), np.exp(x))
        else:
            share = 1.0 / (1.0 + np.exp(-x))
            a[i], slope[i] = x * share, share * (1.0 + x * (1.0 - share))


@compiled(fastmath=FAST)
def _affine(W: np.ndarray, b: np.ndarray, a: np.ndarray, z: np.ndarray) -> None:
    """Computes z = W a + b for both points; a (2, in), z (2, out)."""
    first, other = a[0], a[1]
    for i in range(W.shape[0]):
        row, s, t = W[i], b[i], b[i]
        for j in range(W.shape[1]):
            s += row[j] * first[j]
            t += row[j] * other[j]
        z[0, i], z[1, i] = s, t


@compiled(fastmath=FAST)
def _descend(W: np.ndarray, b: np.ndarray, a: np.ndarray, delta: np.ndarray, back: np.ndarray, rate: float) -> None:
    """Computes back += delta W, then W -= rate delta^T a and b -= rate sum of delta, row by row."""
    first, other, down_one, down_other = a[0], a[1], back[0], back[1]
    for i in range(W.shape[0]):
        row, s, t = W[i], delta[0, i], delta[1, i]
        rs, rt = rate * s, rate * t
        for j in range(W.shape[1]):
            weight = row[j]
            down_one[j] += weight * s
            down_other[j] += weight * t
            row[j] = weight - (rs * first[j] + rt * other[j])
        b[i] -= rs + rt


@compiled(fastmath=FAST)
def _forward(kind, skip, leak, X, first, middle, last, biases, last_bias, z, a, slope, out):
    """Pre-activations are scratch; a and slope keep every layer, shape (hidden, 2, units)."""
    for layer in range(biases.shape[0]):
        if layer == 0:
            _affine(first, biases[0], X, z)
        else:
            _affine(middle[layer - 1], biases[layer], a[layer - 1], z)
        for point in range(2):
            _activate(kind, z[point], a[layer, point], slope[layer, point], leak)
        if skip and layer >= 2:
            a[layer] += a[layer - 2]
    _affine(last, last_bias, a[-1], out)


@compiled(fastmath=FAST)
def _backward(skip, X, first, middle, last, biases, last_bias, a, slope, error, grad, rate):
    """One step of descent; grad (hidden + 1, 2, units) holds dL/da of every layer, and scratch for the input."""
    grad[:] = 0.0
    hidden = biases.shape[0]
    _descend(last, last_bias, a[-1], error, grad[hidden], rate)
    for layer in range(hidden - 1, -1, -1):
        above = grad[layer + 1]
        if skip and layer >= 2:
            grad[layer - 1] += above
        for point in range(2):
            for i in range(above.shape[1]):
                slope[layer, point, i] *= above[point, i]
        if layer == 0:
            _descend(first, biases[0], X, slope[0], grad[0], rate)
        else:
            _descend(middle[layer - 1], biases[layer], a[layer - 1], slope[layer], grad[layer], rate)


@compiled(fastmath=FAST)
def _train(kind, skip, leak, X, Y, first, middle, last, biases, last_bias, rate, epochs, every, layers, stop, h, o, L):
    """Trains one trial in place and records; stops at a loss below `stop` or not finite."""
    hidden, units = biases.shape
    scratch = max(units, X.shape[1])
    z, out = np.empty((2, units), first.dtype), np.empty((2, Y.shape[1]), first.dtype)
    a, slope = np.empty((hidden, 2, units), first.dtype), np.empty((hidden, 2, units), first.dtype)
    grad = np.empty((hidden + 1, 2, scratch), first.dtype)
    for epoch in range(epochs):
        _forward(kind, skip, leak, X, first, middle, last, biases, last_bias, z, a, slope, out)
        if epoch % every == 0:
            frame = epoch // every
            loss = 0.0
            for point in range(2):
                for k in range(Y.shape[1]):
                    loss += (out[point, k] - Y[point, k]) ** 2 / 4
                    o[frame, point, k] = out[point, k]
            for place in range(layers.size):
                apart = 0.0
                for i in range(units):
                    apart += (np.float64(a[layers[place], 1, i]) - np.float64(a[layers[place], 0, i])) ** 2
                h[frame, place] = apart
            L[frame] = loss
            if not np.isfinite(loss) or loss < stop:
                return
        _backward(skip, X, first, middle, last, biases, last_bias, a, slope, (out - Y) / 2, grad, rate)


def advance(task: Task, weights: Weights, epochs: int, active: Array | None = None) -> Frames:
    """Trains for `epochs` epochs, in place, and records.

    Args:
        task: what to train on; dense or skip connections, no dropout, plain descent.
        weights: as `networks.initial_weights` with a leading axis of trials; changed in place.
        epochs: epochs of this block.
        active: trials to train, shape (trials,); None for all.

    Returns:
        Records of epochs 0, every, ... of the block.
    """
    trials, dtype = len(weights["first"]), weights["first"].dtype
    frames = empty_frames(task, trials, epochs)
    kind, skip = NONLINEARITIES.index(task.net.nonlinearity), task.net.connections == "skip"
    X, Y, layers = task.X.astype(dtype), task.Y.astype(dtype), np.array(task.layers)
    names = ("first", "middle", "last", "biases", "last_bias")
    for trial in range(trials) if active is None else np.flatnonzero(active):
        arrays = [weights[name][trial] for name in names]
        arguments = (dtype.type(task.rate), epochs, task.every, layers, task.stop)
        places = (frames.h[trial], frames.outputs[trial], frames.loss[trial])
        _train(kind, skip, dtype.type(LEAK), X, Y, *arrays, *arguments, *places)
    return frames
