"""Minibatch training of several perceptrons, written by hand: in place, without allocation, without autograd.

T networks of one shape, each with its own weights and its own order of the points. On a CPU they take compiled steps,
one network after the other; on a GPU they are trained side by side by batched products (`torch.baddbmm`), and a step,
Adam's included, is one CUDA graph. A network's numbers do not depend on how many stand beside it, as long as there are
two or more, and equal those of autograd with `torch.optim` to round-off.

Paper: van Rossem & Saxe (2024), Appendix B: Xavier normal weights with a gain, zero biases, squared error (1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repdyn.base.training import BETAS, EPSILON, replayable
from repdyn.universality.methods.engines import compiled_minibatch
from repdyn.universality.methods.networks import LEAK

Nonlinearity = Literal["leaky relu", "relu", "tanh", "none"]
NONLINEARITIES: tuple[Nonlinearity, ...] = ("leaky relu", "relu", "tanh", "none")


@dataclass(frozen=True)
class Networks:
    """T perceptrons of one shape; no nonlinearity on the output.

    Attributes:
        theta: all parameters, network after network, in each layer after layer, weights before biases, shape
            (parameters of all T networks,).
        weights: views into theta, one per layer, shape (T, units out, units in).
        biases: views into theta, one per layer, shape (T, 1, units out).
        nonlinearity: one of `NONLINEARITIES`.
    """

    theta: Tensor
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    nonlinearity: Nonlinearity

    @property
    def trials(self) -> int:
        """Number of networks T."""
        return len(self.weights[0])


def xavier(
    sizes: Sequence[int],
    gain: float,
    generators: Sequence[np.random.Generator],
    nonlinearity: Nonlinearity = "leaky relu",
    *,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> Networks:
    """Networks with weights of variance gain^2 2 / (fan in + fan out) and zero biases (Appendix B.1).

    Args:
        sizes: units of every layer, input first, output last.
        gain: factor on the standard deviation of the weights, above 0.
        generators: one source of weights per network; the draws do not depend on dtype or device.
        nonlinearity: after every layer but the last.
        dtype: of parameters and computation.
        device: torch device.

    Raises:
        ValueError: gain not above 0, unknown nonlinearity, fewer than two networks or layer sizes below 1.
    """
    if not gain > 0:
        raise ValueError(f"got gain {gain}, expected a number above 0: the factor on Xavier's standard deviation")
    if nonlinearity not in NONLINEARITIES:
        raise ValueError(f"got nonlinearity {nonlinearity!r}, expected one of {', '.join(NONLINEARITIES)}")
    if len(generators) < 2:
        raise ValueError(f"got {len(generators)} networks, expected two or more: a batch of one rounds differently")
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"got layer sizes {list(sizes)}, expected input and output of at least one unit each")
    trials = len(generators)
    count = trials * sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))
    theta = torch.zeros(count, dtype=dtype, device=device)
    networks = Networks(theta, *_views(theta, sizes, trials), nonlinearity)
    for trial, generator in enumerate(generators):
        for weight, (fan_in, fan_out) in zip(networks.weights, pairwise(sizes), strict=True):
            drawn = generator.standard_normal((fan_out, fan_in)) * gain * np.sqrt(2 / (fan_in + fan_out))
            weight[trial] = torch.from_numpy(drawn)
    return networks


def parameters(networks: Networks) -> NDArray:
    """Each network's own parameters, layer after layer, weights before biases, shape (T, parameters of one)."""
    return networks.theta.view(networks.trials, -1).cpu().numpy().copy()


def _pairs(networks: Networks) -> list[tuple[Tensor, Tensor]]:
    return list(zip(networks.weights, networks.biases, strict=True))


def _views(theta: Tensor, sizes: Sequence[int], trials: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    weights, biases, start, each = [], [], 0, theta.view(trials, -1)
    for fan_in, fan_out in pairwise(sizes):
        middle = start + fan_out * fan_in
        weights.append(each[:, start:middle].unflatten(1, (fan_out, fan_in)))
        start = middle + fan_out
        biases.append(each[:, None, middle:start])
    return tuple(weights), tuple(biases)


def layers(networks: Networks, X: Tensor) -> list[Tensor]:
    """Activations of all layers and the output.

    Args:
        networks: T networks.
        X: points, shape (points, inputs), common to all networks, or (T, points, inputs), each network's own.

    Returns:
        One array per hidden layer and the output, shape (T, points, units).
    """
    activations, a = [], X.expand(networks.trials, *X.shape[-2:])
    for number, (weight, bias) in enumerate(_pairs(networks)):
        a = torch.baddbmm(bias, a, weight.transpose(1, 2))
        if number < len(networks.weights) - 1:
            _activate(networks.nonlinearity, a)
        activations.append(a)
    return activations


def _activate(nonlinearity: Nonlinearity, z: Tensor) -> None:
    """Applies the nonlinearity in place."""
    if nonlinearity == "leaky relu":
        torch.nn.functional.leaky_relu_(z, LEAK)
    elif nonlinearity == "relu":
        z.relu_()
    elif nonlinearity == "tanh":
        z.tanh_()


def _through(nonlinearity: Nonlinearity, delta: Tensor, a: Tensor) -> None:
    """Multiplies delta by the derivative of the nonlinearity, in place; `a` is the nonlinearity's value."""
    if nonlinearity == "leaky relu":
        torch.ops.aten.leaky_relu_backward.grad_input(delta, a, LEAK, True, grad_input=delta)
    elif nonlinearity == "relu":
        torch.ops.aten.threshold_backward.grad_input(delta, a, 0, grad_input=delta)
    elif nonlinearity == "tanh":
        torch.ops.aten.tanh_backward.grad_input(delta, a, grad_input=delta)


class Trainer:
    """Training of networks on one data set, epoch by epoch.

    The loss is c <(o - y)^2>, a mean over the points of a batch and the outputs; (1) has c = 1/2 and sums over outputs.

    Args:
        networks: T networks, changed in place.
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        rate: learning rate, above 0.
        batch: points per step; the last step of an epoch takes what is left.
        optimizer: "sgd" or "adam".
        loss_factor: c.
        batched: on a CPU too, the products of a GPU.

    Raises:
        ValueError: shapes that do not fit, a rate not above 0, a batch below 1 or an unknown optimizer.
    """

    def __init__(
        self,
        networks: Networks,
        X: Tensor,
        Y: Tensor,
        *,
        rate: float,
        batch: int,
        optimizer: Literal["sgd", "adam"] = "sgd",
        loss_factor: float = 0.5,
        batched: bool = False,
    ) -> None:
        self._refuse(networks, X, Y, rate, batch, optimizer)
        self.networks, self.X, self.Y, self.device = networks, X, Y, X.device
        self.rate, self.batch, self.optimizer, self.loss_factor = rate, min(batch, len(X)), optimizer, loss_factor
        self.batched = batched or X.device.type != "cpu"
        theta, sizes = networks.theta, [X.shape[1], *(weight.shape[1] for weight in networks.weights)]
        counts = {self.batch, len(X) % self.batch} - {0} if self.batched else {}
        self._buffers = {count: _Buffers(networks, X, Y, count) for count in counts}
        if self.full_batch and self.batched:
            self._buffers[self.batch].chosen.copy_(torch.arange(len(X)))
            self._buffers[self.batch].fill(X, Y)
        self._steps = 0
        self._size, self._root = (torch.zeros((), dtype=theta.dtype, device=X.device) for _ in range(2))
        self._graphs: dict[int, Callable[[], None]] = {}
        self._moments = torch.zeros((2, len(theta)) if optimizer == "adam" else 0, dtype=theta.dtype, device=X.device)
        self._gradient = torch.zeros_like(theta) if optimizer == "adam" else theta
        self._slopes = _views(self._gradient, sizes, networks.trials)
        self._scratch = torch.zeros_like(theta) if optimizer == "adam" else theta

    @staticmethod
    def _refuse(networks: Networks, X: Tensor, Y: Tensor, rate: float, batch: int, optimizer: str) -> None:
        wanted = (networks.weights[0].shape[2], networks.weights[-1].shape[1])
        if len(X) != len(Y) or (X.shape[1], Y.shape[1]) != wanted:
            raise ValueError(
                f"got inputs {tuple(X.shape)} and targets {tuple(Y.shape)}, expected as many targets as inputs and"
                f" {wanted[0]} inputs and {wanted[1]} outputs, as the networks have"
            )
        if not rate > 0 or batch < 1:
            raise ValueError(f"got rate {rate} and batch {batch}, expected a rate above 0 and at least 1 point")
        if optimizer not in ("sgd", "adam"):
            raise ValueError(f"got optimizer {optimizer!r}, expected sgd or adam")

    @property
    def full_batch(self) -> bool:
        """Whether every step sees all points."""
        return self.batch == len(self.X)

    @torch.no_grad()
    def epochs(self, count: int, orders: NDArray[np.integer] | None = None) -> None:
        """Passes over the data.

        Args:
            count: how many.
            orders: order of the points for each network, shape (count, T, points); not read where a batch holds all.
        """
        if self.full_batch:
            orders = np.tile(np.arange(len(self.X)), (count, self.networks.trials, 1))
        if orders is None:
            raise ValueError(f"no order of the points, which batches of {self.batch} of {len(self.X)} need")
        if not self.batched:
            self._compiled_epochs(orders)
            return
        for order in orders:
            chosen = torch.from_numpy(np.ascontiguousarray(order)).to(self.X.device)
            for start in range(0, len(self.X), self.batch):
                part = chosen[:, start : start + self.batch]
                self._buffers[part.shape[1]].chosen.copy_(part)
                self._take(part.shape[1])

    def _compiled_epochs(self, orders: NDArray[np.integer]) -> None:
        """One network after the other, each by all passes."""
        trials = self.networks.trials
        theta, *moments = (
            part.view(trials, -1).numpy()
            for part in (self.networks.theta, *self._moments.view(-1, len(self._gradient)))
        )
        for trial in range(trials):
            compiled_minibatch.train(
                theta[trial],
                [part[trial] for part in moments],
                [weight.shape[1] for weight in self.networks.weights],
                self.X.numpy(),
                self.Y.numpy(),
                np.ascontiguousarray(orders[:, trial]),
                nonlinearity=self.networks.nonlinearity,
                batch=self.batch,
                factor=2 * self.loss_factor,
                rate=self.rate,
                done=self._steps,
            )
        self._steps += len(orders) * -(-len(self.X) // self.batch)

    def _take(self, count: int) -> None:
        """One step on the chosen points, on a GPU as a CUDA graph, to which Adam hands the factors that change."""
        self._steps += 1
        self._size.fill_(-self.rate / (1 - BETAS[0] ** self._steps))
        self._root.fill_((1 - BETAS[1] ** self._steps) ** 0.5)
        if self.device.type != "cuda":
            self._step(count)
            return
        if count not in self._graphs:
            self._graphs[count] = replayable(partial(self._step, count), (self.networks.theta, self._moments))
        self._graphs[count]()

    def _step(self, count: int) -> None:
        buffers = self._buffers[count]
        if not self.full_batch:
            buffers.fill(self.X, self.Y)
        buffers.forward(self.networks)
        if self.optimizer == "sgd":
            factor = -2 * self.loss_factor * self.rate / buffers.residuals
            buffers.backward(self.networks, self.networks.weights, self.networks.biases, factor, keep=1.0)
        else:
            buffers.backward(self.networks, *self._slopes, 2 * self.loss_factor / buffers.residuals, keep=0.0)
            self._adam()

    def _adam(self) -> None:
        """Adam's step (Kingma & Ba 2015) by hand, so that the factors that change stay out of the graph."""
        theta, g, (first, second) = self.networks.theta, self._gradient, self._moments
        first.lerp_(g, 1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
        scale = torch.sqrt(second, out=self._scratch).div_(self._root).add_(EPSILON)
        theta.addcmul_(torch.div(first, scale, out=scale), self._size)

    def state(self) -> dict[str, NDArray]:
        """What a resumed training needs."""
        return {
            "theta": self.networks.theta.cpu().numpy().copy(),
            "moments": self._moments.cpu().numpy().copy(),
            "steps": np.array(self._steps),
        }

    def restore(self, state: dict[str, NDArray]) -> None:
        """Puts a state back that `state` gave."""
        self.networks.theta.copy_(torch.from_numpy(state["theta"]))
        self._moments.copy_(torch.from_numpy(state["moments"]))
        self._steps = int(state["steps"])


class _Buffers:
    """Room for one step on `count` points: activations and their gradients, layer by layer."""

    def __init__(self, networks: Networks, X: Tensor, Y: Tensor, count: int) -> None:
        def room(units: int) -> Tensor:
            return torch.empty(networks.trials, count, units, dtype=X.dtype, device=X.device)

        units = [weight.shape[1] for weight in networks.weights]
        self.residuals = count * Y.shape[1]
        self.chosen = torch.zeros(networks.trials, count, dtype=torch.int64, device=X.device)
        self.a = [room(X.shape[1]), *map(room, units)]
        self.delta = [room(n) for n in units]
        self.target = room(Y.shape[1])
        self.ones = torch.ones(networks.trials, 1, count, dtype=X.dtype, device=X.device)
        self.transposed = [weight.transpose(1, 2) for weight in networks.weights]
        self.delta_transposed = [delta.transpose(1, 2) for delta in self.delta]

    def fill(self, X: Tensor, Y: Tensor) -> None:
        """Gathers the chosen points of each network's batch."""
        flat = self.chosen.view(-1)
        torch.index_select(X, 0, flat, out=self.a[0].view(-1, X.shape[1]))
        torch.index_select(Y, 0, flat, out=self.target.view(-1, Y.shape[1]))

    def forward(self, networks: Networks) -> None:
        last = len(self.delta) - 1
        for layer, bias in enumerate(networks.biases):
            torch.baddbmm(bias, self.a[layer], self.transposed[layer], out=self.a[layer + 1])
            if layer < last:
                _activate(networks.nonlinearity, self.a[layer + 1])
        torch.sub(self.a[-1], self.target, out=self.delta[-1])

    def backward(
        self, networks: Networks, weights: Sequence[Tensor], biases: Sequence[Tensor], factor: float, *, keep: float
    ) -> None:
        """Sets weights <- keep * weights + factor * sum over points of gradients, biases alike."""
        for layer in reversed(range(len(weights))):
            if layer:
                torch.bmm(self.delta[layer], networks.weights[layer], out=self.delta[layer - 1])
                _through(networks.nonlinearity, self.delta[layer - 1], self.a[layer])
            weights[layer].baddbmm_(self.delta_transposed[layer], self.a[layer], beta=keep, alpha=factor)
            biases[layer].baddbmm_(self.ones, self.delta[layer], beta=keep, alpha=factor)
