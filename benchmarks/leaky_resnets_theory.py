"""Stable norms and Hamiltonian flows: accuracy against time, side by side in one run on one thread.

1. |A|^2_{K + gamma I} of one layer of the paper's size (w = 100, N = 1000): the dense N x N inverse, Woodbury in w + 1
   dimensions, and the SVD of S, over gamma; errors relative to a value known by construction.
2. The laboratory's flow: drift of H against right sides, adaptive DOP853 and fixed-step Runge-Kutta, through kinks.

Run with `OMP_NUM_THREADS=1 python benchmarks/leaky_resnets_theory.py`; under half a minute. Ratios carry over to other
machines, milliseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from repdyn.leaky_resnets.theory.flows import hamiltonian_flow
from repdyn.leaky_resnets.theory.hamiltonian import force, hamiltonian, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation, stable_norm_sq

WIDTH, POINTS = 100, 1000
DEPTH = 6.0


def milliseconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Least processor time of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def dense(A: np.ndarray, S: np.ndarray, gamma: float) -> float:
    """By the inverse of K + gamma I."""
    return float(np.sum((A @ np.linalg.inv(S.T @ S + gamma * np.eye(S.shape[1]))) * A))


def known_norm(S: np.ndarray, gamma: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """M = X S with |M|^2_{K + gamma I} summed in extended precision in the basis of S that X is drawn in."""
    _, s, Vt = np.linalg.svd(S, full_matrices=False)
    X = rng.standard_normal((WIDTH, len(s)))
    wanted = np.sum(X.astype(np.longdouble) ** 2 * s**2 / (s.astype(np.longdouble) ** 2 + gamma))
    return (X * s) @ Vt, float(wanted)


def compare_norms() -> None:
    """Time and error of the three ways over gamma."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((WIDTH, 12)) @ rng.standard_normal((12, POINTS)) + 0.1 * rng.standard_normal(
        (WIDTH, POINTS)
    )
    S = activation(A, True)
    size = np.linalg.norm(S, 2) ** 2
    ways = {
        "dense inverse": dense,
        "Woodbury": lambda M, S, g: stable_norm_sq(M, S, g, "woodbury"),
        "SVD": lambda M, S, g: stable_norm_sq(M, S, g, "svd"),
        "chosen": stable_norm_sq,
    }
    print(f"|M|^2 in K + gamma I, w = {WIDTH}, N = {POINTS}: relative error by gamma / |S|^2; time")
    for name, way in ways.items():
        errors = []
        for relative in (1e-2, 1e-4, 1e-6, 1e-9, 1e-12):
            M, wanted = known_norm(S, relative * size, rng)
            errors.append(f"{relative:.0e}: {abs(way(M, S, relative * size) / wanted - 1):.0e}")
        taken = milliseconds(lambda way=way: way(A, S, 1e-3 * size), 2 if name == "dense inverse" else 5)
        print(f"  {name:14s} {taken:8.2f} ms   {'  '.join(errors)}")


def runge_kutta(A: np.ndarray, B: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Fixed steps of order 4 to p = 1/2."""
    h = 0.5 / steps
    for _ in range(steps):
        rates = []
        for part in (0.0, 0.5, 0.5, 1.0):
            now = (A, B) if not rates else (A + part * h * rates[-1][0], B + part * h * rates[-1][1])
            rates.append((velocity(*now, DEPTH, True), -force(*now, DEPTH, True)))
        A = A + h / 6 * (rates[0][0] + 2 * rates[1][0] + 2 * rates[2][0] + rates[3][0])
        B = B + h / 6 * (rates[0][1] + 2 * rates[1][1] + 2 * rates[2][1] + rates[3][1])
    return A, B


def compare_flows() -> None:
    """Drift of H from p = 1/2 to 1 against right sides."""
    rng = np.random.default_rng(1)
    A = rng.uniform(size=(12, 3)) @ rng.uniform(size=(3, 15))
    S = activation(A, True)
    B = A @ np.linalg.pinv(S.T @ S, rcond=1e-10)
    A, B = (M + 0.05 * np.std(M) * rng.standard_normal(M.shape) for M in (A, B))
    H = hamiltonian(A, B, DEPTH, True)
    print(f"Hamiltonian flow, w = 12, N = 15, Lt = {DEPTH:g}, to p = 1/2: relative drift of H; right sides; time")
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        path = hamiltonian_flow(A, B, DEPTH, True, [0.0, 0.5], rtol)
        taken = milliseconds(lambda rtol=rtol: hamiltonian_flow(A, B, DEPTH, True, [0.0, 0.5], rtol), 2)
        drift = abs(hamiltonian(path.A[-1], path.B[-1], DEPTH, True) / H - 1)
        print(f"  DOP853, tolerance {rtol:.0e}: {drift:.1e} {path.evaluations:7d} {taken:8.1f} ms")
    for steps in (125, 500, 2000):
        end = runge_kutta(A, B, steps)
        taken = milliseconds(lambda steps=steps: runge_kutta(A, B, steps), 1)
        drift = abs(hamiltonian(*end, DEPTH, True) / H - 1)
        print(f"  Runge-Kutta, {steps:5d} steps:    {drift:.1e} {4 * steps:7d} {taken:8.1f} ms")


if __name__ == "__main__":
    compare_norms()
    compare_flows()
