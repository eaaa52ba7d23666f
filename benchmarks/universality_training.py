"""Minibatch training of perceptrons beside other ways, for docs/performance.md: equal parameters first.

Plain PyTorch is what a user would write: `nn.Sequential`, a loss, `backward()`, `torch.optim`; the others are in
`peers.py` and `peers_jax.py`. Six networks are trained, by torch.func and by JAX at once or, where that is faster, one
by one; by hand one after the other. The limits are a step's products alone, and the traffic of the weights at the speed
of a copy (descent: a read and a read with write; Adam: two reads, a gradient written and read, three arrays read and
written).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from measuring import OURS, Race, Row, Way, copy, products
from peers import Step, peers
from torch import nn

from repdyn.universality.methods import minibatch_training as trainer
from repdyn.universality.methods.networks import LEAK

CASES = {  # sizes, batch, points, nonlinearity
    "blobs, 4 x 100": ([27, 100, 100, 100, 100, 1], 64, 640, "tanh"),
    "digits, 4 x 200": ([64, 200, 200, 200, 200, 10], 64, 640, "leaky relu"),
    "MNIST, 4 x 200": ([784, 200, 200, 200, 200, 10], 64, 640, "leaky relu"),
    "XOR, 20 x 100": ([2, *[100] * 20, 1], 4, 4, "leaky relu"),
    "XOR, 20 x 500": ([2, *[500] * 20, 1], 4, 4, "leaky relu"),
}
RATE = {"sgd": 1e-3, "adam": 1e-4}
TRIALS, COMPARED = 6, 2
CLOSE = 1e-7  # of how far parameters moved, in float64: Adam in float32 divides rounding by rounding


def networks(sizes: list[int], nonlinearity: str, dtype: torch.dtype) -> trainer.Networks:
    sources = [np.random.default_rng(trial) for trial in range(TRIALS)]
    return trainer.xavier(sizes, 1.0, sources, nonlinearity, dtype=dtype)


def module_of(ensemble: trainer.Networks, trial: int, nonlinearity: str) -> nn.Sequential:
    """A network as a torch module."""
    modules: list[nn.Module] = []
    for weights, biases in zip(ensemble.weights, ensemble.biases, strict=True):
        linear = nn.Linear(*weights.shape[:0:-1], dtype=weights.dtype)
        with torch.no_grad():
            linear.weight.copy_(weights[trial])
            linear.bias.copy_(biases[trial, 0])
        modules += [linear, nn.Tanh() if nonlinearity == "tanh" else nn.LeakyReLU(LEAK)]
    return nn.Sequential(*modules[:-1])


def by_peer(step: Step, trials: int, X: torch.Tensor, Y: torch.Tensor, batch: int, epochs: int) -> None:
    for _ in range(epochs):
        for chosen in torch.arange(len(X)).expand(trials, -1).split(batch, dim=1):
            step(X[chosen], Y[chosen])


def half_square(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * nn.functional.mse_loss(call(x), y)


Train = Callable[..., np.ndarray | None]
"""Trains for so many epochs; gives the first network's parameters, a copy that no timed run makes."""


def of_torch(
    make: Callable[..., Step], trials: int, ensemble: trainer.Networks, nonlinearity: str, optimizer: str, data: Any
) -> Train:
    modules = [module_of(ensemble, trial, nonlinearity) for trial in range(trials)]
    step = make(modules, half_square, optimizer, RATE[optimizer])

    def train(epochs: int, *, reads: bool = True) -> np.ndarray | None:
        by_peer(step, trials, *data, epochs)
        if not reads:
            return None
        return torch.cat([part.detach().reshape(-1) for part in modules[0].parameters()]).numpy()

    return train


def of_jax(trials: int, ensemble: trainer.Networks, nonlinearity: str, optimizer: str, data: Any) -> Train:
    import jax.numpy as jnp
    import peers_jax

    values = [(W.numpy(), b[:, 0].numpy()) for W, b in zip(ensemble.weights, ensemble.biases, strict=True)]
    values = values if trials > 1 else [(W[0], b[0]) for W, b in values]
    X, Y, batch = data

    def loss(values: Any, x: Any, y: Any) -> Any:
        for place, (W, b) in enumerate(values):
            z = x @ W.T + b
            kept = jnp.tanh(z) if nonlinearity == "tanh" else jnp.where(z > 0, z, LEAK * z)
            x = kept if place < len(values) - 1 else z
        return 0.5 * jnp.mean((x - y) ** 2)

    arrays, rate = (X.numpy(), Y.numpy()), RATE[optimizer]
    run = peers_jax.training(loss, values, arrays, optimizer, rate, several=trials > 1, pick=peers_jax.chosen)
    order = np.arange(len(X)).reshape(-1, batch)
    order = order if trials == 1 else np.repeat(order[:, None], trials, axis=1)

    def train(epochs: int, *, reads: bool = True) -> np.ndarray | None:
        run(np.tile(order, (epochs, *[1] * (order.ndim - 1))))
        if not reads:
            return None
        parts = [np.asarray(part if trials == 1 else part[0]).ravel() for pair in run.values() for part in pair]
        return np.concatenate(parts)

    return train


def by_hand(ensemble: trainer.Networks, optimizer: str, data: Any) -> Train:
    X, Y, batch = data
    run = trainer.Trainer(ensemble, X, Y, rate=RATE[optimizer], batch=batch, optimizer=optimizer)

    def train(epochs: int, *, reads: bool = True) -> np.ndarray | None:
        run.epochs(epochs, np.broadcast_to(np.arange(len(X)), (epochs, TRIALS, len(X))))
        return trainer.parameters(ensemble)[0] if reads else None

    return train


def trains_of(
    sizes: list[int], batch: int, points: int, nonlinearity: str, optimizer: str, dtype: torch.dtype
) -> dict[str, tuple[Callable[[], Train], int]]:
    """What makes each way to train, and how many networks it trains."""
    rng = np.random.default_rng(7)
    X, Y = (torch.tensor(rng.standard_normal((points, n)), dtype=dtype) for n in (sizes[0], sizes[-1]))
    start, data = networks(sizes, nonlinearity, dtype), (X, Y, batch)
    given = (start, nonlinearity, optimizer, data)
    trains: dict[str, tuple[Callable[[], Train], int]] = {}
    for name, make in peers().items():
        trials = TRIALS if name in ("torch.func", "torch.compile") else 1
        trains[name if trials == 1 else f"{name}, 6 at once"] = partial(of_torch, make, trials, *given), trials
    for name, trials in (("JAX", 1), ("JAX, 6 at once", TRIALS)):
        trains[name] = partial(of_jax, trials, *given), trials
    trains[OURS] = lambda: by_hand(networks(sizes, nonlinearity, dtype), optimizer, data), TRIALS
    return trains


def minibatch_race(
    sizes: list[int], batch: int, points: int, nonlinearity: str, optimizer: str, epochs: int = 1
) -> Race:
    """Compared in float64, by how far the first network's parameters have moved; timed in float32."""
    given = (sizes, batch, points, nonlinearity, optimizer)
    begun = trainer.parameters(networks(sizes, nonlinearity, torch.float64))[0]
    exact, fast = (trains_of(*given, dtype) for dtype in (torch.float64, torch.float32))
    steps = epochs * points // batch
    ways = {
        name: Way(
            lambda make=exact[name][0]: make()(COMPARED) - begun,  # let go at once: large networks fill the memory
            partial(make(), epochs, reads=False),
            steps * trials,
        )
        for name, (make, trials) in fast.items()
    }
    shapes = [shape for pair in pairwise(sizes) for shape in products_of(*pair, batch)]
    size = 4 * sum(fan_in * fan_out for fan_in, fan_out in pairwise(sizes))
    return Race(ways, CLOSE, [products(shapes), copy({"sgd": 3, "adam": 10}[optimizer] * size, size)])


def products_of(fan_in: int, fan_out: int, batch: int) -> list[tuple[int, int, int]]:
    """Forward, to the layer below, and the gradient."""
    return [(batch, fan_in, fan_out), (batch, fan_out, fan_in), (fan_out, batch, fan_in)]


def _row(name: str, optimizer: str) -> Row:
    sizes, batch, points, nonlinearity = CASES[name]
    size = {"sizes": sizes, "batch": batch, "points": points, "nonlinearity": nonlinearity, "optimizer": optimizer}
    return Row(
        engine="universality, minibatches",
        name=f"{name}, {'descent' if optimizer == 'sgd' else 'Adam'}",
        work=f"a step on {batch} points of {sizes[0]} inputs",
        unit="step of one network",
        build=minibatch_race,
        size=size | {"epochs": 1 if points > batch else 5},
        tiny=size | {"sizes": [sizes[0], 8, 8, sizes[-1]], "batch": 4, "points": 8},
        dtype="float32",
    )


ROWS = [_row(name, optimizer) for name in CASES for optimizer in RATE]
