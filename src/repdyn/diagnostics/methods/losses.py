"""The loss of what a network returns: the user's own, cross-entropy of logits or probabilities, squared error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.arguments import takes
from repdyn.diagnostics.methods.batches import Batch
from repdyn.diagnostics.methods.layers import Plan
from repdyn.diagnostics.methods.measures import IGNORED
from repdyn.diagnostics.methods.reader import OUTPUT, NetworkReader
from repdyn.diagnostics.methods.shapes import is_linear
from repdyn.diagnostics.methods.untouched import unchanged_random_state

OfOutput = Callable[[Tensor], Tensor]
CROSS_ENTROPY = "cross-entropy of the labels, mean over points"
HALF_MSE = "half the mean squared error over points and outputs"


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
