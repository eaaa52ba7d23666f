"""Which loss is recorded and differentiated: the user's own, else the usual one of labels or of targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.forward import unchanged_random_state
from repdyn.diagnostics.methods.reader import NetworkReader

OfOutput = Callable[[Tensor], Tensor]
CROSS_ENTROPY = "cross-entropy of the labels, mean over points"
HALF_MSE = "half the mean squared error over points and outputs"


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
        loss: of outputs and labels or targets, as torch's own are, or of outputs alone.
        answers: these labels or targets, points first.

    Raises:
        ValueError: it needs labels or targets and there are none.
    """
    if answers is None:
        if not _takes(loss, 1):
            raise ValueError("loss takes labels or targets beside the outputs; give labels= or targets=")
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


def cross_entropy(output: Array, labels: np.ndarray) -> float:
    """Torch's cross-entropy, mean over points.

    Args:
        output: logits, shape (points, classes).
        labels: class of each point, shape (points,).
    """
    return float(nn.functional.cross_entropy(torch.from_numpy(output), torch.from_numpy(labels)))


def half_mse(output: Array, targets: Array) -> float:
    """Half the mean squared error over points and outputs, both of shape (points, outputs)."""
    return float(np.mean((output - targets) ** 2) / 2)


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


def of_points(values: np.ndarray | None, indices: np.ndarray | None) -> np.ndarray | None:
    """Labels or targets of some points; all where they are too few for that."""
    return values if values is None or indices is None or len(values) <= indices[-1] else values[indices]
