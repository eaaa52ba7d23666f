"""The networks that are compared, alike in everything but what they are compared for; several seeds in one batch.

Depth L, width w, ReLU, one linear map out. With z_l = W_l a_{l-1} + b_l:

- `plain`: a_l = relu(z_l);
- `batch norm`: a_l = relu(g (z_l - mean) / deviation + c), statistics of the batch, g and c learned;
- `recentered`: a_l = relu(z_l - mean), batch normalization without its rescaling: where the odd point lives;
- `residual`: a_l = a_{l-1} + (1/L) (W_l relu(a_{l-1}) + b_l), from a_0, a linear map of the input;
- `leaky`: a_l = (1 - Lt/L) a_{l-1} + (1/L) (W_l relu(a_{l-1}) + b_l), from the same a_0 and the same weights.

A network holds weights of shape (seeds, out, in), so that one product serves all seeds, and takes inputs of shape
(points, in) to (seeds, points, out); `single` is one seed's network as any torch module is. Seeds and kinds share the
normal numbers behind their weights, so all comparisons are paired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.across_papers.methods import compiled_descent
from repdyn.base.streams import Stream

Kind = Literal["plain", "batch norm", "recentered", "residual", "leaky"]
STREAMS = ("residual", "leaky")
VARIANCE_FLOOR = 1e-5  # the usual eps of batch normalization
DIVERGED = 1e60  # losses from which a network has diverged: its activations no longer have finite squares everywhere
KERNELS = {
    "plain": compiled_descent.PLAIN,
    "recentered": compiled_descent.RECENTERED,
    "batch norm": compiled_descent.NORMALIZED,
    "residual": compiled_descent.STREAM,
    "leaky": compiled_descent.STREAM,
}


class Linear(nn.Module):
    """A linear map per seed, z = a W^T + b."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(weight.new_zeros(weight.shape[:-1]))

    def forward(self, a: Tensor) -> Tensor:
        """Images of the points, shape (seeds, points, out)."""
        return a @ self.weight.mT + self.bias.unsqueeze(-2)


class Layer(nn.Module):
    """A hidden layer of one of the kinds, see the module; `leak` is Lt of the leaky one, `depth` its L."""

    def __init__(self, kind: Kind, weight: Tensor, leak: float, depth: int) -> None:
        super().__init__()
        self.kind, self.linear, self.depth = kind, Linear(weight), depth
        self.kept = 1 - leak / depth if kind == "leaky" else 1.0
        if kind == "batch norm":
            self.scale = nn.Parameter(weight.new_ones(weight.shape[:-1]))
            self.shift = nn.Parameter(weight.new_zeros(weight.shape[:-1]))

    def forward(self, a: Tensor) -> Tensor:
        """The representation a_l from a_{l-1}."""
        if self.kind in STREAMS:
            return self.kept * a + self.linear(torch.relu(a)) / self.depth
        z = self.linear(a)
        if self.kind in ("batch norm", "recentered"):
            z = z - z.mean(dim=-2, keepdim=True)
        if self.kind == "batch norm":
            z = z / (z.pow(2).mean(dim=-2, keepdim=True) + VARIANCE_FLOOR).sqrt()
            z = self.scale.unsqueeze(-2) * z + self.shift.unsqueeze(-2)
        return torch.relu(z)


class Network(nn.Module):
    """Hidden layers and a linear map out; networks with a stream begin with a linear map in."""

    def __init__(self, kind: Kind, weights: list[Tensor], leak: float) -> None:
        super().__init__()
        self.kind, self.leak = kind, leak
        first, *hidden, last = weights
        self.into = Linear(first) if kind in STREAMS else nn.Identity()
        inner = hidden if kind in STREAMS else [first, *hidden[1:]]
        self.layers = nn.ModuleList(Layer(kind, weight, leak, len(inner)) for weight in inner)
        self.output = Linear(last)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the points, shape (seeds, points, outputs)."""
        a = self.into(x)
        for layer in self.layers:
            a = layer(a)
        return self.output(a)

    def at_half_depth(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Representations at half depth, shape (seeds, points, width), and outputs, (seeds, points, outputs)."""
        a = self.into(x)
        for number, layer in enumerate(self.layers):
            a = layer(a)
            if number == len(self.layers) // 2 - 1:
                middle = a
        return middle, self.output(a)

    def within(self, basis: Tensor) -> Network:
        """The networks on inputs given by their coordinates in an orthonormal basis, shape (inputs, coordinates).

        For points in the span of the basis outputs and their training are the same: gradients of the first map lie in
        the span, and what the weights have outside it meets no point.
        """
        first, *others = self._weights
        return Network(self.kind, [first @ basis, *(weight.clone() for weight in others)], self.leak)

    def single(self, seed: int) -> Network:
        """A network of its own with one seed's parameters, as they are now."""
        network = Network(self.kind, [weight[seed].clone() for weight in self._weights], self.leak)
        follow(network, self, seed)
        return network

    @property
    def first(self) -> Linear:
        """The map that takes the input."""
        return self.into if isinstance(self.into, Linear) else self.hidden[0].linear

    @property
    def hidden(self) -> list[Layer]:
        """The hidden layers, first to last."""
        return [cast("Layer", layer) for layer in self.layers]

    @property
    def _weights(self) -> list[Tensor]:
        """All weights in the order in which a network is made of them."""
        maps = [self.first, *(layer.linear for layer in self.hidden), self.output]
        return [linear.weight.detach() for linear in maps]


@torch.no_grad()
def follow(single: nn.Module, batched: Network, seed: int) -> None:
    """Gives a seed's own network the parameters that the batch of seeds has now."""
    for own, shared in zip(single.parameters(), batched.parameters(), strict=True):
        own.copy_(shared[seed])


def build(
    kind: Kind,
    inputs: int,
    width: int,
    depth: int,
    outputs: int,
    *,
    gain: float,
    leak: float,
    stream: Stream,
    seeds: int,
) -> Network:
    """Networks of one kind for several seeds.

    Weights are gain sqrt(2 / in) times normal numbers, sqrt(1 / in) times for the map out; in networks with a stream
    all are sqrt(1 / (3 in)) times, the variance of torch's linear layers. Biases are zero.

    Args:
        kind: see the module.
        inputs: dimension of the points.
        width: neurons per hidden layer.
        depth: hidden layers, L.
        outputs: dimension of the outputs.
        gain: of the layers without a stream.
        leak: Lt, of the leaky network.
        stream: random stream; kinds draw the same numbers from it.
        seeds: how many.
    """
    shapes = [(width, inputs), *[(width, width)] * depth, (outputs, width)]
    normal = [_drawn(stream, place, shape, seeds) for place, shape in enumerate(shapes)]
    scales = [gain * np.sqrt(2 / size[1]) for size in shapes]
    if kind in STREAMS:
        scales = [np.sqrt(1 / (3 * size[1])) for size in shapes]
    else:
        scales[-1] = np.sqrt(1 / width)
    return Network(kind, [float(scale) * part for scale, part in zip(scales, normal, strict=True)], leak)


def _drawn(stream: Stream, place: int, shape: tuple[int, int], seeds: int) -> Tensor:
    drawn = np.stack([stream.generator(seed, "weights", place).standard_normal(shape) for seed in range(seeds)])
    return torch.from_numpy(drawn)


def descend(
    network: Network,
    X: Tensor,
    Y: Tensor,
    *,
    rate: float,
    decay: float,
    steps: int,
    moments: Collection[int] | None = None,
    momentum: float = 0.0,
) -> Iterator[tuple[int, np.ndarray]]:
    """Full-batch descent on half the squared error per point plus (decay / 2) |parameters|^2, in place, seed by seed.

    Heavy-ball momentum adds its share of the last move to each.

    Args:
        network: one network per seed; changed.
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        rate: learning rate.
        decay: strength of the weight decay.
        steps: number of steps.
        moments: numbers of steps before which it yields; None for all.
        momentum: share of the last move in the next one.

    Yields:
        Before the steps in `moments` (all of them, where none are named) and after the last, the number of steps done
        and the losses of the seeds, shape (seeds,), without decay. Of a network that has diverged all is NaN.
    """
    points = (X.contiguous().numpy(), Y.contiguous().numpy())
    arrays, done = _arrays(network), 0
    moves, pace = [np.zeros_like(part) for part in arrays], (rate, 1 - rate * decay, momentum)
    for stop in sorted({*(range(steps) if moments is None else moments), steps}):
        if stop > done:
            _train(network, arrays, moves, *points, pace, stop - done)
        done, losses = stop, _train(network, arrays, moves, *points, pace, 0)
        gone = ~(losses < DIVERGED)
        for part in (*arrays, losses):
            part[gone] = np.nan
        _put(network, arrays)
        yield stop, losses


def _train(
    network: Network,
    arrays: Sequence[np.ndarray],
    moves: Sequence[np.ndarray],
    X: np.ndarray,
    Y: np.ndarray,
    pace: tuple[float, float, float],
    steps: int,
) -> np.ndarray:
    """Steps of every seed on its part of the arrays, in place; the losses before them, shape (seeds,)."""
    layer = network.hidden[0]
    about = (KERNELS[network.kind], (float(layer.kept), 1 / layer.depth), VARIANCE_FLOOR, X, Y)
    of_seeds = zip(zip(*arrays, strict=True), zip(*moves, strict=True), strict=True)
    return np.array([compiled_descent.train(*about, *maps_and_moves, pace, steps) for maps_and_moves in of_seeds])


def _parts(network: Network) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Parameters as the compiled descent wants them: single ones (first, last), and those stacked over layers."""
    first = network.first
    inner = [layer.linear for layer in network.hidden if layer.linear is not first]
    scaled = network.hidden if network.kind == "batch norm" else []
    stacked: list[list[Tensor]] = [[layer.weight for layer in inner], [layer.bias for layer in inner]]
    stacked += [[layer.scale for layer in scaled], [layer.shift for layer in scaled]]
    return [first.weight, first.bias, network.output.weight, network.output.bias], stacked


def _arrays(network: Network) -> list[np.ndarray]:
    """Copies of the parameters in the order of `compiled_descent.train`, seeds first."""
    single, stacked = _parts(network)
    none = torch.empty((len(single[0]), 0, 0), dtype=torch.float64)
    copies = [part.detach().numpy().copy() for part in single]
    layers = [(torch.stack(parts, dim=1) if parts else none).detach().numpy() for parts in stacked]
    return [*copies[:2], *layers[:2], *copies[2:], *layers[2:]]


@torch.no_grad()
def _put(network: Network, arrays: Sequence[np.ndarray]) -> None:
    """Gives the network the parameters in the arrays."""
    single, stacked = _parts(network)
    for part, array in zip(single, (*arrays[:2], *arrays[4:6]), strict=True):
        part.copy_(torch.from_numpy(array))
    for parts, array in zip(stacked, (*arrays[2:4], *arrays[6:]), strict=True):
        for place, part in enumerate(parts):
            part.copy_(torch.from_numpy(array[:, place]))
