"""Two points at a time: distances of representations, predictions and their alignment with the targets (h, y, w)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.datasets import variable
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.diagnostics.activations import Array
from repdyn.diagnostics.texts import described

FIRST_POINTS = 4  # pairs measured if none are named: all six among four points


def as_targets(targets: ArrayLike | None, labels: np.ndarray | None, output: Array) -> Array | None:
    """Targets of the outputs' shape: as given, or one-hot labels; None without either.

    Raises:
        ValueError: targets of another shape, not finite, or labels beyond the number of outputs.
    """
    if targets is None and labels is None:
        return None
    if targets is None:
        if labels.min() < 0 or labels.max() >= output.shape[1]:
            raise ValueError(
                f"labels run from {labels.min()} to {labels.max()} but the network has {output.shape[1]} outputs per "
                "point; give targets instead, or labels from 0"
            )
        return np.eye(output.shape[1])[labels]
    targets = np.asarray(targets, dtype=np.float64)
    if targets.shape[:1] == output.shape[:1]:
        targets = targets.reshape(len(targets), -1)
    if targets.shape != output.shape:
        raise ValueError(f"targets has shape {targets.shape}; the network returns {output.shape}, give the same")
    if not np.isfinite(targets).all():
        raise ValueError(f"targets holds {np.sum(~np.isfinite(targets))} values that are NaN or infinite")
    return targets


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
        firsts = np.arange(points) if labels is None else np.sort(np.unique(labels, return_index=True)[1])
        return list(combinations(firsts[:FIRST_POINTS].tolist(), 2))
    found = [tuple(int(i) for i in pair) for pair in pairs]
    for pair in found:
        if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= i < points for i in pair):
            raise ValueError(f"pairs holds {pair}; give two different points among 0 .. {points - 1}")
    if not found:
        raise ValueError("pairs is empty; give at least one, or None for the usual ones")
    return found


def pair_variables(
    layers: Mapping[str, Array],
    inputs: Array,
    output: Array,
    targets: Array | None,
    pairs: Sequence[tuple[int, int]],
) -> dict[str, xr.Variable]:
    """Distance h and angle of each pair in each layer; y, and with targets w and the loss, at the output.

    Args:
        layers: activations by layer, shape (points, units) each.
        inputs: the inputs, shape (points, numbers).
        output: the network's output, shape (points, outputs).
        targets: what it should be, same shape; None where nothing is asked.
        pairs: the pairs of points.
    """
    one, other = np.array(pairs).T
    h = np.array([((A[other] - A[one]) ** 2).sum(axis=1) for A in layers.values()])
    angles = np.array([[_angle(A[[i, j]]) for i, j in pairs] for A in layers.values()])
    dy = output[other] - output[one]
    found = {
        "representation_distance": described("representation_distance", ("layer", "pair"), h),
        "pair_angle": described("pair_angle", ("layer", "pair"), angles),
        "prediction_distance": described("prediction_distance", "pair", (dy**2).sum(axis=1)),
        "input_distance": _distance(inputs, pairs, "inputs", "input^2"),
    }
    if targets is None:
        return found
    wanted = targets[other] - targets[one]
    error = ((output - targets) ** 2).sum(axis=1) / 2
    return found | {
        "target_distance": _distance(targets, pairs, "targets", "output^2"),
        "prediction_alignment": described("prediction_alignment", "pair", ((dy - wanted) * dy).sum(axis=1)),
        "pair_loss": described("pair_loss", "pair", (error[one] + error[other]) / 2),
    }


def _angle(two: Array) -> float:
    return float(pair_angles(two.T)[0]) if two.any(axis=1).all() else float("nan")


def _distance(values: Array, pairs: Sequence[tuple[int, int]], what: str, units: str) -> xr.Variable:
    one, other = np.array(pairs).T
    return variable("pair", ((values[other] - values[one]) ** 2).sum(axis=1), f"squared distance of the {what}", units)
