"""The exit-time bound (18) and its sum (19) in the proof of Theorem 4, along a flow on bounded data."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.bn_mean_field.methods.particle_flows import gradient_flow, velocities_along
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, linear, low_discrepancy_start
from repdyn.bn_mean_field.settings import ExitTimes
from repdyn.bn_mean_field.theory import bounds
from repdyn.bn_mean_field.theory.velocity import Population

STAGES = (10, 100, 1000, 10_000)


def exit_times(settings: ExitTimes) -> xr.Dataset:
    """First times at which some |a_k| passes r, against (18), (19) and Gronwall, on bounded data.

    x is uniform on the ellipse of semi-axes sqrt(2 lambda_i), where the ReLU kernel is the Gaussian's.
    """
    model = Population(linear(0, settings.slope), ANISOTROPIC)
    start, b = low_discrepancy_start(settings.width)
    times = np.linspace(0, settings.time, settings.frames)
    flow = gradient_flow(settings.start_radius * start, b, model, times)
    A, B = _constants(settings.slope)
    reach = np.abs(flow.a).max(axis=-1)
    speed = np.abs(velocities_along(flow.a, flow.b, model)[0]).max(axis=-1)
    r, r0 = np.array(settings.radii), settings.start_radius
    passages = dataset(
        {
            "exit_time": variable("radius", _first_passage(times, reach, r), "first time with max |a_k| = r"),
            "bound": variable("radius", bounds.exit_time(r, r0, A, B), "(r - r0)/(A + B r), eq. (18)"),
            "gronwall": variable("radius", bounds.exit_time_by_gronwall(r, r0, A, B), "log((A + B r)/(A + B r0))/B"),
            "literal_bound": variable("radius", bounds.exit_time(r, r0, 0.0, B), "(18) with l'(0) = 0, y left out"),
            "literal_gronwall": variable(
                "radius", bounds.exit_time_by_gronwall(r, r0, 0.0, B), "Gronwall's with l'(0) = 0, y left out"
            ),
            "literal_speed_bound": variable("time", B * reach, "B max |a_k|, y left out of l'(0)"),
            "stages_of_squares": variable(
                "stage",
                np.array([_converging(n, r0, A, B) for n in STAGES]),
                "the sums with ((i + 1) r0)^2 for (i + 1) r0",
            ),
            "stages": variable(
                "stage", np.array([bounds.exit_time_by_stages(n, r0, A, B) for n in STAGES]), "partial sums of eq. (19)"
            ),
            "reach": variable("time", reach, "max |a_k|"),
            "speed": variable("time", speed, "max |a_k'|"),
            "speed_bound": variable("time", A + B * reach, "A + B max |a_k|"),
        },
        {
            "radius": variable("radius", r, "radius r"),
            "stage": variable("stage", np.array(STAGES), "terms of the sum (19)"),
            "time": variable("time", times, "mean-field time"),
            "particle_count": variable((), settings.width, "neurons"),
            "growth": variable((), B, "constant B of (18)"),
            "start_radius": variable((), r0, "r0"),
        },
        title="Exit times of the output weights on bounded data",
    )
    passages["exit_time"].attrs["missing"] = "not reached in the time of the search"
    return passages


def _converging(stages: int, r0: float, A: float, B: float) -> float:
    radii = r0 * np.arange(2, stages + 2)
    return float(np.sum(r0 / (A + B * radii**2)))


def _constants(slope: float) -> tuple[float, float]:
    """A and B: |x| <= sqrt(2 lambda_max), |bbar| <= 1/sqrt(lambda_min), relu 1-Lipschitz, l' = f - y.

    y = slope x_1 with x_1 = sqrt(2 lambda_1) cos(angle), whose absolute value has the mean 2/pi sqrt(2 lambda_1).
    """
    variances = np.linalg.eigvalsh(ANISOTROPIC)
    largest_input = np.sqrt(2 * variances[-1])
    activation = largest_input / np.sqrt(variances[0])
    return bounds.growth_constants(activation, slope * 2 / np.pi * np.sqrt(2 * ANISOTROPIC[0, 0]), 1.0)


def _first_passage(times: Array, reach: Array, radii: Array) -> Array:
    """Linear interpolation of the first crossing; NaN where a radius is not reached in the given time."""
    k = np.array([max(1, int(np.argmax(reach >= r))) for r in radii])
    share = (radii - reach[k - 1]) / (reach[k] - reach[k - 1])
    return np.where(radii <= reach.max(), times[k - 1] + share * (times[k] - times[k - 1]), np.nan)
