"""Validation of the study's own arguments: covariances, particles, points of Omega, data; see also `base.arguments`.

Each function returns its argument as a float64 array or raises a ValueError that says what was got, what was
expected and what to do. Loops call them once, before they start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

ON_OMEGA = 1e-8  # rounding of a normalization is 1e-16; a trajectory integrated to 1e-10 must still pass
CENTERED = 1e-10  # in units of the standard deviation: a subtracted sample mean leaves about 1e-16


def covariance(cov: Float[ArrayLike, "d d"]) -> Float[Array, "d d"]:
    """A symmetric positive definite matrix (Assumption 1).

    Ours: validation of arguments.
    """
    sigma = finite(cov, "cov")
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or sigma.size == 0:
        raise ValueError(f"cov has shape {sigma.shape}; expected a square matrix (d, d)")
    if not np.allclose(sigma, sigma.T, rtol=1e-12, atol=1e-12 * np.abs(sigma).max()):
        gap = np.abs(sigma - sigma.T).max()
        raise ValueError(f"cov is not symmetric (largest difference {gap:.3g}); pass (cov + cov.T) / 2")
    eigenvalues = np.linalg.eigvalsh(sigma)
    if eigenvalues[0] <= np.finfo(float).eps * sigma.shape[0] * eigenvalues[-1]:
        raise ValueError(
            f"cov is not positive definite (smallest eigenvalue {eigenvalues[0]:.3g}); Assumption 1 needs a "
            "full-rank covariance: drop constant or dependent features, or add a ridge"
        )
    return sigma


def vectors(b: Float[ArrayLike, "*batch m d"], dimension: int, name: str = "b") -> Float[Array, "*batch m d"]:
    """Nonzero vectors, shape (..., m, d) with m >= 1.

    Ours: validation of arguments.
    """
    array = finite(b, name)
    if array.ndim < 2 or array.shape[-1] != dimension:
        raise ValueError(
            f"{name} has shape {array.shape}; expected (..., m, {dimension}) to match cov {(dimension, dimension)}"
        )
    if array.shape[-2] == 0:
        raise ValueError(f"{name} has no rows (m = 0); at least one particle is needed")
    if (np.abs(array).max(axis=-1) == 0).any():
        raise ValueError(f"{name} has a zero row; its direction is undefined: remove it or start it off zero")
    return array


def particles(
    a: Float[ArrayLike, "*batch m"], b: Float[ArrayLike, "*batch m d"], dimension: int
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"]]:
    """Output weights (..., m) and inner weights (..., m, d) of equal m.

    Ours: validation of arguments.
    """
    outer, inner = finite(a, "a"), vectors(b, dimension)
    if outer.shape != inner.shape[:-1]:
        raise ValueError(f"a has shape {outer.shape} but b has {inner.shape}; expected (..., m) and (..., m, d)")
    return outer, inner


def on_omega(b: Float[ArrayLike, "*batch m d"], cov: Float[Array, "d d"]) -> Float[Array, "*batch m d"]:
    """Points of Omega = {b : b^T Sigma b = 1}.

    Ours: validation of arguments.
    """
    array = vectors(b, cov.shape[0])
    off = np.abs(np.sqrt(np.einsum("...i,ij,...j->...", array, cov, array)) - 1.0).max()
    if off > ON_OMEGA:
        raise ValueError(f"||b||_Sigma differs from 1 by up to {off:.3g}; pass normalize(b, cov)")
    return array


def data(
    x: Float[ArrayLike, "N d"], y: Float[ArrayLike, "N"], *, centered: bool
) -> tuple[Float[Array, "N d"], Float[Array, "N"]]:
    """Inputs (N, d) and targets (N,), N >= 2; with `centered` the inputs' mean must vanish (Assumption 1).

    Ours: validation of arguments.
    """
    inputs, targets = finite(x, "x"), finite(y, "y")
    if inputs.ndim != 2 or targets.shape != inputs.shape[:1] or len(inputs) < 2:
        raise ValueError(f"x has shape {inputs.shape}, y {targets.shape}; expected (N, d) and (N,) with N >= 2")
    scale = np.sqrt(np.mean(inputs**2))
    if centered and np.abs(inputs.mean(axis=0)).max() > CENTERED * scale:
        raise ValueError(
            f"x has mean {inputs.mean(axis=0)}; Assumption 1 needs E x = 0: pass x - x.mean(axis=0) "
            "(batch normalization subtracts it anyway)"
        )
    return inputs, targets
