"""The batched engine: all trials of one shape in lockstep, gradients written by hand, updates in place.

Descent and Adam, without dropout and convolutions. One epoch is a chain of batched products; on a GPU it is captured
once as a CUDA graph and replayed, so that launches cost nothing. On a CPU it saves call overhead for small networks
only; there the compiled engine is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from repdyn.base.training import BETAS, EPSILON, replayable
from repdyn.universality.methods.engines.autograd import ACTIVATIONS, in_lockstep
from repdyn.universality.methods.engines.frames import Frames, Task
from repdyn.universality.methods.networks import LEAK, Weights

SLOPES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # of pre-activation z and value a = phi(z)
    "none": lambda z, a: torch.ones_like(z),
    "relu": lambda z, a: (z > 0).to(z),
    "leaky relu": lambda z, a: LEAK + (1 - LEAK) * (z > 0).to(z),
    "tanh": lambda z, a: 1 - a * a,
    "elu": lambda z, a: torch.where(z > 0, torch.ones_like(z), a + 1),
    "swish": lambda z, a: torch.sigmoid(z) * (1 + z - a),
}


class Batch:
    """Networks of one shape on a device, one axis for trials; points are columns: activities (trials, units, 2)."""

    def __init__(self, task: Task, weights: Weights, device: str) -> None:
        self.task, self.device = task, device
        self.weights = {name: torch.tensor(array, device=device) for name, array in weights.items()}
        like, trials = self.weights["first"], len(self.weights["first"])
        self.X = torch.tensor(task.X.T, dtype=like.dtype, device=device).expand(trials, -1, -1).contiguous()
        self.Y = torch.tensor(task.Y.T, dtype=like.dtype, device=device).expand(trials, -1, -1).contiguous()
        units, outputs = task.net.units, task.Y.shape[1]
        self.a = [like.new_zeros(trials, units, 2) for _ in range(task.net.hidden)]
        self.z = [torch.zeros_like(layer) for layer in self.a]
        self.out = like.new_zeros(trials, outputs, 2)
        kept = self.weights if task.optimizer == "adam" else {}
        self.first, self.second = ({name: torch.zeros_like(one) for name, one in kept.items()} for _ in range(2))
        self.steps, self.size, self.root = 0, like.new_zeros(()), like.new_ones(())

    def moved(self) -> Iterator[Tensor]:
        """What an epoch hands on to the next one."""
        for parts in (self.weights, self.first, self.second):
            yield from parts.values()

    def matrix(self, layer: int, of: Mapping[str, Tensor]) -> Tensor:
        """Weights into a layer, or their moments; the number of hidden layers means the output."""
        if layer == 0:
            return of["first"]
        return of["last"] if layer == self.task.net.hidden else of["middle"][:, layer - 1]

    def bias(self, layer: int, of: Mapping[str, Tensor]) -> Tensor:
        """Biases into a layer, or their moments, shape (trials, units)."""
        return of["last_bias"] if layer == self.task.net.hidden else of["biases"][:, layer]

    def forward(self) -> None:
        """Activities of every layer and the outputs, into fixed buffers."""
        net, phi, own = self.task.net, ACTIVATIONS[self.task.net.nonlinearity], self.weights
        below = self.X
        for layer in range(net.hidden):
            torch.baddbmm(self.bias(layer, own)[:, :, None], self.matrix(layer, own), below, out=self.z[layer])
            self.a[layer].copy_(phi(self.z[layer]))
            if net.connections == "skip" and layer >= 2:
                self.a[layer].add_(self.a[layer - 2])
            below = self.a[layer]
        torch.baddbmm(self.bias(net.hidden, own)[:, :, None], self.matrix(net.hidden, own), below, out=self.out)

    def backward(self) -> None:
        """One step: each matrix hands its gradient down before it takes its update, by descent one of rank two."""
        net, slope = self.task.net, SLOPES[self.task.net.nonlinearity]
        grad = [torch.zeros_like(self.a[0]) for _ in range(net.hidden)]
        delta = (self.out - self.Y) / 2
        for layer in range(net.hidden, -1, -1):
            if layer < net.hidden:
                if net.connections == "skip" and layer >= 2:
                    grad[layer - 2] += grad[layer]
                phi = self.a[layer] - self.a[layer - 2] if net.connections == "skip" and layer >= 2 else self.a[layer]
                delta = grad[layer] * slope(self.z[layer], phi)
            W, below = self.matrix(layer, self.weights), self.a[layer - 1] if layer else self.X
            if layer:
                grad[layer - 1].baddbmm_(W.transpose(1, 2), delta)
            if self.first:
                self._adam(layer, delta, below)
            else:
                W.baddbmm_(delta, below.transpose(1, 2), alpha=-self.task.rate)
                self.bias(layer, self.weights).sub_(delta.sum(dim=2), alpha=self.task.rate)

    def _adam(self, layer: int, delta: Tensor, below: Tensor) -> None:
        """Adam's step of a layer; its factors that change stay out of the graph."""
        slopes = {self.matrix: torch.bmm(delta, below.transpose(1, 2)), self.bias: delta.sum(dim=2)}
        for part, slope in slopes.items():
            theta, first, second = (part(layer, of) for of in (self.weights, self.first, self.second))
            first.lerp_(slope, 1 - BETAS[0])
            second.mul_(BETAS[1]).addcmul_(slope, slope, value=1 - BETAS[1])
            theta.addcmul_(first / torch.sqrt(second).div_(self.root).add_(EPSILON), self.size)

    def count(self) -> None:
        """Adam's factors for the next step, before it."""
        self.steps += 1
        self.size.fill_(-self.task.rate / (1 - BETAS[0] ** self.steps))
        self.root.fill_((1 - BETAS[1] ** self.steps) ** 0.5)

    def epoch(self) -> None:
        """Forward and one step."""
        self.forward()
        self.backward()

    def record(self, frames: Frames, frame: int) -> None:
        """Distances, outputs and losses of the current weights."""
        self.forward()
        for place, layer in enumerate(self.task.layers):
            apart = self.a[layer].double().diff(dim=2)[:, :, 0]
            frames.h[:, frame, place] = (apart**2).sum(dim=1).cpu().numpy()
        frames.outputs[:, frame] = self.out.transpose(1, 2).cpu().numpy()
        frames.loss[:, frame] = ((self.out - self.Y) ** 2).sum(dim=(1, 2)).cpu().numpy() / 4


@torch.no_grad()
def advance(task: Task, weights: Weights, epochs: int, *, device: str = "cpu") -> Frames:
    """Trains for `epochs` epochs, in place, and records what `compiled.advance` does.

    Args:
        task: what to train on.
        weights: as `networks.initial_weights` with a leading axis of trials; changed in place.
        epochs: epochs of this block; Adam starts its moments afresh in each block.
        device: torch device.
    """
    batch = Batch(task, weights, device)
    replay = replayable(batch.epoch, batch.moved()) if device.startswith("cuda") else batch.epoch

    def step() -> None:
        batch.count()
        replay()

    frames = in_lockstep(task, len(weights["first"]), epochs, batch.record, step)
    for name, tensor in batch.weights.items():
        weights[name][:] = tensor.cpu().numpy()
    return frames
