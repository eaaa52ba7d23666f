"""Proposition 4.2 on data that meet its hypotheses, and on data that break (4.16)."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import decay_rate, first_time, times_variable
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.settings import Proposition
from repdyn.truncation_flow.theory.proposition import Constants, eta_2_as_printed, proposition_4_2_constants

RADII = {2: 0.5, 3: 0.6}  # |beta(0) + yt| by dimension
BELOW, BEYOND = -0.30, 0.30  # coordinate of the outliers: under the plane, as (4.16) asks, or beyond it
SHARE_BEYOND = 0.2
SERIES = {
    "residual": ("|beta + yt|", "input"),
    "generator_norm": ("Frobenius norm of Omega", "input^2/time"),
    "rotation": ("operator norm of R(s) - R(0)", "1"),
    "cost": ("cost", "input^2"),
    "truncated_share": ("smallest truncated share over coordinates", "1"),
    "decay_rate": ("-d log|beta + yt|/ds", "1/time"),
}
BOUNDS = ("eta_0", "eta_1", "eta_1_prime", "highest")
BOUNDS_WITH_GAP = ("eta_2", "arrival_bound", "sharp_arrival_bound")  # infinite where eta_0 and eta_1' leave no gap
AFTER = {
    "late_rotation": ("change of R after s_1, operator norm", "1"),
    "late_generator": ("largest Frobenius norm of Omega after s_1", "input^2/time"),
    "residual_rate": ("rate of |beta + yt| after s_1, by least squares", "1/time"),
    "cost_rate": ("rate of the cost after s_1, by least squares", "1/time"),
}


def cluster_near_planes(Q: int, N: int, share: float, level: float, generator: np.random.Generator) -> Array:
    """Points in the frame R_0 = 1, yt = 0: a core at -(1, .., 1), and a share with one coordinate near `level`.

    Two of three outliers have it in coordinate 0, the others in the rest by turns, so that their pulls on the weights
    do not cancel; shape (N, Q).
    """
    X = -1.0 + generator.uniform(-0.1, 0.1, size=(N, Q))
    for k in range(round(share * N)):
        coordinate = k % Q if level < 0 or k % 3 == 2 else 0
        X[k, coordinate] = level + generator.uniform(-0.04, 0.04)
    return X


def proposition(settings: Proposition, stream: Stream) -> xr.Dataset:
    """Constants of Proposition 4.2 bounded rigorously, and the flow next to its conclusions.

    Variables with the suffix `_beyond` belong to data whose outliers lie beyond the planes, which breaks (4.16).
    """
    times = np.arange(0.0, settings.horizon + 0.5 * settings.step, settings.step)
    variables: dict[str, xr.Variable] = {}
    arrival: dict[str, Array] = {}
    for suffix, level in (("", BELOW), ("_beyond", BEYOND)):
        runs = []
        for Q, share in zip(RADII, settings.outliers, strict=True):
            generator = stream.generator(Q) if level < 0 else stream.generator(Q, "beyond")
            X = cluster_near_planes(Q, settings.points, share if level < 0 else SHARE_BEYOND, level, generator)
            runs.append(_run(X, np.full(Q, RADII[Q] / np.sqrt(Q)), times, settings))
        arrival[suffix] = np.array([first_time(times, series["truncated_share"] >= 1.0) for _, series in runs])
        variables |= _variables(suffix, runs, times, arrival[""])
    variables |= {
        "arrival": variable("dimension", arrival[""], "time s_1 at which the cluster is fully truncated"),
        "arrival_beyond": variable("dimension", arrival["_beyond"], "the same, data that break (4.16)"),
    }
    for name in ("arrival", "arrival_beyond"):
        variables[name].attrs["missing"] = "infinite where the cluster is not fully truncated up to the last time"
    return dataset(
        variables,
        {
            "dimension": variable("dimension", np.array(list(RADII)), "dimension Q"),
            "time": times_variable(times),
            "equation": variable("equation", np.array(["(4.13)", "(4.32)"]), "equation of the paper"),
            "points": variable((), settings.points, "points of the cluster"),
            "gamma": variable((), settings.gamma, "constant of (4.17)"),
            "step": variable((), settings.step, "step of the scheme"),
        },
        title="Proposition 4.2 on data that meet its hypotheses",
    )


def _run(X: Array, beta: Array, times: Array, settings: Proposition) -> tuple[Constants, dict[str, Array]]:
    """Constants and series of one cluster from R = 1, yt = 0."""
    Q = len(beta)
    eye, yt = np.eye(Q), np.zeros(Q)
    constants = proposition_4_2_constants(X, eye, beta, yt, settings.gamma)
    path = integrate_flow([X], eye[None], beta[None], yt[None], times, step=settings.step).isel(cluster=0)
    series = {name: path[name].values for name in ("residual", "generator_norm", "cost")}
    series["rotation"] = cast("Array", np.linalg.matrix_norm(path["R"].values - eye, ord=2))
    series["truncated_share"] = path["truncated_share"].min("coordinate").values
    series["decay_rate"] = -np.gradient(np.log(series["residual"]), times)
    return constants, series


def _variables(
    suffix: str, runs: list[tuple[Constants, dict[str, Array]]], times: Array, arrival: Array
) -> dict[str, xr.Variable]:
    """Series, bounds and what follows arrival, of the runs of all dimensions."""
    words = ", data that break (4.16)" if suffix else ""
    variables = {
        name + suffix: variable(("dimension", "time"), np.array([series[name] for _, series in runs]), text + words, u)
        for name, (text, u) in SERIES.items()
    }
    for name in (*BOUNDS, *(() if suffix else BOUNDS_WITH_GAP)):
        values = np.array([getattr(constants, name) for constants, _ in runs])
        variables[name + suffix] = variable("dimension", values, f"rigorous bound on {name}{words}")
    held = np.array([int(constants.hypotheses_hold) for constants, _ in runs])
    variables["hypotheses_hold" + suffix] = variable("dimension", held, "1 if the hypotheses are certified" + words)
    late = [_after(series, times, s) for (_, series), s in zip(runs, arrival, strict=True)]
    for name, (text, unit) in AFTER.items():
        variables[name + suffix] = variable("dimension", np.array([part[name] for part in late]), text + words, unit)
        variables[name + suffix].attrs["missing"] = "no arrival, or fewer than three times after it"
    if not suffix:
        printed = np.array([eta_2_as_printed(constants) for constants, _ in runs])
        variables["eta_2_printed"] = variable(("dimension", "equation"), printed, "eta_2 as printed")
    for name in (*BOUNDS_WITH_GAP, "eta_2_printed"):
        if name in variables:
            variables[name].attrs["missing"] = "infinite where the constants leave no gap"
    return variables


def _after(series: dict[str, Array], times: Array, arrival: float) -> dict[str, float]:
    """Rotation, generator and rates after the arrival."""
    late = times >= arrival
    if np.sum(late) < 3:
        return dict.fromkeys(AFTER, np.nan)
    return {
        "late_rotation": float(np.ptp(series["rotation"][late])),
        "late_generator": float(series["generator_norm"][late].max()),
        "residual_rate": decay_rate(times[late], series["residual"][late]),
        "cost_rate": decay_rate(times[late], series["cost"][late]),
    }
