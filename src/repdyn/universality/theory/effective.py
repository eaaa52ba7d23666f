"""The effective theory of two points: the three-dimensional system, its closed-form solution, its loss.

Symbols (van Rossem and Saxe): dx2 = ||x2 - x1||^2, dy2 = ||y2 - y1||^2 (D = its root), h = ||dh||^2, y = ||dy||^2,
w = y - dy . (y2 - y1), eta_h = 1/tau_h, eta_y = 1/tau_y, eta_b = 1/tau_ybar in 1/epoch, time in epochs.

The paper says that the system "cannot be solved analytically in the general case". It can: with dh = alpha u,
u fixed, and dy = alpha v it is a two-layer linear network of unequal rates, and its balanced coordinates
Q = (s, r, q) = (alpha / a, v_parallel / b, v_orthogonal / b), a^2 = eta_h dx2, b^2 = eta_y, obey the Riccati flow
Q' = g (H - g |Q|^2) Q, g = a b / 2, solved by Q(t) = e^{gHt} Q(0) / sqrt(1 + 2 g^2 int_0^t |e^{gH s} Q(0)|^2 ds).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arguments import finite, not_negative, positive
from repdyn.base.arrays import Array
from repdyn.universality.theory.domain import rates, realizable

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

Values = NDArray[np.floating] | np.float64


class Observables(NamedTuple):
    """Squared representational distance h, squared output distance y, alignment w; equation (8)."""

    h: Array
    y: Array
    w: Array


def two_point_observables(
    h1: Float[ArrayLike, "*batch units"],
    h2: Float[ArrayLike, "*batch units"],
    o1: Float[ArrayLike, "*batch outputs"],
    o2: Float[ArrayLike, "*batch outputs"],
    y1: Float[ArrayLike, "*#batch outputs"],
    y2: Float[ArrayLike, "*#batch outputs"],
) -> Observables:
    """Measures h = ||h2 - h1||^2, y = ||o2 - o1||^2, w = y - (o2 - o1) . (y2 - y1), equation (8), in float64.

    Args:
        h1: representations of the first point.
        h2: those of the second point, same shape.
        o1: outputs of the first point.
        o2: those of the second point, same shape.
        y1: targets of the first point.
        y2: those of the second point, same shape.

    Returns:
        h, y, w, each of shape (...).

    Raises:
        ValueError: shapes that do not match, or entries that are not finite.
    """
    dh = _difference(h1, h2, "representations h1, h2")
    dy = _difference(o1, o2, "outputs o1, o2")
    target = _difference(y1, y2, "targets y1, y2")
    if dy.shape[-1] != target.shape[-1]:
        raise ValueError(f"outputs have {dy.shape[-1]} units but targets {target.shape[-1]}; they must agree")
    y = (dy**2).sum(axis=-1)
    return Observables((dh**2).sum(axis=-1), y, y - (dy * target).sum(axis=-1))


def _difference(first: ArrayLike, second: ArrayLike, names: str) -> Array:
    first, second = np.atleast_1d(finite(first, names)), np.atleast_1d(finite(second, names))
    if first.shape != second.shape:
        raise ValueError(f"{names} have shapes {first.shape} and {second.shape}; they must be equal")
    return second - first


def effective_rhs(
    h: Float[ArrayLike, "*#shape"],
    y: Float[ArrayLike, "*#shape"],
    w: Float[ArrayLike, "*#shape"],
    eta_h: float,
    eta_y: float,
    dx2: float,
    dy2: float,
) -> tuple[Float[Array, "*#shape"], Float[Array, "*shape"], Float[Array, "*shape"]]:
    r"""Right-hand side of the three-dimensional system, equations (7), (21).

    h' = -eta_h dx2 w; y' = -w (eta_y h + eta_h dx2 y/h); w' = -eta_y (3w - y + dy2) h/2 - eta_h dx2 (y + w) w/(2h).

    Gives the time derivatives of h, y, w, per epoch.

    Args:
        h: squared representational distance, above 0, any shape that broadcasts.
        y: squared output distance, any shape that broadcasts.
        w: alignment, any shape that broadcasts.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.
        dy2: squared target distance.
    """
    h, y, w = (np.asarray(value, float) for value in (h, y, w))
    encoder = eta_h * dx2
    return (
        -encoder * w,
        -w * (eta_y * h + encoder * y / h),
        -eta_y / 2 * (3 * w - y + dy2) * h - encoder / 2 * (y + w) * w / h,
    )


def effective_solution(
    t: Float[ArrayLike, "*#shape"],
    h0: Float[ArrayLike, "*#shape"],
    y0: Float[ArrayLike, "*#shape"],
    w0: Float[ArrayLike, "*#shape"],
    eta_h: Float[ArrayLike, "*#shape"],
    eta_y: Float[ArrayLike, "*#shape"],
    dx2: Float[ArrayLike, "*#shape"],
    dy2: Float[ArrayLike, "*#shape"],
) -> Float[Array, "3 *shape"]:
    r"""Closed-form solution of equation (7), without overflow and without division by zero at dy2 = 0 or A_high = 0.

    With k = s^2 - r^2 - q^2, m = g k, lam = sqrt(D^2 + m^2):
    S = cosh(g lam t) s + sinh(g lam t) (m s + D r)/lam, R the same with s, r exchanged and m -> -m, O = q e^{-g m t},
    n = 1 + 2 g^2 int |(S, R, O)|^2; h = a^2 S^2/n, y = h b^2 (R^2 + O^2)/n, w = y - D a b S R/n.
    All three are multiplied by e^{-g lam t}, which cancels.

    Args:
        t: times, epochs, 0 or more; broadcasts against the rest.
        h0: squared representational distance at t = 0, above 0.
        y0: squared output distance at t = 0.
        w0: alignment at t = 0.
        eta_h: effective rate of the encoder, 1/epoch.
        eta_y: effective rate of the decoder, 1/epoch.
        dx2: squared input distance, above 0.
        dy2: squared target distance.

    Returns:
        h, y, w stacked.

    Raises:
        ValueError: rates or distances out of range, or initial values that no network can have.

    Example:
        >>> h, y, w = effective_solution([0.0, 1e3], 0.01, 0.01, 0.0, 1.0, 1.0, 1.0, 4.0)
        >>> h.round(4).tolist(), y.round(4).tolist()  # y ends at dy2
        ([0.01, 1.5653], [0.01, 4.0])
    """
    t = not_negative(t, "t", "the solution runs forward from the initial values at t = 0")
    eta_h, eta_y, dx2 = rates(eta_h, eta_y, dx2)
    h0, y0, w0, dy2 = realizable(h0, y0, w0, dy2)
    return solution_unchecked(t, h0, y0, w0, eta_h, eta_y, dx2, dy2)


def solution_unchecked(
    t: Float[Values, "*#shape"],
    h0: Float[Values, "*#shape"],
    y0: Float[Values, "*#shape"],
    w0: Float[Values, "*#shape"],
    eta_h: Float[Values, "*#shape"],
    eta_y: Float[Values, "*#shape"],
    dx2: Float[Values, "*#shape"],
    dy2: Float[Values, "*#shape"],
) -> Float[Array, "3 *shape"]:
    """`effective_solution` without the checks, for loops that made them once.

    Ours: the closed form of equation (7).

    Args:
        t: times, epochs.
        h0: h at t = 0, above 0.
        y0: y at t = 0.
        w0: w at t = 0.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.
        dy2: squared target distance; all arguments broadcast.
    """
    D, a, b = np.sqrt(dy2), np.sqrt(eta_h * dx2), np.sqrt(eta_y)
    g, s = a * b / 2, np.sqrt(h0) / a
    p = np.divide(y0 - w0, D, out=np.zeros(np.broadcast(y0, w0, D).shape), where=np.asarray(D > 0))
    r = p / (b * np.sqrt(h0))
    q2 = np.maximum(y0 - p**2, 0) / (h0 * eta_y)
    m = g * (s**2 - r**2 - q2)
    lam = np.hypot(D, m)
    fall = np.exp(-2 * g * lam * t)
    grown = g * t * mean_decay(2 * g * lam * t)  # e^{-x} sinh(x)/lam, x = g lam t
    S = _diagonal(m, D, lam, fall) * s + grown * D * r
    R = _diagonal(-m, D, lam, fall) * r + grown * D * s
    down = np.where(m < 0, np.exp(2 * g * (np.abs(m) - lam) * t), fall)  # e^{-2 g lam t} max(1, e^{-2 g m t})
    O2 = q2 * np.exp(-2 * g * (lam + m) * t)
    integral = (
        (s**2 + r**2) * t * mean_decay(4 * g * lam * t)
        + grown**2 / g * (m * (s**2 - r**2) + 2 * D * s * r)
        + q2 * t * down * mean_decay(2 * g * np.abs(m) * t)
    )
    n = fall + 2 * g**2 * integral
    h = a**2 * S**2 / n
    y = h * eta_y * (R**2 + O2) / n
    return np.stack(np.broadcast_arrays(h, y, y - D * a * b * S * R / n))


def mean_decay(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """(1 - e^{-x})/x, the mean of e^{-u} over u from 0 to x; 1 at x = 0.

    Ours: a factor of `effective_solution`.
    """
    x = np.asarray(x, float)
    return np.divide(-np.expm1(-x), x, out=np.ones(x.shape), where=x != 0)


def _diagonal(m: Array, D: Array, lam: Array, fall: Array) -> Array:
    """e^{-x} (cosh x + sinh(x) m/lam), fall = e^{-2x}, without cancellation where m is negative."""
    safe = np.where(lam > 0, lam, 1.0)
    small = D**2 / (safe * (safe + np.abs(m)))  # 1 - |m|/lam
    small = np.where(lam > 0, small, 1.0)
    up = np.where(m < 0, small, 2 - small)
    return (up + (2 - up) * fall) / 2


def conserved(
    h: Float[ArrayLike, "*#shape"], y: Float[ArrayLike, "*#shape"], eta_h: float, eta_y: float, dx2: float
) -> Float[Array, "*shape"]:
    """What equation (7) conserves: y/h - kappa h, kappa = tau_h/(tau_y dx2); equations (23), (24).

    Args:
        h: squared representational distance, above 0.
        y: squared output distance.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.
    """
    h, y = positive(h, "h", "the ratio y/h is undefined at 0"), finite(y, "y")
    return y / h - eta_y / (eta_h * dx2) * h


def plane_rhs(
    h: Float[ArrayLike, "*#shape"],
    w: Float[ArrayLike, "*#shape"],
    eta_h: float,
    eta_y: float,
    dx2: float,
    dy2: float,
    constant: float,
) -> tuple[Float[Array, "*#shape"], Float[Array, "*shape"]]:
    r"""The system reduced to (h, w), equation (25).

    w' = -(-kappa eta_y h^3 + eta_y dy2 h + 4 eta_y h w + eta_h dx2 w^2/h + constant (eta_h dx2 w - eta_y h^2))/2.

    Args:
        h: squared representational distance, above 0.
        w: alignment.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.
        dy2: squared target distance.
        constant: y(0)/h(0) - kappa h(0), conserved.

    Returns:
        Time derivatives of h and w, per epoch.
    """
    h, w = np.asarray(h, float), np.asarray(w, float)
    encoder, kappa = eta_h * dx2, eta_y / (eta_h * dx2)
    bracket = -kappa * eta_y * h**3 + eta_y * dy2 * h + 4 * eta_y * h * w + encoder * w**2 / h
    return -encoder * w, -(bracket + constant * (encoder * w - eta_y * h**2)) / 2


def mean_prediction(
    t: Float[ArrayLike, "*#shape"],
    mean0: Float[ArrayLike, "*#shape"],
    target_mean: Float[ArrayLike, "*#shape"],
    eta_b: float,
) -> Float[Array, "*shape"]:
    """Mean output ybar(t) = m + (ybar(0) - m) e^{-eta_b t}, m = (y1 + y2)/2; equation (18).

    Args:
        t: times, epochs, any shape.
        mean0: mean output at t = 0.
        target_mean: mean m of the two targets, shape of mean0.
        eta_b: effective rate of the mean output, 1/epoch.

    Example:
        >>> mean_prediction([0.0, 1.0, 100.0], 0.0, 0.5, eta_b=1.0).round(4).tolist()
        [0.0, 0.3161, 0.5]
    """
    mean0, target_mean = finite(mean0, "mean0"), finite(target_mean, "target_mean")
    return target_mean + (mean0 - target_mean) * np.exp(-eta_b * np.asarray(t, float))


def effective_loss(
    t: Float[ArrayLike, "*#shape"],
    y: Float[ArrayLike, "*#shape"],
    w: Float[ArrayLike, "*#shape"],
    dy2: Float[Array, "*#shape"] | float,
    offset2: Float[Array, "*#shape"] | float,
    eta_b: float,
) -> Float[Array, "*shape"]:
    r"""Training loss L = offset2 e^{-2 eta_b t}/2 + (w + (dy2 - y)/2)/4; equations (9), (22).

    Args:
        t: times, epochs.
        y: squared output distance at these times.
        w: alignment at these times.
        dy2: squared target distance.
        offset2: squared distance of the mean output at t = 0 from the mean target.
        eta_b: effective rate of the mean output, 1/epoch.

    Raises:
        ValueError: a negative squared distance.
    """
    not_negative(offset2, "offset2", "it is the squared distance of the mean output from the mean target")
    not_negative(dy2, "dy2", "dy2 is the squared distance of two targets")
    y, w = np.asarray(y, float), np.asarray(w, float)
    return offset2 * np.exp(-2 * eta_b * np.asarray(t, float)) / 2 + (w + (dy2 - y) / 2) / 4
