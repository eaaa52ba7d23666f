r"""Neural collapse of one layer, NC1 to NC4, as Papyan, Han and Donoho (2020) define it; sectors of each class.

Points h_i of classes c(i), class means mu_c, mu the mean of the class means (the same for every class, however many
points it has), K classes, n points.

- Sigma_W = (1/n) sum_i (h_i - mu_c(i)) (h_i - mu_c(i))^T, Sigma_B = (1/K) sum_c (mu_c - mu) (mu_c - mu)^T.
- NC1: Tr(Sigma_W Sigma_B^+) / K. Singular values of the class means below 1e-6 of the largest count as zero.
- NC2: the centered class means have equal lengths and equal angles, cosines -1 / (K - 1).
- NC3: the classifier's rows W are parallel to the centered class means, | W / |W| - M / |M| |_F^2.
- NC4: the classifier decides for the nearest class mean.

No matrix of units x units and no array of points x classes x units is ever created.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arrays import Array
from repdyn.base.ranks import RANK_TOLERANCE


@dataclass(frozen=True)
class ClassMeans:
    """Points sorted by class.

    Attributes:
        names: labels that occur, ascending, shape (K,).
        groups: indices of the points of each class.
        means: class means, shape (K, d).
    """

    names: np.ndarray
    groups: list[np.ndarray]
    means: Array

    @property
    def centered(self) -> Array:
        """Class means without the mean of the class means, shape (K, d); 0 where they differ by rounding alone."""
        centered = self.means - self.means.mean(axis=0)
        points = sum(map(len, self.groups))
        rounding = points * np.finfo(float).eps * float(np.abs(self.means).max())
        return centered if np.abs(centered).max() > rounding else np.zeros_like(centered)


def groups_of(labels: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Labels that occur, and the indices of the points of each.

    Ours: bookkeeping for NC1 to NC4.
    """
    names, counts = np.unique(labels, return_counts=True)
    return names, np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])


def class_means(H: Array, labels: np.ndarray) -> ClassMeans:
    """Class means of points H, shape (n, d).

    Definition as in Papyan, Han and Donoho (2020).
    """
    names, groups = groups_of(labels)
    return ClassMeans(names, groups, np.array([H[group].mean(axis=0) for group in groups]))


def collapse(H: Array, labels: np.ndarray) -> dict[str, float]:
    """NC1 and NC2, the traces and the accuracy of the nearest class mean; NaN where class means coincide.

    Definition as in Papyan, Han and Donoho (2020); the ratio of traces is ours.

    Args:
        H: points in any coordinates with the same inner products, shape (n, d).
        labels: class of each point, shape (n,).

    Returns:
        `within`, Tr Sigma_W; `between`, Tr Sigma_B; their ratio; `nc1`;
        of NC2 `equinorm`, std over mean of |mu_c - mu|, `equiangularity`, std of the cosines, `maximal_angle`, mean
        |cosine + 1/(K - 1)|, `equiangle`, the largest of these; `nearest_mean_accuracy`.

    Example:
        >>> import numpy as np
        >>> H = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 0.2]])
        >>> found = collapse(H, np.array([0, 0, 1, 1]))
        >>> round(found["within_over_between"], 4), round(found["nc1"], 5), found["nearest_mean_accuracy"]
        (0.0042, 0.00035, 1.0)
    """
    by_class = class_means(H, labels)
    _, s, axes = np.linalg.svd(by_class.centered, full_matrices=False)
    axes = axes[s > RANK_TOLERANCE * s[0]] if s[0] else axes[:0]
    s = s[: len(axes)]
    squares = [_within(H[group], mean, axes) for group, mean in zip(by_class.groups, by_class.means, strict=True)]
    within = float(sum(whole for whole, _ in squares) / len(H))
    along = sum(part for _, part in squares) / len(H)
    between = float(np.mean(np.linalg.norm(by_class.centered, axis=1) ** 2))
    return {
        "within": within,
        "between": between,
        "within_over_between": within / between if between else float("nan"),
        "nc1": float(np.sum(along / s**2)) if len(s) else float("nan"),
        **simplex_defects(by_class.centered),
        "nearest_mean_accuracy": float(np.mean(nearest_mean(H, by_class) == labels)) if between else float("nan"),
    }


def _within(H: Array, mean: Array, axes: Array) -> tuple[float, Array]:
    """Sum of |h - mean|^2 over the points of a class, as a whole and along each axis."""
    differences = H - mean
    return float(np.sum(differences**2)), np.sum((differences @ axes.T) ** 2, axis=0)


def simplex_defects(centered: Array) -> dict[str, float]:
    """How far vectors, shape (K, d), are from equal lengths and from the angles of a simplex (NC2).

    Example:
        >>> import numpy as np
        >>> defects = simplex_defects(np.eye(3) - 1 / 3)
        >>> {name: round(abs(value), 9) for name, value in defects.items()}
        {'equinorm': 0.0, 'equiangularity': 0.0, 'maximal_angle': 0.0, 'equiangle': 0.0}
    """
    lengths, K = np.linalg.norm(centered, axis=1), len(centered)
    equinorm = float(np.std(lengths) / np.mean(lengths)) if lengths.any() else float("nan")
    if not lengths.all():
        return {"equinorm": equinorm} | dict.fromkeys(("equiangularity", "maximal_angle", "equiangle"), float("nan"))
    unit = centered / lengths[:, None]
    cosines = (unit @ unit.T)[~np.eye(K, dtype=bool)]
    defects = np.abs(cosines + 1 / (K - 1))
    return {
        "equinorm": equinorm,
        "equiangularity": float(np.std(cosines)),
        "maximal_angle": float(np.mean(defects)),
        "equiangle": float(np.max(defects)),
    }


def nearest_mean(H: Array, by_class: ClassMeans) -> np.ndarray:
    """Label of the class mean nearest to each point, by one matrix product.

    The decision that NC4 compares with; definition as in Papyan, Han and Donoho (2020).
    """
    return by_class.names[np.argmin(np.sum(by_class.means**2, axis=1) - 2 * (H @ by_class.means.T), axis=1)]


def classifier_collapse(H: Array, labels: np.ndarray, W: ArrayLike, decisions: np.ndarray) -> dict[str, float]:
    """NC2 of a classifier's rows, NC3 and NC4.

    Args:
        H: what the classifier takes, in the coordinates of its weights, shape (n, d).
        labels: class of each point, 0 .. K - 1, all of which occur, shape (n,).
        W: the classifier's weights, shape (K, d).
        decisions: the class that the network decides for, shape (n,).

    Returns:
        `classifier_equinorm`, `classifier_equiangularity`, `classifier_maximal_angle` of the rows of W; `nc3`, the
        squared distance of W and the centered class means, both over their Frobenius norm, from 0 to 4; `nc4`, the
        share of points that the network does not give to the nearest class mean.

    Example:
        >>> import numpy as np
        >>> H = np.repeat(np.eye(3), 2, axis=0)
        >>> found = classifier_collapse(H, np.repeat(np.arange(3), 2), np.eye(3) - 1 / 3, np.repeat(np.arange(3), 2))
        >>> round(found["nc3"], 9), found["nc4"]
        (0.0, 0.0)
    """
    W, by_class = np.asarray(W, dtype=np.float64), class_means(H, labels)
    rows = simplex_defects(W)
    sizes = np.linalg.norm(W), np.linalg.norm(by_class.centered)
    nc3 = float(np.sum((W / sizes[0] - by_class.centered / sizes[1]) ** 2)) if all(sizes) else float("nan")
    return {
        "classifier_equinorm": rows["equinorm"],
        "classifier_equiangularity": rows["equiangularity"],
        "classifier_maximal_angle": rows["maximal_angle"],
        "nc3": nc3,
        "nc4": float(np.mean(nearest_mean(H, by_class) != decisions)) if sizes[1] else float("nan"),
    }


def occupation_by_class(A: NDArray[np.floating], groups: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """`occupation` of each class: one list entry per group of point indices of a layer, shape (points, units).

    Ours: the sectors of truncation_flow, (3.33), by class.
    """
    rows = [occupation(A[group]) for group in groups]
    return {name: [row[name] for row in rows] for name in rows[0]}


def occupation(A: NDArray[np.floating]) -> dict[str, float]:
    """Sectors that the points of one class occupy, shape (points, units): how far units truncate the class.

    Ours: numbers on the sectors of truncation_flow, (3.33).

    Example:
        >>> import numpy as np
        >>> found = occupation(np.array([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0]]))
        >>> found["sectors"], found["truncated_share"], round(found["units_passing_all"], 3)
        (1.0, 0.5, 0.333)
    """
    pattern = A > 0
    packed = np.ascontiguousarray(np.packbits(pattern, axis=1))
    _, counts = np.unique(packed.view([("bits", f"V{packed.shape[1]}")]).ravel(), return_counts=True)
    return {
        "truncated_share": float(np.mean(~pattern)),
        "units_truncating_all": float(np.mean(~pattern.any(axis=0))),
        "units_passing_all": float(np.mean(pattern.all(axis=0))),
        "sectors": len(counts) / len(A),
        "largest_sector": float(counts.max() / len(A)),
    }
