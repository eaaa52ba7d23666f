"""The diagnostics at work: a small convolutional network through its training on digits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from repdyn.base.datasets import index, left_out
from repdyn.base.streams import Stream
from repdyn.base.training import descent_step
from repdyn.diagnostics.measure import Recorder
from repdyn.diagnostics.methods import convolutional
from repdyn.diagnostics.settings import ConvolutionalNetwork

CLASSES = 10


def convolutional_network(settings: ConvolutionalNetwork, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """All diagnostics of the network at the recorded steps, one entry per seed; the measured points are held out."""
    torch.set_num_threads(1)
    values, labels = standardized(images)
    X = torch.from_numpy(values[:, None]).float()
    held = first_of_each_class(labels, settings.per_class)
    rest = np.setdiff1d(np.arange(len(labels)), held)
    parts, gone = [], []
    for seed in range(settings.seeds):
        network = convolutional.ConvolutionalNetwork(
            settings.channels, settings.blocks, settings.width, X.shape[-1], CLASSES
        )
        convolutional.start(network, settings.gain, stream.generator(seed, "weights"))
        recorder = Recorder(
            network,
            X[held],
            network.layers,
            labels=labels[held],
            targets=torch.eye(CLASSES)[torch.from_numpy(labels[held])],
            residual=network.stream,
            batch_statistics=True,
        )
        for step in descend(network, X[rest], labels[rest], settings, stream.generator(seed, "order")):
            if step in settings.record:
                recorder(step)
        parts.append(recorder.dataset())
        gone.append(not all(part.isfinite().all() for part in network.parameters()))
    joined = xr.concat(parts, "seed", data_vars="all", coords="minimal", compat="override", combine_attrs="override")
    about = {name: joined.attrs[name] for name in ("gamma", "normalized_by", "time")}
    joined.attrs = {"title": "The papers' diagnostics of a small convolutional network through its training"} | about
    joined = joined.assign_coords(seed=index("seed", settings.seeds, "draw of weights and order of the data"))
    section = "convolutional_network"
    return left_out(joined, gone, f"{section}.rate: {settings.rate:g}; {section}.gain: {settings.gain:g}")


def descend(
    network: nn.Module, X: Tensor, labels: np.ndarray, settings: ConvolutionalNetwork, rng: np.random.Generator
) -> Iterator[int]:
    """Plain stochastic descent on half the squared error against one-hot labels; yields each step before it."""
    targets = torch.eye(CLASSES)[torch.from_numpy(labels)]
    parameters = list(network.parameters())
    order: list[int] = []
    for step in range(settings.record[-1] + 1):
        yield step
        if len(order) < settings.batch:
            order += rng.permutation(len(X)).tolist()
        chosen, order = order[: settings.batch], order[settings.batch :]
        descent_step(parameters, ((network(X[chosen]) - targets[chosen]) ** 2).sum(dim=1).mean() / 2, settings.rate)


def standardized(images: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """All images, shape (points, rows, columns), overall mean and deviation taken out, and their labels."""
    values = images["image"].values
    return (values - values.mean()) / values.std(), images["label"].values.astype(np.int64)


def first_of_each_class(labels: np.ndarray, per_class: int) -> np.ndarray:
    """Places of the first images of every digit, ascending."""
    return np.sort(np.concatenate([np.flatnonzero(labels == digit)[:per_class] for digit in range(CLASSES)]))
