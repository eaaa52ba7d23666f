"""The exact compiled engine: two points through dense or skip networks, one trial after the other.

The gradient of two points has rank two. Going down, each row of a weight matrix is read once: it adds to W^T delta
and takes its rank-two update, or Adam's, while it is in the first-level cache; rows go two by two. An epoch of descent
moves three times the weights (read, read and write) where automatic differentiation moves far more. Nothing is
approximated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repdyn.base.compiling import compiled
from repdyn.base.training import adam_numbers
from repdyn.universality.methods.engines.frames import Frames, Task, empty_frames
from repdyn.universality.methods.networks import LEAK, NONLINEARITIES, Net, Weights

NAMES = ("first", "middle", "last", "biases", "last_bias")
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
    """Computes z = W a + b for both points, four rows at a time; a (2, in), z (2, out)."""
    first, other, size = a[0], a[1], W.shape[0]
    for i in range(0, size - 3, 4):
        row_0, row_1, row_2, row_3 = W[i], W[i + 1], W[i + 2], W[i + 3]
        s_0, s_1, s_2, s_3 = b[i], b[i + 1], b[i + 2], b[i + 3]
        t_0, t_1, t_2, t_3 = s_0, s_1, s_2, s_3
        for j in range(W.shape[1]):
            x, y = first[j], other[j]
            s_0 += row_0[j] * x
            s_1 += row_1[j] * x
            s_2 += row_2[j] * x
            s_3 += row_3[j] * x
            t_0 += row_0[j] * y
            t_1 += row_1[j] * y
            t_2 += row_2[j] * y
            t_3 += row_3[j] * y
        z[0, i], z[0, i + 1], z[0, i + 2], z[0, i + 3] = s_0, s_1, s_2, s_3
        z[1, i], z[1, i + 1], z[1, i + 2], z[1, i + 3] = t_0, t_1, t_2, t_3
    for i in range(size - size % 4, size):
        row, s, t = W[i], b[i], b[i]
        for j in range(W.shape[1]):
            s += row[j] * first[j]
            t += row[j] * other[j]
        z[0, i], z[1, i] = s, t


@compiled(fastmath=FAST)
def _descend(W: np.ndarray, b: np.ndarray, a: np.ndarray, delta: np.ndarray, back: np.ndarray, rate: float) -> None:
    """Computes back += delta W, then W -= rate delta^T a and b -= rate sum of delta, two rows at a time."""
    first, other, down_one, down_other = a[0], a[1], back[0], back[1]
    for i in range(0, W.shape[0] - 1, 2):
        row, next_row, s, t, next_s, next_t = W[i], W[i + 1], delta[0, i], delta[1, i], delta[0, i + 1], delta[1, i + 1]
        rs, rt, next_rs, next_rt = rate * s, rate * t, rate * next_s, rate * next_t
        for j in range(W.shape[1]):
            weight, next_weight = row[j], next_row[j]
            down_one[j] += weight * s + next_weight * next_s
            down_other[j] += weight * t + next_weight * next_t
            row[j] = weight - (rs * first[j] + rt * other[j])
            next_row[j] = next_weight - (next_rs * first[j] + next_rt * other[j])
    if W.shape[0] % 2:
        row, s, t = W[-1], delta[0, W.shape[0] - 1], delta[1, W.shape[0] - 1]
        rs, rt = rate * s, rate * t
        for j in range(W.shape[1]):
            weight = row[j]
            down_one[j] += weight * s
            down_other[j] += weight * t
            row[j] = weight - (rs * first[j] + rt * other[j])
    for i in range(W.shape[0]):
        b[i] -= rate * (delta[0, i] + delta[1, i])


@compiled(fastmath=FAST)
def _descend_by_adam(W, b, a, delta, back, mean_W, square_W, mean_b, square_b, adam):
    """The same with Adam's update; means and squares of the gradient are kept in place."""
    first, other, down_one, down_other = a[0], a[1], back[0], back[1]
    new, new_square, step, scale, epsilon = adam[0], adam[1], adam[2], adam[3], adam[4]
    for i in range(W.shape[0]):
        row, mean, square, s, t = W[i], mean_W[i], square_W[i], delta[0, i], delta[1, i]
        for j in range(W.shape[1]):
            down_one[j] += row[j] * s
            down_other[j] += row[j] * t
            gradient = s * first[j] + t * other[j]
            mean[j] += new * (gradient - mean[j])
            square[j] += new_square * (gradient * gradient - square[j])
            row[j] -= step * mean[j] / (np.sqrt(square[j]) * scale + epsilon)
        gradient = s + t
        mean_b[i] += new * (gradient - mean_b[i])
        square_b[i] += new_square * (gradient * gradient - square_b[i])
        b[i] -= step * mean_b[i] / (np.sqrt(square_b[i]) * scale + epsilon)


@compiled(fastmath=FAST)
def _drop(kept, share, a, inputs):
    """What a map is given of `a`, (2, in): entries kept are scaled by `share`; all of them where nothing is dropped."""
    size = a.shape[1]
    for point in range(2):
        for j in range(size):
            inputs[point, j] = a[point, j]
            if kept.size:
                inputs[point, j] = a[point, j] * share if kept[point * size + j] else 0.0


@compiled(fastmath=FAST)
def _part(kept, layer, inputs, units):
    """Those of an epoch's kept entries that belong to the input of a map."""
    begin = 2 * (inputs + (layer - 1) * units) if layer else 0
    return kept[begin : begin + 2 * (units if layer else inputs)]


@compiled(fastmath=FAST)
def _forward(kind, skip, leak, X, weights, kept, share, z, inputs, a, slope, out):
    """Pre-activations are scratch; `inputs` keeps every map's input, a and slope every layer, (hidden, 2, units)."""
    first, middle, last, biases, last_bias = weights
    hidden, units = biases.shape
    for layer in range(hidden + 1):  # every function is called in one place, since each call is compiled anew
        if layer == hidden:
            W, b, image = last, last_bias, out
        else:
            W, b, image = middle[layer - 1] if layer else first, biases[layer], z
        _drop(_part(kept, layer, X.shape[1], units), share, a[layer - 1] if layer else X, inputs[layer])
        _affine(W, b, inputs[layer], image)
        if layer == hidden:
            return
        for point in range(2):
            _activate(kind, z[point], a[layer, point], slope[layer, point], leak)
            if skip and layer >= 2:
                for i in range(units):
                    a[layer, point, i] += a[layer - 2, point, i]


@compiled(fastmath=FAST)
def _backward(skip, X, weights, mean, square, kept, share, inputs, slope, error, grad, down, rate, adam):
    """One update; grad (hidden + 1, 2, scratch) holds dL/da of every layer, and scratch for the input."""
    first, middle, last, biases, last_bias = weights
    hidden, units = biases.shape
    grad[:] = 0.0
    for layer in range(hidden, -1, -1):
        if layer == hidden:
            W, b, delta = last, last_bias, error
        else:
            W, b, delta = middle[layer - 1] if layer else first, biases[layer], slope[layer]
            above = grad[layer + 1]
            for point in range(2):
                for i in range(units):
                    delta[point, i] *= above[point, i]
                    if skip and layer >= 2:
                        grad[layer - 1, point, i] += above[point, i]
        part = _part(kept, layer, X.shape[1], units)
        back = grad[layer]
        if part.size:
            down[:] = 0.0
            back = down
        if not adam.size:
            _descend(W, b, inputs[layer], delta, back, rate)
        else:
            mean_W, square_W, mean_b, square_b = mean[2], square[2], mean[4], square[4]
            if layer < hidden:
                mean_W, square_W = (mean[1][layer - 1], square[1][layer - 1]) if layer else (mean[0], square[0])
                mean_b, square_b = mean[3][layer], square[3][layer]
            _descend_by_adam(W, b, inputs[layer], delta, back, mean_W, square_W, mean_b, square_b, adam)
        if part.size:
            size = part.size // 2
            for point in range(2):
                for j in range(size):
                    grad[layer, point, j] += down[point, j] * share if part[point * size + j] else 0.0


@compiled
def _squared_distance(first: np.ndarray, other: np.ndarray) -> float:
    """Summed in the order of the entries: a reordered sum had other last bits in another process."""
    total = 0.0
    for i in range(first.size):
        total += (np.float64(other[i]) - np.float64(first[i])) ** 2
    return total


@compiled(fastmath=FAST)
def _train(net, X, Y, weights, mean, square, adams, kept, share, rate, epochs, every, layers, stop, records):
    """Trains one trial in place and records; stops at a loss below `stop` or not finite."""
    kind, skip, leak = net
    h, o, L = records
    first, _, _, biases, _ = weights
    hidden, units = biases.shape
    scratch = max(units, X.shape[1])
    z, out = np.empty((2, units), first.dtype), np.empty((2, Y.shape[1]), first.dtype)
    a, slope = np.empty((hidden, 2, units), first.dtype), np.empty((hidden, 2, units), first.dtype)
    inputs, grad = np.zeros((hidden + 1, 2, scratch), first.dtype), np.empty((hidden + 1, 2, scratch), first.dtype)
    down, nothing = np.empty((2, scratch), first.dtype), kept[:0].reshape(-1)
    for epoch in range(epochs):
        recorded, keeps = epoch % every == 0, nothing
        for dropping in range(0 if recorded or not kept.size else 1, 2 if kept.size else 1):
            keeps = kept[epoch] if dropping else nothing
            _forward(kind, skip, leak, X, weights, keeps, share, z, inputs, a, slope, out)
            if dropping or not recorded:
                continue
            frame = epoch // every
            loss = 0.0
            for point in range(2):
                for k in range(Y.shape[1]):
                    loss += (out[point, k] - Y[point, k]) ** 2 / 4
                    o[frame, point, k] = out[point, k]
            for place in range(layers.size):
                h[frame, place] = _squared_distance(a[layers[place], 0], a[layers[place], 1])
            L[frame] = loss
            if not np.isfinite(loss) or loss < stop:
                return
        error = (out - Y) / 2
        _backward(skip, X, weights, mean, square, keeps, share, inputs, slope, error, grad, down, rate, adams[epoch])


def advance(task: Task, weights: Weights, epochs: int, *, seeds: Sequence[int] = ()) -> Frames:
    """Trains for `epochs` epochs, in place, and records.

    Args:
        task: what to train on; dense or skip connections.
        weights: as `networks.initial_weights` with a leading axis of trials; changed in place.
        epochs: epochs of this block; Adam starts its moments afresh in each block.
        seeds: seed of the dropout masks of each trial.

    Returns:
        Records of epochs 0, every, ... of the block.
    """
    trials, dtype = len(weights["first"]), weights["first"].dtype
    frames = empty_frames(task, trials, epochs)
    net = (NONLINEARITIES.index(task.net.nonlinearity), task.net.connections == "skip", dtype.type(LEAK))
    points = (task.X.astype(dtype), task.Y.astype(dtype))
    about = (dtype.type(task.rate), epochs, task.every, np.array(task.layers), task.stop)
    adams = adam_numbers(task.rate, 0, epochs) if task.optimizer == "adam" else np.empty((epochs, 0))
    adams, share = adams.astype(dtype), dtype.type(1 / (1 - task.net.dropout))
    for trial in range(trials):
        arrays = tuple(weights[name][trial] for name in NAMES)
        shapes = [array.shape if adams.size else array.ndim * (0,) for array in arrays]
        moments = [tuple(np.zeros(shape, dtype) for shape in shapes) for _ in ("mean", "square")]
        kept = _kept(task.net, epochs, seeds[trial]) if task.net.dropout else np.empty((0, 0), bool)
        records = (frames.h[trial], frames.outputs[trial], frames.loss[trial])
        _train(net, *points, arrays, *moments, adams, kept, share, *about, records)
    return frames


def _kept(net: Net, epochs: int, seed: int) -> np.ndarray:
    """Inputs of the maps that dropout keeps in each epoch, drawn as automatic differentiation draws them."""
    import torch

    from repdyn.universality.methods.engines.autograd import kept_inputs

    generator = torch.Generator().manual_seed(seed)
    return np.stack([kept_inputs(net, generator).numpy() for _ in range(epochs)])
