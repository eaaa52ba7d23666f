r"""Occupation-time midpoint scheme for the discontinuous flow on R^Q x O(Q), batched.

The right side jumps where a point crosses a coordinate plane, so schemes that sample the pattern lose their order.
Here 1[u > 0] is replaced by the fraction of the step in which u > 0, found from values and rates of u at both ends (the
rate of the crossing point jumps itself, so plain linear interpolation leaves an error of first order, about 1/N of the
step); the velocity is taken at the midpoint with these fractions. The fractions are a fixed point, corrected
`CORRECTIONS` times; each correction gains a factor of order 1/N. R moves by the Cayley map, which keeps it orthogonal
to rounding. Second order across crossings, first order while sliding.

Leading axes are batch: X (..., N, Q), w (..., N), yt (..., Q), R (..., Q, Q), beta (..., Q).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar, cast

import numpy as np

from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import separated

Generator = Callable[[Array, Array, Array, Array], Array]
GENERATORS: dict[str, Generator] = {"corrected": separated.generator, "printed": separated.generator_as_printed}
Parts = TypeVar("Parts", bound=tuple[Array, ...])
CORRECTIONS = 3
RIGHT_SIDES = 1 + 2 * CORRECTIONS  # per step: the predicted end, then a midpoint and an end per correction


def cayley(A: Array) -> Array:
    """Orthogonal matrix (1 - A/2)^{-1} (1 + A/2) of an antisymmetric A, second-order accurate for exp(A); batched."""
    eye = np.eye(A.shape[-1])
    return cast("Array", np.linalg.solve(eye - 0.5 * A, eye + 0.5 * A))


def moved(state: tuple[Array, ...], velocity: tuple[Array, ...], h: float) -> tuple[Array, ...]:
    """(R, beta, ...) after a time h at the velocity (Omega, dbeta, ...): R by the Cayley map, all else straight on.

    Ours: a step that keeps R orthogonal.
    """
    (R, *flat), (Omega, *slopes) = state, velocity
    return cayley(h * Omega) @ R, *(part + h * slope for part, slope in zip(flat, slopes, strict=True))


def states_at(times: Array, step: float, state: Parts, advance: Callable[[Parts, float], Parts]) -> Iterator[Parts]:
    """States at the given times, from `state` at time 0; steps are at most `step` long and end on every output time.

    Ours: the loop of all schemes here.

    Args:
        times: output times, increasing, shape (T,).
        step: longest step, time.
        state: state at time 0, a tuple of arrays.
        advance: takes a state and the length of a step and returns the state at its end.
    """
    now = 0.0
    for time in times:
        count = int(np.ceil((time - now) / step - 1e-9))
        for _ in range(count):
            state = advance(state, (time - now) / count)
        now = time
        yield state


def occupation(u0: Array, u1: Array, rate0: Array | float = 1.0, rate1: Array | float = 1.0) -> Array:
    """Fraction of the step in which u > 0, for u from u0 to u1.

    A crossing entry moves at its rate at the start until it is zero, and at its rate at the end afterwards: the rate
    jumps when it crosses. Where the rates do not both point from u0 to u1 (sliding), u is taken as linear.

    Ours: the scheme of this module.

    Args:
        u0: values at the start of the step.
        u1: values at its end, same shape.
        rate0: du/ds at the start; equal rates give linear interpolation, (u0^+ + u1^+)/(|u0| + |u1|).
        rate1: du/ds at the end.
    """
    crossing = (u0 > 0) != (u1 > 0)
    forth = np.sign(u1 - u0)
    through = (np.sign(rate0) == forth) & (np.sign(rate1) == forth) & crossing
    before = np.abs(u0) / np.where(through, np.abs(rate0), 1.0)
    after = np.abs(u1) / np.where(through, np.abs(rate1), 1.0)
    fraction = np.where(u0 > 0, before, after) / np.where(crossing, before + after, 1.0)
    return np.where(crossing, fraction, (u0 > 0).astype(np.float64))


class State(NamedTuple):
    """What a step needs of one end: R, beta, u, b, the velocities and du/ds."""

    R: Array
    beta: Array
    u: Array
    b: Array
    Omega: Array
    dbeta: Array
    rate: Array


def state_at(X: Array, w: Array, yt: Array, R: Array, beta: Array, generator: Generator) -> State:
    """The state with its velocities, du/ds = Omega u + R d(beta)/ds.

    Velocities of Theorem 3.2.

    Args:
        X: points, shape (..., N, Q), input units.
        w: weight of each point, shape (..., N).
        yt: pulled-back label, shape (..., Q), input units.
        R: orthogonal matrix, shape (..., Q, Q).
        beta: pulled-back bias, shape (..., Q), input units.
        generator: Omega from H, u, b and w, a value of `GENERATORS`.
    """
    u, b = pre_activation(X, R, beta), residual_bias(R, beta, yt)
    H = (u > 0).astype(np.float64)
    Omega, dbeta = generator(H, u, b, w), separated.bias_velocity(H, R, b, w)
    rate = u @ Omega.mT + (R @ dbeta[..., None])[..., None, :, 0]
    return State(R, beta, u, b, Omega, dbeta, rate)


def occupation_step(X: Array, w: Array, yt: Array, start: State, h: float, generator: Generator) -> State:
    """One step of length h; returns the state at its end.

    Ours: the scheme of this module.

    Args:
        X: points, shape (..., N, Q), input units.
        w: weight of each point, shape (..., N).
        yt: pulled-back label, shape (..., Q), input units.
        start: state at the start.
        h: length of the step, time.
        generator: Omega from H, u, b and w, a value of `GENERATORS`.
    """
    here = start.R, start.beta
    R, beta = moved(here, (start.Omega, start.dbeta), h)
    end = state_at(X, w, yt, R, beta, generator)
    for _ in range(CORRECTIONS):
        H = occupation(start.u, end.u, start.rate, end.rate)
        u, b = 0.5 * (start.u + end.u), 0.5 * (start.b + end.b)
        Omega = generator(H, u, b, w)
        dbeta = separated.bias_velocity(H, 0.5 * (start.R + end.R), b, w)
        R, beta = moved(here, (Omega, dbeta), h)
        end = state_at(X, w, yt, R, beta, generator)
    return end


def occupation_flow(
    X: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, *, step: float, formula: str = "corrected"
) -> tuple[Array, Array]:
    """States at the given times: R (T, ..., Q, Q) and beta (T, ..., Q).

    Ours: a scheme for the flow of Theorem 3.2.

    Args:
        X: points, shape (..., N, Q), input units.
        w: weight of each point, shape (..., N).
        yt: pulled-back label, shape (..., Q), input units.
        R: orthogonal matrix at time 0, shape (..., Q, Q).
        beta: pulled-back bias at time 0, shape (..., Q), input units.
        times: output times, increasing, shape (T,).
        step: longest step, time.
        formula: "corrected" or "printed", key of `GENERATORS`.
    """
    generator = GENERATORS[formula]

    def advance(state: State, h: float) -> State:
        return occupation_step(X, w, yt, state, h, generator)

    path = states_at(times, step, state_at(X, w, yt, R, beta, generator), advance)
    R_at, beta_at = stacked((state.R, state.beta) for state in path)
    return R_at, beta_at


def stacked(path: Iterable[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Each part of the states over all times, shape (T, ...)."""
    return tuple(np.array(part) for part in zip(*path, strict=True))


def pre_activation(X: Array, R: Array, beta: Array) -> Array:
    """U = R (x + beta), shape (..., N, Q).

    Notation of Theorem 3.2.
    """
    return (X + beta[..., None, :]) @ R.mT


def residual_bias(R: Array, beta: Array, yt: Array) -> Array:
    """B = R (beta + yt), shape (..., Q).

    Notation of Theorem 3.2.
    """
    return (R @ (beta + yt)[..., None])[..., 0]
