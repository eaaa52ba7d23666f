"""Every cell of the table of the four networks against numbers computed from made-up datasets."""

import numpy as np
import pytest
from scipy import stats
from tests.made_up_cells import compare, dataset

from repdyn.across_papers import tables

FOUR = ["plain", "batch norm", "residual", "leaky"]
LAYERS = ["input", "layers.0", "layers.1", "layers.2", "layers.3", "output"]
HALF = 2  # layers.1, the second of four hidden layers
MOMENTS = ["before training", "after half of the steps", "after training"]
TASKS = ["10 classes", "3 classes"]


@pytest.fixture
def data():
    """Fits, digits and odd batches, in which every count of learned networks is another."""
    fits = dataset(
        {"data": ["two points", "digits"], "network": FOUR, "seed": range(7)}, {"unexplained": "data network seed"}
    )
    digits = dataset(
        {"task": TASKS, "network": FOUR, "seed": range(6), "end": MOMENTS, "layer": LAYERS},
        dict.fromkeys(("effective_rank", "centered_effective_rank"), "task network seed end layer"),
        seed=1,
    )
    learned = np.arange(6) < np.arange(1, 9).reshape(2, 4, 1)[..., :1] % 6 + 1
    digits["learned"] = (("task", "network", "seed"), learned.astype(int))
    digits["at_rest"] = (("task", "network", "seed"), np.broadcast_to(np.arange(6) % 4 > 0, (2, 4, 6)).astype(int))
    digits["task_rank"] = (("task", "network"), np.array([4 * [10], 4 * [3]]))
    digits["centered_task_rank"] = (("task", "network"), np.array([4 * [9], 4 * [2]]))
    odd = dataset(
        {"network": [*FOUR, "recentered"], "seed": range(5), "end": MOMENTS[::2], "layer": ["layers.0", "layers.9"]},
        {"norm_ratio": "network seed end layer"},
        seed=2,
    )
    odd["learned"] = (("network", "seed"), (np.arange(5) < np.array([[1], [5], [0], [3], [4]])).astype(int))
    return fits, digits, odd


def four(fits, digits, network):
    """The cells that only the four networks of the first two questions have."""
    unexplained = fits["unexplained"].values[0]
    logs = np.log(unexplained[network] / unexplained[0]) / np.log(2)
    cells = {
        "log2 U / U plain": sum(logs) / 7,
        "log2 U / U plain, half-width": stats.t.ppf(0.975, 6) * np.std(logs, ddof=1) / np.sqrt(7),
    }
    for place, task in enumerate(TASKS):
        ranks = digits["centered_effective_rank"].values[place, network, :, :, HALF]
        both = digits["learned"].values[place, network] * digits["at_rest"].values[place, network]
        cells[f"rank before, {task}"] = np.median(ranks[:, 0])
        cells[f"rank after, {task}"] = np.median(ranks[:, 2])
        cells[f"at rest, {task}"] = sum(both)
    return cells


def test_every_cell_of_the_four_networks(data):
    """The recentered network has no rank and no unexplained share."""
    fits, digits, odd = data
    rows = []
    for place, network in enumerate([*FOUR, "recentered"]):
        ratio = odd["norm_ratio"].values[place, :, :, 1]
        last = {
            "norm ratio before training": np.median(ratio[:, 0]),
            "norm ratio after training": np.median(ratio[:, 1]),
            "learned the batch": (1, 5, 0, 3, 4)[place],
        }
        cells = four(fits, digits, place) if place < 4 else dict.fromkeys(four(fits, digits, 0), np.nan)
        rows.append({"network": network} | cells | last)
    counts = [row["at rest, 10 classes"] for row in rows[:4]] + [row["at rest, 3 classes"] for row in rows[:4]]
    assert len(set(counts)) > 3
    compare(tables.four_networks(fits, digits, odd).frame, rows)
