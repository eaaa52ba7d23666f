r"""One function for the flow of cluster separated truncations on R^Q x O(Q): `integrate_flow`.

Under cluster separated truncations (Definition 3.1) every cluster moves by itself (Theorem 3.2).

==========  ======================================================  ================================  ==========
method      what                                                    accuracy                          for
==========  ======================================================  ================================  ==========
occupation  occupation-time midpoint, Cayley; all clusters at once  second order in `step`            default
events      event-driven Dormand-Prince, sliding modes              `tolerance` per step              reference
exact       R held fixed: sort and cumulative sums (4.49)           rounding                          bias only
scipy       `solve_ivp`, RK45, with a cap on evaluations            poor at jumps, stalls in sliding  comparison
==========  ======================================================  ================================  ==========
"""

from collections.abc import Sequence

import numpy as np
import scipy
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array
from repdyn.base.datasets import index, variable
from repdyn.truncation_flow.methods.events import Event, event_flow
from repdyn.truncation_flow.methods.occupation import GENERATORS, occupation_flow, pre_activation, residual_bias
from repdyn.truncation_flow.theory import inputs, separated
from repdyn.truncation_flow.theory.staircase import bias_flow

METHODS = ("occupation", "events", "exact", "scipy")


def integrate_flow(
    X: Sequence[ArrayLike],
    R0: ArrayLike,
    beta0: ArrayLike,
    yt: ArrayLike,
    times: ArrayLike,
    method: str = "occupation",
    *,
    step: float = 0.01,
    tolerance: float = 1e-11,
    evaluations: int = 100_000,
    formula: str = "corrected",
) -> xr.Dataset:
    """Gradient flow of every cluster: d(beta)/ds = -R^T Jp b, dR/ds = Omega R (Theorem 3.2, corrected).

    Args:
        X: clusters, each (N_l, Q), input units.
        R0: orthogonal matrices at time 0, shape (K, Q, Q) for K clusters.
        beta0: pulled-back biases at time 0, shape (K, Q), input units.
        yt: pulled-back labels, shape (K, Q), input units.
        times: output times, strictly increasing, >= 0.
        method: "occupation" (default), "events", "exact" (R fixed) or "scipy".
        step: largest step of the occupation scheme.
        tolerance: local error of "events", relative tolerance of "scipy".
        evaluations: cap on right sides of "scipy"; times not reached are NaN.
        formula: "corrected", or "printed" for Omega of (3.22) ("occupation" only).

    Returns:
        Dataset over (time, cluster, coordinate): `beta`, `R`, `cost`, `generator_norm`, `truncated_share`,
        `dissipation`, `residual`; with method "events" also the crossings over (event).

    Raises:
        ValueError: if shapes disagree, an R is not orthogonal, a cluster is empty, a number is not finite, or the
            method does not know the formula.
    """
    X, R0, beta0, yt, times = _checked(X, R0, beta0, yt, times)
    arguments.one_of(method, METHODS, "method")
    arguments.one_of(formula, tuple(GENERATORS), "formula")
    arguments.positive(step, "step")
    arguments.positive(tolerance, "tolerance")
    if formula == "printed" and method != "occupation":
        raise ValueError(f"formula: got 'printed' with method {method!r}; expected 'occupation'")
    points, w = pad(X)
    if method == "occupation":
        R, beta = occupation_flow(points, w, yt, R0, beta0, times, step=step, formula=formula)
        return trajectory_dataset(points, w, yt, R, beta, times, formula)
    paths, events = [], []
    for cluster, start in enumerate(zip(X, R0, beta0, yt, strict=True)):
        path, own_events = _one_cluster(method, *start, times, tolerance, evaluations)
        paths.append(path)
        events += [(cluster, event) for event in own_events]
    R, beta = (np.stack(parts, axis=1) for parts in zip(*paths, strict=True))
    data = trajectory_dataset(points, w, yt, R, beta, times, formula)
    return with_events(data, events) if method == "events" else data


def _checked(
    X: Sequence[ArrayLike], R0: ArrayLike, beta0: ArrayLike, yt: ArrayLike, times: ArrayLike
) -> tuple[list[Array], Array, Array, Array, Array]:
    arrays = inputs.clusters(X)
    K, Q = len(arrays), arrays[0].shape[1]
    for name, value, shape in (("R0", R0, (K, Q, Q)), ("beta0", beta0, (K, Q)), ("yt", yt, (K, Q))):
        if np.shape(value) != shape:
            raise ValueError(f"{name}: got shape {np.shape(value)}; expected {shape} for {K} clusters in R^{Q}")
    return (
        arrays,
        inputs.rotations(R0, Q, "R0"),
        arguments.finite(beta0, "beta0"),
        arguments.finite(yt, "yt"),
        arguments.increasing(times, "times"),
    )


def pad(X: Sequence[Array]) -> tuple[Array, Array]:
    """Stack clusters of different size, shape (K, N, Q), with weights 1/N_l and 0 for padding, shape (K, N)."""
    largest = max(len(cluster) for cluster in X)
    points = np.zeros((len(X), largest, X[0].shape[1]))
    w = np.zeros((len(X), largest))
    for row, cluster in enumerate(X):
        points[row, : len(cluster)] = cluster
        w[row, : len(cluster)] = 1.0 / len(cluster)
    return points, w


def _one_cluster(
    method: str, X: Array, R: Array, beta: Array, yt: Array, times: Array, tolerance: float, evaluations: int
) -> tuple[tuple[Array, Array], list[Event]]:
    """States of a cluster that is integrated by itself, and its crossings."""
    if method == "events":
        R_at, beta_at, events = event_flow(X, np.full(len(X), 1.0 / len(X)), yt, R, beta, times, tolerance=tolerance)
        return (R_at, beta_at), events
    if method == "exact":
        return (np.repeat(R[None], len(times), axis=0), exact_bias_flow(X, R, beta, yt, times)), []
    return scipy_flow(X, R, beta, yt, times, rtol=tolerance, evaluations=evaluations)[:2], []


def exact_bias_flow(X: Array, R: Array, beta: Array, yt: Array, times: Array) -> Array:
    """Bias at fixed R without discretization (Section 4.3), shape (T, Q).

    Args:
        X: points, shape (N, Q), input units.
        R: orthogonal matrix, shape (Q, Q).
        beta: pulled-back bias at time 0, shape (Q,), input units.
        yt: pulled-back label, shape (Q,), input units.
        times: output times, increasing, shape (T,).
    """
    x, b, y = X @ R.T, -R @ beta, R @ yt
    rotated = np.stack([bias_flow(x[:, r], b[r], y[r], times) for r in range(len(y))], axis=1)
    return -rotated @ R


def scipy_flow(
    X: Array, R: Array, beta: Array, yt: Array, times: Array, *, rtol: float, evaluations: int, solver: str = "RK45"
) -> tuple[Array, Array, int]:
    """The flow by `solve_ivp` in (R, beta), stopped after a number of right sides; unreached times are NaN.

    Ours: a general integrator for the flow of Theorem 3.2.

    Args:
        X: points, shape (N, Q), input units.
        R: orthogonal matrix at time 0, shape (Q, Q).
        beta: pulled-back bias at time 0, shape (Q,), input units.
        yt: pulled-back label, shape (Q,), input units.
        times: output times, increasing, shape (T,).
        rtol: relative and absolute tolerance.
        evaluations: right sides after which it is stopped.
        solver: method of `solve_ivp`.

    Returns:
        R (T, Q, Q), beta (T, Q), and the right sides used.
    """
    Q, w, used = len(beta), np.full(len(X), 1.0 / len(X)), 0

    def rate(s: float, state: Array) -> Array:
        nonlocal used
        used += 1
        if used > evaluations:
            raise _CapReachedError
        rotation, offset = state[: Q * Q].reshape(Q, Q), state[Q * Q :]
        u, b = pre_activation(X, rotation, offset), residual_bias(rotation, offset, yt)
        H = (u > 0).astype(np.float64)
        Omega = separated.generator(H, u, b, w)
        return np.concatenate(((Omega @ rotation).ravel(), separated.bias_velocity(H, rotation, b, w)))

    state, now = np.concatenate((R.ravel(), beta)), 0.0
    states = np.full((len(times), Q * Q + Q), np.nan)
    for n, time in enumerate(times):
        try:
            if time > now:
                state = scipy.integrate.solve_ivp(rate, (now, time), state, method=solver, rtol=rtol, atol=rtol).y[
                    :, -1
                ]
        except _CapReachedError:
            break
        states[n], now = state, time
    return states[:, : Q * Q].reshape(-1, Q, Q), states[:, Q * Q :], used


class _CapReachedError(Exception):
    """The right side was evaluated as often as allowed."""


def trajectory_dataset(
    points: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, formula: str
) -> xr.Dataset:
    """Quantities along a path of states, over (time, cluster, coordinate).

    Quantities of Theorem 3.2; dissipation is (3.25)-(3.26).

    Args:
        points: points of each cluster, shape (clusters, N, Q), input units.
        w: weight of each point, shape (clusters, N).
        yt: pulled-back labels, shape (clusters, Q), input units.
        R: orthogonal matrices along the path, shape (T, clusters, Q, Q).
        beta: pulled-back biases along the path, shape (T, clusters, Q), input units.
        times: times of the path, shape (T,).
        formula: "corrected" or "printed", key of `GENERATORS`.
    """
    u, b = pre_activation(points, R, beta), residual_bias(R, beta, yt)
    H = (u > 0).astype(np.float64)
    Omega, Jp = GENERATORS[formula](H, u, b, w), separated.truncated_shares(H, w)
    tc = ("time", "cluster")
    norm, dissipation = np.linalg.norm(Omega, axis=(-2, -1)), separated.dissipation(Jp, b, Omega)
    return xr.Dataset(
        {
            "R": variable((*tc, "coordinate", "column"), R, "orthogonal matrix"),
            "beta": variable((*tc, "column"), beta, "pulled-back bias", "input"),
            "cost": variable(tc, separated.cost(H, u, b, w), "Euclidean cost of the cluster", "input^2"),
            "generator_norm": variable(tc, norm, "Frobenius norm of Omega", "input^2/time"),
            "truncated_share": variable((*tc, "coordinate"), Jp, "share of points truncated"),
            "dissipation": variable(tc, dissipation, "-|Jp b|^2 - Tr(Omega^T Omega)", "input^2/time"),
            "residual": variable(tc, np.linalg.norm(b, axis=-1), "|beta + yt|", "input"),
        },
        coords={
            "time": variable("time", times, "flow time s"),
            "cluster": index("cluster", len(points), "cluster l"),
            "coordinate": index("coordinate", beta.shape[-1], "coordinate i"),
            "column": index("column", beta.shape[-1], "input coordinate"),
        },
    )


def with_events(data: xr.Dataset, events: list[tuple[int, Event]]) -> xr.Dataset:
    """The dataset with its crossings over the dimension `event`."""
    columns = {
        "event_time": ([event.time for _, event in events], "time of the crossing", np.float64),
        "event_cluster": ([cluster for cluster, _ in events], "cluster of the crossing point", np.int64),
        "event_point": ([event.point for _, event in events], "point that crosses", np.int64),
        "event_coordinate": ([event.coordinate for _, event in events], "coordinate plane crossed", np.int64),
        "event_kind": ([event.kind for _, event in events], "0 truncated, 1 released, 2 begins to slide", np.int64),
    }
    return data.assign(
        {name: variable("event", np.array(value, dtype=kind), long) for name, (value, long, kind) in columns.items()}
    )
