"""Plain ResNets (Lt = 0) on cross-entropy: their outputs keep growing, and with them the effective depth (Section 1.2).

For comparison the same networks on a mean squared error, whose outputs come to rest. Full-batch gradient descent.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint, groups
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.settings.training import OutputGrowth

LOSSES = ("cross-entropy", "mean squared error")
GROUP = 8  # seeds that are trained as one batch: one by one, small networks take five times as long


def output_growth(settings: OutputGrowth, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Sizes of outputs and losses along training, both losses from the same weights.

    Seeds are kept by groups. A group that was smaller is trained again whole: products of matrices need not round alike
    in batches of other sizes.
    """
    torch.set_num_threads(1)
    parts = []
    for seeds in groups(settings.seeds, GROUP):
        name = f"seeds {seeds.start} to {seeds.stop - 1}"
        parts.append(checkpoint.get(name) or checkpoint.put(name, {"runs": _trained(settings, seeds, stream)}))
    runs = np.concatenate([part["runs"] for part in parts], axis=-1)
    dims = ("loss_name", "record", "seed")
    growth = dataset(
        {
            "output_size": variable(
                dims, runs[:, :, 0], "root mean square of the outputs less their mean over classes"
            ),
            "loss": variable(dims, runs[:, :, 1], "loss, mean over points"),
        },
        {
            "loss_name": variable("loss_name", np.array(LOSSES), "loss that is descended"),
            "record": variable("record", np.array(settings.records), "steps of gradient descent"),
            "seed": index("seed", settings.seeds, "data and initial weights"),
        },
        title="Outputs of plain ResNets along training",
    )
    gone = ~np.isfinite(runs).all(axis=(1, 2))
    return left_out(growth, gone, f"output_growth.rate: {settings.rate:g}")


def _trained(settings: OutputGrowth, seeds: range, stream: Stream) -> list[list[Array]]:
    """Size of outputs and loss of some seeds, shape (losses, records, 2, seeds)."""
    X, labels, weights = _draws(settings, seeds, stream)
    return [_train(settings, X, labels, weights, loss) for loss in LOSSES]


def _draws(
    settings: OutputGrowth, seeds: range, stream: Stream
) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """Inputs (M, d, N), labels (M, N) by the largest of random linear scores, and weights, a network per seed."""
    d, w, N, L = settings.dimension, settings.width, settings.points, settings.layers
    parts: list[list[Array]] = []
    for seed in seeds:
        generator = stream.generator(seed)
        X = generator.standard_normal((d, N))
        labels = (generator.standard_normal((settings.classes, d)) @ X).argmax(axis=0)
        maps = generator.standard_normal((w, d)) / np.sqrt(d), generator.standard_normal((settings.classes, w)) / w**0.5
        parts.append([X, labels, maps[0], generator.uniform(-1, 1, (L, w, w + 1)) / np.sqrt(w), maps[1]])
    points, classes, *weights = (torch.from_numpy(np.stack(part)) for part in zip(*parts, strict=True))
    return points, classes, weights


def outputs(X: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    """Q A_L with A_l = A_{l-1} + W_l S_{l-1} / L, A_0 = P X; shape (M, classes, N)."""
    into, W, out = weights
    A, ones = into @ X, torch.ones(len(X), 1, X.shape[2], dtype=X.dtype)
    for weight in W.unbind(1):
        A = A + weight @ torch.cat([torch.relu(A), ones], dim=1) / W.shape[1]
    return out @ A


def _train(
    settings: OutputGrowth, X: torch.Tensor, labels: torch.Tensor, weights: list[torch.Tensor], loss: str
) -> list[Array]:
    """Size of outputs and loss at every record, shape (records, 2, seeds)."""
    weights = [part.clone().requires_grad_() for part in weights]
    targets = torch.nn.functional.one_hot(labels, settings.classes).transpose(1, 2).to(X.dtype)
    records = []
    for step in range(settings.records[-1] + 1):
        f = outputs(X, weights)
        points = _losses(f, labels, targets, loss).mean(dim=1)
        if step in settings.records:
            size = (f - f.mean(dim=1, keepdim=True)).square().mean(dim=(1, 2)).sqrt()
            records.append(torch.stack([size, points]).detach().numpy())
        gradients = torch.autograd.grad(points.sum(), weights)
        with torch.no_grad():
            for part, gradient in zip(weights, gradients, strict=True):
                part -= settings.rate * gradient
    return records


def _losses(f: torch.Tensor, labels: torch.Tensor, targets: torch.Tensor, loss: str) -> torch.Tensor:
    """Loss of every point, shape (M, N)."""
    if loss == LOSSES[0]:
        return torch.nn.functional.cross_entropy(f, labels, reduction="none")
    return (f - targets).square().mean(dim=1)
