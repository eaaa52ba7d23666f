r"""Inner products and singular values of one layer, from one Gram matrix and one eigendecomposition.

A layer A has shape (points, units). Everything that rotations of its units leave unchanged is computed in coordinates F
of at most as many columns as there are points, with F F^T = A A^T. Small layers go through orthogonal decompositions,
which lose no digits. Large ones go through the smaller Gram matrix, summed in double precision over blocks of units:
singular values below sqrt(min(points, units) eps), about 1e-6 of the largest at 4,096, are rounding there and count as
zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array

SMALL = 2**26  # points * units * min(points, units), up to which an orthogonal decomposition takes no time to speak of
BLOCK = 2**24  # entries that are turned into double precision at a time
WIDTH = 2**12  # units at a time, few enough for the processor's cache


def is_small(A: NDArray[np.floating]) -> bool:
    """Whether full accuracy costs next to nothing.

    Ours: a limit of effort.
    """
    points, units = A.shape
    return points * units * min(points, units) <= SMALL


def gram(A: NDArray[np.floating], *, positive_part: bool = False) -> Array:
    """A A^T or relu(A) relu(A)^T in double precision, shape (points, points), over blocks of units.

    Ours: sums in blocks.
    """
    G = np.zeros((len(A), len(A)))
    for block in unit_blocks(A, positive_part=positive_part):
        G += block @ block.T
    return G


def covariance(A: NDArray[np.floating], B: NDArray[np.floating] | None = None) -> Array:
    """A^T B in double precision, shape (units, units), over blocks of points; A^T A without B.

    Ours: sums in blocks.
    """
    C = np.zeros((A.shape[1], A.shape[1] if B is None else B.shape[1]))
    rows = max(1, BLOCK // max(C.shape))
    for first in range(0, len(A), rows):
        a = A[first : first + rows].astype(np.float64)
        C += a.T @ (a if B is None else B[first : first + rows].astype(np.float64))
    return C


def unit_blocks(A: NDArray[np.floating], *, positive_part: bool):
    """Blocks of units of a layer in double precision, each of shape (points, some units).

    Ours: a cut into blocks.
    """
    for first in range(0, A.shape[1], WIDTH):
        block = A[:, first : first + WIDTH].astype(np.float64)
        yield np.maximum(block, 0, out=block) if positive_part else block


def eigenvalues(C: Array, mean: Array, points: int) -> tuple[Array, Array]:
    """Eigenvalues of C = A^T A and of C - n mean mean^T, descending, rounding cut to zero, from one reduction.

    In a basis that begins with the mean, the tridiagonal form of both differs in its first entry alone.

    Ours: two spectra from one reduction.

    Args:
        C: Gram matrix of the units, shape (d, d).
        mean: mean of the points, shape (d,).
        points: how many points.
    """
    lapack = scipy.linalg.lapack
    work = int(lapack.dsytrd_lwork(len(C), lower=1)[0])  # without it blocks are of one column, twice as slow
    _, diagonal, off_diagonal, _, _ = lapack.dsytrd(_with_first_axis(C, mean), lower=1, overwrite_a=1, lwork=work)
    whole = scipy.linalg.eigvalsh_tridiagonal(diagonal, off_diagonal)[::-1]
    diagonal[0] -= points * float(mean @ mean)
    centered = scipy.linalg.eigvalsh_tridiagonal(diagonal, off_diagonal)[::-1]
    return without_rounding(whole, whole[0]), without_rounding(centered, whole[0])


def _with_first_axis(C: Array, direction: Array) -> Array:
    """H C H with the reflection H that takes a direction to the first axis, as a new Fortran array."""
    C = np.array(C, order="F")
    v = direction.copy()
    v[0] += np.copysign(np.linalg.norm(v), v[0])
    if not (size := float(v @ v)):
        return C
    w = 2 / size * (C @ v)
    w -= float(v @ w) / size * v
    C -= np.outer(v, w)
    C -= np.outer(w, v)
    return C


def without_rounding(eigenvalues: Array, largest: float) -> Array:
    """Eigenvalues of a positive matrix with what is rounding next to the largest one set to zero.

    Ours: a convention for rounding.
    """
    return np.where(eigenvalues > len(eigenvalues) * np.finfo(float).eps * max(largest, 0.0), eigenvalues, 0.0)


@dataclass(frozen=True)
class Spectrum:
    """A layer in coordinates with the same inner products.

    Attributes:
        F: coordinates, shape (points, d), d = min(points, units).
        s: singular values, shape (d,), descending.
        A: the layer itself in double precision, of a small layer; else None.
        centered_values: squared singular values without the mean, of a large layer with at most as many units as
            points, shape (d,); else None.
    """

    F: Array
    s: Array
    A: Array | None = field(default=None, repr=False)
    centered_values: Array | None = field(default=None, repr=False)

    @property
    def rows(self) -> Array:
        """The points in its coordinates that lost least, shape (points, units) or (points, d)."""
        return self.F if self.A is None else self.A

    @cached_property
    def norms(self) -> Array:
        """Length of each point, shape (points,)."""
        return np.linalg.norm(self.rows, axis=1)

    @cached_property
    def centered(self) -> Array:
        """Singular values after the mean over points is taken out, shape (d,), descending."""
        if self.centered_values is not None:
            return np.sqrt(self.centered_values)
        mean = self.rows.mean(axis=0)
        if self.A is not None:
            s = cast("Array", np.linalg.svd(square(self.A - mean), compute_uv=False))
            return np.where(s > len(self.A) * np.finfo(float).eps * self.s[0], s, 0.0)  # else rounding of the mean
        return np.sqrt(eigenvalues(np.diag(self.s**2), mean, len(self.F))[1])


def spectrum(A: NDArray[np.floating]) -> Spectrum:
    """Coordinates and singular values of a layer, shape (points, units), any floating type.

    Ours: the coordinates that all measures of a layer share.
    """
    if is_small(A):
        layer = A.astype(np.float64)
        columns = square(layer)
        return Spectrum(columns.T, cast("Array", np.linalg.svd(columns, compute_uv=False)), A=layer)
    if A.shape[1] > A.shape[0]:
        values, vectors = np.linalg.eigh(gram(A))
        s = np.sqrt(without_rounding(values[::-1], values[-1]))
        return Spectrum(vectors[:, ::-1] * s, s)
    F = A.astype(np.float64, copy=False)
    values, centered = eigenvalues(covariance(A), F.mean(axis=0), len(A))
    return Spectrum(F, np.sqrt(values), centered_values=centered)


def centered_values(A: NDArray[np.floating]) -> Array:
    """Singular values after the mean over points is taken out, shape (min(points, units),), descending.

    From the smaller Gram matrix of the centered points, faster than an orthogonal decomposition: values
    below about 1e-7 of the largest, where activations in single precision end, count as zero.

    Args:
        A: some points of a layer, shape (points, units), any floating type.
    """
    scale = float(np.abs(A).max()) or 1.0  # else the squares of very small or large numbers are lost
    points = A.astype(np.float64) / scale
    centered = points - points.mean(axis=0)
    G = centered @ centered.T if len(A) <= A.shape[1] else centered.T @ centered
    values = np.linalg.eigvalsh(G)[::-1]
    s = scale * np.sqrt(without_rounding(values, values[0]))
    return np.where(s > len(A) * np.finfo(float).eps * scale * np.linalg.norm(points), s, 0.0)  # rounding of the mean


def square(A: Array) -> Array:
    """R with R^T R = A A^T, at most square: the points as columns in coordinates with the same inner products.

    Ours: coordinates of a small layer.
    """
    return A.T if A.shape[1] <= A.shape[0] else cast("Array", np.linalg.qr(A.T, mode="r"))
