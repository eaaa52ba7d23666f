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
    network: TrainedPerceptron,
    X: NDArray,
    Y: NDArray,
    trials: Sequence[int],
    stream: Stream,
    device: str,
    **more: float,
) -> Trainer:
    """A training of some trials at initialization, float32; runs of one shape share their draws, whatever the gain.

    Args:
        network: the network and how it trains.
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        trials: number of networks.
        stream: source of the weights.
        device: torch device.
        **more: further arguments of `Trainer`.
    """
    torch.set_num_threads(1)
    sizes = [X.shape[1], *[network.units] * network.hidden, Y.shape[1]]
    sources = [stream.generator("weights", trial) for trial in trials]
    networks = xavier(sizes, network.gain, sources, network.nonlinearity, device=device)
    data = (torch.tensor(values, dtype=torch.float32, device=device) for values in (X, Y))
    return Trainer(networks, *data, rate=network.rate, optimizer=network.optimizer, **more)  # type: ignore[arg-type]  # numbers


def described(network: TrainedPerceptron, *names: str) -> dict[str, xr.Variable]:
    """Settings of a network as coordinates of its dataset."""
    return {name: variable((), getattr(network, name), WORDS[name]) for name in names}


def rates(name: str, network: TrainedPerceptron) -> str:
    """What a network's divergence is due to, in words; its name is its place among the settings."""
    return f"{name}: rate {network.rate:g}, gain {network.gain:g}"


def halfway(network: TrainedPerceptron) -> int:
    """Index of the hidden layer H: 10 of 20, 2 of 4, 0 of 1 (from 0)."""
    return network.hidden // 2


def run(
    name: str,
    begin: Callable[[Sequence[int]], Trainer],
    trials: int,
    looks: Sequence[int],
    stream: Stream,
    watch: Callable[[Trainer, Sequence[int], int], Records],
    checkpoint: Checkpoint,
) -> Records:
    """Trains until the last look; finished trials are read, an unfinished training resumes bit for bit.

    Args:
        name: of the run, in the checkpoint.
        begin: networks and data of trials at initialization.
        trials: how many are wanted, numbered from 0.
        looks: passes over the data after which to look, from 0 on, increasing.
        stream: source of the order of the points, one per network and epoch.
        watch: called with the training, the numbers of its trials and the epochs done at each look; gives what to
            record then, arrays with a first dimension for the trials.
        checkpoint: finished trials, and the state of an unfinished training every minute.

    Returns:
        What `watch` gave, by name, stacked over the calls that gave it: (calls, trials, ...).
    """
    finished = {trial: checkpoint.get(f"{name}, trial {trial}") for trial in range(trials)}
    if missing := [trial for trial, records in finished.items() if records is None]:
        batch = missing if len(missing) > 1 else [missing[0], (missing[0] + 1) % trials]  # one alone rounds differently
        records = _trained(name, begin(batch), batch, looks, stream, watch, checkpoint)
        parts = {trial: {key: values[:, place] for key, values in records.items()} for place, trial in enumerate(batch)}
        kept = checkpoint.put_all({f"{name}, trial {trial}": parts[trial] for trial in missing})
        finished |= dict(zip(missing, kept.values(), strict=True))
    checkpoint.drop(f"{name}, unfinished")
    return {key: np.stack([finished[trial][key] for trial in range(trials)], axis=1) for key in finished[0]}  # type: ignore[index, union-attr]


def _trained(
    name: str,
    trainer: Trainer,
    batch: Sequence[int],
    looks: Sequence[int],
    stream: Stream,
    watch: Callable[[Trainer, Sequence[int], int], Records],
    checkpoint: Checkpoint,
) -> Records:
    done, records = _resumed(checkpoint.get(f"{name}, unfinished"), trainer, batch)
    progress, kept = Progress(name, looks[-1]), time.monotonic()
    for look in range(done, len(looks)):
        if look:
            passes = range(looks[look - 1], looks[look])
            trainer.epochs(len(passes), _orders(trainer, stream, passes, batch))
            progress.step(looks[look])
        for key, value in watch(trainer, batch, looks[look]).items():
            records.setdefault(key, []).append(value)
        if time.monotonic() - kept > KEPT_EVERY and look < len(looks) - 1:
            stacked = {f"record {key}": np.stack(values) for key, values in records.items()}
            state = {"done": np.array(look + 1), "batch": np.array(batch)} | trainer.state() | stacked
            checkpoint.put(f"{name}, unfinished", state)
            kept = time.monotonic()
    return {key: np.stack(values) for key, values in records.items()}


def _orders(trainer: Trainer, stream: Stream, passes: Iterable[int], batch: Sequence[int]) -> NDArray | None:
    if trainer.full_batch:
        return None
    points = len(trainer.X)
    return np.array(
        [[stream.generator("order", trial, epoch).permutation(points) for trial in batch] for epoch in passes]
    )


def _resumed(saved: Records | None, trainer: Trainer, batch: Sequence[int]) -> tuple[int, dict[str, list]]:
    """Looks that are done and what they gave, of an unfinished training of these trials."""
    if saved is None or saved["batch"].tolist() != list(batch):
        return 0, {}
    trainer.restore(saved)
    records = {key.removeprefix("record "): list(value) for key, value in saved.items() if key.startswith("record ")}
    return int(saved["done"]), records


def evenly(epochs: int, looks: int) -> list[int]:
    """About `looks` epochs from 0 to `epochs`, both included."""
    return sorted({round(x) for x in np.linspace(0, epochs, looks)})
