"""Cluster separated truncations: neural collapse for simplex data, and the construction on other clusters."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import times_variable
from repdyn.truncation_flow.methods.construction import (
    Margins,
    balanced_shift,
    ball_clusters,
    cluster_separated_initial_data,
    largest_radius,
    separation_margin,
    simplex_initial_data,
    simplex_margins,
)
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.metrics import neural_collapse_metrics
from repdyn.truncation_flow.settings import NeuralCollapse, OwnClusters
from repdyn.truncation_flow.theory import general

SNAPSHOTS = 5
RIDGE = 1e-2


def simplex_run(Q: int, settings: NeuralCollapse, times: Array, stream: Stream) -> tuple[Array, xr.Dataset, Array]:
    """Clusters (Q, N, Q), their flow, and the labels; data of a dimension do not depend on the other dimensions."""
    X = ball_clusters(np.eye(Q), settings.points, settings.fill * largest_radius(Q), stream.generator(Q))
    R, beta, yt = simplex_initial_data(Q, start=settings.start)
    return X, integrate_flow(list(X), R, beta, yt, times, step=settings.step), yt


def images(X: Array, R: Array, beta: Array) -> Array:
    """tau_l(X_l) for every cluster, shape (..., K, N, Q)."""
    offset = beta[..., None, :]
    return np.maximum((X + offset) @ np.swapaxes(R, -1, -2), 0) @ R - offset


def neural_collapse(settings: NeuralCollapse, stream: Stream) -> xr.Dataset:
    """Cost, collapse and margins along the flow for every dimension."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    names = ("cost", "within", "ratio", "equiangle", "margin", "generator_norm", "composed_error")
    series = {name: np.empty((len(settings.dimensions), len(times))) for name in names}
    arrival = np.full((len(settings.dimensions), max(settings.dimensions)), np.nan)
    share = arrival.copy()
    for q, Q in enumerate(settings.dimensions):
        X, path, yt = simplex_run(Q, settings, times, stream)
        full = (path["truncated_share"] >= 1).all("coordinate").values
        arrival[q, :Q] = [times[np.argmax(column)] if column.any() else np.inf for column in full.T]
        share[q, :Q] = path["truncated_share"].isel(time=0).min("coordinate")
        for name, values in _collapse_series(X, path, yt).items():
            series[name][q] = values
    return _collapse_dataset(settings, times, series, arrival, share)


def _collapse_series(X: Array, path: xr.Dataset, yt: Array) -> dict[str, Array]:
    R, beta = path["R"].values, path["beta"].values
    labels = np.repeat(np.arange(len(X)), X.shape[1])
    found = [neural_collapse_metrics(z.reshape(-1, X.shape[2]), labels) for z in images(X, R, beta)]
    return {
        "cost": path["cost"].sum("cluster").values,
        "generator_norm": path["generator_norm"].max("cluster").values,
        "margin": np.array([_kept(separation_margin(X, R[t], beta[t], yt)) for t in range(len(R))]),
        "composed_error": np.array([_composition_error(X, R[t], beta[t]) for t in range(len(R))]),
        **{name: np.array([one[name] for one in found]) for name in ("within", "ratio", "equiangle")},
    }


def _kept(margins: Margins) -> float:
    """Margin of the conditions that must hold at all times; the own cluster is truncated only in the end."""
    return min(margins.others, margins.images)


def _composition_error(X: Array, R: Array, beta: Array) -> float:
    """How far the composition tau_Q o ... o tau_1 is from tau_l on cluster l, (3.5)."""
    composed = general.forward(X.reshape(-1, X.shape[2]), R, beta).z[-1].reshape(X.shape)
    return float(np.abs(composed - images(X, R, beta)).max())


def _collapse_dataset(
    settings: NeuralCollapse, times: Array, series: dict[str, Array], arrival: Array, share: Array
) -> xr.Dataset:
    texts = {
        "cost": ("Euclidean cost, all clusters", "input^2"),
        "within": ("variance within clusters of tau(X)", "input^2"),
        "ratio": ("within over between variance (NC1)", "1"),
        "equiangle": ("deviation of the means' cosines from a simplex (NC2)", "1"),
        "margin": ("smallest margin of the separation that must persist", "input"),
        "generator_norm": ("largest Frobenius norm of Omega over clusters", "input^2/time"),
        "composed_error": ("largest |tau_Q o .. o tau_1(x) - tau_l(x)| over cluster l", "input"),
    }
    dimensions = np.array(settings.dimensions)
    variables = {name: variable(("dimension", "time"), series[name], *texts[name]) for name in texts}
    variables["arrival"] = variable(("dimension", "cluster"), arrival, "time s_1 of full truncation")
    variables["start_share"] = variable(("dimension", "cluster"), share, "least truncated share at the start")
    for name in ("arrival", "start_share"):
        variables[name].attrs["missing"] = "fewer clusters than columns"
    direct = [_direct_margins(int(Q)) for Q in dimensions]
    variables |= {
        "shift": variable("dimension", np.array([balanced_shift(int(Q)) for Q in dimensions]), "label shift t*"),
        "radius": variable(
            "dimension", np.array([largest_radius(int(Q)) for Q in dimensions]), "largest radius", "input"
        ),
        "own_margin": variable("dimension", np.array([one[0] for one in direct]), "own margin, by formula", "input"),
        "others_margin": variable(
            "dimension", np.array([one[1] for one in direct]), "others' margin, by formula", "input"
        ),
        "own_direct": variable("dimension", np.array([one[2] for one in direct]), "own margin, measured", "input"),
        "others_direct": variable(
            "dimension", np.array([one[3] for one in direct]), "others' margin, measured", "input"
        ),
    }
    return dataset(
        variables,
        {
            "dimension": variable("dimension", dimensions, "dimension Q"),
            "time": times_variable(times),
            "cluster": index("cluster", arrival.shape[1], "cluster"),
            "points": variable((), settings.points, "points per cluster"),
            "fill": variable((), settings.fill, "cluster radius over the largest"),
            "start": variable((), settings.start, "start of the apex on the line from mean to label"),
        },
        title="Neural collapse under cluster separated truncations",
    )


def _direct_margins(Q: int) -> tuple[float, float, float, float]:
    """Margins of the centres at beta = -yt, by formula and by measuring."""
    R, _, yt = simplex_initial_data(Q)
    measured = separation_margin(np.eye(Q)[:, None, :], R, -yt, yt)
    return *simplex_margins(Q, balanced_shift(Q)), measured.own, measured.others


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
            image[q, t, 0, :, :Q] = images(X, R[moment], beta[moment])[0]
    variables = {
        "data": variable(("dimension", "cluster", "point", "column"), data, "data", "input"),
        "image": variable(("dimension", "snapshot", "cluster", "point", "column"), image, "tau_1 of the data", "input"),
        "apex": variable(("dimension", "time", "column"), apexes, "apex -beta_1 of the cone", "input"),
        "label": variable(("dimension", "column"), label, "pulled-back label of cluster 1", "input"),
        "cone": variable(("dimension", "snapshot", "edge", "column"), cone, "rows of R_1, edges of the cone"),
        "moment": variable(("dimension", "snapshot"), when, "time of the snapshot"),
    }
    for one in variables.values():
        one.attrs["missing"] = "Q = 2 has two clusters and two coordinates"
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


def own_clusters(settings: OwnClusters, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Margins of the construction by Procrustes: synthetic clusters of growing width, and digits in Q dimensions."""
    means = np.array([[3.0, 0.2, -0.5], [-0.5, 2.5, 0.4], [0.3, -0.6, 3.5]])
    unit = ball_clusters(np.zeros((3, 3)), settings.points, 1.0, stream.generator("points"))
    made = [cluster_separated_initial_data(list(means[:, None] + r * unit), require=False) for r in settings.widths]
    digits, explained = digit_clusters(images, settings.classes)
    centres = [cluster.mean(axis=0, keepdims=True) for cluster in digits]
    shrinks = np.linspace(0.0, 1.0, 21)
    shrunk = [
        cluster_separated_initial_data(
            [c + factor * (cluster - c) for c, cluster in zip(centres, digits, strict=True)], require=False
        )
        for factor in shrinks
    ]
    collapsed = [
        _collapse_of(list(means[:, None] + r * unit), one) for r, one in zip(settings.widths, made, strict=True)
    ]
    text = {"missing": "no separation, so the clusters do not move by themselves"}
    variables = {
        "margin": variable(
            ("width", "condition"), np.array([one.margin for one in made]), "margin, synthetic", "input"
        ),
        "final_cost": variable("width", np.array(collapsed), "cost at s = 8 over the cost at 0"),
        "digit_margin": variable(("shrink", "condition"), np.array([one.margin for one in shrunk]), "margin, digits"),
        "digit_spread": variable((), _spread(digits), "largest radius over smallest distance of means, digits"),
        "digit_explained": variable((), explained, "share of variance kept in Q dimensions"),
        "digit_points": variable((), sum(map(len, digits)), "digits used"),
    }
    variables["final_cost"].attrs |= text
    return dataset(
        variables,
        {
            "width": variable("width", np.array(settings.widths), "radius of the synthetic clusters", "input"),
            "shrink": variable("shrink", shrinks, "factor by which digits are drawn to their class mean"),
            "condition": variable("condition", np.array(["others", "own", "images"]), "condition of separation"),
        },
        title="The construction by Procrustes on clusters that are not a simplex",
    )


def _collapse_of(X: list[Array], start: object) -> float:
    """Cost at s = 8 relative to the start if the clusters are separated, by the event-driven flow; else NaN."""
    if start.margin.smallest <= 0:
        return np.nan
    ends, total = np.array([1e-9, 8.0]), np.zeros(2)
    for layer, cluster in enumerate(X):
        w = np.full(len(cluster), 1.0 / len(cluster))
        R, beta, _ = event_flow(cluster, w, start.yt[layer], start.R[layer], start.beta[layer], ends)
        residual = images(cluster, R, beta) - start.yt[layer]
        total += 0.5 * np.einsum("tki,tki,k->t", residual, residual, w)
    return float(total[1] / total[0])


def digit_clusters(images: xr.Dataset, classes: tuple[int, ...]) -> tuple[list[Array], float]:
    """Digits of Q classes in R^Q, and the share of their variance that is kept.

    Linear discriminants (between-class directions after whitening within classes) give Q - 1 coordinates, which are
    mapped so that the class means are e_1, .., e_Q; the widest direction left fills the axis (1, .., 1), with the
    spread of the others. No linear map can separate Q means in more than Q - 1 dimensions.
    """
    Q, labels = len(classes), images["label"].values
    X = [images["image"].values[labels == digit].reshape(np.sum(labels == digit), -1) for digit in classes]
    means = np.array([cluster.mean(axis=0) for cluster in X])
    centre = means.mean(axis=0)
    inner = np.concatenate([cluster - mean for cluster, mean in zip(X, means, strict=True)])
    within = inner.T @ inner / len(inner) + RIDGE * np.eye(inner.shape[1])
    basis = np.linalg.qr(np.linalg.solve(within, (means - centre).T)[:, : Q - 1])[0]
    widest = np.linalg.svd(inner - inner @ basis @ basis.T, full_matrices=False)[2][0]
    widest *= np.sign(widest[np.argmax(np.abs(widest))])  # the sign of a singular vector is the library's choice
    to_simplex = np.linalg.lstsq((means - centre) @ basis, np.eye(Q) - 1.0 / Q, rcond=None)[0]
    spread = np.sqrt(np.mean((inner @ basis @ to_simplex) ** 2) / np.mean((inner @ widest) ** 2))
    lift = np.outer(widest, np.full(Q, spread))
    reduced = [
        1.0 / Q + (cluster - mean) @ lift + (cluster - centre) @ basis @ to_simplex
        for cluster, mean in zip(X, means, strict=True)
    ]
    everything, frame = np.concatenate(X) - centre, np.column_stack((basis, widest))
    return reduced, float(np.sum((everything @ frame) ** 2) / np.sum(everything**2))


def _spread(X: list[Array]) -> float:
    means = np.array([cluster.mean(axis=0) for cluster in X])
    radius = max(np.linalg.norm(cluster - mean, axis=1).max() for cluster, mean in zip(X, means, strict=True))
    gaps = np.linalg.norm(means[:, None] - means[None], axis=-1)[~np.eye(len(means), dtype=bool)]
    return float(radius / gaps.min())
