"""Formulas of the study written anew, to hold experiments against: kernels, cells of the plane, rows of clusters."""

from fractions import Fraction
from functools import cache

import numpy as np
import xarray as xr


@cache
def images():
    ink = np.random.default_rng(4).random((40, 4, 3))
    return xr.Dataset({"image": (("point", "row", "column"), ink), "label": ("point", np.arange(40) % 10)})


def batch(size, stream):
    """Distinct images as columns, in the order of the source."""
    chosen = np.sort(stream.generator("batch").choice(40, size, replace=False))
    return images()["image"].values[chosen].reshape(size, 12).T


# infinite width


def arccos_kernel(gram, *, wrong=False):
    """E ReLU(w x) ReLU(w y) over half of sigma^2 for points with these inner products (Cho and Saul)."""
    length = np.sqrt(np.diag(gram))
    theta = np.arccos(np.clip(gram / np.outer(length, length), -1, 1))
    return np.outer(length, length) * (np.sin(theta) + (theta if wrong else np.pi - theta) * np.cos(theta)) / np.pi


def kernel(X, *, wrong=False):
    """The same for all pairs of columns."""
    return arccos_kernel(X.T @ X, wrong=wrong)


def recentered(gram):
    """Inner products of the points after the mean of the batch is subtracted."""
    mean = gram.mean(axis=0)
    return gram - mean - mean[:, None] + mean.mean()


def step(gram):
    """Expected Gram matrix after recentering and ReLU, in units of d sigma^2 / 2."""
    return arccos_kernel(recentered(gram))


def angles_of(gram):
    """Degrees between points with these inner products, all pairs."""
    length = np.sqrt(np.diag(gram))
    return np.degrees(np.arccos(np.clip(gram / np.outer(length, length), -1, 1)))


# cells of the plane


def circle(n):
    angle = 2 * np.pi * np.arange(1, n + 1) / n
    return np.stack([np.cos(angle), np.sin(angle)])


def edges(X):
    """Angles of the rows w that are orthogonal to one of the planar columns, in increasing order."""
    angle = np.arctan2(X[1], X[0])
    return np.sort(np.concatenate([angle + np.pi / 2, angle - np.pi / 2]) % (2 * np.pi))


def sectors(X):
    """Volumes of the cells of planar columns."""
    ends = edges(X)
    return np.diff([*ends, ends[0] + 2 * np.pi]) / (2 * np.pi)


# the simplified model


def layer(rows):
    """Positive and negative transformation of every row, exact."""
    moved = [[value - sum(row) / Fraction(len(row)) for value in row] for row in rows]
    return [[max(sign * value, Fraction(0)) for value in row] for sign in (1, -1) for row in moved]


def layers(x, depth):
    rows = [[Fraction(value) for value in x]]
    for _ in range(depth):
        rows = layer(rows)
    return rows


def descended(x, depth):
    """Squares of the two-cluster rows by split, positive above it and below it, and the wider rows; floats."""
    n, rows, m = len(x), [np.array(x, float)], np.arange(1, len(x))
    above, below = np.zeros((2, n - 1))
    for _ in range(depth):
        above, below = (above + below) * m**2 / n**2, (above + below) * (n - m) ** 2 / n**2
        wider = []
        for row in rows:
            for child in (np.maximum(row - row.mean(), 0), np.maximum(row.mean() - row, 0)):
                if len(np.unique(child)) > 2:
                    wider.append(child)
                elif child.any():
                    side = above if child[-1] > child[0] else below
                    side[np.flatnonzero(np.diff(child))[0]] += child.max() ** 2
        rows = wider
    return above, below, rows


def amplitudes(x, depth):
    """Squares of the rows that part points 1..m from the rest, m = 1..n-1, and the wider rows."""
    above, below, rows = descended(x, depth)
    return above + below, rows


def tree_gram(x, depth):
    """Gram matrix of the points in a layer."""
    above, below, rows = descended(x, depth)
    place, n = np.arange(len(x)), len(x)
    total = sum((np.outer(row, row) for row in rows), np.zeros((n, n)))
    for split, (up, down) in enumerate(zip(above, below, strict=True), 1):
        total += up * np.outer(place >= split, place >= split) + down * np.outer(place < split, place < split)
    return total
