"""Final distances that equation (10) predicts from rates fitted at one pair of distances (Figure 5)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, explain_gaps, variable
from repdyn.base.settings import EACH
from repdyn.universality.methods.power_laws import fit_power_law
from repdyn.universality.methods.trajectory_fits import DROPPED, fit_all, predicted_distance, with_gaps
from repdyn.universality.settings.two_points import Fits


def final_predictions(
    settings: Fits,
    final_distances: Annotated[xr.Dataset, EACH],
    architectures: Annotated[xr.Dataset, EACH],
    checkpoint: Checkpoint,
) -> xr.Dataset:
    """Figure 5: rates from the trials at dx = 1, dy2 = 0.5, averaged, then equation (10) over the grid."""
    names = list(final_distances["network"].values)
    rates, _ = fit_all(architectures.sel(network=names), "network", settings.converged, checkpoint)
    free = np.where(rates["at_bound"].values == 0, 1.0, np.nan)
    eta = {name: rates[name].values * free for name in ("eta_h", "eta_y")}
    geometric = np.exp(np.nanmean(np.log(eta["eta_h"] / eta["eta_y"]), axis=1))
    arithmetic = np.nanmean(eta["eta_h"], axis=1) / np.nanmean(eta["eta_y"], axis=1)
    grid = final_distances.transpose("network", "dx", "dy", "seed")
    dims = ("network", "dx", "dy", "seed")
    good = (grid["loss_end"].values < float(grid["converged"])).astype(np.int8)
    theory = _predicted(grid, geometric)
    predictions = dataset(
        {
            "rho": variable("network", geometric, "eta_h/eta_y, geometric mean over fitted trials"),
            "rho_arithmetic": variable("network", arithmetic, "mean eta_h over mean eta_y, as the paper averages"),
            "fitted": variable("network", np.isfinite(eta["eta_h"]).sum(axis=1), "trials that the rates come from"),
            "theory": variable(dims, theory, "final distance of eq. (10), geometric mean of the rates"),
            "measured": variable(dims, grid["h_end"].values, "squared representational distance at the end"),
            "good": variable(dims, good, "1 where the trial converged"),
            "units": variable("network", grid["units"].values, "neurons per hidden layer"),
        }
        | power_law_variables(grid["h_end"].values, theory, good, grid["dx"].values, grid["dy"].values),
        {name: grid[name].variable for name in dims}
        | {"distance": variable("distance", np.array(["dx", "dy"]), "distance whose power is fitted")},
        title="Final distances predicted by equation (10)",
    )
    return explain_gaps(predictions, DROPPED)


def _predicted(grid: xr.Dataset, rho: Array) -> Array:
    """Equation (10) from each trial's own start, shape (network, dx, dy, seed)."""
    dx, dy = np.meshgrid(grid["dx"].values, grid["dy"].values, indexing="ij")
    cells = (dx[None, :, :, None], dy[None, :, :, None], rho[:, None, None, None])
    return predicted_distance(grid["h0"].values, grid["y0"].values, *cells)


def power_law_variables(
    measured: Array, theory: Array, good: NDArray[np.integer], dx: Array, dy: Array
) -> dict[str, xr.Variable]:
    """Powers of the distances in each network's final distances, arrays (network, dx, dy, seed), and those missed."""
    laws = [fit_power_law(*row, dx, dy) for row in zip(measured, theory, good, strict=True)]
    words = {
        "trials": (("network",), "converged trials with dy above 0"),
        "dropped": (("network",), "trials with dy above 0 that did not converge"),
        "correlation": (("network",), "correlation of log h with the log of eq. (10)"),
        "correlation_dy": (("network",), "correlation of log h with log dy"),
        "ratio": (("network",), "geometric mean of h over eq. (10)"),
        "exponent": (("network", "distance"), "power of the distance in h"),
        "missed": (("network", "distance"), "power of the distance in h over eq. (10)"),
        "missed_error": (("network", "distance"), "standard error of the missed power"),
    }
    return {
        name: with_gaps(dims, np.array([getattr(law, name) for law in laws]), word)
        for name, (dims, word) in words.items()
    }
