"""Minibatch training by hand against PyTorch's own ways: equal parameters first, then time per step and network.

Run: OMP_NUM_THREADS=1 python benchmarks/universality_training.py. Plain PyTorch is what a user would
write: `nn.Sequential`, a loss, `backward()`, `torch.optim`; the others are in `peers.py`. torch.func and torch.compile
take six networks at once, by vmap; by hand six are trained, side by side or one after the other. Times are processor
times of one thread, medians of rounds in which each runs once; ratios carry over to other machines, milliseconds do
not. "gain" is plain PyTorch's time over that of compiled steps, "peer" that of the fastest peer. The last columns hold
the time against what the machine can do: the same products alone, and the traffic of the weights at the bandwidth of a
copy (descent: a read and a read with write; Adam: two reads, a gradient written and read, three arrays read and
written).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from peers import Step, peers
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


def medians(works: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Median processor times over rounds in which each runs once."""
    taken = [{name: seconds(work, 1) for name, work in works.items()} for _ in range(rounds)]
    return {name: float(np.median([times[name] for times in taken])) for name in works}


def module_of(ensemble: trainer.Networks, trial: int, sizes: list[int], nonlinearity: str) -> nn.Sequential:
    """A network as a torch module."""
    modules: list[nn.Module] = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        linear = nn.Linear(fan_in, fan_out, dtype=ensemble.theta.dtype)
        with torch.no_grad():
            linear.weight.copy_(ensemble.weights[layer][trial])
            linear.bias.copy_(ensemble.biases[layer][trial, 0])
        modules += [linear, nn.Tanh() if nonlinearity == "tanh" else nn.LeakyReLU(LEAK)]
    return nn.Sequential(*modules[:-1])


def by_peer(step: Step, trials: int, X: torch.Tensor, Y: torch.Tensor, batch: int, epochs: int) -> None:
    for _ in range(epochs):
        for chosen in torch.arange(len(X)).expand(trials, -1).split(batch, dim=1):
            step(X[chosen], Y[chosen])


def half_square(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * nn.functional.mse_loss(call(x), y)


def several(peer: str) -> int:
    """Networks that a peer trains at once."""
    return 6 if peer in ("torch.func", "torch.compile") else 1


def by_hand(
    ensemble: trainer.Networks,
    X: torch.Tensor,
    Y: torch.Tensor,
    batch: int,
    optimizer: str,
    epochs: int,
    *,
    batched: bool = False,
) -> None:
    run = trainer.Trainer(ensemble, X, Y, rate=RATE[optimizer], batch=batch, optimizer=optimizer, batched=batched)
    run.epochs(epochs, np.broadcast_to(np.arange(len(X)), (epochs, ensemble.trials, len(X))))


def data(sizes: list[int], points: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(7)
    return tuple(torch.tensor(rng.standard_normal((points, n)), dtype=dtype) for n in (sizes[0], sizes[-1]))


def differences(name: str, optimizer: str) -> dict[str, float]:
    """Difference of the first network's parameters from plain PyTorch's after 3 epochs, over how far they moved."""
    sizes, batch, points, nonlinearity = CASES[name]
    X, Y = data(sizes, points, torch.float64)
    start = networks(sizes, 6, nonlinearity, torch.float64)
    trained, begun = {}, trainer.parameters(start)[0]
    for peer, make in peers().items():
        modules = [module_of(start, trial, sizes, nonlinearity) for trial in range(several(peer))]
        by_peer(make(modules, half_square, optimizer, RATE[optimizer]), len(modules), X, Y, batch, 3)
        trained[peer] = torch.cat([part.detach().reshape(-1) for part in modules[0].parameters()]).numpy()
    for way in (False, True):
        ensemble = networks(sizes, 6, nonlinearity, torch.float64)
        by_hand(ensemble, X, Y, batch, optimizer, 3, batched=way)
        trained["batched" if way else "compiled"] = trainer.parameters(ensemble)[0]
    wanted = trained.pop("plain PyTorch")
    moved = np.abs(wanted - begun).max()
    return {engine: float(np.abs(values - wanted).max() / moved) for engine, values in trained.items()}


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


def row(name: str, optimizer: str) -> dict[str, float]:
    """Milliseconds of the peers, of batched and of compiled steps by hand, gains, two limits, time over the larger."""
    sizes, batch, points, nonlinearity = CASES[name]
    X, Y = data(sizes, points, torch.float32)
    steps = -(-points // batch)
    epochs = 5 if steps > 1 else 20
    works, trained = {}, {}
    for peer, make in peers().items():
        trained[peer] = several(peer)
        ensemble = networks(sizes, 6, nonlinearity, torch.float32)
        modules = [module_of(ensemble, trial, sizes, nonlinearity) for trial in range(several(peer))]
        step = make(modules, half_square, optimizer, RATE[optimizer])
        works[peer] = partial(by_peer, step, len(modules), X, Y, batch, epochs)
        works[peer]()
    peer_names = list(works)
    for name, way in (("batched", True), ("compiled", False)):
        ensemble = networks(sizes, 6, nonlinearity, torch.float32)
        works[name] = partial(by_hand, ensemble, X, Y, batch, optimizer, epochs, batched=way)
        works[name]()
        trained[name] = 6
    taken = {engine: 1e3 * took / (steps * epochs * trained[engine]) for engine, took in medians(works).items()}
    best = taken["compiled"]
    gains = {"gain": taken["plain PyTorch"] / best, "peer": min(taken[engine] for engine in peer_names) / best}
    products, traffic = (1e3 * limit for limit in limits(sizes, batch, optimizer))
    bounds = {"products": products, "traffic": traffic, "of limit": best / max(products, traffic)}
    return taken | gains | bounds


def main() -> None:
    torch.set_num_threads(1)
    for title, cells, form in (
        (
            "difference of parameters from plain PyTorch's after 3 epochs, over how far they moved, float64",
            differences,
            "{:.1e}",
        ),
        ("ms per step and network, float32", row, "{:.3f}"),
    ):
        for optimizer in RATE:
            table = pd.DataFrame({name: cells(name, optimizer) for name in CASES}).T
            print(f"{title}, {optimizer}", table.to_string(float_format=form.format), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
