"""The measures of one layer, each a dictionary of numbers by the diagnostic's name, and labels and targets of its rows.

Of a layer that is the same for all points, counts, lengths, sums and angles have their values. A ratio of two zeros and
a choice between equals have none and are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repdyn.base import ranks
from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.diagnostics.theory import spectra
from repdyn.diagnostics.theory.angles import QUANTILES, angles
from repdyn.diagnostics.theory.collapse import collapse, groups_of, occupation_by_class
from repdyn.diagnostics.theory.identity import costs

Rows = TypeVar("Rows", bound=NDArray[np.floating])
LARGEST = 2**63 - 1  # label that a signed integer holds
IGNORED = -100  # label of a point that has no class, as in torch's cross-entropy
FIRST_POINTS = 4  # pairs measured if none are named: all six among four points


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
    if labels.shape != (points,) or labels.dtype.kind not in "iu" or int(labels.max()) > LARGEST:
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}; give {points} integers below 2^63, one per point"
        )
    if len(np.unique(labels[labels != IGNORED])) < 2:
        raise ValueError("labels names one class only; collapse is measured against the distance of classes, give two")
    return labels.astype(np.int64)


def with_classes(rows: Rows, labels: np.ndarray) -> tuple[Rows, np.ndarray]:
    """Rows and labels of the points that have a class; the same arrays where all have one."""
    classified = labels != IGNORED
    return (rows, labels) if classified.all() else (cast("Rows", rows[classified]), labels[classified])


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


@dataclass(frozen=True)
class Layer:
    """One layer and what its measures need.

    Attributes:
        A: activations, shape (points, units), single or double precision.
        labels: class of each point, `IGNORED` for those without one; None without.
        pairs: pairs of points.
        gamma: regularizer of the stable cost of identity, relative to |K|_op.
        bias: whether the cost of identity may use a bias.
    """

    A: NDArray[np.floating]
    labels: np.ndarray | None
    pairs: Sequence[tuple[int, int]]
    gamma: float
    bias: bool

    @cached_property
    def spectrum(self) -> spectra.Spectrum:
        """The one decomposition that angles, ranks, costs and collapse share."""
        return spectra.spectrum(self.A)


def _angles(layer: Layer) -> dict[str, object]:
    """Angles of all pairs of points, lengths, the odd point."""
    norms = layer.spectrum.norms
    odd, second = int(np.argmax(norms)), float(np.partition(norms, -2)[-2])
    constant = bool((layer.A[:1] == layer.A).all())
    values = {
        "units": layer.A.shape[1],
        "constant": constant,
        "zero_points": int(np.sum(norms == 0)),
        "odd_point": np.nan if constant else odd,
        "norm": norms,
        "norm_ratio": norms[odd] / second if second else np.nan,
        "angle": np.full(len(QUANTILES), np.nan),
    }
    if not norms.all():
        return values
    every = angles(layer.spectrum.F, norms)
    return values | {"angle": every.quantiles, "odd_angle": every.odd, "intra_angle": every.intra}


def _ranks(layer: Layer) -> dict[str, object]:
    """Ranks and the orthogonality gap, from the singular values."""
    s = layer.spectrum.s
    if s[0] == 0:
        return {"numerical_rank": 0}
    return {
        "numerical_rank": ranks.numerical_rank(s),
        "effective_rank": ranks.effective_rank(s),
        "centered_effective_rank": ranks.effective_rank(layer.spectrum.centered),
        "stable_rank": ranks.stable_rank(s),
        "nuclear_rank": ranks.nuclear_rank(s),
        "orthogonality_gap": ranks.orthogonality_gap(s, len(layer.A)),
    }


def _cost_of_identity(layer: Layer) -> dict[str, object]:
    if layer.spectrum.s[0] == 0:
        return {"cost_of_identity": 0.0}
    plain, stable = costs(layer.A, layer.spectrum, layer.gamma, layer.bias)
    return {
        "cost_of_identity": plain.value if plain.feasible else np.nan,
        "identity_gap": plain.gap,
        "stable_cost_of_identity": stable,
    }


def _collapse(layer: Layer) -> dict[str, float]:
    return collapse(*with_classes(layer.spectrum.rows, cast("np.ndarray", layer.labels)))


def _class_ranks(layer: Layer) -> dict[str, list[float]]:
    """Effective rank of each class; NaN where all of its points are the same."""
    rows, labels = with_classes(layer.spectrum.rows, cast("np.ndarray", layer.labels))
    spectra_of = (spectra.centered_values(rows[group]) for group in groups_of(labels)[1])
    return {"class_effective_rank": [ranks.effective_rank(s) if s[0] else np.nan for s in spectra_of]}


def _sectors(layer: Layer) -> dict[str, list[float]]:
    A, labels = with_classes(layer.A, cast("np.ndarray", layer.labels))
    return occupation_by_class(A, groups_of(labels)[1])


def _pairs(layer: Layer) -> dict[str, object]:
    both = (layer.A[[i, j]].astype(np.float64) for i, j in layer.pairs)
    pair_angle = [pair_angles(two.T)[0] if two.any(axis=1).all() else np.nan for two in both]
    return {"representation_distance": distances(layer.A, layer.pairs), "pair_angle": np.array(pair_angle)}


OF_LAYER: dict[str, Callable[[Layer], Mapping[str, object]]] = {
    "angles": _angles,
    "ranks": _ranks,
    "cost_of_identity": _cost_of_identity,
    "collapse": _collapse,
    "sectors": _sectors,
    "class_ranks": _class_ranks,
    "pairs": _pairs,
}
