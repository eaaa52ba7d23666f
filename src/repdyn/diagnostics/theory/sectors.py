"""Sectors 1[a > 0] of activation patterns: how far the units of a layer truncate each class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
