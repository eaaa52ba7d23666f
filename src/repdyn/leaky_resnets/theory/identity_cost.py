"""Cost of identity (COI): what it costs a layer to keep a representation, plain and stable.

A, shape (w, N), one column per point; S = sigma(A) = [relu(A); 1], without the row of ones where there is no bias;
K = S^T S. Everything in float64: the plain cost divides by singular values, the stable one by gamma.
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.3, 1.4, 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base import ranks
from repdyn.base.arguments import positive
from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import as_matrix

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

WOODBURY_FROM = 1e-5  # gamma / |S|_F^2 from which Woodbury's cancellation costs at most eps / 1e-5 of the value
Method = Literal["woodbury", "svd"]


class IdentityCost(NamedTuple):
    """Cost of identity of a representation.

    Attributes:
        value: |A S^+|_F^2, infinite where no weight keeps A (the paper's convention); |A|^2_{K + gamma I} if stable.
        feasible: whether Im A^T lies in Im S^T, so that some W has W S = A.
        gap: |A - A S^+ S| / |A|, the part of A that no weight reaches.
    """

    value: float
    feasible: bool
    gap: float


def activation(A: Float[np.ndarray, "*batch w N"], bias: bool) -> Float[np.ndarray, "*batch s N"]:
    """S = [relu(A); 1], shape (..., w + 1, N), or relu(A) without bias; of any floating type.

    The activation of Section 1.1.
    """
    active = np.maximum(A, 0)
    return np.concatenate([active, np.ones((*A.shape[:-2], 1, A.shape[-1]))], axis=-2) if bias else active


def row_space(S: Float[Array, "s N"], rtol: float) -> tuple[Float[Array, "r"], Float[Array, "r N"]]:
    """Singular values above rtol times the largest, and their right vectors.

    Ours: what the plain cost of Section 1.3 needs.
    """
    _, s, Vt = np.linalg.svd(S, full_matrices=False)
    kept = s > rtol * max(s[0], np.finfo(float).tiny)
    return s[kept], Vt[kept]


def pseudo_inverse_norm_sq(M: Float[Array, "_ N"], S: Float[Array, "s N"], rtol: float = 1e-10) -> float:
    """|M S^+|_F^2 with the plain pseudo-inverse, whatever part of M lies outside the row space of S.

    Ours: the norm |M|_K of Section 1.3 without its condition.
    """
    s, Vt = row_space(S, rtol)
    return float(np.sum((M @ Vt.T / s) ** 2))


def cost_of_identity(
    A: Float[ArrayLike, "w N"], bias: bool, gamma: float | None = None, rtol: float = 1e-10
) -> IdentityCost:
    r"""Cost of identity of a representation.

    |A|^2_K = |A S^+|_F^2, the squared norm of the least W with W S = A, infinite if there is none (Section 1.3);
    with gamma the stable |A|^2_{K + gamma I} = Tr[A (K + gamma I)^{-1} A^T] (Theorem 4).

    Args:
        A: representation.
        bias: whether S carries a row of ones.
        gamma: regularizer of the stable cost, units of A squared; None for the plain cost.
        rtol: singular values of S below rtol times the largest count as 0, and a gap above sqrt(rtol) as infeasible.

    Returns:
        Value, feasibility and gap. A = 0 costs nothing and is feasible.

    Raises:
        ValueError: A is not a finite matrix, or gamma is not above 0.

    Example:
        >>> A = [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]  # not negative: the cost is the rank
        >>> round(cost_of_identity(A, bias=False).value, 6)
        2.0
        >>> cost_of_identity([[1.0, -1.0]], bias=False).feasible  # a ReLU layer cannot keep both signs
        False
    """
    A = as_matrix(A, "A")
    S, size = activation(A, bias), float(np.linalg.norm(A))
    s, Vt = row_space(S, rtol)
    within = A @ Vt.T
    gap = float(np.linalg.norm(A - within @ Vt)) / size if size else 0.0
    feasible = bool(gap <= np.sqrt(rtol))
    if gamma is not None:
        return IdentityCost(stable_norm_sq(A, S, gamma), feasible, gap)
    return IdentityCost(float(np.sum((within / s) ** 2)) if feasible else np.inf, feasible, gap)


def stable_norm_sq(
    M: Float[ArrayLike, "_ N"], S: Float[ArrayLike, "s N"], gamma: float, method: Method | None = None
) -> float:
    r"""Stable norm |M|^2_{K + gamma I} = Tr[M (K + gamma I)^{-1} M^T], K = S^T S (Theorem 4).

    Woodbury: (|M|_F^2 - |C^{-1/2} S M^T|_F^2) / gamma with C = S S^T + gamma I, which never forms K and loses
    eps |S|^2 / gamma of the value; SVD: sum_j |M v_j|^2 / (s_j^2 + gamma) + |M - M V V^T|_F^2 / gamma, which
    does not cancel.

    Args:
        M: matrix of one column per point.
        S: activations, one column per point.
        gamma: regularizer, units of S squared.
        method: "woodbury" or "svd"; None takes Woodbury where gamma >= 1e-5 |S|_F^2.

    Raises:
        ValueError: shapes do not fit, a value is not finite, gamma is not above 0.
    """
    M = as_matrix(M, "M")
    S = as_matrix(S, "S", (None, M.shape[1]))
    gamma = float(positive(gamma, "gamma"))
    if method is None:
        method = "woodbury" if gamma >= WOODBURY_FROM * np.sum(S**2) else "svd"
    return stable_norm_sq_woodbury(M, S, gamma) if method == "woodbury" else float(stable_norm_sq_svd(M, S, gamma))


def stable_norm_sq_woodbury(M: Float[Array, "_ N"], S: Float[Array, "s N"], gamma: float) -> float:
    """`stable_norm_sq` by Woodbury's identity in the dimension of S; unchecked.

    Ours: a way to the stable norm of Section 2.1.
    """
    factor, _ = scipy.linalg.cho_factor(S @ S.T + gamma * np.eye(len(S)), lower=True)
    half = scipy.linalg.solve_triangular(factor, S @ M.T, lower=True)
    return float(np.sum(M**2) - np.sum(half**2)) / gamma


def stable_norm_sq_svd(
    M: Float[Array, "*batch _ N"], S: Float[Array, "*batch s N"], gamma: Float[ArrayLike, "*batch"]
) -> Float[Array, "*batch"]:
    """`stable_norm_sq` by the singular values of S; unchecked, also for stacks of M, S and gamma.

    Ours: a way to the stable norm of Section 2.1.
    """
    _, s, Vt = np.linalg.svd(S, full_matrices=False)
    along, gamma = M @ np.swapaxes(Vt, -1, -2), np.asarray(gamma, float)
    outside = np.sum((M - along @ Vt) ** 2, axis=(-1, -2))
    weighed = along**2 / (s**2 + gamma[..., None])[..., None, :]
    return np.sum(weighed, axis=(-1, -2)) + outside / gamma


def operator_norm_sq(S: Float[Array, "s N"]) -> float:
    """|S|_op^2 = |K|_op, by the smaller Gram matrix.

    The scale of gamma in Section 2.1.
    """
    gram = S @ S.T if S.shape[0] <= S.shape[1] else S.T @ S
    return float(np.linalg.eigvalsh(gram)[-1])


def layer_gamma(A: Float[ArrayLike, "w N"], bias: bool, gamma_0: float) -> float:
    """gamma_p = gamma_0 |K_p|_op = gamma_0 |S|_op^2 (Section 2.1, where |S|_op^2 = |K|_op^2 is a slip)."""
    return float(positive(gamma_0, "gamma_0")) * operator_norm_sq(activation(as_matrix(A, "A"), bias))


class StableRanks(NamedTuple):
    """Ranks that do not jump with small singular values; spectral <= nuclear <= rank.

    Attributes:
        nuclear: |A|_*^2 / |A|_F^2.
        spectral: |A|_F^2 / |A|_op^2.
        rank: number of singular values above rtol times the largest.
    """

    nuclear: float
    spectral: float
    rank: int


def stable_ranks(A: Float[ArrayLike, "w N"], rtol: float = 1e-10) -> StableRanks:
    """Stable ranks of a representation (Proposition 1 and after).

    Args:
        A: matrix, not 0.
        rtol: singular values below rtol times the largest do not count to the rank.

    Raises:
        ValueError: A is 0, where they are not defined, or not a finite matrix.

    Example:
        >>> found = stable_ranks([[2.0, 0.0], [0.0, 1.0]])
        >>> round(float(found.nuclear), 3), round(float(found.spectral), 3), found.rank
        (1.8, 1.25, 2)
    """
    s = cast("Array", np.linalg.svd(as_matrix(A, "A"), compute_uv=False))
    if s[0] == 0:
        raise ValueError("A is 0, where stable ranks are not defined; give a representation with a nonzero entry")
    return StableRanks(ranks.nuclear_rank(s), ranks.stable_rank(s), ranks.numerical_rank(s, rtol))


def nuclear_bound_as_printed(A: Float[ArrayLike, "w N"]) -> float:
    """Proposition 1 as printed: |A|_*^2 / |A|_F^2; holds without bias and with the infinite-cost convention."""
    return stable_ranks(A).nuclear


def nuclear_bound(A: Float[ArrayLike, "w N"], bias: bool) -> float:
    r"""Proposition 1 corrected: COI >= |A|_*^2 / (|A|_F^2 + N) with bias, since |S|_F^2 <= |A|_F^2 + N."""
    A = as_matrix(A, "A")
    return stable_ranks(A).nuclear / (1 + bias * A.shape[1] / float(np.sum(A**2)))


def nonnegative_cost(A: Float[ArrayLike, "w N"], bias: bool) -> float:
    r"""COI of a non-negative representation: Rank A; with bias Rank A - x / (1 + x), x = 1^T (A^T A)^+ 1.

    The second form needs 1 in the row space of A; where it is not, the cost is Rank A (Section 1.4, corrected).

    Raises:
        ValueError: A has a negative entry.
    """
    A = as_matrix(A, "A")
    if A.min() < 0:
        raise ValueError(f"A has the negative entry {A.min():g}; this form holds for non-negative A only")
    s, Vt = row_space(A, 1e-10)
    ones = Vt.sum(axis=1)
    if not bias or A.shape[1] - np.sum(ones**2) > 1e-8 * A.shape[1]:
        return float(len(s))
    x = float(np.sum((ones / s) ** 2))
    return len(s) - x / (1 + x)
