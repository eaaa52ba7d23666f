"""Tables of "Batch Normalization Decomposed"."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Table
from repdyn.bn_decomposed.figures.random_networks import REGIMES


def ablation(ablation: xr.Dataset) -> Table:
    """The geometry of every combination of the components at the last layer: medians over the draws."""
    last = ablation.isel(layer=-1)
    rows = []
    for recenter, rescale, _ in REGIMES:
        for relu in (0, 1):
            cell = last.sel(recenter=recenter, rescale=rescale, relu=relu)
            middle = cell.median("seed")
            rows.append(
                {
                    "RC": recenter,
                    "RS": rescale,
                    "ReLU": relu,
                    "median angle (degree)": float(cell["angle"].median()),
                    "odd against rest (degree)": float(middle["odd_angle"]),
                    "within rest (degree)": float(middle["intra_angle"]),
                    "2nd/1st norm": float(middle["second_to_first"]),
                    "rank (1e-6)": int(middle["numerical_rank"]),
                    "effective rank": float(middle["effective_rank"]),
                    "orthogonality gap": float(middle["orthogonality_gap"]),
                }
            )
    return Table(
        pd.DataFrame(rows),
        title="Table T1: each component of batch normalization on and off",
        caption=f"Batches of {int(ablation['point_count'])} images after {int(ablation['layer'][-1])} layers of width "
        f"{int(ablation['width'])}; medians over {ablation.sizes['seed']} draws of batch and weights. With recentring, "
        "rescaling by std and by RMS are the same.",
    )
