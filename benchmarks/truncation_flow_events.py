"""Flow of one cluster on R^Q x O(Q): rows of docs/performance.md, and accuracy against time.

The event-driven flow stands beside scipy's solvers with a terminal event and a start afresh at each crossing, so that
both locate all of them; one right side beside automatic differentiation, with a copy of the data as the limit.

    python benchmarks/truncation_flow_events.py

prints the error of methods against their time. Plain gradient descent is what a user of PyTorch would write: autograd,
one Euler step, QR. Times are processor times of one thread, least of a few runs; ratios carry over to other machines,
milliseconds do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from measuring import OURS, Race, Row, Way, copy
from scipy.integrate import solve_ivp

from repdyn.truncation_flow.experiments.cluster_flow import euler_flow, rotating_cluster
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import scipy_flow
from repdyn.truncation_flow.methods.occupation import occupation_flow
from repdyn.truncation_flow.theory import separated
from repdyn.truncation_flow.theory.staircase import bias_flow

HORIZON = 3.0
CAP = 200_000
MARGIN = 1e-13
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


def solver_with_events(
    X: np.ndarray,
    w: np.ndarray,
    yt: np.ndarray,
    R: np.ndarray,
    beta: np.ndarray,
    times: np.ndarray,
    rtol: float = 1e-11,
    solver: str = "DOP853",
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """States at the end and the times of crossings by `solve_ivp`, from crossing to crossing; no sliding.

    Between crossings a right side takes moments, as ours does, and one event, the point nearest to leaving its side,
    stands for all. A crossing lies `MARGIN` behind its plane, so that a point that has crossed is on its new side.
    """
    Q, d, b, now, crossings = len(R), X - yt, R @ (beta + yt), 0.0, []
    H = (X @ R.T + R @ beta > 0).astype(float)
    J, S = w @ H, np.einsum("k,ki,ka,kb->iab", w, H, d, d)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        R, b = state[Q:].reshape(Q, Q), state[:Q]
        Omega = separated.generator_from_shares(J, np.einsum("iab,ia->ib", S, R) @ R.T, b)
        return np.concatenate([Omega @ b - (1 - J) * b, (Omega @ R).ravel()])

    def ahead(state: np.ndarray) -> np.ndarray:
        return (2 * H - 1) * (d @ state[Q:].reshape(Q, Q).T + state[:Q])

    def event(_: float, state: np.ndarray) -> float:
        return float(ahead(state).min()) + MARGIN

    event.terminal, event.direction = True, -1
    state = np.concatenate([b, R.ravel()])
    while now < times[-1]:
        solution = solve_ivp(rate, (now, times[-1]), state, method=solver, events=event, rtol=rtol, atol=rtol)
        now, state = solution.t[-1], solution.y[:, -1]
        if solution.status == 1:
            k, i = np.unravel_index(np.argmin(ahead(state)), H.shape)
            change = w[k] * (1 - 2 * H[k, i])
            H[k, i] = 1 - H[k, i]
            J[i] += change
            S[i] += change * np.outer(d[k], d[k])
            crossings.append(now)
    R, b = state[Q:].reshape(Q, Q), state[:Q]
    return R[None], (R.T @ b - yt)[None], crossings


def event_race(Q: int, N: int, horizon: float) -> Race:
    """Ours and scipy's at the same tolerance; the end and the times of all crossings must agree."""
    X, R, beta, yt = rotating_cluster(Q, N, np.random.default_rng((Q, N)))
    given = X, np.full(N, 1.0 / N), yt, R, beta, np.array([horizon])

    def ours() -> np.ndarray:
        R, beta, events = event_flow(*given, tolerance=1e-11)
        return np.concatenate([R[-1].ravel(), beta[-1], [event.time for event in events]])

    def peer(solver: str) -> np.ndarray:
        R, beta, crossings = solver_with_events(*given, solver=solver)
        return np.concatenate([R[-1].ravel(), beta[-1], crossings])

    runs = {"scipy's DOP853": lambda: peer("DOP853"), "scipy's LSODA": lambda: peer("LSODA"), OURS: ours}
    return Race({name: Way(run, run) for name, run in runs.items()}, 1e-7)


def right_side_race(Q: int, N: int) -> Race:
    """One velocity: two products on columns, against automatic differentiation of the cost."""
    import jax
    import jax.numpy as jnp
    import peers_jax  # noqa: F401 (one thread, float64)

    X, R, beta, yt = rotating_cluster(Q, N, np.random.default_rng(0))
    D, b = np.ascontiguousarray((X - yt).T), R @ (beta + yt)
    tensors = [torch.tensor(part) for part in (X, R, beta, yt)]

    def cost(R: jax.Array, beta: jax.Array) -> jax.Array:
        image = jnp.maximum((X + beta) @ R.T, 0) @ R - beta
        return 0.5 * jnp.mean(jnp.sum((image - yt) ** 2, axis=1))

    slopes = jax.jit(jax.grad(cost, argnums=(0, 1)))

    def generator(G: np.ndarray, g: np.ndarray) -> np.ndarray:
        M = np.asarray(G) @ R.T
        return np.concatenate([(-0.5 * (M - M.T)).ravel(), -np.asarray(g)])

    def ours() -> np.ndarray:
        moved = separated.velocity_of_columns(D, R, b)
        return np.concatenate([moved.Omega.ravel(), moved.dbeta])

    runs = {
        "autograd": lambda: generator(*(part.numpy() for part in autograd_velocity(*tensors))),
        "JAX": lambda: generator(*slopes(R, beta)),
        OURS: ours,
    }
    many = max(3, 100_000 // N)
    ways = {name: Way(run, lambda run=run: [run() for _ in range(many)], many) for name, run in runs.items()}
    return Race(ways, 1e-10, [copy(D.nbytes, 2 * D.nbytes)])


ROWS = [
    Row(
        engine="truncation_flow, event flow",
        name=f"Q = {Q}, N = {N}",
        work=f"a run to s = {HORIZON:g}, error 1e-11 a step",
        unit="run",
        build=event_race,
        size={"Q": Q, "N": N, "horizon": HORIZON},
        tiny={"Q": Q, "N": 6, "horizon": 0.5},
        goal=20.0,
    )
    for Q, N in ((2, 200), (4, 200))
]
ROWS += [
    Row(
        engine="truncation_flow, right side",
        name=f"Q = {Q}, N = {N}",
        work="one velocity of R and beta",
        unit="right side",
        build=right_side_race,
        size={"Q": Q, "N": N},
        tiny={"Q": Q, "N": 6},
    )
    for Q, N in ((4, 2000), (8, 20_000))
]


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
    row("RK45 across the jumps, rtol 1e-6", lambda: scipy_flow(X, R, beta, yt, ends, rtol=1e-6, evaluations=CAP))
    for solver, rtol in (("RK45", 1e-6), ("LSODA", 1e-6), ("DOP853", 1e-6), ("DOP853", 1e-11)):
        row(f"{solver} with events, rtol {rtol:g}", lambda s=solver, r=rtol: solver_with_events(*start, ends, r, s))


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


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare_bias_flows()
    compare_integrators(2, 200)
    compare_integrators(4, 200)
