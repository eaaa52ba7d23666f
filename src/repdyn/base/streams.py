"""Named random streams: the numbers depend only on the stream's name, never on the order of calls.

A stream's key has only what must differ (study, experiment, trial, purpose). Variants that are compared leave their
name out of the key and so share data and initial weights: comparisons are paired. Adding a trial, a width or a variant
changes no other random numbers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

Key = str | int


@dataclass(frozen=True)
class Stream:
    """A branch of the tree of random numbers under one seed.

    Args:
        seed: the run's seed, from the configuration.
        key: path from the root, e.g. `("bn_decomposed", "ablation", 3, "weights")`.

    Example:
        >>> trial = Stream(1, ("study", "experiment")).child(3)
        >>> trial.generator("weights").normal() == trial.generator("weights").normal()
        True
        >>> trial.generator("weights").normal() == trial.generator("data").normal()
        False
    """

    seed: int
    key: tuple[Key, ...] = ()

    def child(self, *key: Key) -> Stream:
        """The substream with `key` appended."""
        return Stream(self.seed, self.key + key)

    def of(self, experiment: str) -> Stream:
        """The stream of another experiment of the study, so that both draw the same numbers."""
        return Stream(self.seed, (self.key[0], experiment, *self.key[2:]))

    @property
    def entropy(self) -> int:
        """128 bits hashed from seed and key; types are part of the key, so 1 and "1" differ."""
        text = repr((int(self.seed), tuple(key if isinstance(key, str) else int(key) for key in self.key)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")

    def generator(self, *key: Key) -> np.random.Generator:
        """A fresh numpy generator for the stream `key` below this one; equal calls give equal numbers."""
        return np.random.Generator(np.random.PCG64(self.child(*key).entropy))

    def integer(self, *key: Key) -> int:
        """A seed below 2^63 for libraries that take an integer (torch, scikit-learn)."""
        return self.child(*key).entropy % 2**63
