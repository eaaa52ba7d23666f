"""Training engines for two points, side by side in one run on one thread: equal results first, then speed.

1. Equality: h, y, w, loss of the engines after some epochs, against plain PyTorch modules with `torch.optim.SGD`.
2. Epochs per second for the default, narrow and shallow networks, one trial.
3. Bytes that an epoch has to move (read the weights forward, read and write them backward) per second, against the
   bandwidth of a plain copy of a block of the same size.
4. An ensemble: trials one after the other against all in lockstep.

Run with `OMP_NUM_THREADS=1 python benchmarks/universality_engines.py`; about two minutes.
With `--device cuda` the batched engine runs on the GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from repdyn.universality.methods.engines import autograd, batched, compiled
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import Net, Weights, initial_weights
from repdyn.universality.methods.two_point_training import two_points

NETWORKS = {
    "default": (Net("leaky relu", 1.0, 500, 20), 0.005),
    "narrow": (Net("leaky relu", 1.05, 50, 20), 0.005),
    "shallow": (Net("leaky relu", 0.35, 500, 2), 0.01),
}
X, Y = two_points(1.0, np.sqrt(0.5))


def start(net: Net, trials: int, dtype: str) -> Weights:
    each = [initial_weights(net, np.random.default_rng(trial)) for trial in range(trials)]
    return {name: np.stack([one[name] for one in each]).astype(dtype) for name in each[0]}


def plain(net: Net, rate: float, weights: Weights, epochs: int) -> np.ndarray:
    """torch.nn modules, mse_loss, torch.optim.SGD; the losses."""
    parts: list[torch.nn.Module] = []
    for W in [weights["first"][0], *weights["middle"][0], weights["last"][0]]:
        one = torch.nn.Linear(W.shape[1], W.shape[0])
        one.weight.data, one.bias.data = torch.tensor(W), torch.zeros(W.shape[0], dtype=torch.tensor(W).dtype)
        parts += [one, torch.nn.LeakyReLU(0.01)]
    model = torch.nn.Sequential(*parts[:-1])
    inputs, targets = (torch.tensor(array, dtype=parts[0].weight.dtype) for array in (X, Y))
    optimiser, losses = torch.optim.SGD(model.parameters(), lr=rate), []
    for _ in range(epochs):
        loss = torch.nn.functional.mse_loss(model(inputs), targets) / 2
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return np.array(losses)


def engines(device: str) -> dict[str, Callable[..., object]]:
    return {
        "compiled": compiled.advance,
        "batched": lambda task, weights, epochs: batched.advance(task, weights, epochs, device=device),
        "autograd": lambda task, weights, epochs: autograd.advance(task, weights, epochs, device="cpu"),
    }


def equality(epochs: int, device: str) -> pd.DataFrame:
    """Largest relative difference of the losses from plain PyTorch, float64."""
    rows = []
    for name, (net, rate) in NETWORKS.items():
        wanted = plain(net, rate, start(net, 1, "float64"), epochs)
        for engine, advance in engines(device).items():
            task = Task(net, X, Y, rate, 1, (net.halfway,))
            found = advance(task, start(net, 1, "float64"), epochs).loss[0]
            rows.append({"network": name, "engine": engine, "relative difference": np.abs(found / wanted - 1).max()})
    return pd.DataFrame(rows)


def timed(call: Callable[[], object], epochs: int, budget: float) -> float:
    """Milliseconds of CPU time per epoch, the least of repeated blocks."""
    call()
    best, began = np.inf, time.perf_counter()
    while time.perf_counter() - began < budget:
        before = time.process_time()
        call()
        best = min(best, time.process_time() - before)
    return 1e3 * best / epochs


def copy_bandwidth(size: int) -> float:
    """Bytes per second of repeated plain copies inside one block of that many bytes, read and write counted."""
    block = np.ones(max(size // 16, 1))
    other, times = np.empty_like(block), []
    for _ in range(30):
        before = time.perf_counter()
        np.copyto(other, block)
        times.append(time.perf_counter() - before)
    return 2 * block.nbytes / min(times)


def speed(dtype: str, device: str, budget: float) -> pd.DataFrame:
    """Milliseconds per epoch of one trial, ratio to plain PyTorch, bytes moved against a copy."""
    rows = []
    for name, (net, rate) in NETWORKS.items():
        epochs = 20 if name == "default" else 200
        weights = start(net, 1, dtype)
        size = sum(array.nbytes for array in weights.values())
        usual = timed(lambda n=net, r=rate, w=weights, e=epochs: plain(n, r, w, e), epochs, budget)
        limit = copy_bandwidth(size)
        task = Task(net, X, Y, rate, epochs, (net.halfway,))
        for engine, advance in {"plain PyTorch": None, **engines(device)}.items():
            each = (
                usual
                if advance is None
                else timed(lambda a=advance, t=task, w=weights, e=epochs: a(t, w, e), epochs, budget)
            )
            rows.append(
                {
                    "network": name,
                    "dtype": dtype,
                    "engine": engine,
                    "ms per epoch": each,
                    "plain PyTorch over it": usual / each,
                    "GB/s": 3 * size / each / 1e6,
                    "copy GB/s": limit / 1e9,
                }
            )
    return pd.DataFrame(rows)


def ensembles(trials: int, device: str, budget: float) -> pd.DataFrame:
    """Milliseconds per epoch and trial: compiled one by one, batched in lockstep, autograd in lockstep."""
    rows = []
    for name in ("narrow", "shallow"):
        net, rate = NETWORKS[name]
        task = Task(net, X, Y, rate, 200, (net.halfway,))
        for engine, advance in engines(device).items():
            weights = start(net, trials, "float64")
            each = timed(lambda a=advance, t=task, w=weights: a(t, w, 200), 200, budget) / trials
            rows.append({"network": name, "trials": trials, "engine": engine, "ms per epoch and trial": each})
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per measurement")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(equality(60, given.device).to_string(index=False), "\n")
    for dtype in ("float32", "float64"):
        print(speed(dtype, given.device, given.budget).to_string(index=False, float_format="%.3g"), "\n")
    print(ensembles(16, given.device, given.budget).to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
