"""Tables of the two-point experiments: Table 1 as printed and as used, effective rates, alternatives, distances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table
from repdyn.universality.theory.published import FIT_LOSSES, TABLE_1


@table(
    title="Table 1 as printed and as used",
    caption="Settings of the two-point networks. Section B.1 prints $dx = 0.5$, $dy = 1$, for which the last column "
    "counts the converged trials at the printed rate. The convolution has fewer channels than the printed 20 where its "
    "units are fewer than 500.",
)
def table1_settings(architectures: xr.Dataset, architecture_fits: xr.Dataset, printed_data_fits: xr.Dataset) -> Filled:
    """Table 1 as printed beside what was trained, and how many trials converged on either data set."""
    rows = []
    epochs = int(architectures["epoch"][-1] + architectures["epoch"][1])
    for name in architectures["network"].values.tolist():
        nonlinearity, gain, rate, printed_epochs, units, hidden = TABLE_1[name]
        used, fits = architectures.sel(network=name), architecture_fits.sel(network=name)
        rows.append(
            {
                "network": name.replace("_", " "),
                "nonlinearity": nonlinearity,
                "gain printed": gain,
                "gain used": float(used["gain"]),
                "rate printed": rate,
                "rate used": float(used["learning_rate"]),
                "epochs printed": printed_epochs,
                "epochs used": epochs,
                "units printed": units,
                "units used": int(used["units"]),
                "hidden layers": hidden,
                "trials": fits.sizes["seed"],
                "converged": int(fits["converged"].sum()),
                "converged, data as printed": _converged(printed_data_fits, name),
            }
        )
    data = architectures.isel(network=0)
    return Filled(
        pd.DataFrame(rows),
        {
            "dx2 used": float(data["dx2"]),
            "dy2 used": float(data["dy2"]),
            "trials on the data as printed": printed_data_fits.sizes["seed"],
        },
    )


def _converged(fits: xr.Dataset, name: str) -> str:
    return str(int(fits["converged"].sel(network=name).sum())) if name in fits["network"].values else "not run"


@table(
    title="Effective rates of the networks of Table 1",
    caption="Geometric means of the fitted rates over converged trials, their spread over trials beside the error of a "
    "single fit, mean explained variances. Fit losses scale with $h$ and cannot be compared between networks.",
    digits=3,
)
def effective_rates(architecture_fits: xr.Dataset) -> pd.DataFrame:
    """Fitted rates and explained variances of every network, means over trials and their spread."""
    rows = []
    for name in architecture_fits["network"].values.tolist():
        fits = architecture_fits.sel(network=name)
        converged = fits.isel(seed=np.flatnonzero(fits["converged"].values))
        row = {"network": name.replace("_", " "), "fitted trials": converged.sizes["seed"]}
        for rate in ("eta_h", "eta_y", "eta_b"):
            row[f"{rate} (1/epoch)"] = (
                float(np.exp(np.log(converged[rate]).mean())) if converged.sizes["seed"] else np.nan
            )
        row["spread of log eta_h"] = float(np.log(converged["eta_h"]).std(ddof=1))
        row["error of log eta_h in one fit"] = float(converged["error_h"].median())
        for curve in ("h", "y", "w"):
            row[f"R2 of {curve}"] = float(converged["r2"].sel(curve=curve).mean())
        row |= {
            "R2 of the loss": float(converged["loss_r2"].mean()),
            "fit loss (49), median": float(converged["fit_loss"].median()),
            "starts in the best minimum": float(converged["agreeing"].mean()),
            "share without rates": float(converged["at_bound"].mean()),
        }
        rows.append(row)
    return pd.DataFrame(rows)


@table(
    title="Fit losses of the altered dynamics (51)",
    caption="Squared fit loss (49) of the default network, hidden layer halfway, global minimum over both rates, "
    "beside the single published trial; on the line: the least loss at the rate ratio of the public search's guesses. "
    "The loss printed for the square, $w^2$, belongs to a factor two in $h$ in the authors' notebook.",
    digits=3,
)
def altered_dynamics(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> pd.DataFrame:
    """Fit losses of the theory and of the alternatives (51) over trials, beside the published numbers."""
    rows = []
    for name in default_network_fits["alternative"].values.tolist():
        row = {"dynamics": name, "published": FIT_LOSSES.get(name, np.nan)}
        for fits in (default_network_fits, default_ensemble_fits):
            loss = fits["alternative_loss"].sel(alternative=name).values
            on_line = fits["alternative_loss_on_line"].sel(alternative=name)
            known, units = loss[np.isfinite(loss)], int(fits["units"])
            theory = fits["alternative_loss"].sel(alternative="theory").values
            least, median, largest = np.quantile(known, (0, 0.5, 1)) if known.size else (np.nan,) * 3
            row |= {
                f"median, {units} units": float(median),
                f"least, {units} units": float(least),
                f"largest, {units} units": float(largest),
                f"median on the line, {units} units": float(on_line.median()),
                f"trials worse than the theory, {units} units": f"{int((loss > theory).sum())} of {known.size}",
            }
        rows.append(row)
    return pd.DataFrame(rows)


@table(
    title="Final distances against equation (10)",
    caption=r"Correlation of $\log h$ over converged trials of all cells with $dy > 0$, with the theory and with dy "
    "alone; exponents of $h$ in $dx$ and $dy$ by least squares (the theory at small weights: 1 and 1); rates from the "
    "fits at one pair of distances, averaged both ways.",
    digits=3,
)
def distances(final_predictions: xr.Dataset) -> pd.DataFrame:
    """Agreement of final distances with equation (10), and the exponents of h in the two distances."""
    rows = []
    for name in final_predictions["network"].values.tolist():
        row = final_predictions.sel(network=name)
        rows.append(
            {
                "network": name.replace("_", " "),
                "units": int(row["units"]),
                "trials": int(row["trials"]),
                "dropped": int(row["dropped"]),
                "r": float(row["correlation"]),
                "r with dy alone": float(row["correlation_dy"]),
                "exponent of dx": float(row["exponent"].sel(distance="dx")),
                "exponent of dy": float(row["exponent"].sel(distance="dy")),
                "network over theory": float(row["ratio"]),
                "tau_y/tau_h, geometric": float(row["rho"]),
                "tau_y/tau_h, arithmetic": float(row["rho_arithmetic"]),
            }
        )
    return pd.DataFrame(rows)
