r"""Compiled steps of the event-driven flow of one cluster (`methods.events`).

A cluster comes as `moments` (J, S) of its pattern, its `data` (d, w) and `sliding`, the pairs (point, coordinate) that
slide, shape (M, 2). The velocity is that of the corrected Theorem 3.2; all else is ours. Products and solutions of
small systems are loops: numpy's take half a minute to compile, and their calls longer than the numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled

# Dormand-Prince 5(4), a stage a row; the last one is the step of order 5. The system is autonomous: no nodes.
STAGES = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
Moments = tuple[Array, Array]
Data = tuple[Array, Array]
Sliding = NDArray[np.int64]
Rates = tuple[Array, Array, Array]
Stepped = tuple[Array, Array, Rates, float]


@compiled
def velocity(
    moments: Moments, data: Data, sliding: Sliding, R: Array, b: Array
) -> Rates:  # pragma: no cover (compiled)
    """Omega (Q, Q), db/ds (Q,) and the fractions (M,) that keep sliding points on their planes.

    Corrected Theorem 3.2; the fractions are ours.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        sliding: pairs (point, coordinate), shape (M, 2).
        R: orthogonal matrix, shape (Q, Q).
        b: residual of the bias, shape (Q,), input units.
    """
    J, S = moments
    size = b.size
    A = np.zeros((size, size))
    for i in range(size):
        for a in range(size):
            image = 0.0
            for c in range(size):
                image += S[i, a, c] * R[i, c]
            for j in range(size):
                A[i, j] += image * R[j, a]
    Omega, db = np.empty((size, size)), np.empty(size)
    for i in range(size):
        db[i] = -(1.0 - J[i]) * b[i]
        for j in range(size):
            Omega[i, j] = 0.5 * ((J[i] - J[j]) * b[i] * b[j] - A[i, j] + A[j, i])
            db[i] += Omega[i, j] * b[j]
    phi = np.zeros(len(sliding))
    if len(sliding):
        _slide(data, sliding, R, b, Omega, db, phi)
    return Omega, db, phi


@compiled
def _slide(
    data: Data, sliding: Sliding, R: Array, b: Array, Omega: Array, db: Array, phi: Array
) -> None:  # pragma: no cover (compiled)
    """Solves du_ki/ds = 0 for all sliding entries, whose rates are affine in the fractions; adds what they change."""
    d, w = data
    count, size = len(sliding), b.size
    v, unit_omega, unit_db = np.zeros((count, size)), np.zeros((count, size, size)), np.zeros((count, size))
    for s in range(count):
        k, i = sliding[s]
        image_of(R, d[k], v[s])
        for j in range(size):
            change = 0.5 * w[k] * (b[i] * b[j] - v[s, i] * v[s, j])
            unit_omega[s, i, j] += change
            unit_omega[s, j, i] -= change
        for a in range(size):
            for c in range(size):
                unit_db[s, a] += unit_omega[s, a, c] * b[c]
        unit_db[s, i] += w[k] * b[i]
    rate, slope = np.empty((count, 1)), np.empty((count, count))
    for s in range(count):
        i = sliding[s, 1]
        rate[s, 0] = -normal_rate(Omega, db, v[s], i)
        for t in range(count):
            slope[s, t] = normal_rate(unit_omega[t], unit_db[t], v[s], i)
    _solve(slope, rate)
    for t in range(count):
        phi[t] = rate[t, 0]
        for a in range(size):
            db[a] += phi[t] * unit_db[t, a]
            for c in range(size):
                Omega[a, c] += phi[t] * unit_omega[t, a, c]


@compiled
def image_of(R: Array, d: Array, v: Array) -> None:  # pragma: no cover (compiled)
    """Writes R d into `v`."""
    for a in range(len(R)):
        entry = 0.0
        for c in range(len(R)):
            entry += R[a, c] * d[c]
        v[a] = entry


@compiled
def normal_rate(Omega: Array, db: Array, v: Array, i: int) -> float:  # pragma: no cover (compiled)
    """du_i/ds of a point.

    Args:
        Omega: generator of the rotation, shape (Q, Q).
        db: velocity of the residual of the bias, shape (Q,).
        v: R d of the point, shape (Q,).
        i: coordinate.
    """
    rate = db[i]
    for c in range(v.size):
        rate += Omega[i, c] * v[c]
    return rate


@compiled
def _solve(A: Array, B: Array) -> None:  # pragma: no cover (compiled)
    """Writes the solution of A X = B into B and spoils A: elimination with row exchange; a lost direction gets 0."""
    size, columns = A.shape[0], B.shape[1]
    for k in range(size):
        largest = k
        for i in range(k + 1, size):
            if abs(A[i, k]) > abs(A[largest, k]):
                largest = i
        for j in range(size):
            A[k, j], A[largest, j] = A[largest, j], A[k, j]
        for j in range(columns):
            B[k, j], B[largest, j] = B[largest, j], B[k, j]
        for i in range(k + 1, size):
            factor = A[i, k] / A[k, k] if A[k, k] != 0 else 0.0
            for j in range(k, size):
                A[i, j] -= factor * A[k, j]
            for j in range(columns):
                B[i, j] -= factor * B[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(columns):
            for i in range(k + 1, size):
                B[k, j] -= A[k, i] * B[i, j]
            B[k, j] = B[k, j] / A[k, k] if A[k, k] != 0 else 0.0


@compiled
def turned(theta: Array, R: Array) -> Array:  # pragma: no cover (compiled)
    """Cayley's rotation (1 - theta/2)^{-1} (1 + theta/2) R."""
    size = len(theta)
    left, right = np.empty((size, size)), R.copy()
    for i in range(size):
        for j in range(size):
            left[i, j] = (1.0 if i == j else 0.0) - 0.5 * theta[i, j]
            for a in range(size):
                right[i, j] += 0.5 * theta[i, a] * R[a, j]
    _solve(left, right)
    return right


@compiled
def _in_the_chart(theta: Array, Omega: Array, slope: Array) -> None:  # pragma: no cover (compiled)
    """Writes (1 - theta/2) Omega (1 + theta/2) into `slope`."""
    size = len(theta)
    left = Omega.copy()
    for i in range(size):
        for j in range(size):
            for a in range(size):
                left[i, j] -= 0.5 * theta[i, a] * Omega[a, j]
    for i in range(size):
        for j in range(size):
            slope[i, j] = left[i, j]
            for a in range(size):
                slope[i, j] += 0.5 * left[i, a] * theta[a, j]


@compiled
def step(
    moments: Moments, data: Data, sliding: Sliding, R: Array, b: Array, start: Rates, h: float
) -> Stepped:  # pragma: no cover (compiled)
    """One step in the Cayley chart at R, theta' = (1 - theta/2) Omega (1 + theta/2): R, b, velocity there, error.

    Ours: Dormand and Prince's step of order 5 with the error estimate of order 4.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        sliding: pairs (point, coordinate), shape (M, 2).
        R: orthogonal matrix at the start, shape (Q, Q).
        b: residual of the bias at the start, shape (Q,), input units.
        start: velocity at the start.
        h: length of the step, time.
    """
    size = b.size
    slopes, slopes_b = np.empty((7, size, size)), np.empty((7, size))
    rates, R1, b1 = start, R, b
    for stage in range(7):
        theta = np.zeros((size, size))
        if stage:
            b1 = b.copy()
            for done in range(stage):
                part = h * STAGES[stage - 1, done]
                for i in range(size):
                    b1[i] += part * slopes_b[done, i]
                    for j in range(size):
                        theta[i, j] += part * slopes[done, i, j]
            R1 = turned(theta, R)
            rates = velocity(moments, data, sliding, R1, b1)
        _in_the_chart(theta, rates[0], slopes[stage])
        for i in range(size):
            slopes_b[stage, i] = rates[1][i]
    return R1, b1, rates, h * _largest(slopes, slopes_b)


@compiled
def _largest(slopes: Array, slopes_b: Array) -> float:  # pragma: no cover (compiled)
    """Largest entry of the embedded estimate of the error."""
    most, size = 0.0, slopes_b.shape[1]
    for i in range(size):
        error = 0.0
        for stage in range(7):
            error += ERROR[stage] * slopes_b[stage, i]
        most = max(most, abs(error))
        for j in range(size):
            error = 0.0
            for stage in range(7):
                error += ERROR[stage] * slopes[stage, i, j]
            most = max(most, abs(error))
    return most


@compiled
def polish(R: Array) -> Array:  # pragma: no cover (compiled)
    """Nearest orthogonal matrix to first order, R (3 - R^T R)/2, shape (Q, Q): removes accumulated rounding.

    Ours: one step of Newton and Schulz.

    Args:
        R: matrix that is orthogonal but for rounding, shape (Q, Q).
    """
    size = len(R)
    polished = 1.5 * R
    for i in range(size):
        for j in range(size):
            for a in range(size):
                product = 0.0
                for c in range(size):
                    product += R[c, a] * R[c, j]
                polished[i, j] -= 0.5 * R[i, a] * product
    return polished
