r"""Compiled inner loop of two-dimensional ReLU problems: velocities in O(m), descent without Python between steps.

The arithmetic is that of `theory.velocity.Population` on the O(m log m) field of `theory.circular`; sums run in another
order, so results agree to rounding. The particles' order by angle is kept from call to call: after the first sort an
insertion sort has next to nothing to do.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled
from repdyn.bn_mean_field.theory.velocity import Population

KINDS = {"batch": 0, "none": 1, "manifold": 2}
NONE, MANIFOLD = 1, 2
Problem = tuple[Array, Array, Array, Array, int]


def is_planar(model: Population) -> bool:
    """Whether the compiled loop serves the model: two dimensions, ReLU, and no velocity of its own."""
    return type(model) is Population and len(model.cov) == 2 and model.activation == "relu"


def problem_of(model: Population) -> Problem:
    """What the compiled functions need of a planar model: teacher, covariance, its root, the kind of flow."""
    return model.teacher.c, model.teacher.w, model.cov, model.root, KINDS[model.normalization]


def first_order(model: Population, b: Array) -> NDArray[np.intp]:
    """Particles and teachers in the order of their whitened angles modulo pi, shape (m + J,)."""
    points = np.concatenate([b, model.teacher.w]) @ model.root
    return np.argsort(np.mod(np.arctan2(points[:, 1], points[:, 0]), np.pi))


ANGLE, COSINE, SINE, FLIP, WEIGHT, LENGTH, CHARGE, NORM = range(8)  # rows of `source`


@compiled
def velocity(
    a: Array, b: Array, problem: Problem, order: Array, da: Array, db: Array
) -> float:  # pragma: no cover (compiled)
    """Writes the velocities of one system into `da`, `db`, renews `order` and returns the loss.

    The flows of eqs. (21) and (22).

    Args:
        a: output weights, shape (m,).
        b: inner weights, shape (m, 2).
        problem: from `problem_of`.
        order: from `first_order`, or as the last call left it, shape (m + J,).
        da: velocities of a, shape (m,).
        db: velocities of b, shape (m, 2).
    """
    c, w, cov, root, kind = problem
    source = np.empty((8, order.size))
    _place_sources(a, b, c, w, cov, root, kind, source)
    _sort(order, source[ANGLE])
    return _sum_fields(a, b, cov, root, kind, source, order, da, db)


@compiled
def _place_sources(
    a: Array, b: Array, c: Array, w: Array, cov: Array, root: Array, kind: int, source: Array
) -> None:  # pragma: no cover (compiled)
    """Particles and teachers as charges at whitened angles folded to [0, pi)."""
    m = a.size
    for k in range(source.shape[1]):
        norm = 1.0
        if k < m:
            x, y, charge = b[k, 0], b[k, 1], a[k] / m
            if kind != NONE:
                norm = math.sqrt(x * (cov[0, 0] * x + cov[0, 1] * y) + y * (cov[1, 0] * x + cov[1, 1] * y))
                x, y = x / norm, y / norm
        else:
            x, y, charge = w[k - m, 0], w[k - m, 1], -c[k - m]
        x, y = x * root[0, 0] + y * root[1, 0], x * root[0, 1] + y * root[1, 1]
        length = math.sqrt(x * x + y * y)
        flip = -1.0 if y < 0 or (y == 0 and x < 0) else 1.0
        source[COSINE, k], source[SINE, k] = flip * x / length, flip * y / length
        source[ANGLE, k] = math.atan2(source[SINE, k], source[COSINE, k])
        source[FLIP, k], source[WEIGHT, k], source[LENGTH, k] = flip, charge * length, length
        source[CHARGE, k], source[NORM, k] = charge, norm


@compiled
def _sum_fields(
    a: Array, b: Array, cov: Array, root: Array, kind: int, source: Array, order: Array, da: Array, db: Array
) -> float:  # pragma: no cover (compiled)
    """Field, slope and velocity at every source by prefix sums in the order of the angles (`theory.circular`)."""
    c_all = s_all = tc_all = ts_all = dipole_x = dipole_y = 0.0
    for k in order:
        t, c, s, flip = _charge(source, k)
        c_all, s_all, tc_all, ts_all = c_all + c, s_all + s, tc_all + t * c, ts_all + t * s
        dipole_x, dipole_y = dipole_x + flip * c, dipole_y + flip * s
    c_left = s_left = tc_left = ts_left = loss = 0.0
    for k in order:
        t, c, s, flip = _charge(source, k)
        c_left, s_left, tc_left, ts_left = c_left + c, s_left + s, tc_left + t * c, ts_left + t * s
        u, v = source[COSINE, k], source[SINE, k]
        c, s = 2 * c_left - c_all, 2 * s_left - s_all
        near_c = math.pi / 2 * c_all - t * c + 2 * tc_left - tc_all
        near_s = math.pi / 2 * s_all - t * s + 2 * ts_left - ts_all
        quarter = math.pi / 2 * flip
        field = (v * c - u * s + u * near_c + v * near_s + quarter * (dipole_x * u + dipole_y * v)) / (2 * math.pi)
        slope = (u * near_s - v * near_c + quarter * (dipole_y * u - dipole_x * v)) / (2 * math.pi)
        force = source[LENGTH, k] * field
        loss += source[CHARGE, k] * force / 2
        if k < a.size:
            u, v = flip * u, flip * v
            gx, gy = field * u - slope * v, field * v + slope * u
            gx, gy = gx * root[0, 0] + gy * root[1, 0], gx * root[0, 1] + gy * root[1, 1]
            da[k] = -force
            _turn(k, a[k], b[k, 0], b[k, 1], gx, gy, source[NORM, k], cov, kind, db)
    return loss


@compiled
def _charge(source: Array, k: int) -> tuple[float, float, float, float]:  # pragma: no cover (compiled)
    """Angle, the charge's two components and whether the angle was folded."""
    weight = source[WEIGHT, k]
    return source[ANGLE, k], weight * source[COSINE, k], weight * source[SINE, k], source[FLIP, k]


@compiled
def _turn(
    k: int, a: float, x: float, y: float, gx: float, gy: float, norm: float, cov: Array, kind: int, db: Array
) -> None:  # pragma: no cover (compiled)
    """Velocity of b from its moment g: eq. (22), eq. (21), or on M minus the manifold gradient ||b||^2 A g."""
    if kind == NONE:
        db[k, 0], db[k, 1] = -a * gx, -a * gy
        return
    if kind == MANIFOLD:
        x, y, norm = x / norm, y / norm, 1.0
    nx, ny = cov[0, 0] * x + cov[0, 1] * y, cov[1, 0] * x + cov[1, 1] * y
    radial = (x * gx + y * gy) / (norm * norm)
    gx, gy = gx - radial * nx, gy - radial * ny
    scale = -a / norm
    if kind == MANIFOLD:
        tangent = nx * gx + ny * gy
        gx, gy = gx - x * tangent, gy - y * tangent
        scale *= x * x + y * y
    db[k, 0], db[k, 1] = scale * gx, scale * gy


@compiled
def _sort(order: Array, angle: Array) -> None:  # pragma: no cover (compiled)
    """Insertion sort of the places by angle, stable."""
    for i in range(1, order.size):
        k = order[i]
        j = i
        while j > 0 and angle[order[j - 1]] > angle[k]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k


@compiled
def descend(
    a: Array,
    b: Array,
    problem: Problem,
    order: Array,
    step: float,
    record: Array,
    limit: float,
    kept_a: Array,
    kept_b: Array,
    losses: Array,
) -> float:  # pragma: no cover (compiled)
    """Gradient descent of one system; changes a and b, writes the recorded ones and the loss of every iteration.

    A run whose loss passes `limit` times its start, or overflows, stops there; what was not reached stays as it was.

    Args:
        a: output weights, shape (m,); changed.
        b: inner weights, shape (m, 2); changed.
        problem: the population problem, of `problem_of`.
        order: particles and teachers by angle, shape (m + J,), of `first_order`; changed.
        step: mean-field step h.
        record: iterations that are recorded, increasing, shape (R,).
        limit: factor of the first loss, at least 1, beyond which a run has diverged.
        kept_a: recorded output weights, shape (R, m); written.
        kept_b: recorded inner weights, shape (R, m, 2); written.
        losses: loss of every iteration, shape (record[-1] + 1,); written.

    Returns:
        Iteration at which the run diverged, NaN where it did not.
    """
    da, db = np.empty(a.size), np.empty((a.size, 2))
    bound, frame = math.inf, 0
    for iteration in range(record[-1] + 1):
        loss = velocity(a, b, problem, order, da, db)
        if iteration == 0:
            bound = limit * max(loss, 1.0)
        if not loss <= bound:
            return iteration
        losses[iteration] = loss
        if iteration == record[frame]:
            for k in range(a.size):
                kept_a[frame, k], kept_b[frame, k, 0], kept_b[frame, k, 1] = a[k], b[k, 0], b[k, 1]
            frame += 1
        for k in range(a.size):
            a[k] += step * da[k]
            b[k, 0] += step * db[k, 0]
            b[k, 1] += step * db[k, 1]
    return math.nan
