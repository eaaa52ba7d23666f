"""Ranges of the study's quantities: effective rates, and trajectories (h, y, w) that two points can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite, not_negative, positive
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

REALIZABLE = 1e-6  # relative slack in Cauchy-Schwarz: float32 outputs round to 1e-7, a wrong w misses by far more


def rates(
    eta_h: Float[ArrayLike, "*#shape"], eta_y: Float[ArrayLike, "*#shape"], dx2: Float[ArrayLike, "*#shape"]
) -> tuple[Float[Array, "*#shape"], Float[Array, "*#shape"], Float[Array, "*#shape"]]:
    """Effective learning rates (1/epoch) and the squared input distance, all above zero.

    Ours: a check of the rates of equation (7).
    """
    return (
        positive(eta_h, "eta_h", "an effective learning rate is 1/tau_h in 1/epoch"),
        positive(eta_y, "eta_y", "an effective learning rate is 1/tau_y in 1/epoch"),
        positive(dx2, "dx2", "two different inputs are needed; equal inputs have no dynamics of their distance"),
    )


def realizable(
    h: Float[ArrayLike, "*#shape"],
    y: Float[ArrayLike, "*#shape"],
    w: Float[ArrayLike, "*#shape"],
    dy2: Float[ArrayLike, "*#shape"],
) -> tuple[Float[Array, "*#shape"], Float[Array, "*#shape"], Float[Array, "*#shape"], Float[Array, "*#shape"]]:
    """Measured (h, y, w) that some pair of vectors can have: h > 0, y >= 0, (y - w)^2 <= y dy2.

    The last is Cauchy-Schwarz for y - w = dy . (y2 - y1); a network that breaks it was measured wrongly.

    Ours: a check of the observables of equation (8).

    Args:
        h: squared representational distance, above 0.
        y: squared output distance.
        w: alignment.
        dy2: squared target distance.

    Raises:
        ValueError: one of the three does not hold.
    """
    h = positive(h, "h", "a squared representational distance of 0 has no direction; the system is undefined there")
    y = not_negative(y, "y", "y is the squared distance of two outputs")
    w = finite(w, "w")
    dy2 = not_negative(dy2, "dy2", "dy2 is the squared distance of two targets")
    excess = (y - w) ** 2 - y * dy2 * (1 + REALIZABLE)
    if (excess > np.finfo(float).tiny).any():
        raise ValueError(
            f"(h, y, w) cannot be measured on any network: (y - w)^2 exceeds y dy2 by up to {excess.max():.3g}; "
            "w must be ||dy||^2 - dy . (y2 - y1) of the same outputs and targets"
        )
    return h, y, w, dy2
