"""The effective two-point theory fitted to the trajectories of the four networks."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.across_papers.methods.names import CURVES, PAIR_FACTS, named
from repdyn.base.datasets import dataset, explain_gaps, variable
from repdyn.diagnostics.methods import effective_theory


def theory_fits(two_points: xr.Dataset, digits: xr.Dataset) -> xr.Dataset:
    """The effective theory fitted to every trajectory: the unexplained share U of each network and seed.

    Of the two points alone it also keeps the fitted curves.
    """
    fits = {"two points": _fits(two_points), "digits": _fits(digits.isel(task=0))}
    fits_of_data = xr.concat([_summary(fit) for fit in fits.values()], "data", join="outer", combine_attrs="override")
    alone = fits["two points"].isel(pair=0)
    curves = np.stack([alone[f"{name}_theory"].values for name in effective_theory.CURVES], axis=-1)
    variables = {str(name): array.variable for name, array in fits_of_data.data_vars.items()}
    variables["theory"] = variable(("network", "seed", "moment", "curve"), curves, "fitted h, y, w of the two points")
    coords = {
        "data": np.array(list(fits)),
        "network": two_points["network"].values,
        "seed": fits_of_data["seed"].values,
        "curve": np.array(list(effective_theory.CURVES)),
        "moment": alone["moment"].values,
    }
    fitted = dataset(variables, named(coords), title="Fit of the effective theory to four networks")
    return explain_gaps(fitted, effective_theory.UNFITTED)


def _fits(trajectories: xr.Dataset) -> xr.Dataset:
    """The theory of every network, seed and pair, as `effective_theory.fit` gives it."""
    fitted = []
    for kind in trajectories["network"].values:
        trajectory = trajectories[[*CURVES, *PAIR_FACTS]].sel(network=kind).drop_vars("layer", errors="ignore")
        h = trajectory["representation_distance"].expand_dims(layer=["middle"])
        trajectory = trajectory.assign(representation_distance=h).assign_attrs(time="step")
        fitted.append(effective_theory.fit(trajectory, "middle"))
    return xr.concat(fitted, "network", join="exact", combine_attrs="drop_conflicts")


def _summary(fits: xr.Dataset) -> xr.Dataset:
    """Unexplained share (geometric mean over pairs), explained variance, learned pairs, by network and seed."""
    unexplained = (1 - fits["explained"].clip(min=0)).mean("curve")
    words = {
        "unexplained": (
            2 ** cast("xr.DataArray", np.log2(unexplained)).mean("pair"),
            "unexplained share U of h, y, w, geometric mean of pairs",
        ),
        "explained": (fits["explained"].mean("pair"), "explained variance R^2, mean over pairs"),
        "learned": (fits["learned"].mean("pair"), "pairs whose error fell to 0.16 of its start"),
        "at_bound": (fits["at_bound"].mean("pair"), "fits that run to the border of the search"),
    }
    columns = {name: variable([*map(str, values.dims)], values.values, text) for name, (values, text) in words.items()}
    summary = xr.Dataset(columns)
    for array in summary.variables.values():
        array.attrs["missing"] = "fewer seeds on digits than on two points, or a curve that does not move"
    return summary.assign_coords(seed=fits["seed"].values)
