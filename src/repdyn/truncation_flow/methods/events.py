r"""Event-driven reference for the flow of one cluster on R^Q x O(Q).

Between crossings of coordinate planes the velocity depends on the data only through the half-space moments (J, S),
so a right side costs O(Q^3) whatever N. Steps are Dormand-Prince 5(4) in the Cayley chart R = cay(theta) R_0, where
theta' = (1 - theta/2) Omega (1 + theta/2) exactly. A crossing is located on the cubic Hermite interpolant and refined
by Newton steps; the pattern is then forced, not read off rounding.

Where the velocity pushes back from both sides (b_i < 0) the point slides on the plane u_ki = 0. Filippov's solution
keeps it there: its pattern becomes a fraction phi in [0, 1], the solution of a linear equation (the velocity of u is
affine in phi), until phi leaves [0, 1].

State: R and b = R (beta + yt), with db/ds = Omega b - Jp b (4.23) and u_k = R d_k + b, d_k = x_k - yt.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.truncation_flow.methods.occupation import cayley
from repdyn.truncation_flow.theory.separated import generator_from_shares

# Dormand-Prince 5(4): nodes are not needed, the system is autonomous.
STAGES = [
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([44 / 45, -56 / 15, 32 / 9]),
    np.array([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]),
    np.array([9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
]
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
NODES = np.linspace(0.0, 1.0, 9)[1:]
ZERO = 1e-13
LARGEST_STEP = 0.1
NEWTON_STEPS = 6


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
    sliding: list[tuple[int, int]] = field(default_factory=list)
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


class Velocity(NamedTuple):
    """Generator Omega, db/ds, and the sliding fractions."""

    Omega: Array
    db: Array
    phi: Array


def velocity(cluster: Cluster, R: Array, b: Array) -> Velocity:
    """Velocity at a state, with the fractions that keep sliding points on their planes.

    The corrected flow of Theorem 3.2; the sliding fractions are ours.
    """
    A = np.einsum("iab,ia->ib", cluster.S, R) @ R.T
    Omega = generator_from_shares(cluster.J, A, b)
    db = Omega @ b - (1.0 - cluster.J) * b
    if not cluster.sliding:
        return Velocity(Omega, db, np.zeros(0))
    units = [_unit_contribution(cluster, R, b, k, i) for k, i in cluster.sliding]
    phi = _sliding_fractions(cluster, R, Omega, db, units)
    for fraction, (unit_omega, unit_db) in zip(phi, units, strict=True):
        Omega, db = Omega + fraction * unit_omega, db + fraction * unit_db
    return Velocity(Omega, db, phi)


def _unit_contribution(cluster: Cluster, R: Array, b: Array, k: int, i: int) -> tuple[Array, Array]:
    """Change of (Omega, db/ds) if entry (k, i) of the pattern goes from 0 to 1."""
    v = R @ cluster.d[k]
    row = np.zeros((b.size, b.size))
    row[i] = 0.5 * cluster.w[k] * (b[i] * b - v[i] * v)
    Omega = row - row.T
    db = Omega @ b
    db[i] += cluster.w[k] * b[i]
    return Omega, db


def _sliding_fractions(cluster: Cluster, R: Array, Omega: Array, db: Array, units: list[tuple[Array, Array]]) -> Array:
    """Solve du_ki/ds = 0 for all sliding entries; the rates are affine in the fractions."""
    rows = np.array([cluster.d[k] @ R.T for k, _ in cluster.sliding])
    coordinates = [i for _, i in cluster.sliding]
    rate = np.array([Omega[i] @ v + db[i] for v, i in zip(rows, coordinates, strict=True)])
    slope = np.array([[M[i] @ v + c[i] for M, c in units] for v, i in zip(rows, coordinates, strict=True)])
    return np.linalg.lstsq(slope, -rate, rcond=None)[0]


class Step(NamedTuple):
    """End of a step: R, b, the velocity there, and the scaled error estimate."""

    R: Array
    b: Array
    end: Velocity
    error: float


def dormand_prince_step(cluster: Cluster, R: Array, b: Array, start: Velocity, h: float) -> Step:
    """One step of order 5 in the Cayley chart at R, with its embedded error estimate.

    Ours: an integrator for the flow of Theorem 3.2.

    Args:
        cluster: points and pattern; the pattern is kept.
        R: orthogonal matrix at the start, shape (Q, Q).
        b: residual of the bias at the start, shape (Q,), input units.
        start: velocity at the start.
        h: length of the step, time.
    """
    eye = np.eye(b.size)
    slopes_theta, slopes_b, velocity_now = [start.Omega], [start.db], start
    for row in STAGES:
        theta = h * np.tensordot(row, np.array(slopes_theta), 1)
        b1 = b + h * row @ np.array(slopes_b)
        R1 = cayley(theta) @ R
        velocity_now = velocity(cluster, R1, b1)
        slopes_theta.append((eye - 0.5 * theta) @ velocity_now.Omega @ (eye + 0.5 * theta))
        slopes_b.append(velocity_now.db)
    error_theta = np.max(np.abs(np.tensordot(ERROR, np.array(slopes_theta), 1)))
    error = h * max(float(error_theta), float(np.max(np.abs(ERROR @ np.array(slopes_b)))))
    return Step(R1, b1, velocity_now, error)


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
    b, now, h = R @ (beta + yt), 0.0, 1e-3
    u = X @ R.T + R @ beta
    cluster = Cluster(X - yt, w, (u > 0).astype(np.float64))
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
    start = velocity(cluster, R, b)
    step = dormand_prince_step(cluster, R, b, start, h)
    while step.error > tolerance:
        h *= max(0.2, 0.9 * (tolerance / step.error) ** 0.2)
        wish = h
        step = dormand_prince_step(cluster, R, b, start, h)
    entry, length = _first_crossing(cluster, R, b, start, step, h)
    released, release_length = _first_release(cluster, R, b, start, step, h)
    if entry is not None and length <= release_length:
        step, h = _refine(cluster, R, b, start, entry, length, h)
        _settle(cluster, step.R, step.b, *entry, now + h)
    elif released is not None:
        h = release_length
        step = dormand_prince_step(cluster, R, b, start, h)
        cluster.switch(now + h, *cluster.sliding.pop(released), step.end.phi[released] > 0.5)
    growth = min(2.0, 0.9 * (tolerance / max(step.error, 1e-300)) ** 0.2)
    return polish(step.R), step.b, now + h, min(LARGEST_STEP, max(wish, h * growth))


def polish(R: Array) -> Array:
    """Nearest orthogonal matrix to first order, R (3 - R^T R)/2: removes accumulated rounding."""
    return R @ (1.5 * np.eye(len(R)) - 0.5 * R.T @ R)


def _free(cluster: Cluster) -> NDArray[np.bool_]:
    free = np.ones(cluster.H.shape, dtype=bool)
    for k, i in cluster.sliding:
        free[k, i] = False
    return free


def _first_crossing(
    cluster: Cluster, R: Array, b: Array, start: Velocity, step: Step, h: float
) -> tuple[tuple[int, int] | None, float]:
    """Earliest entry whose sign leaves its pattern within the step, by cubic Hermite interpolation."""
    sign = np.where(cluster.H > 0, 1.0, -1.0)
    v0, v1 = cluster.d @ R.T, cluster.d @ step.R.T
    g0, g1 = sign * (v0 + b), sign * (v1 + step.b)
    m0 = sign * (v0 @ start.Omega.T + start.db) * h
    m1 = sign * (v1 @ step.end.Omega.T + step.end.db) * h
    suspects = np.argwhere((np.minimum(g0, g1) < np.abs(m0) + np.abs(m1)) & _free(cluster))
    best, when = None, np.inf
    for k, i in suspects:
        root = _hermite_exit(g0[k, i], g1[k, i], m0[k, i], m1[k, i])
        if root < when:
            best, when = (int(k), int(i)), root
    return best, when * h


def _hermite_exit(g0: float, g1: float, m0: float, m1: float) -> float:
    """First t in [0, 1] at which the cubic with these end values and slopes turns negative; inf if none."""

    def cubic(t: Array | float) -> Array | float:
        return g0 + t * (m0 + t * (3 * (g1 - g0) - 2 * m0 - m1 + t * (m0 + m1 - 2 * (g1 - g0))))

    below = np.flatnonzero(cubic(NODES) < -ZERO)
    if not below.size:
        return np.inf
    left = NODES[below[0] - 1] if below[0] else 0.0
    return left if cubic(left) <= 0 else scipy.optimize.brentq(cubic, left, NODES[below[0]], xtol=1e-14)


def _refine(
    cluster: Cluster, R: Array, b: Array, start: Velocity, entry: tuple[int, int], length: float, h: float
) -> tuple[Step, float]:
    """Newton iteration on the step length until the entry sits on its plane."""
    k, i = entry
    step = dormand_prince_step(cluster, R, b, start, length)
    for _ in range(NEWTON_STEPS):
        v = step.R @ cluster.d[k]
        u, slope = v[i] + step.b[i], step.end.Omega[i] @ v + step.end.db[i]
        if abs(u) < ZERO or abs(slope) < ZERO:
            break
        length = min(max(length - u / slope, 0.0), h)
        step = dormand_prince_step(cluster, R, b, start, length)
    return step, length


def _settle(cluster: Cluster, R: Array, b: Array, k: int, i: int, now: float) -> None:
    """Decide at u_ki = 0 between crossing and sliding by the velocities on both sides."""
    v, previous = R @ cluster.d[k], cluster.H[k, i]
    rates = []
    for side in (0.0, 1.0):
        cluster.set_pattern(k, i, side)
        moved = velocity(cluster, R, b)
        rates.append(moved.Omega[i] @ v + moved.db[i])
    if rates[0] > 0 > rates[1]:
        cluster.set_pattern(k, i, 0.0)
        cluster.sliding.append((k, i))
        cluster.events.append(Event(now, k, i, 2))
    else:
        cluster.switch(now, k, i, rates[0] > 0 if previous == 0 else rates[1] > 0)
    _drop_impossible(cluster, R, b, now)


def _drop_impossible(cluster: Cluster, R: Array, b: Array, now: float) -> None:
    """After a jump of the velocity, free sliding points whose fraction would leave [0, 1]."""
    while cluster.sliding:
        phi = velocity(cluster, R, b).phi
        excess = np.maximum(phi - 1.0, -phi)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1e-9:
            return
        cluster.switch(now, *cluster.sliding.pop(worst), phi[worst] > 0.5)


def _first_release(
    cluster: Cluster, R: Array, b: Array, start: Velocity, step: Step, h: float
) -> tuple[int | None, float]:
    """Earliest sliding entry whose fraction leaves [0, 1] within the step, and when."""
    best, when = None, np.inf
    for index in range(len(cluster.sliding)):
        phi = step.end.phi[index]
        if 0.0 <= phi <= 1.0:
            continue
        bound = float(phi > 1.0)

        def excess(length: float, index: int = index, bound: float = bound) -> float:
            end = dormand_prince_step(cluster, R, b, start, length).end if length else start
            return end.phi[index] - bound

        inside = excess(0.0) * excess(h) < 0
        length = scipy.optimize.brentq(excess, 0.0, h, xtol=1e-13) if inside else 0.0
        if length < when:
            best, when = index, length
    return best, when
