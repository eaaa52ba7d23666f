"""Powers of the input and target distance that final distances follow, and those that a theory misses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array

FEWEST = 8
"""Trials below which no power law is fitted."""


class PowerLaw(NamedTuple):
    """Least squares of log h, and of log h over the theory, in log dx and log dy.

    Attributes:
        trials: trials used: converged, dy above 0.
        dropped: trials with dy above 0 that did not converge.
        correlation: of log h with the log of the theory.
        correlation_dy: of log h with log dy alone.
        ratio: geometric mean of h over the theory.
        exponent: of h in dx and dy, shape (2,).
        missed: of h over the theory in dx and dy, shape (2,): 0 where the theory is right.
        missed_error: their standard errors, shape (2,).
    """

    trials: int
    dropped: int
    correlation: float
    correlation_dy: float
    ratio: float
    exponent: Array
    missed: Array
    missed_error: Array


def fit_power_law(h: ArrayLike, theory: ArrayLike, good: ArrayLike, dx: ArrayLike, dy: ArrayLike) -> PowerLaw:
    """The power law of one network's final distances; NaN below `FEWEST` trials or where a distance does not vary.

    Args:
        h: measured squared distances, shape (len(dx), len(dy), seeds).
        theory: predicted ones, same shape.
        good: whether a trial counts, same shape.
        dx: input distances.
        dy: target distances; cells with 0 are left out, their logarithm being none.
    """
    unequal = np.asarray(dy) > 0
    h, theory, good = (np.asarray(values)[:, unequal] for values in (h, theory, good))
    good = good.astype(bool)
    log_dx, log_dy = (
        np.broadcast_to(np.log(values)[shape], good.shape)[good]
        for values, shape in (
            (np.asarray(dx, float), np.s_[:, None, None]),
            (np.asarray(dy, float)[unequal], np.s_[None, :, None]),
        )
    )
    log_h, log_theory = np.log(h[good]), np.log(theory[good])
    design = np.stack([np.ones(log_h.size), log_dx, log_dy], axis=1)
    counts = log_h.size, good.size - log_h.size
    if log_h.size < FEWEST or np.linalg.matrix_rank(design) < 3:
        return PowerLaw(*counts, np.nan, np.nan, np.nan, *np.full((3, 2), np.nan))
    inverse = np.linalg.inv(design.T @ design)
    missed = inverse @ design.T @ (log_h - log_theory)
    variance = ((log_h - log_theory - design @ missed) ** 2).sum() / (log_h.size - 3)
    return PowerLaw(
        *counts,
        float(np.corrcoef(log_h, log_theory)[0, 1]),
        float(np.corrcoef(log_h, log_dy)[0, 1]),
        float(np.exp(np.mean(log_h - log_theory))),
        (inverse @ design.T @ log_h)[1:],
        missed[1:],
        np.sqrt(variance * np.diag(inverse)[1:]),
    )
