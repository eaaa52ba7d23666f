"""Final distance, fixed points and their stability; equations (10)-(13), (26)-(36).

High and low amplitude: A_high = h0 - rho dx^2 y0/h0, A_low = sqrt(rho) dx dy, rho = tau_y/tau_h = eta_h/eta_y. The
fixed points depend on the start through A_high alone; S = sqrt(A_high^2 + 4 A_low^2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite, not_negative, positive
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


class FixedPoint(NamedTuple):
    """A fixed point of the plane system (25).

    Attributes:
        h: squared representational distance there; w is 0.
        jacobian: matrix of (h', w') with respect to (h, w), 1/epoch, shape (2, 2).
        eigenvalues: growth rates, 1/epoch, shape (2,).
        directions: slope w/h of the eigenvector of each, shape (2,).
    """

    h: float
    jacobian: Array
    eigenvalues: Array
    directions: Array


def amplitudes(
    h0: Float[ArrayLike, "*#shape"],
    y0: Float[ArrayLike, "*#shape"],
    dx: Float[ArrayLike, "*#shape"],
    dy: Float[ArrayLike, "*#shape"],
    rho: Float[ArrayLike, "*#shape"],
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """A_high = h0 - rho dx^2 y0/h0 and A_low = sqrt(rho) dx dy, equations (11), (28).

    Args:
        h0: squared representational distance at t = 0, above 0; 0 is allowed where dx = 0 (a point and itself).
        y0: squared output distance at t = 0.
        dx: input distance, not squared.
        dy: target distance, not squared.
        rho: eta_h/eta_y, above 0; units of h squared per units of dx^2 y.

    Raises:
        ValueError: a distance below 0, rho not above 0, or h0 = 0 for two different inputs.
    """
    h0 = not_negative(h0, "h0", "it is a squared distance")
    y0 = not_negative(y0, "y0", "it is a squared distance")
    dx = not_negative(dx, "dx", "it is a distance")
    dy = not_negative(dy, "dy", "it is a distance")
    rho = positive(rho, "rho", "it is eta_h/eta_y, a ratio of two rates")
    h0, y0, dx, dy, rho = np.broadcast_arrays(h0, y0, dx, dy, rho)
    if ((h0 == 0) & (dx > 0)).any():
        raise ValueError("h0 is 0 for two different inputs; the theory needs a direction: expected h0 above 0")
    ratio = np.divide(y0, h0, out=np.zeros(h0.shape), where=h0 > 0)
    return h0 - rho * dx**2 * ratio, np.sqrt(rho) * dx * dy


def final_distance(
    h0: Float[ArrayLike, "*#shape"],
    y0: Float[ArrayLike, "*#shape"],
    dx: Float[ArrayLike, "*#shape"],
    dy: Float[ArrayLike, "*#shape"],
    rho: Float[ArrayLike, "*#shape"],
) -> Float[Array, "*shape"]:
    """Final squared distance h_inf = A_high/2 + sqrt(A_high^2/4 + A_low^2), equations (10), (36), elementwise.

    For A_high < 0 it is A_low^2/(sqrt(A_high^2/4 + A_low^2) - A_high/2), which does not cancel.
    Pairwise matrices go in as they are; on the diagonal (dx = 0, h0 = 0) the result is 0.

    Args:
        h0: squared representational distance at t = 0, above 0; 0 is allowed where dx = 0.
        y0: squared output distance at t = 0.
        dx: input distance, not squared.
        dy: target distance, not squared.
        rho: eta_h/eta_y, above 0; all arguments broadcast.

    Returns:
        h_inf, broadcast shape of the arguments.

    Raises:
        ValueError: as `amplitudes`.

    Example:
        >>> round(float(final_distance(h0=0.01, y0=0.01, dx=1.0, dy=2.0, rho=1.0)), 4)
        1.5653
        >>> round(float(final_distance(h0=100.0, y0=0.01, dx=1.0, dy=2.0, rho=1.0)), 2)  # large weights: lazy
        100.04
    """
    return from_amplitudes(*amplitudes(h0, y0, dx, dy, rho))


def from_amplitudes(high: Float[ArrayLike, "*#shape"], low: Float[ArrayLike, "*#shape"]) -> Float[Array, "*shape"]:
    """h_inf of given A_high and A_low (not negative), equation (10)."""
    high, low = np.broadcast_arrays(finite(high, "high"), not_negative(low, "low", "A_low is a product of distances"))
    root = np.hypot(high / 2, low)
    falling = np.divide(low**2, root - high / 2, out=np.zeros(high.shape), where=root - high / 2 > 0)
    return np.where(high >= 0, high / 2 + root, falling)


def stable_point(high: float, low: float, eta_h: float, eta_y: float, dx2: float) -> FixedPoint:
    r"""The stable node h_inf: Jacobian, eigenvalues, directions; equations (27), (29)-(31).

    J = [[0, -eta_h dx2], [kappa eta_y (2 A_low^2 + (A_high + S)^2/2)/4, -eta_y (A_high/2 + S)]]. What the paper leaves
    out: the eigenvalues are -S/(2 tau_y) and -h_inf/tau_y, both real and negative: a node, never a spiral.

    Args:
        high: high amplitude A_high, units of h.
        low: low amplitude A_low, units of h.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.

    Raises:
        ValueError: A_low = 0 and A_high <= 0, where the only fixed point is h = 0.
    """
    if low == 0 and high <= 0:
        raise ValueError(f"A_high = {high:.6g}, A_low = 0: h falls to 0; there is no stable node above it")
    S, kappa = np.sqrt(high**2 + 4 * low**2), eta_y / (eta_h * dx2)
    corner = kappa * eta_y * (2 * low**2 + (high + S) ** 2 / 2) / 4
    jacobian = np.array([[0.0, -eta_h * dx2], [corner, -eta_y * (high / 2 + S)]])
    eigenvalues = -eta_y * np.array([S, high + S]) / 2
    return FixedPoint(float(from_amplitudes(high, low)), jacobian, eigenvalues, -eigenvalues / (eta_h * dx2))


def saddle_point(high: float, low: float, eta_h: float, eta_y: float, dx2: float) -> FixedPoint:
    r"""The fixed point h = 0, approached along w = c h: lambda = eta_y (A_high +- S)/2, c = -lambda/(eta_h dx2).

    The Jacobian (32) at slope c is [[0, -eta_h dx2], [(eta_h dx2 c^2 - eta_y dy2)/2, eta_y A_high/2 - eta_h dx2 c]];
    equations (33)-(35). It is given for the growing direction; the other follows with the other slope.

    Arguments as in `stable_point`.

    Returns:
        The fixed point, growing direction first.
    """
    S, encoder = np.sqrt(high**2 + 4 * low**2), eta_h * dx2
    eigenvalues = eta_y * np.array([high + S, high - S]) / 2
    slopes = -eigenvalues / encoder
    return FixedPoint(0.0, saddle_jacobian(slopes[0], high, low, eta_h, eta_y, dx2), eigenvalues, slopes)


def saddle_jacobian(
    slope: float, high: float, low: float, eta_h: float, eta_y: float, dx2: float
) -> Float[Array, "2 2"]:
    """Jacobian (32), (33) at h = 0 approached along w = slope h; dy2 = A_low^2 eta_y/(eta_h dx2).

    Args:
        slope: slope w/h of the approach.
        high: high amplitude A_high, units of h.
        low: low amplitude A_low, units of h.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.
    """
    encoder, dy2 = eta_h * dx2, low**2 * eta_y / (eta_h * dx2)
    return np.array([[0.0, -encoder], [(encoder * slope**2 - eta_y * dy2) / 2, eta_y * high / 2 - encoder * slope]])


def large_weight_limit_as_printed(high: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """Section 4.1: large initial weights, condition (12), give h_inf -> A_high."""
    return finite(high, "high")


def large_weight_limit(high: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """Corrects section 4.1: for |A_high| >> A_low, h_inf -> max(A_high, 0); condition (12) implies neither."""
    return np.maximum(finite(high, "high"), 0.0)
