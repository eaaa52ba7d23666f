r"""Event-driven reference for the flow of one cluster on R^Q x O(Q).

Between crossings of coordinate planes the velocity depends on the data only through the half-space moments (J, S),
so a right side costs O(Q^3) whatever N. Steps are Dormand-Prince 5(4) in the Cayley chart R = cay(theta) R_0, where
theta' = (1 - theta/2) Omega (1 + theta/2) exactly. A crossing is located on the cubic Hermite interpolant and refined
by Newton steps; the pattern is then forced, not read off rounding. What is compiled stands in `methods.event_steps` and
`methods.event_crossings`.

Where the velocity pushes back from both sides (b_i < 0) the point slides on the plane u_ki = 0. Filippov's solution
keeps it there: its pattern becomes a fraction phi in [0, 1], the solution of a linear equation (the velocity of u is
affine in phi), until phi leaves [0, 1].

State: R and b = R (beta + yt), with db/ds = Omega b - Jp b (4.23) and u_k = R d_k + b, d_k = x_k - yt.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy

from repdyn.base.arrays import Array
from repdyn.truncation_flow.methods.event_crossings import SLIDES, accepted_step, onto_plane, set_pattern, settle
from repdyn.truncation_flow.methods.event_steps import Data, Moments, Sliding, Stepped, polish, step, velocity

LARGEST_STEP = 0.1


class Event(NamedTuple):
    """A change of pattern: time, point, coordinate, and the new pattern (0, 1, or 2 for sliding)."""

    time: float
    point: int
    coordinate: int
    kind: int


@dataclass
class Cluster:
    """Data of the run (d = x - yt, weights), the current pattern with its moments, and what has happened so far."""

    d: Array
    w: Array
    H: Array
    sliding: Sliding = field(default_factory=lambda: np.empty((0, 2), np.int64))
    events: list[Event] = field(default_factory=list)
    J: Array = field(init=False)
    S: Array = field(init=False)

    def __post_init__(self) -> None:
        self.J = self.w @ self.H
        self.S = np.einsum("k,ki,ka,kb->iab", self.w, self.H, self.d, self.d)

    @property
    def given(self) -> tuple[Moments, Data, Sliding]:
        """What every compiled step begins with: moments, data, and what slides."""
        return (self.J, self.S), (self.d, self.w), self.sliding

    def release(self, now: float, index: int, on: bool) -> None:
        """End the sliding of an entry, the index-th that slides, on or off, as an event."""
        k, i = map(int, self.sliding[index])
        self.sliding = np.delete(self.sliding, index, axis=0)
        set_pattern((self.J, self.S), (self.d, self.w), self.H, k, i, float(on))
        self.events.append(Event(now, k, i, int(on)))


def event_flow(
    X: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, *, tolerance: float = 1e-11
) -> tuple[Array, Array, list[Event]]:
    """States at the given times from time 0, and the list of crossings.

    Ours: an integrator for the flow of Theorem 3.2.

    Args:
        X: points, shape (N, Q).
        w: weights, shape (N,), sum 1.
        yt: pulled-back label, shape (Q,).
        R: initial orthogonal matrix, shape (Q, Q).
        beta: initial bias, shape (Q,).
        times: increasing output times.
        tolerance: local error per step.

    Returns:
        R (T, Q, Q), beta (T, Q), events in order.
    """
    R, b, now, h = np.ascontiguousarray(R), R @ (beta + yt), 0.0, 1e-3
    u = X @ R.T + R @ beta
    cluster = Cluster(np.ascontiguousarray(X - yt), w, (u > 0).astype(np.float64))
    for k, i in np.argwhere(u == 0):
        _settle(cluster, R, b, int(k), int(i), now)
    rotations, biases = [], []
    for time in times:
        while now < time:
            R, b, now, h = _advance(cluster, R, b, now, min(h, time - now), h, tolerance)
        rotations.append(R)
        biases.append(R.T @ b - yt)
    return np.array(rotations), np.array(biases), cluster.events


def _advance(
    cluster: Cluster, R: Array, b: Array, now: float, h: float, wish: float, tolerance: float
) -> tuple[Array, Array, float, float]:
    """One accepted step, shortened to the first crossing; returns the state, the time and the next step length."""
    begin, end, short, (k, i, length) = accepted_step(*cluster.given, cluster.H, R, b, h, tolerance)
    wish, h = wish if short == h else short, short
    released, release_length = _first_release(cluster, begin, end, h)
    if k >= 0 and length <= release_length:
        end, h = onto_plane(*cluster.given, begin, (k, i), length, h)
        _settle(cluster, end[0], end[1], k, i, now + h)
    elif released is not None:
        h = release_length
        end = step(*cluster.given, R, b, begin[2], h)
        cluster.release(now + h, released, end[2][2][released] > 0.5)
    growth = min(2.0, 0.9 * (tolerance / max(end[3], 1e-300)) ** 0.2)
    return polish(end[0]), end[1], now + h, min(LARGEST_STEP, max(wish, h * growth))


def _settle(cluster: Cluster, R: Array, b: Array, k: int, i: int, now: float) -> None:
    """Decide at u_ki = 0 between crossing and sliding, as an event."""
    kind = settle(*cluster.given, cluster.H, (R, b), (k, i))
    if kind == SLIDES:
        cluster.sliding = np.concatenate([cluster.sliding, [[k, i]]])
    cluster.events.append(Event(now, k, i, kind))
    _drop_impossible(cluster, R, b, now)


def _drop_impossible(cluster: Cluster, R: Array, b: Array, now: float) -> None:
    """After a jump of the velocity, free sliding points whose fraction would leave [0, 1]."""
    while len(cluster.sliding):
        phi = velocity(*cluster.given, R, b)[2]
        excess = np.maximum(phi - 1.0, -phi)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1e-9:
            return
        cluster.release(now, worst, phi[worst] > 0.5)


def _first_release(cluster: Cluster, begin: Stepped, end: Stepped, h: float) -> tuple[int | None, float]:
    """Earliest sliding entry whose fraction leaves [0, 1] within the step, and when."""
    R, b, start, _ = begin
    best, when = None, np.inf
    for index, phi in enumerate(end[2][2]):
        if 0.0 <= phi <= 1.0:
            continue
        bound = float(phi > 1.0)

        def excess(length: float, index: int = index, bound: float = bound) -> float:
            reached = step(*cluster.given, R, b, start, length)[2] if length else start
            return reached[2][index] - bound

        inside = excess(0.0) * excess(h) < 0
        length = scipy.optimize.brentq(excess, 0.0, h, xtol=1e-13) if inside else 0.0
        if length < when:
            best, when = index, length
    return best, when
