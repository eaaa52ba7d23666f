"""PyTorch's own ways to train small networks, for benchmarks to stand beside: each makes a step of all its networks.

A step takes a batch, arrays with a leading axis of networks, and gives the losses before it, one per network. A loss is
given the network's call and its part of the batch.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
Loss = Callable[..., Tensor]
Step = Callable[..., Tensor]


def by_optimizer(models: Sequence[nn.Module], loss: Loss, optimizer: str, rate: float, *, fused: bool = False) -> Step:
    """What most users write: autograd and torch.optim, one network after the other."""
    optimizers = [OPTIMIZERS[optimizer](model.parameters(), lr=rate, fused=fused or None) for model in models]

    def step(*batch: Tensor) -> Tensor:
        losses = []
        for trial, (model, its) in enumerate(zip(models, optimizers, strict=True)):
            its.zero_grad()
            losses.append(loss(model, *(part[trial] for part in batch)))
            losses[-1].backward()
            its.step()
        return torch.stack(losses).detach()

    return step


def by_func(models: Sequence[nn.Module], loss: Loss, optimizer: str, rate: float, *, compile: bool = False) -> Step:
    """Gradients by torch.func, of several networks by vmap, and the fused optimizer.

    Compiled is what is fastest: the whole step for descent, the gradients alone for Adam. Modules see their parameters
    change, as with `by_optimizer`.
    """

    def loss_of(values: dict[str, Tensor], *batch: Tensor) -> Tensor:
        return loss(lambda *inputs: functional_call(models[0], values, inputs), *batch)

    slope, several = grad_and_value(loss_of), len(models) > 1
    values = stack_module_state(list(models))[0] if several else dict(models[0].named_parameters())
    values = {name: value.detach() for name, value in values.items()}
    for trial, model in enumerate(models if several else ()):
        for name, own in model.named_parameters():
            own.data = values[name][trial]
    slopes = vmap(slope) if several else lambda values, *batch: slope(values, *(part[0] for part in batch))
    if compile:
        torch.compiler.reset()  # it gives up on a function after eight versions of it, whatever the networks
    taken = torch.compile(slopes) if compile else slopes
    torch_optimizer = OPTIMIZERS[optimizer](values.values(), lr=rate, fused=True)

    def step(*batch: Tensor) -> Tensor:
        gradients, losses = taken(values, *batch)
        for name, value in values.items():
            value.grad = gradients[name]
        torch_optimizer.step()
        return losses.reshape(-1)

    def descent(*batch: Tensor) -> Tensor:
        gradients, losses = slopes(values, *batch)
        for name, value in values.items():
            value.sub_(rate * gradients[name])
        return losses.reshape(-1)

    return torch.compile(descent) if compile and optimizer == "sgd" else step


def peers() -> dict[str, Callable[..., Step]]:
    """All of them; torch.compile takes long to begin and is one of them only where `with_compile` was called."""
    return {
        "plain PyTorch": by_optimizer,
        "fused optimizer": partial(by_optimizer, fused=True),
        "torch.func": by_func,
    } | _more


_more: dict[str, Callable[..., Step]] = {}


def with_compile() -> None:
    """From now on torch.compile is a peer, if there is a C++ compiler."""
    if not shutil.which(os.environ.get("CXX", "g++")):
        raise SystemExit("torch.compile needs a C++ compiler, g++ or what CXX names")
    _more["torch.compile"] = partial(by_func, compile=True)
