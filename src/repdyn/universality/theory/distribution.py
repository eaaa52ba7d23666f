"""Distribution of the final distance over random initial weights, A.6, equations (44)-(48), both forms.

The paper draws h0/dx^2 and y0/h0 independently from N(G, G^2), "merely for illustrative purposes": the Gaussian gives
negative squared distances with probability 0.159, and A_high is then no distance of a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from repdyn.base.arguments import not_negative, positive
from repdyn.base.arrays import Array
from repdyn.universality.theory.final import from_amplitudes

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def final_distance_cdf(
    q: Float[ArrayLike, "*shape"], dx: float, dy: float, rho: float, G: float
) -> Float[Array, "*shape"]:
    r"""P(h_inf < q) = Phi((q - A_low^2/q - dx^2 G (1 - rho))/(dx^2 G sqrt(1 + rho^2))); corrects (46), (47).

    From (45), P(A_high < q - A_low^2/q), with A_high = dx^2 (h0/dx^2 - rho y0/h0) ~ N(dx^2 G (1 - rho),
    dx^4 G^2 (1 + rho^2)); the paper loses rho and has N(0, 2 dx^4 G^2). At dy = 0 there is an atom at h_inf = 0.

    Args:
        q: squared distances, above 0.
        dx: input distance, not squared.
        dy: target distance, not squared.
        rho: eta_h/eta_y.
        G: mean and standard deviation of the two initial ratios.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> final_distance_cdf([0.5, 1.0, 2.0], dx=1.0, dy=1.0, rho=1.0, G=1.0).round(4).tolist()
        [0.1444, 0.5, 0.8556]
    """
    return _cdf(q, dx, dy, rho, G, dx**2 * G * (1 - rho), dx**2 * G * np.sqrt(1 + rho**2))


def final_distance_cdf_as_printed(
    q: Float[ArrayLike, "*shape"], dx: float, dy: float, rho: float, G: float
) -> Float[Array, "*shape"]:
    """Equation (47) as printed: Phi((q - A_low^2/q)/(sqrt(2) dx^2 G)); right for rho = 1 only.

    Arguments as in `final_distance_cdf`.
    """
    return _cdf(q, dx, dy, rho, G, 0.0, np.sqrt(2) * dx**2 * G)


def _cdf(q: ArrayLike, dx: float, dy: float, rho: float, G: float, mean: float, spread: float) -> Array:
    q = positive(q, "q", "the distribution lives on squared distances above 0")
    _ranges(dx, dy, rho, G)
    return ndtr((q - rho * dx**2 * dy**2 / q - mean) / spread)


def final_distance_density(
    q: Float[ArrayLike, "*shape"], dx: float, dy: float, rho: float, G: float
) -> Float[Array, "*shape"]:
    r"""Density of h_inf: (1 + A_low^2/q^2) phi(z)/spread, z as in `final_distance_cdf`; corrects (48).

    Arguments as in `final_distance_cdf`.
    """
    return _density(q, dx, dy, rho, G, dx**2 * G * (1 - rho), dx**2 * G * np.sqrt(1 + rho**2))


def final_distance_density_as_printed(
    q: Float[ArrayLike, "*shape"], dx: float, dy: float, rho: float, G: float
) -> Float[Array, "*shape"]:
    """Equation (48) as printed; right for rho = 1 only.

    Arguments as in `final_distance_cdf`.
    """
    return _density(q, dx, dy, rho, G, 0.0, np.sqrt(2) * dx**2 * G)


def _density(q: ArrayLike, dx: float, dy: float, rho: float, G: float, mean: float, spread: float) -> Array:
    q = positive(q, "q", "the distribution lives on squared distances above 0")
    _ranges(dx, dy, rho, G)
    low2 = rho * dx**2 * dy**2
    z = (q - low2 / q - mean) / spread
    return (1 + low2 / q**2) / spread * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def sample_final_distance(
    count: int, dx: float, dy: float, rho: float, G: float, generator: np.random.Generator
) -> Float[Array, "count"]:
    """Draws of h_inf: two independent N(G, G^2) ratios, A_high from (46), h_inf from (10).

    Args:
        count: number of draws.
        dx: input distance, not squared.
        dy: target distance, not squared.
        rho: eta_h/eta_y.
        G: mean and standard deviation of the two initial ratios.
        generator: source of the draws.
    """
    _ranges(dx, dy, rho, G)
    encoder, decoder = generator.normal(G, G, (2, count))
    return from_amplitudes(dx**2 * (encoder - rho * decoder), np.full(count, np.sqrt(rho) * dx * dy))


def _ranges(dx: float, dy: float, rho: float, G: float) -> None:
    positive(dx, "dx", "two different inputs are needed")
    not_negative(dy, "dy", "it is a distance")
    positive(rho, "rho", "it is eta_h/eta_y, a ratio of two rates")
    positive(G, "G", "it is a standard deviation")
