"""Speed and accuracy of the mean-field dynamics, side by side in one run on one thread.

1. Closed-form population gradient against a `torch.nn.BatchNorm1d` loop over batches: time per gradient and relative
   error of the gradient, so that the two are compared at equal accuracy.
2. The same over a training run: error of the neurons' directions after a number of steps.
3. Prefix-sum field against pairwise kernels, d = 2, and its scaling up to a million particles.
4. Descent in compiled code, as every experiment in the plane runs it, against the same arithmetic on arrays.

Run with `OMP_NUM_THREADS=1 python benchmarks/bn_mean_field.py`; about one minute.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from repdyn.bn_mean_field.methods.particle_flows import _array_descent, _compiled_descent, gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, linear, signed_start
from repdyn.bn_mean_field.theory.circular import circular_kernel, planar_field
from repdyn.bn_mean_field.theory.velocity import Population

STEP = 2e-3
NO_EPS = 1e-300


def best_time(call: Callable[[], object], budget: float = 0.5) -> float:
    """Shortest of repeated runs within a time budget, seconds."""
    call()
    times, began = [], time.perf_counter()
    while not times or time.perf_counter() - began < budget:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def batch_gradient(a: np.ndarray, b: np.ndarray, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mean-field velocities from one batch through torch's batch norm, y = x_1."""
    x = torch.from_numpy(rng.standard_normal((size, 2)) * np.sqrt(np.diag(ANISOTROPIC)))
    a, b = (torch.tensor(value, requires_grad=True) for value in (a, b))
    layer = torch.nn.BatchNorm1d(len(a), eps=NO_EPS, affine=False, dtype=torch.float64)
    f = torch.relu(layer(x @ b.T)) @ a / len(a)
    (((f - x[:, 0]) ** 2).mean() / 2).backward()
    return -len(a) * a.grad.numpy(), -len(a) * b.grad.numpy()


def accuracy(width: int, sizes: tuple[int, ...], repeats: int = 20) -> pd.DataFrame:
    """Time and relative root mean square error of b' for the closed form and for batches."""
    rng = np.random.default_rng(0)
    a, b = signed_start(width // 2, rng)
    model = Population(linear(0), ANISOTROPIC)
    exact, closed = model.velocity(a, b)[1], best_time(lambda: model.velocity(a, b))
    rows = [("closed form", 0.0, closed)]
    for size in sizes:
        errors = [np.sum((batch_gradient(a, b, size, rng)[1] - exact) ** 2) for _ in range(repeats)]
        error = np.sqrt(np.mean(errors) / np.sum(exact**2))
        rows.append((f"BatchNorm1d, batch {size}", error, best_time(lambda size=size: batch_gradient(a, b, size, rng))))
    frame = pd.DataFrame(rows, columns=["method", "relative error of b'", "seconds"])
    return frame.assign(**{"times the closed form": frame["seconds"] / closed})


def training(width: int, steps: int, sizes: tuple[int, ...]) -> pd.DataFrame:
    """Error of the directions after a training run against exact descent, and time per step."""
    rng = np.random.default_rng(1)
    start = signed_start(width // 2, rng)
    model = Population(linear(0), ANISOTROPIC)
    began = time.perf_counter()
    exact = gradient_descent(*start, model, STEP, record=[steps]).b[-1]
    closed = (time.perf_counter() - began) / steps
    rows = [("closed form", 0.0, closed)]
    for size in sizes:
        a, b = (part.copy() for part in start)
        began = time.perf_counter()
        for _ in range(steps):
            da, db = batch_gradient(a, b, size, rng)
            a, b = a + STEP * da, b + STEP * db
        seconds = (time.perf_counter() - began) / steps
        turned = np.arctan2(b[:, 1], b[:, 0]) - np.arctan2(exact[:, 1], exact[:, 0])
        error = np.degrees(np.sqrt(np.mean(np.arctan2(np.sin(turned), np.cos(turned)) ** 2)))
        rows.append((f"BatchNorm1d, batch {size}", error, seconds))
    frame = pd.DataFrame(rows, columns=["method", "direction error (degree)", "seconds per step"])
    return frame.assign(**{"times the closed form": frame["seconds per step"] / closed})


def pairwise_field(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The field by all pairs, the oracle of the prefix sums."""
    psi = np.arctan2(points[:, 1], points[:, 0])
    kernel, slope = circular_kernel(psi[:, None] - psi)
    return kernel @ weights, slope @ weights


def scaling(widths: tuple[int, ...], pairwise_up_to: int) -> pd.DataFrame:
    """Time of the field over the number of particles, with the largest deviation from all pairs."""
    rng, rows = np.random.default_rng(2), []
    for m in widths:
        points, weights = rng.standard_normal((m, 2)), rng.standard_normal(m) / m
        fast = best_time(lambda points=points, weights=weights: planar_field(points, weights))
        slow = gap = np.nan
        if m <= pairwise_up_to:
            slow = best_time(lambda points=points, weights=weights: pairwise_field(points, weights))
            pairs = zip(planar_field(points, weights), pairwise_field(points, weights), strict=True)
            gap = max(np.abs(summed - paired).max() for summed, paired in pairs)
        rows.append((m, fast, 1e9 * fast / m, slow, slow / fast, gap))
    columns = ["m", "prefix sums (s)", "ns per particle", "pairwise (s)", "pairwise / prefix", "largest difference"]
    return pd.DataFrame(rows, columns=columns)


def compiled(widths: tuple[int, ...], steps: int = 300) -> pd.DataFrame:
    """Time per step of descent in compiled code and on arrays, and the largest difference of the particles."""
    rows, model = [], Population(linear(0), ANISOTROPIC)
    record = np.array([steps])
    for m in widths:
        a, b = signed_start(m // 2, np.random.default_rng(3))
        arguments = a, b, model, np.array(STEP), record
        fast = best_time(lambda arguments=arguments: _compiled_descent(*arguments)) / steps
        slow = best_time(lambda arguments=arguments: _array_descent(*arguments)) / steps
        native, arrays = _compiled_descent(*arguments), _array_descent(*arguments)
        rows.append((m, fast, slow, slow / fast, np.abs(native.b - arrays.b).max()))
    columns = ["m", "compiled (s per step)", "arrays (s per step)", "arrays / compiled", "largest difference"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Prints the four tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=100, help="neurons of the first two tables")
    parser.add_argument("--steps", type=int, default=500, help="steps of the training run")
    parser.add_argument("--largest", type=int, default=1_000_000, help="particles of the last row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    widths = [m for m in (50, 100, 200, 1000, 4000, 10**5, 10**6) if m <= options.largest]
    for title, frame in (
        ("One gradient", accuracy(options.width, (32, 512, 4096, 32768))),
        (f"{options.steps} steps of training", training(options.width, options.steps, (32, 512, 4096))),
        ("Field of m particles", scaling(tuple(widths), pairwise_up_to=4000)),
        ("Descent", compiled((50, 200, 1000))),
    ):
        print(f"\n{title}\n{frame.to_string(index=False, float_format=lambda value: f'{value:.3g}')}")


if __name__ == "__main__":
    main()
