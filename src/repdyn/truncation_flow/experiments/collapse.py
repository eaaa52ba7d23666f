"""Neural collapse under cluster separated truncations, for clusters around the unit vectors of R^Q."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import decay_rate, first_time, times_variable
from repdyn.truncation_flow.methods.construction import (
    balanced_shift,
    ball_clusters,
    largest_radius,
    simplex_initial_data,
    simplex_margins,
)
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.metrics import neural_collapse_metrics
from repdyn.truncation_flow.methods.separation import Margins, separation_margin
from repdyn.truncation_flow.settings import NeuralCollapse
from repdyn.truncation_flow.theory import general
from repdyn.truncation_flow.theory.truncation import truncate

SNAPSHOTS = 5
TOO_WIDE = 1.6  # radius over the largest that can be separated; two clusters overlap only at 4
FAR_BEHIND = -2.0  # start of the apex at which no point is truncated: one largest radius more than the clusters'
COST_FLOOR = 1e-18  # of the cost at the start, below which beta + yt is round-off
COARSE_STEP, COARSE_TIMES = 0.05, 25  # for the worlds in which the statements are false


def simplex_run(
    Q: int, settings: NeuralCollapse, times: Array, stream: Stream, world: str = "separated"
) -> tuple[Array, xr.Dataset, Array]:
    """Clusters (Q, N, Q), their flow, and the labels; data of a dimension do not depend on the other dimensions.

    In the world "untruncated" the apex starts so far behind the mean that no point is truncated; in the world
    "too wide" the clusters are too wide to be separated.
    """
    fill = settings.fill
    if world == "too wide":
        fill = TOO_WIDE if Q > 2 else 4.0
    X = ball_clusters(np.eye(Q), settings.points, fill * largest_radius(Q), stream.generator(Q))
    R, beta, yt = simplex_initial_data(Q, start=FAR_BEHIND if world == "untruncated" else settings.start)
    step = settings.step if world == "separated" else max(COARSE_STEP, settings.step)
    return X, integrate_flow(list(X), R, beta, yt, times, step=step), yt


def neural_collapse(settings: NeuralCollapse, stream: Stream) -> xr.Dataset:
    """Cost, collapse and margins along the flow for every dimension."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    arrival = np.full((len(settings.dimensions), max(settings.dimensions)), np.nan)
    share, runs = arrival.copy(), []
    for q, Q in enumerate(settings.dimensions):
        X, path, yt = simplex_run(Q, settings, times, stream)
        full = (path["truncated_share"] >= 1).all("coordinate").values
        arrival[q, :Q] = [first_time(times, column) for column in full.T]
        share[q, :Q] = path["truncated_share"].isel(time=0).min("coordinate")
        runs.append(_collapse_series(X, path, yt))
    worlds = _worlds(settings, times, runs, arrival, stream)
    return _collapse_dataset(settings, times, runs, arrival, share).assign(worlds)


def _worlds(
    settings: NeuralCollapse, times: Array, runs: list[dict[str, Array]], arrival: Array, stream: Stream
) -> dict[str, xr.Variable]:
    """What happens after the last arrival and how far separation is kept, here and in worlds without collapse."""
    coarse = np.linspace(0.0, settings.horizon, COARSE_TIMES)
    worlds = {"": ("", times, runs)}
    for world, words in (("untruncated", "clusters untruncated"), ("too wide", "clusters too wide to be separated")):
        series = [_collapse_series(*simplex_run(Q, settings, coarse, stream, world)) for Q in settings.dimensions]
        worlds[f"_{world.replace(' ', '_')}"] = (f", {words}", coarse, series)
    texts = {
        "cost_rate": ("-d log C/ds after the last arrival, by least squares", "1/time"),
        "within_late": ("largest variance within clusters after the last arrival", "input^2"),
        "margin_least": ("smallest margin of the separation that must persist, over all times", "input"),
        "composed_error_largest": ("largest |tau_Q o .. o tau_1(x) - tau_l(x)| over cluster l and all times", "input"),
    }
    variables: dict[str, xr.Variable] = {}
    for suffix, (words, when, series) in worlds.items():
        rows = [_summary(run, when, last) for run, last in zip(series, np.nanmax(arrival, axis=1), strict=True)]
        variables |= {
            name + suffix: variable("dimension", np.array([row[name] for row in rows]), text + words, unit)
            for name, (text, unit) in texts.items()
        }
    for array in variables.values():
        array.attrs["missing"] = "no arrival, or fewer than three times after it"
    return variables


def _summary(series: dict[str, Array], times: Array, arrival: float) -> dict[str, float]:
    late = (times >= arrival) & (series["cost"] > COST_FLOOR * series["cost"][0])
    enough = np.sum(late) >= 3
    return {
        "cost_rate": decay_rate(times[late], series["cost"][late]) if enough else np.nan,
        "within_late": float(series["within"][late].max()) if enough else np.nan,
        "margin_least": float(series["margin"].min()),
        "composed_error_largest": float(series["composed_error"].max()),
    }


def _collapse_series(X: Array, path: xr.Dataset, yt: Array) -> dict[str, Array]:
    R, beta = path["R"].values, path["beta"].values
    labels = np.repeat(np.arange(len(X)), X.shape[1])
    metrics = [neural_collapse_metrics(z.reshape(-1, X.shape[2]), labels) for z in truncate(X, R, beta)]
    return {
        "cost": path["cost"].sum("cluster").values,
        "generator_norm": path["generator_norm"].max("cluster").values,
        "margin": np.array([_kept(separation_margin(X, R[t], beta[t], yt)) for t in range(len(R))]),
        "composed_error": np.array([_composition_error(X, R[t], beta[t]) for t in range(len(R))]),
        **{name: np.array([row[name] for row in metrics]) for name in ("within", "ratio")},
    }


def _kept(margins: Margins) -> float:
    """Margin of the conditions that must hold at all times; the own cluster is truncated only in the end."""
    return min(margins.others, margins.images)


def _composition_error(X: Array, R: Array, beta: Array) -> float:
    """How far the composition tau_Q o ... o tau_1 is from tau_l on cluster l, (3.5)."""
    composed = general.forward(X.reshape(-1, X.shape[2]), R, beta).z[-1].reshape(X.shape)
    return float(np.abs(composed - truncate(X, R, beta)).max())


def _collapse_dataset(
    settings: NeuralCollapse, times: Array, runs: list[dict[str, Array]], arrival: Array, share: Array
) -> xr.Dataset:
    texts = {
        "cost": ("Euclidean cost, all clusters", "input^2"),
        "within": ("variance within clusters of tau(X)", "input^2"),
        "ratio": ("within over between variance (NC1)", "1"),
        "margin": ("smallest margin of the separation that must persist", "input"),
        "generator_norm": ("largest Frobenius norm of Omega over clusters", "input^2/time"),
    }
    variables = {
        name: variable(("dimension", "time"), np.array([series[name] for series in runs]), *text)
        for name, text in texts.items()
    }
    variables["arrival"] = variable(("dimension", "cluster"), arrival, "time s_1 of full truncation")
    variables["start_share"] = variable(("dimension", "cluster"), share, "least truncated share at the start")
    for name in ("arrival", "start_share"):
        variables[name].attrs["missing"] = "fewer clusters than columns"
    return dataset(
        variables | _construction(settings.dimensions),
        {
            "dimension": variable("dimension", np.array(settings.dimensions), "dimension Q"),
            "time": times_variable(times),
            "cluster": index("cluster", arrival.shape[1], "cluster"),
            "points": variable((), settings.points, "points per cluster"),
            "fill": variable((), settings.fill, "cluster radius over the largest"),
            "start": variable((), settings.start, "start of the apex on the line from mean to label"),
        },
        title="Neural collapse under cluster separated truncations",
    )


def _construction(dimensions: Sequence[int]) -> dict[str, xr.Variable]:
    """The explicit construction; margins are those of the centers at beta = -yt."""
    rows = []
    for Q in dimensions:
        R, _, yt = simplex_initial_data(Q)
        measured = separation_margin(np.eye(Q)[:, None, :], R, -yt, yt)
        shift = balanced_shift(Q)
        rows.append((shift, largest_radius(Q), *simplex_margins(Q, shift), measured.own, measured.others))
    texts = {
        "shift": ("label shift t*", "1"),
        "radius": ("largest radius", "input"),
        "own_margin": ("own margin, by formula", "input"),
        "others_margin": ("others' margin, by formula", "input"),
        "own_direct": ("own margin, measured", "input"),
        "others_direct": ("others' margin, measured", "input"),
    }
    columns = np.array(rows).T
    return {name: variable("dimension", column, *texts[name]) for name, column in zip(texts, columns, strict=True)}


def truncation_in_the_plane(settings: NeuralCollapse, stream: Stream) -> xr.Dataset:
    """Snapshots of data, images and cone for Q = 2 and Q = 3: cluster 0 is truncated, the others stay."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    shape = (2, SNAPSHOTS, 3)
    image = np.full((*shape, settings.points, 3), np.nan)
    data, apexes = image[:, 0].copy(), np.full((2, len(times), 3), np.nan)
    label, cone, when = np.full((2, 3), np.nan), np.full((2, SNAPSHOTS, 3, 3), np.nan), np.empty((2, SNAPSHOTS))
    for q, Q in enumerate((2, 3)):
        X, path, yt = simplex_run(Q, settings, times, stream)
        R, beta = path["R"].values, path["beta"].values
        arrived = (path["truncated_share"].isel(cluster=0) >= 1).all("coordinate").values
        first = int(np.argmax(arrived))
        chosen = [0, first // 4, first // 2, first, len(times) - 1]
        when[q] = times[chosen]
        data[q, :Q, :, :Q], apexes[q, :, :Q], label[q, :Q] = X, -beta[:, 0], yt[0]
        cone[q, :, :Q, :Q] = R[chosen, 0]
        for t, moment in enumerate(chosen):
            image[q, t, :Q, :, :Q] = X
            image[q, t, 0, :, :Q] = truncate(X[0], R[moment, 0], beta[moment, 0])
    variables = {
        "data": variable(("dimension", "cluster", "point", "column"), data, "data", "input"),
        "image": variable(("dimension", "snapshot", "cluster", "point", "column"), image, "tau_1 of the data", "input"),
        "apex": variable(("dimension", "time", "column"), apexes, "apex -beta_1 of the cone", "input"),
        "label": variable(("dimension", "column"), label, "pulled-back label of cluster 1", "input"),
        "cone": variable(("dimension", "snapshot", "edge", "column"), cone, "rows of R_1, edges of the cone"),
        "moment": variable(("dimension", "snapshot"), when, "time of the snapshot"),
    }
    for array in variables.values():
        array.attrs["missing"] = "Q = 2 has two clusters and two coordinates"
    return dataset(
        variables,
        {
            "dimension": variable("dimension", np.array([2, 3]), "dimension Q"),
            "snapshot": index("snapshot", SNAPSHOTS, "snapshot"),
            "cluster": index("cluster", 3, "cluster"),
            "point": index("point", settings.points, "point"),
            "column": index("column", 3, "input coordinate"),
            "edge": index("edge", 3, "edge of the cone"),
            "time": times_variable(times),
        },
        title="Truncation in the plane",
    )
