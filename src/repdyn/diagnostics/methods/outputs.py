"""The measures of what a network returns for all points: distances, targets, loss, accuracy, classifier."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.forward import named_modules, unchanged_random_state
from repdyn.diagnostics.methods.inputs import Batch
from repdyn.diagnostics.methods.layers import Plan
from repdyn.diagnostics.methods.measures import IGNORED, distances
from repdyn.diagnostics.methods.reader import OUTPUT, NetworkReader
from repdyn.diagnostics.theory.collapse import classifier_collapse

OfOutput = Callable[[Tensor], Tensor]
CROSS_ENTROPY = "cross-entropy of the labels, mean over points"
HALF_MSE = "half the mean squared error over points and outputs"


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

    def decisions(self) -> np.ndarray:
        """The classes that the network decides for, of the points that have one."""
        output, classes = self.real(), self.classes
        check_classes(classes, output.shape[1])
        return output[self.counted].argmax(axis=1)


def _prediction_distance(outputs: Outputs) -> dict[str, object]:
    return {"prediction_distance": distances(outputs.layer(OUTPUT), outputs.pairs)}


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
    check_classes(outputs.classes, output.shape[1])
    logits, labels = torch.from_numpy(output[outputs.counted]), torch.from_numpy(outputs.classes)
    return {"loss": float(nn.functional.cross_entropy(logits, labels))}


def _accuracy(outputs: Outputs) -> dict[str, object]:
    return {"accuracy": float(np.mean(outputs.decisions() == outputs.classes))}


def _classifier(outputs: Outputs) -> dict[str, object]:
    """NC2 of the classifier, NC3, NC4."""
    name = outputs.classifier
    if not name:
        raise ValueError("no nn.Linear returns what the network returns, or its order; name one: classifier=")
    module = dict(named_modules(outputs.planned.reader.model)).get(name.partition("#")[0])
    W = getattr(module, "weight", None)
    W = W().dequantize() if callable(W) else W  # of quantized maps
    if not isinstance(W, Tensor) or W.ndim != 2:
        raise ValueError(f"{name} has no matrix of weights")
    if not np.array_equal(np.unique(outputs.classes), np.arange(len(W))):
        raise ValueError(f"the labels are not 0 .. {len(W) - 1}, a point of each of the classifier's classes at least")
    H = outputs.layer(f"{name}:input")[outputs.counted]
    return {**classifier_collapse(H, outputs.classes, W.detach().cpu().double().numpy(), outputs.decisions())}


OF_OUTPUT: tuple[tuple[str, str, Callable[[Outputs], Mapping[str, object]]], ...] = (
    ("pairs", "prediction_distance", _prediction_distance),
    ("pairs", "input_distance", _input_distance),
    ("targets", "targets", _targets),
    ("loss", "loss", _loss),
    ("accuracy", "accuracy", _accuracy),
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


def check_classes(labels: np.ndarray, outputs: int) -> None:
    """Refuses labels that are no places among the outputs.

    Raises:
        ValueError: labels beyond the outputs.
    """
    if labels.min() < 0 or labels.max() >= outputs or outputs < 2:
        raise ValueError(
            f"labels run from {labels.min()} to {labels.max()} but the network has {outputs} outputs per point; give "
            "targets instead, or labels from 0"
        )


def one_hot(labels: np.ndarray, outputs: int) -> Array:
    """The targets that labels mean, shape (points, outputs).

    Raises:
        ValueError: labels beyond the outputs.
    """
    check_classes(labels, outputs)
    targets = np.zeros((len(labels), outputs))
    targets[np.arange(len(labels)), labels] = 1
    return targets


def loss_name(loss: Callable[..., Tensor]) -> str:
    """A user's loss in words.

    Example:
        >>> loss_name(torch.nn.functional.cross_entropy), loss_name(torch.nn.MSELoss())
        ("the user's loss cross_entropy", "the user's loss MSELoss")
    """
    return f"the user's loss {getattr(loss, '__name__', type(loss).__name__)}"


def of_output(loss: Callable[..., Tensor], answers: np.ndarray | None) -> OfOutput:
    """A user's loss as a function of the output alone.

    Args:
        loss: of outputs and labels or targets, as torch's are, or of outputs alone.
        answers: these labels or targets, points first.

    Raises:
        ValueError: it needs labels or targets and there are none.
    """
    if answers is None:
        if not _takes(loss, 1):
            raise ValueError("loss takes labels or targets next to the outputs; give labels= or targets=")
        return loss
    if not _takes(loss, 2):
        return loss
    values = torch.as_tensor(answers)

    def with_answers(output: Tensor) -> Tensor:
        return loss(output, values.to(output) if values.is_floating_point() else values.to(output.device).long())

    return with_answers


def _takes(loss: Any, arguments: int) -> bool:
    """Whether it can be called with so many positional arguments; yes where that is not known."""
    try:
        inspect.signature(loss.forward if isinstance(loss, nn.Module) else loss).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # some compiled functions have no signature
        return True
    return True


def over_all_points(reader: NetworkReader, loss: OfOutput, axis: int) -> float:
    """A user's loss on what the network returns for all points, in the shape in which it returns it.

    Args:
        reader: network and inputs.
        loss: of the output.
        axis: axis of the output that counts points.

    Raises:
        ValueError: the loss is no single number.
    """
    outputs = [reader.output(reader.run(batch, lambda *_: None)) for batch in reader.inputs.batches]
    with torch.no_grad(), unchanged_random_state(reader.model):
        value = torch.as_tensor(loss(torch.cat(outputs, axis) if len(outputs) > 1 else outputs[0]))
    if value.numel() != 1:
        raise ValueError(f"the loss has shape {tuple(value.shape)}; it must return a single number, a mean over points")
    return float(value)


def half_mse(output: Array, targets: Array) -> float:
    """Half the mean squared error over points and outputs, both of shape (points, outputs)."""
    return float(np.mean((output - targets) ** 2) / 2)


def gradient_loss(
    reader: NetworkReader,
    loss: Callable[..., Tensor] | None,
    answers: np.ndarray | None,
    labels: np.ndarray | None,
    targets: np.ndarray | None,
    most: int,
) -> tuple[Batch, OfOutput]:
    """Points whose gradient is taken, and the loss of what the network returns for them.

    Args:
        reader: network and inputs.
        loss: the user's; None takes the usual one.
        answers: targets or labels as the user gave them, for the user's loss.
        labels: class of each point.
        targets: what the network should return.
        most: points at most, unless the user's loss may hold its answers, for all points of the batch.
    """
    inputs = reader.inputs
    if loss is not None:
        first = answers if answers is None or len(inputs.batches) == 1 else answers[: inputs.sizes[0]]
        return inputs.batches[0], of_output(loss, first)
    batch, indices = inputs.spread(most)
    return batch, usual_loss(_of_points(labels, indices), _of_points(targets, indices))


def usual_loss(labels: np.ndarray | None, targets: np.ndarray | None) -> OfOutput:
    """Cross-entropy of labels, else half the mean squared error of targets, else of zero."""

    def loss(output: Tensor) -> Tensor:
        flat = output.flatten(1) if output.ndim > 1 else output[:, None]
        if targets is None and labels is not None and len(labels) == len(flat) and labels.max() < flat.shape[1]:
            return nn.functional.cross_entropy(flat, torch.as_tensor(labels).to(flat.device).long())
        if targets is not None and np.size(targets) == flat.numel():
            return ((flat - torch.as_tensor(targets).to(flat).reshape(flat.shape)) ** 2).mean() / 2
        return (flat**2).mean() / 2

    return loss


def _of_points(values: np.ndarray | None, indices: np.ndarray | None) -> np.ndarray | None:
    """Labels or targets of some points; all where they are too few for that."""
    return values if values is None or indices is None or len(values) <= indices[-1] else values[indices]
