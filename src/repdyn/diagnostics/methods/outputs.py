"""The measures of what a network returns for all points: distances, targets, loss, accuracy, classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.arguments import takes
from repdyn.diagnostics.methods.batches import Batch
from repdyn.diagnostics.methods.forward import named_modules
from repdyn.diagnostics.methods.layers import Plan
from repdyn.diagnostics.methods.measures import IGNORED, distances
from repdyn.diagnostics.methods.reader import OUTPUT, NetworkReader
from repdyn.diagnostics.methods.shapes import is_linear
from repdyn.diagnostics.methods.untouched import unchanged_random_state, undisturbed
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


def _accuracy(outputs: Outputs) -> dict[str, object]:
    return {"accuracy": float(np.mean(outputs.decisions() == outputs.classes))}


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


class Form(NamedTuple):
    """What outputs are: probabilities, or else logits, as log-probabilities are.

    Attributes:
        probabilities: whether they are these.
        alone: one output for two classes.
        separate: a sigmoid of each class, or its logarithm, so that several may be near 1.
    """

    probabilities: bool
    alone: bool = False
    separate: bool = False


def form_of(output: Tensor, labels: Tensor, planned: Plan) -> Form:
    """What the outputs of points with labels are.

    Outputs that are not negative and of which each point's sum is 1 are probabilities; others within [0, 1] that no
    linear map returns are one for each class, as of a sigmoid. One output for two classes is a probability where a
    sigmoid returns it, a logit where a linear map does or where some lie outside [0, 1].

    Args:
        output: shape (points, outputs).
        labels: class of each point.
        planned: the network.

    Raises:
        ValueError: labels beyond the outputs, or outputs of which this cannot be told.
    """
    ends = planned.ends_in
    sigmoid, logarithm = (any(isinstance(module, kind) for module in ends) for kind in (nn.Sigmoid, nn.LogSigmoid))
    between = bool(((output >= 0) & (output <= 1)).all()) and not any(map(is_linear, ends))
    if output.shape[1] == 1:
        if int(labels.min()) < 0 or int(labels.max()) > 1:
            raise ValueError(
                f"labels run from {labels.min()} to {labels.max()} but the network has one output per point, which "
                "tells the classes 0 and 1 apart"
            )
        if (between and not sigmoid) or logarithm:
            what = "the logarithm of a probability" if logarithm else "between 0 and 1, a probability or a logit"
            raise ValueError(
                f"the one output per point is {what}; give output=, a function that returns the logits of both "
                "classes, shape (points, 2)"
            )
        return Form(sigmoid, alone=True)
    check_classes(labels.numpy(), output.shape[1])
    eps = planned.shapes[OUTPUT].eps
    rounding = 4 * (eps + output.shape[1] ** 0.5 * torch.finfo(torch.float32).eps)  # of the exponentials and their sum
    sums = output.detach().double().sum(dim=1)
    whole = bool((output >= 0).all() and ((sums - 1).abs() <= rounding).all())
    return Form(whole, separate=sigmoid or logarithm or (between and not whole))


def cross_entropy(output: Tensor, labels: Tensor, form: Form) -> Tensor:
    """Mean over points of the negative logarithm of the probability of a point's class.

    Args:
        output: shape (points, outputs).
        labels: class of each point, shape (points,).
        form: what the outputs are.

    Raises:
        ValueError: a probability that was rounded to 0, or one for each class that says nothing of the others.
    """
    if form.separate:
        raise ValueError(
            "the outputs are as a sigmoid of each class, or its logarithm, not one distribution; give loss="
        )
    if not form.probabilities:
        functional = nn.functional
        if form.alone:
            return functional.binary_cross_entropy_with_logits(output[:, 0], labels.to(output))
        return functional.cross_entropy(output, labels)
    both = torch.cat([1 - output, output], dim=1) if form.alone else output
    right = both.gather(1, labels[:, None])
    if zeros := int((right == 0).sum()):
        raise ValueError(
            f"the probability of its class is rounded to 0 at {zeros} of {len(right)} points; give output=, the logits"
        )
    return -right.log().mean()


def check_no_map(lengths: Sequence[int]) -> None:
    """Refuses several numbers for each class and point.

    Args:
        lengths: of the axes of one point.

    Raises:
        ValueError: more than one axis is longer than 1.
    """
    if sum(length > 1 for length in lengths) > 1:
        raise ValueError(
            f"the network returns shape {tuple(lengths)} for each point, which has one label; give output=, a function "
            "that returns one number for each class, shape (points, classes)"
        )


def check_classes(labels: np.ndarray, outputs: int) -> None:
    """Refuses labels that are no places among the outputs.

    Raises:
        ValueError: labels beyond the outputs.
    """
    if outputs == 1:
        raise ValueError("the network has one output per point, of which labels are no targets; give targets instead")
    if labels.min() < 0 or labels.max() >= outputs:
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
        if not takes(loss, 1):
            raise ValueError("loss takes labels or targets next to the outputs; give labels= or targets=")
        return loss
    if not takes(loss, 2):
        return loss
    values = torch.as_tensor(answers)

    def with_answers(output: Tensor) -> Tensor:
        return loss(output, values.to(output) if values.is_floating_point() else values.to(output.device).long())

    return with_answers


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
    if value.isnan():
        raise ValueError("the user's loss is NaN")
    return float(value)


def half_mse(output: Array, targets: Array) -> float:
    """Half the mean squared error over points and outputs, both of shape (points, outputs)."""
    return float(np.mean((output - targets) ** 2) / 2)


def gradient_loss(
    planned: Plan,
    loss: Callable[..., Tensor] | None,
    answers: np.ndarray | None,
    labels: np.ndarray | None,
    targets: np.ndarray | None,
    most: int,
) -> tuple[Batch, OfOutput]:
    """Points whose gradient is taken, and the loss of what the network returns for them.

    Args:
        planned: network and inputs.
        loss: the user's; None takes the usual one.
        answers: targets or labels as the user gave them, for the user's loss.
        labels: class of each point.
        targets: what the network should return.
        most: points at most, unless the user's loss may hold its answers, for all points of the batch.
    """
    inputs = planned.reader.inputs
    if loss is not None:
        first = answers if answers is None or len(inputs.batches) == 1 else answers[: inputs.sizes[0]]
        return inputs.batches[0], of_output(loss, first)
    batch, indices = inputs.spread(most)
    return batch, usual_loss(planned, _of_points(labels, indices), _of_points(targets, indices))


def usual_loss(planned: Plan, labels: np.ndarray | None, targets: np.ndarray | None) -> OfOutput:
    """Cross-entropy of labels that fit the output, else half the mean squared error of targets, else of zero."""

    def loss(output: Tensor) -> Tensor:
        flat = output.flatten(1) if output.ndim > 1 else output[:, None]
        if targets is None and labels is not None and len(labels) == len(flat):
            counted = torch.from_numpy(labels != IGNORED)
            rows, classes = flat[counted.to(flat.device)], torch.from_numpy(labels)[counted]
            try:
                check_no_map(output.shape[1:])
                return cross_entropy(rows, classes.to(rows.device), form_of(rows, classes, planned))
            except ValueError:
                return (flat**2).mean() / 2
        if targets is not None and np.size(targets) == flat.numel():
            return ((flat - torch.as_tensor(targets).to(flat).reshape(flat.shape)) ** 2).mean() / 2
        return (flat**2).mean() / 2

    return loss


def _of_points(values: np.ndarray | None, indices: np.ndarray | None) -> np.ndarray | None:
    """Labels or targets of some points; all where they are too few for that."""
    return values if values is None or indices is None or len(values) <= indices[-1] else values[indices]
