r"""Similarity of two representations of the same points: CKA, shape distances, correlation of distances.

X and Y have one row per point and any number of units; their means over points are taken out first.

- Linear CKA (Kornblith, Norouzi, Lee and Hinton 2019): |X^T Y|_F^2 / (|X^T X|_F |Y^T Y|_F), from 0 to 1. With few
  points next to the units it is near 1 for unrelated networks.
- Debiased CKA: the same with the unbiased estimate of HSIC (Song, Smola, Gretton, Bedo and Borgwardt 2012), about 0 for
  unrelated networks, of either sign; needs four points or more.
- Procrustes distance: min over rotations Q of |X / |X| - Y Q / |Y||_F = sqrt(2 - 2 |X^T Y|_* / (|X| |Y|)), from 0 to
  sqrt 2.
- Angular shape distance (Williams, Kunz, Kornblith and Linderman 2021): arccos(|X^T Y|_* / (|X| |Y|)), radians.

On request:

- Minibatch CKA (Nguyen, Raghu and Kornblith 2021, eq. (2)): the mean over minibatches of unbiased HSIC of X and Y, over
  the root of the same means of X alone and of Y alone. Every minibatch counts once, those of fewer than four points not
  at all; a single one is debiased CKA. Over the ways to deal equal minibatches out, each mean averages to unbiased HSIC
  of all points, so that the ratio nears debiased CKA as minibatches grow or become many. Points in an order, as sorted
  by class, are not dealt out: what separates minibatches is lost.
- RBF CKA (Kornblith et al. 2019): CKA of Gaussian kernels of the distances, as wide as the median distance.
- RSA (Kriegeskorte, Mur and Bandettini 2008): Spearman correlation of the distances between all points.

All are left as they are by rotations and by a common factor of one representation.

Arrays are numpy's or torch tensors on any device that has double precision, on which all is then computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arrays import Array
from repdyn.diagnostics.theory.spectra import WIDTH, is_small

DISTANCES = ("procrustes", "angular")
MEASURES = ("cka", "cka_debiased", *DISTANCES)
MINIBATCH = "cka_minibatch"
OF_ALL_PAIRS = ("cka_rbf", "rsa")  # want the distances of all pairs of points
ON_REQUEST = (MINIBATCH, *OF_ALL_PAIRS)
FEWEST = 4  # points of unbiased HSIC, whose terms are of four different ones
EPS = float(np.finfo(np.float64).eps)


class Shape(NamedTuple):
    """A representation prepared for comparisons: centered points over their Frobenius norm.

    Attributes:
        F: the points in at most as many coordinates as there are points, shape (points, d); where CKA alone is wanted
            of more units than points, their Gram matrix K in place of coordinates, shape (points, points).
        is_gram: whether it is the Gram matrix.
        squared: their squared lengths, shape (points,).
        own: |F^T F|_F^2 = |K|_F^2.
        of_pairs: for each of `ON_REQUEST` that is wanted numbers of length one, whose product with those of another
            representation is the measure; NaN where all distances, or those inside of minibatches, are the same, or no
            minibatch has four points.
    """

    F: Array
    is_gram: bool
    squared: Array
    own: float
    of_pairs: Mapping[str, Array]


def namespace(A: object) -> Any:
    """The functions that an array is computed with: numpy's, or torch's of a tensor.

    Ours: what both libraries name alike.
    """
    if not hasattr(A, "requires_grad"):
        return np
    import torch

    return torch


def shape_of(A: ArrayLike, measures: Collection[str] = MEASURES, minibatch: NDArray[np.int64] | None = None) -> Shape:
    """Centers a representation, shape (points, units), and scales it to Frobenius norm one.

    Ours: the step that all measures of this module begin with.

    Args:
        A: the representation.
        measures: what is to be computed of it; without distances a wide layer needs no coordinates, which take longer.
        minibatch: number of the minibatch of each point, ascending, shape (points,); None for a single one.

    Raises:
        ValueError: no numbers (points, units), not all finite, or all points are the same, so that there is no shape.
    """
    xp = namespace(A)
    X = xp.asarray(A)
    if X.ndim != 2 or (xp is np and X.dtype.kind not in "biuf"):
        raise ValueError(
            f"a representation has shape {tuple(X.shape)} and type {X.dtype}; give numbers (points, units)"
        )
    X = X if X.dtype in (xp.float32, xp.float64) else xp.asarray(X, dtype=xp.float64)
    mean = X.mean(axis=0, dtype=xp.float64)
    is_gram = X.shape[1] > len(X) and not set(DISTANCES) & set(measures)
    F = centered_gram(X, X, mean) if is_gram else _coordinates(X, mean)
    squared = F.diagonal() if is_gram else xp.einsum("ij,ij->i", F, F)
    size = float(squared.sum())
    if not np.isfinite(size):
        raise ValueError("values that are NaN or infinite, or too large")
    if not np.sqrt(size) > len(X) * EPS * np.sqrt(size + len(X) * float(mean @ mean)):
        raise ValueError("all points are the same in this layer, which has no shape to compare")
    F = F / (size if is_gram else np.sqrt(size))
    inner = F if is_gram else F.T @ F
    squared = squared / size
    of_pairs: dict[str, Array] = {}
    if wanted := [name for name in OF_ALL_PAIRS if name in measures]:
        of_pairs = _of_pairs(F if is_gram else F @ F.T, squared, wanted)
    if MINIBATCH in measures:
        cuts = [] if minibatch is None else (np.flatnonzero(np.diff(minibatch)) + 1).tolist()
        of_pairs[MINIBATCH] = _of_length_one(_of_minibatches(F, is_gram, [0, *cuts, len(F)]))
    return Shape(F, is_gram, squared, _inner(inner, inner), of_pairs)


def _inner(A: Array, B: Array) -> float:
    return float(A.ravel() @ B.ravel())


def _of_length_one(part: Array) -> Array:
    size = float(namespace(part).linalg.norm(part))
    return part / size if size else part * np.nan


def _of_pairs(K: Array, squared: Array, wanted: Collection[str]) -> dict[str, Array]:
    """Ranks of distances, centered, and centered Gaussian kernels, each of length one."""
    xp = namespace(K)
    distances = (squared[:, None] + squared - 2 * K).clip(min=0)  # squared
    first, second = (xp.asarray(points, device=K.device) for points in np.triu_indices(len(K), 1))
    pairs = distances[first, second]
    found = {}
    if "rsa" in wanted:
        steps = xp.round(pairs * (2.0**40 / float(pairs.max())))  # else rounding orders equal distances
        _, places, counts = xp.unique(steps, return_inverse=True, return_counts=True)
        doubled = xp.asarray(2 * counts.cumsum(axis=0) - counts, dtype=xp.float64)[places]  # twice the mean rank
        found["rsa"] = doubled - doubled.mean()
    if "cka_rbf" in wanted:
        kernel = xp.exp(-distances / (2 * _median(pairs)))
        kernel -= kernel.mean(axis=0)
        found["cka_rbf"] = kernel - kernel.mean(axis=1, keepdims=True)
    return {name: _of_length_one(part) for name, part in found.items()}


def _median(values: Any) -> float:
    """The mean of both middle values of an even number, of which torch takes the lower one."""
    return float(np.median(values) if namespace(values) is np else (values.median() - (-values).median()) / 2)


def _of_minibatches(F: Array, is_gram: bool, cuts: Sequence[int]) -> Array:
    """Numbers whose product with those of another layer is the sum of unbiased HSIC over minibatches."""
    xp = namespace(F)
    parts = [slice(*ends) for ends in pairwise(cuts) if ends[1] - ends[0] >= FEWEST]
    means, sizes = [], [0.0]
    for K in (F[part, part] if is_gram else F[part] @ F[part].T for part in parts):
        size = (len(K) * (len(K) - 3)) ** 0.5
        means.append(u_centered(K).ravel() / size)
        sizes.append(float(K.diagonal().sum()) / size)
    numbers = xp.concatenate(means) if means else F[0, :1]
    is_rounding = float(xp.linalg.norm(numbers)) <= len(F) * EPS * float(np.linalg.norm(sizes))
    return numbers * np.nan if is_rounding or not means else numbers


def u_centered(K: Array) -> Array:
    """A Gram matrix without its diagonal, every row summing to zero.

    Definition as in Szekely and Rizzo (2014), "Partial distance correlation with methods for dissimilarities",
    Definition 2. The product of two, summed over all entries, is n (n - 3) times unbiased HSIC.

    Args:
        K: symmetric matrix, shape (n, n), n > 2.
    """
    n, xp = len(K), namespace(K)
    K = K - xp.diag(K.diagonal())
    rows = K.sum(axis=0)
    rows = (rows - rows.sum() / (2 * (n - 1))) / (n - 2)
    K = K - rows[:, None] - rows
    return K - xp.diag(K.diagonal())


def _coordinates(A: Array, mean: Array) -> Array:
    """The centered points in at most as many coordinates as there are points."""
    xp = namespace(A)
    if A.shape[1] <= len(A):
        return A - mean
    if is_small(A):
        R = xp.linalg.qr((A - mean).T, mode="r")
        return (R if xp is np else R.R).T
    values, vectors = xp.linalg.eigh(centered_gram(A, A, mean))
    return vectors * (values * (values > len(A) * EPS * values[-1])) ** 0.5


def centered_gram(A: NDArray[np.floating], B: NDArray[np.floating], mean: Array, out: Array | None = None) -> Array:
    """(A - mean) (B - mean)^T in double precision, shape (n, m), over blocks of units.

    Ours: sums in blocks.

    Args:
        A: points, shape (n, units).
        B: points of the same layer, shape (m, units).
        mean: what is taken from each point, shape (units,).
        out: room for it; new memory costs as much as the product of small layers.
    """
    xp = namespace(A)
    G = xp.empty((len(A), len(B)), dtype=xp.float64, device=A.device) if out is None else out
    for first in range(0, max(len(mean), 1), WIDTH):
        part = slice(first, first + WIDTH)
        left = A[:, part] - mean[part]
        right = (left if A is B else B[:, part] - mean[part]).T
        if first:
            G += left @ right
        else:
            xp.matmul(left, right, out=G)
    return G


def similarities(first: Shape, second: Shape, measures: Collection[str] = MEASURES) -> dict[str, float]:
    """The measures of two representations of the same points.

    Args:
        first: a representation.
        second: another one, prepared for the same measures.
        measures: those that are wanted.

    Raises:
        ValueError: no shapes, different numbers of points, or measures that the shapes were not prepared for.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(20, 3))
        >>> Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
        >>> found = similarities(shape_of(X), shape_of(2 * X @ Q))
        >>> round(found["cka"], 9), round(found["cka_debiased"], 9), found["procrustes"] < 1e-6
        (1.0, 1.0, True)
    """
    for name, part in (("first", first), ("second", second)):
        if not isinstance(part, Shape):
            raise ValueError(f"{name} is a {type(part).__name__}; give shape_of(array)")
    if unknown := [name for name in measures if name not in (*MEASURES, *first.of_pairs)]:
        raise ValueError(f"measures: {unknown[0]!r} is none of {', '.join((*MEASURES, *first.of_pairs))}")
    if len(first.squared) != len(second.squared):
        points = f"{len(first.squared)} and {len(second.squared)}"
        raise ValueError(f"representations of {points} points; give the same points to both")
    product, cross = _product(first, second)
    found = {
        "cka": cka(product, first.own, second.own),
        "cka_debiased": debiased_cka(first.squared, second.squared, product, first.own, second.own),
    }
    if set(DISTANCES) & set(measures):
        found |= shape_distances(nuclear_norm(cross))
    found |= {name: _inner(part, second.of_pairs[name]) for name, part in first.of_pairs.items()}
    return {name: found[name] for name in measures}


def _product(first: Shape, second: Shape) -> tuple[float, Array]:
    """|F^T G|_F^2, and F^T G itself where both have coordinates (else the factor that it is the product with)."""
    if first.is_gram and second.is_gram:
        return _inner(first.F, second.F), first.F
    if first.is_gram or second.is_gram:
        (K, G) = (first.F, second.F) if first.is_gram else (second.F, first.F)
        return _inner(K @ G, G), G
    cross = first.F.T @ second.F
    return _inner(cross, cross), cross


def cka(product: float, own: float, other: float) -> float:
    """Linear CKA from |X^T Y|_F^2, |X^T X|_F^2 and |Y^T Y|_F^2 of centered points.

    Ours: the quotient of this module's first measure.
    """
    return float(product / np.sqrt(own * other))


def nuclear_norm(A: Array) -> float:
    """|A|_*, the sum of the singular values.

    Ours: the matrix norm of this module's distances.
    """
    return float(namespace(A).linalg.svdvals(A).sum())


def shape_distances(nuclear: float) -> dict[str, float]:
    """Procrustes and angular distance.

    Ours: two measures of this module.

    Args:
        nuclear: |X^T Y|_* of centered points of Frobenius norm one, at most 1 but for rounding.
    """
    nuclear = min(nuclear, 1.0)
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


def unbiased_hsics(squared: Array, products: Array) -> Array:
    """`unbiased_hsic` of every two of several layers, shape (layers, layers).

    Definition as in Song et al., eq. (5).

    Args:
        squared: squared lengths of the centered points of each layer, shape (layers, n).
        products: |F^T G|_F^2 of every two layers, shape (layers, layers).
    """
    n, sums = squared.shape[1], squared.sum(axis=1)
    return products - n / (n - 2) * (squared @ squared.T) + sums[:, None] * sums / ((n - 1) * (n - 2))


def debiased_cka(K: Array, L: Array, product: float, own: float, other: float) -> float:
    """CKA with unbiased HSIC (Song et al., eq. (5)), NaN for fewer than four points.

    Args:
        K: squared lengths of the centered points F, shape (n,).
        L: those of the other ones, G.
        product: |F^T G|_F^2.
        own: |F^T F|_F^2.
        other: |G^T G|_F^2.
    """
    if len(K) < FEWEST:
        return float("nan")
    return hsic_ratio(unbiased_hsic(K, L, product), unbiased_hsic(K, K, own), unbiased_hsic(L, L, other))


def hsic_ratio(hsic: float, own: float, other: float) -> float:
    """CKA from unbiased HSIC of two layers and of each alone, NaN where one of these is none.

    Definition as in Nguyen et al. (2021), eq. (2).
    """
    size = own * other
    return float(hsic / np.sqrt(size)) if size > 0 else float("nan")
