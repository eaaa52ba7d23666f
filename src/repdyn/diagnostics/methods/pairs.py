"""Two points at a time: distances of representations, predictions and their alignment with the targets (h, y, w)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.diagnostics.methods.targets import IGNORED

FIRST_POINTS = 4  # pairs measured if none are named: all six among four points


def as_pairs(pairs: Sequence[tuple[int, int]] | None, points: int, labels: np.ndarray | None) -> list[tuple[int, int]]:
    """Pairs of points: as given, or all among the first point of each of four classes, or among the first four points.

    Raises:
        ValueError: a pair of other than two different points of the batch.

    Example:
        >>> import numpy as np
        >>> as_pairs(None, 6, np.array([0, 0, 1, 1, 2, 2]))
        [(0, 2), (0, 4), (2, 4)]
    """
    if pairs is None:
        firsts = np.arange(points)
        if labels is not None:
            classes, first = np.unique(labels, return_index=True)
            firsts = np.sort(first[classes != IGNORED])
        return list(combinations(firsts[:FIRST_POINTS].tolist(), 2))
    chosen = [tuple(int(i) for i in pair) for pair in pairs]
    for pair in chosen:
        if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= i < points for i in pair):
            raise ValueError(f"pairs holds {pair}; give two different points among 0 .. {points - 1}")
    if not chosen:
        raise ValueError("pairs is empty; give at least one, or None for the usual ones")
    return [(first, second) for first, second in chosen]


def distances(A: NDArray[np.floating], pairs: Sequence[tuple[int, int]]) -> Array:
    """Squared distance of each pair of rows, shape (pairs,)."""
    first, other = np.array(pairs).T
    return ((A[other].astype(np.float64) - A[first]) ** 2).sum(axis=1)


def angles_of_pairs(A: NDArray[np.floating], pairs: Sequence[tuple[int, int]]) -> Array:
    """Angle of each pair of rows, radians, shape (pairs,); NaN where one of them is zero."""
    both = (A[[i, j]].astype(np.float64) for i, j in pairs)
    return np.array([pair_angles(two.T)[0] if two.any(axis=1).all() else np.nan for two in both])


def alignment(output: Array, targets: Array, pairs: Sequence[tuple[int, int]]) -> dict[str, Array]:
    """Target distance, w and loss of each pair, shape (pairs,) each.

    Args:
        output: what the network returns, shape (points, outputs).
        targets: what it should return, same shape.
        pairs: the pairs of points.
    """
    first, other = np.array(pairs).T
    dy, wanted = output[other] - output[first], targets[other] - targets[first]
    error = ((output - targets) ** 2).sum(axis=1) / 2
    return {
        "target_distance": distances(targets, pairs),
        "prediction_alignment": ((dy - wanted) * dy).sum(axis=1),
        "pair_loss": (error[first] + error[other]) / 2,
    }
