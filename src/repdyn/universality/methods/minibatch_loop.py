"""Epochs, observations and checkpoints of a minibatch training: what every experiment on a data set repeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.universality.methods.minibatch_training import Trainer, xavier
from repdyn.universality.settings.data_sets import TrainedPerceptron

Records = dict[str, NDArray]
KEPT_EVERY = 60.0  # seconds between two states on disk
WORDS = {
    "nonlinearity": "nonlinearity",
    "gain": "gain of the initial weights",
    "rate": "learning rate",
    "units": "neurons per hidden layer",
    "hidden": "hidden layers",
    "optimizer": "optimizer",
}
"""Settings of a network that its dataset can hold."""


def start(
    network: TrainedPerceptron, X: NDArray, Y: NDArray, trials: int, stream: Stream, device: str, **more: float
) -> Trainer:
    """A training at initialization, float32; runs of one shape share their draws, whatever the gain.

    Further arguments are those of `Trainer`.
    """
    torch.set_num_threads(1)
    sizes = [X.shape[1], *[network.units] * network.hidden, Y.shape[1]]
    sources = [stream.generator("weights", trial) for trial in range(trials)]
    networks = xavier(sizes, network.gain, sources, network.nonlinearity, device=device)
    data = (torch.tensor(values, dtype=torch.float32, device=device) for values in (X, Y))
    return Trainer(networks, *data, rate=network.rate, optimizer=network.optimizer, **more)


def described(network: TrainedPerceptron, *names: str) -> dict[str, xr.Variable]:
    """Settings of a network as coordinates of its dataset."""
    return {name: variable((), getattr(network, name), WORDS[name]) for name in names}


def halfway(network: TrainedPerceptron) -> int:
    """Index of the hidden layer H: 10 of 20, 2 of 4, 0 of 1 (from 0)."""
    return network.hidden // 2


def run(
    name: str,
    trainer: Trainer,
    looks: Sequence[int],
    stream: Stream,
    watch: Callable[[int], Records],
    checkpoint: Checkpoint,
) -> Records:
    """Trains until the last look; resumes from the checkpoint bit for bit.

    Args:
        name: of the run, in the checkpoint.
        trainer: networks and data.
        looks: passes over the data after which to look, from 0 on, increasing.
        stream: source of the order of the points, one per network and epoch.
        watch: called with the number of epochs done at each look; gives what to record then.
        checkpoint: finished runs, and the state of an unfinished one every minute.

    Returns:
        What `watch` gave, by name, stacked over the calls that gave it.
    """
    done, records = _resumed(checkpoint.get(name), trainer)
    progress, kept = Progress(name, looks[-1]), time.monotonic()
    for look in range(done, len(looks)):
        if look:
            passes = range(looks[look - 1], looks[look])
            trainer.epochs(len(passes), _orders(trainer, stream, passes))
            progress.step(looks[look])
        for key, value in watch(looks[look]).items():
            records.setdefault(key, []).append(value)
        if time.monotonic() - kept > KEPT_EVERY or look == len(looks) - 1:
            _keep(checkpoint, name, look + 1, trainer, records)
            kept = time.monotonic()
    return {key: np.stack(values) for key, values in records.items()}


def _orders(trainer: Trainer, stream: Stream, passes: Iterable[int]) -> NDArray | None:
    if trainer.full_batch:
        return None
    trials, points = range(trainer.networks.trials), len(trainer.X)
    return np.array(
        [[stream.generator("order", trial, epoch).permutation(points) for trial in trials] for epoch in passes]
    )


def _keep(checkpoint: Checkpoint, name: str, done: int, trainer: Trainer, records: dict[str, list]) -> None:
    stacked = {f"record {key}": np.stack(values) for key, values in records.items()}
    checkpoint.put(name, {"done": np.array(done)} | trainer.state() | stacked)


def _resumed(saved: Records | None, trainer: Trainer) -> tuple[int, dict[str, list]]:
    if saved is None:
        return 0, {}
    trainer.restore(saved)
    records = {key.removeprefix("record "): list(value) for key, value in saved.items() if key.startswith("record ")}
    return int(saved["done"]), records


def evenly(epochs: int, looks: int) -> list[int]:
    """About `looks` epochs from 0 to `epochs`, both included."""
    return sorted({round(x) for x in np.linspace(0, epochs, looks)})
