"""Trained networks of the study: multilayer perceptrons with and without batch normalization, in torch.

Figure 2 compares three: with batch normalization, without it at PyTorch's default initialization, and without it at
He's. Weights are drawn by numpy, so that they depend on the named stream alone, not on torch's generator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.base.ranks import effective_rank, numerical_rank, stable_rank
from repdyn.base.training import descent_step
from repdyn.bn_decomposed.theory.geometry import singular_values

MODES = ("bn", "default", "he")
R1_TOLERANCE = 1e-2
MEASURED_EVERY = 5


def mlp(inputs: int, width: int, depth: int, classes: int, mode: str, rng: np.random.Generator) -> nn.Sequential:
    """A perceptron with `depth` hidden ReLU layers and a linear head, float32.

    Args:
        inputs: input dimension.
        width: neurons per hidden layer.
        depth: hidden layers, at least 1.
        classes: outputs.
        mode: "bn" (BatchNorm1d before ReLU, batch statistics at all times, PyTorch's default weights), "default"
            (weights and biases uniform in +-1/sqrt(fan-in), as `torch.nn.Linear` draws them) or "he" (N(0, 2/fan-in),
            zero biases).
        rng: source of the weights.

    Raises:
        ValueError: unknown mode, depth or width below 1.
    """
    if mode not in MODES:
        raise ValueError(f"got mode {mode!r}, expected one of {', '.join(MODES)}")
    if depth < 1 or width < 1:
        raise ValueError(f"got depth {depth} and width {width}, expected at least 1")
    sizes = [inputs, *[width] * depth]
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers.append(_linear(fan_in, fan_out, mode, rng))
        layers += [nn.BatchNorm1d(fan_out, track_running_stats=False)] if mode == "bn" else []
        layers.append(nn.ReLU())
    return nn.Sequential(*layers, _linear(width, classes, mode, rng))


def _linear(fan_in: int, fan_out: int, mode: str, rng: np.random.Generator) -> nn.Linear:
    layer = nn.Linear(fan_in, fan_out)
    bound = 1 / np.sqrt(fan_in)
    he = mode == "he"
    weight = (
        rng.standard_normal((fan_out, fan_in)) * np.sqrt(2) * bound
        if he
        else rng.uniform(-bound, bound, (fan_out, fan_in))
    )
    bias = np.zeros(fan_out) if he else rng.uniform(-bound, bound, fan_out)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer


def train(
    network: nn.Module, X: Tensor, y: Tensor, *, rate: float, batch: int, epochs: int, rng: np.random.Generator
) -> Iterator[float]:
    """Plain stochastic gradient descent on the cross-entropy; yields the training accuracy after every fifth epoch.

    It is NaN once the network has diverged.

    Args:
        network: maps (points, inputs) to (points, classes).
        X: inputs, shape (points, inputs).
        y: labels, shape (points,).
        rate: learning rate.
        batch: points per step; a last smaller batch of at least two points is used, too.
        epochs: passes over the data.
        rng: source of the order of the points.
    """
    parameters = list(network.parameters())
    for epoch in range(1, epochs + 1):
        order = torch.from_numpy(rng.permutation(len(X))).to(X.device)
        for chosen in order.split(batch):
            if len(chosen) > 1:
                descent_step(parameters, nn.functional.cross_entropy(network(X[chosen]), y[chosen]), rate)
        if epoch % MEASURED_EVERY == 0:
            finite = all(part.isfinite().all() for part in parameters)
            yield accuracy(network, X, y) if finite else math.nan


@torch.no_grad()
def accuracy(network: nn.Module, X: Tensor, y: Tensor) -> float:
    """Share of points whose largest output is their label; outputs that are not finite count as wrong."""
    out = network(X)
    right = (out.argmax(dim=1) == y) & out.isfinite().all(dim=1)
    return float(right.double().mean())


@torch.no_grad()
def rank_profile(model: nn.Module, data: Tensor) -> dict[str, float]:
    """Ranks of the representation that a model's last linear layer reads, that is of its last hidden layer.

    Args:
        model: any model whose forward pass goes through at least one `nn.Linear`.
        data: a batch as the model takes it, at least two points.

    Returns:
        `r1`: singular values above 1e-2 of the largest; `numerical_rank`: above 1e-6; `stable_rank`: squared
        Frobenius over squared spectral norm; `effective_rank`: exp of the entropy of s / sum s.

    Raises:
        ValueError: no linear layer was reached, fewer than two points, or values that are not finite.
    """
    seen: list[Tensor] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        for layer in model.modules()
        if isinstance(layer, nn.Linear)
    ]
    try:
        model(data)
    finally:
        for hook in hooks:
            hook.remove()
    if not seen:
        raise ValueError(f"no nn.Linear of {type(model).__name__} was reached: rank_profile reads the last one's input")
    s = singular_values(seen[-1].reshape(-1, seen[-1].shape[-1]).double().cpu().numpy().T)
    return {
        "r1": numerical_rank(s, R1_TOLERANCE),
        "numerical_rank": numerical_rank(s),
        "stable_rank": stable_rank(s),
        "effective_rank": effective_rank(s),
    }
