r"""Cost of identity and energies of a layer from Gram matrices (Hamiltonian Mechanics of Feature Learning).

S = relu(A), with a column of ones if there is a bias; K = S S^T, both with one row per point. The plain cost is
|S^+ A|^2, infinite where no weights give A back from S, the stable one tr A^T (K + gamma I)^{-1} A. Small layers go
through orthogonal decompositions, as in `leaky_resnets.theory.identity_cost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from repdyn.base.arrays import Array
from repdyn.base.ranks import RANK_TOLERANCE
from repdyn.diagnostics.theory.spectra import Spectrum, covariance, gram, is_small, square, without_rounding
from repdyn.leaky_resnets.theory.identity_cost import (
    IdentityCost,
    activation,
    operator_norm_sq,
    row_space,
    stable_norm_sq,
)

FULL_RANK = 10 * RANK_TOLERANCE**2  # estimated reciprocal condition number from which every singular value of S counts
FEASIBLE = np.sqrt(RANK_TOLERANCE)  # gap up to which weights give the layer back


@dataclass(frozen=True)
class Residual:
    """The residual stream of a network, A_l = (1 - rho_l Lt) A_{l-1} + rho_l W_l relu(A_{l-1}) or anything like it.

    Attributes:
        layers: names of the layers that carry A_0, A_1, ..., all of one size; "input" may be the first.
        effective_depth: the leak Lt; 0 for a plain residual network, which has kinetic energy |dA|^2 / 2 and no
            potential.
        steps: rho_l, of sum 1; None for equal steps.
    """

    layers: Sequence[str]
    effective_depth: float = 0.0
    steps: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Refuses a stream that is none."""
        if len(self.layers) < 2 or isinstance(self.layers, str):
            raise ValueError(f"residual names the layers {self.layers!r}; give two or more in the order of the stream")
        if not isinstance(self.effective_depth, Real) or not 0 <= self.effective_depth < np.inf:
            raise ValueError(f"effective_depth is {self.effective_depth}; give 0 for a plain residual network, or more")
        if self.steps is not None and (
            len(self.steps) != len(self.layers) - 1 or min(self.steps) <= 0 or abs(sum(self.steps) - 1) > 1e-9
        ):
            raise ValueError(f"steps are {self.steps}; give {len(self.layers) - 1} positive numbers of sum 1")

    @property
    def step_sizes(self) -> list[float]:
        """rho_l of each step."""
        steps = len(self.layers) - 1
        return [1 / steps] * steps if self.steps is None else list(self.steps)


def costs(A: NDArray[np.floating], seen: Spectrum, gamma: float, bias: bool) -> tuple[IdentityCost, float]:
    """Plain and stable cost of identity of a layer.

    Sections 1.3 and 2.1 of leaky_resnets.

    Args:
        A: activations, shape (points, units), not all zero.
        seen: their spectrum.
        gamma: regularizer of the stable cost, relative to |K|_op.
        bias: whether S has a column of ones.

    Returns:
        The plain cost with its gap, and the stable cost, NaN where the layer is nowhere positive and K is 0.

    Example:
        >>> import numpy as np
        >>> from repdyn.diagnostics.theory.spectra import spectrum
        >>> A = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
        >>> plain, stable = costs(A, spectrum(A), gamma=1e-3, bias=False)
        >>> round(plain.value, 6), round(float(stable), 3)
        (2.0, 1.997)
    """
    if is_small(A):
        return _from_columns(seen.F.T, square(activation(A.T.astype(np.float64), bias).T), gamma)
    if not bias and seen.s[0] > 0 and A.min() >= 0:  # S is the layer itself
        return _weighed(seen.s**2, seen.s**2, float(np.sum(seen.s**2)), gamma)
    if A.shape[1] < A.shape[0]:
        return _from_units(A, float(np.sum(seen.s**2)), gamma, bias)
    values, vectors = np.linalg.eigh(gram(A, positive_part=True) + float(bias))
    along = np.sum((vectors.T @ seen.F) ** 2, axis=1)
    return _weighed(values, along, float(np.sum(seen.s**2)), gamma)


def _from_columns(M: Array, S: Array, gamma: float) -> tuple[IdentityCost, float]:
    """Both costs from square matrices with M^T M = A A^T and S^T S = K: one column per point, no digits lost."""
    if not (size := operator_norm_sq(S)):
        return IdentityCost(np.inf, False, 1.0), float("nan")
    s, Vt = row_space(S, RANK_TOLERANCE)
    along = M @ Vt.T
    gap = float(np.linalg.norm(M - along @ Vt) / np.linalg.norm(M))
    plain = float(np.sum((along / s) ** 2)) if gap <= FEASIBLE else np.inf
    return IdentityCost(plain, gap <= FEASIBLE, gap), stable_norm_sq(M, S, gamma * size)


def _weighed(values: Array, along: Array, size: float, gamma: float) -> tuple[IdentityCost, float]:
    """Both costs from eigenvalues of K, |A^T v_j|^2 along its eigenvectors, and |A|^2."""
    largest = float(values.max())
    if largest <= 0:
        return IdentityCost(np.inf, False, 1.0), float("nan")
    nonzero = values > RANK_TOLERANCE**2 * largest
    gap = _gap(size, np.sum(along[nonzero]), len(values))
    stable = np.sum(along / (without_rounding(values, largest) + gamma * largest))
    stable += max(0.0, size - np.sum(along)) / (gamma * largest)
    plain = float(np.sum(along[nonzero] / values[nonzero])) if gap <= FEASIBLE else np.inf
    return IdentityCost(plain, gap <= FEASIBLE, gap), float(stable)


def _gap(size: float, reached: float, terms: int) -> float:
    """Share of a layer's length that no weights give back; what rounding of so many terms leaves counts as none."""
    gap = float(np.sqrt(max(0.0, size - reached) / size))
    return 0.0 if gap**2 < terms * np.finfo(float).eps else gap


def _from_units(A: NDArray[np.floating], size: float, gamma: float, bias: bool) -> tuple[IdentityCost, float]:
    """Both costs where units are fewer than points: S^T S and S^T A instead of K."""
    S = activation(A.T, bias).T
    S = S[:, S.any(axis=0)]
    if not S.size:
        return IdentityCost(np.inf, False, 1.0), float("nan")
    C, X = covariance(S), covariance(S, A)
    del S
    factor, failed = scipy.linalg.lapack.dpotrf(C, lower=1)
    well = not failed and scipy.linalg.lapack.dpocon(factor, np.abs(C).sum(axis=0).max(), uplo="L")[0] > FULL_RANK
    if not well:
        values, vectors = np.linalg.eigh(C)
        values = without_rounding(values, values[-1])
        seen = values > 0
        along = np.sum((vectors[:, seen].T @ X) ** 2, axis=1) / values[seen]
        return _weighed(values[seen], along, size, gamma)
    half = scipy.linalg.solve_triangular(factor, X, lower=True)
    gap = _gap(size, np.sum(half**2), len(C))
    feasible = gap <= FEASIBLE
    plain = float(np.sum(scipy.linalg.solve_triangular(factor, half, lower=True, trans=1) ** 2)) if feasible else np.inf
    del half
    return IdentityCost(plain, feasible, gap), _woodbury(C, X, size, gamma * largest_eigenvalue(C))


def _woodbury(C: Array, X: Array, size: float, gamma: float) -> float:
    """Tr M^T (S S^T + gamma I)^{-1} M from C = S^T S, X = S^T M and |M|^2."""
    factor, _ = scipy.linalg.cho_factor(C + gamma * np.eye(len(C)), lower=True)
    return (size - float(np.sum(scipy.linalg.solve_triangular(factor, X, lower=True) ** 2))) / gamma


def largest_eigenvalue(C: Array) -> float:
    """Of a Gram matrix, by Lanczos from a fixed start.

    Ours: |K|_op, the scale of gamma in Section 2.1 of leaky_resnets.
    """
    if len(C) < 64:
        return float(np.linalg.eigvalsh(C)[-1])
    return float(eigsh(C, k=1, v0=np.ones(len(C)), return_eigenvectors=False)[0])


def stable_norm(M: NDArray[np.floating], A: NDArray[np.floating], gamma: float, bias: bool) -> float:
    """|M|^2_{K + gamma |K|_op I} with K of the positive part of A; NaN where A is nowhere positive and K is 0.

    Section 2.1 of leaky_resnets.

    Args:
        M: what is measured, shape (points, units).
        A: the layer it is measured in, shape (points, units).
        gamma: regularizer relative to |K|_op.
        bias: whether K has a bias.
    """
    if not bias and not (A > 0).any():
        return float("nan")
    if is_small(A):
        S = square(activation(A.T.astype(np.float64), bias).T)
        size = operator_norm_sq(S)
        return stable_norm_sq(square(M.astype(np.float64)), S, gamma * size) if size else float("nan")
    if A.shape[1] < A.shape[0]:
        S = activation(A.T, bias).T
        C = covariance(S)
        size = float(np.einsum("ij,ij->", M, M, dtype=np.float64))
        return _woodbury(C, covariance(S, M), size, gamma * largest_eigenvalue(C))
    K = gram(A, positive_part=True) + float(bias)
    regular = scipy.linalg.cho_factor(K + gamma * largest_eigenvalue(K) * np.eye(len(K)), lower=True)
    return float(np.trace(scipy.linalg.cho_solve(regular, gram(M))))


def energies(
    before: NDArray[np.floating], after: NDArray[np.floating], step: float, Lt: float, gamma: float, bias: bool
) -> tuple[float, float]:
    """Kinetic and potential energy of one step of the stream, at the layer it starts from.

    Kinetic |dA|^2 / (2 Lt), potential -(Lt / 2) |A|^2, both in the norm of K + gamma I, dA = (A_l - A_{l-1}) / rho_l;
    without a leak |dA|^2 / 2 and 0.

    Section 2.1 of leaky_resnets.

    Args:
        before: layer the step starts from, shape (points, units).
        after: layer it leads to, same shape.
        step: rho_l, its share of the depth.
        Lt: effective depth; 0 without a leak.
        gamma: regularizer relative to |K|_op.
        bias: whether K has a bias.

    Raises:
        ValueError: the two layers differ in size.
    """
    if before.shape != after.shape:
        raise ValueError(f"the stream has {before.shape[1]} units before the step and {after.shape[1]} after it")
    speed = stable_norm((after.astype(np.float64) - before) / step, before, gamma, bias)
    if not Lt:
        return speed / 2, 0.0
    return speed / (2 * Lt), -Lt / 2 * stable_norm(before, before, gamma, bias)
