"""What the theory predicts over ranges of weights: plateau, regimes, phase plane, law of the final distance."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.universality.settings.two_points import FinalDistribution, TheoryMaps
from repdyn.universality.theory import distribution, effective, final

WORDS = {
    "quantile": "quantile of the drawn h_inf",
    "printed": "eq. (47) as printed at that quantile",
    "corrected": "corrected distribution function at that quantile",
    "mean": "mean of the drawn h_inf",
    "deviation": "standard deviation of h_inf",
    "mass": "integral of the corrected density (48)",
    "mean_corrected": "mean of h_inf under the corrected density (48)",
    "mean_printed": "mean of h_inf under the density (48) as printed",
}


STARTS = {"equal": 1.0, "encoder larger": 3.0, "decoder larger": 1 / 3}
"""Factor r of a start alpha = r s, |v| = s/r: which part of dh = alpha u, dy = alpha v the weights' scale s favors."""
DIRECTIONS = {
    "along the target": 1.0,
    "60 degrees from it": 0.5,
    "across it": 0.0,
    "120 degrees from it": -0.5,
    "against it": -1.0,
}
"""Cosine of the angle between the first output difference and the target; one output knows the first and the last."""


def theory_maps(settings: TheoryMaps) -> xr.Dataset:
    """Half time against the scale of the start, regimes of the final distance, the phase plane, its fixed points."""
    parts = [make(settings) for make in (_plateau, _large_weights, _regimes, _phase_plane)]
    start = {"start": variable("start", np.array(list(STARTS)), "part of the start that is larger")}
    return dataset(
        {name: values for variables, _ in parts for name, values in variables.items()},
        start | {name: values for _, coords in parts for name, values in coords.items()},
        title="Plateau, rich and lazy regime and phase plane of the effective theory",
    )


def _error_of_start(settings: TheoryMaps, t: Array, scale: float, factor: float, cosine: float) -> Array:
    """Squared error of dy along the solution from alpha = factor scale, |v| = scale/factor."""
    h0, y0, D = (factor * scale) ** 2, scale**4, np.sqrt(settings.dy2)
    w0 = y0 - cosine * scale**2 * D
    _, y, w = effective.effective_solution(t, h0, y0, w0, settings.eta_h, settings.eta_y, 1.0, settings.dy2)
    return 2 * w - y + settings.dy2


def _plateau(settings: TheoryMaps) -> tuple[dict, dict]:
    """Starts along the target; time until the error of dy is half its start."""
    t = np.concatenate([[0.0], np.geomspace(1e-3, settings.horizon, settings.times)])
    error = np.array(
        [[_error_of_start(settings, t, scale, r, 1.0) for scale in settings.scales] for r in STARTS.values()]
    )
    half = np.array([[np.interp(-0.25, -row / row[0], t) for row in rows] for rows in error])
    growth = np.sqrt(settings.eta_h * settings.eta_y) * np.sqrt(settings.dy2) / 2
    mean_rate = (settings.eta_h + settings.eta_y) / 2
    dims = ("start", "scale")
    return {
        "plateau_error": variable((*dims, "time"), error / error[..., :1], "squared error of dy over its start"),
        "plateau_half": variable(dims, half, "time at which the error of dy is half its start", "epoch"),
        "plateau_growth_wrong": variable(
            (), mean_rate * np.sqrt(settings.dy2) / 2, "growth rate with the mean of the two rates", "1/epoch"
        ),
        "plateau_growth": variable((), growth, "growth rate sqrt(eta_h dx2 eta_y) D/2 at h -> 0", "1/epoch"),
    }, {
        "scale": variable("scale", np.array(settings.scales), "scale s of the start"),
        "time": variable("time", t, "time", "epoch"),
    }


def _large_weights(settings: TheoryMaps) -> tuple[dict, dict]:
    """Time until the error of dy is below half the target distance for good, from large starts; A_high of each."""
    scales, r = np.array(settings.large_scales), np.array(list(STARTS.values()))[:, None]
    rho, D = settings.eta_h / settings.eta_y, np.sqrt(settings.dy2)
    high, low = final.amplitudes((r * scales) ** 2, scales**4, 1.0, D, rho)
    t = np.concatenate(
        [[0.0], np.geomspace(1e-15, 1e3, 36_001) * np.abs(high).max() / (settings.eta_y * low.max() ** 2)]
    )
    learned = [
        [
            [_last_above(t, _error_of_start(settings, t, scale, factor, c), settings.dy2 / 4) for scale in scales]
            for c in DIRECTIONS.values()
        ]
        for factor in STARTS.values()
    ]
    saddle = settings.eta_y * final.from_amplitudes(high, low)
    return {
        "learning_time": variable(("start", "direction", "large_scale"), learned, "time until dy is learned", "epoch"),
        "large_high": variable(("start", "large_scale"), high, "A_high of the start"),
        "large_growth": variable(
            ("start", "large_scale"), saddle, "growth rate at h = 0, (A_high + S)/(2 tau_y)", "1/epoch"
        ),
        "direction_cosine": variable("direction", list(DIRECTIONS.values()), "cosine to the target"),
        "dy2": variable((), settings.dy2, "squared target distance"),
    }, {
        "large_scale": variable("large_scale", scales, "scale s of a large start"),
        "direction": variable("direction", np.array(list(DIRECTIONS)), "first output difference"),
    }


def _last_above(t: Array, error: Array, level: float) -> float:
    """When the error falls below a level for good, between times by a straight line; 0 where it never was above."""
    above = np.flatnonzero(error > level)
    if above.size == 0 or above[-1] + 1 == t.size:
        return 0.0 if above.size == 0 else float(t[-1])
    last = above[-1]
    return float(np.interp(-level, -error[last : last + 2], t[last : last + 2]))


def _regimes(settings: TheoryMaps) -> tuple[dict, dict]:
    """h_inf over the size u = h0/dx2 = y0/h0 of the initial ratios, for several rho; dx = 1."""
    size, rho = np.geomspace(1e-6, 1e6, settings.sizes), np.array(settings.rhos)[:, None]
    dy = np.sqrt(settings.dy2)
    high, low = final.amplitudes(size, size**2, 1.0, dy, rho)
    reached = final.final_distance(size, size**2, 1.0, dy, rho)
    dims = ("rho", "size")
    return {
        "regime_h": variable(dims, reached, "final squared distance h_inf, eq. (10)"),
        "regime_high": variable(dims, high, "A_high, eq. (11)"),
        "regime_low": variable(dims, np.broadcast_to(low, reached.shape), "A_low, eq. (11)"),
        "regime_printed": variable(dims, final.large_weight_limit_as_printed(high), "limit for large weights, printed"),
        "regime_corrected": variable(dims, final.large_weight_limit(high), "limit for large weights, corrected"),
    }, {
        "rho": variable("rho", np.array(settings.rhos), "eta_h/eta_y"),
        "size": variable("size", size, "initial ratios h0/dx2 = y0/h0"),
    }


def _phase_plane(settings: TheoryMaps) -> tuple[dict, dict]:
    """The plane system (25) at a given A_high: speeds, w-nullcline, node, saddle, and solutions on the surface."""
    eta_h, eta_y, dy2, high = settings.eta_h, settings.eta_y, settings.dy2, settings.plane_high
    kappa = eta_y / eta_h
    low = np.sqrt(eta_h / eta_y * dy2)
    node, saddle = final.stable_point(high, low, eta_h, eta_y, 1.0), final.saddle_point(high, low, eta_h, eta_y, 1.0)
    h = np.linspace(0.02, 1.8, settings.cells) * node.h
    reach = np.sqrt(kappa * node.h**2 * dy2)
    w = np.linspace(-reach, reach, settings.cells)
    grid = np.meshgrid(h, w, indexing="ij")
    speeds = effective.plane_rhs(*grid, eta_h, eta_y, 1.0, dy2, -kappa * high)
    directions = {
        "node_h": variable((), node.h, "h of the stable node"),
        "node_slope": variable("mode", node.directions, "slope w/h of the eigenvectors at the node"),
        "node_rate": variable("mode", node.eigenvalues, "eigenvalues at the node", "1/epoch"),
        "saddle_slope": variable("mode", saddle.directions, "slope w/h of the eigenvectors at h = 0"),
        "saddle_rate": variable("mode", saddle.eigenvalues, "eigenvalues at h = 0", "1/epoch"),
    }
    return directions | {
        "plane_dh": variable(("plane_h", "plane_w"), speeds[0], "h', eq. (25)", "1/epoch"),
        "plane_dw": variable(("plane_h", "plane_w"), speeds[1], "w', eq. (25)", "1/epoch"),
        "plane_paths": variable(("path", "coordinate", "frame"), _paths(settings, kappa, node.h), "solutions (h, w)"),
    }, {
        "plane_h": variable("plane_h", h, "squared representational distance h"),
        "plane_w": variable("plane_w", w, "alignment w"),
        "mode": variable("mode", np.array([0, 1]), "eigenvector"),
        "path": variable("path", np.arange(6), "start"),
        "coordinate": variable("coordinate", np.array(["h", "w"]), "coordinate of the plane"),
        "frame": variable("frame", np.arange(settings.times), "time step"),
    }


def _paths(settings: TheoryMaps, kappa: float, node_h: float) -> Array:
    """Solutions of (7) that start on the surface (24), small and large h, aligned and opposed outputs."""
    eta_h, eta_y, dy2, high = settings.eta_h, settings.eta_y, settings.dy2, settings.plane_high
    t = np.linspace(0, settings.horizon, settings.times)
    paths = []
    for size in (max(1.02 * high / node_h, 0.05), 0.6, 1.25):
        h0 = size * node_h
        y0 = max(kappa * h0 * (h0 - high), 0.0)
        for cosine in (0.9, -0.3):
            w0 = y0 - cosine * np.sqrt(y0 * dy2)
            paths.append(effective.effective_solution(t, h0, y0, w0, eta_h, eta_y, 1.0, dy2)[[0, 2]])
    return np.array(paths)


def final_distribution(settings: FinalDistribution, stream: Stream) -> xr.Dataset:
    """Draws of the final distance against equations (46)-(48), printed and corrected, for rho = 1 and rho != 1."""
    rhos, gains, levels = (0.4, 1.0, 2.5), (0.3, 0.1, 0.03, 0.01), np.linspace(0.01, 0.99, 99)
    dx, dy, names = 1.0, 1.0, ("rho", "gain", "level")
    cells = []
    for rho, gain in product(rhos, gains):
        generator = stream.generator("initial ratios")  # shared by all cells
        draws = distribution.sample_final_distance(settings.draws, dx, dy, rho, gain, generator)
        cells.append(_laws(draws, levels, dx, dy, rho, gain) | _integrals(dx, dy, rho, gain))
    shape = (len(rhos), len(gains))
    variables = {}
    for name, word in WORDS.items():
        values = np.array([cell[name] for cell in cells])
        variables[name] = variable(names[: 1 + values.ndim], values.reshape(*shape, *values.shape[1:]), word)
    return dataset(
        variables
        | {
            "low": variable("rho", np.sqrt(rhos) * dx * dy, "A_low, the limit at small weights"),
            "draws": variable((), settings.draws, "draws per cell"),
        },
        {
            "rho": variable("rho", np.array(rhos), "eta_h/eta_y"),
            "gain": variable("gain", np.array(gains), "mean and deviation G of the initial ratios"),
            "level": variable("level", levels, "probability"),
        },
        title="Distribution of the final distance over random initial weights",
    )


def _laws(draws: Array, levels: Array, dx: float, dy: float, rho: float, gain: float) -> dict[str, Array | float]:
    """Quantiles and moments of the draws, and both forms of (47) at the quantiles."""
    q = np.quantile(draws, levels)
    return {
        "quantile": q,
        "printed": distribution.final_distance_cdf_as_printed(q, dx, dy, rho, gain),
        "corrected": distribution.final_distance_cdf(q, dx, dy, rho, gain),
        "mean": draws.mean(),
        "deviation": draws.std(),
    }


def _integrals(dx: float, dy: float, rho: float, gain: float) -> dict[str, Array | float]:
    """Integrals over q > 0 by the trapezoid rule in z = q - A_low^2/q, which covers the line once."""
    low2 = rho * dx**2 * dy**2
    z = np.linspace(-40, 40, 200_001) * gain * dx**2 + gain * (1 - rho)
    root = np.hypot(z / 2, np.sqrt(low2))
    q = np.where(z >= 0, z / 2 + root, low2 / (root - z / 2))
    right, printed = (
        density(q, dx, dy, rho, gain) / (1 + low2 / q**2)
        for density in (distribution.final_distance_density, distribution.final_distance_density_as_printed)
    )
    integrands = {"mass": right, "mean_corrected": q * right, "mean_printed": q * printed}
    return {name: float(np.trapezoid(values, z)) for name, values in integrands.items()}
