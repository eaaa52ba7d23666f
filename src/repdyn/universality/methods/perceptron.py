"""A trained perceptron in numpy: forward and its derivative along a direction, for analyses of stored parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.universality.methods.networks import LEAK


@dataclass(frozen=True)
class Perceptron:
    """Affine maps with a nonlinearity after each but, if `linear_end`, the last.

    Attributes:
        weights: one per layer, shape (units out, units in).
        biases: one per layer, shape (units out,).
        nonlinearity: "leaky relu", "relu", "tanh" or "none".
        linear_end: whether the last map stands alone, as on an output.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    nonlinearity: str
    linear_end: bool = True

    def __call__(self, x: Array) -> Array:
        """Output for points of shape (points, inputs)."""
        return self.along(x, np.zeros_like(x))[0]

    def along(self, x: Array, direction: Array) -> tuple[Array, Array]:
        """Output and derivative along a direction, both for points of shape (points, inputs)."""
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x, direction = x @ weight.T + bias, direction @ weight.T
            if not (self.linear_end and layer == last):
                x, slope = _apply(self.nonlinearity, x)
                direction = direction * slope
        return x, direction

    def derivative(self, x: Array, direction: Array) -> Array:
        """J(x) direction."""
        return self.along(x, direction)[1]

    def split(self, hidden: int) -> tuple[Perceptron, Perceptron]:
        """Encoder up to hidden layer `hidden` (from 0), with its nonlinearity, and decoder from there.

        Raises:
            ValueError: no such hidden layer.
        """
        if not 0 <= hidden < len(self.weights) - 1:
            raise ValueError(f"hidden layer {hidden} is out of range; layers 0 to {len(self.weights) - 2} exist")
        cut = hidden + 1
        return (
            Perceptron(self.weights[:cut], self.biases[:cut], self.nonlinearity, linear_end=False),
            Perceptron(self.weights[cut:], self.biases[cut:], self.nonlinearity),
        )


def from_flat(theta: NDArray, sizes: Sequence[int], nonlinearity: str) -> Perceptron:
    """A perceptron from its parameters, layer after layer, weights before biases.

    Args:
        theta: parameters, shape (parameters,).
        sizes: units of every layer, input first, output last.
        nonlinearity: as in `Perceptron`.

    Raises:
        ValueError: another number of parameters than these layers have.
    """
    wanted = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))
    if len(theta) != wanted:
        raise ValueError(f"got {len(theta)} parameters, expected {wanted} for layers of {list(sizes)} units")
    weights, biases, start = [], [], 0
    for fan_in, fan_out in pairwise(sizes):
        middle = start + fan_in * fan_out
        weights.append(np.asarray(theta[start:middle], float).reshape(fan_out, fan_in))
        start = middle + fan_out
        biases.append(np.asarray(theta[middle:start], float))
    return Perceptron(tuple(weights), tuple(biases), nonlinearity)


def _apply(nonlinearity: str, z: Array) -> tuple[Array, Array]:
    """Value and slope of the nonlinearity."""
    if nonlinearity == "tanh":
        a = np.tanh(z)
        return a, 1 - a**2
    below = {"leaky relu": LEAK, "relu": 0.0, "none": 1.0}[nonlinearity]
    slope = np.where(z > 0, 1.0, below)
    return z * slope, slope
