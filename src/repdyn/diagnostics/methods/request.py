"""What is asked of a network, and which measures that allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from repdyn.diagnostics.methods.catalog import MEASURES
from repdyn.diagnostics.theory.identity import Residual

NEEDS = {
    "collapse": "labels",
    "classifier": "labels",
    "sectors": "labels",
    "accuracy": "labels",
    "targets": "labels or targets",
    "loss": "labels, targets or loss",
    "energies": "residual",
}


@dataclass(frozen=True)
class Request:
    """What is asked of a network; the arguments of `measure` of the same names."""

    layers: Sequence[str] | None
    labels: np.ndarray | None
    targets: np.ndarray | None
    pairs: Sequence[tuple[int, int]] | None
    residual: Residual | None
    measures: Sequence[str] | None
    embeddings: str | None
    classifier: str | None
    gamma: float
    bias: bool
    loss: Callable[..., Tensor] | None
    progress: bool

    def of_held_out(self, answers: np.ndarray, measures: Sequence[str]) -> Request:
        """The same of points with answers of their own.

        Args:
            answers: their labels, integers, or their targets.
            measures: which to compute.
        """
        floating = answers.dtype.kind == "f"
        return replace(
            self, labels=None if floating else answers, targets=answers if floating else None, pairs=None,
            residual=None, measures=measures, embeddings=None, classifier=None,
        )  # fmt: skip

    def chosen(self) -> list[str]:
        """The measures to compute.

        Raises:
            ValueError: an unknown one, or one that lacks what it needs.
        """
        there = {"labels": self.labels is not None, "residual": self.residual is not None}
        there["labels or targets"] = there["labels"] or self.targets is not None
        there["labels, targets or loss"] = there["labels or targets"] or self.loss is not None
        possible = [name for name in MEASURES if there.get(NEEDS.get(name, ""), True)]
        if self.measures is None:
            return possible
        if isinstance(self.measures, str):
            raise ValueError(f"measures is the text {self.measures!r}; give a list: [{self.measures!r}]")
        for name in self.measures:
            if name not in MEASURES:
                raise ValueError(f"no measure {name!r}; give some of {', '.join(MEASURES)}")
            if name not in possible:
                raise ValueError(f"the measure {name!r} needs {NEEDS[name]}")
        return [name for name in MEASURES if name in self.measures]

    @property
    def answers(self) -> np.ndarray | None:
        """What the network should return, as the user gives it: targets, else labels."""
        return self.labels if self.targets is None else self.targets
