"""The measures of what a network returns for all points: distances, targets, loss, accuracy, classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.forward import named_modules
from repdyn.diagnostics.methods.layers import Plan
from repdyn.diagnostics.methods.losses import (
    OfOutput,
    check_no_map,
    cross_entropy,
    form_of,
    half_mse,
    one_hot,
    over_all_points,
)
from repdyn.diagnostics.methods.measures import IGNORED, distances
from repdyn.diagnostics.methods.reader import OUTPUT
from repdyn.diagnostics.methods.untouched import undisturbed
from repdyn.diagnostics.theory.collapse import classifier_collapse


@dataclass(frozen=True)
class Outputs:
    """What a network returned for all points, and what it should return.

    Attributes:
        planned: network, inputs and layers.
        rows: layers that are needed as a whole, shape (points, units) each: output, inputs, what the classifier takes.
        labels: class of each point, `IGNORED` for those without one; None without.
        targets: what it should return; None where labels do.
        pairs: pairs of points.
        inputs: the layer that represents the inputs.
        classifier: the last linear map; None where there is none.
        loss: the user's loss as a function of the output; None for the usual one.
    """

    planned: Plan
    rows: Mapping[str, NDArray[np.floating]]
    labels: np.ndarray | None
    targets: NDArray[np.float64] | None
    pairs: Sequence[tuple[int, int]]
    inputs: str
    classifier: str | None
    loss: OfOutput | None

    def layer(self, name: str) -> NDArray[np.float64]:
        """A layer as a whole.

        Raises:
            ValueError: it is missing, and why.
        """
        if name not in self.rows:
            shape = self.planned.shapes.get(name)
            raise ValueError(f"no usable {name}" + (f": {shape.why}" if shape and shape.why else ""))
        return self.rows[name].astype(np.float64)

    def real(self) -> NDArray[np.float64]:
        """What the network returns, where it can be compared with targets or has a largest entry.

        Raises:
            ValueError: complex numbers, or no usable output.
        """
        if self.planned.shapes[OUTPUT].is_complex:
            raise ValueError("the network returns complex numbers, which have no order; give output=, a real part")
        return self.layer(OUTPUT)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """The points that have a class.

        Raises:
            ValueError: there are no labels.
        """
        if self.labels is None:
            raise ValueError("no labels, one per point: labels=")
        return self.labels != IGNORED

    @property
    def classes(self) -> np.ndarray:
        """The labels of these points."""
        counted = self.counted
        return cast("np.ndarray", self.labels)[counted]

    def of_classes(self) -> tuple[Tensor, Tensor]:
        """What the network returns for the points that have a class, shape (points, outputs), and these classes.

        Raises:
            ValueError: the outputs are not one for each class, nor one for two classes.
        """
        output, classes = self.real(), self.classes
        if self.planned.reader.features.kind == "flatten":
            check_no_map(self.planned.shapes[OUTPUT].lengths)
        return torch.from_numpy(output[self.counted]), torch.from_numpy(classes)

    def decisions(self) -> np.ndarray:
        """The classes that the network decides for, of the points that have one."""
        output, classes = self.of_classes()
        form = form_of(output, classes, self.planned)
        if form.alone:
            return (output[:, 0] > (0.5 if form.probabilities else 0)).long().numpy()
        return output.argmax(dim=1).numpy()


def _input_distance(outputs: Outputs) -> dict[str, object]:
    try:
        rows = outputs.layer(outputs.inputs)
    except ValueError as error:
        raise ValueError(f"{error}; name a layer that stands for the inputs: embeddings=") from error
    return {"input_distance": distances(rows, outputs.pairs)}


def _targets(outputs: Outputs) -> dict[str, object]:
    output = outputs.real()
    if outputs.targets is None:
        counted, wanted = outputs.counted, np.full(output.shape, np.nan)
        outputs.of_classes()
        wanted[counted] = one_hot(outputs.classes, output.shape[1])
    else:
        counted, wanted = np.ones(len(output), bool), outputs.targets.reshape(output.shape)
    task = wanted[counted]
    ranks = [np.linalg.matrix_rank(part) for part in (task, task - task.mean(axis=0))]
    numbers = {"half_mse": half_mse(output[counted], task), "task_rank": ranks[0], "centered_task_rank": ranks[1]}
    return numbers | alignment(output, wanted, outputs.pairs)


def _loss(outputs: Outputs) -> dict[str, object]:
    if outputs.loss is not None:
        planned = outputs.planned
        return {"loss": over_all_points(planned.reader, outputs.loss, planned.shapes[OUTPUT].axis or 0)}
    output = outputs.real()
    if outputs.targets is not None:
        return {"loss": half_mse(output, outputs.targets.reshape(output.shape))}
    rows, labels = outputs.of_classes()
    return {"loss": float(cross_entropy(rows, labels, form_of(rows, labels, outputs.planned)))}


def _classifier(outputs: Outputs) -> dict[str, object]:
    """NC2 of the classifier, NC3, NC4."""
    name = outputs.classifier
    if not name:
        raise ValueError("no nn.Linear returns what the network returns, or its order; name one: classifier=")
    model = outputs.planned.reader.model
    module = dict(named_modules(model)).get(name.partition("#")[0])
    with undisturbed(model, written=()):  # reading a parametrized weight computes it
        W = getattr(module, "weight", None)
        W = W().dequantize() if callable(W) else W  # of quantized maps
    if not isinstance(W, Tensor) or W.ndim != 2:
        raise ValueError(f"{name} has no matrix of weights")
    if len(W) == 1:
        raise ValueError(f"{name} has one row of weights for two classes; neural collapse compares one for each class")
    if not np.array_equal(np.unique(outputs.classes), np.arange(len(W))):
        raise ValueError(f"the labels are not 0 .. {len(W) - 1}, a point of each of the classifier's classes at least")
    H = outputs.layer(f"{name}:input")[outputs.counted]
    return {**classifier_collapse(H, outputs.classes, W.detach().cpu().double().numpy(), outputs.decisions())}


OF_OUTPUT: tuple[tuple[str, str, Callable[[Outputs], Mapping[str, object]]], ...] = (
    ("pairs", "prediction_distance", lambda out: {"prediction_distance": distances(out.layer(OUTPUT), out.pairs)}),
    ("pairs", "input_distance", _input_distance),
    ("targets", "targets", _targets),
    ("loss", "loss", _loss),
    ("accuracy", "accuracy", lambda out: {"accuracy": float(np.mean(out.decisions() == out.classes))}),
    ("classifier", "classifier", _classifier),
)
"""Measure, what is missing where it fails, and function."""


def alignment(output: Array, targets: Array, pairs: Sequence[tuple[int, int]]) -> dict[str, Array]:
    """Target distance, w and loss of each pair, shape (pairs,) each.

    Args:
        output: what the network returns, shape (points, outputs).
        targets: what it should return, same shape.
        pairs: the pairs of points.
    """
    first, other = np.array(pairs).T
    dy, wanted = output[other] - output[first], targets[other] - targets[first]
    error = ((output - targets) ** 2).sum(axis=1) / 2
    return {
        "target_distance": distances(targets, pairs),
        "prediction_alignment": ((dy - wanted) * dy).sum(axis=1),
        "pair_loss": (error[first] + error[other]) / 2,
    }
