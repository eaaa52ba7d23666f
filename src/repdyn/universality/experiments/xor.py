"""The XOR task: distances between representations at several initial weights (Section 4.4, Figures 6 and 16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.universality.methods import minibatch_loop, minibatch_training
from repdyn.universality.methods.minibatch_training import Trainer
from repdyn.universality.settings.data_sets import TrainedNetwork, Xor, XorGains

INPUTS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
TARGETS = np.array([[0], [1], [1], [0]])
LOSS_FACTOR = 1.0  # the authors' notebook takes the mean squared error without 1/2


def xor(settings: Xor, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Distances between the four representations and outputs, and the loss, during training, for every run."""
    runs = {name: getattr(settings.runs, name) for name in type(settings.runs).model_fields}
    return _trained("xor.runs", runs, settings, stream, device, checkpoint)


def xor_gains(settings: XorGains, usual: Xor, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """The same for the network by Adam at more gains, from the draws that `xor` starts from."""
    network = usual.runs.adam_intermediate
    runs = {f"gain {gain:g}": network.model_copy(update={"gain": gain}) for gain in settings.gains}
    return _trained("xor_gains.gains", runs, usual, stream.of("xor"), device, checkpoint)


def _trained(
    section: str, runs: Mapping[str, TrainedNetwork], settings: Xor, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    looks = [_looks(run, settings) for run in runs.values()]
    records = [
        _run(name, run, epochs, settings, stream, device, checkpoint.of(run))
        for (name, run), epochs in zip(runs.items(), looks, strict=True)
    ]

    def stacked(key: str) -> NDArray:
        return np.stack([np.moveaxis(record[key], 0, 1) for record in records])

    pairs = ("run", "trial", "look", "point", "other")
    recorded = dataset(
        {
            "h": variable(pairs, stacked("h"), "squared distance of two representations"),
            "y": variable(pairs, stacked("y"), "squared distance of two outputs"),
            "loss": variable(("run", "trial", "look"), stacked("loss"), "mean squared error"),
            "epoch": variable(("run", "look"), np.array(looks), "epochs done", "epoch"),
        },
        {
            "run": variable("run", np.array(list(runs)), "name of the run"),
            "trial": index("trial", settings.trials, "draw of the weights"),
            "look": index("look", settings.looks, "number of the stored epoch"),
            "point": index("point", 4, "data point: (0,0), (1,0), (0,1), (1,1)"),
            "other": index("other", 4, "the other data point"),
            "dx": variable(("point", "other"), _distances(INPUTS), "distance of two inputs"),
            "dy": variable(("point", "other"), _distances(TARGETS), "distance of two targets"),
        }
        | {
            name: variable("run", np.array([getattr(run, name) for run in runs.values()]), words)
            for name, words in minibatch_loop.WORDS.items()
        },
        title="XOR: distances between representations and outputs during training",
    )
    gone = ~np.isfinite(recorded["loss"].values[..., -1])
    rows = [
        minibatch_loop.rates(name, run)
        for (name, run), some in zip(runs.items(), gone.any(axis=1), strict=True)
        if some
    ]
    return left_out(recorded, gone, f"{section} {'; '.join(rows)}")


def _distances(points: NDArray) -> NDArray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def _looks(network: TrainedNetwork, settings: Xor) -> list[int]:
    return np.linspace(0, network.epochs, settings.looks).round().astype(int).tolist()


def _run(
    name: str,
    network: TrainedNetwork,
    looks: list[int],
    settings: Xor,
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
) -> minibatch_loop.Records:
    def begin(trials: Sequence[int]) -> Trainer:
        more = {"batch": 4, "loss_factor": LOSS_FACTOR}
        return minibatch_loop.start(network, INPUTS, TARGETS, trials, stream, device, **more)

    def watch(trainer: Trainer, _trials: Sequence[int], _epoch: int) -> minibatch_loop.Records:
        layers = minibatch_training.layers(trainer.networks, trainer.X)
        h, y = layers[minibatch_loop.halfway(network)], layers[-1]
        loss = LOSS_FACTOR * ((y - trainer.Y).double() ** 2).mean(dim=(1, 2)).cpu().numpy()
        return {"h": _squared(h), "y": _squared(y), "loss": loss}

    return minibatch_loop.run(name, begin, settings.trials, looks, stream, watch, checkpoint)


def _squared(a: Tensor) -> NDArray:
    """Squared distances of all pairs, shape (T, points, points), in float64."""
    return (torch.cdist(a.double(), a.double()) ** 2).cpu().numpy()
