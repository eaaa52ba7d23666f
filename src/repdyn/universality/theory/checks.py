"""Input rules of the study: what the public functions demand of distances, rates and measured trajectories.

Each check returns float64 or raises a ValueError that says what was got, what was expected and what to do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

REALISABLE = 1e-6  # relative slack in Cauchy-Schwarz: float32 outputs round to 1e-7, a wrong w misses by far more


def finite(value: ArrayLike, name: str) -> Array:
    """The array in float64, all entries finite."""
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = int(array.size - np.isfinite(array).sum())
        raise ValueError(f"{name} has {bad} non-finite entries; all must be finite: a diverged run? lower its rate")
    return array


def positive(value: ArrayLike, name: str, advice: str) -> Array:
    """The array in float64, all entries finite and above zero."""
    array = finite(value, name)
    if not (array > 0).all():
        raise ValueError(f"{name} has the entry {array.min():.6g}; expected values above 0: {advice}")
    return array


def not_negative(value: ArrayLike, name: str, advice: str) -> Array:
    """The array in float64, all entries finite and not below zero."""
    array = finite(value, name)
    if not (array >= 0).all():
        raise ValueError(f"{name} has the entry {array.min():.6g}; expected values of 0 or more: {advice}")
    return array


def rates(eta_h: ArrayLike, eta_y: ArrayLike, dx2: ArrayLike) -> tuple[Array, Array, Array]:
    """Effective learning rates (1/epoch) and the squared input distance, all above zero."""
    return (
        positive(eta_h, "eta_h", "an effective learning rate is 1/tau_h in 1/epoch"),
        positive(eta_y, "eta_y", "an effective learning rate is 1/tau_y in 1/epoch"),
        positive(dx2, "dx2", "two different inputs are needed; equal inputs have no dynamics of their distance"),
    )


def realisable(h: ArrayLike, y: ArrayLike, w: ArrayLike, dy2: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Measured (h, y, w) that some pair of vectors can have: h > 0, y >= 0, (y - w)^2 <= y dy2.

    The last is Cauchy-Schwarz for y - w = dy . (y2 - y1); a network that breaks it was measured wrongly.
    """
    h = positive(h, "h", "a squared representational distance of 0 has no direction; the system is undefined there")
    y = not_negative(y, "y", "y is the squared distance of two outputs")
    w = finite(w, "w")
    dy2 = not_negative(dy2, "dy2", "dy2 is the squared distance of two targets")
    excess = (y - w) ** 2 - y * dy2 * (1 + REALISABLE)
    if (excess > np.finfo(float).tiny).any():
        raise ValueError(
            f"(h, y, w) cannot be measured on any network: (y - w)^2 exceeds y dy2 by up to {excess.max():.3g}; "
            "w must be ||dy||^2 - dy . (y2 - y1) of the same outputs and targets"
        )
    return h, y, w, dy2
