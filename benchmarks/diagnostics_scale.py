"""CPU seconds and peak memory of the diagnostics on large layers, beside the earlier way.

    python benchmarks/diagnostics_scale.py [case ...] [--points N]

Each case runs in a process of its own with one thread. `old` is what the diagnostics did before: a singular value
decomposition per measure, angles of all pairs from differences, nearest class means by an array of points x classes x
units; give it fewer points, it takes minutes. Cases: layer, positive, classes, wide_classes, resnet, pooled,
recorded, old. `recorded` takes moments of a recorder as shares of the training step beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = {
    "layer": (10_000, 4_096, 10),
    "positive": (10_000, 4_096, 10),
    "classes": (10_000, 4_096, 1_000),
    "wide_classes": (2_000, 16_384, 1_000),
    "old": (1_000, 4_096, 10),
    "new": (1_000, 4_096, 10),
}
CASES = ("layer", "positive", "classes", "wide_classes", "old", "new", "resnet", "pooled", "recorded")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def report(name: str, since: float) -> None:
    """One line: CPU seconds since a moment, and the most memory the process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:40s} {time.process_time() - since:8.1f} CPU s  {peak:6.2f} GiB at most", flush=True)


def layer(case: str, points: int | None) -> None:
    """All measures of one layer of normal numbers in single precision."""
    from repdyn.diagnostics.methods.measures import OF_LAYER, Layer

    n, m, K = SIZES[case]
    n = points or n
    A = np.random.default_rng(0).standard_normal((n, m), dtype=np.float32)
    A = np.maximum(A, 0) if case == "positive" else A
    sample, start = Layer(A, np.arange(n) % K, [(0, 1)], 1e-3, False), time.process_time()
    for name, function in OF_LAYER.items():
        since = time.process_time()
        function(sample)
        report(f"  {name}", since)
    report(f"{case}: {n} points x {m} units, {K} classes", start)


def old_way(points: int | None) -> None:
    """The earlier way with the functions that it used."""
    from repdyn.bn_decomposed.theory.geometry import effective_rank, geometry, numerical_rank, orthogonality_gap
    from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity, operator_norm_sq, stable_norm_sq

    n, m, K = SIZES["old"]
    n = points or n
    A = np.random.default_rng(0).standard_normal((n, m), dtype=np.float32).astype(np.float64)
    labels, start = np.arange(n) % K, time.process_time()
    columns = A.T if m <= n else np.linalg.qr(A.T, mode="r")
    geometry(columns)
    for rank in (numerical_rank, effective_rank, orthogonality_gap):
        rank(columns)
    effective_rank(columns - columns.mean(axis=1, keepdims=True))
    cost_of_identity(A.T, bias=False, rtol=1e-6)
    S = activation(A.T, bias=False)
    stable_norm_sq(A.T, S, 1e-3 * operator_norm_sq(S))
    means = np.array([A[labels == c].mean(axis=0) for c in range(K)])
    for first in range(0, n, 100):  # in parts, so that the array fits into memory
        ((A[first : first + 100, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    report(f"old way: {n} points x {m} units, {K} classes", start)


def residual_network(*, small: bool) -> Any:
    """ResNet-18, with the first layers of its authors or, `small`, those common for images of 32 x 32."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, into: int, out: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
            self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            same = stride == 1 and into == out
            short = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            self.short = nn.Identity() if same else short

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.short(x))

    torch.manual_seed(0)
    torch.set_num_threads(1)
    blocks = [
        Block(into, out, stride)
        for into, out, stride in ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1),
                                  (256, 512, 2), (512, 512, 1))
    ]  # fmt: skip
    first = nn.Conv2d(3, 64, 3, 1, 1, bias=False) if small else nn.Conv2d(3, 64, 7, 2, 3, bias=False)
    stem = [first, nn.BatchNorm2d(64), nn.ReLU(inplace=True), *([] if small else [nn.MaxPool2d(3, 2, 1)])]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def resnet(points: int | None) -> None:
    """All measures of all layers, every number of a layer a unit."""
    import torch

    from repdyn.diagnostics.measure import measure

    model = residual_network(small=True)
    images, labels = torch.randn(points or 200, 3, 32, 32), np.arange(points or 200) % 10
    report("ResNet-18: network and images alone", 0)
    for name, measures in (("without gradients", ["angles", "ranks", "cost_of_identity", "collapse"]), ("all", None)):
        start = time.process_time()
        diagnostics = measure(model, images, labels=labels, measures=measures)
        report(f"ResNet-18, {len(images)} images, {diagnostics.sizes['layer']} layers, {name}", start)


def pooled(points: int | None) -> None:
    """All measures of all layers, averaged over pixels, on many images in batches; the network's own pass beside it."""
    import torch

    from repdyn.diagnostics.measure import measure
    from repdyn.diagnostics.methods.reader import Features

    model = residual_network(small=False).eval()
    images, labels = torch.randn(points or 10_000, 3, 32, 32), np.arange(points or 10_000) % 10
    start = time.process_time()
    with torch.no_grad():
        for batch in images.split(250):
            model(batch)
    report(f"ResNet-18, {len(images)} images, forward alone", start)
    start = time.process_time()
    diagnostics = measure(model, images, labels=labels, features=Features("pool", channels=1), batch_size=250)
    report(f"ResNet-18, {len(images)} images, {diagnostics.sizes['layer']} layers, pooled, all", start)


def recorded(points: int | None) -> None:
    """Moments of a recorder, of accuracy and loss alone and of all measures, over training steps of as many images."""
    import torch

    from repdyn.diagnostics.callbacks import every, growing
    from repdyn.diagnostics.measure import Recorder

    model = residual_network(small=True)
    count = points or 64
    images, labels = torch.randn(count, 3, 32, 32), torch.arange(count) % 10
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    cheap = Recorder(model, images, labels=labels, measures=["accuracy", "loss"])
    whole = Recorder(model, images, labels=labels)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    def seconds(function: Callable[..., object], *arguments: int) -> float:
        since = time.process_time()
        function(*arguments)
        return time.process_time() - since

    for recorder in (cheap, whole):
        recorder(0)  # finds the layers, once
    step()
    times = np.array([[seconds(step), seconds(cheap, at), seconds(whole, at)] for at in (1, 2, 3)])
    usual, few, all_of_it = np.median(times, axis=0)
    print(
        f"training step of {count} images, {usual:.2f} CPU s; a moment of accuracy and loss {few / usual:.2f} of it, "
        f"of all measures {all_of_it / usual:.2f}"
    )
    steps = 10_000
    for name, moment, due in (
        ("accuracy and loss, every(10)", few, every(10)),
        ("all, growing()", all_of_it, growing()),
    ):
        share = sum(map(due, range(steps))) * moment / (steps * usual)
        print(f"  {name}: {100 * share:.1f} % of {steps} steps")


def main() -> None:
    """Runs each case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--points", type=int)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        case = options.cases[0]
        {"old": old_way, "resnet": resnet, "pooled": pooled, "recorded": recorded}.get(
            case, lambda points: layer(case, points)
        )(options.points)
        return
    environment = os.environ | dict.fromkeys(THREADS, "1")
    more = ["--points", str(options.points)] if options.points else []
    for case in options.cases or CASES:
        subprocess.run([sys.executable, __file__, case, "--inside", *more], env=environment, check=True)


if __name__ == "__main__":
    main()
