r"""Compiled descent of ReLU networks in any dimension, pairs of neurons summed directly, with parts switched off.

The arithmetic is that of `theory.velocity.Population` in whitened coordinates. A network may train its output weights
alone, or move its normalized neurons at equal speeds: with the factor 1/||b||_Sigma of eq. (21) replaced by
1/(s ||b||), which no longer depends on the direction (Ma and Ying, section 4.1, "anisotropic speed effect").
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled
from repdyn.bn_mean_field.theory.kernels import relu_kernel
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Teacher

VANILLA, BN, EQUAL_SPEEDS, FROZEN = 0, 1, 2, 3  # what a network does with b; FROZEN: normalized, b does not move
DIVERGED = 1e4  # times the loss at the start


class Descent(NamedTuple):
    """Where a descent ended: a, b, and for every threshold the iteration at which the loss reached it.

    Iterations are interpolated between two losses in the logarithm; infinite where a threshold was not reached.
    """

    a: Array
    b: Array
    reached: Array


def descend(
    a: Array,
    b: Array,
    teacher: Teacher,
    variances: Array,
    kind: int,
    step: float,
    iterations: int,
    thresholds: Array | None = None,
    *,
    step_of_a: float | None = None,
) -> Descent:
    """Gradient descent of one system; ends early where every threshold is reached, or diverged.

    Ours: Euler steps of eqs. (21) and (22).

    Args:
        a: output weights, shape (m,).
        b: inner weights, shape (m, d).
        teacher: the target.
        variances: diagonal of Sigma, shape (d,).
        kind: VANILLA, BN, EQUAL_SPEEDS or FROZEN.
        step: mean-field step.
        iterations: iterations at most.
        thresholds: losses to be reached, decreasing; none by default.
        step_of_a: mean-field step of the output weights, if not that of b.
    """
    a, b = a.copy(), b.copy()
    wanted = np.array([-1.0]) if thresholds is None else np.asarray(thresholds, float)
    reached = np.full(wanted.size, np.inf)
    steps = float(step if step_of_a is None else step_of_a), float(step)
    _descend(a, b, teacher.c, teacher.w, np.sqrt(variances), kind, steps, iterations, wanted, reached)
    return Descent(a, b, reached)


def least_loss_with_b_frozen(b: Array, teacher: Teacher, variances: Array) -> float:
    """Smallest loss over all output weights at directions b, with or without normalization: least squares.

    ReLU is homogeneous, so lengths do not enter; the Gram matrices are the closed forms of the kernel.
    """
    cov = np.diag(variances)
    v = normalize(b, cov)
    gram, own = relu_kernel(v, v, cov), relu_kernel(v, teacher.w, cov) @ teacher.c
    best = np.linalg.lstsq(gram, own, rcond=1e-12)[0]
    return float(teacher.c @ relu_kernel(teacher.w, teacher.w, cov) @ teacher.c - own @ best) / 2


@compiled
def _descend(
    a: Array,
    b: Array,
    c: Array,
    w: Array,
    root: Array,
    kind: int,
    steps: tuple[float, float],
    iterations: int,
    wanted: Array,
    reached: Array,
) -> None:  # pragma: no cover (compiled)
    """Changes a and b, each by its own step; writes the iterations at which the thresholds were reached."""
    n, d = a.size + c.size, b.shape[1]
    u, norm, charge = np.empty((n, d)), np.empty(n), np.empty(n)
    force, moment = np.empty(n), np.empty((n, d))
    scale = math.sqrt(np.mean(root**2))
    first = before = 0.0
    for iteration in range(iterations + 1):
        _place(a, b, c, w, root, kind, u, norm, charge)
        _sum_pairs(u, charge, kind != FROZEN, force, moment)
        loss = 0.5 * np.sum(charge * force)
        if iteration == 0:
            first = before = loss
        if not loss <= DIVERGED * max(first, 1.0):
            return
        if _mark(loss, before, iteration, wanted, reached):
            return
        before = loss
        _move(a, b, u, norm, force, moment, root, kind, steps, scale)


@compiled
def _place(
    a: Array, b: Array, c: Array, w: Array, root: Array, kind: int, u: Array, norm: Array, charge: Array
) -> None:  # pragma: no cover (compiled)
    """Whitened unit directions, Sigma-norms and charges times norms of neurons and teachers."""
    m = a.size
    for k in range(u.shape[0]):
        square = 0.0
        for i in range(u.shape[1]):
            u[k, i] = root[i] * (b[k, i] if k < m else w[k - m, i])
            square += u[k, i] ** 2
        norm[k] = math.sqrt(square)
        for i in range(u.shape[1]):
            u[k, i] /= norm[k]
        if k >= m:
            charge[k] = -c[k - m] * norm[k]
        elif kind == VANILLA:
            charge[k] = a[k] / m * norm[k]
        else:
            charge[k] = a[k] / m


@compiled
def _sum_pairs(
    u: Array, charge: Array, moving: bool, force: Array, moment: Array
) -> None:  # pragma: no cover (compiled)
    """Kernel sums of unit directions and, where neurons move, E relu'(u z) z times the residual."""
    for k in range(charge.size):
        force[k] = charge[k] / 2
        for i in range(u.shape[1]):
            moment[k, i] = charge[k] / 2 * u[k, i]
        for j in range(k):
            cosine = 0.0
            for i in range(u.shape[1]):
                cosine += u[k, i] * u[j, i]
            cosine = min(1.0, max(-1.0, cosine))
            sine = math.sqrt(1 - cosine * cosine) / (2 * math.pi)
            angle = (math.pi - math.acos(cosine)) / (2 * math.pi)
            force[k] += charge[j] * (sine + angle * cosine)
            force[j] += charge[k] * (sine + angle * cosine)
            if moving:
                for i in range(u.shape[1]):
                    moment[k, i] += charge[j] * (sine * u[k, i] + angle * u[j, i])
                    moment[j, i] += charge[k] * (sine * u[j, i] + angle * u[k, i])


@compiled
def _mark(
    loss: float, before: float, iteration: int, wanted: Array, reached: Array
) -> bool:  # pragma: no cover (compiled)
    """Writes where thresholds were crossed, between two iterations in the logarithm; whether all have been."""
    done = True
    for k in range(wanted.size):
        if loss > wanted[k]:
            done = done and reached[k] < math.inf
        elif reached[k] == math.inf:
            part = 0.0
            if before > wanted[k] and loss > 0:
                part = math.log(wanted[k] / loss) / math.log(before / loss)
            reached[k] = iteration - part
    return done


@compiled
def _move(
    a: Array,
    b: Array,
    u: Array,
    norm: Array,
    force: Array,
    moment: Array,
    root: Array,
    kind: int,
    steps: tuple[float, float],
    scale: float,
) -> None:  # pragma: no cover (compiled)
    """One step of eq. (21), or (22), or of what is left of it; `scale` is the root mean variance."""
    for k in range(a.size):
        rate, radial, square = steps[1] * a[k], 0.0, 0.0
        a[k] -= steps[0] * force[k] * (norm[k] if kind == VANILLA else 1.0)
        if kind == FROZEN:
            continue
        for i in range(b.shape[1]):
            radial += moment[k, i] * u[k, i]
            square += b[k, i] ** 2
        if kind == VANILLA:
            radial = 0.0
        elif kind == BN:
            rate /= norm[k]
        else:
            rate /= scale * math.sqrt(square)
        for i in range(b.shape[1]):
            b[k, i] -= rate * root[i] * (moment[k, i] - radial * u[k, i])
