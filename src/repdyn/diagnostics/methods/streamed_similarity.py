"""Similarity of layers on more points than can be kept: Gram matrices block by block, sums of their products.

CKA needs sums over all pairs of points of products of two centered Gram matrices. A block of points is kept of all
layers, all points go by, and each block of the Gram matrices adds to the sums of all pairs of layers. Procrustes and
angular distance need X^T Y of two layers, which is summed point by point where both have few units. All is exact but
for rounding; memory is bounded, and the networks run once per block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.streaming import Plan, batch_rows
from repdyn.diagnostics.theory.similarity import DISTANCES, MEASURES, centered_gram, cka, debiased_cka, shape_distances

Key = tuple[int, str]  # number of a network and name of a layer
Rows = dict[Key, NDArray[np.floating]]
MOST_UNITS = 2000  # of layers whose Procrustes and angular distances are computed: a singular value decomposition each
CONSTANT = "all points are the same in this layer, which has no shape to compare"
WIDE = f"more than {MOST_UNITS} units, so that of many points only CKA is computed"


class Streamed:
    """Networks on the same points, gone through as often as the memory asks for.

    Args:
        networks: plans of the networks, on the same batches of points.
        chosen: rows that are compared, ascending.
        memory: bytes of rows and of Gram matrices kept at a time.

    Attributes:
        keys: the layers that can be compared.
        reasons: why others cannot.
        wide: layers that have CKA alone.
    """

    def __init__(self, networks: Sequence[Plan], chosen: NDArray[np.int64], memory: int) -> None:
        self.networks, self.chosen, self.memory = networks, chosen, memory
        per_batch = [size * networks[0].tokens for size in networks[0].reader.inputs.sizes if size]
        self.starts = np.cumsum([0, *per_batch])
        self.places = np.searchsorted(chosen, self.starts)  # of each batch among the chosen rows
        self.batches = [k for k, (low, high) in enumerate(pairwise(self.places)) if low < high]
        self.keys = [(at, name) for at, planned in enumerate(networks) for name in planned.layers]
        self.reasons: dict[Key, str] = {}
        self.types: dict[Key, np.dtype] = {}
        self.means = self._means()
        self.at = {key: place for place, key in enumerate(self.keys)}
        self.squared = np.zeros((len(self.keys), len(chosen)))
        self.products = np.zeros((len(self.keys), len(self.keys)))
        self._sum_products()
        self._leave_out_constant()
        self.wide = [key for key in self.keys if self.means[key].size > MOST_UNITS]

    def similarities(
        self, pairs: Sequence[tuple[Key, Key]], measures: Collection[str] = MEASURES
    ) -> Iterator[dict[str, float]]:
        """The measures of pairs of layers; NaN where there are none."""
        usable = set(self.at) - set(self.reasons)
        wanted = [pair for pair in pairs if usable.issuperset(pair)]
        nuclear = self._nuclear(wanted) if set(DISTANCES) & set(measures) else {}
        for first, second in pairs:
            if not usable.issuperset((first, second)):
                yield dict.fromkeys(measures, np.nan)
                continue
            i, j = self.at[first], self.at[second]
            own = self.products[i, i], self.products[j, j]
            values = {
                "cka": cka(self.products[i, j], *own),
                "cka_debiased": debiased_cka(self.squared[i], self.squared[j], self.products[i, j], *own),
            }
            values |= shape_distances(nuclear.get((first, second), np.nan))
            yield {name: values[name] for name in measures}

    def _read(self, batch: int, keys: Sequence[Key]) -> Rows:
        """The chosen rows of a batch; layers that cannot be had leave a reason."""
        rows: Rows = {}
        here = self.chosen[self.places[batch] : self.places[batch + 1]] - self.starts[batch]
        expected = self.starts[batch + 1] - self.starts[batch]
        for at, planned in enumerate(self.networks):
            names = [name for number, name in keys if number == at]
            found, failed = batch_rows(planned, batch, names)
            for name, A in found.items():
                if len(A) != expected:
                    failed[name] = f"it has {len(A)} rows where {expected} are compared"
                elif not np.isfinite(A[here]).all():
                    failed[name] = "values that are NaN or infinite"
                else:
                    rows[at, name] = A[here]
            self.reasons |= {(at, name): why for name, why in failed.items() if (at, name) not in self.reasons}
        return rows

    def _means(self) -> dict[Key, Array]:
        """Mean of each layer over the points, in a first run."""
        sums: dict[Key, Array] = {}
        for batch in self.batches:
            for key, A in self._read(batch, self.keys).items():
                new = A.sum(axis=0, dtype=np.float64)
                if key in sums and sums[key].shape != new.shape:
                    self.reasons[key] = "it did not return the same number of units in every batch"
                else:
                    sums[key] = sums.get(key, 0.0) + new
                    self.types[key] = A.dtype
        self.keys = [key for key in self.keys if key not in self.reasons and key in sums]
        return {key: sums[key] / len(self.chosen) for key in self.keys}

    def _blocks(self) -> list[list[int]]:
        """Batches in order, as many at a time as fit into memory with the blocks of Gram matrices."""
        most = max(int(high - low) for low, high in pairwise(self.places))
        rows = sum(mean.size * self.types[key].itemsize for key, mean in self.means.items())
        needed = rows + 8 * most * len(self.keys)
        blocks: list[list[int]] = []
        free = 0
        for batch in self.batches:
            size = int(self.places[batch + 1] - self.places[batch]) * needed
            if size > free or not blocks:
                blocks.append([])
                free = self.memory
            blocks[-1].append(batch)
            free -= size
        return blocks

    def _sum_products(self) -> None:
        """Sums over pairs of points of products of Gram matrices, for all pairs of layers."""
        for block in self._blocks():
            kept = self._joined(block)
            start, size = self.places[block[0]], len(next(iter(kept.values())))
            for batch in self.batches[self.batches.index(block[0]) :]:
                low, high = self.places[batch], self.places[batch + 1]
                inside = slice(low - start, high - start) if batch in block else None
                rows = {key: A[inside] for key, A in kept.items()} if inside else self._read(batch, self.keys)
                grams = np.empty((len(self.keys), size, high - low))
                for place, key in enumerate(self.keys):
                    grams[place] = centered_gram(kept[key], rows[key], self.means[key])
                flat = grams.reshape(len(self.keys), -1)
                self.products += (1 if inside else 2) * (flat @ flat.T)
                if inside:
                    self.squared[:, low:high] = np.diagonal(grams[:, inside], axis1=1, axis2=2)

    def _joined(self, block: Sequence[int]) -> Rows:
        """The rows of several batches."""
        size = int(self.places[block[-1] + 1] - self.places[block[0]])
        kept: Rows = {key: np.empty((size, mean.size), self.types[key]) for key, mean in self.means.items()}
        for batch in block:
            low = self.places[batch] - self.places[block[0]]
            for key, A in self._read(batch, self.keys).items():
                kept[key][low : low + len(A)] = A
        return kept

    def _leave_out_constant(self) -> None:
        for key, squared in zip(self.keys, self.squared, strict=True):
            whole = squared.sum() + len(self.chosen) * float(self.means[key] @ self.means[key])
            if not np.sqrt(squared.sum()) > len(self.chosen) * np.finfo(float).eps * np.sqrt(whole):
                self.reasons[key] = CONSTANT

    def _nuclear(self, pairs: Sequence[tuple[Key, Key]]) -> dict[tuple[Key, Key], float]:
        """|X^T Y|_* / (|X| |Y|) of pairs of layers with few units."""
        wanted = [pair for pair in pairs if not set(self.wide) & set(pair)]
        nuclear: dict[tuple[Key, Key], float] = {}
        for group in self._groups(list(dict.fromkeys(map(_ordered, wanted)))):
            for pair, C in self._cross_products(group).items():
                size = np.sqrt(np.prod([self.squared[self.at[key]].sum() for key in pair]))
                nuclear[pair] = min(1.0, float(np.linalg.svd(C, compute_uv=False).sum()) / size)
        return {pair: nuclear[_ordered(pair)] for pair in wanted}

    def _groups(self, pairs: Sequence[tuple[Key, Key]]) -> list[list[tuple[Key, Key]]]:
        """Pairs in order, as many at a time as have room for their X^T Y."""
        groups: list[list[tuple[Key, Key]]] = []
        free = 0
        for first, second in pairs:
            size = 8 * self.means[first].size * self.means[second].size
            if size > free or not groups:
                groups.append([])
                free = self.memory
            groups[-1].append((first, second))
            free -= size
        return groups

    def _cross_products(self, pairs: Sequence[tuple[Key, Key]]) -> Mapping[tuple[Key, Key], Array]:
        keys = list(dict.fromkeys(key for pair in pairs for key in pair))
        products = {(a, b): np.zeros((self.means[a].size, self.means[b].size)) for a, b in pairs}
        for batch in self.batches:
            rows = {key: A - self.means[key] for key, A in self._read(batch, keys).items()}
            for (a, b), C in products.items():
                C += rows[a].T @ rows[b]
        return products


def _ordered(pair: tuple[Key, Key]) -> tuple[Key, Key]:
    """The same pair whichever layer came first."""
    return min(pair), max(pair)
