"""What the theory predicts over ranges of weights: plateau, regimes, phase plane, law of the final distance."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
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


def theory_maps(settings: TheoryMaps) -> xr.Dataset:
    """Half time against the scale of the start, regimes of the final distance, the phase plane, its fixed points."""
    plateau, regimes, plane = _plateau(settings), _regimes(settings), _phase_plane(settings)
    return dataset(
        plateau[0] | regimes[0] | plane[0],
        plateau[1] | regimes[1] | plane[1],
        title="Plateau, rich and lazy regime and phase plane of the effective theory",
    )


def _plateau(settings: TheoryMaps) -> tuple[dict, dict]:
    """Starts alpha = v = scale, aligned with the target; time until y is half of dy2, or of its own excess."""
    eta_h, eta_y, D = settings.eta_h, settings.eta_y, np.sqrt(settings.dy2)
    t = np.concatenate([[0.0], np.geomspace(1e-3, settings.horizon, settings.times)])
    curves = []
    for scale in settings.scales:
        h0, y0 = scale**2, scale**4
        curves.append(effective.effective_solution(t, h0, y0, y0 - scale**2 * D, eta_h, eta_y, 1.0, settings.dy2))
    values = np.array(curves)
    error = 2 * values[:, 2] - values[:, 1] + settings.dy2  # squared error of dy
    half = np.array([np.interp(-0.25, -row / row[0], t) for row in error])
    rise = np.array([np.interp(-0.0625, -row / row[0], t) for row in error]) - half
    growth = np.sqrt(eta_h * eta_y) * D / 2
    return {
        "plateau_error": variable(("scale", "time"), error / error[:, :1], "squared error of dy over its start"),
        "plateau_half": variable("scale", half, "time at which the error of dy is half its start", "epoch"),
        "plateau_fall": variable("scale", rise, "time in which it halves again", "epoch"),
        "plateau_growth": variable((), growth, "growth rate sqrt(eta_h dx2 eta_y) D/2 at h -> 0", "1/epoch"),
    }, {
        "scale": variable("scale", np.array(settings.scales), "scale of the start, alpha = v"),
        "time": variable("time", t, "time", "epoch"),
    }


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
    made = {}
    for name, word in WORDS.items():
        values = np.array([cell[name] for cell in cells])
        made[name] = variable(names[: 1 + values.ndim], values.reshape(*shape, *values.shape[1:]), word)
    return dataset(
        made
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


def _integrals(dx: float, dy: float, rho: float, gain: float) -> dict[str, float]:
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
