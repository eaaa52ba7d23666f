"""Flow of one cluster on R^Q x O(Q): accuracy against time, and right sides against memory traffic, side by side.

Run: python benchmarks/truncation_flow.py. All methods see the same cluster and are compared with the event-driven flow
before they are timed. Plain gradient descent is what a user of PyTorch would write: autograd, one Euler step, QR. Times
are processor times of one thread, least of a few runs; ratios carry over to other machines, milliseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.integrate import solve_ivp

from repdyn.truncation_flow.experiments.cluster_flow import euler_flow, rotating_cluster
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import scipy_flow
from repdyn.truncation_flow.methods.occupation import occupation_flow
from repdyn.truncation_flow.theory import separated
from repdyn.truncation_flow.theory.staircase import bias_flow

HORIZON = 3.0
CAP = 200_000
Path = tuple[np.ndarray, np.ndarray]


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Least processor time of a few runs."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def autograd_velocity(X: torch.Tensor, R: torch.Tensor, beta: torch.Tensor, yt: torch.Tensor) -> Path:
    """Gradient of the cost of one cluster in R and beta, as PyTorch finds it."""
    R, beta = R.detach().requires_grad_(), beta.detach().requires_grad_()
    image = torch.relu((X + beta) @ R.T) @ R - beta
    (0.5 * ((image - yt) ** 2).sum(dim=1).mean()).backward()
    return R.grad, beta.grad


def autograd_descent(X: np.ndarray, R: np.ndarray, beta: np.ndarray, yt: np.ndarray, h: float) -> Path:
    """Euler steps along the projected gradient, retracted by QR with positive diagonal."""
    X, R, beta, yt = (torch.tensor(part) for part in (X, R, beta, yt))
    for _ in range(round(HORIZON / h)):
        G, g = autograd_velocity(X, R, beta, yt)
        M = G @ R.T
        Q, upper = torch.linalg.qr(R - 0.5 * h * (M - M.T) @ R)
        R, beta = Q * torch.sign(torch.diagonal(upper)), beta - h * g
    return R.numpy()[None], beta.numpy()[None]


def compare_integrators(Q: int, N: int) -> None:
    X, R, beta, yt = rotating_cluster(Q, N, np.random.default_rng((Q, N)))
    w, ends = np.full(N, 1.0 / N), np.array([HORIZON])
    start = (X, w, yt, R, beta)
    reference = event_flow(*start, ends, tolerance=1e-12)
    print(f"\none cluster, Q = {Q}, N = {N}, s = {HORIZON:g}, {len(reference[2])} crossings")
    print(f"{'method':>34} {'error':>9} {'time (s)':>9}")

    def row(name: str, method: Callable[[], tuple], repeats: int = 1) -> None:
        trajectory = method()
        error = max(
            np.abs(trajectory[0][-1] - reference[0][-1]).max(), np.abs(trajectory[1][-1] - reference[1][-1]).max()
        )
        print(f"{name:>34} {error:9.1e} {seconds(method, repeats):9.3f}")

    for h in (0.04, 0.02, 0.01, 0.005):
        row(f"occupation time, h = {h:g}", lambda h=h: occupation_flow(*start, ends, step=h), 2)
    for tolerance in (1e-6, 1e-11):
        row(f"event-driven, local error {tolerance:g}", lambda t=tolerance: event_flow(*start, ends, tolerance=t))
    for h in (0.01, 0.002):
        row(f"closed form, Euler, h = {h:g}", lambda h=h: euler_flow(*start, ends, step=h))
        row(f"autograd, Euler, QR, h = {h:g}", lambda h=h: autograd_descent(X, R, beta, yt, h))
    for solver, rtol in (("RK45", 1e-4), ("RK45", 1e-6), ("LSODA", 1e-6)):
        row(
            f"solve_ivp {solver}, rtol {rtol:g}",
            lambda s=solver, r=rtol: scipy_flow(X, R, beta, yt, ends, rtol=r, evaluations=CAP, solver=s),
        )


def compare_bias_flows(N: int = 200, outputs: int = 4001) -> None:
    x = np.sort(np.random.default_rng(0).normal(size=N))
    times, y, b0 = np.linspace(0, 8, outputs), x[-1] + 0.5, x[0]
    exact = bias_flow(x, b0, y, times)
    print(f"\nbias at fixed weights, N = {N}, {outputs} outputs")
    print(f"{'method':>34} {'error':>9} {'time (ms)':>9}")
    print(f"{'exact':>34} {0:9.1e} {1e3 * seconds(lambda: bias_flow(x, b0, y, times)):9.2f}")

    def rate(s: float, b: np.ndarray) -> np.ndarray:
        return np.searchsorted(x, b, side="right") / N * (y - b)

    for solver, rtol in (("RK45", 1e-3), ("RK45", 1e-6), ("RK45", 1e-9), ("LSODA", 1e-9)):

        def solve(solver: str = solver, rtol: float = rtol) -> np.ndarray:
            return solve_ivp(rate, (0, 8), [b0], method=solver, t_eval=times, rtol=rtol, atol=rtol).y[0]

        error = np.abs(solve() - exact).max()
        print(f"{f'solve_ivp {solver}, rtol {rtol:g}':>34} {error:9.1e} {1e3 * seconds(solve, 1):9.2f}")


def compare_right_sides() -> None:
    print("one right side (ms): columns, rows, autograd; and a copy of the data, the floor set by memory")
    print(f"{'Q':>3} {'N':>7} {'columns':>9} {'rows':>9} {'autograd':>9} {'copy':>9} {'autograd/columns':>17}")
    for Q, N in ((3, 60), (4, 2000), (8, 20_000), (8, 200_000)):
        X, R, beta, yt = rotating_cluster(Q, N, np.random.default_rng(0))
        D, b, w = np.ascontiguousarray((X - yt).T), R @ (beta + yt), np.full(N, 1.0 / N)
        tensors = [torch.tensor(part) for part in (X, R, beta, yt)]

        def rows(X: np.ndarray = X, R: np.ndarray = R, beta: np.ndarray = beta, b: np.ndarray = b, w: np.ndarray = w):
            u = (X + beta) @ R.T
            H = (u > 0).astype(np.float64)
            return separated.generator(H, u, b, w), separated.bias_velocity(H, R, b, w)

        velocity = separated.velocity_of_columns(D, R, b)
        G = autograd_velocity(*tensors)[0] @ tensors[1].T
        assert np.allclose(velocity.Omega, -0.5 * (G - G.T).numpy(), atol=1e-11), "the two right sides differ"
        assert np.allclose(velocity.Omega, rows()[0], atol=1e-11), "rows and columns differ"
        many = max(3, 200_000 // N)

        def each(work: Callable[[], object], many: int = many) -> float:
            return 1e3 * seconds(lambda: [work() for _ in range(many)]) / many

        columns = each(lambda D=D, R=R, b=b: separated.velocity_of_columns(D, R, b))
        plain = each(lambda t=tensors: autograd_velocity(*t))
        copied = each(lambda D=D: D.copy())
        print(f"{Q:3d} {N:7d} {columns:9.3f} {each(rows):9.3f} {plain:9.3f} {copied:9.3f} {plain / columns:17.1f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare_right_sides()
    compare_bias_flows()
    compare_integrators(2, 200)
    compare_integrators(4, 200)
