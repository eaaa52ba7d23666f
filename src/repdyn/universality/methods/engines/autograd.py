"""The reference engine: plain PyTorch, automatic differentiation, all trials side by side.

It is what the other engines are tested against, and the only one for convolutions with dropout or Adam. Trials share no
number: their losses are summed, so each parameter sees its own trial alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from repdyn.universality.methods.engines.frames import Frames, Task, empty_frames, stopped
from repdyn.universality.methods.networks import LEAK, Net, Weights

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda z: z,
    "relu": torch.relu,
    "leaky relu": lambda z: functional.leaky_relu(z, LEAK),
    "tanh": torch.tanh,
    "elu": functional.elu,
    "swish": functional.silu,
}
Parameters = dict[str, Tensor]


def hidden_layers(net: Net, weights: Parameters, X: Tensor, masks: Iterator[Tensor] | None = None) -> list[Tensor]:
    """Hidden representations of every layer, each (trials, 2, units or channels x length).

    Args:
        net: the network.
        weights: parameters with a leading axis of trials.
        X: inputs, shape (2, inputs).
        masks: multiplies the input of each affine map in turn; None while not training.
    """
    phi, trials = ACTIVATIONS[net.nonlinearity], len(weights["first"])
    a = X.expand(trials, *X.shape)
    if net.connections == "convolution":
        return _convolved(net, weights, phi(_affine(a, weights["first"], weights["biases"][:, 0])))
    layers: list[Tensor] = []
    matrices = (weights["first"], *weights["middle"].unbind(1))  # one unbind: its gradient is one stack
    for layer, (W, b) in enumerate(zip(matrices, weights["biases"].unbind(1), strict=True)):
        a = phi(_affine(_masked(a, masks), W, b))
        if net.connections == "skip" and layer >= 2:
            a = a + layers[-2]
        layers.append(a)
    return layers


def _affine(a: Tensor, W: Tensor, b: Tensor) -> Tensor:
    return torch.baddbmm(b[:, None, :], a, W.transpose(1, 2))


def _masked(a: Tensor, masks: Iterator[Tensor] | None) -> Tensor:
    return a if masks is None else a * next(masks)


def _convolved(net: Net, weights: Parameters, a: Tensor) -> list[Tensor]:
    """Convolutions with one group per trial, so that one call serves all."""
    phi, trials = ACTIVATIONS[net.nonlinearity], len(a)
    a, layers = a.transpose(0, 1), []
    for place in range(net.hidden + 1):
        kernel, bias = weights[f"kernel_{place}"], weights[f"bias_{place}"]
        a = phi(functional.conv1d(a, kernel.flatten(0, 1), bias.flatten(), groups=trials))
        layers.append(a.unflatten(1, (trials, -1)).flatten(2).transpose(0, 1))
    return layers


def outputs(net: Net, weights: Parameters, hidden: list[Tensor], masks: Iterator[Tensor] | None = None) -> Tensor:
    """Outputs of the network, shape (trials, 2, outputs).

    Args:
        net: the network.
        weights: parameters with a leading axis of trials.
        hidden: representations of the hidden layers, one row per point: (trials, 2, ...).
        masks: dropout masks, layer after layer; None without dropout.
    """
    return _affine(_masked(hidden[-1], masks), weights["last"], weights["last_bias"])


def advance(task: Task, weights: Weights, epochs: int, *, seeds: Sequence[int] = (), device: str = "cpu") -> Frames:
    """Trains for `epochs` epochs, in place, and records what `compiled.advance` does.

    Args:
        task: what to train on.
        weights: as `networks.initial_weights` with a leading axis of trials; changed in place.
        epochs: epochs of this block; Adam starts its moments afresh in each block.
        seeds: seed of the dropout masks of each trial.
        device: torch device.
    """
    parameters = {name: torch.tensor(array, device=device).requires_grad_() for name, array in weights.items()}
    X = torch.tensor(task.X, dtype=parameters["first"].dtype, device=device)
    Y = torch.tensor(task.Y, dtype=X.dtype, device=device)
    kind = torch.optim.Adam if task.optimizer == "adam" else torch.optim.SGD
    optimizer = kind(list(parameters.values()), lr=task.rate)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds] if task.net.dropout else []
    record = partial(_record, task, parameters, X, Y)
    step = partial(_step, task.net, parameters, X, Y, optimizer, generators)
    frames = in_lockstep(task, len(weights["first"]), epochs, record, step)
    for name, tensor in parameters.items():
        weights[name][:] = tensor.detach().cpu().numpy()
    return frames


def in_lockstep(
    task: Task, trials: int, epochs: int, record: Callable[[Frames, int], None], step: Callable[[], None]
) -> Frames:
    """Trains all trials side by side until the last has stopped.

    What was recorded after a trial's own stop is blanked, so that its records do not depend on its neighbors.

    Args:
        task: what to train on.
        trials: number of trials.
        epochs: epochs of this block.
        record: writes into the frames the one of that number.
        step: one step of all trials.
    """
    frames = empty_frames(task, trials, epochs)
    for epoch in range(epochs):
        if epoch % task.every == 0:
            record(frames, epoch // task.every)
            if stopped(task, frames.loss[:, : epoch // task.every + 1]).all():
                break
        step()
    below = ~np.isfinite(frames.loss) | (frames.loss < task.stop)
    late = np.cumsum(below, axis=1) - below > 0
    for array in frames:
        array[late] = np.nan
    return frames


def _step(
    net: Net,
    weights: Parameters,
    X: Tensor,
    Y: Tensor,
    optimizer: torch.optim.Optimizer,
    generators: list[torch.Generator],
) -> None:
    masks = _masks(net, generators, X) if generators else None
    optimizer.zero_grad(set_to_none=True)
    out = outputs(net, weights, hidden_layers(net, weights, X, masks), masks)
    (((out - Y) ** 2).sum() / 4).backward()
    optimizer.step()


@torch.no_grad()
def _record(task: Task, weights: Parameters, X: Tensor, Y: Tensor, frames: Frames, frame: int) -> None:
    hidden = hidden_layers(task.net, weights, X)
    out = outputs(task.net, weights, hidden)
    for place, layer in enumerate(task.layers):
        apart = hidden[layer].double().diff(dim=1)[:, 0]
        frames.h[:, frame, place] = (apart**2).sum(dim=1).cpu().numpy()
    frames.outputs[:, frame] = out.cpu().numpy()
    frames.loss[:, frame] = ((out - Y) ** 2).sum(dim=(1, 2)).cpu().numpy() / 4


def kept_inputs(net: Net, generator: torch.Generator) -> Tensor:
    """Which inputs of the maps dropout keeps in an epoch, map by map, of each the first point's and the other's."""
    return torch.rand(2 * (net.inputs + net.hidden * net.units), generator=generator) >= net.dropout


def _masks(net: Net, generators: list[torch.Generator], X: Tensor) -> Iterator[Tensor]:
    """Dropout masks of one epoch, each trial from its own generator: kept inputs are scaled by 1/(1 - p)."""
    sizes = [net.inputs, *[net.units] * net.hidden]
    keep = torch.stack([kept_inputs(net, generator) for generator in generators]).to(X) / (1 - net.dropout)
    return (part.unflatten(1, (2, -1)) for part in keep.split([2 * size for size in sizes], dim=1))
