"""Ensembles on a GPU against one thread of the CPU, side by side in one run: time per step and network, and the limit.

Run: python benchmarks/gpu.py [--device cuda]. Both devices train the same networks on the same data; first their
parameters after a few steps are compared. Times are wall times of whole runs of steps, the device waited for, the least
of a few. "of copy" is the least traffic of a step (weights read twice and written once; with Adam gradient and moments
too) over the time it took, against the device's own speed of copying. Then a network is measured, compared with another
and summarized in several precisions, against single precision on the CPU: largest relative difference by measure,
sentences that differ, ratio of times. With `--device cpu` the script shows its form.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import xarray as xr
from torch import nn

from repdyn.base.devices import choose_device
from repdyn.base.errors import DataError
from repdyn.base.training import replayable
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.summary import summarize
from repdyn.leaky_resnets.methods import training
from repdyn.leaky_resnets.methods.networks import start
from repdyn.leaky_resnets.theory.layers import layer_steps
from repdyn.universality.methods import minibatch_training
from repdyn.universality.methods.engines import batched, compiled
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import Net, initial_weights

DEPTH, LAYERS, LAM, RATE = 7.0, 20, 0.1, 1e-3
LEAKY = {"leaky ResNet, w = 30, N = 300": (10, 300, 30), "leaky ResNet, w = 100, N = 1000": (30, 1000, 100)}
PERCEPTRONS = {
    "blobs, 4 x 100, batch 64": ([27, 100, 100, 100, 100, 1], 64, 640),
    "MNIST, 4 x 200, batch 64": ([784, 200, 200, 200, 200, 10], 64, 640),
    "XOR, 20 x 500, 4 points": ([2, *[500] * 20, 1], 4, 4),
}
PAIRS = {"two points, 20 x 50": (50, 20), "two points, 20 x 500": (500, 20)}
TRAFFIC = {"sgd": 3, "adam": 10}  # arrays of the size of the weights that a step reads or writes at least

ENOUGH = 0.5  # seconds of a timed run
POINTS, CHANNELS, IMAGE = 512, 32, 16
MODES = ("single", "TF32", "bfloat16", "deterministic", "batches of 128")
NOISE = 1e-4  # of the largest value of a measure: below it a difference is of rounding alone
ZERO = 1e-2  # a measure that is smaller everywhere is zero but for rounding


@dataclass(frozen=True)
class Ensemble:
    """Networks that train together.

    Attributes:
        steps: trains them for so many steps.
        first: brings the first network's parameters to the CPU; not timed, since all networks come along.
        weights: the weights of one network.
    """

    steps: Callable[[int], None]
    first: Callable[[], np.ndarray]
    weights: int


def leaky(sizes: tuple[int, int, int], trials: int, device: str) -> Ensemble:
    """Leaky ResNets, trained by Adam."""
    d, points, width = sizes
    rho, sources = layer_steps("equidistant", LAYERS), [np.random.default_rng(trial) for trial in range(trials)]
    nets = [start(width, (d, d), rho, DEPTH, source, learned=True, bias=True) for source in sources]
    X, Y = np.random.default_rng(0).standard_normal((2, trials, d, points))
    trainer = training.Trainer(nets, X, Y, penalty=LAM, device=device)

    def steps(count: int) -> None:
        trainer.adam(np.full(count, RATE))

    return Ensemble(steps, lambda: trainer.trained()[0].W, trainer.theta.numel() // trials)


def perceptrons(case: tuple[list[int], int, int], optimizer: str, trials: int, device: str) -> Ensemble:
    """Perceptrons, trained by minibatches."""
    sizes, batch, points = case
    sources = [np.random.default_rng(trial) for trial in range(trials)]
    networks = minibatch_training.xavier(sizes, 1.0, sources, device=device)
    drawn = [np.random.default_rng(7).standard_normal((points, n)) for n in (sizes[0], sizes[-1])]
    X, Y = (torch.tensor(values, dtype=torch.float32, device=device) for values in drawn)
    trainer = minibatch_training.Trainer(networks, X, Y, rate=RATE, batch=batch, optimizer=optimizer)

    def steps(count: int) -> None:
        passes = -(-count * batch // points)
        trainer.epochs(passes, np.broadcast_to(np.arange(points), (passes, trials, points)))

    return Ensemble(steps, lambda: minibatch_training.parameters(networks)[0], networks.theta.numel() // trials)


def two_points(units: int, hidden: int, trials: int, device: str) -> Ensemble:
    """Networks on two points, trained by descent in single precision; on the GPU the step of `batched.advance`."""
    net = Net("leaky relu", 1.0, units, hidden)
    X, Y = np.random.default_rng(0).standard_normal((2, net.inputs)), np.array([[0.0], [1.0]])
    drawn = [initial_weights(net, np.random.default_rng(trial)) for trial in range(trials)]
    weights = {name: np.stack([arrays[name] for arrays in drawn]).astype(np.float32) for name in drawn[0]}
    task = Task(net, X, Y, RATE, every=10**6)
    count = sum(array.size for array in weights.values()) // trials
    if device == "cpu":
        return Ensemble(partial(_compiled, task, weights), lambda: weights["middle"][0], count)
    batch = batched.Batch(task, weights, device)
    step = replayable(batch.epoch, batch.weights.values())

    def steps(count: int) -> None:
        for _ in range(count):
            step()

    return Ensemble(steps, lambda: batch.weights["middle"][0].cpu().numpy(), count)


def _compiled(task: Task, weights: dict[str, np.ndarray], count: int) -> None:
    compiled.advance(task, weights, count)


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


def row(name: str, make: Callable[[int, str], Ensemble], optimizer: str, device: str, copy: float) -> str:
    """Difference after ten steps, then microseconds per step and network on both devices and the shares."""
    both = []
    for where in ("cpu", device):
        ensemble = make(2, where)
        ensemble.steps(10)
        both.append(ensemble.first())
    apart = np.abs(both[1] - both[0]).max() / np.abs(both[0]).max()
    cells, base = [], 0.0
    for where, trials in (("cpu", 2), (device, 2), (device, 32)):
        ensemble = make(trials, where)
        some = seconds(partial(ensemble.steps, 4), where)
        count = max(4, min(400, int(4 * ENOUGH / some)))
        each = seconds(partial(ensemble.steps, count), where) / count / trials
        base = base or each
        share = TRAFFIC[optimizer] * 4 * ensemble.weights / each / copy
        cells.append(f"{1e6 * each:12.1f}" + (f"{base / each:8.1f}{share:8.0%}" if where == device else ""))
    return f"{name:>34} {optimizer:5}{apart:9.0e}" + "".join(cells)


def convolutional(seed: int) -> nn.Sequential:
    """A small convolutional network with batch normalization, 10 classes, on the CPU."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for before in (3, CHANNELS, CHANNELS):
        layers += [nn.Conv2d(before, CHANNELS, 3, padding=1), nn.BatchNorm2d(CHANNELS), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, 10)).eval()


@contextmanager
def precision(mode: str, device: str) -> Iterator[None]:
    """Torch set to a mode and back."""
    allowed = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode == "TF32"
    torch.use_deterministic_algorithms(mode == "deterministic", warn_only=True)
    try:
        with torch.autocast(device, torch.bfloat16) if mode == "bfloat16" else nullcontext():
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = allowed
        torch.use_deterministic_algorithms(deterministic)


def measured(mode: str, device: str) -> tuple[xr.Dataset, list[tuple[str, str]], float]:
    """All measures of one network and its similarity to another, its summary, and the seconds of all."""
    network, other = (convolutional(seed).to(device) for seed in (0, 1))
    source = np.random.default_rng(0)
    labels = source.integers(10, size=POINTS)
    inputs = torch.tensor(source.standard_normal((POINTS, 3, IMAGE, IMAGE)), dtype=torch.float32, device=device)
    options = {"features": "pool", **({"batch_size": 128} if mode == "batches of 128" else {})}
    begun = time.perf_counter()
    with precision(mode, device):
        alone = measure(network, inputs, labels=labels, **options)
        pair = compare(network, other, inputs, **options)
        said = [(line.topic, line.verdict) for line in summarize(network, inputs, labels=labels, **options)]
    if device == "cuda":
        torch.cuda.synchronize()
    return xr.merge([alone, pair], compat="override", combine_attrs="drop"), said, time.perf_counter() - begun


def largest_differences(found: xr.Dataset, right: xr.Dataset) -> dict[str, float]:
    """Largest difference of each measure over its largest value; infinite where the gaps are not the same."""
    apart = {}
    for name, values in right.data_vars.items():
        here, there = (np.asarray(data, float) for data in (found[name], values))
        same = np.isnan(here) == np.isnan(there)
        scale = np.nanmax(np.abs(there), initial=ZERO)
        apart[str(name)] = float(np.nanmax(np.abs(here - there), initial=0.0) / scale) if same.all() else np.inf
    return apart


def measuring(device: str) -> None:
    """Prints how measures of one network on the device differ from those on the CPU, a line per mode."""
    measured("single", "cpu")  # compiles
    right, said, base = measured("single", "cpu")
    print(f"\nmeasures of a convolutional network against single precision on the CPU ({base:.1f} s)")
    for mode in MODES:
        measured(mode, device)
        found, says, taken = measured(mode, device)
        apart = sorted(largest_differences(found, right).items(), key=lambda pair: -pair[1])
        worst = ", ".join(f"{name} {value:.0e}" for name, value in apart[:3])
        above = sum(value > NOISE for _, value in apart)
        other = [topic for (topic, verdict), (_, known) in zip(says, said, strict=True) if verdict != known]
        print(
            f"{mode:>16}: {base / taken:4.1f} times as fast; {above} of {len(apart)} measures differ by more than "
            f"{NOISE:g}; largest: {worst}; verdicts that differ: {', '.join(other) or 'none'}"
        )


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
    for name, (units, hidden) in PAIRS.items():
        print(row(name, partial(two_points, units, hidden), "sgd", device, copy))
    for name, case in PERCEPTRONS.items():
        for optimizer in TRAFFIC:
            builder = lambda n, where, case=case, o=optimizer: perceptrons(case, o, n, where)  # noqa: E731
            print(row(name, builder, optimizer, device, copy))
    measuring(device)


if __name__ == "__main__":
    main()
