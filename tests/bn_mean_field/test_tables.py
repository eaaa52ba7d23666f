"""Every cell of the tables against numbers computed from made-up datasets."""

import numpy as np
import pytest
from tests.made_up_cells import compare, dataset

from repdyn.bn_mean_field import tables

STEPS, RADII, MODELS = [0.01, 0.1], [0.1, 1.0, 10.0], ["BN", "vanilla"]


def test_speed_ratios_are_of_the_paired_start_and_the_range_of_the_drawn_ones():
    problems, steps = ["y = x1", "y = x2"], [0.001, 0.002]
    names = ("ratio", "matched_ratio", "matched_iteration")
    data = dataset(
        {"problem": problems, "start": range(5), "model": MODELS, "step": steps, "iteration": [0, 500, 600]},
        {"loss": "problem start model step iteration"} | dict.fromkeys(names, "problem start step iteration"),
        look=500,
    )
    data["ratio"][:, 0] += 100  # in the range of no draw
    table = tables.speed_ratios(data)
    rows = []
    for p, problem in enumerate(problems):
        for s, step in enumerate(steps):
            loss = data["loss"].values[p, 0, :, s, 1]
            ratio, matched, iteration = (data[name].values[p, :, s, 1] for name in names)
            rows.append(
                {
                    "problem": problem,
                    "step": step,
                    "loss BN": loss[0],
                    "loss vanilla": loss[1],
                    "ratio": ratio[0],
                    "ratio, lowest draw": min(ratio[1:]),
                    "ratio, highest draw": max(ratio[1:]),
                    "vanilla iteration of equal loss": iteration[0],
                    "ratio at equal loss": matched[0],
                }
            )
    compare(table.frame, rows)
    assert table.title.startswith("Speeds at iteration 500:")
    assert "over 4 starts" in table.caption


@pytest.fixture
def first_step():
    """Norms, turns and long runs."""
    shared = "start radius model step"
    data = dataset(
        {
            **{"iteration": range(4), "later": [1, 2, 3, 4], "quantile": [0.05, 0.5, 0.95, 1.0], "start": range(3)},
            **{"radius": RADII, "model": MODELS, "step": STEPS, "neuron": range(7)},
            **{"long_radius": [1.0, 3.0], "long_step": [0.03, 0.05, 0.1]},
        },
        {
            "norm": f"iteration {shared} neuron",
            "turn_quantile": f"quantile later {shared}",
            "large_turns": f"later {shared}",
            "long_loss": "model long_radius long_step",
        },
        long_iterations=300,
    )
    diverged = np.full((2, 2, 3), np.nan)
    diverged[1, 1, 2], diverged[1, 0, 1] = 4, 17
    return data.assign(long_diverged=(("model", "long_radius", "long_step"), diverged))


def test_first_steps_are_of_batch_normalization_and_the_paired_start(first_step):
    rows = []
    for s, step in enumerate(STEPS):
        for r, radius in enumerate(RADII):
            quantiles = first_step["turn_quantile"].values[:, :, 0, r, 0, s]
            large = first_step["large_turns"].values[:, 0, r, 0, s]
            rows.append(
                {
                    "step": step,
                    "r": radius,
                    "median length after step 1": np.median(first_step["norm"].values[1, 0, r, 0, s]),
                    "median turn 1 (degree)": quantiles[1, 0],
                    "median turn 2 (degree)": quantiles[1, 1],
                    "median turn 3 (degree)": quantiles[1, 2],
                    "largest turn 2 (degree)": quantiles[3, 1],
                    "over 10 degree in step 1": large[0],
                    "over 10 degree in step 2": large[1],
                    "over 10 degree in step 3": large[2],
                }
            )
    table = tables.first_steps(first_step)
    compare(table.frame, rows)
    assert " 7 neurons" in table.caption


def test_stability_says_when_a_run_has_diverged(first_step):
    outcomes = {("vanilla", 3.0, 0.1): "diverged at iteration 4", ("vanilla", 1.0, 0.05): "diverged at iteration 17"}
    rows = [
        {
            "model": model,
            "r": radius,
            "step": step,
            "loss at the end": first_step["long_loss"].values[m, r, s],
            "outcome": outcomes.get((model, radius, step), "stable"),
        }
        for m, model in enumerate(MODELS)
        for r, radius in enumerate((1.0, 3.0))
        for s, step in enumerate((0.03, 0.05, 0.1))
    ]
    table = tables.stability(first_step)
    compare(table.frame, rows)
    assert " 300 iterations" in table.caption
