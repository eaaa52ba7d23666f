"""What every engine is asked and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repdyn.universality.methods.networks import Net

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Task:
    """Training of a network on two points by full-batch descent of L = 1/2 mean_i ||f(x_i) - y_i||^2, equation (1).

    Attributes:
        net: the network.
        X: inputs, shape (2, inputs).
        Y: targets, shape (2, outputs).
        rate: learning rate.
        every: epochs between two records; a record is made before that epoch's update.
        layers: hidden layers whose distance is recorded.
        stop: training of a trial ends at the first record whose loss is below this; 0 for never.
        optimiser: "sgd" or "adam".
    """

    net: Net
    X: Array
    Y: Array
    rate: float
    every: int
    layers: tuple[int, ...]
    stop: float = 0.0
    optimiser: str = "sgd"


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


def stopped(task: Task, loss: Array) -> Array:
    """Trials (trials,) whose last record is below `stop` or missing: they train no more."""
    last = loss[:, -1]
    return np.isnan(last) | (last < task.stop)
