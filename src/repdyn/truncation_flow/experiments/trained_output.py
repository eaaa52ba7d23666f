"""Standard cost with a trained output layer: collapsed clusters (Section 8), the network behind them, Section 9."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import times_variable
from repdyn.truncation_flow.methods import collapsed
from repdyn.truncation_flow.methods.construction import ball_clusters, simplex_initial_data
from repdyn.truncation_flow.methods.layers import standard_cost_flow
from repdyn.truncation_flow.settings import CollapsedClusters, OutputLayer, ReducedNetwork
from repdyn.truncation_flow.theory import general, standard_cost

SIGNS = ("positive", "negative", "indefinite")
FORMS = ("printed", "corrected")
DIFFERENCE = 1e-4
SHORT = 1.0


def collapsed_clusters(settings: CollapsedClusters, stream: Stream) -> xr.Dataset:
    """Integral of motion, spectral gap and cost along (8.6)-(8.7); Euler steps for contrast; the bound (8.35)."""
    Q, times = settings.dimension, np.linspace(0.0, settings.horizon, settings.samples)
    shape = (len(SIGNS), settings.seeds)
    cost, drift = np.empty((*shape, len(times))), np.empty((*shape, len(times)))
    gap, limit = np.full(shape, np.nan), np.full(shape, np.nan)
    euler = np.empty((len(settings.euler_steps), settings.seeds))
    Y = np.eye(Q)
    for s, sign in enumerate(SIGNS):
        for seed in range(settings.seeds):
            B0, W0 = collapsed.definite_start(Q, sign, stream.generator(sign, seed))
            B, W = collapsed.collapsed_trajectory(B0, W0, Y, times)
            integral = standard_cost.conserved_quantity(B, W)
            cost[s, seed] = standard_cost.collapsed_cost(B, W, Y)
            drift[s, seed] = np.linalg.norm(integral - integral[0], ord=2, axis=(-2, -1))
            if sign != "indefinite":
                gap[s, seed] = standard_cost.spectral_gap(B0, W0)
                limit[s, seed] = _late_motion(B[-1], W[-1], Y)
            if sign == "positive":
                euler[:, seed] = [_euler_drift(B0, W0, Y, h) for h in settings.euler_steps]
    dims = ("sign", "seed")
    variables = {
        "cost": variable((*dims, "time"), cost, "standard cost of collapsed clusters", "1"),
        "drift": variable((*dims, "time"), drift, "operator norm of I(s) - I(0)", "1"),
        "gap": variable(dims, gap, "lambda_0, smallest eigenvalue of I or -I"),
        "late_motion": variable(dims, limit, "largest change of B and W between s and s + 1, s = twice the last time"),
        "euler_drift": variable(("euler_step", "seed"), euler, f"operator norm of I({SHORT:g}) - I(0), Euler steps"),
    }
    for name in ("gap", "late_motion"):
        variables[name].attrs["missing"] = "I is indefinite"
    variables |= _weight_bounds(times) | _saddle(settings.horizon)
    return dataset(
        variables,
        {
            "sign": variable("sign", np.array(SIGNS), "sign of I(0) = B B^T - W^T W"),
            "seed": index("seed", settings.seeds, "random start"),
            "time": times_variable(times),
            "euler_step": variable("euler_step", np.array(settings.euler_steps), "step of the Euler scheme"),
            "dimension": variable((), Q, "dimension Q"),
        },
        title="Collapsed clusters with a trained output: integral of motion and spectral gap",
    )


def _late_motion(B: Array, W: Array, Y: Array) -> float:
    """Change of B and W over one unit of time after a further long run."""
    later = collapsed.collapsed_trajectory(B, W, Y, np.array([0.0, 14.0, 15.0]))
    return float(max(np.abs(part[2] - part[1]).max() for part in later))


def _euler_drift(B: Array, W: Array, Y: Array, h: float) -> float:
    path = collapsed.euler_trajectory(B, W, Y, h, round(SHORT / h))
    integral = standard_cost.conserved_quantity(*path)
    return float(np.linalg.norm(integral[-1] - integral[0], ord=2))


def _weight_bounds(times: Array) -> dict[str, xr.Variable]:
    """||W + Y B^{-1}|| for Y = 0, B = 1, W = 0.01, where the rate lambda_0 is attained, beside (8.35)."""
    Q = 4
    B0, W0, Y = np.eye(Q), 0.01 * np.eye(Q), np.zeros((Q, Q))
    B, W = collapsed.collapsed_trajectory(B0, W0, Y, times)
    gap, cost_0 = standard_cost.spectral_gap(B0, W0), float(standard_cost.collapsed_cost(B0, W0, Y))
    cost = standard_cost.collapsed_cost(B, W, Y)
    return {
        "weight_norm": variable("time", np.linalg.norm(W, ord=2, axis=(-2, -1)), "||W + Y B^{-1}||, Y = 0"),
        "weight_bound_printed": variable(
            "time", standard_cost.weight_bound_as_printed(times, gap, cost_0), "bound (8.35) as printed"
        ),
        "weight_bound_corrected": variable(
            "time", standard_cost.weight_bound(times, gap, cost_0), "bound (8.35), mended"
        ),
        "slow_cost": variable("time", cost, "cost of this run"),
        "slow_gap": variable((), gap, "lambda_0 of this run"),
    }


def _saddle(horizon: float) -> dict[str, xr.Variable]:
    """B = W = 0, Y = 1: I is indefinite (0), the cost does not move."""
    zero, Y = np.zeros((4, 4)), np.eye(4)
    B, W = collapsed.collapsed_trajectory(zero, zero, Y, np.array([0.0, horizon]))
    cost = standard_cost.collapsed_cost(B, W, Y)
    return {"saddle_ratio": variable((), float(cost[1] / cost[0]), "C at the last time over C(0) from B = W = 0")}


def propagators(settings: CollapsedClusters, stream: Stream) -> xr.Dataset:
    """Errors of (8.8)-(8.11), (8.16), (8.17) as printed and corrected, and the lemmas 8.1 and 8.2."""
    Q, times = settings.dimension, np.linspace(0.0, SHORT, settings.nodes)
    equations = ("(8.8)", "(8.9), (8.11)", "(8.10)", "(8.16)", "(8.17)")
    errors = np.empty((2, settings.seeds, len(equations)))
    decay, ratio = np.empty(settings.seeds), np.empty(settings.seeds)
    Y = np.eye(Q)
    for seed in range(settings.seeds):
        B0, W0 = collapsed.definite_start(Q, "positive", stream.generator(seed))
        errors[:, seed] = np.array(_propagator_errors(B0, W0, Y, times)).T
        _, _, U_B, _ = collapsed.trajectory_with_propagators(
            B0, W0, Y, np.linspace(0.0, 3.0, 61), standard_cost.propagator_rates_as_printed
        )
        floor = standard_cost.spectral_gap(B0, W0)
        rate = -np.log(np.linalg.norm(U_B[1:], ord=2, axis=(-2, -1))) / np.linspace(0.0, 3.0, 61)[1:]
        decay[seed] = (rate / floor).min()
        ratio[seed] = _product_ratio(stream.generator(seed, "pairs"), Q)
    return dataset(
        {
            "printed": variable(("seed", "equation"), errors[0], "largest error as printed"),
            "corrected": variable(("seed", "equation"), errors[1], "largest error, corrected"),
            "propagator_rate": variable("seed", decay, "least -log||U_B||/(lambda_0 s); Lemma 8.1 says at least 1"),
            "product_ratio": variable("seed", ratio, "least ||A B|| / (sqrt(lambda_0) ||A||), Lemma 8.2 says above 1"),
        },
        {
            "seed": index("seed", settings.seeds, "random start, I positive definite"),
            "equation": variable("equation", np.array(equations), "equation of the paper"),
        },
        title="Propagators of Section 8 as printed and corrected",
    )


def _propagator_errors(B0: Array, W0: Array, Y: Array, times: Array) -> list[tuple[float, float]]:
    """(printed, corrected) error of each equation over the given nodes."""
    E0 = standard_cost.output_error(B0, W0, Y)
    runs = {}
    for form, rates in (
        ("corrected", standard_cost.propagator_rates),
        ("printed", standard_cost.propagator_rates_as_printed),
    ):
        runs[form] = collapsed.trajectory_with_propagators(B0, W0, Y, times, rates)
    B, W, _, _ = runs["corrected"]
    E = standard_cost.output_error(B, W, Y)
    represented = {form: float(np.abs(U_W @ E0 @ U_B - E).max()) for form, (_, _, U_B, U_W) in runs.items()}
    duhamel = {
        sign: collapsed.duhamel(B, W, Y, runs["printed"][2], runs["printed"][3], times, sign) for sign in (-1.0, 1.0)
    }
    integral = [[float(np.abs(duhamel[sign][n] - (B, W)[n][-1]).max()) for sign in (1.0, -1.0)] for n in (0, 1)]
    return [
        (_error_flow(B, W, Y, times),) * 2,
        (represented["printed"], represented["corrected"]),
        _initial_time_derivative(B0, W0, Y),
        tuple(integral[0]),
        tuple(integral[1]),
    ]


def _error_flow(B: Array, W: Array, Y: Array, times: Array) -> float:
    """(8.8) in integrated form, E(s) - E(0) by the trapezoid rule."""
    rates = np.array([standard_cost.error_flow(b, w, Y) for b, w in zip(B, W, strict=True)])
    E = standard_cost.output_error(B, W, Y)
    return float(np.abs(E[0] + np.trapezoid(rates, times, axis=0) - E[-1]).max())


def _initial_time_derivative(B0: Array, W0: Array, Y: Array) -> tuple[float, float]:
    """(8.10): derivative in the initial time is +(B B^T) U_B, by central differences; printed with a minus."""
    nodes = np.array([0.0, 0.5 - DIFFERENCE, 0.5, 0.5 + DIFFERENCE, 1.0])
    B, _, U_B, _ = collapsed.trajectory_with_propagators(B0, W0, Y, nodes, standard_cost.propagator_rates_as_printed)
    later = [np.linalg.solve(U_B[k], U_B[-1]) for k in range(5)]
    slope = (later[3] - later[1]) / (2 * DIFFERENCE)
    exact = B[2] @ B[2].T @ later[2]
    return float(np.abs(slope + exact).max()), float(np.abs(slope - exact).max())


def _product_ratio(generator: np.random.Generator, Q: int, pairs: int = 200) -> float:
    """Least ||A B|| / (sqrt(lambda_0) ||A||) over random pairs, lambda_0 the smallest eigenvalue of B B^T."""
    A, B = generator.normal(size=(2, pairs, Q, Q))
    floor = np.linalg.eigvalsh(B @ np.swapaxes(B, -1, -2))[:, 0]
    norms = [np.linalg.norm(M, ord=2, axis=(-2, -1)) for M in (A @ B, A)]
    return float(np.min(norms[0] / (np.sqrt(floor) * norms[1])))


def reduced_network(settings: ReducedNetwork, stream: Stream) -> xr.Dataset:
    """The reduced flow (8.6)-(8.7) against all parameters of the network, benign and adverse labels."""
    Q, times = 3, np.linspace(0.0, settings.horizon, settings.samples)
    R, _, yt = simplex_initial_data(Q, shift=0.22)
    X = ball_clusters(np.eye(Q), settings.points, 0.05, stream.generator("points"))
    labels = {"benign": np.eye(Q), "adverse": 1.5 * np.roll(np.eye(Q), 1, axis=0)}
    W0, beta0 = 1.15 * np.linalg.inv(yt.T), -yt
    network, reduced = np.empty((2, len(times))), np.empty((2, len(times)))
    spread, lost, margin = np.empty((2, len(times))), np.empty(2), np.empty((2, len(times)))
    for case, y in enumerate(labels.values()):
        full = _network_run(X, R, beta0, W0, y, times, settings.step)
        B, W = collapsed.collapsed_trajectory(beta0.T, W0, y.T, times)
        network[case], spread[case] = full
        reduced[case] = standard_cost.collapsed_cost(B, W, y.T)
        margin[case] = [_collapse_margin(X, R, b.T) for b in B]
        lost[case] = times[np.argmax(margin[case] < 0)] if np.any(margin[case] < 0) else np.inf
    variables = {
        "cost_network": variable(("labels", "time"), network, "standard cost of the network"),
        "cost_reduced": variable(("labels", "time"), reduced, "cost of the reduced flow (8.6)-(8.7)"),
        "spread": variable(
            ("labels", "time"), spread, "variance of the network's clusters after truncation", "input^2"
        ),
        "margin": variable(
            ("labels", "time"), margin, "distance to loss of the sectors along the reduced flow", "input"
        ),
        "lost": variable("labels", lost, "time at which the reduced flow leaves the collapsed sectors"),
    }
    variables["lost"].attrs["missing"] = "infinite where the sectors are kept"
    return dataset(
        variables,
        {
            "labels": variable("labels", np.array(list(labels)), "labels: near W yt, or exchanged between clusters"),
            "time": times_variable(times),
            "points": variable((), settings.points, "points per cluster"),
            "step": variable((), settings.step, "step of the scheme"),
        },
        title="Collapsed initial data: reduced cost against the network",
    )


def _network_run(X: Array, R: Array, beta: Array, W: Array, y: Array, times: Array, step: float) -> tuple[Array, Array]:
    """Cost and within-cluster variance of the whole network along its gradient flow."""
    K, N, Q = X.shape
    points, w, targets = X.reshape(-1, Q), np.full(K * N, 1.0 / N), np.repeat(y, N, axis=0)
    path = standard_cost_flow(points, w, targets, R, beta, W, times, step=step)
    cost, spread = [], []
    for rotation, offset, weight in zip(*path, strict=True):
        z = general.forward(points, rotation, offset).z[-1]
        cost.append(0.5 * np.sum(w * np.sum((z @ weight.T - targets) ** 2, axis=1)))
        clusters = z.reshape(K, N, Q)
        spread.append(np.mean(np.sum((clusters - clusters.mean(axis=1, keepdims=True)) ** 2, axis=-1)))
    return np.array(cost), np.array(spread)


def _collapse_margin(X: Array, R: Array, beta: Array) -> float:
    """Distance to the loss of: every cluster fully truncated by its own map, untouched by the others.

    Points -beta_l, the collapsed clusters, must be untouched by later maps too.
    """
    distances = []
    for layer in range(len(R)):
        distances.append(np.min(-(X[layer] + beta[layer]) @ R[layer].T))
        for other in range(len(R)):
            where = X[other] if other > layer else -beta[other][None]
            if other != layer:
                distances.append(np.min((where + beta[layer]) @ R[layer].T))
    return float(min(distances))


def output_layer(settings: OutputLayer, stream: Stream) -> xr.Dataset:
    """Theorem 9.1 against an integrator and against least squares, for the weights 1/N and 1/N_j."""
    Q, N = settings.dimension, settings.points
    generator = stream.generator("points")
    X, W0 = generator.uniform(0.2, 1.5, size=(Q, N)), generator.normal(size=(Q, Q))
    cluster = np.sort(np.concatenate((np.arange(Q), generator.integers(0, Q, N - Q))))
    Y = np.eye(Q)[:, cluster]
    weightings = {"1/N": np.full(N, 1.0 / N), "1/N_j": general.cluster_weights(cluster, Q)}
    times = np.linspace(0.0, settings.horizon, 21)
    formula, limits, minimisers, slowest = np.empty((2, len(times))), [], [], []
    for index_, w in enumerate(weightings.values()):
        path = standard_cost.output_layer_flow(X, Y, W0, times, weights=w)
        formula[index_] = np.abs(path - _integrated(X, Y, W0, w, times)).max(axis=(1, 2))
        rate = np.linalg.eigvalsh((X * w) @ X.T)[0]
        limits.append(standard_cost.output_layer_flow(X, Y, W0, [60.0 / rate], weights=w)[0])
        minimisers.append(standard_cost.least_squares_minimiser(X, Y, w))
        slowest.append(rate)
    P = standard_cost.right_inverse(X)
    projector = P @ X
    return dataset(
        {
            "formula_error": variable(("weighting", "time"), formula, "closed form (9.10) against an integrator"),
            "limit_error": variable(
                "weighting",
                np.abs(np.array(limits) - np.array(minimisers)).max(axis=(1, 2)),
                "limit against least squares",
            ),
            "crossed_error": variable(
                "weighting",
                np.abs(np.array(limits) - np.array(minimisers[::-1])).max(axis=(1, 2)),
                "limit against least squares with the other weights",
            ),
            "slowest_rate": variable("weighting", np.array(slowest), "slowest rate of convergence", "1/time"),
            "projector_defect": variable((), float(np.abs(projector @ projector - projector).max()), "|(P X)^2 - P X|"),
            "projector_rank": variable((), int(np.linalg.matrix_rank(projector)), "rank of P X"),
            "rows_of_P": variable((), P.shape[0], "rows of P of (9.11)"),
            "columns_of_P": variable((), P.shape[1], "columns of P of (9.11)"),
            "columns_of_Y": variable((), Q, "columns of Y; the product Y P of (9.10) needs as many as P has rows"),
        },
        {
            "weighting": variable("weighting", np.array(list(weightings)), "weight of a point in the cost"),
            "time": times_variable(times),
        },
        title="The output layer alone is trained",
    )


def _integrated(X: Array, Y: Array, W0: Array, w: Array, times: Array) -> Array:
    """The flow dW = -(W X - Y) D X^T by DOP853, shape (T, M, Q)."""

    def rate(s: float, flat: Array) -> Array:
        return -((flat.reshape(W0.shape) @ X - Y) * w @ X.T).ravel()

    solution = solve_ivp(rate, (0.0, times[-1]), W0.ravel(), method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    return solution.y.T.reshape(-1, *W0.shape)
