"""Standard cost with a trained output layer: the network behind collapsed clusters (Section 8), Section 9."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import first_time, times_variable
from repdyn.truncation_flow.methods import collapsed
from repdyn.truncation_flow.methods.construction import ball_clusters, simplex_initial_data
from repdyn.truncation_flow.methods.cost_audit import collapse_margin, collapsing_weights
from repdyn.truncation_flow.methods.formula_audit import worst
from repdyn.truncation_flow.methods.layers import free_standard_cost_flow, standard_cost_flow
from repdyn.truncation_flow.settings import OutputLayer, ReducedNetwork
from repdyn.truncation_flow.theory import general, standard_cost, unaligned


def reduced_network(settings: ReducedNetwork, stream: Stream) -> xr.Dataset:
    """The reduced flow (8.6)-(8.7) against all parameters of the network, benign and adverse labels."""
    Q, times = 3, np.linspace(0.0, settings.horizon, settings.samples)
    R, _, yt = simplex_initial_data(Q, shift=0.22)
    X = ball_clusters(np.eye(Q), settings.points, 0.05, stream.generator("points"))
    labels = {"benign": np.eye(Q), "adverse": 1.5 * np.roll(np.eye(Q), 1, axis=0)}
    W0, beta0 = cast("Array", 1.15 * np.linalg.inv(yt.T)), -yt
    V = collapsing_weights(X, R, beta0, stream.generator("weights"))
    network, free, reduced, frozen, margin, free_margin = np.empty((6, 2, len(times)))
    for case, y in enumerate(labels.values()):
        network[case] = _network_cost(X, R, beta0, W0, y, times, settings.step)
        free[case] = _free_network_cost(X, V, beta0, W0, y, times, settings.step)
        B, W = collapsed.collapsed_trajectory(beta0.T, W0, y.T, times)
        reduced[case] = standard_cost.collapsed_cost(B, W, y.T)
        frozen[case] = standard_cost.collapsed_cost(beta0.T, _weight_at_fixed_biases(beta0.T, W0, y.T, times), y.T)
        margin[case], free_margin[case] = ([collapse_margin(X, weights, b.T) for b in B] for weights in (R, V))
    lost, free_lost = ([first_time(times, part < 0) for part in margins] for margins in (margin, free_margin))
    variables = {
        "cost_network": variable(("labels", "time"), network, "standard cost of the network"),
        "cost_network_free": variable(("labels", "time"), free, "the same with free cumulative weights, not aligned"),
        "cost_reduced": variable(("labels", "time"), reduced, "cost of the reduced flow (8.6)-(8.7)"),
        "cost_frozen": variable(("labels", "time"), frozen, "cost of the reduced flow with B at rest, without (8.6)"),
        "margin": variable(
            ("labels", "time"), margin, "distance to loss of the sectors along the reduced flow", "input"
        ),
        "lost": variable("labels", np.array(lost), "time at which the reduced flow leaves the collapsed sectors"),
        "lost_free": variable("labels", np.array(free_lost), "the same for the sectors of the free weights"),
        "integral_gap": variable((), np.linalg.eigvalsh(W0.T @ W0 - beta0.T @ beta0)[0], "least eigenvalue of -I(0)"),
    }
    for name in ("lost", "lost_free"):
        variables[name].attrs["missing"] = "infinite where the sectors are kept"
    variables["cost_network_free"].attrs["missing"] = "after free weights have come near to singular ones"
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


def _weight_at_fixed_biases(B: Array, W: Array, Y: Array, times: Array) -> Array:
    """Solution of (8.7) alone, dW = -(W B + Y) B^T at fixed B, shape (T, Q, Q)."""
    limit = -np.linalg.solve(B.T, Y.T).T
    return np.array([limit + (W - limit) @ scipy.linalg.expm(-s * B @ B.T) for s in times])


def _network_cost(X: Array, R: Array, beta: Array, W: Array, y: Array, times: Array, step: float) -> Array:
    """Cost of the whole network along its gradient flow, shape (T,)."""
    K, N, Q = X.shape
    points, w, targets = X.reshape(-1, Q), np.full(K * N, 1.0 / N), np.repeat(y, N, axis=0)
    path = zip(*standard_cost_flow(points, w, targets, R, beta, W, times, step=step), strict=True)
    residuals = (general.forward(points, a, c).z[-1] @ weight.T - targets for a, c, weight in path)
    return np.array([general.weighted_cost(residual, w) for residual in residuals])


def _free_network_cost(X: Array, V: Array, beta: Array, W: Array, y: Array, times: Array, step: float) -> Array:
    """The same with free cumulative weights, shape (T,); NaN once they have come near to singular ones."""
    K, N, Q = X.shape
    points, w, targets = X.reshape(-1, Q), np.full(K * N, 1.0 / N), np.repeat(y, N, axis=0)
    path = zip(*free_standard_cost_flow(points, w, targets, V, beta, W, times, step=step), strict=True)
    residuals = (unaligned.forward(points, a, c)[0][-1] @ weight.T - targets for a, c, weight in path)
    return np.array([general.weighted_cost(residual, w) for residual in residuals])


def output_layer(settings: OutputLayer, stream: Stream) -> xr.Dataset:
    """Theorem 9.1 against an integrator and against least squares, for the weights 1/N and 1/N_j."""
    Q, N = settings.dimension, settings.points
    generator = stream.generator("points")
    X, W0 = generator.uniform(0.2, 1.5, size=(Q, N)), generator.normal(size=(Q, Q))
    cluster = np.sort(np.concatenate((np.arange(Q), generator.integers(0, Q, N - Q))))
    Y = np.eye(Q)[:, cluster]
    weightings = {"1/N": np.full(N, 1.0 / N), "1/N_j": general.cluster_weights(cluster, Q)}
    times = np.linspace(0.0, settings.horizon, 21)
    formula, unweighted = np.empty((2, 2, len(times)))
    without = standard_cost.output_layer_flow(X, Y, W0, times, weights=np.ones(N))
    limits, minimizers = [], []
    for case, w in enumerate(weightings.values()):
        path = standard_cost.output_layer_flow(X, Y, W0, times, weights=w)
        solved = _integrated(X, Y, W0, w, times)
        formula[case], unweighted[case] = (np.abs(outputs - solved).max(axis=(1, 2)) for outputs in (path, without))
        slowest = np.linalg.eigvalsh((X * w) @ X.T)[0]
        limits.append(standard_cost.output_layer_flow(X, Y, W0, [60.0 / slowest], weights=w)[0])
        minimizers.append(standard_cost.least_squares_minimizer(X, Y, w))
    limit, minimizer = np.array(limits), np.array(minimizers)
    return dataset(
        {
            "formula_error": variable(("weighting", "time"), formula, "closed form (9.10) against an integrator"),
            "formula_error_unweighted": variable(
                ("weighting", "time"), unweighted, "closed form with exp(-s X X^T), without 1/N, against the integrator"
            ),
            "limit_error": variable(
                "weighting", np.abs(limit - minimizer).max(axis=(1, 2)), "limit against least squares"
            ),
            "crossed_error": variable(
                "weighting",
                np.abs(limit - minimizer[::-1]).max(axis=(1, 2)),
                "limit against least squares with the other weights",
            ),
            "columns_of_Y": variable((), Q, "columns of Y; the product Y P of (9.10) needs as many as P has rows"),
            **_right_inverse(X),
        },
        {
            "weighting": variable("weighting", np.array(list(weightings)), "weight of a point in the cost"),
            "time": times_variable(times),
        },
        title="The output layer alone is trained",
    )


def _right_inverse(X: Array) -> dict[str, xr.Variable]:
    """Shape of P of (9.11), and how far P X and the Gram matrix X^T X are from the projector on the range of X^T."""
    P = standard_cost.right_inverse(X)
    projector, gram = P @ X, X.T @ X
    return {
        "projector_defect": variable((), worst(projector @ projector - projector), "|(P X)^2 - P X|"),
        "range_error": variable((), worst(projector @ X.T - X.T), "|P X X^T - X^T|"),
        "gram_defect": variable((), worst(gram @ gram - gram), "|(X^T X)^2 - X^T X|"),
        "gram_range_error": variable((), worst(gram @ X.T - X.T), "|X^T X X^T - X^T|"),
        "rows_of_P": variable((), P.shape[0], "rows of P of (9.11)"),
        "columns_of_P": variable((), P.shape[1], "columns of P of (9.11)"),
    }


def _integrated(X: Array, Y: Array, W0: Array, w: Array, times: Array) -> Array:
    """The flow dW = -(W X - Y) D X^T by DOP853, shape (T, M, Q)."""

    def rate(s: float, flat: Array) -> Array:
        return -((flat.reshape(W0.shape) @ X - Y) * w @ X.T).ravel()

    solution = scipy.integrate.solve_ivp(
        rate, (0.0, times[-1]), W0.ravel(), method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13
    )
    return solution.y.T.reshape(-1, *W0.shape)
