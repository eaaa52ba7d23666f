r"""The constants of Proposition 4.2, bounded rigorously for given data: Chen, Section 4.2.

The hypotheses (4.14)-(4.17) are quantified over the balls |beta + yt| <= 1.1 r and ||R - R_0|| < eta_2, where eta_2
depends on the constants themselves. In the frame of R_0, u_i = v_i + (a move of at most eta_2 |v|) + b_i with
|b| <= 1.1 r, so every supremum is bounded by a sum over points; eta_2 is the least fixed point, reached from below.

Two slips are corrected: mu o a must read mu o a^{-1}, and the radius eta_2 of (4.13), in which the proposition is
false (experiments/printed_radius.py). It holds with eta_2 = eta_1 |beta(0) + yt|/(2 (1 - eta_0)): |b| falls at least at
the rate 1 - eta_0, because b^T Omega b = 0, and R turns at most at the rate eta_1 |b|/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import inputs

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

BALL = 1.1
FIXED_POINT_STEPS = 200
FIXED_POINT_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Constants:
    """Upper bounds on the constants of Proposition 4.2 and what follows from them.

    Attributes:
        gamma: radius at which the whole cluster is truncated, relative to |beta(0) + yt|.
        eta_0: share of points not truncated in some direction (4.14).
        eta_1: first moment of the partial sectors (4.15), input units.
        eta_1_prime: 1.1 |beta(0) + yt| eta_1 (4.13).
        eta_2: radius of the ball of rotations that suffices, eta_1 |beta(0) + yt|/(2 (1 - eta_0)).
        highest: largest coordinate of any point under (4.16)-(4.17); below 0 if fully truncated there.
        arrival_bound: bound on s_1, log(1/gamma)/(1 - eta_0 - eta_1') (4.30).
        sharp_arrival_bound: log(1/gamma)/(1 - eta_0); Omega drops out because b^T Omega b = 0.
    """

    gamma: float
    eta_0: float
    eta_1: float
    eta_1_prime: float
    eta_2: float
    highest: float
    arrival_bound: float
    sharp_arrival_bound: float

    @property
    def hypotheses_hold(self) -> bool:
        """Whether eta_0, eta_1 and gamma lie in (0, 1/10) and the cluster is truncated under (4.17)."""
        return max(self.eta_0, self.eta_1, self.gamma) < 0.1 and np.isfinite(self.eta_2) and self.highest <= 0


def proposition_4_2_constants(
    X: Float[ArrayLike, "N Q"],
    R0: Float[ArrayLike, "Q Q"],
    beta0: Float[ArrayLike, "Q"],
    yt: Float[ArrayLike, "Q"],
    gamma: float,
) -> Constants:
    """Bound the constants of Proposition 4.2 for one cluster and given initial data.

    Args:
        X: points, input units.
        R0: initial orthogonal matrix.
        beta0: initial pulled-back bias.
        yt: pulled-back label.
        gamma: constant of (4.17), in (0, 1/10).

    Returns:
        Upper bounds; `hypotheses_hold` says whether they certify the proposition.

    Raises:
        ValueError: if gamma is out of range, beta0 = -yt, or shapes and numbers are bad.
    """
    X = inputs.points(X)
    Q = X.shape[1]
    R0, yt = arguments.orthogonal(R0, Q, "R0"), arguments.shaped(yt, "yt", (Q,))
    r = float(np.linalg.norm(arguments.shaped(beta0, "beta0", (Q,)) + yt))
    if not 0.0 < gamma < 0.1:
        raise arguments.refuse("gamma", f"{gamma}", "a number in (0, 0.1) (Proposition 4.2)")
    arguments.positive(r, "|beta0 + yt|")
    return _least_fixed_point((X - yt) @ R0.T, r, gamma)


def _least_fixed_point(v: Array, r: float, gamma: float) -> Constants:
    """The constants in the smallest ball of rotations that they allow."""
    ball = 0.0
    for _ in range(FIXED_POINT_STEPS):
        constants = constants_in_ball(v, r, gamma, ball)
        if not FIXED_POINT_TOLERANCE < constants.eta_2 - ball < np.inf:
            return constants
        ball = constants.eta_2
    return constants


def constants_in_ball(v: Float[Array, "N Q"], r: float, gamma: float, ball: float) -> Constants:
    """Suprema over |b| <= 1.1 r and rotations within `ball`, and what follows from them; v = R_0 (x - yt), (N, Q).

    Ours: bounds on the constants of (4.14)-(4.17), Proposition 4.2.

    Args:
        v: R_0 (x - yt) of each point, input units.
        r: |beta(0) + yt|, input units.
        gamma: share of r at which arrival is counted, in (0, 1).
        ball: radius of the ball of rotations, operator norm.
    """
    size = np.linalg.norm(v, axis=1)
    reach = BALL * r
    raised = v + ball * size[:, None]
    eta_0 = float(np.max(np.mean(raised + reach > 0, axis=0)))
    eta_1 = float(np.mean(partial_size_bound(raised, v - ball * size[:, None], size, reach)))
    eta_1_prime, time = reach * eta_1, float(np.log(1.0 / gamma))
    return Constants(
        gamma=gamma,
        eta_0=eta_0,
        eta_1=eta_1,
        eta_1_prime=eta_1_prime,
        eta_2=sufficient_radius(eta_0, eta_1, r),
        highest=float(np.max(raised)) + gamma * r,
        arrival_bound=_over_gap(time, eta_0, eta_1_prime),
        sharp_arrival_bound=_over_gap(time, eta_0, 0.0),
    )


def sufficient_radius(eta_0: float, eta_1: float, r: float) -> float:
    """Radius eta_1 r/(2 (1 - eta_0)) of the ball of rotations in which (4.14)-(4.16) suffice, r = |beta(0) + yt|."""
    return _over_gap(0.5 * eta_1 * r, eta_0, 0.0)


def _over_gap(value: float, eta_0: float, other: float) -> float:
    """Value / (1 - eta_0 - other), infinite where the gap closes."""
    gap = 1.0 - eta_0 - other
    return value / gap if gap > 0 else np.inf


def partial_size_bound(
    raised: Float[Array, "N Q"], lowered: Float[Array, "N Q"], size: Float[Array, "N"], reach: float
) -> Float[Array, "N"]:
    """Largest |u| a point can have while partially truncated, 0 if it never is.

    A coordinate turns positive only if b_i > -raised_i =: c, which leaves at most sqrt(reach^2 - c^2) of |b| for the
    others; where c > 0 the positive coordinate itself is u_i <= raised_i + b_i, of size at most reach - c.

    Ours: a bound on the integrand of eta_1, (4.15).

    Args:
        raised: v_i and the most that a rotation in the ball adds, input units.
        lowered: v_i less the same, input units.
        size: |v| of each point, input units.
        reach: largest |b|, input units.
    """
    needed = np.maximum(-raised, 0.0)
    possible = needed < reach
    others = size[:, None] + np.sqrt(np.maximum(reach**2 - needed**2, 0.0))
    bound = np.where(needed > 0, np.hypot(others, reach - needed), size[:, None] + reach)
    always_on = np.all(lowered > reach, axis=1)
    return np.where(always_on, 0.0, np.max(np.where(possible, bound, 0.0), axis=1))


def eta_2_as_printed(constants: Constants) -> tuple[float, float]:
    """The two values of eta_2 as printed, in (4.13) and in (4.32); they disagree, and infinite where a gap closes."""
    c = constants
    return radii_as_printed(c.eta_0, c.eta_1, c.eta_1_prime, c.gamma)


def radii_as_printed(eta_0: float, eta_1: float, eta_1_prime: float, gamma: float) -> tuple[float, float]:
    """eta_2 of (4.13) and of (4.32) for given constants.

    Args:
        eta_0: largest share of points not truncated in a direction.
        eta_1: mean size of partially truncated points, input units.
        eta_1_prime: reach times eta_1, input units squared.
        gamma: share of r at which arrival is counted, in (0, 1).
    """
    time = float(np.log(1.0 / gamma))
    return _over_gap(eta_1 * time, eta_0, eta_1_prime), _over_gap(eta_1_prime * time, eta_0, eta_1)
