"""The corrected general flow (Theorem 5.1) without separation, beside plain gradient descent on the same network."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint, groups
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.truncation_flow.methods import layers
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.layers import (
    gradient_descent_step,
    network_layers,
    network_of_truncations,
    network_output,
)
from repdyn.truncation_flow.settings import GeneralFlow
from repdyn.truncation_flow.theory import general

Q = 3
STARTS = ("separated", "too wide", "random", "untruncated")
WIDE = 0.35
ALGORITHMS = ("flow", "descent")
GROUP = 8  # seeds that move as one batch, and are kept together


def starting_point(kind: str, points: int, generator: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Clusters (3, N, 3), R (3, 3, 3), beta (3, 3), yt (3, 3) of one kind."""
    R, beta, yt = simplex_initial_data(Q)
    radius = WIDE if kind == "too wide" else 0.8 * largest_radius(Q)
    X = ball_clusters(np.eye(Q), points, radius, generator)
    if kind == "random":
        R = scipy.stats.ortho_group.rvs(Q, size=Q, random_state=generator)
        beta = 0.5 * generator.normal(size=(Q, Q))
    if kind == "untruncated":
        R, beta = np.array([np.eye(Q)] * Q), np.full((Q, Q), 0.5)
    return X, R, beta, yt


def general_flow(settings: GeneralFlow, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Cost and within-cluster variance of four starts under both algorithms."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    shape = (len(STARTS), len(ALGORITHMS), settings.seeds, settings.samples)
    cost, within = np.empty(shape), np.empty(shape)
    progress = Progress("general_flow", len(STARTS))
    for s, kind in enumerate(STARTS):
        for seeds in groups(settings.seeds, GROUP):
            name = f"{kind}, seeds {seeds.start} to {seeds.stop - 1}"
            kept = checkpoint.get(name) or checkpoint.put(name, _moved(kind, seeds, times, settings, stream))
            own = slice(seeds.start, seeds.stop)
            cost[s, :, own], within[s, :, own] = kept["cost"], kept["within"]
        progress.step(s + 1)
    return _general_dataset(settings, times, cost, within)


def _moved(kind: str, seeds: range, times: Array, settings: GeneralFlow, stream: Stream) -> dict[str, Array]:
    """Cost and variance of some seeds in one batch, shape (algorithms, seeds, times)."""
    draws = [starting_point(kind, settings.points, stream.generator(kind, seed)) for seed in seeds]
    X, R, beta, yt = (np.array(part) for part in zip(*draws, strict=True))
    points, labels = X.reshape(len(seeds), -1, Q), np.repeat(yt, settings.points, axis=1)
    w = np.full(points.shape[1], 1.0 / settings.points)
    rotations, offsets = layers.general_flow(points, w, labels, R, beta, times, step=settings.step)
    z = np.array([general.forward(points, a, c).z[-1] for a, c in zip(rotations, offsets, strict=True)])
    flow = general.weighted_cost(z - labels, w).T, _within(z, settings.points).T
    descent = _descent(points, w, yt, R, beta, times, settings)
    cost, within = (np.array(pair) for pair in zip(flow, descent, strict=True))
    return {"cost": cost, "within": within}


def _descent(
    points: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, settings: GeneralFlow
) -> tuple[Array, Array]:
    """Plain gradient descent on all weights and biases, standard cost, from the same function; time = rate * steps."""
    W_out = cast("Array", np.linalg.inv(yt.mT))
    y = np.repeat(np.broadcast_to(np.eye(Q), yt.shape), settings.points, axis=1)
    weights = network_of_truncations(R, beta, W_out)
    taken, cost, within = 0, [], []
    for time in times:
        for _ in range(round(time / settings.rate) - taken):
            weights = gradient_descent_step(points, w, y, weights, settings.rate)
        taken = round(time / settings.rate)
        last = network_layers(points, weights)[-1]
        cost.append(general.weighted_cost(network_output(last, weights) - y, w))
        within.append(_within(last, settings.points))
    return np.array(cost).T, np.array(within).T


def _within(z: Array, points: int) -> Array:
    """Variance within clusters over the variance of all, shape (..., ): how far clusters have collapsed."""
    clusters = z.reshape(*z.shape[:-2], Q, points, Q)
    inner = np.mean(np.sum((clusters - clusters.mean(axis=-2, keepdims=True)) ** 2, axis=-1), axis=(-2, -1))
    total = np.mean(np.sum((z - z.mean(axis=-2, keepdims=True)) ** 2, axis=-1), axis=-1)
    return inner / np.maximum(total, 1e-300)


def _general_dataset(settings: GeneralFlow, times: Array, cost: Array, within: Array) -> xr.Dataset:
    dims = ("start", "algorithm", "seed", "time")
    return dataset(
        {
            "cost": variable(dims, cost, "cost: Euclidean for the flow, standard for descent"),
            "within": variable(dims, within, "variance within clusters over all variance, last layer"),
        },
        {
            "start": variable("start", np.array(STARTS), "initial data"),
            "algorithm": variable("algorithm", np.array(ALGORITHMS), "flow of Theorem 5.1, or plain descent"),
            "seed": index("seed", settings.seeds, "random draw"),
            "time": variable("time", times, "flow time s; learning rate times steps for descent"),
            "points": variable((), settings.points, "points per cluster"),
            "rate": variable((), settings.rate, "learning rate of descent"),
            "step": variable((), settings.step, "step of the flow"),
        },
        title="The corrected general flow and plain gradient descent",
    )
