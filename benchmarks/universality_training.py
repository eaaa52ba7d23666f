"""Minibatch training by hand against plain PyTorch: equal parameters first, then time per step and network.

Run: python benchmarks/universality_training.py. Plain PyTorch is what a user would write: `nn.Sequential`, a loss,
`backward()`, `torch.optim`. Times are processor times of one thread, least of a few runs; ratios carry over to other
machines, milliseconds do not. The last columns hold the time against what the machine can do: the same products alone,
and the traffic of the weights at the bandwidth of a copy (descent: a read and a read with write; Adam: two reads, a
gradient written and read, three arrays read and written).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from repdyn.universality.methods import minibatch_training as trainer
from repdyn.universality.methods.networks import LEAK

CASES = {
    "blobs, 4 x 100, batch 64": ([27, 100, 100, 100, 100, 1], 64, 640, "tanh"),
    "digits, 4 x 200, batch 64": ([64, 200, 200, 200, 200, 10], 64, 640, "leaky relu"),
    "MNIST, 4 x 200, batch 64": ([784, 200, 200, 200, 200, 10], 64, 640, "leaky relu"),
    "XOR, 20 x 100, 4 points": ([2, *[100] * 20, 1], 4, 4, "leaky relu"),
    "XOR, 20 x 500, 4 points": ([2, *[500] * 20, 1], 4, 4, "leaky relu"),
}
RATE = {"sgd": 1e-3, "adam": 1e-4}


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Least processor time of a few runs."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def networks(sizes: list[int], trials: int, nonlinearity: str, dtype: torch.dtype) -> trainer.Networks:
    sources = [np.random.default_rng(trial) for trial in range(trials)]
    return trainer.xavier(sizes, 1.0, sources, nonlinearity, dtype=dtype)


def module_of(found: trainer.Networks, sizes: list[int], nonlinearity: str) -> nn.Sequential:
    """The first network as a torch module."""
    modules: list[nn.Module] = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        linear = nn.Linear(fan_in, fan_out, dtype=found.theta.dtype)
        with torch.no_grad():
            linear.weight.copy_(found.weights[layer][0])
            linear.bias.copy_(found.biases[layer][0, 0])
        modules += [linear, nn.Tanh() if nonlinearity == "tanh" else nn.LeakyReLU(LEAK)]
    return nn.Sequential(*modules[:-1])


def plain(module: nn.Sequential, X: torch.Tensor, Y: torch.Tensor, batch: int, optimizer: str, epochs: int) -> None:
    made = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](module.parameters(), lr=RATE[optimizer])
    for _ in range(epochs):
        for chosen in torch.arange(len(X)).split(batch):
            made.zero_grad()
            (0.5 * nn.functional.mse_loss(module(X[chosen]), Y[chosen])).backward()
            made.step()


def by_hand(found: trainer.Networks, X: torch.Tensor, Y: torch.Tensor, batch: int, optimizer: str, epochs: int) -> None:
    made = trainer.Trainer(found, X, Y, rate=RATE[optimizer], batch=batch, optimizer=optimizer)
    order = np.broadcast_to(np.arange(len(X)), (found.trials, len(X)))
    for _ in range(epochs):
        made.epoch(order)


def data(sizes: list[int], points: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(7)
    return tuple(torch.tensor(rng.standard_normal((points, n)), dtype=dtype) for n in (sizes[0], sizes[-1]))


def difference(name: str, optimizer: str) -> float:
    """Largest relative difference of the first network's parameters after a few epochs in float64."""
    sizes, batch, points, nonlinearity = CASES[name]
    X, Y = data(sizes, points, torch.float64)
    found = networks(sizes, 2, nonlinearity, torch.float64)
    module = module_of(found, sizes, nonlinearity)
    plain(module, X, Y, batch, optimizer, 3)
    by_hand(found, X, Y, batch, optimizer, 3)
    wanted = torch.cat([part.detach().reshape(-1) for part in module.parameters()]).numpy()
    return float(np.abs(trainer.parameters(found)[0] - wanted).max() / np.abs(wanted).max())


def limits(sizes: list[int], batch: int, optimizer: str) -> tuple[float, float]:
    """Seconds of a step's products alone, and of its traffic of weights at the speed of a copy."""
    products = 0.0
    for fan_in, fan_out in pairwise(sizes):
        a, w, d = torch.rand(batch, fan_in), torch.rand(fan_out, fan_in), torch.rand(batch, fan_out)
        z = torch.empty(batch, fan_out)
        products += seconds(lambda a=a, w=w, z=z: [torch.mm(a, w.T, out=z) for _ in range(50)]) / 50
        products += seconds(lambda d=d, w=w, a=a: [torch.mm(d, w, out=a) for _ in range(50)]) / 50
        products += seconds(lambda d=d, w=w, a=a: [w.addmm_(d.T, a, alpha=1e-9) for _ in range(50)]) / 50
    weights = torch.rand(sum(fan_in * fan_out for fan_in, fan_out in pairwise(sizes)))
    room = torch.empty_like(weights)
    copy = seconds(lambda: [room.copy_(weights) for _ in range(20)]) / 20  # one read, one write
    return products, copy * {"sgd": 1.5, "adam": 5.0}[optimizer]


def main() -> None:
    torch.set_num_threads(1)
    print("largest relative difference from autograd after 3 epochs, float64")
    for name in CASES:
        print(f"{name:>28}" + "".join(f"  {optimizer} {difference(name, optimizer):.1e}" for optimizer in RATE))
    print("\nms per step and network, float32")
    head = ("PyTorch", "hand, 2", "hand, 6", "gain", "products", "traffic", "of limit")
    for optimizer in RATE:
        print(f"{optimizer:>28} " + "".join(f"{word:>9}" for word in head))
        for name in CASES:
            print(f"{name:>28} " + "".join(f"{cell:9.3f}" for cell in row(name, optimizer)))


def row(name: str, optimizer: str) -> list[float]:
    """Milliseconds of PyTorch, by hand with 2 and 6 networks, gain, the two limits, time over the larger limit."""
    sizes, batch, points, nonlinearity = CASES[name]
    X, Y = data(sizes, points, torch.float32)
    steps = -(-points // batch)
    epochs = 5 if steps > 1 else 20
    module = module_of(networks(sizes, 2, nonlinearity, torch.float32), sizes, nonlinearity)
    times = [seconds(lambda: plain(module, X, Y, batch, optimizer, epochs)) / (steps * epochs)]
    for trials in (2, 6):
        found = networks(sizes, trials, nonlinearity, torch.float32)
        run = seconds(lambda found=found: by_hand(found, X, Y, batch, optimizer, epochs))
        times.append(run / (steps * epochs * trials))
    bounds, best = limits(sizes, batch, optimizer), min(times[1:])
    return [*(1e3 * t for t in times), times[0] / best, *(1e3 * t for t in bounds), best / max(bounds)]


if __name__ == "__main__":
    main()
