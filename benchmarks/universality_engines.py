"""Training engines for two points, side by side in one run on one thread: equal results first, then speed.

1. Equality: losses of engines and peers over some epochs, against plain PyTorch modules with `torch.optim.SGD`.
   Peers: the same with the fused optimizer, with `torch.compile` (wants a C++ compiler), and `torch.func`.
2. Epochs per second for the default, narrow, shallow and convolutional networks, one trial, float32 and float64.
3. Bytes that an epoch has to move (read the weights forward, read and write them backward) per second, against the
   bandwidth of a plain copy of a block of the same size.
4. An ensemble: trials one after the other against all in lockstep.
5. Dropout and Adam on twelve networks of 100 units: largest relative difference of the losses, and the speed.

Run with `OMP_NUM_THREADS=1 python benchmarks/universality_engines.py`; about five minutes.
With `--device cuda` the batched engine runs on the GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import torch

from repdyn.universality.methods.engines import autograd, batched, compiled, compiled_convolution
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import Net, Weights, initial_weights
from repdyn.universality.methods.two_point_training import two_points

NETWORKS = {
    "default": (Net("leaky relu", 1.0, 500, 20), 0.005),
    "narrow": (Net("leaky relu", 1.05, 50, 20), 0.005),
    "shallow": (Net("leaky relu", 0.35, 500, 2), 0.01),
    "convolution": (Net("leaky relu", 0.95, 160, 10, connections="convolution", channels=8, kernel=11), 0.002),
}
X, Y = two_points(1.0, np.sqrt(0.5))


def start(net: Net, trials: int, dtype: str) -> Weights:
    each = [initial_weights(net, np.random.default_rng(trial)) for trial in range(trials)]
    return {name: np.stack([one[name] for one in each]).astype(dtype) for name in each[0]}


def modules(net: Net, weights: Weights) -> torch.nn.Sequential:
    """The network of the first trial from torch.nn."""
    dtype = torch.tensor(weights["first"]).dtype
    parts: list[torch.nn.Module] = []
    if net.connections == "convolution":
        matrices = [weights["first"][0]]
        kernels = [weights[f"kernel_{place}"][0] for place in range(net.hidden + 1)]
    else:
        matrices, kernels = [weights["first"][0], *weights["middle"][0]], []
    for W in matrices:
        parts += [torch.nn.Linear(W.shape[1], W.shape[0], dtype=dtype), torch.nn.LeakyReLU(0.01)]
        parts[-2].weight.data, parts[-2].bias.data = torch.tensor(W), torch.zeros(W.shape[0], dtype=dtype)
    if kernels:
        parts.append(torch.nn.Unflatten(1, (1, -1)))
    for K in kernels:
        parts += [torch.nn.Conv1d(K.shape[1], K.shape[0], K.shape[2], dtype=dtype), torch.nn.LeakyReLU(0.01)]
        parts[-2].weight.data, parts[-2].bias.data = torch.tensor(K), torch.zeros(K.shape[0], dtype=dtype)
    W = weights["last"][0]
    last = torch.nn.Linear(W.shape[1], W.shape[0], dtype=dtype)
    last.weight.data, last.bias.data = torch.tensor(W), torch.zeros(W.shape[0], dtype=dtype)
    return torch.nn.Sequential(*parts, torch.nn.Flatten(), last)


Steps = Callable[[int], np.ndarray]


def plain(net: Net, rate: float, weights: Weights, *, fused: bool = False, compile: bool = False) -> Steps:
    """Steps with mse_loss, backward and torch.optim.SGD, which give the losses."""
    model = modules(net, weights)
    dtype = model[0].weight.dtype
    inputs, targets = (torch.tensor(array, dtype=dtype) for array in (X, Y))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, fused=fused)

    def loss_of() -> torch.Tensor:
        return torch.nn.functional.mse_loss(model(inputs), targets) / 2

    forward = torch.compile(loss_of) if compile else loss_of

    def steps(epochs: int) -> np.ndarray:
        losses = []
        for _ in range(epochs):
            loss = forward()
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return np.array(losses)

    return steps


def functional(net: Net, rate: float, weights: Weights) -> Steps:
    """Steps by torch.func: gradient and value of a function of the parameters, which are exchanged, not changed."""
    model = modules(net, weights)
    parameters = {name: tensor.detach() for name, tensor in model.named_parameters()}
    inputs, targets = (torch.tensor(array, dtype=model[0].weight.dtype) for array in (X, Y))

    def loss_of(values: dict[str, torch.Tensor]) -> torch.Tensor:
        out = torch.func.functional_call(model, values, (inputs,))
        return torch.nn.functional.mse_loss(out, targets) / 2

    slope = torch.func.grad_and_value(loss_of)

    def steps(epochs: int) -> np.ndarray:
        losses = []
        for _ in range(epochs):
            gradient, loss = slope(parameters)
            losses.append(loss.item())
            parameters.update({name: value - rate * gradient[name] for name, value in parameters.items()})
        return np.array(losses)

    return steps


def peers() -> dict[str, Callable[..., Steps]]:
    return {
        "plain PyTorch": plain,
        "torch.optim fused": partial(plain, fused=True),
        "torch.func": functional,
        "torch.compile": partial(plain, compile=True),
    }


def engines(net: Net, device: str) -> dict[str, Callable[..., object]]:
    by_autograd = partial(autograd.advance, device="cpu")
    if net.connections == "convolution":
        return {"compiled": compiled_convolution.advance, "autograd": by_autograd}
    return {
        "compiled": compiled.advance,
        "batched": partial(batched.advance, device=device),
        "autograd": by_autograd,
    }


def equality(epochs: int, device: str) -> pd.DataFrame:
    """Largest relative difference of the losses from plain PyTorch, float64."""
    rows = []
    for name, (net, rate) in NETWORKS.items():
        wanted = plain(net, rate, start(net, 1, "float64"))(epochs)
        losses = {peer: make(net, rate, start(net, 1, "float64"))(epochs) for peer, make in peers().items()}
        for engine, advance in engines(net, device).items():
            task = Task(net, X, Y, rate, 1, (net.halfway,))
            losses[engine] = advance(task, start(net, 1, "float64"), epochs).loss[0]
        rows += [
            {"network": name, "engine": engine, "relative difference": np.abs(values / wanted - 1).max()}
            for engine, values in losses.items()
        ]
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
        task = Task(net, X, Y, rate, epochs, (net.halfway,))
        calls = {peer: partial(make(net, rate, weights), epochs) for peer, make in peers().items()}
        calls |= {name: partial(advance, task, weights, epochs) for name, advance in engines(net, device).items()}
        each = {engine: timed(call, epochs, budget) for engine, call in calls.items()}
        limit = copy_bandwidth(size)
        rows += [
            {
                "network": name,
                "dtype": dtype,
                "engine": engine,
                "ms per epoch": took,
                "plain PyTorch over it": each["plain PyTorch"] / took,
                "GB/s": 3 * size / took / 1e6,
                "copy GB/s": limit / 1e9,
            }
            for engine, took in each.items()
        ]
    return pd.DataFrame(rows)


def ensembles(trials: int, device: str, budget: float) -> pd.DataFrame:
    """Milliseconds per epoch and trial: compiled one by one, batched in lockstep, autograd in lockstep."""
    rows = []
    for name in ("narrow", "shallow"):
        net, rate = NETWORKS[name]
        task = Task(net, X, Y, rate, 200, (net.halfway,))
        for engine, advance in engines(net, device).items():
            weights = start(net, trials, "float64")
            each = timed(lambda a=advance, t=task, w=weights: a(t, w, 200), 200, budget) / trials
            rows.append({"network": name, "trials": trials, "engine": engine, "ms per epoch and trial": each})
    return pd.DataFrame(rows)


def recipes(budget: float) -> pd.DataFrame:
    """Milliseconds per epoch and trial with dropout and by Adam: compiled one by one, autograd in lockstep."""
    rows, trials, epochs = [], 12, 50
    for name, dropout, optimizer, rate in (("dropout", 0.1, "sgd", 0.005), ("Adam", 0.0, "adam", 1e-4)):
        net = Net("leaky relu", 1.0, 100, 20, dropout=dropout)
        task = Task(net, X, Y, rate, 1, (net.halfway,), optimizer=optimizer)
        for dtype in ("float32", "float64"):
            losses, each = {}, {}
            for engine, advance in (("autograd", autograd.advance), ("compiled", compiled.advance)):
                call = partial(advance, task, epochs=epochs, seeds=range(trials))
                losses[engine] = call(start(net, trials, dtype)).loss
                weights = start(net, trials, dtype)
                each[engine] = timed(partial(call, weights), epochs, budget) / trials
            difference = np.abs(losses["compiled"] / losses["autograd"] - 1).max()
            rows.append(
                {
                    "recipe": name,
                    "dtype": dtype,
                    "relative difference": difference,
                    **{f"{engine}, ms per epoch and trial": took for engine, took in each.items()},
                    "ratio": each["autograd"] / each["compiled"],
                }
            )
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
    print(ensembles(16, given.device, given.budget).to_string(index=False, float_format="%.3g"), "\n")
    print(recipes(given.budget).to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
