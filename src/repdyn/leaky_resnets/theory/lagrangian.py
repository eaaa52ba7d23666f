"""Lagrangian of representation paths: least weights, its three terms, and the split of the Hamiltonian.

A, dA of shape (w, N), dA the derivative by p; S = [relu(A); 1] with `bias`, else relu(A); |M|_K = |M S^+|_F; Lt > 0 the
effective depth. All of it needs paths that some weights make.
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.3 and 2.1, footnote 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import as_matrix, effective_depth_of, representation_pair
from repdyn.leaky_resnets.theory.identity_cost import activation, row_space

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

RTOL = 1e-10  # singular values below RTOL times the largest count as 0


def least_norm_weights(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool
) -> Float[Array, "w s"]:
    r"""W = (Lt A + dA) S^+, the least-norm weights with W S = Lt A + dA; shape (w, w + 1) or (w, w) (Section 1.3).

    Args:
        A: representation.
        dA: its derivative by p.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
    """
    A, dA = representation_pair(A, dA, ("A", "dA"))
    wanted = effective_depth_of(effective_depth) * A + dA
    return wanted @ np.linalg.pinv(activation(A, bias), rcond=RTOL)


class LagrangianTerms(NamedTuple):
    """Terms of |Lt A + dA|^2_K / (2 Lt).

    Attributes:
        identity: (Lt / 2) |A|^2_K, minus the potential energy.
        cross: <dA, A>_K; Section 1.3 prints Lt <dA, A>_K.
        kinetic: |dA|^2_K / (2 Lt).
    """

    identity: float
    cross: float
    kinetic: float


def lagrangian_terms(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool
) -> LagrangianTerms:
    r"""|Lt A + dA|^2_K / (2 Lt) = (Lt / 2) |A|^2_K + <dA, A>_K + |dA|^2_K / (2 Lt) (Section 1.3, corrected).

    Arguments as in `least_norm_weights`.
    """
    A, dA = representation_pair(A, dA, ("A", "dA"))
    Lt = effective_depth_of(effective_depth)
    s, Vt = row_space(activation(A, bias), RTOL)
    rest, moved = A @ Vt.T / s, dA @ Vt.T / s
    return LagrangianTerms(
        Lt / 2 * float(np.sum(rest**2)), float(np.sum(rest * moved)), float(np.sum(moved**2)) / (2 * Lt)
    )


def lagrangian_terms_as_printed(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool
) -> LagrangianTerms:
    """The same with the cross term Lt <dA, A>_K of Section 1.3.

    Arguments as in `least_norm_weights`.
    """
    terms = lagrangian_terms(A, dA, effective_depth, bias)
    return terms._replace(cross=effective_depth * terms.cross)


def hamiltonian_from_energies(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool
) -> float:
    r"""H = |dA|^2_K / (2 Lt) - (Lt / 2) |A|^2_K, where Im A^T lies in Im S^T (Section 2.1).

    Arguments as in `least_norm_weights`.
    """
    terms = lagrangian_terms(A, dA, effective_depth, bias)
    return terms.kinetic - terms.identity


def linear_cross_term(A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], rtol: float = RTOL) -> float:
    r"""Tr[dA A^+ A^{+T} A^T], the cross term of a linear network (footnote 1).

    Footnote 1 belongs to Section 1.3.
    """
    A, dA = representation_pair(A, dA, ("A", "dA"))
    inverse = np.linalg.pinv(A, rcond=rtol)
    return float(np.sum((dA @ inverse) * (A @ inverse)))


def log_pseudo_determinant(A: Float[ArrayLike, "w N"], rtol: float = RTOL) -> float:
    """Logarithm of the pseudo-determinant |A|_+, the product of the nonzero singular values (footnote 1).

    Footnote 1 belongs to Section 1.3.
    """
    s = np.linalg.svd(as_matrix(A, "A"), compute_uv=False)
    return float(np.sum(np.log(s[s > rtol * s[0]])))
