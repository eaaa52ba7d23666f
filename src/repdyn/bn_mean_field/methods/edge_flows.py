r"""Flows at the edge of a half-space, where the derivative of ReLU jumps: Ma and Ying, Theorem 4 and eqs. (14), (15).

Eight equally likely points with mean 0 and covariance I. All m neurons are equal, a = 1 and b at the angle 1/m to the
first axis, so that a system of width m is one point mass. As m grows they approach the edge of the half-spaces of the
two points on the second axis. The labels are such that the speed to the right of that edge vanishes in the limit, while
eq. (14) gives the limit itself a speed of -sqrt(2)/8, whatever sigma'(0) is: the contributions of the two points, which
it multiplies, cancel.
"""

from __future__ import annotations

import numpy as np
import scipy
from scipy.special import erf

from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory.flows import normalized_flow

ROOT = np.sqrt(2)
INPUTS = np.array([[ROOT, 0], [-ROOT, 0], [0, ROOT], [0, -ROOT], [1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
LABELS = np.array([ROOT, 0, 1, 1, 1 - ROOT / 2, 1 + ROOT / 2, 0, 0])
SLIDING_LABELS = np.array([ROOT, 0, -1, -1, 1.2, 0.8, 0, 0])
"""Labels that push neurons to the edge from both sides, and right on it: no curve solves (15) from there."""
KINK_SLOPES = (0.0, 0.5, 1.0)
LEFT, RIGHT = -1, 1


def edge_velocity(
    a: float, angle: float, labels: Array, activation: str, *, kink_slope: float = 0.0, side: int = 0
) -> tuple[float, float]:
    """Velocity of a and of the angle of a neuron, mean-field time: eq. (14) with its sign restored, squared loss.

    Args:
        a: output weight.
        angle: of b to the first axis, radian.
        labels: of the eight inputs, shape (8,).
        activation: "relu" or "erf".
        kink_slope: sigma'(0) of ReLU.
        side: -1 or 1 for the limit of the velocity from the left or the right in place of its value on an edge.
    """
    b, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    z = INPUTS @ b
    on_edge = np.abs(z) < 1e-12
    if activation == "erf":
        outputs, slopes = erf(z), 2 / np.sqrt(np.pi) * np.exp(-(z**2))
    else:
        beside = np.sign(side * (INPUTS @ across)) > 0
        outputs, slopes = np.maximum(z, 0.0), np.where(on_edge, beside if side else kink_slope, z > 0)
    residual = a * outputs - labels
    force, moment = residual @ outputs / len(z), (residual * slopes) @ INPUTS / len(z)
    da, db = normalized_flow(np.array([force]), moment[None], np.array([a]), b[None], np.eye(2))
    return float(da[0]), float(db[0] @ across)


def distance_moved(start: float, activation: str, time: float) -> float:
    """Angle by which neurons that start at an angle to the first axis turn, radian; 1 / width is the angle."""
    return float(_path(start, activation, time).y[1, -1]) - start


def distance_required(kink_slope: float, activation: str, time: float) -> float:
    """Integral of (14) over time along the limit of these neurons for small angles, radian.

    The limit starts on the edge and moves with the limit of the velocities to its right.
    """
    path = _path(0.0, activation, time)

    def rate(t: float) -> float:
        a, angle = path.sol(t)
        return edge_velocity(a, angle, LABELS, activation, kink_slope=kink_slope)[1]

    return float(scipy.integrate.quad(rate, 0, time, epsabs=1e-10)[0])


def sliding_rates() -> Array:
    """Turning speeds to the left of an edge, on it (sigma'(0) = 0) and to its right with `SLIDING_LABELS`, shape (3,).

    Both sides drive neurons to the edge, and (14) drives them away from it.
    """
    return np.array([edge_velocity(1.0, 0.0, SLIDING_LABELS, "relu", side=side)[1] for side in (LEFT, 0, RIGHT)])


def _path(start: float, activation: str, time: float) -> scipy.optimize.OptimizeResult:
    def velocity(_: float, state: Array) -> tuple[float, float]:
        return edge_velocity(state[0], state[1], LABELS, activation, side=RIGHT)

    return scipy.integrate.solve_ivp(velocity, (0, time), [1.0, start], rtol=1e-10, atol=1e-13, dense_output=True)
