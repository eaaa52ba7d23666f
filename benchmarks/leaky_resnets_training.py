"""Training of leaky ResNets: gradient and step against torch.nn with autograd, share of matrix products, batches.

Run: python benchmarks/leaky_resnets_training.py. Both sides see the same networks and data, in float32 and one thread,
and their gradients are compared before they are timed. Peak: the machine's rate of float32 products at a large square
matrix. Times are processor times, least of a few runs; ratios carry over to other machines, milliseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from repdyn.leaky_resnets.methods.networks import LeakyResNet, start
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.theory.layers import layer_steps

LT, LAYERS, LAM = 7.0, 20, 0.1
SIZES = {"reduced": (10, 300, 30), "the paper's": (30, 1000, 100)}


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Least processor time of a few runs."""
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken)


class Plain(torch.nn.Module):
    """What a user of PyTorch would write: linear layers with bias, ReLU, leak."""

    def __init__(self, net: LeakyResNet) -> None:
        super().__init__()
        width, d = net.into.shape
        self.into, self.out = torch.nn.Linear(d, width, bias=False), torch.nn.Linear(width, d, bias=False)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in net.W)
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


def peak() -> float:
    """Float32 operations per second of one thread at 1024 x 1024."""
    A, B = torch.randn(2, 1024, 1024)
    C = torch.empty_like(A)
    return 2 * 1024**3 / seconds(lambda: torch.mm(A, B, out=C), 5)


def compare(name: str, d: int, points: int, width: int, top: float) -> None:
    """One table row: gradient, Adam step, products' share of the machine's peak, batches."""
    rng = np.random.default_rng(0)
    rho = layer_steps("equidistant", LAYERS)
    nets = [start(width, (d, d), rho, LT, np.random.default_rng(s), learned=True, bias=True) for s in range(4)]
    X, Y = rng.standard_normal((2, 4, d, points))
    steps = max(4, 4_000_000 // (points * width))
    ours, four = Trainer(nets[:1], X[:1], Y[:1], penalty=LAM), Trainer(nets, X, Y, penalty=LAM, batched=True)
    plain = Plain(nets[0])
    x, y = (torch.tensor(part[0].T, dtype=torch.float32).contiguous() for part in (X, Y))
    with torch.inference_mode():
        ours.gradient()
    plain.objective(x, y).backward()
    theirs = torch.cat([plain.layers[0].weight.grad, plain.layers[0].bias.grad[:, None]], dim=1)
    error = float((ours.dW[0, 0] - theirs).abs().max() / theirs.abs().max())
    adam = torch.optim.Adam(plain.parameters(), lr=1e-3)
    fused = torch.optim.Adam(plain.parameters(), lr=1e-3, fused=True)

    def gradients() -> None:
        with torch.inference_mode():
            for _ in range(steps):
                ours.gradient()

    def plain_gradients() -> None:
        for _ in range(steps):
            plain.zero_grad()
            plain.objective(x, y).backward()

    def plain_steps(optimizer: torch.optim.Optimizer) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            plain.objective(x, y).backward()
            optimizer.step()

    rates = cosine(1e-3, steps)
    times = {
        "gradient": seconds(gradients),
        "autograd": seconds(plain_gradients),
        "Adam step": seconds(lambda: ours.adam(rates)),
        "torch.nn step": seconds(lambda: plain_steps(adam)),
        "with fused Adam": seconds(lambda: plain_steps(fused)),
        "step, 4 batched": seconds(lambda: four.adam(rates)) / 4,
    }
    per_step = {what: 1e3 * taken / steps for what, taken in times.items()}
    rate = 6e3 * LAYERS * width * (width + 1) * points / per_step["Adam step"]
    print(f"\n{name}: d = {d}, N = {points}, w = {width}, L = {LAYERS}; gradients agree to {error:.1e}")
    print("".join(f"{what:>20}" for what in per_step))
    print("".join(f"{value:17.3f} ms" for value in per_step.values()))
    print(
        f"gradient {per_step['autograd'] / per_step['gradient']:.1f} and step"
        f" {per_step['torch.nn step'] / per_step['Adam step']:.1f} times faster than torch.nn; products alone make"
        f" {rate / 1e9:.0f} GF/s over the whole step, {rate / top:.0%} of the peak of {top / 1e9:.0f}; 6000 steps, one"
        f" effective depth: {6 * per_step['Adam step']:.0f} s"
    )


def main() -> None:
    """All comparisons in one run."""
    torch.set_num_threads(1)
    top = peak()
    for name, sizes in SIZES.items():
        compare(name, *sizes, top)


if __name__ == "__main__":
    main()
