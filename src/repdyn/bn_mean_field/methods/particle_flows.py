r"""Trajectories of the population problem: gradient flow by an adaptive solver, and plain gradient descent.

Times and steps are mean-field ones: the flow is eq. (21) with BN, eq. (22) without, eq. (14) on M; the
descent b <- b + h b' is gradient descent on the parameters with learning rate h m. Ma and Ying, section 4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arguments import finite, positive
from repdyn.base.arrays import Array
from repdyn.bn_mean_field.methods import compiled_descent as compiled
from repdyn.bn_mean_field.theory import arguments
from repdyn.bn_mean_field.theory.velocity import Population

DIVERGED = 1e8  # a loss this many times its start has left every basin; the next steps only overflow


@dataclass(frozen=True)
class Trajectory:
    """Particles at the recorded times (or iterations); NaN from the divergence on.

    Attributes:
        times: recorded times or iterations, shape (T,).
        a: output weights, shape (T, ..., m).
        b: inner weights, shape (T, ..., m, d).
        loss: population loss, shape (T, ...).
        diverged: first iteration (or last time reached) of a diverged run, NaN where none, shape (...).
    """

    times: Array
    a: Array
    b: Array
    loss: Array
    diverged: Array


def gradient_flow(
    a: ArrayLike, b: ArrayLike, model: Population, times: ArrayLike, *, rtol: float = 1e-10, atol: float = 1e-12
) -> Trajectory:
    """Gradient flow of one model by the adaptive Dormand-Prince 8(5,3) method.

    The ReLU velocity is C^1 with kinks, so the order degrades near 1e-10: do not expect more digits.

    Eqs. (10), (14), (21) and (22).

    Args:
        a: output weights at times[0], shape (m,).
        b: inner weights, shape (m, d).
        model: the problem.
        times: increasing times to record, times[0] being the start, shape (T,).
        rtol: relative tolerance per step.
        atol: absolute tolerance per step.

    Returns:
        The trajectory; NaN and `diverged` where the solver stopped early.
    """
    a, b = arguments.particles(a, b, len(model.cov))
    if a.ndim != 1:
        raise ValueError(f"a has shape {a.shape}; expected (m,): step control is per trajectory, call once each")
    times = _increasing(times)
    solution = scipy.integrate.solve_ivp(
        _flat_velocity(model, len(a), b),
        (times[0], times[-1]),
        np.concatenate([a, b.ravel()]),
        method="DOP853",
        t_eval=times,
        rtol=rtol,
        atol=atol,
    )
    return _trajectory(model, times, solution.y.T, len(a))


def gradient_descent(
    a: ArrayLike, b: ArrayLike, model: Population, step: ArrayLike, *, record: ArrayLike
) -> Trajectory:
    """Gradient descent, all members of a batch (seeds, steps, scales) at once and independent of each other.

    Ours: Euler steps of eqs. (21) and (22).

    Args:
        a: output weights, shape (..., m).
        b: inner weights, shape (..., m, d).
        model: the problem.
        step: mean-field step h > 0, scalar or of the batch's shape (...).
        record: iterations to record, increasing, the last one ends the run.

    Returns:
        The trajectory; members whose loss passes 1e8 times its start, or overflows, are frozen at NaN.
    """
    a, b = arguments.particles(a, b, len(model.cov))
    recorded = _increasing(record).astype(int)
    h = np.broadcast_to(finite(step, "step"), a.shape[:-1])
    if (h <= 0).any() or recorded[0] < 0:
        raise ValueError(f"step is {h.min():.3g}, first record {recorded[0]}; expected step > 0, record >= 0")
    return (_compiled_descent if compiled.is_planar(model) else _array_descent)(a, b, model, h, recorded)


def velocities_along(a: Array, b: Array, model: Population) -> tuple[Array, Array, Array]:
    """Velocities of a and b and loss at all frames, the first axis, of one system: one by one, to save memory.

    Eqs. (21) and (22).
    """
    frames = [model.velocity(*frame) for frame in zip(a, b, strict=True)]
    da, db, loss = (np.stack(part) for part in zip(*frames, strict=True))
    return da, db, loss


def descent_losses(a: ArrayLike, b: ArrayLike, model: Population, step: float, iterations: int) -> Array:
    """Loss at every iteration of `gradient_descent` of one system in two dimensions with ReLU.

    Ours: Euler steps of eqs. (21) and (22).

    Args:
        a: output weights at the start, shape (m,).
        b: inner weights at the start, shape (m, 2).
        model: the population problem.
        step: mean-field step h.
        iterations: number of steps.

    Returns:
        Losses, shape (iterations + 1,); infinite from the iteration on at which a run diverged.
    """
    a, b = arguments.particles(a, b, 2)
    losses = _descent(a, b, model, positive(step, "step"), np.array([iterations]))[2]
    return np.where(np.isnan(losses), np.inf, losses)


def _compiled_descent(a: Array, b: Array, model: Population, h: Array, record: NDArray[np.intp]) -> Trajectory:
    """Member by member in compiled code: two dimensions and ReLU."""
    shape = (len(record), *a.shape)
    kept_a, kept_b, loss = np.full(shape, np.nan), np.full((*shape, 2), np.nan), np.full(shape[:-1], np.nan)
    diverged = np.full(h.shape, np.nan)
    for member in np.ndindex(h.shape):
        own = (slice(None), *member)
        kept_a[own], kept_b[own], losses, diverged[member] = _descent(a[member], b[member], model, h[member], record)
        loss[own] = losses[record]
    return Trajectory(record.astype(float), kept_a, kept_b, loss, diverged)


def _descent(
    a: Array, b: Array, model: Population, step: Array, record: NDArray[np.intp]
) -> tuple[Array, Array, Array, float]:
    """Recorded a and b of one system, its loss at every iteration, NaN from a divergence on, and when that was."""
    shapes = (len(record), *a.shape), (len(record), *b.shape), (record[-1] + 1,)
    frames = [np.full(shape, np.nan) for shape in shapes]
    start = a.copy(), b.copy(), compiled.problem_of(model), compiled.first_order(model, b)
    return *frames, compiled.descend(*start, float(step), record, DIVERGED, *frames)


def _array_descent(a: Array, b: Array, model: Population, h: Array, record: NDArray[np.intp]) -> Trajectory:
    """All members in one array: any dimension and activation."""
    frames: list[tuple[Array, Array, Array]] = []
    diverged, limit = np.full(a.shape[:-1], np.nan), None
    for iteration in range(record[-1] + 1):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            da, db, loss = model.velocity(a, b)
        limit = DIVERGED * np.maximum(loss, 1.0) if limit is None else limit
        bad = ~(loss <= limit)
        if bad.any():
            diverged[bad & np.isnan(diverged)] = iteration
            a, b, loss = (np.where(_like(bad, v), np.nan, v) for v in (a, b, loss))
        if iteration == record[len(frames)]:
            frames.append((a, b, loss))
        with np.errstate(over="ignore", invalid="ignore"):
            a, b = a + h[..., None] * da, b + h[..., None, None] * db
    kept_a, kept_b, losses = (np.stack(part) for part in zip(*frames, strict=True))
    return Trajectory(record.astype(float), kept_a, kept_b, losses, diverged)


def _increasing(values: ArrayLike) -> Array:
    array = finite(values, "times")
    if array.ndim != 1 or array.size == 0 or (np.diff(array) <= 0).any():
        raise ValueError(f"times or record must be a non-empty increasing list; got {array}")
    return array


def _like(mask: NDArray[np.bool_], value: Array) -> NDArray[np.bool_]:
    return mask.reshape(mask.shape + (1,) * (value.ndim - mask.ndim))


def _flat_velocity(model: Population, m: int, b: Array) -> Callable[[float, Array], Array]:
    if compiled.is_planar(model):
        return _flat_compiled_velocity(model, m, b)

    def velocity(_: float, state: Array) -> Array:
        da, db, _loss = model.velocity(state[:m], state[m:].reshape(m, -1))
        return np.concatenate([da, db.ravel()])

    return velocity


def _flat_compiled_velocity(model: Population, m: int, b: Array) -> Callable[[float, Array], Array]:
    problem, order = compiled.problem_of(model), compiled.first_order(model, b)

    def velocity(_: float, state: Array) -> Array:
        change = np.empty_like(state)
        compiled.velocity(state[:m], state[m:].reshape(m, 2), problem, order, change[:m], change[m:].reshape(m, 2))
        return change

    return velocity


def _trajectory(model: Population, times: Array, states: Array, m: int) -> Trajectory:
    """Frames of a solver that may have stopped early; the loss is evaluated at each recorded state."""
    full = np.full((len(times), m * (1 + len(model.cov))), np.nan)
    full[: len(states)] = states
    a, b = full[:, :m], full[:, m:].reshape(len(times), m, -1)
    loss = np.full(len(times), np.nan)
    loss[: len(states)] = velocities_along(a[: len(states)], b[: len(states)], model)[2]
    stopped = np.nan if len(states) == len(times) else times[max(len(states) - 1, 0)]
    return Trajectory(times, a, b, loss, np.array(stopped))
