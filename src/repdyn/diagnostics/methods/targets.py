"""Labels and targets of the points, checked against what the network returns."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arrays import Array

Rows = TypeVar("Rows", bound=NDArray[np.floating])
IGNORED = -100  # label of a point that has no class, as in torch's cross-entropy


def labels_of_rows(labels: ArrayLike, points: int, tokens: int, mask: NDArray[np.bool_] | None) -> np.ndarray:
    """A label for each row: of the points as given, or of their tokens; `IGNORED` for those without a class.

    Args:
        labels: shape (points,), or with several tokens (points, tokens).
        points: how many points.
        tokens: rows of a point.
        mask: tokens that count, shape (points, tokens).

    Raises:
        ValueError: labels of another shape, not integers, or of one class only.
    """
    labels = np.asarray(labels)
    if tokens > 1 and labels.shape == (points, tokens):
        labels, points = labels.reshape(-1), points * tokens
    elif tokens > 1 and labels.shape == (points,):
        labels, points = np.repeat(labels, tokens), points * tokens
    if labels.shape == (points,) and mask is not None:
        labels = labels[mask.reshape(-1)]
        points = len(labels)
    if labels.shape != (points,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}; give {points} integers, one per point"
        )
    if len(np.unique(labels[labels != IGNORED])) < 2:
        raise ValueError("labels names one class only; collapse is measured against the distance of classes, give two")
    return labels.astype(np.int64)


def with_classes(rows: Rows, labels: np.ndarray) -> tuple[Rows, np.ndarray]:
    """Rows and labels of the points that have a class; the same arrays where all have one."""
    kept = labels != IGNORED
    return (rows, labels) if kept.all() else (cast("Rows", rows[kept]), labels[kept])


def as_targets(targets: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Targets of the outputs' shape.

    Raises:
        ValueError: targets of another shape, or not finite.
    """
    targets = np.asarray(targets, dtype=np.float64)
    flat = targets.reshape(len(targets), -1) if targets.shape[:1] == shape[:1] else targets
    if flat.shape != shape and targets.shape != shape:
        raise ValueError(f"targets has shape {targets.shape}; the network returns {shape}, give the same")
    if not np.isfinite(targets).all():
        raise ValueError(f"targets holds {np.sum(~np.isfinite(targets))} values that are NaN or infinite")
    return flat


def check_classes(labels: np.ndarray, outputs: int) -> None:
    """Refuses labels that are no places among the outputs.

    Raises:
        ValueError: labels beyond the outputs.
    """
    if labels.min() < 0 or labels.max() >= outputs or outputs < 2:
        raise ValueError(
            f"labels run from {labels.min()} to {labels.max()} but the network has {outputs} outputs per point; give "
            "targets instead, or labels from 0"
        )


def one_hot(labels: np.ndarray, outputs: int) -> Array:
    """The targets that labels stand for, shape (points, outputs).

    Raises:
        ValueError: labels beyond the outputs.
    """
    check_classes(labels, outputs)
    targets = np.zeros((len(labels), outputs))
    targets[np.arange(len(labels)), labels] = 1
    return targets
