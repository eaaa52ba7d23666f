"""Layers with several consecutive rows per point, as attention within windows has: (points x windows, tokens, units).

No shape tells them from layers whose windows come first, (windows x points, ...). What tells is where the numbers of a
point are in two passes that hold the points in different orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

TRIED_ON = 8  # points whose rows are followed from a pass to another in reverse order


def rows_per_point(values: Sequence[object], sizes: Sequence[int]) -> int:
    """How many rows a point has on the first axis, the same number in every pass; 0 if there is none.

    Args:
        values: a layer in every pass.
        sizes: points of every pass.

    Example:
        >>> rows_per_point([torch.zeros(8, 5), torch.zeros(12, 5)], (2, 3))
        4
        >>> rows_per_point([torch.zeros(8, 5), torch.zeros(8, 5)], (2, 3))
        0
    """
    tensors = [part for part in values if isinstance(part, Tensor) and part.ndim > 1]
    if len(tensors) < len(values) or len({part.shape[1:] for part in tensors}) > 1:
        return 0
    if not all(part.is_floating_point() for part in tensors):
        return 0
    counts = {len(part) / size for part, size in zip(tensors, sizes, strict=True)}
    count = counts.pop()
    return int(count) if not counts and count > 1 and count.is_integer() else 0


def rows_follow(first: Tensor, other: Tensor, places: Sequence[int], count: int) -> bool:
    """Whether consecutive rows move with their points from one pass to another, and only these do.

    Where rows that are not consecutive do as well, as in a layer of zeros, nothing tells whose they are.

    Args:
        first: a layer in one pass, shape (points x count, ...).
        other: the same in another pass.
        places: where the points of the first pass are in the other.
        count: rows of a point.
    """
    consecutive = first.unflatten(0, (-1, count)), other.unflatten(0, (-1, count))
    apart = first.unflatten(0, (count, -1)).movedim(1, 0), other.unflatten(0, (count, -1)).movedim(1, 0)
    return _same(*consecutive, places) and not _same(*apart, places)


def _same(first: Tensor, other: Tensor, places: Sequence[int]) -> bool:
    """Whether these points have the same numbers, but for rounding."""
    there = other[list(places)].double()
    rounding = torch.finfo(other.dtype).eps ** 0.5
    return bool((first.double() - there).norm() <= rounding * there.norm())
