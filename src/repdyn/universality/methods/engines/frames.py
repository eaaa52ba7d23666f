"""What every engine is asked, a task, and what it returns, frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repdyn.universality.methods.networks import Net

Array = NDArray[np.floating]
OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class Task:
    """Training of a network on two points by full-batch descent of L = 1/2 mean_i ||f(x_i) - y_i||^2, equation (1).

    Attributes:
        net: the network.
        X: inputs, shape (2, inputs).
        Y: targets, shape (2, outputs).
        rate: learning rate.
        every: epochs between two records; a record is made before that epoch's update.
        layers: hidden layers whose distance is recorded; none given means the one halfway.
        stop: training of a trial ends at the first record whose loss is below this; 0 for never.
        optimizer: "sgd" or "adam".

    Raises:
        ValueError: a data set, layer, rate or optimizer that cannot be.
    """

    net: Net
    X: Array
    Y: Array
    rate: float
    every: int = 1
    layers: tuple[int, ...] = ()
    stop: float = 0.0
    optimizer: str = "sgd"

    def __post_init__(self) -> None:
        """Arrays for lists; refuses tasks that cannot be."""
        net, X, Y = self.net, np.asarray(self.X, float), np.asarray(self.Y, float)
        if X.shape != (2, net.inputs) or Y.shape != (2, net.outputs):
            wanted = f"(2, {net.inputs}) and (2, {net.outputs})"
            raise ValueError(f"X and Y have shapes {X.shape} and {Y.shape}; the network wants {wanted}")
        if not (X[0] != X[1]).any():
            raise ValueError("the two inputs are equal (dx = 0); they cannot be told apart: expected dx above 0")
        if not self.rate > 0 or self.every < 1:
            raise ValueError(f"learning rate {self.rate} and every {self.every} must be above 0")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer {self.optimizer!r} is not one of {', '.join(OPTIMIZERS)}")
        layers = tuple(self.layers) or (net.halfway,)
        if outside := [layer for layer in layers if not 0 <= layer < net.hidden]:
            raise ValueError(f"hidden layer {outside[0]} is out of range; the network has layers 0 to {net.hidden - 1}")
        for name, value in (("X", X), ("Y", Y), ("layers", layers)):
            object.__setattr__(self, name, value)


class Frames(NamedTuple):
    """Records, float64; NaN after a trial has stopped.

    Attributes:
        h: squared representational distance, shape (trials, frames, layers).
        outputs: shape (trials, frames, 2, outputs).
        loss: shape (trials, frames).
    """

    h: Array
    outputs: Array
    loss: Array


def empty_frames(task: Task, trials: int, epochs: int) -> Frames:
    """Frames of NaN for the records of epochs 0, every, ... below `epochs`."""
    count = -(-epochs // task.every)
    outputs = task.Y.shape[1]
    return Frames(
        np.full((trials, count, len(task.layers)), np.nan),
        np.full((trials, count, 2, outputs), np.nan),
        np.full((trials, count), np.nan),
    )


def stopped(task: Task, loss: Array) -> NDArray[np.bool_]:
    """Trials (trials,) whose last record is below `stop` or missing: they train no more."""
    last = loss[:, -1]
    return np.isnan(last) | (last < task.stop)
