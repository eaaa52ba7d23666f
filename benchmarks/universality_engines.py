"""Training engines for two points beside PyTorch's own ways, in one run on one thread: equal losses first, then speed.

1. One network: `peers.py` (autograd with torch.optim, its fused optimizers, torch.func, torch.compile where there is a
   C++ compiler) and our engines. The losses of some epochs agree, or nothing is timed. "over ours" is the time over
   the compiled engine's, median over rounds in which all run once. Bytes that an epoch has to move (weights are read,
   then read and written; so are Adam's moments) stand against a plain copy of a block of the same size.
2. An ensemble: trials one after the other against all in lockstep, torch.func by vmap.

Run with `OMP_NUM_THREADS=1 python benchmarks/universality_engines.py`; compiling takes most of the time.
With `--device cuda` the batched engine runs on the GPU.

Time over the compiled engine's, float32 / float64 (one thread; two virtual cores with AVX-512, both busy with other
work, copies at 11 to 21 GB/s for 500 x 20; torch 2.13, numba 0.68, numpy 2.4, g++ 12):

    network              plain PyTorch  fused        torch.func   torch.compile  rounds
    default              3.7 / 3.1      3.9 / 3.0    4.8 / 3.5    2.3 / 2.0      9
    default, Adam        1.3 / 1.9      0.75 / 0.94  0.88 / 1.1   0.68 / 0.89    9
    dropout, float32     4.6            4.6          6.6          2.8            9
    dropout, float64     3.0            2.9          3.8          -              3
    narrow               43 / 40        41 / 39      102 / 93     -              3
    shallow              8.9 / 8.1      9.1 / 7.5    19 / 14      -              3
    convolution          12 / 4.0       12 / 4.4     16 / 7.4     -              3
    12 narrow, vmap      -              -            20 / 20      -              3
    12 shallow, vmap     -              -            8.5 / 6.8    -              3

The row of Adam is from before its compiled pass used the vector unit, since when an epoch of 100 x 20 takes a quarter
(float32; a third in float64). "-": not measured. Nor were ensembles with dropout and Adam; their losses agree. The
default's ratio to plain PyTorch in float64 is at the border: three rounds on the same machine gave 2.7. Float32 losses
are compared over 40 epochs (20 in rows of 3 rounds): by 60, PyTorch's own are 1e-5 from its float64.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from peers import Step, by_func, peers
from torch import Tensor, nn

from repdyn.universality.methods.engines import autograd, batched, compiled, compiled_convolution
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import LEAK, Net, Weights, initial_weights
from repdyn.universality.methods.two_point_training import two_points

X, Y = two_points(1.0, np.sqrt(0.5))
DEFAULT = Net("leaky relu", 1.0, 500, 20)
CONVOLUTION = Net("leaky relu", 0.95, 160, 10, connections="convolution", channels=8)
NETWORKS = {  # rows of Table 1 at the paper's width; the convolution is the default scale's
    "default": Task(DEFAULT, X, Y, 0.005),
    "default, Adam": Task(DEFAULT, X, Y, 1e-5, optimizer="adam"),
    "dropout": Task(Net("leaky relu", 1.0, 500, 10, dropout=0.1), X, Y, 0.005),
    "narrow": Task(Net("leaky relu", 1.05, 50, 20), X, Y, 0.005),
    "shallow": Task(Net("leaky relu", 0.35, 500, 2), X, Y, 0.01),
    "convolution": Task(CONVOLUTION, X, Y, 0.002),
}
ENSEMBLES = {
    "narrow": NETWORKS["narrow"],
    "shallow": NETWORKS["shallow"],
    "dropout, 100 units": Task(Net("leaky relu", 1.0, 100, 10, dropout=0.1), X, Y, 0.005),
    "Adam, 100 units": Task(Net("leaky relu", 1.0, 100, 20), X, Y, 1e-5, optimizer="adam"),
}
CLOSE = {"float32": 1e-5, "float64": 1e-10}
COMPARED, EPOCHS = 40, 20  # epochs whose losses are compared, and of a timed block


def start(net: Net, trials: int, dtype: str) -> Weights:
    each = [initial_weights(net, np.random.default_rng(trial)) for trial in range(trials)]
    return {name: np.stack([weights[name] for weights in each]).astype(dtype) for name in each[0]}


class Module(nn.Sequential):
    """A network from torch.nn; masks multiply the inputs of its affine maps in turn."""

    def forward(self, a: Tensor, *masks: Tensor) -> Tensor:
        left = list(masks)
        for part in self:
            a = part(a * left.pop(0) if left and isinstance(part, nn.Linear) else a)
        return a


def module(net: Net, weights: Weights, trial: int) -> Module:
    own = {name: torch.tensor(array[trial]) for name, array in weights.items()}
    kernels = [name for name in own if name.startswith("kernel")]
    pairs = [(own["first"], own["biases"][0])]
    pairs += [(own[name], own[name.replace("kernel", "bias")]) for name in kernels]
    pairs += [] if kernels else list(zip(own["middle"], own["biases"][1:], strict=True))
    parts: list[nn.Module] = []
    for W, b in [*pairs, (own["last"], own["last_bias"])]:
        parts.append((nn.Linear if W.ndim == 2 else nn.Conv1d)(*W.shape[1::-1], *W.shape[2:], dtype=W.dtype))
        parts[-1].weight.data, parts[-1].bias.data = W.clone(), b.clone()
        parts.append(nn.LeakyReLU(LEAK))
    if kernels:
        parts.insert(2, nn.Unflatten(-1, (1, -1)))
        parts.insert(-2, nn.Flatten(-2))
    return Module(*parts[:-1])


Losses = Callable[..., np.ndarray]
"""Trains for so many epochs, gives the losses before each, or those with dropout without it: (trials, epochs)."""


def of_peer(make: Callable[..., Step], task: Task, weights: Weights) -> Losses:
    models = [module(task.net, weights, trial) for trial in range(len(weights["first"]))]
    like = models[0][0].weight
    inputs, targets = (torch.tensor(array, dtype=like.dtype) for array in (task.X, task.Y))
    generators = [torch.Generator().manual_seed(trial) for trial in range(len(models))]

    def loss(call: Callable[..., Tensor], x: Tensor, y: Tensor, *masks: Tensor) -> Tensor:
        return nn.functional.mse_loss(call(x, *masks), y) / 2

    step = make(models, loss, task.optimizer, task.rate)
    points = [part.expand(len(models), *part.shape) for part in (inputs, targets)]

    def losses(epochs: int, *, records: bool = False) -> np.ndarray:
        history = []
        for _ in range(epochs):
            masks = autograd._masks(task.net, generators, inputs) if task.net.dropout else ()
            if records and task.net.dropout:
                with torch.no_grad():
                    history.append([loss(model, inputs, targets).item() for model in models])
                step(*points, *masks)
            else:
                history.append(step(*points, *masks).tolist())
        return np.array(history).T

    return losses


def of_engine(advance: Callable[..., object], task: Task, weights: Weights) -> Losses:
    often, seeds = replace(task, every=EPOCHS), range(len(weights["first"]))
    seeded = {"seeds": seeds} if task.net.dropout else {}

    def losses(epochs: int, *, records: bool = False) -> np.ndarray:
        return advance(task if records else often, weights, epochs, **seeded).loss

    return losses


def engines(task: Task, device: str) -> dict[str, Callable[..., object]]:
    exact = compiled_convolution if task.net.connections == "convolution" else compiled
    advances = {"ours, compiled": exact.advance, "ours, autograd": autograd.advance}
    if exact is compiled and not task.net.dropout and task.optimizer == "sgd":
        advances["ours, batched"] = partial(batched.advance, device=device)
    return advances


def medians(calls: dict[str, Losses], rounds: int) -> pd.DataFrame:
    """Milliseconds of processor time per epoch, and that over ours, medians over rounds in which each runs once."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            before = time.process_time()
            call(EPOCHS)
            took[name].append(1e3 * (time.process_time() - before) / EPOCHS)
    each = pd.DataFrame(took)
    ratio = each.div(each["ours, compiled"], axis=0)
    return pd.DataFrame({"ms per epoch": each.median(), "over ours": ratio.median()})


def copy_bandwidth(size: int) -> float:
    """Bytes per second of repeated plain copies inside one block of that many bytes, read and write counted."""
    block = np.ones(max(size // 16, 1))
    other, times = np.empty_like(block), []
    for _ in range(30):
        before = time.perf_counter()
        np.copyto(other, block)
        times.append(time.perf_counter() - before)
    return 2 * block.nbytes / min(times)


def compared(task: Task, makes: dict[str, Callable[..., Step]], trials: int, dtype: str, options: Any) -> pd.DataFrame:
    """Largest relative difference of the losses from the reference, the first one, and speed."""
    calls = {name: of_peer(make, task, start(task.net, trials, dtype)) for name, make in makes.items()}
    for name, advance in engines(task, options.device).items():
        calls[name] = of_engine(advance, task, start(task.net, trials, dtype))
    losses = {name: call(COMPARED, records=True) for name, call in calls.items()}
    wanted = next(iter(losses.values()))
    difference = pd.Series({name: np.abs(values / wanted - 1).max() for name, values in losses.items()})
    if not (difference < CLOSE[dtype]).all():
        raise SystemExit(f"losses differ in {dtype}:\n{difference}")
    return medians(calls, options.rounds).assign(difference=difference)


def show(title: str, table: pd.DataFrame) -> None:
    print(title, table.rename_axis("").to_string(float_format="%.3g"), "", sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=9, help="repetitions of a measurement")
    parser.add_argument("--trials", type=int, default=12, help="networks of an ensemble")
    options = parser.parse_args()
    torch.set_num_threads(1)
    makers = peers()
    for name, task in NETWORKS.items():
        for dtype in CLOSE:
            table = compared(task, makers, 1, dtype, options)
            size = sum(array.nbytes for array in start(task.net, 1, dtype).values())
            moved = {"sgd": 3, "adam": 7}[task.optimizer] * size
            title = f"{name}, {dtype}, a copy moves {copy_bandwidth(size) / 1e9:.3g} GB/s"
            show(title, table.assign(**{"GB/s": moved / table["ms per epoch"] / 1e6}))
    for name, task in ENSEMBLES.items():
        for dtype in CLOSE:
            table = compared(task, {"torch.func, vmap": by_func}, options.trials, dtype, options)
            show(f"{options.trials} networks: {name}, {dtype}", table)


if __name__ == "__main__":
    main()
