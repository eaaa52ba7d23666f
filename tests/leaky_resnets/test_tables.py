"""Cells of the tables against numbers computed from made-up datasets."""

import numpy as np
import pytest
from tests.made_up_cells import compare, dataset

from repdyn.leaky_resnets.tables import exact, trained


def test_the_laboratory_has_medians_over_seeds_of_what_each_trajectory_has():
    depths = [1.0, 3.0]
    whole, along = ("drift", "share_near_rank", "proportion"), ("scaled_hamiltonian", "plain_speed")
    data = dataset(
        {"bias": [0, 1], "effective_depth": depths, "seed": range(5), "p": [0.0, 0.3, 0.55, 1.0]},
        dict.fromkeys(whole, "bias effective_depth seed") | dict.fromkeys(along, "bias effective_depth seed p"),
        rank=2,
        gamma_0=0.001,
    )
    rows = []
    for bias in (0, 1):
        for place, depth in enumerate(depths):
            drift, near, proportion = (np.median(data[name].values[bias, place]) for name in whole)
            energy, speed = (data[name].values[bias, place] for name in along)
            rows.append(
                {
                    "bias": ("no", "yes")[bias],
                    "Lt": depth,
                    "-2 H / Lt": np.median(energy.sum(axis=1) / 4),
                    "drift of H": drift,
                    "share of p with COI < k + 1/2": near,
                    "speed at p = 1/2": np.median(speed[:, 2]),
                    "largest speed": np.median(speed.max(axis=1)),
                    "correlation of kinetic energy and extra COI": proportion,
                }
            )
    compare(exact.laboratory(data).frame, rows)


PLAIN = {  # variable: column
    "median_hamiltonian": "-2 H / Lt",
    "median_stable": "-2 H_gamma / Lt",
    "least_cost": "least COI",
    "relative_distance": "|W - Lt B S^T| / |W|",
    "gradient": "gradient",
    "kinks": "kinks",
    "least_negative": "least negative share",
    "test_error": "test error / variance",
}


@pytest.mark.parametrize("seeds", [5, 1])
def test_chains_have_means_over_seeds_at_the_first_gamma(seeds):
    maps, depths = ["free maps", "fixed maps"], [1.0, 2.0, 4.0]
    by_gamma, shared = ("median_stable", "least_cost"), "maps effective_depth seed"
    variables = {name: shared + (" gamma" if name in by_gamma else "") for name in PLAIN}
    data = dataset(
        {"maps": maps, "effective_depth": depths, "seed": range(seeds), "gamma": [0.001, 0.1], "node": range(3)},
        variables | {"stable_rank": f"{shared} node"},
    )
    rows = []
    for m, word in enumerate(maps):
        for d, depth in enumerate(depths):
            cells = {}
            for name, column in PLAIN.items():
                values = data[name].values[m, d]
                cells[column] = np.mean(values[:, 0] if name in by_gamma else values)
                if name == "least_cost":
                    cells["least stable rank"] = np.mean(data["stable_rank"].values[m, d].min(axis=1))
            spread = np.std(data["median_hamiltonian"].values[m, d], ddof=1) if seeds > 1 else 0.0
            rows.append({"maps": word, "Lt": depth} | cells | {"sd of -2 H / Lt": spread})
    compare(trained.chains(data).frame, rows)
