"""Ensembles on a GPU against one thread of the CPU, side by side in one run: time per step and network, and the limit.

Run: python benchmarks/gpu.py [--device cuda]. Both devices train the same networks on the same data; first their
parameters after a few steps are compared. Times are wall times of whole runs of steps, the device waited for, the least
of a few. "of copy" is the least traffic of a step (weights read twice and written once; with Adam gradient and moments
too) over the time it took, against the device's own speed of copying. With `--device cpu` the script shows its form.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from repdyn.base.devices import choose_device
from repdyn.base.errors import DataError
from repdyn.leaky_resnets.methods import training
from repdyn.leaky_resnets.methods.networks import start
from repdyn.leaky_resnets.theory.layers import layer_steps
from repdyn.universality.methods import minibatch_training

DEPTH, LAYERS, LAM, RATE = 7.0, 20, 0.1, 1e-3
LEAKY = {"leaky ResNet, w = 30, N = 300": (10, 300, 30), "leaky ResNet, w = 100, N = 1000": (30, 1000, 100)}
PERCEPTRONS = {
    "blobs, 4 x 100, batch 64": ([27, 100, 100, 100, 100, 1], 64, 640),
    "MNIST, 4 x 200, batch 64": ([784, 200, 200, 200, 200, 10], 64, 640),
    "XOR, 20 x 500, 4 points": ([2, *[500] * 20, 1], 4, 4),
}
TRAFFIC = {"sgd": 3, "adam": 10}  # arrays of the size of the weights that a step reads or writes at least

ENOUGH = 0.5  # seconds of a timed run

Steps = Callable[[int], np.ndarray]
"""Trains for so many steps; gives the parameters of the first network."""


def leaky(sizes: tuple[int, int, int], trials: int, device: str) -> tuple[Steps, int]:
    """Steps of Adam of leaky ResNets, and the weights of one."""
    d, points, width = sizes
    rho, sources = layer_steps("equidistant", LAYERS), [np.random.default_rng(trial) for trial in range(trials)]
    nets = [start(width, (d, d), rho, DEPTH, source, learned=True, bias=True) for source in sources]
    X, Y = np.random.default_rng(0).standard_normal((2, trials, d, points))
    trainer = training.Trainer(nets, X, Y, penalty=LAM, device=device)

    def steps(count: int) -> np.ndarray:
        trainer.adam(np.full(count, RATE))
        return trainer.trained()[0].W

    return steps, trainer.theta.numel() // trials


def perceptrons(case: tuple[list[int], int, int], optimizer: str, trials: int, device: str) -> tuple[Steps, int]:
    """Steps of minibatch training, and the weights of one network."""
    sizes, batch, points = case
    sources = [np.random.default_rng(trial) for trial in range(trials)]
    networks = minibatch_training.xavier(sizes, 1.0, sources, device=device)
    drawn = [np.random.default_rng(7).standard_normal((points, n)) for n in (sizes[0], sizes[-1])]
    X, Y = (torch.tensor(values, dtype=torch.float32, device=device) for values in drawn)
    trainer = minibatch_training.Trainer(networks, X, Y, rate=RATE, batch=batch, optimizer=optimizer)

    def steps(count: int) -> np.ndarray:
        passes = -(-count * batch // points)
        trainer.epochs(passes, np.broadcast_to(np.arange(points), (passes, trials, points)))
        return minibatch_training.parameters(networks)[0]

    return steps, networks.theta.numel() // trials


def seconds(work: Callable[[], object], device: str) -> float:
    """Least wall time of three runs, until the device is done."""
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def copying(device: str) -> float:
    """Bytes per second that a copy reads and writes."""
    here = torch.rand(50_000_000, device=device)
    there = torch.empty_like(here)
    return 2 * 4 * here.numel() * 10 / seconds(lambda: [there.copy_(here) for _ in range(10)], device)


def row(name: str, make: Callable[[int, str], tuple[Steps, int]], optimizer: str, device: str, copy: float) -> str:
    """Difference after ten steps, then microseconds per step and network on both devices and the shares."""
    both = [make(2, where)[0](10) for where in ("cpu", device)]
    apart = np.abs(both[1] - both[0]).max() / np.abs(both[0]).max()
    cells, base = [], 0.0
    for where, trials in (("cpu", 2), (device, 2), (device, 32)):
        steps, weights = make(trials, where)
        first = seconds(lambda steps=steps: steps(4), where)
        count = max(4, min(400, int(4 * ENOUGH / first)))
        each = seconds(lambda steps=steps, count=count: steps(count), where) / count / trials
        base = base or each
        share = TRAFFIC[optimizer] * 4 * weights / each / copy
        cells.append(f"{1e6 * each:12.1f}" + (f"{base / each:8.1f}{share:8.0%}" if where == device else ""))
    return f"{name:>34} {optimizer:5}{apart:9.0e}" + "".join(cells)


def main() -> None:
    """All comparisons in one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    try:
        device = choose_device(parser.parse_args().device)
    except DataError as error:
        raise SystemExit(str(error)) from None
    torch.set_num_threads(1)
    copy = copying(device)
    print(f"{torch.cuda.get_device_name() if device == 'cuda' else 'cpu'}: a copy moves {copy / 1e9:.0f} GB/s")
    heads = ("apart", "CPU, 2 (us)", "2 there", "ratio", "of copy", "32 there", "ratio", "of copy")
    print(" " * 40 + "".join(f"{head:>{size}}" for head, size in zip(heads, (9, 12, 12, 8, 8, 12, 8, 8), strict=True)))
    for name, sizes in LEAKY.items():
        print(row(name, lambda trials, where, sizes=sizes: leaky(sizes, trials, where), "adam", device, copy))
    for name, case in PERCEPTRONS.items():
        for optimizer in TRAFFIC:
            builder = lambda n, where, case=case, o=optimizer: perceptrons(case, o, n, where)  # noqa: E731
            print(row(name, builder, optimizer, device, copy))


if __name__ == "__main__":
    main()
