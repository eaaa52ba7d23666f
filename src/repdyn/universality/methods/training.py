"""Training of ensembles on two points: which engine, in which blocks, what is recorded, how a killed job goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.universality.methods.engines.frames import Array, Frames, Task, empty_frames, stopped
from repdyn.universality.methods.networks import Net, Weights, initial_weights
from repdyn.universality.theory.effective import two_point_observables

ENGINES = ("auto", "compiled", "batched", "autograd")
BLOCK = 1000  # epochs between two moments at which a trial could be resumed
SAVE_AFTER = 20.0  # seconds of training worth a save; has no effect on numbers


def choose_engine(wanted: str, net: Net, optimiser: str, device: str) -> str:
    """The engine for a network: autograd for convolutions, dropout and Adam, else batched on a GPU, compiled on a CPU.

    Raises:
        ValueError: an engine that is unknown, or that cannot train this network.
    """
    if wanted not in ENGINES:
        raise ValueError(f"engine {wanted!r} is not one of {', '.join(ENGINES)}")
    special = net.connections == "convolution" or net.dropout > 0 or optimiser != "sgd"
    if wanted == "auto":
        if special:
            return "autograd"
        return "batched" if device.startswith("cuda") else "compiled"
    if special and wanted != "autograd":
        raise ValueError(f"engine {wanted!r} knows no convolution, dropout or Adam; use auto or autograd")
    if wanted == "compiled" and device.startswith("cuda"):
        raise ValueError("engine 'compiled' runs on the CPU only; use auto or batched with device cuda")
    return wanted


def two_points(dx: float, dy: float) -> tuple[Array, Array]:
    """The two-point data set of section B.1: inputs -1 and -1 + dx, targets 0.6 and 0.6 + dy; each (2, 1)."""
    if not dx > 0:
        raise ValueError(f"dx is {dx}; expected a distance above 0: equal inputs cannot be told apart")
    return np.array([[-1.0], [-1.0 + dx]]), np.array([[0.6], [0.6 + dy]])


def train_two_points(
    net: Net,
    X: ArrayLike,
    Y: ArrayLike,
    learning_rate: float,
    epochs: int,
    trials: int,
    stream: Stream,
    *,
    dtype: str = "float64",
    engine: str = "auto",
    device: str = "cpu",
    every: int = 1,
    layers: Sequence[int] | None = None,
    stop: float = 0.0,
    optimiser: str = "sgd",
    checkpoint: Checkpoint | None = None,
    name: str = "",
) -> xr.Dataset:
    """Trains an ensemble on two points and records h, y, w of equation (8), before each `every`-th update.

    Args:
        net: the network.
        X: inputs, shape (2, inputs).
        Y: targets, shape (2, outputs).
        learning_rate: learning rate of every parameter.
        epochs: full-batch steps.
        trials: networks, each with its own stream.
        stream: initial weights come from `stream.generator(trial, "weights")`.
        dtype: "float64" or "float32".
        engine: one of `ENGINES`.
        device: torch device.
        every: epochs between two records.
        layers: hidden layers to record; None for the one halfway.
        stop: a trial ends at the first record whose loss is below this.
        optimiser: "sgd" or "adam".
        checkpoint: where finished and half-trained trials are kept.
        name: what this ensemble is called in the checkpoint; another ensemble, another name.

    Returns:
        Dataset with h (seed, epoch, layer), y, w, loss, offset2 (seed, epoch); NaN after a trial's end.

    Raises:
        ValueError: a network, layer, rate, engine or data set that cannot be.
    """
    task = _task(net, X, Y, learning_rate, every, layers, stop, optimiser)
    used = choose_engine(engine, net, optimiser, device)
    groups = [[trial] for trial in range(trials)] if used == "compiled" else [list(range(trials))]
    keep = checkpoint or Checkpoint(None, "")
    run = partial(_group, task, epochs, stream, np.dtype(dtype), used, device, keep)
    done = [run(group, f"{name} {group[0]} to {group[-1]}") for group in groups]
    frames = Frames(*(np.concatenate([one[part] for one in done]) for part in Frames._fields))
    return _dataset(task, frames, used, dtype)


def _task(
    net: Net,
    X: ArrayLike,
    Y: ArrayLike,
    rate: float,
    every: int,
    layers: Sequence[int] | None,
    stop: float,
    optimiser: str,
) -> Task:
    X, Y = np.asarray(X, float), np.asarray(Y, float)
    if X.shape != (2, net.inputs) or Y.shape != (2, net.outputs):
        raise ValueError(
            f"X and Y have shapes {X.shape} and {Y.shape}; the network wants (2, {net.inputs}) and (2, {net.outputs})"
        )
    if not (X[0] != X[1]).any():
        raise ValueError("the two inputs are equal (dx = 0); they cannot be told apart: expected dx above 0")
    if not rate > 0 or every < 1:
        raise ValueError(f"learning_rate {rate} and every {every} must be above 0")
    if optimiser not in ("sgd", "adam"):
        raise ValueError(f"optimiser {optimiser!r} is not one of sgd, adam")
    chosen = tuple(net.check_layer(layer) for layer in ((net.halfway,) if layers is None else layers))
    return Task(net, X, Y, rate, every, chosen, stop, optimiser)


def _group(
    task: Task,
    epochs: int,
    stream: Stream,
    dtype: np.dtype,
    engine: str,
    device: str,
    checkpoint: Checkpoint,
    group: list[int],
    name: str,
) -> Trial:
    """Trains a group of trials block by block, from where a killed job left it."""
    if found := checkpoint.get(name):
        return found
    kept = checkpoint.get(f"{name}, unfinished") or {}
    weights = _weights(task.net, stream, group, dtype) | {
        key.removeprefix("weights "): array.copy() for key, array in kept.items() if key.startswith("weights ")
    }
    frames = Frames(*(kept[part].copy() for part in Frames._fields)) if kept else empty_frames(task, len(group), epochs)
    block = epochs if task.optimiser == "adam" else task.every * -(-BLOCK // task.every)
    saved = time.monotonic()
    for begin in range(int(kept["epoch"]) if kept else 0, epochs, block):
        first, length = begin // task.every, min(block, epochs - begin)
        active = ~stopped(task, frames.loss[:, :first]) if first else None
        seeds = [stream.integer(trial, "dropout", begin) for trial in group]
        made = _advance(engine, task, weights, length, active, seeds, device)
        for whole, part in zip(frames, made, strict=True):
            whole[:, first : first + part.shape[1]] = part
        if time.monotonic() - saved > SAVE_AFTER and begin + block < epochs and checkpoint.path:
            state = {f"weights {key}": array for key, array in weights.items()}
            checkpoint.put(f"{name}, unfinished", state | frames._asdict() | {"epoch": np.array(begin + block)})
            saved = time.monotonic()
    done = checkpoint.put(name, frames._asdict())
    checkpoint.drop(f"{name}, unfinished")
    return done


def _weights(net: Net, stream: Stream, group: list[int], dtype: np.dtype) -> Weights:
    stacked: Weights = {}
    for place, trial in enumerate(group):  # one trial at a time: wide ensembles fill the memory
        for name, array in initial_weights(net, stream.generator(trial, "weights")).items():
            stacked.setdefault(name, np.empty((len(group), *array.shape), dtype))[place] = array
    return stacked


def _advance(
    engine: str, task: Task, weights: Weights, epochs: int, active: Array | None, seeds: list[int], device: str
) -> Frames:
    """Calls the engine; torch and numba are imported only where they are used, since each takes seconds."""
    if engine == "compiled":
        from repdyn.universality.methods.engines import compiled

        return compiled.advance(task, weights, epochs, active)
    if engine == "batched":
        from repdyn.universality.methods.engines import batched

        return batched.advance(task, weights, epochs, active, device=device)
    from repdyn.universality.methods.engines import autograd

    return autograd.advance(task, weights, epochs, active, seeds=seeds, device=device)


def _dataset(task: Task, frames: Frames, engine: str, dtype: str) -> xr.Dataset:
    out, target = frames.outputs, task.Y
    ended = np.isnan(out).any(axis=(2, 3))
    filled = np.where(ended[..., None, None], 0.0, out)
    shape = filled[:, :, 0].shape
    seen = two_point_observables(
        filled[:, :, 0] * 0,
        filled[:, :, 0] * 0,
        filled[:, :, 0],
        filled[:, :, 1],
        np.broadcast_to(target[0], shape),
        np.broadcast_to(target[1], shape),
    )
    offset = ((filled.mean(axis=2) - target.mean(axis=0)) ** 2).sum(axis=-1)
    y, w, offset = (np.where(ended, np.nan, value) for value in (seen.y, seen.w, offset))
    dims, missing = ("seed", "epoch"), {"missing": "after a trial has reached its stop, or diverged"}
    made = dataset(
        {
            "h": variable((*dims, "layer"), frames.h, "squared representational distance h"),
            "y": variable(dims, y, "squared output distance y"),
            "w": variable(dims, w, "alignment w"),
            "loss": variable(dims, frames.loss, "training loss, eq. (1)"),
            "offset2": variable(dims, offset, "squared distance of the mean output from the mean target"),
            "dx2": variable((), float(((task.X[1] - task.X[0]) ** 2).sum()), "squared input distance"),
            "dy2": variable((), float(((target[1] - target[0]) ** 2).sum()), "squared target distance"),
            "engine": variable((), engine, "engine that trained"),
            "dtype": variable((), dtype, "number format"),
        },
        {
            "seed": index("seed", len(y), "independent network"),
            "epoch": variable("epoch", np.arange(y.shape[1]) * task.every, "epoch", "epoch"),
            "layer": variable("layer", np.array(task.layers), "hidden layer, from 0"),
        },
        title="Two points through an ensemble of networks",
    )
    for name in ("h", "y", "w", "loss", "offset2"):
        made[name].attrs |= missing
    return made
