"""Equal targets (A.4) and large initial weights (A.5): the exact solution, and the change of scale, both forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import not_negative
from repdyn.base.arrays import Array
from repdyn.universality.theory.domain import rates, realizable
from repdyn.universality.theory.effective import mean_decay

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def identical_solution(
    t: Float[ArrayLike, "*shape"], h0: float, y0: float, eta_h: float, eta_y: float, dx2: float
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    r"""Solution for equal targets (w = y, dy2 = 0); corrects equations (39), (40).

    h = A/(1 + (A/h0 - 1) e^{-A eta_y t}), y = kappa A^2 (1 - A/h0) e^{-A eta_y t}/(1 + (A/h0 - 1) e^{-A eta_y t})^2,
    A = A_high, kappa = eta_y/(eta_h dx2); the printed exponents lack 1/tau_y. As A -> 0 both stay finite,
    h = h0/(1 + h0 eta_y t).

    Args:
        t: times, epochs, any shape.
        h0: h at t = 0, above 0.
        y0: y at t = 0.
        eta_h: effective rate 1/tau_h, 1/epoch.
        eta_y: effective rate 1/tau_y, 1/epoch.
        dx2: squared input distance.

    Returns:
        h and y at the times, each of the shape of t.

    Raises:
        ValueError: rates, distances or initial values out of range.
    """
    t = not_negative(t, "t", "the solution runs forward from t = 0")
    rates(eta_h, eta_y, dx2)
    realizable(h0, y0, y0, 0.0)
    kappa = eta_y / (eta_h * dx2)
    A = h0 - y0 / (kappa * h0)
    return _bernoulli(t * eta_y, h0, A, kappa)


def identical_solution_as_printed(
    t: Float[ArrayLike, "*shape"], h0: float, y0: float, eta_h: float, eta_y: float, dx2: float
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Equations (39), (40) as printed: exponent -A_high t, without 1/tau_y.

    Arguments as in `identical_solution`.
    """
    kappa = eta_y / (eta_h * dx2)
    return _bernoulli(np.asarray(t, float), h0, h0 - y0 / (kappa * h0), kappa)


def _bernoulli(u: Array, h0: float, A: float, kappa: float) -> tuple[Array, Array]:
    """H' = A h - h^2 in the time u from h0, and y = kappa h (h - A), equations (38), (24)."""
    grow, fall = np.exp(np.minimum(A * u, 0)), np.exp(-np.maximum(A * u, 0))  # e^{Au} = grow/fall, both at most 1
    mean = mean_decay(np.abs(A) * u)  # int e^{A u'} du' = u mean/fall
    bottom = fall + h0 * u * mean
    h = h0 * grow / bottom
    return h, kappa * h * (h0 - A) * fall / bottom


def identical_rhs(h: Float[ArrayLike, "*shape"], eta_y: float, high: float) -> Float[Array, "*shape"]:
    """H' = eta_y (A_high h - h^2), equation (38)."""
    h = np.asarray(h, float)
    return eta_y * (high * h - h**2)


def rescaled(
    h: Float[ArrayLike, "*#shape"], y: Float[ArrayLike, "*#shape"], w: Float[ArrayLike, "*#shape"], gain: float
) -> tuple[Float[Array, "*#shape"], Float[Array, "*#shape"], Float[Array, "*#shape"], float]:
    """The change of variables that turns (7) into (43): h/G, y/G^2, w/G^2, and time times G; corrects (42).

    Args:
        h: squared representational distance, above 0.
        y: squared output distance.
        w: alignment.
        gain: the factor G of the change of variables.
    """
    h, y, w = (np.asarray(value, float) for value in (h, y, w))
    return h / gain, y / gain**2, w / gain**2, gain


def rescaled_as_printed(
    h: Float[ArrayLike, "*#shape"], y: Float[ArrayLike, "*#shape"], w: Float[ArrayLike, "*#shape"], gain: float
) -> tuple[Float[Array, "*#shape"], Float[Array, "*#shape"], Float[Array, "*#shape"], float]:
    """Equation (42) as printed: G h, G^2 y, G^2 w, and time divided by G; it gives G^{+2} dy2, not G^{-2} dy2.

    Arguments as in `rescaled`.
    """
    return rescaled(h, y, w, 1 / gain)
