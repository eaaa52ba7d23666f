"""The measures of one layer, each on its own: a dictionary of numbers by the diagnostic's name.

Of a layer that is the same for all points, counts, lengths, sums and angles have their values. A ratio of two zeros and
a choice between equals have none and are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from repdyn.base import ranks
from repdyn.diagnostics.methods.pairs import angles_of_pairs, distances
from repdyn.diagnostics.methods.targets import with_classes
from repdyn.diagnostics.theory import spectra
from repdyn.diagnostics.theory.angles import QUANTILES, angles
from repdyn.diagnostics.theory.collapse import collapse, groups_of
from repdyn.diagnostics.theory.identity import costs
from repdyn.diagnostics.theory.sectors import occupation_by_class


@dataclass(frozen=True)
class Layer:
    """One layer and what is asked of it.

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
    def seen(self) -> spectra.Spectrum:
        """The one decomposition that angles, ranks, costs and collapse share."""
        return spectra.spectrum(self.A)


def _angles(layer: Layer) -> dict[str, object]:
    """Angles of all pairs of points, lengths, the odd point."""
    norms = layer.seen.norms
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
    every = angles(layer.seen.F, norms)
    return values | {"angle": every.quantiles, "odd_angle": every.odd, "intra_angle": every.intra}


def _ranks(layer: Layer) -> dict[str, object]:
    """Ranks and the orthogonality gap, from the singular values."""
    s = layer.seen.s
    if s[0] == 0:
        return {"numerical_rank": 0}
    return {
        "numerical_rank": ranks.numerical_rank(s),
        "effective_rank": ranks.effective_rank(s),
        "centered_effective_rank": ranks.effective_rank(layer.seen.centered),
        "stable_rank": ranks.stable_rank(s),
        "nuclear_rank": ranks.nuclear_rank(s),
        "orthogonality_gap": ranks.orthogonality_gap(s, len(layer.A)),
    }


def _cost_of_identity(layer: Layer) -> dict[str, object]:
    if layer.seen.s[0] == 0:
        return {"cost_of_identity": 0.0}
    plain, stable = costs(layer.A, layer.seen, layer.gamma, layer.bias)
    return {
        "cost_of_identity": plain.value if plain.feasible else np.nan,
        "identity_gap": plain.gap,
        "stable_cost_of_identity": stable,
    }


def _collapse(layer: Layer) -> dict[str, float]:
    return collapse(*with_classes(layer.seen.rows, cast("np.ndarray", layer.labels)))


def _sectors(layer: Layer) -> dict[str, list[float]]:
    A, labels = with_classes(layer.A, cast("np.ndarray", layer.labels))
    return occupation_by_class(A, groups_of(labels)[1])


def _pairs(layer: Layer) -> dict[str, object]:
    return {
        "representation_distance": distances(layer.A, layer.pairs),
        "pair_angle": angles_of_pairs(layer.A, layer.pairs),
    }


OF_LAYER: dict[str, Callable[[Layer], Mapping[str, object]]] = {
    "angles": _angles,
    "ranks": _ranks,
    "cost_of_identity": _cost_of_identity,
    "collapse": _collapse,
    "sectors": _sectors,
    "pairs": _pairs,
}
