"""Collapsed clusters with a trained output (Section 8): integral of motion, spectral gap, bounds, saddle."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import times_variable
from repdyn.truncation_flow.experiments.gap_bounds import GAP_BOUNDS, GAP_CONTROLS, gap_bounds
from repdyn.truncation_flow.methods import collapsed
from repdyn.truncation_flow.settings import CollapsedClusters
from repdyn.truncation_flow.theory import standard_cost

SIGNS = ("positive", "negative", "indefinite")
SHORT = 1.0


SERIES = {
    "cost": "standard cost of collapsed clusters",
    "drift": "operator norm of I(s) - I(0)",
    "drift_swapped": "operator norm of the change of B^T B - W W^T",
    "rate_excess": "log C/C(0) + 2 lambda_0 s",
    "rate_excess_faster": "log C/C(0) + 4 lambda_0 s",
}
NUMBERS = {
    "gap": "lambda_0, smallest eigenvalue of I or -I",
    "late_motion": "change of B and W over a unit of time, 14 after the last time",
    "early_motion": "change of B and W over the first unit of time",
    **GAP_BOUNDS,
    **GAP_CONTROLS,
}
Orbit = dict[str, Any]


def collapsed_clusters(settings: CollapsedClusters, stream: Stream) -> xr.Dataset:
    """Integral of motion, spectral gap and cost along (8.6)-(8.7); Euler steps for contrast; the bound (8.35)."""
    Q, times = settings.dimension, np.linspace(0.0, settings.horizon, settings.samples)
    starts = {
        sign: [collapsed.definite_start(Q, sign, stream.generator(sign, n)) for n in range(settings.seeds)]
        for sign in SIGNS
    }
    orbits = [[_orbit(*start, np.eye(Q), times, sign) for start in starts[sign]] for sign in SIGNS]
    euler = [[_euler_drift(*start, np.eye(Q), h) for start in starts["positive"]] for h in settings.euler_steps]
    dims = dict.fromkeys(SERIES, ("sign", "seed", "time")) | dict.fromkeys(NUMBERS, ("sign", "seed"))
    variables = {
        name: variable(dims[name], np.array([[orbit[name] for orbit in row] for row in orbits]), text)
        for name, text in (SERIES | NUMBERS).items()
    }
    for name in ("rate_excess", "rate_excess_faster", *NUMBERS):
        variables[name].attrs["missing"] = "I is indefinite, or the cost is round-off"
    ratio = variables["cost"].values[2][:, -1] / variables["cost"].values[2][:, 0]
    variables |= {
        "euler_drift": variable(
            ("euler_step", "seed"), np.array(euler), f"operator norm of I({SHORT:g}) - I(0), Euler steps"
        ),
        "indefinite_ratio": variable("seed", ratio, "C at the last time over C(0), I indefinite"),
    }
    return dataset(
        variables | _weight_bounds(times) | _saddle(settings.horizon),
        {
            "sign": variable("sign", np.array(SIGNS), "sign of I(0) = B B^T - W^T W"),
            "seed": index("seed", settings.seeds, "random start"),
            "time": times_variable(times),
            "euler_step": variable("euler_step", np.array(settings.euler_steps), "step of the Euler scheme"),
            "dimension": variable((), Q, "dimension Q"),
        },
        title="Collapsed clusters with a trained output: integral of motion and spectral gap",
    )


def _orbit(B0: Array, W0: Array, Y: Array, times: Array, sign: str) -> Orbit:
    """Series and numbers of one orbit; those that need a spectral gap are NaN where I is indefinite."""
    B, W = collapsed.collapsed_trajectory(B0, W0, Y, times)
    cost = standard_cost.collapsed_cost(B, W, Y)
    integral = standard_cost.conserved_quantity(B, W)
    swapped = B.mT @ B - W @ W.mT
    orbit: Orbit = {
        "cost": cost,
        "drift": np.linalg.matrix_norm(integral - integral[0], ord=2),
        "drift_swapped": np.linalg.matrix_norm(swapped - swapped[0], ord=2),
        "rate_excess": np.full(len(times), np.nan),
        "rate_excess_faster": np.full(len(times), np.nan),
    } | dict.fromkeys(NUMBERS, np.nan)
    if sign == "indefinite":
        return orbit
    gap = standard_cost.spectral_gap(B0, W0)
    return orbit | {
        "rate_excess": _rate_excess(cost, times, 2 * gap),
        "rate_excess_faster": _rate_excess(cost, times, 4 * gap),
        "gap": gap,
        "late_motion": _motion(B[-1], W[-1], Y, 14.0),
        "early_motion": _motion(B0, W0, Y, 0.0),
        **gap_bounds(B, W, Y, times, sign),
    }


def _rate_excess(cost: Array, times: Array, rate: float) -> Array:
    """Log C(s)/C(0) + rate s where C is above round-off, else NaN."""
    relative = cost / cost[0]
    return np.where(relative > 1e-16, np.log(np.maximum(relative, 1e-300)) + rate * times, np.nan)


def _motion(B: Array, W: Array, Y: Array, after: float) -> float:
    """Change of B and W over one unit of time, a while after the given state."""
    later = collapsed.collapsed_trajectory(B, W, Y, np.array([after, after + 1.0]))
    return float(max(np.abs(part[1] - part[0]).max() for part in later))


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
    _, dW = standard_cost.collapsed_flow(B, W, Y)
    largest = np.linalg.matrix_norm(B, ord=2).max()
    return {
        "weight_norm": variable("time", np.linalg.matrix_norm(W, ord=2), "||W + Y B^{-1}||, Y = 0"),
        "weight_bound_printed": variable(
            "time", standard_cost.weight_bound_as_printed(times, gap, cost_0), "bound (8.35) as printed"
        ),
        "weight_bound_corrected": variable(
            "time", standard_cost.weight_bound(times, gap, cost_0), "bound (8.35), corrected"
        ),
        "weight_speed": variable("time", np.linalg.matrix_norm(dW, ord=2), "||dW/ds|| of this run"),
        "speed_bound_printed": variable(
            "time", 2 * cost_0 * largest * np.exp(-gap * times), "bound (8.38) with the c of (8.34)"
        ),
        "speed_bound_corrected": variable(
            "time", np.sqrt(2 * cost_0) * largest * np.exp(-gap * times), "bound (8.38) with the root of c"
        ),
        "slow_cost": variable("time", standard_cost.collapsed_cost(B, W, Y), "cost of this run"),
        "slow_gap": variable((), gap, "lambda_0 of this run"),
    }


def _saddle(horizon: float) -> dict[str, xr.Variable]:
    """B = W = Y = 1: I is 0, not definite, and the orbit tends to the saddle B = W = 0."""
    one = np.eye(4)
    B, W = collapsed.collapsed_trajectory(one, one, one, np.array([0.0, horizon]))
    end, saddle = (
        standard_cost.collapsed_cost(*state, one)  # type: ignore[call-arg]  # two matrices
        for state in ((B[1], W[1]), (0 * one, 0 * one))
    )
    return {"saddle_ratio": variable((), float(end / saddle), "C at the last time from B = W = 1 over C at B = W = 0")}
