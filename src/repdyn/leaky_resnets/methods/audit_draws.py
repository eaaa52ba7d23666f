"""Random representations that audits of formulas are tried on."""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory import minima

Generator = np.random.Generator
WIDE, TALL = (9, 4), (4, 9)  # (w, N)
WELL_CONDITIONED = 10.0
DEPTH = 2.3  # Lt where a formula holds for any; not 1, so that a lost factor shows


def wide(rng: Generator, shape: tuple[int, int] = WIDE) -> Array:
    """A random representation whose activations are far from rank-deficient, so that 1e-10 can be asked of solves."""
    while True:
        A = rng.standard_normal(shape)
        if np.linalg.cond(np.maximum(A, 0)) < WELL_CONDITIONED:
            return A


def kept_without_bias(rng: Generator, shape: tuple[int, int] = WIDE) -> Array:
    """A random representation of finite cost with negative entries whose least weights have no bias, of size 1."""
    while True:
        A = minima.without_bias(np.maximum(wide(rng, shape), 0))
        if A is not None and np.abs(A).max() < WELL_CONDITIONED:
            return A
