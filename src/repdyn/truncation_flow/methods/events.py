r"""Event-driven reference for the flow of one cluster on R^Q x O(Q).

Between crossings of coordinate planes the velocity depends on the data only through the half-space moments (J, S),
so a right side costs O(Q^3) whatever N. Steps are Dormand-Prince 5(4) in the Cayley chart R = cay(theta) R_0, where
theta' = (1 - theta/2) Omega (1 + theta/2) exactly. A crossing is located on the cubic Hermite interpolant and refined
by Newton steps; the pattern is then forced, not read off rounding. `methods.event_steps` has what is compiled.

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
from repdyn.truncation_flow.methods.event_steps import (
    Rates,
    Sliding,
    Stepped,
    first_crossing,
    onto_plane,
    step,
    velocity,
)

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

    def set_pattern(self, k: int, i: int, value: float) -> None:
        """Change one entry of the pattern by a rank-one update of the moments."""
        change = self.w[k] * (value - self.H[k, i])
        self.H[k, i] = value
        self.J[i] += change
        self.S[i] += change * np.outer(self.d[k], self.d[k])

    def switch(self, now: float, k: int, i: int, on: bool) -> None:
        """Set an entry of the pattern on or off, as an event.

        Args:
            now: time of the event.
            k: index of the point.
            i: coordinate.
            on: whether u_i > 0 from now on.
        """
        self.set_pattern(k, i, float(on))
        self.events.append(Event(now, k, i, int(on)))

    def release(self, now: float, index: int, on: bool) -> None:
        """End the sliding of an entry, the index-th that slides, on or off."""
        k, i = self.sliding[index]
        self.sliding = np.delete(self.sliding, index, axis=0)
        self.switch(now, int(k), int(i), on)

    def velocity(self, R: Array, b: Array) -> Rates:
        """Omega, db/ds and the sliding fractions at a state."""
        return velocity((self.J, self.S), (self.d, self.w), self.sliding, R, b)

    def step(self, R: Array, b: Array, start: Rates, h: float) -> Stepped:
        """State, velocity and error estimate after a step of length h with this pattern."""
        return step((self.J, self.S), (self.d, self.w), self.sliding, R, b, start, h)


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
    start = cluster.velocity(R, b)
    end = cluster.step(R, b, start, h)
    while end[3] > tolerance:
        h *= max(0.2, 0.9 * (tolerance / end[3]) ** 0.2)
        wish = h
        end = cluster.step(R, b, start, h)
    begin = (R, b, start, 0.0)
    k, i, length = first_crossing(cluster.H, cluster.d, cluster.sliding, begin, end, h)
    released, release_length = _first_release(cluster, R, b, start, end, h)
    if k >= 0 and length <= release_length:
        moments, data = (cluster.J, cluster.S), (cluster.d, cluster.w)
        end, h = onto_plane(moments, data, cluster.sliding, begin, (k, i), length, h)
        _settle(cluster, end[0], end[1], k, i, now + h)
    elif released is not None:
        h = release_length
        end = cluster.step(R, b, start, h)
        cluster.release(now + h, released, end[2][2][released] > 0.5)
    growth = min(2.0, 0.9 * (tolerance / max(end[3], 1e-300)) ** 0.2)
    return polish(end[0]), end[1], now + h, min(LARGEST_STEP, max(wish, h * growth))


def polish(R: Array) -> Array:
    """Nearest orthogonal matrix to first order, R (3 - R^T R)/2: removes accumulated rounding."""
    return R @ (1.5 * np.eye(len(R)) - 0.5 * R.T @ R)


def _settle(cluster: Cluster, R: Array, b: Array, k: int, i: int, now: float) -> None:
    """Decide at u_ki = 0 between crossing and sliding by the velocities on both sides."""
    v, previous = R @ cluster.d[k], cluster.H[k, i]
    rates = []
    for side in (0.0, 1.0):
        cluster.set_pattern(k, i, side)
        Omega, db, _ = cluster.velocity(R, b)
        rates.append(Omega[i] @ v + db[i])
    if rates[0] > 0 > rates[1]:
        cluster.set_pattern(k, i, 0.0)
        cluster.sliding = np.concatenate([cluster.sliding, [[k, i]]])
        cluster.events.append(Event(now, k, i, 2))
    else:
        cluster.switch(now, k, i, rates[0] > 0 if previous == 0 else rates[1] > 0)
    _drop_impossible(cluster, R, b, now)


def _drop_impossible(cluster: Cluster, R: Array, b: Array, now: float) -> None:
    """After a jump of the velocity, free sliding points whose fraction would leave [0, 1]."""
    while len(cluster.sliding):
        phi = cluster.velocity(R, b)[2]
        excess = np.maximum(phi - 1.0, -phi)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1e-9:
            return
        cluster.release(now, worst, phi[worst] > 0.5)


def _first_release(
    cluster: Cluster, R: Array, b: Array, start: Rates, end: Stepped, h: float
) -> tuple[int | None, float]:
    """Earliest sliding entry whose fraction leaves [0, 1] within the step, and when."""
    best, when = None, np.inf
    for index, phi in enumerate(end[2][2]):
        if 0.0 <= phi <= 1.0:
            continue
        bound = float(phi > 1.0)

        def excess(length: float, index: int = index, bound: float = bound) -> float:
            reached = cluster.step(R, b, start, length)[2] if length else start
            return reached[2][index] - bound

        inside = excess(0.0) * excess(h) < 0
        length = scipy.optimize.brentq(excess, 0.0, h, xtol=1e-13) if inside else 0.0
        if length < when:
            best, when = index, length
    return best, when
