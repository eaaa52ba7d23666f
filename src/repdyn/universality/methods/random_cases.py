"""Random rates, initial values and linearized networks, and the two unreduced flows that the theory is held against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from repdyn.base.arrays import Array
from repdyn.universality.theory.linearized import Linearized, Points, loss_gradient, loss_gradient_as_printed


@dataclass(frozen=True)
class Case:
    """Rates, distances and a start alpha, v of the lifted system: dh = alpha u, dy = alpha v."""

    eta_h: float
    eta_y: float
    dx2: float
    target: Array
    alpha: float
    v: Array

    @property
    def h0(self) -> float:
        """Squared representational distance at the start."""
        return self.alpha**2

    @property
    def y0(self) -> float:
        """Squared output distance at the start."""
        return float(self.alpha**2 * (self.v @ self.v))

    @property
    def w0(self) -> float:
        """Alignment at the start."""
        return self.y0 - self.alpha * float(self.v @ self.target)

    @property
    def dy2(self) -> float:
        """Squared target distance."""
        return float(self.target @ self.target)

    @property
    def kappa(self) -> float:
        """tau_h/(tau_y dx2)."""
        return self.eta_y / (self.eta_h * self.dx2)

    @property
    def start(self) -> tuple[float, float, float]:
        """h, y, w at the start."""
        return self.h0, self.y0, self.w0

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """eta_h, eta_y, dx2, dy2."""
        return self.eta_h, self.eta_y, self.dx2, self.dy2

    @property
    def growth(self) -> float:
        """Rate sqrt(eta_h dx2 eta_y) max(D, 1)/2, 1/epoch."""
        return float(np.sqrt(self.eta_h * self.dx2 * self.eta_y) * max(np.sqrt(self.dy2), 1) / 2)

    @property
    def span(self) -> float:
        """Several growth times, epochs."""
        return 12 / self.growth


def random_case(generator: np.random.Generator, *, outputs: int = 3, equal: bool = False) -> Case:
    """A case with rates over three decades, small or large starts, equal targets if asked for."""
    eta_h, eta_y = np.exp(generator.uniform(-5, -1, 2))
    target = np.zeros(outputs)
    if not equal:
        target[0] = generator.uniform(0.3, 1.5)
    size = generator.choice([0.1, 1.0])
    v = generator.normal(size=outputs) * size
    v[0] = abs(v[0])  # away from the saddle, where a solver's own error grows: w0 > 0 is a test of its own
    return Case(eta_h, eta_y, generator.uniform(0.3, 2), target, generator.uniform(0.3, 1.5) * size, v)


def opposed(case: Case) -> Case:
    """The same case with outputs that start against the target: half of such solutions pass h = 0."""
    along = case.target / np.sqrt(case.dy2)
    return replace(case, v=case.v - 2 * (case.v @ along) * along)


def lifted_flow(case: Case, t: Array, *, method: str = "DOP853") -> Array:
    """h, y, w along alpha' = -eta_h dx2 v.(alpha v - D)/2, v' = -eta_y alpha (alpha v - D)/2; shape (3, times).

    Over many growth times the flow is stiff: `method` LSODA.

    Ours: equation (7) before it is reduced to h, y and w.
    """

    def speed(_: float, z: Array) -> Array:
        alpha, v = z[0], z[1:]
        error = alpha * v - case.target
        return np.concatenate([[-case.eta_h * case.dx2 / 2 * (v @ error)], -case.eta_y / 2 * alpha * error])

    start = np.concatenate([[case.alpha], case.v])
    z = scipy.integrate.solve_ivp(speed, (t[0], t[-1]), start, method=method, rtol=1e-12, atol=1e-14, t_eval=t).y
    dy = z[0] * z[1:]
    y = (dy**2).sum(axis=0)
    return np.stack([z[0] ** 2, y, y - case.target @ dy])


def random_network(generator: np.random.Generator) -> tuple[Linearized, Points]:
    """Random Jacobians of 3 inputs, 4 units, 2 outputs, and two points."""
    state = Linearized(generator.normal(size=2), generator.normal(size=(4, 3)) / 2, generator.normal(size=(2, 4)) / 2)
    return state, Points(*generator.normal(size=(2, 3)), *generator.normal(size=(2, 2)))


def matrix_flow(
    state: Linearized, points: Points, eta_h: float, eta_y: float, eta_b: float, t: Array, *, printed: bool = False
) -> Linearized:
    """The flow (17) of ybar, D_h, D_y, with the printed or the corrected factor; times lead the arrays.

    Args:
        state: ybar, D_h and D_y at t = 0.
        points: inputs and targets of the two points.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        eta_b: effective rate of the mean output, 1/epoch.
        t: times, epochs, increasing, shape (T,).
        printed: take the factor of (17) as printed.
    """
    gradient = loss_gradient_as_printed if printed else loss_gradient
    shapes, ends = [part.shape for part in state], np.cumsum([part.size for part in state])[:-1]

    def unpack(z: Array) -> Linearized:
        return Linearized(*(part.reshape(shape) for part, shape in zip(np.split(z, ends), shapes, strict=True)))

    def speed(_: float, z: Array) -> Array:
        slope = gradient(unpack(z), points)
        return -np.concatenate([eta_b * slope.ybar, eta_h * slope.D_h.ravel(), eta_y * slope.D_y.ravel()])

    flat = np.concatenate([part.ravel() for part in state])
    solved = scipy.integrate.solve_ivp(speed, (t[0], t[-1]), flat, method="DOP853", rtol=1e-12, atol=1e-14, t_eval=t).y
    parts = np.split(solved.T, ends, axis=1)
    return Linearized(*(part.reshape(len(t), *shape) for part, shape in zip(parts, shapes, strict=True)))
