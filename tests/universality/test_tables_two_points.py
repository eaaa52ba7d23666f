"""Every cell of the tables of the two-point experiments against numbers computed from made-up datasets."""

import numpy as np
import pytest
from tests.made_up_cells import compare, dataset

from repdyn.universality.tables import two_points
from repdyn.universality.theory.published import FIT_LOSSES

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


def test_altered_dynamics_have_losses_of_both_sets_of_networks_beside_the_published_one():
    names = ["theory", "square", "factor two in h"]
    both = [
        dataset({"alternative": names, "seed": range(seeds)}, {"alternative_loss": "alternative seed"}, 1, units=units)
        for seeds, units in ((5, 500), (8, 100))
    ]
    both[0]["alternative_loss"][1, 2] = np.nan  # the fit did not end
    rows = []
    for place, name in enumerate(names):
        row = {"dynamics": name, "published": (FIT_LOSSES["theory"], FIT_LOSSES["square"], np.nan)[place]}
        for fits, units in zip(both, (500, 100), strict=True):
            theory, loss = fits["alternative_loss"].values[[0, place]]
            kept = loss[~np.isnan(loss)]
            row |= {
                f"median, {units} units": np.median(kept),
                f"least, {units} units": min(kept),
                f"largest, {units} units": max(kept),
                f"trials worse than the theory, {units} units": f"{sum(loss > theory)} of {len(kept)}",
            }
        rows.append(row)
    assert rows[1]["trials worse than the theory, 500 units"].endswith(" of 4")
    compare(two_points.altered_dynamics(*both).frame, rows)


def test_distances_have_each_variable_under_its_words():
    columns = {
        "r": "correlation",
        "r with dy alone": "correlation_dy",
        "exponent of dx": "exponent",
        "exponent of dy": "exponent",
        "network over theory": "ratio",
        "tau_y/tau_h, geometric": "rho",
        "tau_y/tau_h, arithmetic": "rho_arithmetic",
    }
    plain = dict.fromkeys(columns.values(), "network")
    data = dataset({"network": NETWORKS, "distance": ["dx", "dy"]}, plain | {"exponent": "network distance"})
    counts = {"units": [100, 70, 30], "trials": [40, 39, 32], "dropped": [0, 1, 8]}
    data = data.assign({name: ("network", values) for name, values in counts.items()})
    rows = []
    for place, network in enumerate(("default", "very high", "shallow")):
        row = {"network": network} | {name: values[place] for name, values in counts.items()}
        for column, name in columns.items():
            values = data[name].values[place]
            row[column] = values[int(column.endswith("dy"))] if name == "exponent" else values
        rows.append(row)
    compare(two_points.distances(data).frame, rows)
