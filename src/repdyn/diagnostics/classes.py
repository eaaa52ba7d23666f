"""What the papers measure of classes in one layer: collapse of features, sectors of the activation pattern."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.diagnostics.activations import Array
from repdyn.diagnostics.texts import described
from repdyn.truncation_flow.methods.metrics import neural_collapse_metrics

COLLAPSE = ("within", "between", "within_over_between", "equinorm", "equiangle", "nearest_mean_accuracy")
OCCUPATION = ("truncated_share", "units_truncating_all", "units_passing_all", "sectors", "largest_sector")


def as_labels(labels: ArrayLike, points: int) -> np.ndarray:
    """Labels as integers, refused if they do not fit the points or name one class only."""
    labels = np.asarray(labels)
    if labels.shape != (points,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}; give {points} integers, one per point"
        )
    if len(np.unique(labels)) < 2:
        raise ValueError("labels names one class only; collapse is measured against the distance of classes, give two")
    return labels.astype(np.int64)


def class_variables(layers: Mapping[str, Array], labels: np.ndarray) -> dict[str, xr.Variable]:
    """Neural collapse per layer, occupation of sectors per layer and class.

    Args:
        layers: activations by layer, shape (points, units) each.
        labels: class of each point, shape (points,).
    """
    collapse = [collapse_of(A, labels) for A in layers.values()]
    occupied = [[occupation_of(A[labels == one]) for one in np.unique(labels)] for A in layers.values()]
    return {name: described(name, "layer", np.array([one[name] for one in collapse])) for name in COLLAPSE} | {
        name: described(name, ("layer", "class"), np.array([[one[name] for one in row] for row in occupied]))
        for name in OCCUPATION
    }


def collapse_of(A: Array, labels: np.ndarray) -> dict[str, float]:
    """Variances within and between classes, their ratio (NC1), the shape of the means (NC2), nearest class means.

    Example:
        >>> import numpy as np
        >>> A = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 0.2]])
        >>> found = collapse_of(A, np.array([0, 0, 1, 1]))
        >>> round(found["within_over_between"], 4), found["nearest_mean_accuracy"]
        (0.0042, 1.0)
    """
    found = neural_collapse_metrics(A, labels)
    finite = {name: value if np.isfinite(value) else np.nan for name, value in found.items()}
    means = np.array([A[labels == one].mean(axis=0) for one in np.unique(labels)])
    nearest = np.unique(labels)[((A[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)]
    finite["within_over_between"] = finite.pop("ratio")
    return finite | {"nearest_mean_accuracy": float(np.mean(nearest == labels))}


def occupation_of(A: Array) -> dict[str, float]:
    """Sectors 1[a > 0] that the points of one class occupy, shape (points, units): how far units truncate the class.

    Example:
        >>> import numpy as np
        >>> found = occupation_of(np.array([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0]]))
        >>> found["sectors"], found["truncated_share"], round(found["units_passing_all"], 3)
        (1.0, 0.5, 0.333)
    """
    pattern = A > 0
    _, counts = np.unique(np.packbits(pattern, axis=1), axis=0, return_counts=True)
    return {
        "truncated_share": float(np.mean(~pattern)),
        "units_truncating_all": float(np.mean(~pattern.any(axis=0))),
        "units_passing_all": float(np.mean(pattern.all(axis=0))),
        "sectors": len(counts) / len(A),
        "largest_sector": float(counts.max() / len(A)),
    }
