"""Steps of training loops: Adam's constants, plain gradient descent, a step as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # engines without torch use Adam's numbers
    from torch import Tensor

    from repdyn.base.arrays import Array

BETAS = (0.9, 0.999)  # Adam's, as in the paper and in torch
EPSILON = 1e-8
WARMING_UP = 3  # steps in which libraries choose algorithms and allocate workspaces, which is forbidden during capture


def adam_numbers(rate: float, done: int, count: int) -> Array:
    """Coefficients of `count` steps after the first `done`, shape (count, 5).

    Weights of the new gradient and of its square, step size, scale of the root, epsilon: a step is
    theta -= step * mean / (sqrt(square) * scale + epsilon) (Kingma & Ba 2015).
    """
    first, second = (1 - beta ** np.arange(done + 1.0, done + count + 1) for beta in BETAS)
    constant = [np.full(count, 1 - beta) for beta in BETAS]
    return np.stack([*constant, rate / first, 1 / np.sqrt(second), np.full(count, EPSILON)], axis=1)


def descent_step(parameters: Sequence[Tensor], loss: Tensor, rate: float) -> None:
    """Changes the parameters by -rate times the gradient of the loss, bit for bit as `torch.optim.SGD`.

    The first optimizer of a process imports torch's compiler, which takes longer than a small training.
    """
    import torch

    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.add_(gradient, alpha=-rate)


def replayable(step: Callable[[], None], moved: Iterable[Tensor]) -> Callable[[], None]:
    """Captures a step as a CUDA graph, which launches hundreds of small kernels at once; replays on the current stream.

    Args:
        step: works in place on fixed tensors; it transfers no number to or from the host, and takes whatever changes
            from step to step from a tensor on the GPU, never from Python.
        moved: the tensors that a step changes; they are restored after warming up.
    """
    import torch

    kept = [(tensor, tensor.clone()) for tensor in moved]
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch lacks the annotation
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMING_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for tensor, value in kept:
        tensor.copy_(value)
    return graph.replay
