"""Compiled search for where a cluster's flow (`methods.events`) meets a coordinate plane, and what it does there.

Arguments are those of `methods.event_steps`. All of it is ours.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled
from repdyn.truncation_flow.methods.event_steps import (
    Data,
    Moments,
    Sliding,
    Stepped,
    image_of,
    normal_rate,
    step,
    turned,
    velocity,
)

NODES = 8  # parts of a step in which the first change of sign is looked for
HALVINGS = 48
NEWTON_STEPS = 6
ZERO = 1e-13
LINEAR = 1e-7  # time over which the velocity stands for the flow: the square, 1e-14, is below a step's error
OFF, ON, SLIDES = 0, 1, 2  # what an entry of the pattern does after its plane is reached
Crossing = tuple[int, int, float]


@compiled
def accepted_step(
    moments: Moments, data: Data, sliding: Sliding, H: Array, R: Array, b: Array, h: float, tolerance: float
) -> tuple[Stepped, Stepped, float, Crossing]:  # pragma: no cover (compiled)
    """A step whose estimated error is within the tolerance: its start, its end, its length, the first crossing in it.

    Ours: the usual control of the length by the error of order 5.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        sliding: pairs (point, coordinate), shape (M, 2).
        H: pattern, shape (N, Q).
        R: orthogonal matrix at the start, shape (Q, Q).
        b: residual of the bias at the start, shape (Q,), input units.
        h: length to begin with, time.
        tolerance: largest error of a step.
    """
    start = velocity(moments, data, sliding, R, b)
    end = step(moments, data, sliding, R, b, start, h)
    while end[3] > tolerance:
        h *= max(0.2, 0.9 * (tolerance / end[3]) ** 0.2)
        end = step(moments, data, sliding, R, b, start, h)
    begin = (R, b, start, 0.0)
    return begin, end, h, first_crossing(H, data[0], sliding, begin, end, h)


@compiled
def first_crossing(
    H: Array, d: Array, sliding: Sliding, begin: Stepped, end: Stepped, h: float
) -> Crossing:  # pragma: no cover (compiled)
    """Earliest entry whose sign leaves its pattern within a step, by cubic Hermite interpolation, and when.

    Entry and time are -1, -1 and inf where none does. Ours.

    Args:
        H: pattern, shape (N, Q).
        d: points less their label, shape (N, Q).
        sliding: pairs (point, coordinate) that are left out, shape (M, 2).
        begin: start of the step.
        end: its end.
        h: its length, time.
    """
    (R0, b0, (Omega0, db0, _), _), (R1, b1, (Omega1, db1, _), _) = begin, end
    per_length, fixed = _reach(begin, end, h)
    point, coordinate, when = -1, -1, np.inf
    size = len(b0)
    v0, v1 = np.empty(size), np.empty(size)
    for k in range(H.shape[0]):
        square = 0.0
        for c in range(size):
            square += d[k, c] * d[k, c]
        length = np.sqrt(square)
        for i in range(size):
            u = b0[i]
            for c in range(size):
                u += R0[i, c] * d[k, c]
            sign = 1.0 if H[k, i] > 0 else -1.0
            if sign * u >= per_length[i] * length + fixed[i]:
                continue
            image_of(R0, d[k], v0)
            image_of(R1, d[k], v1)
            g0, g1 = sign * (v0[i] + b0[i]), sign * (v1[i] + b1[i])
            s0, s1 = sign * h * normal_rate(Omega0, db0, v0, i), sign * h * normal_rate(Omega1, db1, v1, i)
            if min(g0, g1) < abs(s0) + abs(s1) and not _slides(sliding, k, i):
                root = _hermite_exit(g0, g1, s0, s1)
                if root < when:
                    point, coordinate, when = k, i, root
    return point, coordinate, when * h


@compiled
def _reach(begin: Stepped, end: Stepped, h: float) -> tuple[Array, Array]:  # pragma: no cover (compiled)
    """Distance from its plane, by coordinate, from which no entry can cross: a part per length of d_k, a fixed part.

    As rotations keep lengths, Schwarz's inequality bounds both slopes and the difference of both ends.
    """
    (R0, b0, (Omega0, db0, _), _), (R1, b1, (Omega1, db1, _), _) = begin, end
    size = len(b0)
    per_length, fixed = np.empty(size), np.empty(size)
    for i in range(size):
        moved, turned0, turned1 = 0.0, 0.0, 0.0
        for c in range(size):
            moved += (R1[i, c] - R0[i, c]) ** 2
            turned0 += Omega0[i, c] ** 2
            turned1 += Omega1[i, c] ** 2
        per_length[i] = np.sqrt(moved) + h * (np.sqrt(turned0) + np.sqrt(turned1)) + ZERO
        fixed[i] = abs(b1[i] - b0[i]) + h * (abs(db0[i]) + abs(db1[i])) + ZERO
    return per_length, fixed


@compiled
def _slides(sliding: Sliding, k: int, i: int) -> bool:  # pragma: no cover (compiled)
    for s in range(len(sliding)):  # noqa: SIM110 (compiled)
        if sliding[s, 0] == k and sliding[s, 1] == i:
            return True
    return False


@compiled
def _cubic(t: float, g0: float, g1: float, m0: float, m1: float) -> float:  # pragma: no cover (compiled)
    return g0 + t * (m0 + t * (3 * (g1 - g0) - 2 * m0 - m1 + t * (m0 + m1 - 2 * (g1 - g0))))


@compiled
def _hermite_exit(g0: float, g1: float, m0: float, m1: float) -> float:  # pragma: no cover (compiled)
    """First t in [0, 1] at which the cubic with these end values and slopes turns negative; inf if none."""
    for node in range(1, NODES + 1):
        if _cubic(node / NODES, g0, g1, m0, m1) < -ZERO:
            left, right = (node - 1) / NODES, node / NODES
            if _cubic(left, g0, g1, m0, m1) <= 0:
                return left
            for _ in range(HALVINGS):
                middle = 0.5 * (left + right)
                if _cubic(middle, g0, g1, m0, m1) > 0:
                    left = middle
                else:
                    right = middle
            return right
    return np.inf


@compiled
def onto_plane(
    moments: Moments, data: Data, sliding: Sliding, begin: Stepped, entry: tuple[int, int], length: float, h: float
) -> tuple[Stepped, float]:  # pragma: no cover (compiled)
    """Newton steps on the length of a step, at most h, until the entry sits on its plane; the step and its length.

    Ours.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        sliding: pairs (point, coordinate), shape (M, 2).
        begin: start of the step.
        entry: point and coordinate.
        length: first guess, time.
        h: largest length, time.
    """
    k, i = entry
    R, b, start, _ = begin
    stepped = step(moments, data, sliding, R, b, start, length)
    v = np.empty(b.size)
    for _ in range(NEWTON_STEPS):
        image_of(stepped[0], data[0][k], v)
        u, slope = v[i] + stepped[1][i], normal_rate(stepped[2][0], stepped[2][1], v, i)
        if abs(u) < ZERO or abs(slope) < ZERO:
            break
        before, length = length, min(max(length - u / slope, 0.0), h)
        if abs(length - before) < LINEAR:
            return _moved_on(stepped, length - before), length
        stepped = step(moments, data, sliding, R, b, start, length)
    return stepped, length


@compiled
def _moved_on(stepped: Stepped, time: float) -> Stepped:  # pragma: no cover (compiled)
    """The end of a step moved on along its velocity; velocity and error stay those of the step."""
    R, b, rates, error = stepped
    return turned(time * rates[0], R), b + time * rates[1], rates, error


@compiled
def set_pattern(
    moments: Moments, data: Data, H: Array, k: int, i: int, value: float
) -> None:  # pragma: no cover (compiled)
    """Changes one entry of the pattern in place, by a rank-one update of the moments.

    Ours.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        H: pattern, shape (N, Q).
        k: index of the point.
        i: coordinate.
        value: from 0 to 1.
    """
    (J, S), (d, w) = moments, data
    change = w[k] * (value - H[k, i])
    H[k, i] = value
    J[i] += change
    for a in range(J.size):
        for c in range(J.size):
            S[i, a, c] += change * (d[k, a] * d[k, c])


@compiled
def settle(
    moments: Moments, data: Data, sliding: Sliding, H: Array, state: tuple[Array, Array], entry: tuple[int, int]
) -> int:  # pragma: no cover (compiled)
    """Decides at u_ki = 0 by the velocities on both sides: OFF, ON or SLIDES; the pattern becomes 0, 1 or 0.

    Ours: an entry whose velocities point away from the plane on both sides crosses it.

    Args:
        moments: J (Q,) and S (Q, Q, Q) of the pattern.
        data: d = x - yt (N, Q), and weights (N,).
        sliding: pairs (point, coordinate) that slide already, shape (M, 2).
        H: pattern, shape (N, Q).
        state: orthogonal matrix (Q, Q), and residual of the bias (Q,).
        entry: point and coordinate.
    """
    (R, b), (k, i) = state, entry
    previous, v = H[k, i], np.empty(b.size)
    image_of(R, data[0][k], v)
    set_pattern(moments, data, H, k, i, 0.0)
    below = velocity(moments, data, sliding, R, b)
    set_pattern(moments, data, H, k, i, 1.0)
    above = velocity(moments, data, sliding, R, b)
    rate_below, rate_above = normal_rate(below[0], below[1], v, i), normal_rate(above[0], above[1], v, i)
    if rate_below > 0 > rate_above:
        set_pattern(moments, data, H, k, i, 0.0)
        return SLIDES
    on = rate_below > 0 if previous == 0 else rate_above > 0
    set_pattern(moments, data, H, k, i, 1.0 if on else 0.0)
    return ON if on else OFF
