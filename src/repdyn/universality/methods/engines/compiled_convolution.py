"""The compiled engine for convolutions: two points through one-dimensional convolutions, gradients written by hand.

A row of numbers stays in the first-level cache while four taps of a kernel pass over it.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.compiling import compiled
from repdyn.universality.methods.engines.compiled import FAST, _activate, _squared_distance
from repdyn.universality.methods.engines.frames import Array, Frames, Task, empty_frames
from repdyn.universality.methods.networks import LEAK, NONLINEARITIES, Net, Weights


@compiled(fastmath=FAST)
def _correlate(x: Array, w: Array, y: Array) -> None:
    """Computes y[j] += sum_t w[t] x[j + t]."""
    n, whole = y.size, w.size - w.size % 4
    for t in range(0, whole, 4):
        w0, w1, w2, w3 = w[t], w[t + 1], w[t + 2], w[t + 3]
        x0, x1, x2, x3 = x[t : t + n], x[t + 1 : t + 1 + n], x[t + 2 : t + 2 + n], x[t + 3 : t + 3 + n]
        for j in range(n):
            y[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
    for t in range(whole, w.size):
        weight, shifted = w[t], x[t : t + n]
        for j in range(n):
            y[j] += weight * shifted[j]


@compiled(fastmath=FAST)
def _descend(delta: Array, x: Array, rate: float, w: Array) -> None:
    """Computes w[t] -= rate sum_j delta[j] x[j + t]."""
    n, whole, zero = delta.size, w.size - w.size % 4, w.dtype.type(0)
    for t in range(0, whole, 4):
        s0, s1, s2, s3 = zero, zero, zero, zero
        x0, x1, x2, x3 = x[t : t + n], x[t + 1 : t + 1 + n], x[t + 2 : t + 2 + n], x[t + 3 : t + 3 + n]
        for j in range(n):
            s0 += delta[j] * x0[j]
            s1 += delta[j] * x1[j]
            s2 += delta[j] * x2[j]
            s3 += delta[j] * x3[j]
        w[t] -= rate * s0
        w[t + 1] -= rate * s1
        w[t + 2] -= rate * s2
        w[t + 3] -= rate * s3
    for t in range(whole, w.size):
        total, shifted = zero, x[t : t + n]
        for j in range(n):
            total += delta[j] * shifted[j]
        w[t] -= rate * total


@compiled(fastmath=FAST)
def _forward(kind, leak, X, maps, sizes, room, out):
    """Values and slopes of every layer, shape (layers, 2, channels, length), the first one dense; and the outputs."""
    first, first_bias, kernels, biases, last, last_bias = maps
    a, slope, z, _, _ = room
    taps, units = kernels.shape[3], len(first)
    for point in range(2):
        z[:units] = first_bias
        for i in range(units):
            for k in range(X.shape[1]):
                z[i] += first[i, k] * X[point, k]
        _activate(kind, z[:units], a[0, point, 0], slope[0, point, 0], leak)
        for place in range(len(kernels)):
            length = units - (place + 1) * (taps - 1)
            for o in range(sizes[place + 1]):
                row = z[:length]
                row[:] = biases[place, o]
                for c in range(sizes[place]):
                    _correlate(a[place, point, c], kernels[place, o, c], row)
                _activate(kind, row, a[place + 1, point, o], slope[place + 1, point, o], leak)
        left = a[len(kernels), point, 0, : last.shape[1]]
        for k in range(len(last)):
            total = last_bias[k]
            for i in range(left.size):
                total += last[k, i] * left[i]
            out[point, k] = total


@compiled(fastmath=FAST)
def _backward(X, maps, sizes, room, error, rate):
    """One step of descent; each layer hands its gradient down before it takes its own step."""
    first, first_bias, kernels, biases, last, last_bias = maps
    a, slope, _, grad, padded = room
    taps, units = kernels.shape[3], len(first)
    for point in range(2):
        for i in range(last.shape[1]):
            grad[point, 0, i] = 0.0
            for k in range(len(last)):
                grad[point, 0, i] += error[point, k] * last[k, i]
    for point in range(2):
        for k in range(len(last)):
            for i in range(last.shape[1]):
                last[k, i] -= rate * error[point, k] * a[len(kernels), point, 0, i]
            last_bias[k] -= rate * error[point, k]
    for place in range(len(kernels) - 1, -1, -1):
        length, below = units - (place + 1) * (taps - 1), units - place * (taps - 1)
        for point in range(2):
            for o in range(sizes[place + 1]):
                row = padded[point, o]
                row[: taps - 1] = 0.0
                row[taps - 1 + length : below + taps - 1] = 0.0
                for j in range(length):
                    row[taps - 1 + j] = grad[point, o, j] * slope[place + 1, point, o, j]
            for c in range(sizes[place]):
                down = grad[point, c, :below]
                down[:] = 0.0
                for o in range(sizes[place + 1]):
                    _correlate(padded[point, o], kernels[place, o, c, ::-1].copy(), down)
        for point in range(2):
            for o in range(sizes[place + 1]):
                delta = padded[point, o, taps - 1 : taps - 1 + length]
                for c in range(sizes[place]):
                    _descend(delta, a[place, point, c], rate, kernels[place, o, c])
                biases[place, o] -= rate * np.sum(delta)
    for point in range(2):
        for i in range(units):
            delta = grad[point, 0, i] * slope[0, point, 0, i]
            for k in range(X.shape[1]):
                first[i, k] -= rate * delta * X[point, k]
            first_bias[i] -= rate * delta


@compiled(fastmath=FAST)
def _train(kind, leak, X, Y, maps, sizes, rate, epochs, every, layers, stop, h, o, L):
    """Trains one trial in place and records; stops at a loss below `stop` or not finite."""
    first, kernels = maps[0], maps[2]
    count, channels, units = len(kernels) + 1, kernels.shape[1], len(first)
    shape, kind_of = (count, 2, channels, units), first.dtype
    a, slope = np.zeros(shape, kind_of), np.zeros(shape, kind_of)
    wide = np.zeros((2, channels, units + 2 * kernels.shape[3]), kind_of)
    room = (a, slope, np.zeros(units, kind_of), np.zeros((2, channels, units), kind_of), wide)
    out = np.zeros(Y.shape, kind_of)
    for epoch in range(epochs):
        _forward(kind, leak, X, maps, sizes, room, out)
        if epoch % every == 0:
            frame = epoch // every
            for point in range(2):
                for k in range(out.shape[1]):
                    o[frame, point, k] = out[point, k]
            loss = np.sum((out - Y) ** 2) / 4
            for place in range(layers.size):
                length, apart = units - (layers[place] + 1) * (kernels.shape[3] - 1), 0.0
                for c in range(sizes[layers[place] + 1]):
                    both = a[layers[place] + 1, :, c, :length]
                    apart += _squared_distance(both[0], both[1])
                h[frame, place] = apart
            L[frame] = loss
            if not np.isfinite(loss) or loss < stop:
                return
        _backward(X, maps, sizes, room, (out - Y) / 2, rate)


def advance(task: Task, weights: Weights, epochs: int) -> Frames:
    """Trains for `epochs` epochs, in place, and records; arguments as `compiled.advance`, of a convolution network."""
    net, dtype = task.net, weights["first"].dtype
    frames = empty_frames(task, len(weights["first"]), epochs)
    X, Y, layers = task.X.astype(dtype), task.Y.astype(dtype), np.array(task.layers)
    sizes = np.array([1, *[net.channels] * net.hidden, 1])
    numbers = (dtype.type(task.rate), epochs, task.every, layers, task.stop)
    for trial in range(len(frames.loss)):
        arrays = {name: array[trial] for name, array in weights.items()}
        kernels, biases = _stacked(net, arrays)
        maps = (arrays["first"], arrays["biases"][0], kernels, biases, arrays["last"], arrays["last_bias"])
        places = (frames.h[trial], frames.outputs[trial], frames.loss[trial])
        _train(NONLINEARITIES.index(net.nonlinearity), dtype.type(LEAK), X, Y, maps, sizes, *numbers, *places)
        for place in range(net.hidden + 1):
            arrays[f"kernel_{place}"][:] = kernels[place, : sizes[place + 1], : sizes[place]]
            arrays[f"bias_{place}"][:] = biases[place, : sizes[place + 1]]
    return frames


def _stacked(net: Net, weights: Weights) -> tuple[Array, Array]:
    """Kernels (convolutions, out, in, kernel) and biases (convolutions, out) of one trial, filled up with zeros."""
    kernels = np.zeros((net.hidden + 1, net.channels, net.channels, net.kernel), weights["first"].dtype)
    biases = np.zeros((net.hidden + 1, net.channels), weights["first"].dtype)
    for place in range(net.hidden + 1):
        kernel = weights[f"kernel_{place}"]
        kernels[place, : kernel.shape[0], : kernel.shape[1]] = kernel
        biases[place, : kernel.shape[0]] = weights[f"bias_{place}"]
    return kernels, biases
