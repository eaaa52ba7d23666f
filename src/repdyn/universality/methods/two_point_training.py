"""Training of ensembles on two points: which engine, in which blocks, what is recorded, how a killed job resumes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.universality.methods.engines.frames import Array, Frames, Task, empty_frames, stopped
from repdyn.universality.methods.networks import Weights, initial_weights
from repdyn.universality.settings.two_points import TwoPointRun
from repdyn.universality.theory.effective import two_point_observables

ENGINES = ("auto", "compiled", "batched", "autograd")
BLOCK = 1000  # epochs between two moments at which a trial could be resumed
SAVE_AFTER = 20.0  # seconds of training worth a save; has no effect on numbers


def choose_engine(wanted: str, task: Task, device: str) -> str:
    """The engine for a task: compiled on a CPU, on a GPU batched.

    Autograd takes what these cannot: a convolution with dropout or Adam; on a GPU convolutions and dropout.

    Raises:
        ValueError: an engine that is unknown, or that cannot train this network.
    """
    if wanted not in ENGINES:
        raise ValueError(f"engine {wanted!r} is not one of {', '.join(ENGINES)}")
    dropout, convolution = task.net.dropout > 0, task.net.connections == "convolution"
    special = dropout or task.optimizer != "sgd"
    on_gpu = device.startswith("cuda")
    if wanted == "auto":
        if (dropout or convolution) if on_gpu else (special and convolution):
            return "autograd"
        return "batched" if on_gpu else "compiled"
    if dropout and wanted == "batched":
        raise ValueError("engine 'batched' knows no dropout; use auto, compiled or autograd")
    if special and wanted == "compiled" and convolution:
        raise ValueError("engine 'compiled' knows no dropout or Adam for a convolution; use auto or autograd")
    if convolution and wanted == "batched":
        raise ValueError("engine 'batched' knows no convolution; use auto, compiled or autograd")
    if wanted == "compiled" and on_gpu:
        raise ValueError("engine 'compiled' runs on the CPU only; use auto or batched with device cuda")
    return wanted


def two_points(dx: float, dy: float) -> tuple[Array, Array]:
    """The two-point data set of section B.1: inputs -1 and -1 + dx, targets 0.6 and 0.6 + dy; each (2, 1)."""
    if not dx > 0:
        raise ValueError(f"dx is {dx}; expected a distance above 0: equal inputs cannot be told apart")
    return np.array([[-1.0], [-1.0 + dx]]), np.array([[0.6], [0.6 + dy]])


def train_two_points(
    settings: TwoPointRun,
    task: Task,
    stream: Stream,
    *,
    device: str = "cpu",
    checkpoint: Checkpoint | None = None,
    name: str = "",
) -> xr.Dataset:
    """Trains an ensemble on two points and records h, y, w of equation (8), before each `task.every`-th update.

    Args:
        settings: number of networks, epochs, number format and engine.
        task: network, data, learning rate, what is recorded and when a trial stops.
        stream: initial weights come from `stream.generator(trial, "weights")`.
        device: torch device.
        checkpoint: where finished and half-trained trials are kept.
        name: what this ensemble is called in the checkpoint; another ensemble, another name.

    Returns:
        Dataset with h (seed, epoch, layer), y, w, loss, offset2 (seed, epoch), trained_epochs (seed). Where a trial has
        stopped, its last record stands for the rest; where it diverged, later ones are NaN.

    Raises:
        ValueError: an engine that cannot train this network.
    """
    engine = choose_engine(settings.engine, task, device)
    trials = range(settings.seeds)
    groups = [[trial] for trial in trials] if engine == "compiled" else [list(trials)]
    own = (checkpoint or Checkpoint(None, "")).of(task, stream.key)
    ensemble = _Ensemble(task, settings, stream, engine, device, own)
    done = [ensemble.train(group, f"{name} {group[0]} to {group[-1]}") for group in groups]
    frames = Frames(*(np.concatenate([records[part] for records in done]) for part in Frames._fields))
    return _dataset(task, frames, engine, settings.dtype)


@dataclass(frozen=True)
class _Ensemble:
    """Trials that share everything but their weights."""

    task: Task
    settings: TwoPointRun
    stream: Stream
    engine: str
    device: str
    checkpoint: Checkpoint

    def train(self, group: list[int], name: str) -> Trial:
        """Trains a group of trials block by block, from where a killed job left it."""
        if finished := self.checkpoint.get(name):
            self.checkpoint.drop(f"{name}, unfinished")  # of a job killed just before it did
            return finished
        kept, task, epochs = self.checkpoint.get(f"{name}, unfinished") or {}, self.task, self.settings.epochs
        weights = self._weights(group) | {
            key.removeprefix("weights "): array.copy() for key, array in kept.items() if key.startswith("weights ")
        }
        frames = Frames(*(kept[part].copy() for part in Frames._fields)) if kept else None
        frames = frames or empty_frames(task, len(group), epochs)
        block = epochs if task.optimizer == "adam" else task.every * -(-BLOCK // task.every)
        saved = time.monotonic()
        for begin in range(int(kept["epoch"]) if kept else 0, epochs, block):
            self._block(frames, weights, group, begin, min(block, epochs - begin))
            if time.monotonic() - saved > SAVE_AFTER and begin + block < epochs and self.checkpoint.path:
                state = {f"weights {key}": array for key, array in weights.items()}
                state |= frames._asdict() | {"epoch": np.array(begin + block)}
                self.checkpoint.put(f"{name}, unfinished", state)
                saved = time.monotonic()
        finished = self.checkpoint.put(name, frames._asdict())
        self.checkpoint.drop(f"{name}, unfinished")
        return finished

    def _block(self, frames: Frames, weights: Weights, group: list[int], begin: int, length: int) -> None:
        """Trains those that have not stopped for `length` epochs, in place, and writes the records into the frames."""
        first = begin // self.task.every
        left = np.flatnonzero(~stopped(self.task, frames.loss[:, :first])) if first else np.arange(len(group))
        if not len(left):
            return
        own = {name: array[left] for name, array in weights.items()}
        seeds = [self.stream.integer(group[place], "dropout", begin) for place in left]
        records = _advance(self.engine, self.task, own, length, seeds, self.device)
        for whole, part in zip(frames, records, strict=True):
            whole[left, first : first + part.shape[1]] = part
        for name, array in own.items():
            weights[name][left] = array

    def _weights(self, group: list[int]) -> Weights:
        stacked: Weights = {}
        for place, trial in enumerate(group):  # one trial at a time: wide ensembles fill the memory
            for name, array in initial_weights(self.task.net, self.stream.generator(trial, "weights")).items():
                shape = (len(group), *array.shape)
                stacked.setdefault(name, np.empty(shape, self.settings.dtype))[place] = array
        return stacked


def _advance(engine: str, task: Task, weights: Weights, epochs: int, seeds: list[int], device: str) -> Frames:
    """Calls the engine; torch and numba are imported only where they are used, since each takes seconds."""
    if engine == "compiled":
        from repdyn.universality.methods.engines import compiled, compiled_convolution

        if task.net.connections == "convolution":
            return compiled_convolution.advance(task, weights, epochs)
        return compiled.advance(task, weights, epochs, seeds=seeds)
    if engine == "batched":
        from repdyn.universality.methods.engines import batched

        return batched.advance(task, weights, epochs, device=device)
    from repdyn.universality.methods.engines import autograd

    return autograd.advance(task, weights, epochs, seeds=seeds, device=device)


def _dataset(task: Task, frames: Frames, engine: str, dtype: str) -> xr.Dataset:
    dims, missing = ("seed", "epoch"), {"missing": "after a trial has diverged"}
    frames, last = _held(task, frames)
    y, w, offset2 = _output_variables(frames.outputs, task.Y)
    recorded = dataset(
        {
            "h": variable((*dims, "layer"), frames.h, "squared representational distance h"),
            "y": variable(dims, y, "squared output distance y"),
            "w": variable(dims, w, "alignment w"),
            "loss": variable(dims, frames.loss, "training loss, eq. (1)"),
            "offset2": variable(dims, offset2, "squared distance of the mean output from the mean target"),
            "trained_epochs": variable("seed", last * task.every, "epochs until the last record of the trial", "epoch"),
            "stop": variable((), task.stop, "loss below which a trial ends; its last record stands for the rest"),
            "dx2": variable((), float(((task.X[1] - task.X[0]) ** 2).sum()), "squared input distance"),
            "dy2": variable((), float(((task.Y[1] - task.Y[0]) ** 2).sum()), "squared target distance"),
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
        recorded[name].attrs |= missing
    return recorded


def _held(task: Task, frames: Frames) -> tuple[Frames, Array]:
    """Frames in which a stopped trial keeps its last record, and the place of each trial's last record."""
    loss = frames.loss
    last = np.maximum(np.isfinite(loss).sum(axis=1) - 1, 0)
    rows = np.arange(len(loss))
    held = loss[rows, last] < task.stop
    places = np.where(held[:, None], np.minimum(np.arange(loss.shape[1]), last[:, None]), np.arange(loss.shape[1]))
    return Frames(*(array[rows[:, None], places] for array in frames)), last


def _output_variables(outputs: Array, target: Array) -> tuple[Array, Array, Array]:
    """y, w and the squared offset of the mean of outputs (trials, frames, 2, outputs); NaN where a trial has ended."""
    ended = np.asarray(np.isnan(outputs).any(axis=(2, 3)))
    filled = np.where(ended[..., None, None], 0.0, outputs)
    first, second = filled[:, :, 0], filled[:, :, 1]
    targets = (np.broadcast_to(row, first.shape) for row in target)
    _, y, w = two_point_observables(first * 0, first * 0, first, second, *targets)
    offset2 = ((filled.mean(axis=2) - target.mean(axis=0)) ** 2).sum(axis=-1)
    y, w, offset2 = (np.where(ended, np.nan, value) for value in (y, w, offset2))
    return y, w, offset2
