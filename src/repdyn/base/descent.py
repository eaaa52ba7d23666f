"""One step of plain gradient descent in torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def descent_step(parameters: Sequence[Tensor], loss: Tensor, rate: float) -> None:
    """Changes the parameters by -rate times the gradient of the loss, bit for bit as `torch.optim.SGD`.

    The first optimizer of a process imports torch's compiler, which takes longer than a small training.
    """
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.add_(gradient, alpha=-rate)
