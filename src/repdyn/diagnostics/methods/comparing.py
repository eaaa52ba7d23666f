"""Layers of several networks on the same points, compared in pairs: in memory, or streamed where they are too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from repdyn.diagnostics.methods.batches import spread
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.inputs import split
from repdyn.diagnostics.methods.layers import Plan, stream
from repdyn.diagnostics.methods.reader import NetworkReader
from repdyn.diagnostics.methods.shapes import depends_on_the_batch
from repdyn.diagnostics.methods.similarity import WIDE, ChosenRows, Minibatches, Pair, Streamed
from repdyn.diagnostics.theory.intervals import folds, of_parts
from repdyn.diagnostics.theory.similarity import FEWEST, MINIBATCH, Shape, shape_of, similarities

MOST_POINTS = 2000  # up to which layers stay in memory, points x min(points, units) numbers each; more are streamed
BATCH = 256  # points of a minibatch, and at a time of what is streamed, at most where the inputs come in one batch
ENDS = {"low": "lower end", "high": "upper end"}


@dataclass
class Comparison:
    """How networks are compared, and what came of it.

    Attributes:
        places: what reasons call the networks.
        measures: which to compute.
        most_points: points at most.
        intervals: whether bounds of the measures are computed, too.
        placed: takes the rows of a layer to where they are computed with.
        reasons: why layers and measures are missing.
        layers: of each network.
        of: the measures of pairs of layers.
    """

    places: Sequence[str]
    measures: Sequence[str]
    most_points: int
    intervals: bool
    placed: Callable[[NDArray[np.floating]], Any]
    reasons: dict[str, str] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    of: Callable[[Sequence[Pair]], list[dict[str, float]]] = field(init=False)

    @property
    def names(self) -> list[str]:
        """The measures and their bounds."""
        bounds = [f"{name}_{end}" for name in self.measures for end in ENDS] if self.intervals else []
        return [*self.measures, *bounds]

    def in_memory(self, plans: Iterable[Plan]) -> None:
        """Every layer prepared for comparisons, one network after another."""
        shapes = [self._shapes(place, planned) for place, planned in zip(self.places, plans, strict=True)]
        self.layers = [list(part) for part in shapes]
        self.of = lambda pairs: [self._similarities(shapes[i].get(a), shapes[j].get(b)) for (i, a), (j, b) in pairs]

    def _shapes(self, place: str, planned: Plan) -> dict[str, list[Shape]]:
        """Every layer of all points and, for intervals, without each fold; none where it cannot be compared."""
        shapes: dict[str, list[Shape]] = {name: [] for name in planned.layers}
        mask, minibatch = planned.reader.features.mask, minibatches(planned)

        def prepare(name: str, A: NDArray[np.floating]) -> None:
            of_rows = minibatch[np.arange(len(A)) * len(minibatch) // len(A)]  # rows of a point follow each other
            if mask is not None and len(A) == mask.size:
                A, of_rows = A[mask.reshape(-1)], of_rows[mask.reshape(-1)]
            here = spread(len(A), self.most_points)
            parts = [here, *(here[part] for part in folds([np.arange(len(here))]))] if self.intervals else [here]
            try:
                if not np.isfinite(A).all():
                    raise ValueError("values that are NaN or infinite")
                shapes[name] = [shape_of(self.placed(A[part]), self.measures, of_rows[part]) for part in parts]
            except (ValueError, RuntimeError) as error:  # torch's are of the second kind
                self._miss(place, {name: in_one_line(error)})

        self._miss(place, stream(planned, (), prepare))
        return shapes

    def _miss(self, place: str, reasons: dict[str, str]) -> None:
        self.reasons |= {f"{place}, {name}": why for name, why in reasons.items()}

    def _similarities(self, first: Sequence[Shape] | None, second: Sequence[Shape] | None) -> dict[str, float]:
        """The measures of two layers and, where they are prepared without each fold, their bounds."""
        if not first or not second or len(first[0].squared) != len(second[0].squared):
            return dict.fromkeys(self.names, np.nan)
        whole, *parts = (similarities(one, other, self.measures) for one, other in zip(first, second, strict=True))
        if not self.intervals:
            return whole
        intervals = {name: of_parts(whole[name], [part[name] for part in parts]) for name in self.measures}
        return whole | {f"{name}_{end}": getattr(intervals[name], end) for name in self.measures for end in ENDS}

    def streamed(self, plans: Iterable[Plan]) -> None:
        """Sums over blocks of points, of all networks at once."""
        networks = [replace(planned, reader=in_batches(planned.reader)) for planned in plans]
        self.layers = [planned.layers for planned in networks]
        for place, planned in zip(self.places, networks, strict=True):
            self._miss(place, planned.left_out)
        mask, memory = networks[0].reader.features.mask, networks[0].reader.memory
        counted = np.arange(networks[0].points * networks[0].tokens) if mask is None else np.flatnonzero(mask)
        rows = ChosenRows(networks, counted[spread(len(counted), self.most_points)], self.placed)
        of_batches = Minibatches(rows, memory) if MINIBATCH in self.measures else None
        others = [name for name in self.measures if name != MINIBATCH]
        sums = Streamed(rows, memory) if others else None

        def of(pairs: Sequence[Pair]) -> list[dict[str, float]]:
            values: list[dict[str, float]] = list(sums.similarities(pairs, others)) if sums else [{} for _ in pairs]
            whys = dict.fromkeys(sums.wide if sums else (), WIDE)
            if of_batches:
                for value, cka in zip(values, of_batches.similarities(pairs), strict=True):
                    value[MINIBATCH] = cka
                whys |= of_batches.reasons
            for (at, name), why in (whys | rows.reasons).items():
                self._miss(self.places[at], {name: why})
            return values

        self.of = of


def minibatches(planned: Plan) -> NDArray[np.int64]:
    """Number of the minibatch of each point."""
    if len(planned.sizes) > 1:
        return np.repeat(np.arange(len(planned.sizes)), planned.sizes)
    return np.arange(planned.points) // _equal(planned.points)


def _equal(points: int) -> int:
    """Size of equal batches of `BATCH` points at most."""
    return -(-points // -(-points // BATCH))


def check_minibatches(planned: Plan, most_points: int) -> None:
    """Refuses minibatches of which none has enough points.

    Raises:
        ValueError: the number of points of the largest, and what to do.
    """
    minibatch = np.repeat(minibatches(planned), planned.tokens)
    most = np.bincount(minibatch[spread(len(minibatch), most_points)]).max()
    if most < FEWEST:
        raise ValueError(
            f"{MINIBATCH}: the {len(planned.sizes)} batches of the inputs have {most} of the compared points each at "
            f"most, where it takes {FEWEST}; give larger batches or more most_points"
        )


def in_batches(reader: NetworkReader) -> NetworkReader:
    """The same points in batches that can be run one by one.

    Raises:
        ValueError: points of one batch that change each other.
    """
    if len(reader.inputs.batches) > 1:
        return reader
    if depends_on_the_batch(reader):
        raise ValueError(
            f"more than {MOST_POINTS} points are compared in batches, and this network normalizes the points of a "
            f"batch by each other; give most_points={MOST_POINTS} or fewer"
        )
    return replace(reader, inputs=split(reader.inputs, _equal(sum(size or 0 for size in reader.inputs.sizes))))


def placing(device: str | torch.device | None) -> Callable[[NDArray[np.floating]], Any]:
    """What takes rows to a device; leaves them to numpy without one.

    Raises:
        ValueError: torch cannot compute in double precision there.
    """
    if device is None:
        return lambda A: A
    try:
        float(torch.ones((), dtype=torch.float64, device=device))
    except Exception as error:
        raise ValueError(
            f"device: got {device!r}, where torch cannot compute in double precision here ({in_one_line(error)}); "
            "give 'cpu', 'cuda' with a GPU, or None for numpy"
        ) from error
    return lambda A: torch.as_tensor(A, device=device)
