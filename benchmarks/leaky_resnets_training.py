"""Training of leaky ResNets beside other ways, for docs/performance.md: gradient, descent, Adam, equal numbers first.

All ways see the same network and data, in float32 and one thread. Plain PyTorch is what a user would write; BLAS by
hand is in `peers_blas.py`. The limit is a step's products alone, by the faster of torch's BLAS and numpy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from measuring import OURS, Limit, Race, Row, Way, products

from repdyn.leaky_resnets.methods.networks import LeakyResNet, start
from repdyn.leaky_resnets.methods.training import MAP_RATE, Trainer
from repdyn.leaky_resnets.theory.layers import layer_steps

LT, LAM, RATE = 7.0, 0.1, 1e-3
SIZES = {50: (15, 500), 100: (30, 1000)}  # width: inputs, points; 100 is the paper's
KINDS = {"gradient": "a gradient", "descent": "a step of descent", "Adam": "a step of Adam"}
COMPARED = 3
CLOSE = {"gradient": 1e-5, "descent": 1e-4, "Adam": 1e-4}
LATE = 20_000  # Adam's steps before: in the first ones ours adds epsilon before moments are corrected, torch after


class Plain(torch.nn.Module):
    """What a user of PyTorch would write: linear layers with bias, ReLU, leak."""

    def __init__(self, net: LeakyResNet) -> None:
        super().__init__()
        width, d = net.into.shape
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in net.W)
        self.into, self.out = torch.nn.Linear(d, width, bias=False), torch.nn.Linear(width, d, bias=False)
        self.rho = net.rho.tolist()
        with torch.no_grad():
            for layer, W in zip(self.layers, net.W, strict=True):
                layer.weight.copy_(torch.tensor(W[:, :-1]))
                layer.bias.copy_(torch.tensor(W[:, -1]))
            self.into.weight.copy_(torch.tensor(net.into))
            self.out.weight.copy_(torch.tensor(net.out))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Outputs, points in rows."""
        A = self.into(X)
        for layer, rho in zip(self.layers, self.rho, strict=True):
            A = (1 - rho * LT) * A + rho * layer(torch.relu(A))
        return self.out(A)

    def objective(self, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        """|Y - f|^2 / N + (lam / (2 Lt)) sum rho |W|^2."""
        norms = sum(
            rho * (torch.sum(layer.weight**2) + torch.sum(layer.bias**2))
            for layer, rho in zip(self.layers, self.rho, strict=True)
        )
        return torch.sum((Y - self(X)) ** 2) / len(X) + LAM / (2 * LT) * norms

    def flat(self, *, slopes: bool) -> np.ndarray:
        """Layer by layer with the bias as last column, then the maps: parameters or their gradient."""
        pairs = [(layer.weight, layer.bias[:, None]) for layer in self.layers]
        if slopes:
            pairs = [(layer.weight.grad, layer.bias.grad[:, None]) for layer in self.layers]
        maps = [part.weight.grad if slopes else part.weight for part in (self.into, self.out)]
        parts = [torch.cat(pair, dim=1) for pair in pairs]
        return torch.cat([part.detach().reshape(-1) for part in (*parts, *maps)]).numpy().copy()


Steps = Callable[[int], np.ndarray]
"""Takes so many steps; gives the parameters, or the gradient of the last one."""


def of_torch(net: LeakyResNet, x: np.ndarray, y: np.ndarray, kind: str, *, fused: bool) -> Steps:
    plain = Plain(net)
    x, y = (torch.tensor(part.T, dtype=torch.float32).contiguous() for part in (x, y))
    groups = [
        {"params": list(plain.layers.parameters()), "lr": RATE},
        {"params": [plain.into.weight, plain.out.weight], "lr": RATE * MAP_RATE},
    ]
    optimizer = (torch.optim.Adam if kind == "Adam" else torch.optim.SGD)(groups, lr=RATE, fused=fused or None)

    for parameter in plain.parameters() if kind == "Adam" else ():
        moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.tensor(float(LATE)), **moments}

    def steps(count: int) -> np.ndarray:
        for _ in range(count):
            optimizer.zero_grad()
            plain.objective(x, y).backward()
            if kind != "gradient":
                optimizer.step()
        return plain.flat(slopes=kind == "gradient")

    return steps


def of_jax(net: LeakyResNet, x: np.ndarray, y: np.ndarray, kind: str) -> Steps:
    import jax
    import jax.numpy as jnp
    import peers_jax

    rho = net.rho.tolist()

    def objective(values: Any, X: Any, Y: Any) -> Any:
        *W, P, Q = values
        A = P @ X
        for layer, r in zip(W, rho, strict=True):
            A = (1 - r * LT) * A + r * (layer[:, :-1] @ jnp.maximum(A, 0) + layer[:, -1:])
        norms = sum(r * jnp.sum(layer**2) for layer, r in zip(W, rho, strict=True))
        return jnp.sum((Y - Q @ A) ** 2) / X.shape[1] + LAM / (2 * LT) * norms

    values = [part.astype(np.float32) for part in (*net.W, net.into, net.out)]
    data = tuple(part.astype(np.float32) for part in (x, y))
    if kind == "gradient":
        slope = jax.jit(jax.grad(objective))

        def gradients(count: int) -> np.ndarray:
            for _ in range(count):
                parts = jax.block_until_ready(slope(values, *data))
            return np.concatenate([np.asarray(part).ravel() for part in parts])

        return gradients
    optimizer = "adam" if kind == "Adam" else "sgd"
    rates = [RATE] * len(net.W) + [RATE * MAP_RATE] * 2
    run = peers_jax.training(objective, values, data, optimizer, rates, done=LATE)

    def steps(count: int) -> np.ndarray:
        run(np.zeros(count, int))
        return np.concatenate([np.asarray(part).ravel() for part in run.values()])

    return steps


def of_blas(net: LeakyResNet, x: np.ndarray, y: np.ndarray, kind: str) -> Steps:
    from peers_blas import Leaky

    leaky = Leaky(net, x, y, LAM)
    leaky.done = LATE

    def steps(count: int) -> np.ndarray:
        for _ in range(count):
            if kind == "gradient":
                leaky.gradient()
            else:
                (leaky.adam_step if kind == "Adam" else leaky.descent_step)(RATE, RATE * MAP_RATE)
        return (leaky.grad if kind == "gradient" else leaky.theta).copy()

    return steps


def of_ours(net: LeakyResNet, x: np.ndarray, y: np.ndarray, kind: str) -> Steps:
    trainer = Trainer([net], x[None], y[None], penalty=LAM)
    trainer.done = LATE

    @torch.inference_mode()
    def steps(count: int) -> np.ndarray:
        if kind == "gradient":
            for _ in range(count):
                trainer.gradient()
            return trainer.grad.numpy().copy()
        (trainer.adam if kind == "Adam" else trainer.descend)(np.full(count, RATE))
        return trainer.theta.numpy().copy()

    return steps


def leaky_race(kind: str, width: int, inputs: int, points: int, layers: int, steps: int) -> Race:
    """All ways; what must agree is the gradient, or by how much each of some steps changes the objective."""
    rng = np.random.default_rng(0)
    net = start(
        width,
        (inputs, inputs),
        layer_steps("equidistant", layers),
        LT,
        np.random.default_rng(1),
        learned=True,
        bias=True,
    )
    given = (net, *rng.standard_normal((2, inputs, points)), kind)
    taken = {
        "plain PyTorch": of_torch(*given, fused=False),
        "fused optimizer": of_torch(*given, fused=True),
        "JAX": of_jax(*given),
        "BLAS by hand": of_blas(*given),
        OURS: of_ours(*given),
    }
    if kind == "gradient":
        del taken["fused optimizer"]
    ways = {
        name: Way(
            lambda its=its: its(1) if kind == "gradient" else objectives(*given[:3], its),
            lambda its=its: its(steps),
            steps,
        )
        for name, its in taken.items()
    }
    return Race(ways, CLOSE[kind], [products_alone(width, points, layers)])


def objectives(net: LeakyResNet, X: np.ndarray, Y: np.ndarray, its: Steps) -> np.ndarray:
    """Change of the objective by each of some steps, evaluated in float64."""
    values, end = [], net.W.size
    flat = np.concatenate([part.ravel() for part in (net.W, net.into, net.out)])
    for step in range(COMPARED + 1):
        flat = its(1).astype(float) if step else flat
        W, into, out = flat[:end], *np.split(flat[end:], 2)
        now = replace(net, W=W.reshape(net.W.shape), into=into.reshape(net.into.shape), out=out.reshape(net.out.shape))
        norms = np.sum(net.rho * np.sum(now.W**2, axis=(1, 2)))
        values.append(np.sum((Y - now.output(X)) ** 2) / X.shape[1] + LAM / (2 * LT) * norms)
    return np.diff(values)


def products_alone(width: int, points: int, layers: int) -> Limit:
    """A layer's three products, for all layers of a step."""
    shapes = [(width, width + 1, points), (width, points, width + 1), (width, width, points)]
    return products(shapes, layers)


ROWS = [
    Row(
        engine="leaky_resnets, training",
        name=f"{kind}, width {width}",
        work=f"{work}, 20 layers, {points} points",
        unit="step",
        build=leaky_race,
        size={"kind": kind, "width": width, "inputs": inputs, "points": points, "layers": 20, "steps": 250 // width},
        tiny={"kind": kind, "width": 6, "inputs": 3, "points": 8, "layers": 8, "steps": 1},
        dtype="float32",
    )
    for width, (inputs, points) in SIZES.items()
    for kind, work in KINDS.items()
]
