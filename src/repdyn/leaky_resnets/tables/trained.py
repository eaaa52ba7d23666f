"""Tables of trained networks."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table


@table(
    title="Trained networks along chains of effective depths",
    caption=r"Means over seeds; medians or least values over layers; $\gamma_p = \gamma_0 \|K_p\|_{op}$; sd: standard "
    "deviation over seeds.",
    digits=3,
)
def chains(chain_measures: xr.Dataset) -> Filled:
    """Trained networks by linear maps and effective depth."""
    first = chain_measures.isel(gamma=0)
    quantities = {
        "-2 H / Lt": first["median_hamiltonian"],
        "-2 H_gamma / Lt": first["median_stable"],
        "least COI": first["least_cost"],
        "least stable rank": first["stable_rank"].min("node"),
        "|W - Lt B S^T| / |W|": first["relative_distance"],
        "gradient": first["gradient"],
        "kinks": first["kinks"],
        "least negative share": first["least_negative"],
        "test error / variance": first["test_error"],
    }
    rows = []
    for maps in first["maps"].values:
        for depth in first["effective_depth"].values:
            cell = {"maps": maps, "effective_depth": depth}
            means = {name: float(values.sel(cell).mean()) for name, values in quantities.items()}
            spread = float(quantities["-2 H / Lt"].sel(cell).std(ddof=min(1, first.sizes["seed"] - 1)))
            rows.append({"maps": str(maps), "Lt": depth} | means | {"sd of -2 H / Lt": spread})
    return Filled(pd.DataFrame(rows), {"seeds": first.sizes["seed"], "gamma_0": first["gamma"]})
