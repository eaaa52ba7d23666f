"""The theory fitted to pairs of digits within a whole data set (Section 3.4, Figure 4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, variable
from repdyn.universality.methods.fit import EffectiveFit, no_fit
from repdyn.universality.methods.trajectory_fits import CURVES, FEWEST_PASSES, fit_run
from repdyn.universality.settings.data_sets import TrajectoryFits

WEIGHTINGS = ("equation (49)", "by variance")


def digit_pairs(settings: TrajectoryFits, image_training: dict[str, xr.Dataset]) -> xr.Dataset:
    """Two effective rates fitted to each stored pair, by equation (49) and with every curve over its variance."""
    data = image_training["sgd"]
    passes = max(-(-settings.steps // int(data["steps"])), FEWEST_PASSES)
    data = data.isel(epoch=slice(0, min(passes + 1, data.sizes["epoch"])))
    shape = (data.sizes["trial"], data.sizes["kind"], data.sizes["pair"])
    fits = [
        [_fit(data.isel(trial=t, kind=k, pair=p), weighting) for weighting in WEIGHTINGS]
        for t, k, p in product(*map(range, shape))
    ]
    dims, kept = ("trial", "kind", "pair", "weighting"), (*shape, len(WEIGHTINGS))

    losses = np.reshape([[fit.loss for fit in pair] for pair in fits], kept)

    def of_pairs(values: list, words: str, units: str = "1", extra: tuple[str, ...] = ()) -> xr.Variable:
        array = np.array(values)
        return variable((*dims, *extra), array.reshape(*kept, *array.shape[2:]), words, units)

    first = [fits[place * shape[2]] for place in range(shape[1])]  # first pair of every kind, first network
    return dataset(
        {
            "r2": of_pairs([[fit.r2 for fit in pair] for pair in fits], "explained variance", extra=("curve",)),
            "pooled_r2": variable(
                dims, 1 - losses / _spread(data)[..., None], "explained variance of the three curves together"
            ),
            "fit_loss": variable(dims, losses, "squared fit loss, equation (49)"),
            "eta_h": of_pairs([[fit.eta_h for fit in pair] for pair in fits], "effective rate, encoder", "epoch-1"),
            "eta_y": of_pairs([[fit.eta_y for fit in pair] for pair in fits], "effective rate, decoder", "epoch-1"),
            "at_bound": of_pairs([[int(fit.at_bound) for fit in pair] for pair in fits], "1 where no rates fit"),
            "growth": variable(
                dims[:3], (data["h"].isel(epoch=-1) / data["h"].isel(epoch=0)).values, "h at the end over its start"
            ),
            "measured": variable(
                ("kind", "curve", "epoch"),
                np.stack([data[name].isel(trial=0, pair=0).values.T for name in CURVES], axis=1),
                "h, y, w of the first pair of the first network",
            ),
            "theory": variable(
                ("kind", "weighting", "curve", "epoch"),
                np.array([[fit.theory for fit in pair] for pair in first]),
                "h, y, w of the fitted theory",
            ),
        },
        {name: data[name].variable for name in ("trial", "kind", "pair", "epoch", "source", "point_count", "units")}
        | {
            "weighting": variable("weighting", np.array(WEIGHTINGS), "weights of the fit"),
            "curve": variable("curve", np.array(CURVES), "curve"),
        },
        title="The theory fitted to pairs of digits within a data set",
    )


def _spread(data: xr.Dataset) -> np.ndarray:
    """Squared deviation of h, y and w from their means over the epochs, summed, per network, kind and pair."""
    spread = sum(((data[name] - data[name].mean("epoch")) ** 2).sum("epoch") for name in CURVES)
    return cast("xr.DataArray", spread).transpose("trial", "kind", "pair").values


def _fit(pair: xr.Dataset, weighting: str) -> EffectiveFit:
    """The fit under a weighting, its loss by equation (49); no numbers where the network has diverged."""
    curves = [pair[name].values for name in CURVES]
    if not np.isfinite(curves).all():
        return no_fit(pair.sizes["epoch"])
    weights = [1.0] * 3 if weighting == WEIGHTINGS[0] else [1 / curve.var() for curve in curves]
    fit = fit_run(pair, weights=weights, allow_unconverged=True)
    return replace(fit, loss=float(((fit.theory - np.stack(curves)) ** 2).sum()))
