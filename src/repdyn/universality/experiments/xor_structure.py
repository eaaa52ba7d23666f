"""XOR distances after training against the theory's final distances (Section 4.4, Figures 6 and 16)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.datasets import dataset, variable
from repdyn.universality.representations import pearson
from repdyn.universality.theory.final import final_distance

EQUAL = ((0, 3), (1, 2))
"""Pairs of data points with the same target: (0,0) and (1,1); (1,0) and (0,1)."""
NAMES = ("(0,0) and (1,1)", "(1,0) and (0,1)")
SETTINGS = ("nonlinearity", "gain", "rate", "units", "hidden", "optimizer")


def xor_structure(xor: xr.Dataset, architecture_fits: xr.Dataset) -> xr.Dataset:
    """Distances after training, merging of points with equal targets, and equation (10) with the measured start.

    The ratio of the effective rates is that of the default two-point network, as in the paper; the geometric mean, so
    that one odd fit does not dominate.
    """
    rates = architecture_fits.sel(network="default")
    rho = float(np.exp(np.nanmean(np.log(rates["eta_h"] / rates["eta_y"]))))
    h, start = xor["h"].isel(look=-1).values, xor["h"].isel(look=0).values
    theory = np.sqrt(final_distance(start, xor["y"].isel(look=0).values, xor["dx"].values, xor["dy"].values, rho))
    measured, begun = np.sqrt(h), np.sqrt(start)
    unequal = xor["dy"].values > 0
    sides = [values[..., np.triu(np.ones((4, 4), bool), 1)] for values in (theory, measured)]
    equal_end, equal_start = _equal(measured), _equal(begun)
    apart_end, apart_start = (values[..., unequal].mean(axis=-1) for values in (measured, begun))
    matched = np.array([[pearson(*both) for both in zip(*run, strict=True)] for run in zip(*sides, strict=True)])
    pairs, each = ("run", "trial", "point", "other"), ("run", "trial")
    return dataset(
        {
            "distance": variable(pairs, measured, "distance of two representations after training"),
            "start": variable(pairs, begun, "distance of two representations at initialisation"),
            "theory": variable(pairs, theory, "final distance of equation (10)"),
            "merged": variable(
                (*each, "pair"), equal_end / apart_end[..., None], "distance at equal targets over mean of the others"
            ),
            "growth_equal": variable((*each, "pair"), equal_end / equal_start, "growth of distance at equal targets"),
            "growth_apart": variable(each, apart_end / apart_start, "growth of the mean distance at unequal targets"),
            "match": variable(each, matched, "correlation of the six distances with equation (10)"),
            "scale": variable(
                each, measured.sum(axis=(-1, -2)) / theory.sum(axis=(-1, -2)), "measured over theory, sums"
            ),
            "loss": variable(each, xor["loss"].isel(look=-1).values, "mean squared error at the end"),
            "start_loss": variable(each, xor["loss"].isel(look=0).values, "mean squared error at the start"),
        },
        {name: xor[name].variable for name in ("run", "trial", "point", "other", *SETTINGS)}
        | {
            "epochs": variable("run", xor["epoch"].values[:, -1], "epochs of training", "epoch"),
            "pair": variable("pair", np.array(NAMES), "pair with equal targets"),
            "plateau": variable((), (xor["dy"].values ** 2).mean() / 2, "loss of the mean target: its variance"),
            "rho": variable((), rho, "eta_h/eta_y of the default two-point network, geometric mean"),
        },
        title="XOR: distances after training against equation (10)",
        figures="Figures 6 and 16",
        claims=(
            "uni-fig6-xor",
            "uni-fig6-high",
            "uni-fig6-two-layers",
            "uni-fig6-settings",
            "uni-fig6-theory",
            "uni-fig16",
        ),
    )


def _equal(distances: NDArray) -> NDArray:
    """Distances of the two pairs with equal targets, shape (..., 2)."""
    return np.stack([distances[..., i, j] for i, j in EQUAL], axis=-1)
