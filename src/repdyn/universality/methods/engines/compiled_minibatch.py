"""Minibatch training of a perceptron on a CPU, compiled: one network at a time, so that it stays in the cache.

Matrix products are the BLAS's; what lies between two of them is one pass over a layer. Products with the four points of
XOR are loops: a BLAS spends most of its time there on packing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled
from repdyn.base.training import adam_numbers
from repdyn.universality.methods.engines.compiled import FAST
from repdyn.universality.methods.networks import LEAK, NONLINEARITIES

LARGEST = 9.0  # beyond it tanh is 1 in single precision
LEVELS = 14  # of Lambert's continued fraction: up to there it is off by five roundings at most


@compiled(fastmath=FAST)
def _tanh(x):
    """Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) in single precision, on the vector unit."""
    limit = x.dtype.type(LARGEST)
    for i in range(x.size):
        value = min(max(x[i], -limit), limit)
        square = value * value
        above, above_before = x.dtype.type(1), x.dtype.type(0)
        below, below_before = x.dtype.type(1), x.dtype.type(1)
        for level in range(1, LEVELS):
            odd = x.dtype.type(2 * level + 1)
            above, above_before = odd * above + square * above_before, above
            below, below_before = odd * below + square * below_before, below
        x[i] = value * above / below


@compiled(fastmath=FAST)
def _activate(kind, z):
    """Applies the nonlinearity with that number in `NONLINEARITIES` in place."""
    leak, none = z.dtype.type(LEAK), z.dtype.type(0)
    if kind == 1:
        for i in range(z.size):
            z[i] = max(z[i], none)
    elif kind == 2:
        for i in range(z.size):
            z[i] = z[i] if z[i] > 0 else leak * z[i]
    elif kind == 3 and z.itemsize == 4:
        _tanh(z)
    elif kind == 3:
        for i in range(z.size):
            z[i] = np.tanh(z[i])


@compiled(fastmath=FAST)
def _through(kind, a, delta):
    """Multiplies delta by the derivative of the nonlinearity, in place; `a` is the nonlinearity's value."""
    leak, none, unit = a.dtype.type(LEAK), a.dtype.type(0), a.dtype.type(1)
    if kind == 1:
        for i in range(a.size):
            delta[i] = delta[i] if a[i] > 0 else none
    elif kind == 2:
        for i in range(a.size):
            delta[i] = delta[i] if a[i] > 0 else leak * delta[i]
    elif kind == 3:
        for i in range(a.size):
            delta[i] *= unit - a[i] * a[i]


@compiled(fastmath=FAST)
def _add_rows(b, z):
    """Adds b to every row of z."""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] += b[j]


@compiled(fastmath=FAST)
def _sum_rows(z, total):
    """Leaves the sum of the rows of z in `total`."""
    total[:] = 0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            total[j] += z[i, j]


@compiled(fastmath=FAST)
def _descend(W, b, slope, delta, size):
    """Computes W -= size slope and b -= size times the sum of delta's rows."""
    flat, change = W.reshape(-1), slope.reshape(-1)
    for i in range(flat.size):
        flat[i] -= size * change[i]
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            b[j] -= size * delta[i, j]


@compiled(fastmath=FAST)
def _adam(theta, slope, first, second, numbers):
    """One step of Adam; numbers: shares of the new gradient and of its square, step, scale of roots, epsilon."""
    new, new_square, step, scale, epsilon = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for i in range(theta.size):
        gradient = slope[i]
        first[i] += new * (gradient - first[i])
        second[i] += new_square * (gradient * gradient - second[i])
        theta[i] -= step * first[i] / (np.sqrt(second[i]) * scale + epsilon)


@compiled
def _matrix(flat, begin, rows, columns):
    return flat[begin : begin + rows * columns].reshape(rows, columns)


@compiled(fastmath=FAST)
def _map_four(a, W, b, z):
    """Computes z = a W^T + b for four points."""
    for o in range(W.shape[0]):
        row = W[o]
        z0, z1, z2, z3 = b[o], b[o], b[o], b[o]
        for i in range(row.size):
            z0 += a[0, i] * row[i]
            z1 += a[1, i] * row[i]
            z2 += a[2, i] * row[i]
            z3 += a[3, i] * row[i]
        z[0, o], z[1, o], z[2, o], z[3, o] = z0, z1, z2, z3


@compiled(fastmath=FAST)
def _pull_back(d, row, back):
    """Adds d row to the slopes by the inputs of four points; two at a time, so that LLVM vectorizes."""
    for pair in range(0, 4, 2):
        left, right, d_left, d_right = back[pair], back[pair + 1], d[pair], d[pair + 1]
        for i in range(row.size):
            left[i] += d_left * row[i]
            right[i] += d_right * row[i]


@compiled(fastmath=FAST)
def _slope_of_four(d, a, slope):
    """Computes d a."""
    for i in range(slope.size):
        slope[i] = d[0] * a[0, i] + d[1] * a[1, i] + d[2] * a[2, i] + d[3] * a[3, i]


@compiled(fastmath=FAST)
def _lower(theta, slope, size):
    """Computes theta -= size slope."""
    for i in range(theta.size):
        theta[i] -= size * slope[i]


@compiled(fastmath=FAST)
def _step_of_four(theta, first, second, a, delta, back, slope, size, numbers):
    """A layer's step on four points, weight row after weight row; `back` is left empty on the first layer."""
    outputs, inputs = delta.shape[1], a.shape[1]
    rows, sums, d = outputs * inputs, slope[inputs : inputs + outputs], slope[inputs + outputs :][:4]
    back[:] = 0
    for o in range(outputs):
        part = slice(o * inputs, (o + 1) * inputs)
        sums[o] = 0
        for point in range(4):
            d[point] = delta[point, o]
            sums[o] += d[point]
        if len(back):
            _pull_back(d, theta[part], back)
        _slope_of_four(d, a, slope[:inputs])
        if numbers.size:
            _adam(theta[part], slope[:inputs], first[part], second[part], numbers)
        else:
            _lower(theta[part], slope[:inputs], size)
    if numbers.size:
        _adam(theta[rows:], sums, first[rows:], second[rows:], numbers)
    else:
        _lower(theta[rows:], sums, size)


@compiled
def _forward(kind, sizes, places, theta, count, rooms, room):
    """Activations of `count` points, layer after layer, in `room`."""
    last = sizes.size - 2
    for layer in range(last + 1):
        inputs, outputs, begin = sizes[layer], sizes[layer + 1], places[layer]
        W, b = _matrix(theta, begin, outputs, inputs), theta[begin + inputs * outputs :][:outputs]
        a = _matrix(room, rooms[layer], count, inputs)
        z = _matrix(room, rooms[layer + 1], count, outputs)
        if count == 4:
            _map_four(a, W, b, z)
        else:
            np.dot(a, W.T, z)
            _add_rows(b, z)
        if layer < last:
            _activate(kind, z.reshape(-1))


@compiled
def _backward(kind, sizes, places, theta, first, second, count, rooms, room, deltas, slope, size, numbers):
    """One step; `deltas` holds the slopes of the loss by the outputs, and room for those by all activations."""
    for layer in range(sizes.size - 2, -1, -1):
        inputs, outputs, begin = sizes[layer], sizes[layer + 1], places[layer]
        end = begin + inputs * outputs
        own, last = slice(begin, end + outputs), end - begin + outputs
        W, b = _matrix(theta, begin, outputs, inputs), theta[end : end + outputs]
        a, delta = _matrix(room, rooms[layer], count, inputs), _matrix(deltas, rooms[layer + 1], count, outputs)
        back = _matrix(deltas, rooms[layer], count if layer else 0, inputs)
        if count == 4:
            _step_of_four(theta[own], first[own], second[own], a, delta, back, slope, size, numbers)
        else:
            if layer:
                np.dot(delta, W, back)
            by_weight = _matrix(slope, 0, outputs, inputs)
            np.dot(delta.T, a, by_weight)
            if numbers.size:
                _sum_rows(delta, slope[end - begin : last])
                _adam(theta[own], slope[:last], first[own], second[own], numbers)
            else:
                _descend(W, b, by_weight, delta, size)
        if layer:
            _through(kind, a.reshape(-1), back.reshape(-1))


@compiled
def _train(kind, sizes, theta, first, second, X, Y, orders, batch, factor, adams):
    """Epochs of steps in place; `factor` is the loss' slope by the outputs of one point, times the rate of descent."""
    rooms, places = np.zeros(sizes.size + 1, np.int64), np.zeros(sizes.size, np.int64)
    largest, outputs, step = 0, sizes[-1], 0
    for layer in range(sizes.size):
        rooms[layer + 1] = rooms[layer] + batch * sizes[layer]
        if layer:
            of_map = (sizes[layer - 1] + 1) * sizes[layer]
            largest, places[layer] = max(largest, of_map), places[layer - 1] + of_map
    room, deltas = np.empty(rooms[-1], theta.dtype), np.empty(rooms[-1], theta.dtype)
    slope = np.empty(largest + 4 + 2 * sizes.max(), theta.dtype)
    for order in orders:
        for begin in range(0, len(X), batch):
            count = min(batch, len(X) - begin)
            inputs, predicted = _matrix(room, 0, count, sizes[0]), _matrix(room, rooms[-2], count, outputs)
            wrong = _matrix(deltas, rooms[-2], count, outputs)
            for point in range(count):
                for i in range(sizes[0]):
                    inputs[point, i] = X[order[begin + point], i]
            _forward(kind, sizes, places, theta, count, rooms, room)
            for point in range(count):
                for i in range(outputs):
                    wrong[point, i] = predicted[point, i] - Y[order[begin + point], i]
            numbers = adams[step]
            size = theta.dtype.type(factor / (count * outputs))
            if numbers.size:
                wrong *= size
            _backward(kind, sizes, places, theta, first, second, count, rooms, room, deltas, slope, size, numbers)
            step += 1


def train(
    theta: Array,
    moments: Sequence[Array],
    units: Sequence[int],
    X: Array,
    Y: Array,
    orders: Array,
    *,
    nonlinearity: str,
    batch: int,
    factor: float,
    rate: float,
    done: int,
) -> None:
    """Trains one network by whole passes over the points, in place.

    Args:
        theta: parameters, weights (out, in) and biases (out,) of each layer in turn, shape (P,).
        moments: of Adam, means and squares of the gradients, each like `theta`; empty for plain descent.
        units: of every layer after the input.
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        orders: order of the points in each pass, shape (passes, points).
        nonlinearity: none, relu, leaky relu or tanh.
        batch: points per step, at most as many as there are.
        factor: 2 c of the loss c <(o - y)^2>.
        rate: learning rate.
        done: steps of Adam until now.
    """
    steps = len(orders) * -(-len(X) // batch)
    numbers = (adam_numbers(rate, done, steps) if moments else np.empty((steps, 0))).astype(X.dtype)
    sizes, size = np.array([X.shape[1], *units]), X.dtype.type(factor * (1 if moments else rate))
    first, second = moments or (theta, theta)  # not touched by plain descent
    _train(NONLINEARITIES.index(nonlinearity), sizes, theta, first, second, X, Y, orders, batch, size, numbers)
