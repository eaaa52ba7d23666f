"""Similarity of layers on more points than memory holds: Gram matrices block by block, sums of their products.

CKA needs sums over all pairs of points of products of two centered Gram matrices. A block of points of all layers is in
memory, all points go by, and each block of the Gram matrices adds to the sums of all pairs of layers. Procrustes and
angular distance need X^T Y of two layers, which is summed point by point where both have few units. All is exact but
for rounding; memory is bounded, and the networks run once per block. Minibatch CKA takes one run: sums of unbiased
HSIC over the batches of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.batches import groups_within
from repdyn.diagnostics.methods.layers import Plan, batch_rows
from repdyn.diagnostics.theory.similarity import (
    DISTANCES,
    EPS,
    FEWEST,
    MEASURES,
    centered_gram,
    cka,
    debiased_cka,
    hsic_ratio,
    namespace,
    nuclear_norm,
    shape_distances,
    unbiased_hsics,
)

Key = tuple[int, str]  # number of a network and name of a layer
Pair = tuple[Key, Key]
Rows = dict[Key, Any]  # arrays of numpy, or tensors
MOST_UNITS = 2000  # of layers whose Procrustes and angular distances are computed: a singular value decomposition each
CONSTANT = "all points are the same in this layer, which has no shape to compare"


MINIBATCH_CONSTANT = "all points of each minibatch are the same in this layer, which has no shape to compare"
WIDE = f"more than {MOST_UNITS} units, so that of many points only CKA is computed"


class ChosenRows:
    """The compared rows of all layers, batch by batch, and why layers have none.

    Args:
        networks: plans of the networks, on the same batches of points.
        chosen: rows that are compared, ascending.
        placed: takes the rows of a layer to where they are computed with.

    Attributes:
        places: of the ends of the batches among the chosen rows.
        batches: those with chosen rows.
        keys: all layers.
        reasons: why some cannot be compared.
    """

    def __init__(
        self, networks: Sequence[Plan], chosen: NDArray[np.int64], placed: Callable[[NDArray[np.floating]], Any]
    ) -> None:
        self.networks, self.chosen, self.placed = networks, chosen, placed
        per_batch = [size * networks[0].tokens for size in networks[0].reader.inputs.sizes if size]
        self.starts = np.cumsum([0, *per_batch])
        self.places = np.searchsorted(chosen, self.starts)
        self.batches = [k for k, (low, high) in enumerate(pairwise(self.places)) if low < high]
        self.keys = [(at, name) for at, planned in enumerate(networks) for name in planned.layers]
        self.reasons: dict[Key, str] = {}

    def read(self, batch: int, keys: Sequence[Key]) -> Rows:
        """The chosen rows of a batch; layers that cannot be had leave a reason."""
        rows: Rows = {}
        here = self.chosen[self.places[batch] : self.places[batch + 1]] - self.starts[batch]
        expected = self.starts[batch + 1] - self.starts[batch]
        for at, planned in enumerate(self.networks):
            names = [name for number, name in keys if number == at]
            failed: dict[str, str] = {}
            for name, A in batch_rows(planned, batch, names, failed).items():
                if len(A) != expected:
                    failed[name] = f"it has {len(A)} rows where {expected} are compared"
                    continue
                A = A if len(here) == expected else A[here]
                if np.isfinite(A).all():
                    rows[at, name] = self.placed(A)
                else:
                    failed[name] = "values that are NaN or infinite"
            self.reasons |= {(at, name): why for name, why in failed.items() if (at, name) not in self.reasons}
        return rows

    def are_the_same(self, squared: float, whole: float) -> bool:
        """Whether the squared lengths of all points are rounding next to those before centering."""
        return not np.sqrt(squared) > len(self.chosen) * EPS * np.sqrt(whole)


class Streamed:
    """Layers of networks on the same points, gone through as often as the memory requires.

    Args:
        rows: what is compared.
        memory: bytes of rows and of Gram matrices in memory at a time.

    Attributes:
        keys: the layers that can be compared.
        wide: layers that have CKA alone.
    """

    def __init__(self, rows: ChosenRows, memory: int) -> None:
        self.rows, self.memory = rows, memory
        self.places, self.batches = rows.places, rows.batches
        self.means = self._means()
        self.keys = list(self.means)
        self.at = {key: place for place, key in enumerate(self.keys)}
        self._sum_products()
        for key, squared in zip(self.keys, self.squared, strict=True):
            size, mean = float(squared.sum()), self.means[key]
            if rows.are_the_same(size, size + len(rows.chosen) * float(mean @ mean)):
                rows.reasons.setdefault(key, CONSTANT)
        self.wide = [key for key in self.keys if len(self.means[key]) > MOST_UNITS]

    def similarities(self, pairs: Sequence[Pair], measures: Collection[str] = MEASURES) -> Iterator[dict[str, float]]:
        """The measures of pairs of layers; NaN where there are none."""
        usable = set(self.at) - set(self.rows.reasons)
        wanted = [pair for pair in pairs if usable.issuperset(pair)]
        nuclear = self._nuclear(wanted) if set(DISTANCES) & set(measures) else {}
        for first, second in pairs:
            if not usable.issuperset((first, second)):
                yield dict.fromkeys(measures, np.nan)
                continue
            i, j = self.at[first], self.at[second]
            product, *norms = (float(self.products[place]) for place in ((i, j), (i, i), (j, j)))
            values = {
                "cka": cka(product, *norms),
                "cka_debiased": debiased_cka(self.squared[i], self.squared[j], product, *norms),
            }
            values |= shape_distances(nuclear.get((first, second), np.nan))
            yield {name: values[name] for name in measures}

    def _means(self) -> Rows:
        """Mean of each layer over the points, in a first run."""
        sums: Rows = {}
        self.types: dict[Key, Any] = {}
        reasons = self.rows.reasons
        for batch in self.batches:
            for key, A in self.rows.read(batch, self.rows.keys).items():
                new = A.sum(axis=0, dtype=namespace(A).float64)
                if key in sums and sums[key].shape != new.shape:
                    reasons[key] = "it did not return the same number of units in every batch"
                else:
                    sums[key] = sums.get(key, 0.0) + new
                    self.types[key] = A.dtype
        keys = [key for key in self.rows.keys if key not in reasons and key in sums]
        return {key: sums[key] / len(self.rows.chosen) for key in keys}

    def _blocks(self) -> list[list[int]]:
        """Batches in order, as many at a time as fit into memory with the blocks of Gram matrices."""
        most = max(int(high - low) for low, high in pairwise(self.places))
        rows = sum(len(mean) * self.types[key].itemsize for key, mean in self.means.items())
        needed = rows + 8 * most * len(self.keys)
        sizes = (int(self.places[batch + 1] - self.places[batch]) * needed for batch in self.batches)
        return groups_within(self.memory, zip(self.batches, sizes, strict=True))

    def _sum_products(self) -> None:
        """Sums over pairs of points of products of Gram matrices, for all pairs of layers."""
        layers = len(self.keys)
        self.squared = self._zeros(layers, len(self.rows.chosen))
        self.products = self._zeros(layers, layers)
        for block in self._blocks() if layers else ():
            block_rows = self._joined(block)
            start, stop = self.places[block[0]], self.places[block[-1] + 1]
            for batch in self.batches[self.batches.index(block[0]) :]:
                low, high = self.places[batch], self.places[batch + 1]
                inside = slice(low - start, high - start) if batch in block else None
                rows = {key: A[inside] for key, A in block_rows.items()} if inside else self.rows.read(batch, self.keys)
                grams = self._zeros(layers, stop - start, high - low)
                for place, key in enumerate(self.keys):
                    centered_gram(block_rows[key], rows[key], self.means[key], grams[place])
                flat = grams.reshape(layers, -1)
                self.products += (1 if inside else 2) * (flat @ flat.T)
                if inside:
                    self.squared[:, low:high] = grams[:, inside].diagonal(0, 1, 2)

    def _zeros(self, *shape: int, like: Any = None) -> Any:
        """Zeros where the rows are, in double precision unless like others."""
        mean = next(iter(self.means.values()), np.zeros(0))
        dtype = mean.dtype if like is None else like
        return namespace(mean).zeros(tuple(map(int, shape)), dtype=dtype, device=mean.device)

    def _joined(self, block: Sequence[int]) -> Rows:
        """The rows of several batches."""
        size = self.places[block[-1] + 1] - self.places[block[0]]
        block_rows = {key: self._zeros(size, len(mean), like=self.types[key]) for key, mean in self.means.items()}
        for batch in block:
            low = self.places[batch] - self.places[block[0]]
            for key, A in self.rows.read(batch, self.keys).items():
                block_rows[key][low : low + len(A)] = A
        return block_rows

    def _nuclear(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """|X^T Y|_* / (|X| |Y|) of pairs of layers with few units."""
        wanted = [pair for pair in pairs if not set(self.wide) & set(pair)]
        nuclear: dict[Pair, float] = {}
        each = dict.fromkeys(map(_ordered, wanted))
        rooms = [((a, b), 8 * len(self.means[a]) * len(self.means[b])) for a, b in each]
        for group in groups_within(self.memory, rooms):
            for pair, C in self._cross_products(group).items():
                size = np.sqrt(np.prod([float(self.squared[self.at[key]].sum()) for key in pair]))
                nuclear[pair] = nuclear_norm(C) / size
        return {pair: nuclear[_ordered(pair)] for pair in wanted}

    def _cross_products(self, pairs: Sequence[Pair]) -> Mapping[Pair, Any]:
        keys = list(dict.fromkeys(key for pair in pairs for key in pair))
        products = {(a, b): self._zeros(len(self.means[a]), len(self.means[b])) for a, b in pairs}
        for batch in self.batches:
            rows = {key: A - self.means[key] for key, A in self.rows.read(batch, keys).items()}
            for (a, b), C in products.items():
                C += rows[a].T @ rows[b]
        return products


def _ordered(pair: Pair) -> Pair:
    """The same pair whichever layer came first."""
    return min(pair), max(pair)


class Minibatches:
    """Sums over minibatches of the unbiased HSIC of every two layers.

    Args:
        rows: what is compared; the chosen rows of a batch are a minibatch.
        memory: bytes of Gram matrices in memory at a time.

    Attributes:
        reasons: why layers have none.
    """

    def __init__(self, rows: ChosenRows, memory: int) -> None:
        self.rows, self.memory = rows, memory
        self.at = {key: place for place, key in enumerate(rows.keys)}
        self.hsics = np.zeros((len(rows.keys), len(rows.keys)))
        self.room: Any = np.empty(0)  # Gram matrices of the layers, one minibatch after another
        self.squared, self.whole = (dict.fromkeys(rows.keys, 0.0) for _ in range(2))
        for batch in rows.batches:
            found = rows.read(batch, rows.keys)
            if found and len(next(iter(found.values()))) >= FEWEST:
                self._add(found)
        same = [key for key in rows.keys if rows.are_the_same(self.squared[key], self.whole[key])]
        self.reasons = dict.fromkeys(same, MINIBATCH_CONSTANT) | rows.reasons

    def similarities(self, pairs: Sequence[Pair]) -> Iterator[float]:
        """Minibatch CKA of pairs of layers; NaN where there is none."""
        for pair in pairs:
            i, j = (self.at[key] for key in pair)
            left_out = not self.reasons.keys().isdisjoint(pair)
            yield np.nan if left_out else hsic_ratio(self.hsics[i, j], self.hsics[i, i], self.hsics[j, j])

    def _add(self, found: Rows) -> None:
        """A minibatch: its layers, each centered by its mean, of which unbiased HSIC knows nothing."""
        xp = namespace(next(iter(found.values())))
        means = {key: A.mean(axis=0, dtype=xp.float64) for key, A in found.items()}
        squared, products = self._gram_products(found, means)
        places, n = [self.at[key] for key in found], squared.shape[1]
        self.hsics[np.ix_(places, places)] += _on_cpu(unbiased_hsics(squared, products)) / (n * (n - 3))
        for key, size in zip(found, map(float, squared.sum(axis=1)), strict=True):
            self.squared[key] += size
            self.whole[key] += size + len(found[key]) * float(means[key] @ means[key])

    def _gram_products(self, found: Rows, means: Rows) -> tuple[Any, Any]:
        """Squared lengths of the points, and sums of products of Gram matrices over blocks of their rows."""
        first = next(iter(means.values()))
        points, layers = len(next(iter(found.values()))), len(found)
        step = max(1, self.memory // (8 * layers * points))
        squared, products, xp = [], 0.0, namespace(first)
        for low in range(0, points, step):
            part = slice(low, low + step)  # all of it as itself, of which half of the product is computed
            shape = layers, min(step, points - low), points
            if self.room.shape != shape:
                self.room = xp.empty(shape, dtype=xp.float64, device=first.device)
            for G, (key, A) in zip(self.room, found.items(), strict=True):
                centered_gram(A if step >= points else A[part], A, means[key], G)
            squared.append(xp.stack([G.diagonal(low) for G in self.room]))
            flat = self.room.reshape(layers, -1)
            products = products + flat @ flat.T
        return xp.concatenate(squared, axis=1), products


def _on_cpu(A: Any) -> Array:
    return A if namespace(A) is np else A.cpu().numpy()
