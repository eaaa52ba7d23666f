"""Networks of the two-point experiments: what they are and where they start (Table 1, section B.1).

A network of L hidden layers has L + 1 affine maps with biases and no nonlinearity on the output. Weights are Xavier
normal, gain sqrt(2/(fan_in + fan_out)), biases zero. A convolution network has one dense map from the input, L + 1
one-dimensional convolutions (kernel 11, no padding), and one dense map to the output; "L hidden layers" are its
convolutions between channels. The hidden representation H stands halfway.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.floating]]
Nonlinearity = Literal["leaky relu", "relu", "tanh", "elu", "swish", "none"]
NONLINEARITIES: tuple[Nonlinearity, ...] = ("none", "relu", "leaky relu", "tanh", "elu", "swish")
LEAK = 0.01


@dataclass(frozen=True)
class Net:
    """A network for two points.

    Attributes:
        nonlinearity: one of `NONLINEARITIES`.
        gain: gain of the initial weights, above 0.
        units: neurons per hidden layer.
        hidden: hidden layers, 1 or more.
        connections: "dense", "skip" (each hidden layer from the third on adds the one two before) or "convolution".
        dropout: probability that an input of an affine map is dropped while training.
        inputs: input dimension.
        outputs: output dimension.
        channels: channels of a convolution network.
        kernel: kernel size of a convolution network.
    """

    nonlinearity: Nonlinearity
    gain: float
    units: int
    hidden: int
    connections: Literal["dense", "skip", "convolution"] = "dense"
    dropout: float = 0.0
    inputs: int = 1
    outputs: int = 1
    channels: int = 20
    kernel: int = 11

    def __post_init__(self) -> None:
        """Refuses networks that cannot be built."""
        if self.nonlinearity not in NONLINEARITIES:
            raise ValueError(f"nonlinearity {self.nonlinearity!r} is not one of {', '.join(NONLINEARITIES)}")
        if not self.gain > 0:
            raise ValueError(f"gain is {self.gain}; expected a value above 0: at 0 the weights never move")
        if min(self.units, self.hidden, self.inputs, self.outputs) < 1:
            raise ValueError("units, hidden, inputs and outputs must all be 1 or more")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; expected a probability from 0 to below 1")
        if self.connections == "convolution" and self.left < 1:
            raise ValueError(
                f"{self.hidden + 1} convolutions of kernel {self.kernel} use up all {self.units} units; "
                f"expected more than {(self.hidden + 1) * (self.kernel - 1)} units, or a smaller kernel"
            )

    @property
    def left(self) -> int:
        """Length that is left after all convolutions."""
        return self.units - (self.hidden + 1) * (self.kernel - 1)

    @property
    def halfway(self) -> int:
        """Index of the hidden layer halfway: 10 of 20 and 1 of 2 (from 0), the 5th of 10 convolutions."""
        return self.hidden // 2 if self.connections != "convolution" else self.hidden // 2 - 1


def parameter_counts(net: Net, layer: int) -> tuple[int, int]:
    """Weights and biases of a dense network's encoder, up to the hidden layer (from 0), and of its decoder after it."""
    between = net.units * (net.units + 1)
    encoder = (net.inputs + 1) * net.units + layer * between
    return encoder, (net.hidden - 1 - layer) * between + (net.units + 1) * net.outputs


def initial_weights(net: Net, generator: np.random.Generator) -> Weights:
    """Weights at initialization, float64; networks of one shape share the draws, whatever their gain.

    Section B.1: Xavier's normal distribution times the gain, biases zero.

    Returns:
        Dense: "first" (units, inputs), "middle" (hidden - 1, units, units), "last" (outputs, units), "biases"
        (hidden, units), "last_bias" (outputs,). Convolution: "first", "kernel_0" ... (out, in, kernel), "biases",
        "bias_0" ..., "last", "last_bias".
    """
    if net.connections == "convolution":
        return _convolution(net, generator)
    n = net.units
    return {
        "first": _xavier(net, generator, (n, net.inputs), net.inputs + n),
        "middle": _xavier(net, generator, (net.hidden - 1, n, n), 2 * n),
        "last": _xavier(net, generator, (net.outputs, n), n + net.outputs),
        "biases": np.zeros((net.hidden, n)),
        "last_bias": np.zeros(net.outputs),
    }


def _convolution(net: Net, generator: np.random.Generator) -> Weights:
    weights: Weights = {
        "first": _xavier(net, generator, (net.units, net.inputs), net.inputs + net.units),
        "biases": np.zeros((1, net.units)),
    }
    sizes = [1, *[net.channels] * net.hidden, 1]
    for place, (inside, outside) in enumerate(pairwise(sizes)):
        shape = (outside, inside, net.kernel)
        weights[f"kernel_{place}"] = _xavier(net, generator, shape, (inside + outside) * net.kernel)
        weights[f"bias_{place}"] = np.zeros(outside)
    weights["last"] = _xavier(net, generator, (net.outputs, net.left), net.left + net.outputs)
    weights["last_bias"] = np.zeros(net.outputs)
    return weights


def _xavier(net: Net, generator: np.random.Generator, shape: tuple[int, ...], fans: int) -> NDArray[np.float64]:
    return net.gain * np.sqrt(2 / fans) * generator.standard_normal(shape)
