"""Training engines for two points beside other ways, for docs/performance.md: the losses agree, or nothing is timed.

The peers are PyTorch's own ways (`peers.py`), JAX (`peers_jax.py`) and numpy and BLAS by hand (`peers_blas.py`). What
an epoch has to move (weights are read, then read and written; so are Adam's moments) stands against a plain copy of a
block of the same size. Narrow networks are trained several at a time where a peer is faster so. Float32 losses are
compared over 20 epochs: by 60, PyTorch's own are 1e-5 from its float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from measuring import OURS, Limit, Race, Row, Way, copy, products
from peers import Step, by_func, peers
from torch import Tensor, nn

from repdyn.universality.methods.engines import autograd, compiled, compiled_convolution
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import LEAK, Net, Weights, initial_weights
from repdyn.universality.methods.two_point_training import two_points

X, Y = two_points(1.0, np.sqrt(0.5))
NETWORKS = {  # rows of Table 1 at the paper's width; the convolution is the default scale's
    "default": (Net("leaky relu", 1.0, 500, 20), 0.005, "sgd"),
    "default with Adam": (Net("leaky relu", 1.0, 500, 20), 1e-5, "adam"),
    "dropout": (Net("leaky relu", 1.0, 500, 10, dropout=0.1), 0.005, "sgd"),
    "narrow": (Net("leaky relu", 1.05, 50, 20), 0.005, "sgd"),
    "shallow": (Net("leaky relu", 0.35, 500, 2), 0.01, "sgd"),
    "convolution": (Net("leaky relu", 0.95, 160, 10, connections="convolution", channels=8), 0.002, "sgd"),
}
EPOCHS = {"default": 5, "default with Adam": 3, "dropout": 5, "narrow": 50, "shallow": 50, "convolution": 20}
CLOSE = {"float32": 1e-5, "float64": 1e-10}
COMPARED = 20
SEVERAL = 6  # networks at once, where a peer takes several


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


def affine_maps(net: Net, weights: Weights, trial: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of one network from input to output, kernels included."""
    own = {name: array[trial] for name, array in weights.items()}
    kernels = [name for name in own if name.startswith("kernel")]
    pairs = [(own["first"], own["biases"][0])]
    pairs += [(own[name], own[name.replace("kernel", "bias")]) for name in kernels]
    pairs += [] if kernels else list(zip(own["middle"], own["biases"][1:], strict=True))
    return [*pairs, (own["last"], own["last_bias"])]


def module(net: Net, weights: Weights, trial: int) -> Module:
    parts: list[nn.Module] = []
    for W, b in affine_maps(net, weights, trial):
        W, b = torch.tensor(W), torch.tensor(b)
        parts.append((nn.Linear if W.ndim == 2 else nn.Conv1d)(*W.shape[1::-1], *W.shape[2:], dtype=W.dtype))
        parts[-1].weight.data, parts[-1].bias.data = W, b
        parts.append(nn.LeakyReLU(LEAK))
    if net.connections == "convolution":
        parts.insert(2, nn.Unflatten(-1, (1, -1)))
        parts.insert(-2, nn.Flatten(-2))
    return Module(*parts[:-1])


Losses = Callable[..., np.ndarray]
"""Trains for so many epochs, gives the first network's losses before each, or those with dropout without it."""


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
                    history.append(loss(models[0], inputs, targets).item())
                step(*points, *masks)
            else:
                history.append(step(*points, *masks)[0].item())
        return np.array(history)

    return losses


def of_engine(task: Task, weights: Weights, epochs: int) -> Losses:
    exact = compiled_convolution if task.net.connections == "convolution" else compiled
    often, seeds = replace(task, every=epochs), range(len(weights["first"]))
    seeded = {"seeds": seeds} if task.net.dropout else {}

    def losses(epochs: int, *, records: bool = False) -> np.ndarray:
        return exact.advance(task if records else often, weights, epochs, **seeded).loss[0]

    return losses


def of_jax(task: Task, weights: Weights) -> Losses:
    """JAX by automatic differentiation, dense layers or convolutions."""
    import jax.numpy as jnp
    import peers_jax
    from jax import lax, tree

    trials = len(weights["first"])
    maps = [affine_maps(task.net, weights, trial) for trial in range(trials)]

    def loss(values: Any, x: Any, y: Any) -> Any:
        a = x
        for place, (W, b) in enumerate(values):
            if W.ndim == 3:
                a = a[:, None] if a.ndim == 2 else a
                layout = ("NCH", "OIH", "NCH")
                z = lax.conv_general_dilated(a, W, (1,), "VALID", dimension_numbers=layout) + b[:, None]
            else:
                z = a.reshape(len(x), -1) @ W.T + b
            a = jnp.where(z > 0, z, LEAK * z) if place < len(values) - 1 else z
        return jnp.mean((a - y) ** 2) / 2

    kind = weights["first"].dtype
    data = (task.X.astype(kind), task.Y.astype(kind))
    if trials > 1:
        data = tuple(np.broadcast_to(part, (trials, *part.shape)) for part in data)
        maps = [tree.map(lambda *parts: np.stack(parts), *maps)]
    train = peers_jax.training(loss, maps[0], data, task.optimizer, task.rate, several=trials > 1)

    def losses(epochs: int, *, records: bool = False) -> np.ndarray:
        return train(np.zeros(epochs, int)).reshape(epochs, -1)[:, 0]

    return losses


def of_blas(task: Task, weights: Weights) -> Losses:
    from peers_blas import TwoPoints

    own = {name: array[0] for name, array in weights.items()}
    by_hand = TwoPoints(own, task.X, task.Y, task.optimizer, task.rate)

    def losses(epochs: int, *, records: bool = False) -> np.ndarray:
        return np.array([by_hand.step() for _ in range(epochs)])

    return losses


def limits(task: Task, weights: Weights) -> list[Limit]:
    """The traffic of the weights, and the products of convolutions as one matrix product each."""
    net, size = task.net, sum(array.nbytes for array in weights.values())
    traffic = copy({"sgd": 3, "adam": 7}[task.optimizer] * size, size)
    if net.connections != "convolution":
        return [traffic]
    shapes, length = [], net.units
    for name, kernel in weights.items():
        if name.startswith("kernel"):
            out, inside, points = kernel.shape[1], kernel[0, 0].size, 2 * (length := length - net.kernel + 1)
            shapes += [(out, inside, points), (out, points, inside), (inside, out, points)]
    return [traffic, products(shapes, dtype=str(weights["first"].dtype))]


def two_point_race(name: str, dtype: str, units: int, hidden: int, epochs: int) -> Race:
    """All ways to train a network of `NETWORKS` with so many units and hidden layers."""
    net, rate, optimizer = NETWORKS[name]
    task = Task(replace(net, units=units, hidden=hidden), X, Y, rate, optimizer=optimizer)
    weights = start(task.net, SEVERAL, dtype)
    one = {key: array[:1] for key, array in weights.items()}
    calls = {key: of_peer(make, task, one) for key, make in peers().items()}
    if not task.net.dropout:  # its masks are torch's
        calls["JAX"] = of_jax(task, one)
    if name == "narrow":
        calls["torch.func, 6 at once"] = of_peer(by_func, task, weights)
        calls["JAX, 6 at once"] = of_jax(task, weights)
    if task.net.connections == "dense" and not task.net.dropout:
        calls["BLAS by hand"] = of_blas(task, one)
    calls[OURS] = of_engine(task, {key: array.copy() for key, array in one.items()}, epochs)
    ways = {
        key: Way(
            lambda call=call: call(COMPARED, records=True),
            lambda call=call: call(epochs),
            epochs * (SEVERAL if "at once" in key else 1),
        )
        for key, call in calls.items()
    }
    return Race(ways, CLOSE[dtype], limits(task, one))


def _row(name: str, dtype: str) -> Row:
    net, _, optimizer = NETWORKS[name]
    descent = "Adam" if optimizer == "adam" else "descent"
    layers = f"{net.hidden} convolutions, {net.channels} channels" if net.connections == "convolution" else net.hidden
    return Row(
        engine="universality, two points",
        name=name,
        work=f"an epoch of {descent}, {net.units} units x {layers}",
        unit="epoch",
        build=two_point_race,
        size={"name": name, "dtype": dtype, "units": net.units, "hidden": net.hidden, "epochs": EPOCHS[name]},
        tiny={"name": name, "dtype": dtype, "units": 64 if name == "convolution" else 12, "hidden": 3, "epochs": 2},
        dtype=dtype,
    )


ROWS = [_row(name, dtype) for name in NETWORKS for dtype in CLOSE]
