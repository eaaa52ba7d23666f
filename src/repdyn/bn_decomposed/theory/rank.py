r"""Cells of constant signs and what a new ReLU neuron adds: Definition 1, its example, and Lemma 2.

A batch X is k x n with one column per data point. The hyperplanes orthogonal to the columns cut the space of
the rows w into cells of constant sign(w x_i); gamma(X) is the smallest Gaussian volume of a cell. Only the
span of the columns matters, so the exact methods apply to any k once the rank of X is 2 or 3. Paper: Nachum,
Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed".
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.layers import as_batch

if TYPE_CHECKING:
    from repdyn.base.arrays import Float, Int

Method = Literal["exact2d", "exact3d"]
COLLINEAR = 1e-12
NEW_DIRECTION = 1e-10


def collinear_pairs(X: Float[Array, "k n"]) -> list[tuple[int, int]]:
    """Pairs of columns i < j whose angle is within `COLLINEAR` radians of 0 or pi.

    Ours: what Theorem 3 and Lemma 2 exclude, in floating point.

    Args:
        X: batch.

    Raises:
        ValueError: bad batch or a zero column.
    """
    angles = pair_angles(X)
    bad = np.minimum(angles, np.pi - angles) <= COLLINEAR
    rows, columns = np.triu_indices(np.shape(X)[1], 1)
    return list(zip(rows[bad].tolist(), columns[bad].tolist(), strict=True))


def cells(X: Float[Array, "k n"], method: Method) -> tuple[Float[Array, "cells n"], Float[Array, "cells"]]:
    """Signs and Gaussian volumes of the cells of Definition 1, exactly, in no particular order.

    Args:
        X: batch, no zero column; collinear columns share their hyperplane.
        method: "exact2d" (rank 1 or 2: gaps between the directions mod pi) or "exact3d" (rank 3: areas of the
            arrangement of great circles).

    Returns:
        Signs of w x_i in each cell, entries -1 and 1, and volumes > 0 that sum to 1.

    Raises:
        ValueError: bad batch, a zero column, or a rank that the method does not serve.
    """
    X = as_batch(X)
    pair_angles(X)
    if method not in ("exact2d", "exact3d"):
        raise ValueError(f'got method={method!r}, expected "exact2d" or "exact3d"')
    if method == "exact2d":
        directions = _in_its_span(X, ranks=(1, 2))
        rows, volumes = _sectors(directions)
    else:
        directions = _in_its_span(X, ranks=(3,))
        rows, volumes = _spherical_cells(directions)
    kept = volumes > COLLINEAR
    return np.sign(rows[kept] @ directions), volumes[kept]


def cell_volume_min(X: Float[Array, "k n"], method: Method) -> float:
    r"""gamma(X) = min positive Gaussian volume of a cell {w : sign(w x_i) = s_i for all i}, eq. (5).

    It never exceeds 1/2, since -w lies in the opposite cell.

    Args:
        X: batch, no two columns collinear (the hypothesis of Lemma 2 and Theorem 3).
        method: see `cells`.

    Raises:
        ValueError: as `cells`, and for collinear columns, which are named.
    """
    if pairs := collinear_pairs(X):
        raise ValueError(
            f"got {len(pairs)} collinear pairs of columns, first {pairs[:5]}, expected none (Theorem 3; in "
            "Corollary 4 of the recentered batch): the rank may never be full; merge or move these points"
        )
    return float(cells(X, method)[1].min())


def circle_batch(n: int) -> Float[Array, "2 n"]:
    """The n equally spaced points (cos 2 pi i/n, sin 2 pi i/n), i = 1..n, of the example.

    The example below Definition 1.
    """
    if n < 3:
        raise ValueError(f"got n = {n}, expected at least 3 points on the circle")
    angle = 2 * np.pi * np.arange(1, n + 1) / n
    return np.vstack([np.cos(angle), np.sin(angle)])


def circle_cells_as_printed(n: int) -> tuple[int, float]:
    """Number of cells and gamma of the circle example as printed: (n, 1/n) for odd n.

    The example below Definition 1.
    """
    return n, 1.0 / n


def circle_cells(n: int) -> tuple[int, float]:
    """Number of cells and gamma of n equally spaced points: (2 n, 1/(2 n)) for odd n, (n, 1/n) for even n.

    For odd n the n lines orthogonal to the points are distinct and cut the plane into 2 n equal sectors; for
    even n antipodal points share their line (and violate the hypothesis of Theorem 3).

    Example:
        >>> circle_cells(9), circle_cells(8)
        ((18, 0.05555555555555555), (8, 0.125))
    """
    cells = 2 * n if n % 2 else n
    return cells, 1.0 / cells


def rank_product_bound_as_printed(rank_a: int, rank_b: int) -> int:
    """Section I as printed: rank(A B) <= max(rank A, rank B); true, but useless."""
    return max(rank_a, rank_b)


def rank_product_bound(rank_a: int, rank_b: int) -> int:
    """rank(A B) <= min(rank A, rank B).

    Ours: the elementary inequality behind linear layers, not numbered in the paper.
    """
    return min(rank_a, rank_b)


def null_vector(X: Float[Array, "k n"], W: Float[Array, "r k"]) -> Float[Array, "n"]:
    """The unit vector a with ReLU(W X) a = 0, (14a), unique up to its sign.

    Args:
        X: batch of n = t + 1 columns.
        W: rows, with ReLU(W X) of rank t.

    Raises:
        ValueError: ReLU(W X) not of rank t.
    """
    _, s, right = np.linalg.svd(np.maximum(W @ X, 0.0))
    rank = np.count_nonzero(s > NEW_DIRECTION * s[0])
    if rank != X.shape[1] - 1:
        raise ValueError(f"got ReLU(W X) of rank {rank}, expected {X.shape[1] - 1}, one less than the columns")
    return right[-1]


def flip_one_sign(w: Float[Array, "*rows k"], X: Float[Array, "k n"], epsilon: float = 1e-9) -> Float[Array, "*rows k"]:
    r"""Row next to w on the other side of exactly one hyperplane; eqs. (18)-(20) as corrected.

    w' = w - (1 + epsilon) (w x_i) x_i' / ||x_i||^2 with i = argmin |w x_i| / ||x_i||, the nearest hyperplane.
    Then w' x_i = -epsilon w x_i and, as no two columns are collinear, no other sign changes for small
    epsilon.

    Args:
        w: row, or rows.
        X: batch, no two columns collinear.
        epsilon: overshoot > 0.

    Returns:
        The new row or rows, shape of w.
    """
    product = w @ X
    length = np.linalg.norm(X, axis=0)
    i = np.argmin(np.abs(product) / length, axis=-1)
    return w - _step(product, X, i, (1 + epsilon) / length**2)


def flip_one_sign_as_printed(
    w: Float[Array, "*rows k"], X: Float[Array, "k n"], epsilon: float = 1e-9, *, squared_norm: bool = False
) -> Float[Array, "*rows k"]:
    r"""Eqs. (18)-(20) as printed: i = argmin |w x_i|, w' = w - (1 + epsilon) (w x_i / ||x_i||) x_i'.

    The result is that of `flip_one_sign`. The index of (18) is that of the smallest product, not of the nearest
    hyperplane.

    Args:
        w: row of weights, or rows.
        X: batch.
        epsilon: how far beyond the hyperplane the step goes, relative to the way there.
        squared_norm: read the denominator as ||x_i||^2, so that the step at least reaches the hyperplane.
    """
    product = w @ X
    length = np.linalg.norm(X, axis=0)
    i = np.argmin(np.abs(product), axis=-1)
    return w - _step(product, X, i, (1 + epsilon) / length ** (2 if squared_norm else 1))


def signs_changed(
    w: Float[Array, "*rows k"], v: Float[Array, "*rows k"], X: Float[Array, "k n"]
) -> Int[Array, "*rows"]:
    """Number of columns with sign(w x_i) != sign(v x_i), for one row or for rows.

    Ours: what Lemma 2 says is one.
    """
    return np.count_nonzero(np.sign(w @ X) != np.sign(v @ X), axis=-1)


def _step(product: Array, X: Array, i: Array, factor: Array) -> Array:
    chosen = np.take_along_axis(product, np.expand_dims(i, -1), axis=-1)
    return chosen * (X * factor).T[i]


def _in_its_span(X: Array, ranks: tuple[int, ...]) -> Array:
    _, s, rows = np.linalg.svd(X / np.linalg.norm(X, axis=0), full_matrices=False)
    rank = np.count_nonzero(s > 1e-10 * s[0])
    if rank not in ranks:
        raise ValueError(
            f'got a batch of rank {rank}, expected rank {ranks[-1]}: "exact2d" serves 1 and 2, "exact3d" 3'
        )
    directions = np.zeros((max(ranks), X.shape[1]))
    directions[:rank] = s[:rank, None] * rows[:rank]
    return directions


def _sectors(directions: Array) -> tuple[Array, Array]:
    angle = np.sort(np.arctan2(directions[1], directions[0]) % np.pi)
    gap = np.diff(np.append(angle, angle[0] + np.pi))
    middle = angle + (gap + np.pi) / 2  # the lines are orthogonal to the directions
    rows = np.column_stack([np.cos(middle), np.sin(middle)])
    return np.vstack([rows, -rows]), np.tile(gap, 2) / (2 * np.pi)


def _spherical_cells(directions: Array) -> tuple[Array, Array]:
    polygons = _octants(directions)
    for x in directions.T:
        polygons = [half for polygon in polygons for half in _split(polygon, x)]
    rows = np.array([polygon.mean(axis=0) for polygon in polygons])
    return rows, np.array([_solid_angle(polygon) for polygon in polygons]) / (4 * np.pi)


def _octants(directions: Array) -> list[Array]:
    basis = [0]
    for j in range(1, directions.shape[1]):
        candidate = directions[:, [*basis, j]]
        if np.linalg.svd(candidate, compute_uv=False)[-1] > 1e-10 and len(basis) < 3:
            basis.append(j)
    corners = np.linalg.inv(directions[:, basis])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    signs = np.array(np.meshgrid([1, -1], [1, -1], [1, -1])).reshape(3, 8).T
    return [sign[:, None] * corners for sign in signs]


def _split(cell: Array, x: Array) -> list[Array]:
    side = cell @ x
    side = np.where(np.abs(side) < 1e-13, 0.0, side)
    if (side >= 0).all() or (side <= 0).all():
        return [cell]
    halves: tuple[list[Array], list[Array]] = ([], [])
    for p, q, s, r in zip(cell, np.roll(cell, -1, axis=0), side, np.roll(side, -1), strict=True):
        for half, keep in zip(halves, (s >= 0, s <= 0), strict=True):
            if keep:
                half.append(p)
        if s * r < 0:
            crossing = abs(r) * p + abs(s) * q
            for half in halves:
                half.append(crossing / np.linalg.norm(crossing))
    return [np.array(half) for half in halves]


def _solid_angle(cell: Array) -> float:
    a = cell[0]
    total = 0.0
    for b, c in pairwise(cell[1:]):
        volume = abs(np.dot(a, np.cross(b, c)))
        total += 2 * np.arctan2(volume, 1 + a @ b + b @ c + c @ a)
    return total
