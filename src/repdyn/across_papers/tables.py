"""The four networks side by side: the three estimands with their intervals."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.across_papers.methods.names import middle_layer
from repdyn.base.tables import Filled, table
from repdyn.plotting.figures import half_width


@table(
    title="Three questions to four networks, and the recentered one",
    caption="Unexplained share $U$ of the two-point theory over the plain network's, mean over seeds with the "
    "half-width of Student's 95 % interval; effective rank without the mean at half depth by task, medians, and how "
    "many networks have learned and are at rest; largest over second norm in the last hidden layer, medians, and how "
    "many networks have learned.",
    digits=3,
)
def four_networks(theory_fits: xr.Dataset, digits: xr.Dataset, odd_batch: xr.Dataset) -> Filled:
    """Unexplained share, rank at half depth in two tasks, largest over second norm; medians and intervals of means."""
    middle = digits["centered_effective_rank"].sel(layer=middle_layer(digits["layer"].values.tolist()))
    fit = cast("xr.DataArray", np.log2(theory_fits["unexplained"].sel(data="two points")))
    resting = (digits["learned"] == 1) & (digits["at_rest"] == 1)
    rows = []
    for kind in odd_batch["network"].values:
        row: dict[str, object] = {"network": kind}
        if kind in fit["network"]:
            ratio = fit.sel(network=kind) - fit.sel(network="plain")
            row["log2 U / U plain"] = float(ratio.mean())
            row["log2 U / U plain, half-width"] = float(half_width(ratio.values))
            for task in digits["task"].values:
                middle_ranks = middle.sel(network=kind, task=task)
                row[f"rank before, {task}"] = float(middle_ranks.sel(end="before training").median())
                row[f"rank after, {task}"] = float(middle_ranks.sel(end="after training").median())
                row[f"at rest, {task}"] = int(resting.sel(network=kind, task=task).sum())
        last = odd_batch.sel(network=kind).isel(layer=-1)
        row |= {f"norm ratio {end}": float(last["norm_ratio"].sel(end=end).median()) for end in odd_batch["end"].values}
        row["learned the batch"] = int(last["learned"].sum())
        rows.append(row)
    facts = {
        "seeds of the two-point theory": theory_fits.sizes["seed"],
        "seeds of the tasks": digits.sizes["seed"],
        "seeds of the odd point": odd_batch.sizes["seed"],
        "rank by task": digits["centered_task_rank"].isel(network=0),
    }
    return Filled(pd.DataFrame(rows), facts)


ORDER = ("four_networks",)
"""The order of the paper, in which the report shows the tables."""
