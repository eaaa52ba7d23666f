r"""Similarity of two representations of the same points: CKA, Procrustes and angular shape distance.

X and Y have one row per point and any number of units; their means over points are taken out first.

- Linear CKA (Kornblith, Norouzi, Lee and Hinton 2019): |X^T Y|_F^2 / (|X^T X|_F |Y^T Y|_F), from 0 to 1. With few
  points beside the units it is near 1 for unrelated networks.
- Debiased CKA: the same with the unbiased estimate of HSIC (Song, Smola, Gretton, Bedo and Borgwardt 2012), about 0 for
  unrelated networks, of either sign; needs four points or more.
- Procrustes distance: min over rotations Q of |X / |X| - Y Q / |Y||_F = sqrt(2 - 2 |X^T Y|_* / (|X| |Y|)), from 0 to
  sqrt 2.
- Angular shape distance (Williams, Kunz, Kornblith and Linderman 2021): arccos(|X^T Y|_* / (|X| |Y|)), radians.

- RBF CKA (Kornblith et al. 2019): CKA of Gaussian kernels of the distances, as wide as the median distance.
- RSA (Kriegeskorte, Mur and Bandettini 2008): Spearman correlation of the distances between all points.

All are left as they are by rotations and by a common factor of one representation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from repdyn.base.arrays import Array
from repdyn.diagnostics.theory.spectra import WIDTH, is_small, spectrum, square

DISTANCES = ("procrustes", "angular")
MEASURES = ("cka", "cka_debiased", *DISTANCES)
OF_ALL_PAIRS = ("cka_rbf", "rsa")  # want the distances of all pairs of points, on request


class Shape(NamedTuple):
    """A representation prepared for comparisons: centered points over their Frobenius norm.

    Attributes:
        F: the points in at most as many coordinates as there are points, shape (points, d); where CKA alone is wanted
            of more units than points, their Gram matrix K in place of coordinates, shape (points, points).
        is_gram: whether it is the Gram matrix.
        squared: their squared lengths, shape (points,).
        own: |F^T F|_F^2 = |K|_F^2.
        of_pairs: for each of `OF_ALL_PAIRS` that is wanted numbers of length one, whose product with those of another
            representation is the measure; NaN where all distances are the same.
    """

    F: Array
    is_gram: bool
    squared: Array
    own: float
    of_pairs: Mapping[str, Array]


def shape_of(A: ArrayLike, measures: Collection[str] = MEASURES) -> Shape:
    """Centers a representation, shape (points, units), and scales it to Frobenius norm one.

    Ours: the step that all measures of this module begin with.

    Args:
        A: the representation.
        measures: what is to be computed of it; without distances a wide layer needs no coordinates, which take longer.

    Raises:
        ValueError: all points are the same, so that there is no shape.
    """
    A = np.asarray(A)
    A = A if A.dtype.kind == "f" else A.astype(np.float64)
    mean = A.mean(axis=0, dtype=np.float64)
    is_gram = A.shape[1] > len(A) and not set(DISTANCES) & set(measures)
    F = centered_gram(A, A, mean) if is_gram else _coordinates(A, mean)
    squared = F.diagonal() if is_gram else np.einsum("ij,ij->i", F, F)
    size = float(squared.sum())
    if not np.sqrt(size) > len(A) * np.finfo(float).eps * np.sqrt(size + len(A) * float(mean @ mean)):
        raise ValueError("all points are the same in this layer, which has no shape to compare")
    F = F / (size if is_gram else np.sqrt(size))
    inner = F if is_gram else F.T @ F
    squared = squared / size
    wanted = [name for name in OF_ALL_PAIRS if name in measures]
    of_pairs = _of_pairs(F if is_gram else F @ F.T, squared, wanted) if wanted else {}
    return Shape(F, is_gram, squared, float(np.vdot(inner, inner)), of_pairs)


def _of_pairs(K: Array, squared: Array, wanted: Collection[str]) -> dict[str, Array]:
    """Ranks of distances, centered, and centered Gaussian kernels, each of length one."""
    distances = np.maximum(squared[:, None] + squared - 2 * K, 0)  # squared
    pairs = distances[np.triu_indices(len(K), 1)]
    found = {}
    if "rsa" in wanted:
        ranks = rankdata(np.round(pairs * (2.0**40 / float(pairs.max()))))  # else rounding orders equal distances
        found["rsa"] = ranks - ranks.mean()
    if "cka_rbf" in wanted:
        kernel = np.exp(-distances / (2 * np.median(pairs)))
        kernel -= kernel.mean(axis=0)
        found["cka_rbf"] = kernel - kernel.mean(axis=1, keepdims=True)
    return {name: part / size if (size := np.linalg.norm(part)) else part * np.nan for name, part in found.items()}


def _coordinates(A: NDArray[np.floating], mean: Array) -> Array:
    """The centered points in at most as many coordinates as there are points."""
    if len(A) < A.shape[1] and not is_small(A):
        F = spectrum(A).F
        return F - F.mean(axis=0)
    return square(A - mean).T


def centered_gram(A: NDArray[np.floating], B: NDArray[np.floating], mean: Array) -> Array:
    """(A - mean) (B - mean)^T in double precision, shape (n, m), over blocks of units.

    Ours: sums in blocks.

    Args:
        A: points, shape (n, units).
        B: points of the same layer, shape (m, units).
        mean: what is taken from each point, shape (units,).
    """
    G = np.zeros((len(A), len(B)))
    for first in range(0, len(mean), WIDTH):
        part = slice(first, first + WIDTH)
        left = A[:, part] - mean[part]
        G += left @ (left if A is B else B[:, part] - mean[part]).T
    return G


def similarities(first: Shape, second: Shape, measures: Collection[str] = MEASURES) -> dict[str, float]:
    """The measures of two representations of the same points.

    Args:
        first: a representation.
        second: another one, prepared for the same measures.
        measures: those that are wanted.

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
    if len(first.squared) != len(second.squared):
        points = f"{len(first.squared)} and {len(second.squared)}"
        raise ValueError(f"representations of {points} points; give the same points to both")
    product, cross = _product(first, second)
    found = {
        "cka": cka(product, first.own, second.own),
        "cka_debiased": debiased_cka(first.squared, second.squared, product, first.own, second.own),
    }
    if set(DISTANCES) & set(measures):
        found |= shape_distances(min(1.0, float(np.linalg.svd(cross, compute_uv=False).sum())))
    found |= {name: float(np.vdot(part, second.of_pairs[name])) for name, part in first.of_pairs.items()}
    return {name: found[name] for name in measures}


def _product(first: Shape, second: Shape) -> tuple[float, Array]:
    """|F^T G|_F^2, and F^T G itself where both have coordinates (else the factor that it is the product with)."""
    if first.is_gram and second.is_gram:
        return float(np.vdot(first.F, second.F)), first.F
    if first.is_gram or second.is_gram:
        (K, G) = (first.F, second.F) if first.is_gram else (second.F, first.F)
        return float(np.vdot(K @ G, G)), G
    cross = first.F.T @ second.F
    return float(np.vdot(cross, cross)), cross


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
