"""Velocity and descent by the closed form of the ReLU kernel, all pairs of neurons, to hold experiments against."""

import numpy as np

COV = np.diag([5.0, 1.0])


def circle(count):
    angle = 2 * np.pi * (np.arange(count) + 0.5) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def paired(count):
    """Every direction with both signs."""
    return np.repeat([1.0, -1.0], count), np.tile(circle(count), (2, 1))


def signed(count, generator):
    """Twice as many directions, independent signs."""
    return generator.choice([-1.0, 1.0], size=2 * count), circle(2 * count)


def linear(degrees, slope=1.0):
    """Teacher of y = slope w^T x: output weights, inner weights."""
    w = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    return slope * np.array([1.0, -1.0]), np.array([w, -w])


def velocity(a, b, target, *, bn=True, cov=COV):
    """a', b' and the population loss; K(u, v) = |u| |v| (sin t + (pi - t) cos t)/2 pi in the Sigma-norm."""
    c, w = target
    lengths = np.sqrt(np.einsum("mi,ij,mj->m", b, cov, b))[:, None]
    own = b / lengths if bn else b
    v, charge = np.concatenate([own, w]), np.concatenate([a / len(a), -c])
    norms = np.sqrt(np.einsum("mi,ij,mj->m", v, cov, v))
    cosine = np.clip(v @ cov @ v.T / np.outer(norms, norms), -1, 1)
    angle = np.arccos(cosine)
    kernel = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)
    m = len(a)
    radial = (np.sin(angle[:m]) * charge * norms).sum(axis=1) / norms[:m]
    pull = (radial[:, None] * own + ((np.pi - angle[:m]) * charge) @ v) @ cov / (2 * np.pi)
    if bn:
        pull = (pull - np.sum(own * pull, axis=1, keepdims=True) * own @ cov) / lengths
    return -kernel[:m] @ charge, -a[:, None] * pull, charge @ kernel @ charge / 2


def descent(a, b, target, step, iterations, *, bn=True, cov=COV):
    """a, b and loss at every iteration, 0 to the last."""
    path = []
    for _ in range(iterations + 1):
        da, db, loss = velocity(a, b, target, bn=bn, cov=cov)
        path.append((a, b, loss))
        a, b = a + step * da, b + step * db
    return [np.array(part) for part in zip(*path, strict=True)]


def turning(b, db):
    """Length of the part of db across b."""
    unit = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return np.linalg.norm(db - np.sum(unit * db, axis=-1, keepdims=True) * unit, axis=-1)


def axis_angle(b):
    return np.degrees(np.arctan2(np.abs(b[..., 1]), np.abs(b[..., 0])))
