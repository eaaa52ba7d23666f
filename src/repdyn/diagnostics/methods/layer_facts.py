"""What sentences about a network rest on: coordinates of its layers, and statistics of them with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.ranks import effective_rank
from repdyn.diagnostics.methods.batches import spread
from repdyn.diagnostics.methods.forward import call_name
from repdyn.diagnostics.methods.layers import passes_through, plan, stream
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader
from repdyn.diagnostics.methods.shapes import base
from repdyn.diagnostics.theory.collapse import collapse
from repdyn.diagnostics.theory.intervals import Interval, folds, jackknife
from repdyn.diagnostics.theory.similarity import shape_of, similarities
from repdyn.diagnostics.theory.spectra import spectrum

LIKENESS = ("cka_debiased",)
MOST_POINTS = 500  # of which layers stay in memory: points x min(points, units) numbers each


@dataclass(frozen=True)
class RecordedLayers:
    """A network on its points.

    Attributes:
        layers: coordinates with the same inner products, shape (points, d), by layer in order; without the output.
        hidden: names of those layers that are neither the input nor the last linear map nor after it.
        output: what the network returns for all points, shape (points, outputs); None if it cannot be read.
        points: indices of the points of `layers`.
        kinds: class of the module, or the function, that each layer is the output of; nothing for the inputs.
        passed: whether all that the network returns passes through a layer.
        inputs: the layer that represents the inputs.
    """

    layers: Mapping[str, Array]
    hidden: Sequence[str]
    output: Array | None
    points: NDArray[np.int64]
    kinds: Mapping[str, str] = field(default_factory=dict)
    passed: Callable[[str], bool] = lambda _name: True
    inputs: str = INPUT


def record_layers(
    reader: NetworkReader, layers: Sequence[str] | None, embeddings: str | None = None, classifier: str | None = None
) -> RecordedLayers:
    """Runs a network once and records its layers; those with values that are not finite are left out.

    Args:
        reader: network and inputs.
        layers: names; None takes all.
        embeddings: layer that represents the inputs; None takes the inputs themselves.
        classifier: the last linear map; None takes the one that is found.

    Raises:
        ValueError: unknown names, or features that make several rows of a point.
    """
    if reader.features.kind == "tokens":
        raise ValueError(
            'features="tokens" makes several rows of a point; sentences need one, as of "flatten" or "pool"'
        )
    planned = plan(reader, layers, hidden=[name for name in (embeddings, classifier and call_name(classifier)) if name])
    inputs = planned.call(embeddings) if embeddings else INPUT
    recorded = spread(planned.points, MOST_POINTS)
    rows: dict[str, Array] = {}
    outputs: list[Array] = []

    def collect(name: str, A: NDArray[np.floating]) -> None:
        if len(A) != planned.points or not np.isfinite(A).all():
            return
        if name == OUTPUT:
            outputs.append(A.astype(np.float64))
        else:
            rows[name] = spectrum(A[recorded]).F

    stream(planned, [OUTPUT], collect)
    hidden = [name for name in before_the_end(list(rows), classifier or planned.classifier) if name != inputs]
    output = outputs[0] if outputs else None
    modules = {name: type(module).__name__ for name, module in reader.model.named_modules()}
    kinds = {  # a map and what follows it are not compared, since a ReLU alone changes ranks
        name: modules.get(base(name), base(name).rstrip("_0123456789")) for name in rows if name not in (INPUT, inputs)
    }
    return RecordedLayers(rows, hidden, output, recorded, kinds, partial(passes_through, planned), inputs)


def before_the_end(names: Sequence[str], classifier: str | None) -> list[str]:
    """Hidden layers: those before the last linear map is called for the last time, other than its calls and the input.

    Args:
        names: layers in the order in which they finish.
        classifier: the last linear map; without one all but input and output are hidden.

    Example:
        >>> before_the_end(["input", "0", "1", "2:input", "2", "3", "output"], "2")
        ['0', '1', '2:input']
    """
    ours = (INPUT, OUTPUT)
    ends = [n for n in names if classifier and base(n) == base(classifier) and ":input" not in n and n not in ours]
    before = names[: names.index(ends[-1])] if ends else names
    return [name for name in before if name not in (*ours, *ends)]


def within_share(F: Array, labels: np.ndarray) -> Interval:
    """Trace of the covariance within classes, as a share of the traces within and between them.

    Args:
        F: points, shape (points, d).
        labels: class of each point; two points of each at least.
    """

    def of(indices: np.ndarray) -> float:
        found = collapse(F[indices], labels[indices])
        whole = found["within"] + found["between"]
        return found["within"] / whole if whole else float("nan")

    groups = [np.flatnonzero(labels == name) for name in np.unique(labels)]
    found = jackknife(of, folds(groups), len(F))
    return Interval(found.value, *np.clip(found[1:], 0, 1).tolist())


def rank(F: Array) -> Interval:
    """Effective rank without the mean over points."""

    def of(indices: np.ndarray) -> float:
        return effective_rank(spectrum(F[indices]).centered)

    found = jackknife(of, folds([np.arange(len(F))]), len(F))
    return Interval(found.value, max(1.0, found.low), found.high)  # no rank is below one


def likeness(F: Array, G: Array) -> Interval:
    """Debiased CKA of two layers on the same points."""

    def of(indices: np.ndarray) -> float:
        first, second = (shape_of(layer[indices], LIKENESS) for layer in (F, G))
        return similarities(first, second, LIKENESS)["cka_debiased"]

    return jackknife(of, folds([np.arange(len(F))]), len(F))


def lead(F: Array) -> Interval:
    """Largest norm over the second one, and the range of the largest over each of the others."""
    norms = np.sort(np.linalg.norm(F, axis=1))[::-1]
    if not norms[1] > 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    smallest = norms[-1]
    return Interval(
        float(norms[0] / norms[1]), float(norms[0] / norms[1]), float(norms[0] / smallest) if smallest else np.inf
    )
