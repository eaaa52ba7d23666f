r"""Similarity of two representations of the same points: CKA, Procrustes and angular shape distance.

X and Y have one row per point and any number of units; their means over points are taken out first.

- Linear CKA (Kornblith, Norouzi, Lee and Hinton 2019): |X^T Y|_F^2 / (|X^T X|_F |Y^T Y|_F), from 0 to 1. With few
  points beside the units it is near 1 for unrelated networks.
- Debiased CKA: the same with the unbiased estimate of HSIC (Song, Smola, Gretton, Bedo and Borgwardt 2012), about 0 for
  unrelated networks, of either sign; needs four points or more.
- Procrustes distance: min over rotations Q of |X / |X| - Y Q / |Y||_F = sqrt(2 - 2 |X^T Y|_* / (|X| |Y|)), from 0 to
  sqrt 2.
- Angular shape distance (Williams, Kunz, Kornblith and Linderman 2021): arccos(|X^T Y|_* / (|X| |Y|)), radians.

All four are left as they are by rotations and by a common factor of one representation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array
from repdyn.diagnostics.theory.spectra import spectrum


class Shape(NamedTuple):
    """A representation prepared for comparisons.

    Attributes:
        F: centered points over their Frobenius norm, in at most as many coordinates as points, shape (points, d).
        squared: |F_i|^2, shape (points,).
        own: |F^T F|_F^2.
    """

    F: Array
    squared: Array
    own: float


def shape_of(A: ArrayLike) -> Shape:
    """Centers a representation, shape (points, units), and scales it to Frobenius norm one.

    Ours: the step that all measures of this module begin with.

    Raises:
        ValueError: all points are the same, so that there is no shape.
    """
    A = np.asarray(A)
    A = A if A.dtype.kind == "f" else A.astype(np.float64)
    seen = spectrum(A)
    F = seen.F - seen.F.mean(axis=0)
    size = np.linalg.norm(F)
    if not size > len(A) * np.finfo(float).eps * seen.s[0]:
        raise ValueError("all points are the same in this layer, which has no shape to compare")
    F = F / size
    C = F.T @ F
    return Shape(F, np.einsum("ij,ij->i", F, F), float(np.sum(C**2)))


def similarities(first: Shape, second: Shape) -> dict[str, float]:
    """CKA, debiased CKA, Procrustes and angular shape distance of two representations of the same points.

    Raises:
        ValueError: different numbers of points.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(20, 3))
        >>> Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
        >>> found = similarities(shape_of(X), shape_of(2 * X @ Q))
        >>> round(found["cka"], 9), round(found["cka_debiased"], 9), found["procrustes"] < 1e-6
        (1.0, 1.0, True)
    """
    if len(first.F) != len(second.F):
        raise ValueError(f"representations of {len(first.F)} and {len(second.F)} points; give the same points to both")
    cross = first.F.T @ second.F
    product = float(np.sum(cross**2))
    nuclear = min(1.0, float(np.linalg.svd(cross, compute_uv=False).sum()))
    return {
        "cka": cka(product, first.own, second.own),
        "cka_debiased": debiased_cka(first.squared, second.squared, product, first.own, second.own),
        **shape_distances(nuclear),
    }


def cka(product: float, own: float, other: float) -> float:
    """Linear CKA from |X^T Y|_F^2, |X^T X|_F^2 and |Y^T Y|_F^2 of centered points.

    Ours: the quotient of this module's first measure.
    """
    return float(product / np.sqrt(own * other))


def shape_distances(nuclear: float) -> dict[str, float]:
    """Procrustes and angular distance.

    Ours: the last two measures of this module.

    Args:
        nuclear: |X^T Y|_* of centered points of Frobenius norm one, at most 1.
    """
    return {"procrustes": float(np.sqrt(2 - 2 * nuclear)), "angular": float(np.arccos(nuclear))}


def unbiased_hsic(K: Array, L: Array, product: float) -> float:
    r"""Unbiased estimate of HSIC, times n (n - 3), from coordinates rather than Gram matrices (Song et al., eq. (5)).

    tr(K L) + 1^T K 1 1^T L 1 / ((n - 1) (n - 2)) - 2 1^T K L 1 / (n - 2) with zero diagonals of K = F F^T and L.

    Args:
        K: squared lengths of the centered points F, the diagonal of F F^T, shape (n,).
        L: those of the other ones, G.
        product: |F^T G|_F^2 of both.
    """
    n = len(K)  # rows of F F^T sum to zero, so rows without their diagonal sum to -K
    return product - float(K @ L) + float(K.sum() * L.sum()) / ((n - 1) * (n - 2)) - 2 * float(K @ L) / (n - 2)


def debiased_cka(K: Array, L: Array, product: float, own: float, other: float) -> float:
    """CKA with unbiased HSIC (Song et al., eq. (5)), NaN for fewer than four points.

    Args:
        K: squared lengths of the centered points F, shape (n,).
        L: those of the other ones, G.
        product: |F^T G|_F^2.
        own: |F^T F|_F^2.
        other: |G^T G|_F^2.
    """
    if len(K) < 4:
        return float("nan")
    size = unbiased_hsic(K, K, own) * unbiased_hsic(L, L, other)
    return unbiased_hsic(K, L, product) / float(np.sqrt(size)) if size > 0 else float("nan")
