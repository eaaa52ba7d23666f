"""Minibatch CKA of any number of points, in one run: sums of unbiased HSIC over the batches of the inputs.

Memory holds the rows of one batch and blocks of its Gram matrices, whatever the number of points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.streamed_similarity import ChosenRows, Pair, Rows
from repdyn.diagnostics.theory.similarity import FEWEST, centered_gram, hsic_ratio, namespace, unbiased_hsics

CONSTANT = "all points of each minibatch are the same in this layer, which has no shape to compare"


class Minibatches:
    """Sums over minibatches of the unbiased HSIC of every two layers.

    Args:
        rows: what is compared; the chosen rows of a batch are a minibatch.
        memory: bytes of Gram matrices kept at a time.

    Attributes:
        reasons: why layers have none.
    """

    def __init__(self, rows: ChosenRows, memory: int) -> None:
        self.rows, self.memory = rows, memory
        self.at = {key: place for place, key in enumerate(rows.keys)}
        self.hsics = np.zeros((len(rows.keys), len(rows.keys)))
        self.squared, self.whole = (dict.fromkeys(rows.keys, 0.0) for _ in range(2))
        for batch in rows.batches:
            found = rows.read(batch, rows.keys)
            if found and len(next(iter(found.values()))) >= FEWEST:
                self._add(found)
        same = [key for key in rows.keys if rows.are_the_same(self.squared[key], self.whole[key])]
        self.reasons = dict.fromkeys(same, CONSTANT) | rows.reasons

    def similarities(self, pairs: Sequence[Pair]) -> Iterator[float]:
        """Minibatch CKA of pairs of layers; NaN where there is none."""
        for pair in pairs:
            i, j = (self.at[key] for key in pair)
            left_out = not self.reasons.keys().isdisjoint(pair)
            yield np.nan if left_out else hsic_ratio(self.hsics[i, j], self.hsics[i, i], self.hsics[j, j])

    def _add(self, found: Rows) -> None:
        """A minibatch: its layers, each centered by its own mean, of which unbiased HSIC knows nothing."""
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
        squared, products = [], 0.0
        for low in range(0, points, step):
            part = slice(low, low + step)  # all of it as itself, of which half of the product is computed
            grams = [centered_gram(A if step >= points else A[part], A, means[key]) for key, A in found.items()]
            squared.append(namespace(first).stack([K.diagonal(low) for K in grams]))
            flat = namespace(first).stack(grams).reshape(layers, -1)
            products = products + flat @ flat.T
        return namespace(first).concatenate(squared, axis=1), products


def _on_cpu(A: Any) -> Array:
    return A if namespace(A) is np else A.cpu().numpy()
