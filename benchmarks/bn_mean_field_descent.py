"""Mean-field dynamics in two dimensions beside other ways, for docs/performance.md: equal particles first.

Ours is descent in compiled code, O(m) per step once the particles are sorted. The peers are the same prefix sums on
numpy's arrays, all pairs on numpy's arrays, and JAX by both: prefix sums written out, and all pairs with the gradient
by automatic differentiation.

    python benchmarks/bn_mean_field_descent.py

prints what the page does not hold: what batches through `torch.nn.BatchNorm1d` cost for the error that they leave, in
one gradient and over a training run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from measuring import OURS, Race, Row, Way

from repdyn.base.arrays import Array
from repdyn.bn_mean_field.methods.particle_flows import _array_descent, gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, linear, signed_start
from repdyn.bn_mean_field.theory.circular import circular_kernel
from repdyn.bn_mean_field.theory.velocity import Population

STEP = 2e-3
NO_EPS = 1e-300


class AllPairs(Population):
    """The field by all pairs of particles."""

    def _planar(self, v: Array, charge: Array) -> tuple[Array, Array]:
        points = v @ self.root
        length, psi = np.linalg.norm(points, axis=1), np.arctan2(points[:, 1], points[:, 0])
        kernel, slope = circular_kernel(psi[:, None] - psi)
        field, slope = kernel @ (charge * length), slope @ (charge * length)
        outward = points / length[:, None]
        across = np.stack([-outward[:, 1], outward[:, 0]], axis=1)
        return length * field, (field[:, None] * outward + slope[:, None] * across) @ self.root


def jax_loss(model: Population) -> Callable[..., Any]:
    """m times the loss with BN, whose descent is the mean-field one; all pairs."""
    import jax.numpy as jnp

    def loss(values: Any) -> Any:
        a, b = values
        norm = jnp.sqrt(jnp.einsum("kd,de,ke->k", b, model.cov, b))
        points = jnp.concatenate([b / norm[:, None], model.teacher.w]) @ model.root
        charge = jnp.concatenate([a / len(a), -model.teacher.c])
        length, psi = jnp.sqrt(jnp.sum(points**2, axis=1)), jnp.arctan2(points[:, 1], points[:, 0])
        difference = psi[:, None] - psi
        D = jnp.abs(difference - 2 * jnp.pi * jnp.round(difference / (2 * jnp.pi)))
        kernel = (jnp.sin(D) + (jnp.pi - D) * jnp.cos(D)) / (2 * jnp.pi)
        return len(a) / 2 * (charge * length) @ kernel @ (charge * length)

    return loss


def jax_prefix_sums(model: Population) -> Callable[..., Any]:
    """Minus the velocities of eq. (21), by one sort and prefix sums, as `theory.circular` has them."""
    import jax.numpy as jnp

    def slopes(values: Any) -> Any:
        a, b = values
        m, pi = len(a), jnp.pi
        normals = b @ model.cov
        norm = jnp.sqrt(jnp.sum(b * normals, axis=1))
        points = jnp.concatenate([b / norm[:, None], model.teacher.w]) @ model.root
        length = jnp.sqrt(jnp.sum(points**2, axis=1))
        unit = points / length[:, None]
        flip = jnp.where(unit[:, 1] < 0, -1.0, 1.0)
        u, v = flip * unit[:, 0], flip * unit[:, 1]
        phi = jnp.arctan2(v, u)
        order = jnp.argsort(phi)
        charge = jnp.concatenate([a / m, -model.teacher.c]) * length
        terms = jnp.stack([charge * u, charge * v, phi * charge * u, phi * charge * v])
        left = jnp.cumsum(terms[:, order], axis=1)
        total = left[:, -1:]
        c, s, tc, ts = 2 * jnp.zeros_like(left).at[:, order].set(left) - total
        near_c, near_s = pi / 2 * total[0] - phi * c + tc, pi / 2 * total[1] - phi * s + ts
        x, y = jnp.sum(flip * terms[0]), jnp.sum(flip * terms[1])
        field = (v * c - u * s + u * near_c + v * near_s + pi / 2 * flip * (x * u + y * v)) / (2 * pi)
        slope = (u * near_s - v * near_c + pi / 2 * flip * (y * u - x * v)) / (2 * pi)
        across = jnp.stack([-unit[:, 1], unit[:, 0]], axis=1)
        moment = ((field[:, None] * unit + slope[:, None] * across) @ model.root)[:m]
        radial = jnp.sum(b * moment, axis=1) / norm**2
        return (length * field)[:m], (a / norm)[:, None] * (moment - radial[:, None] * normals)

    return slopes


def of_jax(slopes: Callable[..., Any], a: Array, b: Array, steps: int) -> Callable[[], np.ndarray]:
    import jax
    import peers_jax  # noqa: F401 (one thread, float64)
    from jax import lax

    def step(values: Any, _: Any) -> tuple[Any, None]:
        return jax.tree.map(lambda part, slope: part - STEP * slope, values, slopes(values)), None

    run = jax.jit(lambda values: lax.scan(step, values, length=steps)[0])
    return lambda: np.asarray(run((a, b))[1]) - b


def descent_race(m: int, steps: int) -> Race:
    """All ways to the same steps from the same particles; how far these move must agree."""
    import jax

    a, b = signed_start(m // 2, np.random.default_rng(3))
    model, pairs = (kind(linear(0), ANISOTROPIC) for kind in (Population, AllPairs))
    record, h = np.array([steps]), np.array(STEP)
    runs = {
        "numpy, all pairs": lambda: _array_descent(a, b, pairs, h, record).b[-1] - b,
        "numpy, prefix sums": lambda: _array_descent(a, b, model, h, record).b[-1] - b,
        "JAX, all pairs": of_jax(jax.grad(jax_loss(model)), a, b, steps),
        "JAX, prefix sums": of_jax(jax_prefix_sums(model), a, b, steps),
        OURS: lambda: gradient_descent(a, b, model, STEP, record=record).b[-1] - b,
    }
    return Race({name: Way(run, run, steps) for name, run in runs.items()}, 1e-9)


ROWS = [
    Row(
        engine="bn_mean_field, descent",
        name=f"{m} neurons",
        work="a step of descent of the population loss with BN in the plane",
        unit="step",
        build=descent_race,
        size={"m": m, "steps": steps},
        tiny={"m": 6, "steps": 3},
    )
    for m, steps in ((100, 50), (1000, 4))
]


def best_time(call: Callable[[], object], budget: float = 0.5) -> float:
    """Shortest of repeated runs within a time budget, seconds; one to warm up."""
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
    exact = gradient_descent(*start, model, STEP, record=[steps]).b[-1]
    closed = best_time(lambda: gradient_descent(*start, model, STEP, record=[steps])) / steps
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


def main() -> None:
    """Prints the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=100, help="neurons")
    parser.add_argument("--steps", type=int, default=500, help="steps of the training run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for title, frame in (
        ("One gradient", accuracy(options.width, (32, 512, 4096, 32768))),
        (f"{options.steps} steps of training", training(options.width, options.steps, (32, 512, 4096))),
    ):
        print(f"\n{title}\n{frame.to_string(index=False, float_format=lambda value: f'{value:.3g}')}")


if __name__ == "__main__":
    main()
