"""XOR distances after training against the theory's final distances (Section 4.4, Figures 6 and 16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.datasets import dataset, explain_gaps, variable
from repdyn.universality.methods.representations import pearson
from repdyn.universality.methods.selection import has_learned
from repdyn.universality.methods.trajectory_fits import predicted_distance

EQUAL = ((0, 3), (1, 2))
"""Pairs of data points with the same target: (0,0) and (1,1); (1,0) and (0,1)."""
INPUT_1 = np.array([0.0, 1.0, 0.0, 1.0])
"""Targets of another task on the same points: the first input."""
NAMES = ("(0,0) and (1,1)", "(1,0) and (0,1)")
SETTINGS = ("nonlinearity", "gain", "rate", "units", "hidden", "optimizer")


def xor_structure(xor: xr.Dataset, architecture_fits: xr.Dataset) -> xr.Dataset:
    """Distances after training, merging of points with equal targets, and equation (10) with the measured start.

    The ratio of the effective rates is that of the default two-point network, as in the paper; the geometric mean, so
    that one odd fit does not dominate.
    """
    return _structure(xor, architecture_fits)


def xor_gain_structure(xor_gains: xr.Dataset, architecture_fits: xr.Dataset) -> xr.Dataset:
    """The same for the network by Adam at more gains."""
    return _structure(xor_gains, architecture_fits)


def _structure(xor: xr.Dataset, architecture_fits: xr.Dataset) -> xr.Dataset:
    rates = architecture_fits.sel(network="default")
    rho = float(np.exp(np.nanmean(np.log(rates["eta_h"] / rates["eta_y"]))))
    start, end = (xor["h"].isel(look=look).values for look in (0, -1))
    starts = start, xor["y"].isel(look=0).values, xor["dx"].values
    theory = predicted_distance(*starts, xor["dy"].values, rho)
    other_task = predicted_distance(*starts, np.abs(INPUT_1[:, None] - INPUT_1), rho)
    plateau = float((xor["dy"].values ** 2).mean() / 2)
    distances = {"distance": np.sqrt(end), "theory": np.sqrt(theory)}
    pairs, each = ("run", "trial", "point", "other"), ("run", "trial")
    structure = dataset(
        {
            "distance": variable(pairs, distances["distance"], "distance of two representations after training"),
            "theory": variable(pairs, distances["theory"], "final distance of equation (10)"),
        }
        | _measures(**distances, start=np.sqrt(start), other_task=np.sqrt(other_task), unequal=xor["dy"].values > 0)
        | {
            "loss": variable(each, xor["loss"].isel(look=-1).values, "mean squared error at the end"),
            "learned": variable(
                each, has_learned(xor["loss"].isel(look=-1), plateau), "1 where the network has learned"
            ),
        },
        {name: xor[name].variable for name in ("run", "trial", "point", "other", *SETTINGS)}
        | {
            "epochs": variable("run", xor["epoch"].values[:, -1], "epochs of training", "epoch"),
            "pair": variable("pair", np.array(NAMES), "pair with equal targets"),
            "plateau": variable((), plateau, "loss of the mean target: its variance"),
            "rho": variable((), rho, "eta_h/eta_y of the default two-point network, geometric mean"),
        },
        title="XOR: distances after training against equation (10)",
    )
    return explain_gaps(structure, "no rates of the default two-point network were fitted")


def _measures(
    distance: NDArray, start: NDArray, theory: NDArray, other_task: NDArray, unequal: NDArray
) -> dict[str, xr.Variable]:
    """What the distances (run, trial, point, other) come to: merging, growth, agreement with the theory.

    The last two measures are against predictions that are wrong on purpose.
    """
    each = ("run", "trial")
    equal_end, equal_start = _equal(distance), _equal(start)
    apart_end, apart_start = (values[..., unequal].mean(axis=-1) for values in (distance, start))
    scale, not_rooted = (distance.sum(axis=(-1, -2)) / sizes.sum(axis=(-1, -2)) for sizes in (theory, theory**2))
    return {
        "merged": variable(
            (*each, "pair"), equal_end / apart_end[..., None], "distance at equal targets over mean of the others"
        ),
        "growth_equal": variable((*each, "pair"), equal_end / equal_start, "growth of distance at equal targets"),
        "growth_apart": variable(each, apart_end / apart_start, "growth of the mean distance at unequal targets"),
        "match": variable(each, _match(distance, theory), "correlation of the six distances with equation (10)"),
        "match_at_start": variable(each, _match(start, theory), "correlation of the starting distances with (10)"),
        "scale": variable(each, scale, "measured over theory, sums"),
        "match_other_task": variable(
            each, _match(distance, other_task), "correlation of the six distances with (10) for the targets of input 1"
        ),
        "scale_not_rooted": variable(each, not_rooted, "measured over squared distances of theory, sums"),
    }


def _match(measured: NDArray, theory: NDArray) -> NDArray:
    """Correlation over the pairs of different points, shape (run, trial)."""
    sides = [values[..., np.triu(np.ones((4, 4), bool), 1)] for values in (measured, theory)]
    return np.array([[pearson(*both) for both in zip(*run, strict=True)] for run in zip(*sides, strict=True)])


def _equal(distances: NDArray) -> NDArray:
    """Distances of the two pairs with equal targets, shape (..., 2)."""
    return np.stack([distances[..., i, j] for i, j in EQUAL], axis=-1)
