"""Full-batch descent of the compared networks: compiled steps beside PyTorch, in one run on one thread, float64.

All seeds stand side by side in PyTorch's products. Losses are compared first, then processor times per step. With batch
normalization no two orders of summation agree for long: on two points its gradient cancels but for the floor under the
variance, and through sixty layers it grows. Autograd on the odd batch in another order differs from itself as much.
Run: OMP_NUM_THREADS=1 python benchmarks/across_papers_training.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from repdyn.across_papers.methods import networks
from repdyn.across_papers.methods.networks import Kind, Network
from repdyn.base.streams import Stream

SIZES = {  # points, inputs, outputs, depth, seeds, rate: two points and digits as at the default scale
    "two points": (2, 1, 1, 12, 24, 1e-3),
    "digits": (60, 60, 10, 8, 6, 1e-2),
    "odd batch": (16, 16, 10, 60, 16, 1e-3),
}
KINDS: tuple[Kind, ...] = ("plain", "batch norm", "leaky")
STEPS = 20


def built(kind: Kind, size: str) -> tuple[Network, Tensor, Tensor]:
    """Networks, inputs and targets."""
    points, inputs, outputs, depth, seeds, _ = SIZES[size]
    stream, rng = Stream(1, ("benchmark",)), np.random.default_rng(0)
    network = networks.build(kind, inputs, 48, depth, outputs, gain=0.8, leak=2.0, stream=stream, seeds=seeds)
    return network, *(torch.from_numpy(rng.normal(size=(points, count))) for count in (inputs, outputs))


def autograd(network: Network, X: Tensor, Y: Tensor, rate: float) -> list[np.ndarray]:
    """Losses before each step, by automatic differentiation and torch's SGD."""
    optimizer, losses = torch.optim.SGD(network.parameters(), lr=rate), []
    for _ in range(STEPS):
        loss = ((network(X) - Y) ** 2).sum(dim=-1).mean(dim=-1) / 2
        losses.append(loss.detach().numpy().copy())
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    return losses


def compiled(network: Network, X: Tensor, Y: Tensor, rate: float) -> list[np.ndarray]:
    """The same losses by the compiled steps."""
    every = networks.descend(network, X, Y, rate=rate, decay=0.0, steps=STEPS)
    return [losses for _, losses in every][:-1]


def at_the_end(network: Network, X: Tensor, Y: Tensor, rate: float) -> None:
    """The compiled steps as experiments take them, without a stop after each."""
    list(networks.descend(network, X, Y, rate=rate, decay=0.0, steps=STEPS, moments=()))


def milliseconds(train: Callable[..., object], kind: Kind, size: str) -> float:
    """Least processor time per step of three runs."""
    taken = []
    for _ in range(3):
        problem = built(kind, size)
        begun = time.process_time()
        train(*problem, SIZES[size][-1])
        taken.append(time.process_time() - begun)
    return 1e3 * min(taken) / STEPS


def main() -> None:
    """The table."""
    torch.set_num_threads(1)
    print(f"{'':12}{'network':12}{'losses differ by':>18}{'autograd ms':>14}{'compiled ms':>14}{'ratio':>8}")
    for size in SIZES:
        for kind in KINDS:
            rate = SIZES[size][-1]
            wanted, measured = (np.array(train(*built(kind, size), rate)) for train in (autograd, compiled))
            error = np.abs(measured - wanted).max() / np.abs(wanted).max()
            slow, fast = (milliseconds(train, kind, size) for train in (autograd, at_the_end))
            print(f"{size:12}{kind:12}{error:18.1e}{slow:14.2f}{fast:14.2f}{slow / fast:8.1f}", flush=True)


if __name__ == "__main__":
    main()
