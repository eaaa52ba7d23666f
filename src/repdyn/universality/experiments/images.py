"""Perceptrons on images of digits: trajectories of pairs, representations, parameters (Figures 4, 9, 14, 18).

One training serves all: its stored representations and parameters are analyzed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from repdyn.universality.methods.structure import standardized
from repdyn.universality.methods.trajectory_fits import FEWEST_PASSES
from repdyn.universality.settings.data_sets import ImageNetwork, ImageTraining

CLASSES = 10
PART = 2048  # images whose activations are held at a time, at least those that are tracked
KINDS = {"dissimilar": (0, 1), "similar": (3, 8), "same": (0, 0)}
"""Pairs of digits whose trajectories are stored: "fairly distinct", similar, and of one label (Appendix B.4)."""


@dataclass(frozen=True)
class Watched:
    """What is looked at while training: points, pairs, and at which epochs."""

    labels: Tensor
    tracked: int
    pairs: NDArray
    epochs: int
    passes: tuple[int, ...]
    parameters_at: tuple[int, ...]
    hidden: int


def image_training(
    settings: ImageTraining,
    network: ImageNetwork,
    images: xr.Dataset,
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
    run: str,
) -> xr.Dataset:
    """Trajectories of pairs, representations of the first images and parameters of perceptrons trained on digits."""
    points, labels = standardized(images)
    targets = np.eye(CLASSES)[labels]

    def passes(steps: tuple[int, ...]) -> tuple[int, ...]:
        """Whole passes over the images that hold so many steps, each once."""
        return tuple(sorted({-(-count // per_pass) for count in steps}))

    per_pass = -(-len(points) // settings.batch)
    epochs = max(passes((network.steps,))[0], FEWEST_PASSES)
    watched = Watched(
        torch.from_numpy(labels).to(device),
        settings.tracked,
        _drawn_pairs(labels, settings, stream),
        epochs,
        passes(settings.stored_steps) if run == "sgd" else (0, epochs),
        passes(settings.parameters_at) if run == "sgd" else (),
        minibatch_loop.halfway(network),
    )

    def begin(trials: Sequence[int]) -> Trainer:
        return minibatch_loop.start(network, points, targets, trials, stream, device, batch=settings.batch)

    def watch(trainer: Trainer, trials: Sequence[int], epoch: int) -> minibatch_loop.Records:
        return _watch(trainer, watched, trials, epoch)

    records = minibatch_loop.run(run, begin, settings.trials, range(epochs + 1), stream, watch, checkpoint)
    recorded = _dataset(settings, network, run, records, watched, points, images.attrs["source"])
    gone = ~np.isfinite(recorded["loss"].values[-1])
    return left_out(recorded, gone, minibatch_loop.rates(f"images.runs {run}", network))


def _drawn_pairs(labels: NDArray, settings: ImageTraining, stream: Stream) -> NDArray:
    """Random pairs of different images, shape (trials, kinds, pairs, 2)."""
    drawn = np.empty((settings.trials, len(KINDS), settings.pairs, 2), int)
    for trial in range(settings.trials):
        generator = stream.generator("pairs", trial)
        for kind, (digit, other) in enumerate(KINDS.values()):
            for pair in range(settings.pairs):
                first = generator.choice(np.flatnonzero(labels == digit))
                left = np.flatnonzero((labels == other) & (np.arange(len(labels)) != first))
                drawn[trial, kind, pair] = first, generator.choice(left)
    return drawn


def _watch(trainer: Trainer, watched: Watched, trials: Sequence[int], epoch: int) -> minibatch_loop.Records:
    seen = _trajectories(trainer, watched, trials)
    if epoch in watched.passes:
        seen |= _look(trainer, watched)
    if epoch in watched.parameters_at:
        seen["parameters"] = minibatch_training.parameters(trainer.networks)
    return seen


def _look(trainer: Trainer, watched: Watched) -> minibatch_loop.Records:
    """Representation of the first images, loss and accuracy over all, a part of the images at a time."""
    seen, losses, right = {}, [], []  # type: ignore[var-annotated]
    for X, labels in zip(trainer.X.split(PART), watched.labels.split(PART), strict=True):
        layers = minibatch_training.layers(trainer.networks, X)
        seen = seen or {"representation": layers[watched.hidden][:, : watched.tracked].cpu().numpy()}
        targets = torch.nn.functional.one_hot(labels, CLASSES)
        losses.append(0.5 * ((layers[-1] - targets).double() ** 2).mean(dim=2))
        right.append((layers[-1].argmax(dim=2) == labels).double())
    means = {"loss": torch.cat(losses, dim=1).mean(dim=1), "accuracy": torch.cat(right, dim=1).mean(dim=1)}
    return seen | {name: values.cpu().numpy() for name, values in means.items()}


def _trajectories(trainer: Trainer, watched: Watched, trials: Sequence[int]) -> minibatch_loop.Records:
    """||dh||^2, ||dy||^2 and w of every pair, shape (trials, kinds, pairs), differences taken in float64."""
    pairs = watched.pairs[list(trials)]
    shape = pairs.shape
    chosen = torch.from_numpy(pairs.reshape(shape[0], -1)).to(trainer.X.device)
    layers = minibatch_training.layers(trainer.networks, trainer.X[chosen])
    h, y = (layers[place].double().reshape(*shape, -1) for place in (watched.hidden, -1))
    targets = torch.nn.functional.one_hot(watched.labels[chosen], CLASSES).reshape(*shape, -1).double()
    dh, dy, wanted = (values[..., 1, :] - values[..., 0, :] for values in (h, y, targets))
    squares = {"h": (dh**2).sum(-1), "y": (dy**2).sum(-1)}
    return {name: value.cpu().numpy() for name, value in (squares | {"w": (dy * (dy - wanted)).sum(-1)}).items()}


def _dataset(
    settings: ImageTraining,
    network: ImageNetwork,
    run: str,
    records: minibatch_loop.Records,
    watched: Watched,
    points: NDArray,
    source: str,
) -> xr.Dataset:
    labels = watched.labels.cpu().numpy()
    sizes = [points.shape[1], *[network.units] * network.hidden, CLASSES]
    return dataset(
        _trajectory_variables(records, watched.pairs, points, labels)
        | _look_variables(records)
        | _parameter_variables(records, watched, settings.parameters_of, sizes),
        {
            "epoch": variable("epoch", np.arange(watched.epochs + 1), "passes over the data", "epoch"),
            "trial": index("trial", settings.trials, "draw of weights and order of the images"),
            "kind": variable("kind", np.array(list(KINDS)), "kind of pair: digits 0 and 1, 3 and 8, 0 and 0"),
            "pair": index("pair", settings.pairs, "drawn pair"),
            "look": variable("look", np.array(watched.passes), "passes over the data", "epoch"),
            "image": index("image", settings.tracked, "image of the file, from the first"),
            "neuron": index("neuron", network.units, "neuron of the hidden layer halfway"),
            "label": variable("image", labels[: settings.tracked], "digit shown"),
            "steps": variable((), -(-len(points) // settings.batch), "steps per pass over the data"),
            "point_count": variable((), len(points), "training images"),
            "batch": variable((), settings.batch, "images per step"),
            "source": variable((), source, "source of the images"),
        }
        | minibatch_loop.described(network, *minibatch_loop.WORDS),
        title=f"Perceptrons on images of digits, run {run}",
    )


def _trajectory_variables(
    records: minibatch_loop.Records, pairs: NDArray, points: NDArray, labels: NDArray
) -> dict[str, xr.Variable]:
    dims = ("epoch", "trial", "kind", "pair")
    words = {"h": "squared representational distance", "y": "squared output distance", "w": "alignment"}
    variables = {name: variable(dims, records[name], text) for name, text in words.items()}
    targets = np.eye(CLASSES)[labels]
    for name, values, text in (("dx2", points, "squared input distance"), ("dy2", targets, "squared target distance")):
        squares = ((values[pairs[..., 1]] - values[pairs[..., 0]]) ** 2).sum(axis=-1)
        variables[name] = variable(dims[1:], squares, text)
    return variables


def _look_variables(records: minibatch_loop.Records) -> dict[str, xr.Variable]:
    dims = ("look", "trial")
    return {
        "representation": variable(
            (*dims, "image", "neuron"), records["representation"], "representation of the first images"
        ),
        "loss": variable(dims, records["loss"], "half the mean squared error over points and outputs"),
        "accuracy": variable(dims, records["accuracy"], "share of images given their label"),
    }


def _parameter_variables(
    records: minibatch_loop.Records, watched: Watched, networks: int, sizes: list[int]
) -> dict[str, xr.Variable]:
    """Parameters of the first networks with the coordinates they need; nothing for a run that stores none."""
    if not watched.parameters_at:
        return {}
    parameters = records["parameters"][:, :networks]
    return {
        "parameters": variable(
            ("pass", "network", "parameter"), parameters, "parameters, layer after layer, weights first"
        ),
        "pass": variable("pass", np.array(watched.parameters_at), "passes over the data", "epoch"),
        "network": index("network", networks, "trial whose parameters are stored"),
        "parameter": index("parameter", parameters.shape[-1], "parameter"),
        "size": variable("layer", np.array(sizes), "units of the layer"),
        "layer": index("layer", len(sizes), "layer, input first"),
    }
