"""Every cell of the tables against numbers computed from made-up datasets."""

import numpy as np
from tests.made_up_cells import compare, dataset

from repdyn.bn_mean_field import tables

MODELS = ["BN", "vanilla"]


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
    assert table.facts == {"the paper's iteration": 500, "starts of random signs": 4}


def test_stability_says_when_a_run_has_diverged():
    data = dataset(
        {"model": MODELS, "long_radius": [1.0, 3.0], "long_step": [0.03, 0.05, 0.1]},
        {"long_loss": "model long_radius long_step"},
        long_iterations=300,
    )
    diverged = np.full((2, 2, 3), np.nan)
    diverged[1, 1, 2], diverged[1, 0, 1] = 4, 17
    data = data.assign(long_diverged=(("model", "long_radius", "long_step"), diverged))
    outcomes = {("vanilla", 3.0, 0.1): "diverged at iteration 4", ("vanilla", 1.0, 0.05): "diverged at iteration 17"}
    rows = [
        {
            "model": model,
            "r": radius,
            "step": step,
            "loss at the end": data["long_loss"].values[m, r, s],
            "outcome": outcomes.get((model, radius, step), "stable"),
        }
        for m, model in enumerate(MODELS)
        for r, radius in enumerate((1.0, 3.0))
        for s, step in enumerate((0.03, 0.05, 0.1))
    ]
    compare(tables.stability(data).frame, rows)
