"""Audits over random draws: the errors of all formulas, and how often the printed flow raises the cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import Errors, audit_variables
from repdyn.base.streams import Stream
from repdyn.truncation_flow.methods.cost_audit import OF_TRAINED, OF_WEIGHTS, cross_term, random_weights, trained_errors
from repdyn.truncation_flow.methods.formula_audit import (
    OF_CLUSTERS,
    OF_CLUSTERS_WITH_CHANCE,
    OF_LAYERS,
    OF_NETWORKS,
    Draw,
    random_cluster,
    random_layers,
    random_network,
)
from repdyn.truncation_flow.settings import GradientAudit, RandomClusters
from repdyn.truncation_flow.theory import separated


def gradient_audit(settings: GradientAudit, stream: Stream) -> xr.Dataset:
    """Printed and corrected formulas against independent derivations, over random clusters, networks and layers."""
    names = [*OF_NETWORKS, *OF_CLUSTERS_WITH_CHANCE, *OF_CLUSTERS, *OF_LAYERS, *OF_WEIGHTS, *OF_TRAINED]
    shape = (len(settings.dimensions), settings.draws, len(names))
    errors = np.empty((*shape, 3))
    relative, cosine, cross = np.empty(shape[:2]), np.empty(shape[:2]), np.empty((*shape[:2], 2))
    for q, Q in enumerate(settings.dimensions):
        for draw in range(settings.draws):
            generator = stream.generator(Q, draw)
            weights = stream.generator(Q, draw, "weights")
            drawn = random_weights(Q, settings.points, weights)
            errors[q, draw] = [
                *_all_errors(Q, settings.points, generator),
                *(audit(drawn) for audit in OF_WEIGHTS.values()),
                *trained_errors(Q, settings.points, weights),
            ]
            metrics = (drawn.W_out.T @ drawn.W_out, np.eye(Q))
            cross[q, draw] = [cross_term(drawn, metric) for metric in metrics]
            printed, true = _generators(random_cluster(Q, settings.points, generator))
            relative[q, draw], cosine[q, draw] = printed_direction(printed, true)
    dims = ("dimension", "draw", "equation")
    return dataset(
        {
            **audit_variables(errors, dims, unit="input^2/time", scale="largest absolute error"),
            "relative_error": variable(dims[:2], relative, "relative error of the printed weight flow (3.22)"),
            "cosine": variable(dims[:2], cosine, "cosine between printed and true weight flow"),
            "cross_term": variable(
                dims[:2], cross[..., 0], "|int R^T H^perp R g R^T sigma(u)|, g the metric of the standard cost", "input"
            ),
            "cross_term_euclidean": variable(dims[:2], cross[..., 1], "the same for the Euclidean metric", "input"),
        },
        {
            "dimension": variable("dimension", np.array(settings.dimensions), "dimension Q"),
            "draw": index("draw", settings.draws, "random draw"),
            "equation": variable("equation", np.array(names), "equation of the paper"),
            "points": variable((), settings.points, "points per draw"),
        },
        title="Formulas as printed and as corrected against independent derivations",
    )


def _all_errors(Q: int, N: int, generator: np.random.Generator) -> Iterator[Errors]:
    network, draw = random_network(Q, N, generator), random_cluster(Q, N, generator)
    layers = random_layers(Q, N, generator)
    yield from (audit(network) for audit in OF_NETWORKS.values())
    yield from (audit(draw, generator) for audit in OF_CLUSTERS_WITH_CHANCE.values())
    yield from (audit(draw) for audit in OF_CLUSTERS.values())
    yield from (audit(layers) for audit in OF_LAYERS.values())


def _generators(draw: Draw) -> tuple[Array, Array]:
    """Generators of the weight flow as printed and as corrected."""
    return separated.generator_as_printed(*draw.state), separated.generator(*draw.state)


def printed_direction(printed: Array, true: Array) -> tuple[float, float]:
    """Relative error of the printed generator and the cosine of its angle to the true one."""
    size = float(np.linalg.norm(true))
    cosine = np.sum(printed * true) / max(float(np.linalg.norm(printed)) * size, 1e-300)
    return float(np.linalg.norm(printed - true) / max(size, 1e-300)), float(cosine)


def random_clusters(settings: RandomClusters, stream: Stream) -> xr.Dataset:
    """Rate of change of the cost along the printed and the corrected flow of random clusters near beta = -yt."""
    cases = list(zip(settings.dimensions, settings.points, strict=True))
    rates = np.empty((2, len(cases), settings.draws))
    cosine = np.empty(rates.shape[1:])
    for case, (Q, N) in enumerate(cases):
        generator = stream.generator(Q, N)
        for n in range(settings.draws):
            draw = random_cluster(Q, N, generator, near=True)
            printed, true = _generators(draw)
            bias = -float(np.sum(((1 - draw.w @ draw.H) * draw.b) ** 2))
            rates[:, case, n] = bias - np.sum(true * printed), bias - np.sum(true * true)
            cosine[case, n] = printed_direction(printed, true)[1]
    return dataset(
        {
            "printed_rate": variable(("case", "draw"), rates[0], "dC/ds along the printed flow", "input^2/time"),
            "corrected_rate": variable(("case", "draw"), rates[1], "dC/ds along the corrected flow", "input^2/time"),
            "cosine": variable(("case", "draw"), cosine, "cosine between printed and true weight flow"),
        },
        {
            "case": variable("case", np.array([f"Q={Q}, N={N}" for Q, N in cases]), "dimension and points"),
            "draw": index("draw", settings.draws, "random cluster"),
        },
        title="How often the printed flow raises the cost of a random cluster",
    )
