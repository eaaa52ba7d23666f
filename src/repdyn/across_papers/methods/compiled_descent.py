"""Full-batch descent of the networks of `networks`, compiled: one seed at a time, gradients written by hand.

Inner loops run over neurons, which lie side by side, sums over points too: so they take the vector unit.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.compiling import compiled

PLAIN, RECENTERED, NORMALIZED, STREAM = range(4)


@compiled
def _affine(a, W, b, z):
    """Computes z = a W^T + b, shape (points, out)."""
    np.dot(a, W.T, z)
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            z[p, i] += b[i]


@compiled
def _relu(a, positive):
    for p in range(a.shape[0]):
        for i in range(a.shape[1]):
            positive[p, i] = max(a[p, i], 0.0)


@compiled
def _recenter(z):
    """Takes the mean over points out, in place."""
    mean = np.zeros(z.shape[1])
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            mean[i] += z[p, i]
    mean /= z.shape[0]
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            z[p, i] -= mean[i]


@compiled
def _normalize(z, floor, deviation):
    """Divides centered pre-activations by sqrt(variance + floor), which it leaves in `deviation`; in place."""
    deviation[:] = 0.0
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            deviation[i] += z[p, i] ** 2
    for i in range(z.shape[1]):
        deviation[i] = np.sqrt(deviation[i] / z.shape[0] + floor)
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            z[p, i] /= deviation[i]


@compiled
def _hidden(kind, z, scale, shift, floor, deviation, a):
    """The representation of a layer without a stream from z, which is left recentered or normalized."""
    if kind != PLAIN:
        _recenter(z)
    if kind != NORMALIZED:
        _relu(z, a)
        return
    _normalize(z, floor, deviation)
    for p in range(z.shape[0]):
        for i in range(z.shape[1]):
            a[p, i] = max(scale[i] * z[p, i] + shift[i], 0.0)


@compiled
def _hidden_slope(kind, a, z, scale, shift, last_scale, last_shift, deviation, pace, delta):
    """Turns delta = dL/da of a layer without a stream into dL/dz; scale and shift take their step."""
    points, units = a.shape
    for p in range(points):
        for i in range(units):
            delta[p, i] = delta[p, i] if a[p, i] > 0 else 0.0
    if kind == NORMALIZED:
        along, total = np.zeros(units), np.zeros(units)
        for p in range(points):
            for i in range(units):
                along[i] += delta[p, i] * z[p, i]
                total[i] += delta[p, i]
        for p in range(points):
            for i in range(units):
                delta[p, i] = scale[i] * (delta[p, i] - z[p, i] * along[i] / points) / deviation[i]
        _move(scale, last_scale, along, pace)
        _move(shift, last_shift, total, pace)
    if kind != PLAIN:
        _recenter(delta)


@compiled
def _move(part, last, slope, pace):
    """Computes part <- kept part - rate slope + momentum (last move), and leaves the move in `last`."""
    rate, kept, momentum = pace
    for i in range(part.size):
        moved = kept * part[i] - rate * slope[i] + momentum * last[i]
        last[i] = moved - part[i]
        part[i] = moved


@compiled
def _descend(W, b, last_W, last_b, a, delta, pace, slope):
    """Moves W against delta^T a and b against the sum of delta."""
    np.dot(delta.T, a, slope)
    for i in range(W.shape[0]):
        _move(W[i], last_W[i], slope[i], pace)
    total = np.zeros(b.size)
    for p in range(delta.shape[0]):
        for i in range(b.size):
            total[i] += delta[p, i]
    _move(b, last_b, total, pace)


@compiled
def _forward(kind, stream, floor, X, maps, room, out):
    """Representations and outputs into the room."""
    first, first_b, middle, biases, last, last_b, scales, shifts = maps
    a, z, s, deviation = room
    through, share = stream
    _affine(X, first, first_b, z[0])
    if kind == STREAM:
        for p in range(z.shape[1]):
            for i in range(z.shape[2]):
                a[0, p, i] = z[0, p, i]
    else:
        _hidden(kind, z[0], scales[0], shifts[0], floor, deviation[0], a[0])
    for layer in range(1, len(a)):
        if kind == STREAM:
            _relu(a[layer - 1], s[layer - 1])
            _affine(s[layer - 1], middle[layer - 1], biases[layer - 1], z[layer])
            for p in range(z.shape[1]):
                for i in range(z.shape[2]):
                    a[layer, p, i] = through * a[layer - 1, p, i] + share * z[layer, p, i]
        else:
            _affine(a[layer - 1], middle[layer - 1], biases[layer - 1], z[layer])
            _hidden(kind, z[layer], scales[layer], shifts[layer], floor, deviation[layer], a[layer])
    _affine(a[-1], last, last_b, out)


@compiled
def _backward(kind, stream, X, maps, moves, room, error, pace):
    """One step of descent: each map hands its gradient down before it takes its own step."""
    first, first_b, middle, biases, last, last_b, scales, shifts = maps
    to_first, to_first_b, to_middle, to_biases, to_last, to_last_b, to_scales, to_shifts = moves
    a, z, s, deviation = room
    through, share = stream
    delta, below, square = np.dot(error, last), np.empty_like(a[0]), np.empty((len(first), len(first)))
    _descend(last, last_b, to_last, to_last_b, a[-1], error, pace, np.empty_like(last))
    for layer in range(len(a) - 1, -1, -1):
        if kind != STREAM:
            _hidden_slope(
                kind,
                a[layer],
                z[layer],
                scales[layer],
                shifts[layer],
                to_scales[layer],
                to_shifts[layer],
                deviation[layer],
                pace,
                delta,
            )
        if layer == 0:
            break
        W, own = middle[layer - 1], (middle[layer - 1], biases[layer - 1], to_middle[layer - 1], to_biases[layer - 1])
        if kind == STREAM:
            above, inside = share * delta, s[layer - 1]
            np.dot(above, W, below)
            for p in range(below.shape[0]):
                for i in range(below.shape[1]):
                    below[p, i] = through * delta[p, i] + (below[p, i] if inside[p, i] > 0 else 0.0)
            _descend(*own, inside, above, pace, square)
        else:
            np.dot(delta, W, below)
            _descend(*own, a[layer - 1], delta, pace, square)
        delta, below = below, delta
    _descend(first, first_b, to_first, to_first_b, X, delta, pace, np.empty_like(first))


@compiled
def train(kind, stream, floor, X, Y, maps, moves, pace, steps):
    """Takes steps of descent on one network, in place; returns its loss before them.

    Args:
        kind: PLAIN, RECENTERED, NORMALIZED or STREAM.
        stream: what a stream keeps of the layer before, and its share of the layer's map.
        floor: added to the variance.
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        maps: weights and biases of the first map, (width, inputs) and (width,), those between layers, (layers, width,
            width) and (layers, width), those out, (outputs, width) and (outputs,); scales and shifts of batch
            normalization, each (layers + 1, width), which only NORMALIZED reads.
        moves: the last move of each of them, which momentum repeats; same shapes.
        pace: learning rate; factor on parameters per step, 1 - rate decay; momentum.
        steps: how many; with 0 only the loss is computed.
    """
    shape = len(maps[2]) + 1, len(X), len(maps[0])
    room = np.empty(shape), np.empty(shape), np.empty(shape), np.empty((shape[0], shape[2]))
    out, loss = np.empty(Y.shape), 0.0
    for step in range(max(steps, 1)):
        _forward(kind, stream, floor, X, maps, room, out)
        if step == 0:
            loss = np.sum((out - Y) ** 2) / (2 * len(X))
        if steps:
            _backward(kind, stream, X, maps, moves, room, (out - Y) / len(X), pace)
    return loss
