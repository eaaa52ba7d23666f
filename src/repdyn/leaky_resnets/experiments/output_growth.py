"""Plain ResNets (Lt = 0) on cross-entropy: their outputs keep growing, and with them the effective depth (Section 1.2).

For comparison the same networks on a mean squared error, whose outputs come to rest. Full-batch gradient descent.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.compiled_steps import descend_plain, parts
from repdyn.leaky_resnets.settings.training import OutputGrowth

LOSSES = ("cross-entropy", "mean squared error")


def output_growth(settings: OutputGrowth, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Sizes of outputs and losses along training, both losses from the same weights."""
    torch.set_num_threads(1)
    parts = []
    for seed in range(settings.seeds):
        name = f"seed {seed}"
        done = checkpoint.get(name) or checkpoint.put(name, {"runs": _trained(settings, stream.generator(seed))})
        parts.append(done["runs"])
    runs = np.stack(parts, axis=-1)
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


def _trained(settings: OutputGrowth, generator: np.random.Generator) -> list[list[list[float]]]:
    """Size of outputs and loss of one seed, shape (losses, records, 2)."""
    d, w, N, L = settings.dimension, settings.width, settings.points, settings.layers
    X = generator.standard_normal((d, N))
    labels = (generator.standard_normal((settings.classes, d)) @ X).argmax(axis=0)
    maps = generator.standard_normal((w, d)) / np.sqrt(d), generator.standard_normal((settings.classes, w)) / w**0.5
    theta = np.concatenate([(generator.uniform(-1, 1, (L, w, w + 1)) / np.sqrt(w)).ravel(), *map(np.ravel, maps)])
    return [_train(settings, X, labels, theta.copy(), loss) for loss in LOSSES]


def _train(settings: OutputGrowth, X: Array, labels: Array, theta: Array, loss: str) -> list[list[float]]:
    """Size of outputs and loss at every record, shape (records, 2)."""
    L, w, classify = settings.layers, settings.width, loss == LOSSES[0]
    W, P, Q = map(torch.from_numpy, parts(theta, L, w, len(X)))
    records = []
    for steps in np.diff(settings.records, prepend=0).tolist():
        descend_plain(theta, X, np.eye(settings.classes)[:, labels], L, w, classify, settings.rate, steps)
        f = outputs(torch.from_numpy(X), P[0], W[:, 0], Q[0])
        size = (f - f.mean(dim=0)).square().mean().sqrt()
        records.append([float(size), _loss(f, torch.from_numpy(labels), loss)])
    return records


def outputs(X: torch.Tensor, into: torch.Tensor, W: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Q A_L with A_l = A_{l-1} + W_l S_{l-1} / L, A_0 = P X; shape (classes, N)."""
    A, ones = into @ X, torch.ones(1, X.shape[1], dtype=X.dtype)
    for weight in W:
        A = A + weight @ torch.cat([torch.relu(A), ones]) / len(W)
    return out @ A


def _loss(f: torch.Tensor, labels: torch.Tensor, loss: str) -> float:
    if loss == LOSSES[0]:
        return float(torch.nn.functional.cross_entropy(f.T, labels))
    return float((f.T - torch.nn.functional.one_hot(labels, len(f))).square().mean())
