"""Every cell of the tables of the two-point experiments against numbers computed from made-up datasets."""

import numpy as np
import pytest
from tests.made_up_cells import compare, dataset

from repdyn.universality.tables import two_points

NETWORKS = ["default", "very_high", "shallow"]
CONVERGED = np.array([[1, 1, 0, 1, 1, 1], [0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0]])


@pytest.fixture
def fits():
    """Fits of three networks; of the last one, no trial has converged."""
    rates = ("eta_h", "eta_y", "eta_b", "error_h", "loss_r2", "fit_loss", "agreeing", "at_bound")
    data = dataset(
        {"network": NETWORKS, "seed": range(6), "curve": ["h", "y", "w"]},
        dict.fromkeys(rates, "network seed") | {"r2": "network seed curve"},
    )
    return data.assign(converged=(("network", "seed"), CONVERGED))


def test_effective_rates_are_geometric_means_over_the_trials_that_converged(fits):
    rows = []
    for place, network in enumerate(("default", "very high", "shallow")):
        kept = CONVERGED[place] == 1
        count = sum(kept)
        values = {name: data.values[place, kept] for name, data in fits.data_vars.items()}
        row = {"network": network, "fitted trials": count}
        for rate in ("eta_h", "eta_y", "eta_b"):
            row[f"{rate} (1/epoch)"] = np.prod(values[rate]) ** (1 / count) if count else np.nan
        row["spread of log eta_h"] = np.std(np.log(values["eta_h"]), ddof=1) if count else np.nan
        row["error of log eta_h in one fit"] = np.median(values["error_h"]) if count else np.nan
        for at, curve in enumerate("hyw"):
            row[f"R2 of {curve}"] = np.mean(values["r2"][:, at]) if count else np.nan
        row |= {
            "R2 of the loss": np.mean(values["loss_r2"]) if count else np.nan,
            "fit loss (49), median": np.median(values["fit_loss"]) if count else np.nan,
            "starts in the best minimum": np.mean(values["agreeing"]) if count else np.nan,
            "share without rates": np.mean(values["at_bound"]) if count else np.nan,
        }
        rows.append(row)
    compare(two_points.effective_rates(fits).frame, rows)
